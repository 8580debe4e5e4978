"""The push that `flexarm view` proposes: in the direction in which the base is softest."""

from __future__ import annotations

import numpy as np

from flexarm_core.flexible_dynamics.arm_sample import ArmSample
from flexarm_core.flexible_dynamics.deflected_arm import DeflectedArm
from flexarm_core.robot.description import RobotDescription

FORCE = 50.0  # [N]
STEP = 1e-4  # [rad | m]
SOFT = 1e-6  # [N/m | N*m/rad] less than of any spring: a base that floats freely gives way there


def softest_push(description: RobotDescription) -> tuple[float, float, float]:
    """Return the force (3,) on the base link, in axes of the root link, that moves it farthest [N]."""
    arm = DeflectedArm(description, description.tip_links()[0])

    def at(name: str, value: float) -> np.typing.NDArray[np.float64]:
        return arm.place(ArmSample(0.0, {}, {name: value}), 1.0)[description.base_frame][:3, 3]

    compliance = np.zeros((3, 3))
    for joint in description.elastic:
        way = (at(joint.name, STEP) - at(joint.name, -STEP)) / (2.0 * STEP)
        compliance += np.outer(way, way) / max(joint.stiffness, SOFT)
    if compliance.max() <= 0.0:  # a rigid base, or one that only turns about the base link's origin
        return 0.0, FORCE, 0.0
    softest = np.linalg.eigh(compliance)[1][:, -1]
    softest *= np.sign(softest[np.argmax(np.abs(softest))])
    x, y, z = (float(round(FORCE * value, 1)) + 0.0 for value in softest)
    return x, y, z
