"""Stage behavior_impedance_controller: DECIDE, behaviors and the tool wrench -> tool and joint references.

Behaviors are set by parameters, by behavior sets on a topic, and by a service; they change between two samples.
"""

from __future__ import annotations

from flexarm_core.behavior_impedance.wrench.tool_wrench import tool_sensors
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.behavior_impedance.interfaces import BehaviorInterfaces
from flexarm_nodes.behavior_impedance.parameters import BEHAVIOR_PARAMETERS, NO_SENSOR, declare_behaviors
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import BuiltStage, Values, joint_output, tool_output
from flexarm_nodes.node.ports import JOINTS, MARKERS, MOTION, STATES, TOOL, Input, Output, Ports, Role, Use, needed
from flexarm_nodes.node.stage.kind import StageKind

FOLLOWED, NOTHING = frozenset({"tool"}), frozenset[str]()


def built_behaviors(values: Values, model: ArmModel) -> BuiltStage:
    """Return the stage of the behaviors with its outputs.

    Raises:
        FlexarmError: values that do not fit the arm.
    """
    interfaces = BehaviorInterfaces(dict(values), model)
    stage = interfaces.stage
    name, sensor = stage.name, stage.wrenches.sensor
    joints = (joint_output(name, model),) if stage.leads else ()
    return BuiltStage(
        stage,
        lambda changed: interfaces.change(dict(changed)),
        (tool_output(name, model), *joints, *interfaces.report.outputs),
        (("wrench", sensor),) if sensor else (),
        interfaces=interfaces,
        status=interfaces.status,
        awaits=lambda: FOLLOWED if stage.follows else NOTHING,
    )


def _ports(values: Values, description: RobotDescription, tool: str) -> Ports:
    """Return the topics that the stage uses with these parameters."""
    streams = any(
        values.get(f"{name}.kind") == "path" and values.get(f"{name}.source") == "stream"
        for name in values["behaviors"]
    )
    sensor = values["wrench_sensor"]
    if not sensor:
        found = tool_sensors(description, build_chain(description, description.tool_frame(tool)))
        sensor = found[0] if len(found) == 1 else NO_SENSOR
    wrench = () if sensor == NO_SENSOR else (Input(topics.wrench_topic(sensor), "WrenchStamped"),)
    joints = values["output"] == "joints"
    return Ports(
        (
            STATES,
            Input(topics.BEHAVIOR_SET, "BehaviorSet", Use.HEARD),
            Input(topics.TWIST_COMMAND, "TwistStamped", Use.HEARD),
            Input(
                topics.PATH_REFERENCE,
                TOOL,
                needed(streams),
                f"{'a' if streams else 'no'} behavior of kind path with source 'stream'",
            ),
            *wrench,
        ),
        (
            Output(topics.JOINT_REFERENCE, JOINTS, Role.LEADS if joints else Role.SILENT, MOTION),
            Output(topics.CARTESIAN_REFERENCE, TOOL, Role.REPORTS if joints else Role.LEADS),
            Output(topics.SET_POINT, TOOL),
            Output(topics.BEHAVIOR_STATUS, "BehaviorStatus"),
            MARKERS,
        ),
    )


KIND = StageKind(
    "behavior_impedance_controller", "flexarm", BEHAVIOR_PARAMETERS, built_behaviors, ("tool",),
    topics={"tool": topics.PATH_REFERENCE}, ports_of=_ports, later_rows=declare_behaviors, massless=True,
)  # fmt: skip
