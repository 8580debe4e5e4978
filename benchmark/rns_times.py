"""What a sample of each law of the reaction null space costs on the arm with seven joints on six directions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pinocchio

from flexarm_core.pipeline.tick import Tick
from flexarm_core.pipeline.vibration_stage import VibrationStage
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.controller import VibrationController
from flexarm_core.reaction_null_space.vibration.motion_guard import joint_limits
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import ArmState, CartesianReference, FlexibleSample, JointReference
from flexarm_tools.metrics.figures import Figure, parse_goal

URDF = Path(__file__).resolve().parents[1] / "urdf" / "boom_7r.urdf.xacro"
POSTURE = np.array([0.476, 1.311, -1.378, -1.555, -0.054, -1.214, 0.716])
CALLS, ROUNDS = 1000, 5
LAWS = (
    ("boom", "reactionless", "joint_servo", "auto"),
    ("boom_directions_by_name", "reactionless", "joint_servo", "names"),
    ("boom_computed_torque", "reactionless", "computed_torque", "auto"),
    ("boom_torque_law", "torque", "computed_torque", "auto"),
    ("boom_torque_law_joint_servo", "torque", "joint_servo", "auto"),
    ("boom_resolved_acceleration", "resolved_acceleration", "joint_servo", "auto"),
)


def update_times() -> Iterator[Figure]:
    """Median of one update, a tool path being followed; Pinocchio's mass matrix and inverse dynamics beside it.

    All take turns, ROUNDS times; the least of the medians counts, since the machine is shared.
    """
    model = ArmModel(load_robot_description(URDF), gravity=(0.0, 0.0, 0.0))
    medians: dict[str, list[float]] = {name: [] for name, *_ in LAWS} | {"pinocchio": []}
    for _ in range(ROUNDS):
        for name, law, realization, chosen in LAWS:
            medians[name].append(_update_time(model, law, realization, chosen))
        medians["pinocchio"].append(_pinocchio_time())
    for name, *_ in LAWS:
        goal = parse_goal("<= 60e-6")
        yield Figure(f"update_time_{name}", min(medians[name]), "s", goal, "median of one update")
    yield Figure(
        "vibration_us", _stage_time(model), "us", parse_goal("<= 50"),
        "CPU time of the stage of the flagship in a tick, called back to back",
    )  # fmt: skip
    yield Figure(
        "pinocchio_time", min(medians["pinocchio"]), "s", None, "one mass matrix and one inverse dynamics alone"
    )


def _update_time(model: ArmModel, law: str, realization: str, chosen: str) -> float:
    none, rng, costs = np.zeros(6), np.random.default_rng(0), []
    selection = BaseSelection(model, ("auto",) if chosen == "auto" else ("boom_y", "boom_z", "boom_rx"))
    config = VibrationControllerConfig(law=law, realization=realization, position_gain=100.0, velocity_gain=20.0)
    controller = VibrationController(model, config, selection)
    for k in range(CALLS):
        state = ArmState(2_000_000 * k, POSTURE, 1e-3 * rng.standard_normal(7), none, 1e-4 * rng.standard_normal(6))
        tool = model.tool_kinematics(state, model.base_frame)
        reference = CartesianReference(
            state.stamp, model.base_frame, tool.position, tool.rotation, none, none, np.arange(6) < 3
        )
        began = time.perf_counter()
        controller.update(state, reference)
        costs.append(time.perf_counter() - began)
    return float(np.median(costs))


def _stage_time(model: ArmModel) -> float:
    """Median with joint limits, a tool path and a posture [us]."""
    limits = joint_limits(model.lower, model.upper, model.velocity_limit, model.effort_limit)
    config = VibrationControllerConfig(
        position_gain=100.0, velocity_gain=20.0, posture_gain=4.0, realization="joint_servo", damping_ratio=0.15
    )
    controller = VibrationController(model, config, BaseSelection(model, ("auto",)), limits)
    stage = VibrationStage(controller, posture="desired_joint_reference")
    still, none, zero, costs = np.zeros(7), np.zeros(6), np.zeros(6), []
    at = model.tool_kinematics(ArmState(0, POSTURE, still, none, none), model.base_frame)
    axes = np.arange(6) < 3
    for k in range(CALLS):
        stamp = 2_000_000 * k
        sample = FlexibleSample(
            stamp, POSTURE.copy(), still.copy(), still, none.copy(), 1e-4 * np.sin(k + np.arange(6))
        )
        tool = CartesianReference(stamp, model.base_frame, at.position, at.rotation, zero, zero, axes)
        tick = Tick(sample, model.m, tool=tool, joints=JointReference(stamp, POSTURE, still, still))
        began = time.thread_time_ns()
        stage.update(tick)
        costs.append(time.thread_time_ns() - began)
    return float(np.median(costs)) * 1e-3


def _pinocchio_time() -> float:
    urdf = pinocchio.buildModelFromXML(load_robot_description(URDF))
    data, q, costs = urdf.createData(), np.concatenate((np.zeros(6), POSTURE)), []
    for _ in range(CALLS):
        began = time.perf_counter()
        pinocchio.crba(urdf, data, q)
        pinocchio.rnea(urdf, data, q, q, q)
        costs.append(time.perf_counter() - began)
    return float(np.median(costs))
