"""Stage joint_trajectory_follower: DECIDE, trajectories of a planner -> joint references (core: joint_trajectory)."""

from __future__ import annotations

from collections.abc import Callable

from flexarm_core.errors import ConfigError
from flexarm_core.joint_trajectory.base_modes import base_mode_shaper
from flexarm_core.joint_trajectory.file import load_trajectory
from flexarm_core.joint_trajectory.follower import TrajectoryFollower, TrajectoryFollowerConfig
from flexarm_core.joint_trajectory.spline import Spline
from flexarm_core.path.input_shaping import SHAPERS, InputShaper, make_shaper
from flexarm_core.pipeline.tick import Tick
from flexarm_core.pipeline.trajectory_stage import TrajectoryStage
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_core.uri import resolve_uri
from flexarm_nodes.joint_trajectory.interfaces import TrajectoryInterfaces
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import BuiltStage, Status, Values, joint_output
from flexarm_nodes.node.diagnostics import OK, WARN
from flexarm_nodes.node.parameters import Parameter, record_of, rows
from flexarm_nodes.node.ports import JOINTS, MOTION, STATES, Input, Output, Ports, Role, Use
from flexarm_nodes.node.stage.kind import StageKind

PARAMETERS = (
    *rows(TrajectoryFollowerConfig, live=True),
    Parameter("trajectory_file", "string", "",
        "trajectory that is followed without a goal: package:// or file:// URI, or absolute path of a .yaml file in the"
        " form of `ros2 topic echo`", at_start=True),
    Parameter("start", "double", 0.0,
        "time after the first sample at which the motion along trajectory_file begins", "s", 0.0),
    Parameter("action_monitor_rate", "double", 20.0, "rate of the feedback on a goal", "Hz", 0.1, 1000.0, live=True),
    Parameter("shaper", "string", "none",
        "input shaper of trajectories: zero vibration (zv), zero vibration and derivative (zvd), for the modes of the"
        " base between first and last point (base_modes), or none; a trajectory ends later by its length",
        choices=(*SHAPERS, "base_modes")),
    Parameter("shaper_share", "double", 0.15,
        "longest time that shaper base_modes adds to a trajectory, as a share of its duration", "", 0.0, 1.0),
    Parameter("shaper_frequency", "double[]", [],
        "natural frequency of each vibration mode that the input shaper suppresses",
        "Hz", 0.0),
    Parameter("shaper_damping_ratio", "double[]", [0.0],
        "damping ratio of the vibration modes that the input shaper suppresses; one for all modes or one per mode",
        "", 0.0, 0.99),
)  # fmt: skip


def built_follower(values: Values, model: ArmModel) -> BuiltStage:
    """Return the stage that follows trajectories, with its output.

    Raises:
        ConfigError: a parameter is invalid for this arm.
    """
    follower = TrajectoryFollower(
        model.joint_names, model.turns, model.lower, model.upper, model.velocity_limit,
        record_of(TrajectoryFollowerConfig, values), _shaper(values, model), model.acceleration_limit,
    )  # fmt: skip
    file = values["trajectory_file"]
    stage = TrajectoryStage(follower, load_trajectory(resolve_uri(file)) if file else None, values["start"])
    interfaces = TrajectoryInterfaces(stage, values)

    def change(changed: Values) -> None:
        follower.use(record_of(TrajectoryFollowerConfig, changed))
        interfaces.values = changed

    def status(tick: Tick) -> Status:
        return (WARN, follower.remark, {}) if follower.remark else (OK, follower.activity, {})

    output = joint_output(stage.name, model, topics.DESIRED_JOINT_REFERENCE)
    return BuiltStage(stage, change, (output,), interfaces=interfaces, status=status)


def _shaper(values: Values, model: ArmModel) -> Callable[[Spline], InputShaper]:
    """Return what gives the shaper of a trajectory."""
    if values["shaper"] != "base_modes":
        shaper = make_shaper(values["shaper"], values["shaper_frequency"], values["shaper_damping_ratio"])
        return lambda spline: shaper
    if not model.m:
        raise ConfigError("shaper 'base_modes' is for an arm with elastic joints under its base; this one has none")
    own = ArmModel(model.description, model.tool_frame, model.gravity)  # goals are checked while others use the model
    return lambda spline: base_mode_shaper(own, spline, values["shaper_share"])


def _ports(values: Values, description: RobotDescription, tool: str) -> Ports:
    """Return the topics that the stage uses."""
    return Ports(
        (STATES, Input(topics.FOLLOWED_TRAJECTORY, "JointTrajectory", Use.HEARD)),
        (Output(topics.DESIRED_JOINT_REFERENCE, JOINTS, Role.LEADS, MOTION),),
    )


KIND = StageKind("joint_trajectory_follower", "flexarm", PARAMETERS, built_follower, (), ports_of=_ports, massless=True)
