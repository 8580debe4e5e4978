"""Node behavior_impedance_controller: DECIDE stage, behaviors and the tool wrench -> tool and joint references.

Behaviors are set by parameters, by behavior sets on a topic, and by a service; they change between two samples.
"""

from __future__ import annotations

from typing import ClassVar

from flexarm_core.behavior_impedance.wrench.tool_wrench import tool_sensors
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.behavior_impedance.parameters import BEHAVIOR_PARAMETERS, NO_SENSOR, declare_behaviors
from flexarm_nodes.behavior_impedance.setup import built_behaviors
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import Values
from flexarm_nodes.node.ports import JOINTS, MARKERS, MOTION, STATES, TOOL, Input, Output, Ports, Role, Use, needed
from flexarm_nodes.node.stage.node import StageNode


class BehaviorImpedanceNode(StageNode):
    """Reads joint states, tool wrenches and behaviors; publishes references that respect all limits."""

    NAME = "behavior_impedance_controller"
    HEARS = ("tool",)
    TOPICS: ClassVar[dict[str, str]] = {"tool": topics.PATH_REFERENCE}
    PARAMETERS = BEHAVIOR_PARAMETERS
    MASSLESS = True

    @staticmethod
    def ports(values: Values, description: RobotDescription, tool: str) -> Ports:
        """Return the topics that the node uses with these parameters."""
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

    later_rows = staticmethod(declare_behaviors)
    build_stage = staticmethod(built_behaviors)
