"""A slew of `flexible_3r` under gravity, by law accelerations: with modes compared, or joints alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from flexarm_core.flexible_dynamics.control.controller import FlexibleController, FlexibleControllerConfig
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.vibration_damping import VibrationDampingConfig, static_deflection
from flexarm_core.path.joint_move import JointMove, JointMoveConfig
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import ArmState, Array, FlexibleState

URDF = Path(__file__).resolve().parents[2] / "urdf"
START = np.array([0.3, -0.6, 0.9])


def arm(**options: Any) -> FlexibleModel:
    return FlexibleModel(load_robot_description(URDF / "flexible_3r.urdf.xacro"), **options)


def controller_of(model: FlexibleModel, damping: float, weight: float = 1.0) -> FlexibleController:
    motion = VibrationDampingConfig(400.0, 40.0, mode_damping=damping, mode_weight=weight)
    return FlexibleController(model, FlexibleControllerConfig(law="accelerations", motion=motion, check_gains=False))


def sampled(model: FlexibleModel, stamp: int, x: Array, v: Array) -> tuple[ArmState, FlexibleState]:
    elastic, modal, none = model.elastic, model.modal, np.zeros(len(model.elastic))
    joints = ArmState(stamp, x[model.actuated], v[model.actuated], none, none)
    return joints, FlexibleState(stamp, x[elastic], v[elastic], none, x[modal], v[modal], 0 * x[modal])


def slew(damping: float, weight: float) -> tuple[Array, Array, float]:
    """Missed accelerations and tool positions of the second after a slew of one second, and the joints' worst error."""
    model, plant = arm(), arm()
    controller = controller_of(model, damping, weight)
    move = JointMove(JointMoveConfig((0.5, -0.4, 0.5), duration=1.0, time_law="seventh_order"))
    move.begin(0, START)
    x, v = np.zeros(model.size), np.zeros(model.size)
    x[model.actuated], x[model.unmeasured] = START, static_deflection(model, START)
    missed, tool, worst = [], [], 0.0
    for tick in range(2000):
        joints, flexible = sampled(model, tick * 1_000_000, x, v)
        reference = move.update(joints.stamp)
        efforts = np.zeros(len(model.hinge_names))
        efforts[model.actuated] = controller.update(joints, flexible, reference).effort
        missed.append(controller.missed)
        worst = max(worst, float(np.abs(joints.position - reference.position).max()))
        plant.set_wrenches(x, v, None)
        plant.integrate(x, v, efforts, 2.5e-4, 4)
        tool.append(plant.frame_motion("tool0", x, v).position)
    assert controller.limited == 1.0
    return np.array(missed), np.array(tool[1000:]), worst
