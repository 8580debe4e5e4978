"""Distances of capsules to obstacles by coal, and where the frames of a chain are by Pinocchio."""

from __future__ import annotations

import coal
import numpy as np
import pinocchio
from robots import PinocchioChain

from flexarm_core.behavior_impedance.avoidance.arm_shape import ArmShape
from flexarm_core.behavior_impedance.avoidance.obstacles import Obstacle
from flexarm_core.types import Array

REQUEST = coal.DistanceRequest(True, True)


def rotation_of(axis: Array) -> Array:
    """Rotation whose third column is along an axis."""
    z = axis / np.linalg.norm(axis)
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    return np.column_stack((x, np.cross(z, x), z))


def coal_capsule(a: Array, b: Array, radius: float) -> tuple[coal.CollisionGeometry, coal.Transform3s]:
    """Capsule, or sphere, of an axis and a radius."""
    length = float(np.linalg.norm(b - a))
    if length < 1e-12:
        return coal.Sphere(radius), coal.Transform3s(np.eye(3), a)
    return coal.Capsule(radius, length), coal.Transform3s(rotation_of(b - a), 0.5 * (a + b))


def coal_obstacle(obstacle: Obstacle) -> tuple[coal.CollisionGeometry, coal.Transform3s]:
    """The same obstacle in coal's terms."""
    if obstacle.kind == "sphere":
        geometry = coal.Sphere(obstacle.size[0])
    elif obstacle.kind == "box":
        geometry = coal.Box(2.0 * np.array(obstacle.size))
    else:
        geometry = coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    return geometry, coal.Transform3s(obstacle.rotation, obstacle.position)


def coal_distance(a: Array, b: Array, radius: float, obstacle: Obstacle) -> float:
    """Signed distance of a capsule to an obstacle [m]."""
    return float(coal.distance(*coal_capsule(a, b, radius), *coal_obstacle(obstacle), REQUEST, coal.DistanceResult()))


class CoalArm:
    """The capsules of an arm and obstacles, moved by Pinocchio and measured by coal."""

    def __init__(self, text: str, chain, shape: ArmShape, obstacles) -> None:
        self._pinocchio, self.chain, self.shape = PinocchioChain(text, chain), chain, shape
        self._obstacles = [coal_obstacle(obstacle) for obstacle in obstacles]
        self._ends = shape.capsules[:, 1:7].reshape(-1, 2, 3)
        self._turns = self._turns_of_joints()
        self._bodies = []  # geometry, joint, rotation (3, 3) and place (3,) in the URDF's frame behind it
        for row, ends in zip(shape.capsules, self._ends, strict=True):
            body, at = coal_capsule(*ends, row[7])
            turn = self._turns[int(row[0])]
            self._bodies.append((body, int(row[0]), turn @ at.getRotation(), turn @ at.getTranslation()))

    def _turns_of_joints(self) -> list[Array]:
        """Rotation (3, 3) from the chain's frame of each joint, whose axis is z, to the URDF's."""
        chain, turned, turns = self.chain, np.eye(3), []
        frames = self.joint_frames(np.zeros(chain.n))
        for i in range(len(chain.moving)):
            turned = turned @ chain.links[i, :9].reshape(3, 3)
            turns.append(frames[i][:3, :3].T @ turned)
        return turns

    def joint_frames(self, position: Array) -> list[Array]:
        """Poses (4, 4) of the links behind the joints, base link's frame, as the URDF has them."""
        model, data = self._pinocchio.model, self._pinocchio.data
        pinocchio.framesForwardKinematics(model, data, self._pinocchio.configuration(position))
        base = data.oMf[self._pinocchio.base].inverse()
        return [(base * data.oMi[model.getJointId(name)]).homogeneous for name in self.chain.moving]

    def link_frame(self, position: Array, link: str) -> Array:
        """Pose (4, 4) of any link, base link's frame."""
        model, data = self._pinocchio.model, self._pinocchio.data
        pinocchio.framesForwardKinematics(model, data, self._pinocchio.configuration(position))
        return (data.oMf[self._pinocchio.base].inverse() * data.oMf[model.getFrameId(link)]).homogeneous

    def placed(self, position: Array) -> Array:
        """End points (c, 2, 3) of the capsules, base link's frame [m]."""
        frames, placed = self.joint_frames(position), np.empty_like(self._ends)
        for row, capsule in enumerate(self.shape.capsules):
            i = int(capsule[0])
            placed[row] = (frames[i][:3, :3] @ self._turns[i] @ self._ends[row].T).T + frames[i][:3, 3]
        return placed

    def distances(self, position: Array) -> Array:
        """Signed distances (c, m) [m]."""
        result, frames = np.empty((len(self._bodies), len(self._obstacles))), self.joint_frames(position)
        for row, (body, i, turn, place) in enumerate(self._bodies):
            R = frames[i][:3, :3]
            at = coal.Transform3s(R @ turn, R @ place + frames[i][:3, 3])
            for k, obstacle in enumerate(self._obstacles):
                result[row, k] = coal.distance(body, at, *obstacle, REQUEST, coal.DistanceResult())
        return result

    def least(self, position: Array) -> float:
        """Least of them [m]."""
        return float(self.distances(position).min())
