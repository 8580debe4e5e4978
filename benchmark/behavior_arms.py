"""Arms and controllers of the measurements of the behavior impedance controller."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "test"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "test" / "support"))

from robots import chain, find

from flexarm_core.behavior_impedance.avoidance.arm_shape import build_arm_shape
from flexarm_core.behavior_impedance.behavior import Arm
from flexarm_core.behavior_impedance.config import ImpedanceConfig
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.ik_redundancy.config import RedundancyConfig
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import Array

DT = 0.002  # [s]
STEP_NS = 2_000_000
ACCELERATION = 20.0  # [rad/s^2] of every joint


@cache
def description(name: str) -> RobotDescription:
    """Description of a robot."""
    return parse_robot_description(find(name)[0], massless=True)


@cache
def make_arm(name: str, acceleration: float = ACCELERATION, velocity_scale: float = 1.0) -> Arm:
    """Kinematics, shape and limits of a robot.

    Args:
        name: of the robot.
        acceleration: limit of every joint [rad/s^2].
        velocity_scale: by which the velocity limits of the description are multiplied.
    """
    links = chain(name)
    strongest = np.full(links.n, acceleration)
    limits = MotionLimits(links.lower, links.upper, links.velocity_limit * velocity_scale, strongest)
    return Arm(links, build_arm_shape(description(name), links), limits)


def make_controller(arm: Arm, config: ImpedanceConfig | None = None) -> BehaviorImpedanceController:
    """Controller that has not begun."""
    redundancy = RedundancyConfig(objective_time_constant=0.0)
    return BehaviorImpedanceController(arm, config or ImpedanceConfig(), redundancy)


def least_singular_value(arm: Arm, position: Array) -> float:
    """Of the Jacobian, rotations scaled to lengths [m/rad]."""
    J = arm.chain.kinematics(position)[2].copy()
    J[3:] *= arm.length_scale
    return float(np.linalg.svd(J, compute_uv=False)[-1])
