"""LinkHeights: checks that all links of an arm are above a minimum height over its base link."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexarm_core.base_wrench.newton_euler import STATE, P, R, place
from flexarm_core.base_wrench.sensed_bodies import SensedBodies
from flexarm_core.compiled import allocate, kernel, views
from flexarm_core.entrance import finite
from flexarm_core.errors import ConfigError
from flexarm_core.robot.description import RobotDescription
from flexarm_core.types import Array

POSES, SEED = 50, 6
STILL = 1e-9  # largest change of height that is attributed to rounding [m]


class LinkHeights:
    """Checks for joint positions that the origins of all links, including tool frames, are above a minimum height.

    Heights are measured along the z axis of the base link from its origin, with undeflected elastic joints. Links whose
    height does not depend on the joint positions, such as the first links of the arm, are ignored.
    """

    def __init__(self, description: RobotDescription, bodies: SensedBodies, min_height: float) -> None:
        """Find the links whose height depends on the joint positions.

        Args:
            description: robot description.
            bodies: bodies of the same robot.
            min_height: minimum height of a link origin over the base link origin; -inf allows all [m].

        Raises:
            ConfigError: the height is NaN.
        """
        if np.isnan(min_height):
            raise ConfigError("min_height must be a number of meters, or -inf")
        self.min_height = min_height
        self._structure, self._links, self._n = bodies.structure, bodies.links, bodies.n
        holder, points = [], []
        body_of, offset = {description.root: 0}, {description.root: np.eye(4)}
        for joint in description.joints.values():  # parents before children
            if joint.kind == "fixed":
                body_of[joint.child] = body_of[joint.parent]
                offset[joint.child] = offset[joint.parent] @ joint.transform_child_to_parent
            else:
                body_of[joint.child], offset[joint.child] = bodies.names.index(joint.child), np.eye(4)
        for link in (description.base_frame, *description.links):
            holder.append(body_of[link])
            points.append(offset[link][:3, 3])
        self._holder = np.array(holder, dtype=np.int64)
        self._memory, placed = allocate(view_placed, len(holder), len(bodies.links))
        placed.points[:], placed.up[:] = points, offset[description.base_frame][:3, 2]
        self._position = placed.motion[0, : self._n]
        random = np.random.default_rng(SEED).uniform(-1.0, 1.0, (POSES, self._n))
        seen = np.array([self.heights(position) for position in random])
        self._moves = np.flatnonzero(np.ptp(seen, axis=0) > STILL)

    def heights(self, position: Array) -> Array:
        """Return the heights of all links over the base link [m] at joint positions (n,)."""
        self._position[:] = finite("position", position, self._n)
        out = np.empty(len(self._holder))
        fill_heights(self._links, self._structure, self._holder, self._memory, out)
        return out[1:] - out[0]

    def __call__(self, position: Array) -> bool:
        """Return whether the joint positions (n,) respect the minimum height."""
        return bool((self.heights(position)[self._moves] >= self.min_height).all())


class Placed(NamedTuple):
    """Points on bodies, and the bodies at joint positions."""

    points: Annotated[Array, "k", 3]  # in the frames of their bodies [m]
    up: Annotated[Array, 3]  # direction of the height, in axes of the body of the first point
    # positions, velocities and accelerations of the coordinates, of which there are fewer than bodies
    motion: Annotated[Array, 3, "bodies"]
    work: Annotated[Array, "bodies", STATE]


view_placed = views(Placed, "k", "bodies")


@kernel
def fill_heights(links: Array, structure: NDArray, holder: NDArray, memory: Array, out: Array) -> None:
    """Write the heights of points to ``out`` (k,) [m].

    Args:
        links: (B, 33) see ``SensedBodies``.
        structure: (B, 5) see ``SensedBodies``.
        holder: (k,) body of each point.
        memory: see :class:`Placed`.
        out: (k,) output.
    """
    points, up, motion, work = view_placed(memory, len(holder), len(links))
    place(links, structure, motion, work)
    base = work[holder[0]]
    ux = base[R] * up[0] + base[R + 1] * up[1] + base[R + 2] * up[2]
    uy = base[R + 3] * up[0] + base[R + 4] * up[1] + base[R + 5] * up[2]
    uz = base[R + 6] * up[0] + base[R + 7] * up[1] + base[R + 8] * up[2]
    for k in range(len(holder)):
        body, x, y, z = work[holder[k]], points[k, 0], points[k, 1], points[k, 2]
        px = body[P] + body[R] * x + body[R + 1] * y + body[R + 2] * z
        py = body[P + 1] + body[R + 3] * x + body[R + 4] * y + body[R + 5] * z
        pz = body[P + 2] + body[R + 6] * x + body[R + 7] * y + body[R + 8] * z
        out[k] = ux * px + uy * py + uz * pz
