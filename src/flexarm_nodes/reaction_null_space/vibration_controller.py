"""Stage rns_vibration_controller: ACT, avoids or damps base vibration (core: reaction_null_space).

Task ``tool_path`` processes references on ``cartesian_reference``; with ``posture: desired_joint_reference`` each
together with the joint reference of the same stamp. Task ``joint_path`` processes references on
``desired_joint_reference``. The other tasks need no reference and process every state.
"""

from __future__ import annotations

from flexarm_core.pipeline.vibration_stage import POSTURES
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import Values
from flexarm_nodes.node.input.arm_state_reader import BASE_STATE_SOURCES, NO_BASE_STATE
from flexarm_nodes.node.parameters import Parameter, rows
from flexarm_nodes.node.ports import (
    BY_POSITION,
    JOINTS,
    MARKERS,
    MOTION,
    STATES,
    TOOL,
    Input,
    Output,
    Ports,
    Role,
    base_state_input,
    needed,
)
from flexarm_nodes.node.stage.kind import StageKind
from flexarm_nodes.reaction_null_space.vibration_parameters import built_vibration

VIBRATION_PARAMETERS = (
    *rows(VibrationControllerConfig, live=True, but=("realization",)),
    Parameter("selection", "string[]", ["all"],
        "base motions that are kept quiet: all, auto (soft vibration modes), or names of elastic joints"),
    Parameter("posture", "string", "first",
        "posture that posture_gain refers to: the first one measured, or that of the desired_joint_reference topic",
        choices=POSTURES),
    Parameter("base_state_source", "string", "joint_states",
        "source of the base deflection: joint states, flexible state of the estimator, or none (base assumed at"
        " rest)", choices=(*BASE_STATE_SOURCES, NO_BASE_STATE)),
    Parameter("check_gains", "bool", True,
        "reject gains with which the closed loop is unstable at the start posture"),
    Parameter("start_position", "double[]", [],
        "joint positions at which gains are checked at configuration; empty: checked at activation, where the arm"
        " is", "rad | m"),
    Parameter("axes", "bool[]", [],
        "tool axes x y z rx ry rz assumed to be tracked when gains are checked (task tool_path); empty: as in"
        " the first reference"),
    Parameter("frame", "string", "",
        "frame of tool references assumed when gains are checked (task tool_path): root link or base link;"
        " empty: base link"),
    Parameter("rate", "double", 1000.0, "nominal sampling rate for which gains are checked", "Hz", 10.0, 1e5),
    *rows(Sampling),
    Parameter("reference_timeout", "double", 0.08,
        "largest accepted age of a reference, relative to the measured state", "s", 1e-4, live=True),
    Parameter("map_postures", "int", 0,
        "number of postures tried at configuration for the workspace map on ~/markers; 0: no map", "", 0, 20_000),
)  # fmt: skip


def _ports(values: Values, description: RobotDescription, tool: str) -> Ports:
    """Return the topics that the stage uses with these parameters."""
    task, because = values["task"], f"task '{values['task']}'"
    led = task == "tool_path" and values["posture_gain"] > 0.0 and values["posture"] == "desired_joint_reference"
    gives = frozenset({"acceleration", "effort"})
    return Ports(
        (
            STATES,
            base_state_input(values),
            Input(topics.CARTESIAN_REFERENCE, TOOL, needed(task == "tool_path"), because),
            Input(topics.DESIRED_JOINT_REFERENCE, JOINTS, needed(task == "joint_path" or led), because, BY_POSITION),
        ),
        (
            Output(
                topics.JOINT_REFERENCE,
                JOINTS,
                Role.LEADS,
                MOTION | gives if values["realization"] == "joint_servo" else gives,
            ),
            Output(topics.BASE_REACTION, "BaseReaction"),
            MARKERS,
        ),
    )


KIND = StageKind(
    "rns_vibration_controller", "flexarm", VIBRATION_PARAMETERS, built_vibration, ("tool", "joints"), ports_of=_ports
)
