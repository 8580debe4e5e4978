"""Stage reference_generator: DECIDE, computes a tool or joint reference for every joint state (core: path)."""

from __future__ import annotations

from dataclasses import replace

from flexarm_core.path.input_shaping import SHAPERS
from flexarm_core.path.joint_move import JointMoveConfig
from flexarm_core.path.line import LinePathConfig
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.path.trajectory_motion import TrajectoryMotionConfig
from flexarm_core.path.velocity_commands import JointVelocityMotionConfig, TwistMotionConfig
from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import Values
from flexarm_nodes.node.input.arm_state_reader import BASE_STATE_SOURCES
from flexarm_nodes.node.parameters import Parameter, rows
from flexarm_nodes.node.ports import JOINTS, MOTION, STATES, TOOL, Input, Output, Ports, Role, Use, base_state_input
from flexarm_nodes.node.stage.kind import StageKind
from flexarm_nodes.references.parameters import built_reference

SPACES = ("tool", "joints", "path", "plan", "twist", "joint_velocity")

REFERENCE_PARAMETERS = (
    Parameter("space", "string", "tool",
        "motion to generate: tool along a line (tool), joint displacement (joints), tool along a waypoint file (path),"
        " joints along a stored plan (plan), tool or joints by velocity commands (twist, joint_velocity)",
        choices=SPACES),
    Parameter("frame", "string", "",
        "frame of tool references (spaces tool, path and twist), root or base link; empty: that of the waypoint"
        " file, or the base link"),
    Parameter("displacement", "double[]", [0.0, 0.0, 0.0],
        "displacement of the tool along a straight line (space tool), in the axes of the reference frame", "m"),
    *rows(JointMoveConfig),
    *rows(LinePathConfig, without=("start", "duration", "returns")),
    Parameter("base_state_source", "string", "joint_states",
        "source of the base deflection for tool references (not of joints): joint states, or the flexible"
        " state of the estimator", choices=BASE_STATE_SOURCES),
    Parameter("waypoint_file", "string", "",
        "waypoint file of space path: package:// or file:// URI, or absolute path", at_start=True),
    Parameter("plan_file", "string", "",
        "stored joint plan of space plan: package:// or file:// URI, or absolute path", at_start=True),
    *rows(TrajectoryMotionConfig, without=("start", "returns")),
    *rows(PathLimits, prefix="max_"),
    *rows(TwistMotionConfig),
    *rows(JointVelocityMotionConfig),
    Parameter("joint_displacement", "double[]", [],
        "displacement of each actuated joint from its first measured position (space joints)", "rad | m"),
    Parameter("shaper", "string", "none",
        "input shaper of the time law (spaces tool and joints) or of the motion (twist and joint_velocity): zero"
        " vibration (zv), zero vibration and derivative (zvd), or none", choices=SHAPERS),
    Parameter("shaper_frequency", "double[]", [],
        "natural frequency of each vibration mode that the input shaper suppresses",
        "Hz", 0.0),
    Parameter("shaper_damping_ratio", "double[]", [0.0],
        "damping ratio of the vibration modes that the input shaper suppresses; one for all modes or one per mode",
        "", 0.0, 0.99),
)  # fmt: skip


def _ports(values: Values, description: RobotDescription, tool: str) -> Ports:
    """Return the topics that the stage uses with these parameters."""
    space = values["space"]
    joints = space in ("joints", "plan", "joint_velocity")
    led, other = (Role.SILENT, Role.LEADS) if joints else (Role.LEADS, Role.SILENT)
    state = base_state_input(values)
    commands = [
        Input(topic, kind, Use.HEARD)
        for wanted, topic, kind in (
            ("twist", topics.TWIST_COMMAND, "TwistStamped"),
            ("joint_velocity", topics.JOINT_VELOCITY_COMMAND, "JointState"),
            ("joint_velocity", topics.JOINT_JOG, "JointJog"),
        )
        if space == wanted
    ]
    return Ports(
        (STATES, replace(state, use=Use.IGNORED, because=f"space '{space}'") if joints else state, *commands),
        (
            Output(topics.CARTESIAN_REFERENCE, TOOL, led),
            Output(topics.DESIRED_JOINT_REFERENCE, JOINTS, other, MOTION),
        ),
    )


KIND = StageKind("reference_generator", "flexarm", REFERENCE_PARAMETERS, built_reference, (), ports_of=_ports)
