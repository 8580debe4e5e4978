"""What parameters of the stages describe: one way from values to core objects, for the nodes and for control_loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.flexible_dynamics.controller import FlexibleControllerConfig
from flexarm_core.flexible_dynamics.flexible_links import resolve_uri
from flexarm_core.flexible_dynamics.vibration_damping import VibrationDampingConfig
from flexarm_core.hardware_gate.gate import HardwareGate, HardwareGateConfig
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.path.input_shaping import InputShaper, make_shaper
from flexarm_core.path.joint_move import JointMove, JointMoveConfig
from flexarm_core.path.line import LinePath, LinePathConfig
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.path.path_timing import load_solver
from flexarm_core.path.trajectory_motion import TrajectoryMotion, TrajectoryMotionConfig
from flexarm_core.path.waypoint_file import load_waypoint_file
from flexarm_core.path.waypoint_motion import WaypointMotion, WaypointMotionConfig
from flexarm_core.pipeline.reference_stage import JointMotion, ToolMotion
from flexarm_core.pipeline.vibration_stage import VibrationStage
from flexarm_core.reaction_null_space.base_selection import BaseSelection
from flexarm_core.reaction_null_space.reaction_plan_file import load_plan
from flexarm_core.reaction_null_space.sampling import Sampling
from flexarm_core.reaction_null_space.vibration_controller import VibrationController, VibrationControllerConfig
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array

Values = Mapping[str, Any]


def reference_motion(values: Values, model: ArmModel) -> JointMotion | ToolMotion:
    """Motion of the tool or of the joints that a reference generator leads along.

    Raises:
        ConfigError: values that do not fit the arm, or a file that cannot be used.
    """
    if values["space"] == "joints":
        return _joint_move(values, model)
    if values["space"] == "plan":
        return _planned_motion(values, model)
    return _waypoints(values, model) if values["space"] == "path" else _line(values, model)


def vibration_config(values: Values) -> VibrationControllerConfig:
    """Settings of the vibration controller.

    Raises:
        ConfigError: one has no meaning.
    """
    return VibrationControllerConfig(**{f.name: values[f.name] for f in fields(VibrationControllerConfig)})


def vibration_stage(values: Values, model: ArmModel) -> VibrationStage:
    """Vibration controller of an arm, which looks at its gains if it is to.

    Raises:
        ConfigError: values that do not fit the arm.
    """
    selection = BaseSelection(model, tuple(values["selection"])) if model.m else None
    sampling = Sampling(
        1.0 / values["rate"], values["delay"], drive=values["drive"], drive_bandwidth=values["drive_bandwidth"]
    )
    return VibrationStage(
        VibrationController(model, vibration_config(values), selection),
        sampling if values["check_gains"] else None,
        values["base_state_source"],
        values["posture"],
    )


def flexible_controller_config(values: Values) -> FlexibleControllerConfig:
    """Settings of the controller of an arm that bends.

    Raises:
        ConfigError: one has no meaning.
    """
    names = ("position_gain", "velocity_gain", "tool_stiffness", "effort_weight", "gain_period")
    return FlexibleControllerConfig(
        law=values["law"],
        motion=VibrationDampingConfig(**{name: values[name] for name in names}),
        influence=values["influence"],
        tolerance=values["tolerance"],
        iterations=values["iterations"],
        period=1.0 / values["rate"],
    )


def hardware_gate(values: Values, model: ArmModel) -> HardwareGate:
    """Gate of an arm.

    Raises:
        ConfigError: values that do not fit the arm.
    """
    effort_rate, friction = (
        _for_each_joint(name, values[name], model.n) for name in ("max_effort_rate", "max_friction")
    )
    limits = JointLimits(
        lower=model.lower,
        upper=model.upper,
        velocity=model.velocity_limit,
        acceleration=_for_each_joint("max_acceleration", values["max_acceleration"], model.n),
        effort=model.effort_limit,
        effort_rate=np.where(effort_rate > 0.0, effort_rate, np.inf),
        friction=np.where(friction > 0.0, friction, np.inf),
    )
    config = HardwareGateConfig(
        command_mode=values["command_mode"],
        period=1.0 / values["rate"],
        reference_timeout=values["reference_timeout"],
        state_timeout=values["state_timeout"],
        recovery_samples=values["recovery_samples"],
        hold_frequency=values["hold_frequency"],
        lockstep=values["lockstep"],
    )
    return HardwareGate(model, limits, config)


def commanded_order(values: Values, model: ArmModel) -> list[int]:
    """Place in the model of each joint of the command controller.

    Raises:
        ConfigError: parameter ``joints`` is no order of the arm's.
    """
    wanted = [name for name in values["joints"] if name] or list(model.joint_names)
    if sorted(wanted) != sorted(model.joint_names):
        raise ConfigError(f"joints are {', '.join(wanted)}; expected an order of {', '.join(model.joint_names)}")
    return [model.joint_names.index(name) for name in wanted]


def _for_each_joint(name: str, values: list[float], n: int) -> Array:
    if len(values) not in (1, n):
        raise ConfigError(f"{name} needs 1 or {n} numbers, got {len(values)}")
    return np.broadcast_to(np.array(values, dtype=float), (n,)).copy()


def _frame(name: str, model: ArmModel) -> str:
    frame = name or model.base_frame
    if frame not in (model.world_frame, model.base_frame):
        raise ConfigError(f"frame '{frame}' is not usable; valid: '{model.world_frame}', '{model.base_frame}'")
    return frame


def _waypoints(values: Values, model: ArmModel) -> WaypointMotion:
    if not values["waypoint_file"]:
        raise ConfigError("space 'path' needs a waypoint_file: a package:// or file:// URI, or an absolute path")
    spec = load_waypoint_file(resolve_uri(values["waypoint_file"]))
    if values["frame"] and spec.frame and values["frame"] != spec.frame:
        raise ConfigError(
            f"frame is '{values['frame']}', the waypoint file says '{spec.frame}': leave one of them empty"
        )
    load_solver()  # here, since the first tick has no time for it
    return WaypointMotion(
        WaypointMotionConfig(
            spec=spec,
            frame=_frame(values["frame"] or spec.frame, model),
            limits=PathLimits(
                linear_velocity=values["max_linear_velocity"],
                linear_acceleration=values["max_linear_acceleration"],
                angular_velocity=values["max_angular_velocity"],
                angular_acceleration=values["max_angular_acceleration"],
            ),
            start=values["start"],
            axes=tuple(values["axes"]),
            returns=values["returns"],
        )
    )


def _line(values: Values, model: ArmModel) -> LinePath:
    return LinePath(
        LinePathConfig(
            frame=_frame(values["frame"], model),
            displacement=tuple(values["displacement"]),
            start=values["start"],
            duration=values["duration"],
            axes=tuple(values["axes"]),
            returns=values["returns"],
            shaper=_shaper(values),
        )
    )


def _shaper(values: Values) -> InputShaper:
    return make_shaper(values["shaper"], values["shaper_frequency"], values["shaper_damping_ratio"])


def _joint_move(values: Values, model: ArmModel) -> JointMove:
    displacement = tuple(values["joint_displacement"])
    if len(displacement) != model.n:
        names = ", ".join(model.joint_names)
        raise ConfigError(f"joint_displacement needs {model.n} numbers, for {names}; got {list(displacement)}")
    return JointMove(
        JointMoveConfig(
            displacement=displacement,
            start=values["start"],
            duration=values["duration"],
            returns=values["returns"],
            repetitions=values["repetitions"],
            shaper=_shaper(values),
            time_law=values["time_law"],
            blend_time=values["blend_time"],
        )
    )


def _planned_motion(values: Values, model: ArmModel) -> TrajectoryMotion:
    if not values["plan_file"]:
        raise ConfigError("space 'plan' needs a plan_file: a package:// or file:// URI, or an absolute path")
    plan = load_plan(resolve_uri(values["plan_file"]), model)
    return TrajectoryMotion(
        plan.trajectory(),
        plan.joint_names,
        TrajectoryMotionConfig(values["start"], values["start_tolerance"], values["returns"]),
    )
