r"""Proximity: finds the parts of the arm that are near obstacles, and computes the joint efforts that keep them away.

Every pair of capsule and obstacle within the range of the force gives a contact: distance d, unit direction u from the
obstacle to the arm, point p on the capsule's axis. A half-space gives two contacts, one at each end of the axis. With
``J_p`` the Jacobian of the point and ``g = J_p^T u``, the derivative of d with respect to the joint positions,

    effort = sum g (f(d) + c s max(0, -g^T qd)),    stiffness = sum -df/dd g g^T   (Gauss-Newton: >= 0),

with the force f and the proximity s of :mod:`avoidance_force`, and the damping c, which acts only while the arm
approaches. All contacts are included, and the nearest point on an axis parallel to a box is kept from jumping (see
:mod:`distances`), so that the effort is continuous as long as no axis enters an obstacle. Where joints follow others,
``q_moving = G q``, this holds for all moving joints, and ``G^T effort`` and ``G^T stiffness G`` for the driven ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np

from flexarm_core.behavior_impedance.avoidance.arm_shape import ArmShape, place_capsules
from flexarm_core.behavior_impedance.avoidance.avoidance_force import avoidance_force
from flexarm_core.behavior_impedance.avoidance.distances import segment_distance
from flexarm_core.behavior_impedance.avoidance.obstacles import HALF_SPACE, WIDTH, Obstacle, pack
from flexarm_core.behavior_impedance.motion_space import arm_kinematics
from flexarm_core.compiled import kernel, views
from flexarm_core.entrance import finite, output
from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.robot.kinematic_chain import KIND, PRISMATIC
from flexarm_core.types import Array

STEADINESS = 1e-2  # at a distance of 0.2 m the nearest point moves along the axis within a rotation of about 1 degree
CONTACT = 9  # capsule, obstacle, distance, direction (3), point (3)
FORCE_UNITS = {"range": "m", "margin": "m", "force": "N", "damping": "N*s/m"}


class Proximity:
    """Contacts between the capsules of an arm and obstacles.

    Attributes:
        coupled: whether joints of the chain follow others.
    """

    def __init__(
        self,
        shape: ArmShape,
        chain: Chain,
        obstacles: Sequence[Obstacle],
        influence: float,
        margin: float,
        force: float = 0.0,
        damping: float = 0.0,
    ) -> None:
        """Allocate the work memory.

        Args:
            shape: capsules of the arm.
            chain: kinematic chain of the arm.
            obstacles: obstacles in the base frame.
            influence: range of the force [m].
            margin: smallest permitted distance [m], >= 0 and less than the range.
            force: force halfway between range and margin [N], >= 0.
            damping: damping c, which acts while the arm approaches [N*s/m], >= 0.

        Raises:
            ConfigError: a value is out of bounds, or two obstacles have the same name.
        """
        values = dict(zip(FORCE_UNITS, (influence, margin, force, damping), strict=True))
        for name, value in values.items():
            if not 0.0 <= value < math.inf:
                raise ConfigError(f"avoidance {name} must be >= 0 {FORCE_UNITS[name]} and finite, got {value}")
        if not margin < influence:
            raise ConfigError(f"the avoidance margin must lie below the range, got {margin} m and {influence} m")
        self.links = shape.links
        self._shape, self._values = shape, tuple(values.values())
        self._kinds, self._n = chain.links[:-1, KIND].copy(), chain.n
        self._chain, self.coupled = chain, chain.moving != chain.joint_names
        self._spread = None if chain.moving == chain.joint_names else chain.spread
        self.set_obstacles(obstacles)

    def set_obstacles(self, obstacles: Sequence[Obstacle]) -> None:
        """Replace the obstacles between two samples.

        Raises:
            ConfigError: two obstacles have the same name.
        """
        table = pack(obstacles)
        self.obstacles = tuple(obstacle.name for obstacle in obstacles)
        capsules = self._shape.capsules
        lengths = np.linalg.norm(capsules[:, 4:7] - capsules[:, 1:4], axis=1)
        # Radii of bounding spheres, about the middle of an axis and about the position of a sphere or box.
        extents = (0.5 * lengths + capsules[:, 7], np.linalg.norm(table[:, 13:], axis=1))
        k, c, m = len(self._kinds), len(capsules), len(table)
        self._memory = np.zeros(view_near.size(k, c, m))
        self._memory[:3] = k, c, m
        near: Near = view_near(self._memory)
        near.profile[:], near.kinds[:], near.capsules[:], near.obstacles[:] = self._values, self._kinds, capsules, table
        near.extents[:], near.sizes[:] = extents
        self._near = near

    def frames_of(self, position: Array) -> Array:
        """Return the poses (k + 1, 12) of the moving joints and of the tool at joint positions (n,)."""
        position, frames = finite("position", position, self._n), np.empty((len(self._kinds) + 1, 12))
        arm_kinematics(self._chain.links, position, frames, np.empty((6, self._n)))
        return frames

    def update(self, frames: Array) -> float:
        """Find the contacts.

        Args:
            frames: (k + 1, 12) poses of the frames of the ``k`` moving joints and of the tool in the base frame:
                rotation row by row (9), origin (3) [m]. ``k = n`` unless joints follow others.

        Returns:
            Smallest distance between any capsule and any obstacle [m], also beyond the range; infinite without
            obstacles.
        """
        frames = finite("frames", frames, len(self._kinds) + 1, 12)
        if not self.obstacles:
            return math.inf
        return float(find_contacts(frames, self._memory))

    def avoid(self, frames: Array, velocity: Array, effort: Array, stiffness: Array) -> float:
        """Find the contacts and compute the efforts that keep the arm away.

        Args:
            frames: as in :meth:`update`.
            velocity: (n,) joint velocities [rad/s | m/s].
            effort: (n,) output: joint efforts [N*m | N].
            stiffness: (n, n) output: stiffness, symmetric, >= 0.

        Returns:
            Smallest distance between any capsule and any obstacle [m], infinite without obstacles.
        """
        n, k = self._n, len(self._kinds)
        frames, velocity = finite("frames", frames, k + 1, 12), finite("velocity", velocity, n)
        effort, stiffness = output("effort", effort, n), output("stiffness", stiffness, n, n)
        if not self.obstacles:
            effort[:], stiffness[:] = 0.0, 0.0
            return math.inf
        G = self._spread
        if G is None:
            return float(avoid(frames, velocity, self._memory, effort, stiffness))
        efforts, stiffnesses = np.empty(k), np.empty((k, k))
        least = avoid(frames, G @ velocity, self._memory, efforts, stiffnesses)
        product = G.T @ stiffnesses @ G
        effort[:], stiffness[:] = G.T @ efforts, 0.5 * (product + product.T)  # exactly symmetric
        return float(least)

    @property
    def nearest(self) -> tuple[str, str]:
        """Link and obstacle that were nearest to each other at the last update; empty strings without obstacles."""
        if not self.obstacles or not self.links:
            return "", ""
        return self.links[int(self._near.least[1])], self.obstacles[int(self._near.least[2])]

    @property
    def contacts(self) -> Array:
        """(contacts, 9) contacts of the last update, one per row.

        Columns: capsule index, obstacle index, distance [m], unit direction (3) from the obstacle to the arm, point (3)
        on the capsule's axis [m]. Direction and point are in the base frame.
        """
        return self._near.contacts[: int(self._near.found[0])].copy()


class Near(NamedTuple):
    """Arm, obstacles and contacts."""

    k: int  # number of moving joints
    c: int  # number of capsules
    m: int  # number of obstacles
    profile: Annotated[Array, 4]  # range, margin, force, damping
    least: Annotated[Array, 3]  # least distance, its capsule and obstacle
    found: Annotated[Array, 1]  # number of contacts
    kinds: Annotated[Array, "k"]  # of the joints
    capsules: Annotated[Array, "c", 8]
    obstacles: Annotated[Array, "m", WIDTH]
    extents: Annotated[Array, "c"]  # radius of the bounding sphere of a capsule, about the middle of its axis
    sizes: Annotated[Array, "m"]  # and of a sphere or box, about its position
    placed: Annotated[Array, "c", 6]  # end points of the capsules [m]
    contacts: Annotated[Array, "2 * c * m", CONTACT]
    g: Annotated[Array, "k"]  # derivative of a distance with respect to the joints


view_near = views(Near)


@kernel
def find_contacts(frames: Array, memory: Array) -> float:
    """Write the contacts into the memory, see :class:`Near`; return the least distance."""
    s = view_near(memory)
    c, m, capsules, obstacles, placed, contacts = s.c, s.m, s.capsules, s.obstacles, s.placed, s.contacts
    place_capsules(capsules, frames, placed)
    influence, least, count = s.profile[0], math.inf, 0
    for i in range(c):
        radius = capsules[i, 7]
        mx, my, mz = placed[i, 0] + placed[i, 3], placed[i, 1] + placed[i, 4], placed[i, 2] + placed[i, 5]
        for k in range(m):
            flat = obstacles[k, 0] == HALF_SPACE
            if not flat:
                x, y, z = 0.5 * mx - obstacles[k, 1], 0.5 * my - obstacles[k, 2], 0.5 * mz - obstacles[k, 3]
                near = max(influence, least) + s.extents[i] + s.sizes[k]
                if x * x + y * y + z * z > near * near:
                    continue
            axis, ux, uy, uz, t = segment_distance(placed, i, obstacles, k, STEADINESS)
            distance = axis - radius
            if distance < least:
                least, s.least[1], s.least[2] = distance, i, k
            if distance >= influence:
                continue
            for end in range(2 if flat else 1):
                if flat:
                    t = float(end)
                    distance = -radius
                    for j in range(3):
                        distance += obstacles[k, 6 + 3 * j] * (placed[i, 3 * end + j] - obstacles[k, 1 + j])
                if distance < influence:
                    contact = contacts[count]
                    contact[0], contact[1], contact[2] = i, k, distance
                    contact[3], contact[4], contact[5] = ux, uy, uz
                    for j in range(3):
                        contact[6 + j] = placed[i, j] + t * (placed[i, 3 + j] - placed[i, j])
                    count += 1
    s.least[0], s.found[0] = least, count
    return least


@kernel
def avoid(frames: Array, velocity: Array, memory: Array, effort: Array, stiffness: Array) -> float:
    """Compute effort (n,) and stiffness (n, n); return the least distance. See :meth:`Proximity.avoid`."""
    n = velocity.shape[0]
    least, near = find_contacts(frames, memory), view_near(memory)
    kinds, capsules, contacts, g = near.kinds, near.capsules, near.contacts, near.g
    for i in range(n):
        effort[i] = 0.0
        for j in range(n):
            stiffness[i, j] = 0.0
    for row in range(int(near.found[0])):
        joints = int(capsules[int(contacts[row, 0]), 0]) + 1
        f, slope, s = avoidance_force(contacts[row, 2], near.profile[0], near.profile[1], near.profile[2])
        ux, uy, uz = contacts[row, 3], contacts[row, 4], contacts[row, 5]
        rate = 0.0
        for i in range(joints):
            zx, zy, zz = frames[i, 2], frames[i, 5], frames[i, 8]
            if kinds[i] == PRISMATIC:
                g[i] = zx * ux + zy * uy + zz * uz
            else:
                x, y = contacts[row, 6] - frames[i, 9], contacts[row, 7] - frames[i, 10]
                z = contacts[row, 8] - frames[i, 11]
                g[i] = zx * (y * uz - z * uy) + zy * (z * ux - x * uz) + zz * (x * uy - y * ux)
            rate += g[i] * velocity[i]
        f += near.profile[3] * s * max(0.0, -rate)
        for i in range(joints):
            effort[i] += f * g[i]
            for j in range(i + 1):
                stiffness[i, j] += slope * g[i] * g[j]
    for i in range(n):
        for j in range(i):
            stiffness[j, i] = stiffness[i, j]
    return least
