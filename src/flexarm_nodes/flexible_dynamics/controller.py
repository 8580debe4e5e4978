"""Stage flexible_dynamics_controller: ACT, joint reference or trajectory -> efforts of a flexible arm.

Core: ``flexible_dynamics.controller``. Sampled references arrive on ``desired_joint_reference``. A
``trajectory_msgs/JointTrajectory`` on ``joint_trajectory`` is sampled by the stage, which then needs no other one.
"""

from __future__ import annotations

from flexarm_core.flexible_dynamics.control.controller import FlexibleControllerConfig
from flexarm_core.flexible_dynamics.control.gain_check import LoopConditions
from flexarm_core.flexible_dynamics.vibration_damping import VibrationDampingConfig
from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.flexible_dynamics.parameters import ASSUMED_PARAMETERS, built_controller
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import Values
from flexarm_nodes.node.parameters import Parameter, rows
from flexarm_nodes.node.ports import BY_POSITION, JOINTS, MOTION, STATES, Input, Output, Ports, Role, Use, needed
from flexarm_nodes.node.stage.kind import StageKind

REFERENCES = ("desired_joint_reference", "joint_trajectory")

CONTROLLER_PARAMETERS = (
    *rows(FlexibleControllerConfig, live=True, but=("check_gains",)),
    Parameter("reference", "string", REFERENCES[0],
        "topic of the reference: a stream of joint references, or joint trajectories that this node samples",
        choices=REFERENCES),
    Parameter("position_gain", "double", 0.0,
        "position gain of the servo of each joint; both servo gains 0: derived from the model for each joint",
        "1/s^2", 0.0, live=True),
    Parameter("velocity_gain", "double", 0.0,
        "velocity gain of the servo of each joint; both servo gains 0: derived from the model for each joint",
        "1/s", 0.0, live=True),
    *rows(VibrationDampingConfig, live=True),
    Parameter("rate", "double", 1000.0,
        "nominal sampling rate for which gains are designed and checked", "Hz", 1.0, 1e5),
    Parameter("delay", "double", 0.001,
        "delay from the sensors to the motors for which gains are checked; outside lockstep at least one period",
        "s", 0.0, 0.1),
    *rows(LoopConditions, without=("period", "delay")),
    Parameter("start_position", "double[]", [],
        "joint positions at which gains are also checked at configuration; empty: the position at"
        " activation", "rad | m"),
    *ASSUMED_PARAMETERS,
)  # fmt: skip


def _ports(values: Values, description: RobotDescription, tool: str) -> Ports:
    """Return the topics that the stage uses with these parameters."""
    law, source = values["law"], f"reference '{values['reference']}'"
    sampled = values["reference"] == "desired_joint_reference"
    wanted = (frozenset({"acceleration"}),) if law == "accelerations" else BY_POSITION
    return Ports(
        (
            STATES,
            Input(topics.FLEXIBLE_STATE, "FlexibleState", needed(law != "joint_pd"), f"law '{law}'"),
            Input(topics.DESIRED_JOINT_REFERENCE, JOINTS, needed(sampled), source, wanted),
            Input(topics.JOINT_TRAJECTORY, "JointTrajectory", Use.IGNORED if sampled else Use.HEARD, source),
        ),
        (Output(topics.JOINT_REFERENCE, JOINTS, Role.LEADS, MOTION | {"effort"}),),
    )


KIND = StageKind(
    "flexible_dynamics_controller",
    "flexarm",
    CONTROLLER_PARAMETERS,
    built_controller,
    ("joints", "flexible"),
    ports_of=_ports,
)
