"""Bodies of a whole robot in the postures of its arm: how high they are over the ground, and which of them touch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import product

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array
from flexarm_sim.mujoco.inertia import quaternion
from flexarm_tools.report.solids import solids_to_touch

ALWAYS = 0.9  # share of postures in which links are close that are built so
FLANGE = 0.02  # [m] of what stands still under the mounting plane, as flanges do, and is not named
SKIN = np.array(list(product((-5e-4, 5e-4), repeat=3)))  # [m] around every point, so that flat links have a volume
MEMORY = 1 << 26  # [byte] for contacts


class RobotBodies:
    """All links of a robot, moved by its arm or not, as the convex hulls of their collision or visual geometry.

    Attributes:
        ground: height over the origin of the base link, along its z axis, of the lowest point of all links that stand
            still, such as the feet of a humanoid; not over 0, the mounting plane [m].
        lowest_still: the link with this point; empty if the ground is the mounting plane, or hardly lower.
    """

    def __init__(self, model: ArmModel) -> None:
        """Load the geometry of the robot. Links without, and without meshes that are found, count as 12 cm thick.

        Args:
            model: the arm.
        """
        description = model.description
        hulls = {
            name: [_hull_points(solid.vertices) for solid in solids]
            for name, solids in solids_to_touch(description).items()
        }
        spec = mujoco.MjSpec()
        spec.memory = MEMORY
        spec.option.disableflags = mujoco.mjtDisableBit.mjDSBL_FILTERPARENT  # which would skip welded links as well
        bodies = {description.root: spec.worldbody.add_body(name=_body(description.root))}
        moved: list[str] = []
        driven: list[tuple[str, int, float]] = []
        for joint in description.joints.values():  # parents before children
            pose = joint.transform_child_to_parent
            body = bodies[joint.parent].add_body(
                name=_body(joint.child), pos=pose[:3, 3], quat=quaternion(pose[:3, :3])
            )
            bodies[joint.child] = body
            if joint.driver in model.joint_names:
                slides = joint.kind == "prismatic"
                kind = mujoco.mjtJoint.mjJNT_SLIDE if slides else mujoco.mjtJoint.mjJNT_HINGE
                body.add_joint(name=joint.name, type=kind, axis=joint.axis)
                driven.append((joint.name, model.joint_names.index(joint.driver), joint.multiplier))
            if joint.driver in model.joint_names or joint.parent in moved:
                moved.append(joint.child)
        for name, body in bodies.items():
            body.mass, body.inertia, body.explicitinertial = 1.0, np.ones(3), True
            for number, points in enumerate(hulls.get(name, ())):
                mesh = f"{name}/{number}"
                spec.add_mesh(name=mesh, uservert=points.ravel(), inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX)
                body.add_geom(name=mesh, type=mujoco.mjtGeom.mjGEOM_MESH, meshname=mesh)
        carriers = {joint.child: joint for joint in description.joints.values()}
        for name in hulls:
            link, joints = name, 0
            while link in carriers and (link == name or link not in hulls):
                joints += carriers[link].driver in model.joint_names
                link = carriers[link].parent
            if joints and link in hulls:
                spec.add_exclude(bodyname1=_body(name), bodyname2=_body(link))
        self._engine = spec.compile()
        self._data = mujoco.MjData(self._engine)
        self._points = {name: np.concatenate(found) for name, found in hulls.items()}
        self._moved, self._base = tuple(moved), model.base_frame
        self._addresses = [int(self._engine.joint(name).qposadr[0]) for name, _, _ in driven]
        self._columns = [column for _, column, _ in driven]
        self._factors = np.array([factor for _, _, factor in driven])
        mujoco.mj_kinematics(self._engine, self._data)
        placed = np.hstack((self._data.xpos, self._data.xmat))[None]
        still = {name: float(self._lowest(name, placed)[0]) for name in self._points if name not in moved}
        lowest = min(still, key=lambda name: still[name], default="")
        self.ground = min(still.get(lowest, 0.0), 0.0)
        self.lowest_still = lowest if self.ground < -FLANGE else ""

    def heights(self, postures: Array) -> dict[str, Array]:
        """Compute the heights (p,) over the ground of the lowest points of all links that the arm moves, by link [m].

        Of a link without geometry, this is its origin.

        Args:
            postures: (p, n) joint positions.
        """
        data = self._data
        placed = np.array([np.hstack((data.xpos, data.xmat)) for _ in self._placed(postures)])
        return {link: self._lowest(link, placed) - self.ground for link in self._moved}

    def low(self, postures: Array, height: float) -> NDArray[np.bool_]:
        """Return for each of p postures whether links that the arm moves are lower than a height over the ground [m].

        Links that are as low in nearly every posture are built so, and do not count.
        """
        return _at_times(np.stack([values < height for values in self.heights(postures).values()], axis=1))

    def touches(self, postures: Array, gap: float = 0.0) -> NDArray[np.bool_]:
        """Return for each of p postures whether links are closer than a gap [m].

        Links that a joint connects do not count, nor pairs that are as close in nearly every posture: these are built
        so.
        """
        pairs: dict[tuple[int, int], int] = {}
        rows: list[set[int]] = []
        self._engine.geom_margin[:] = gap
        bodies = self._engine.geom_bodyid
        for _ in self._placed(postures):
            mujoco.mj_collision(self._engine, self._data)
            contact = self._data.contact
            near = {tuple(sorted(bodies[geoms].tolist())) for geoms in contact.geom[contact.dist < gap]}
            rows.append({pairs.setdefault(pair, len(pairs)) for pair in near})
        close = np.zeros((len(postures), len(pairs)), dtype=bool)
        for row, found in enumerate(rows):
            close[row, list(found)] = True
        return _at_times(close)

    def _placed(self, postures: Array) -> Iterator[None]:
        for position in postures:
            self._data.qpos[self._addresses] = self._factors * position[self._columns]
            mujoco.mj_kinematics(self._engine, self._data)
            yield

    def _lowest(self, link: str, placed: Array) -> Array:
        """Return the heights (p,) of the lowest point of a link over the origin of the base link, along its z axis [m].

        Args:
            link: the link.
            placed: (p, bodies, 12) positions and rotations, row by row, of all bodies in p postures.
        """
        base, body = (placed[:, self._engine.body(_body(name)).id] for name in (self._base, link))
        up = base[:, [5, 8, 11]]
        points = self._points.get(link, np.zeros((1, 3)))
        along = np.einsum("pi,pij->pj", up, body[:, 3:].reshape(-1, 3, 3))
        found: Array = (along @ points.T).min(axis=1) + np.einsum("pi,pi->p", up, body[:, :3] - base[:, :3])
        return found


def _body(link: str) -> str:
    """Return the name of a link's body: MuJoCo has one named ``world``, as many robots do."""
    return f"link/{link}"


def _at_times(found: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return for each of p postures whether something is found (p, k), without what is found in nearly all."""
    return np.asarray(found[:, found.mean(axis=0) <= ALWAYS].any(axis=1))


def _hull_points(vertices: Array) -> Array:
    """Return the corners (k, 3) of the convex hull of vertices (N, 3), with a little skin."""
    with suppress(QhullError):  # flat
        vertices = vertices[ConvexHull(vertices).vertices]
    points = (vertices[:, None] + SKIN).reshape(-1, 3)
    found: Array = points[ConvexHull(points).vertices]
    return found
