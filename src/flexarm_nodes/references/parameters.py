"""Builds the motion of the reference generator from its parameters, for its own node and for control_loop."""

from __future__ import annotations

from flexarm_core.errors import ConfigError
from flexarm_core.path.input_shaping import InputShaper, make_shaper
from flexarm_core.path.joint_move import JointMove, JointMoveConfig
from flexarm_core.path.line import LinePath, LinePathConfig
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.path.path_timing import load_solver
from flexarm_core.path.trajectory_motion import TrajectoryMotion, TrajectoryMotionConfig
from flexarm_core.path.velocity_commands import (
    JointVelocityMotion,
    JointVelocityMotionConfig,
    TwistMotion,
    TwistMotionConfig,
    load_compiled,
)
from flexarm_core.path.waypoint_file import load_waypoint_file
from flexarm_core.path.waypoint_motion import WaypointMotion, WaypointMotionConfig
from flexarm_core.pipeline.reference_stage import JointMotion, ReferenceStage, ToolMotion
from flexarm_core.pipeline.tick import Tick
from flexarm_core.reaction_null_space.planning.plan_file import load_plan
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.uri import resolve_uri
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import (
    BuiltStage,
    Status,
    Values,
    joint_output,
    required_base,
    tool_output,
    unchanged,
)
from flexarm_nodes.node.diagnostics import OK, WARN
from flexarm_nodes.node.interfaces import Interfaces
from flexarm_nodes.node.parameters import record_of
from flexarm_nodes.references.interfaces import VelocityInterfaces


def built_reference(values: Values, model: ArmModel) -> BuiltStage:
    """Return the stage of a tool or joint motion with its output.

    Raises:
        ConfigError: as for :func:`reference_motion`.
    """
    stage = ReferenceStage(model, reference_motion(values, model), values["base_state_source"])
    joints = isinstance(stage.motion, JointMotion)
    output = (
        joint_output(stage.name, model, topics.DESIRED_JOINT_REFERENCE) if joints else tool_output(stage.name, model)
    )
    base = required_base(stage.source)
    hears = isinstance(stage.motion, TwistMotion | JointVelocityMotion)
    interfaces = VelocityInterfaces(stage) if hears else Interfaces()

    def status(tick: Tick) -> Status:
        motion = stage.motion
        if not isinstance(motion, TwistMotion | JointVelocityMotion):
            return OK, "generating", {}
        shown = {"velocity_command": "followed" if motion.follows else "none, or over"}
        return (WARN, motion.remark, shown) if motion.remark else (OK, "generating", shown)

    return BuiltStage(stage, unchanged, (output,), required=base, status=status, interfaces=interfaces)


def reference_motion(values: Values, model: ArmModel) -> JointMotion | ToolMotion:
    """Return the tool or joint motion that a reference generator follows.

    Raises:
        ConfigError: values that do not fit the arm, or a file that cannot be used.
    """
    if values["space"] in ("path", "plan") and values["shaper"] != "none":
        raise ConfigError(f"space '{values['space']}' is not shaped: shaper must be none")
    if values["space"] == "joints":
        return _joint_move(values, model)
    if values["space"] == "plan":
        return _planned_motion(values, model)
    if values["space"] == "joint_velocity":
        config = record_of(
            JointVelocityMotionConfig, values, command_timeout=values["command_timeout"], shaper=_shaper(values)
        )
        return JointVelocityMotion(config, model.lower, model.upper, model.velocity_limit, model.acceleration_limit)
    if values["space"] == "twist":
        return _twists(values, model)
    return _waypoints(values, model) if values["space"] == "path" else _line(values, model)


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
    load_solver()  # loaded here, because the first tick has no time for it
    return WaypointMotion(
        WaypointMotionConfig(
            spec=spec,
            frame=_frame(values["frame"] or spec.frame, model),
            limits=record_of(PathLimits, values, "max_"),
            start=values["start"],
            axes=tuple(values["axes"]),
            returns=values["returns"],
        )
    )


def _line(values: Values, model: ArmModel) -> LinePath:
    return LinePath(
        record_of(
            LinePathConfig,
            values,
            frame=_frame(values["frame"], model),
            displacement=tuple(values["displacement"]),
            shaper=_shaper(values),
        )
    )


def _twists(values: Values, model: ArmModel) -> TwistMotion:
    load_compiled()
    return TwistMotion(
        record_of(
            TwistMotionConfig,
            values,
            frame=_frame(values["frame"], model),
            limits=record_of(PathLimits, values, "max_"),
            axes=tuple(values["axes"]),
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
    config = record_of(JointMoveConfig, values, displacement=displacement, shaper=_shaper(values))
    config.check_limits(model.joint_names, model.velocity_limit, model.acceleration_limit)
    return JointMove(config)


def _planned_motion(values: Values, model: ArmModel) -> TrajectoryMotion:
    if not values["plan_file"]:
        raise ConfigError("space 'plan' needs a plan_file: a package:// or file:// URI, or an absolute path")
    plan = load_plan(resolve_uri(values["plan_file"]), model)
    return TrajectoryMotion(
        plan.trajectory(),
        model.turns,
        plan.joint_names,
        record_of(TrajectoryMotionConfig, values),
    )
