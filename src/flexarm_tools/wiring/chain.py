"""Chain: remappings under which stages in order lead from one to the next, the last of them to the gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flexarm_core.robot.description import RobotDescription
from flexarm_tools.scenario.scenario import NodeSpec
from flexarm_tools.wiring.ports import Ports, Role, Use
from flexarm_tools.wiring.table import JOINTS, TOOL, node_ports
from flexarm_tools.wiring.wiring import full_name


def chain(stages: Sequence[NodeSpec], description: RobotDescription, tool_frame: str = "") -> dict[str, dict[str, str]]:
    """Remappings of each stage, by name of the node: what a stage reads is what the nearest one before it writes.

    Of several that write a topic the last keeps its name, where recorder and gate look for it; that of another becomes
    ``NODE/joint_reference``. What a node remaps itself stays as it is, and nodes that the table of wiring does not know
    are left alone.

    Args:
        stages: nodes in the order in which they answer a sample.
        description: of the robot.
        tool_frame: link that is the tool; empty: as described.

    Raises:
        RobotDescriptionError: the robot has no such tool.
    """
    known = {
        spec.name: ports
        for spec in stages
        if spec.package == "flexarm"
        and (ports := node_ports(spec.executable, spec.parameters, description, tool_frame)) is not None
    }
    remappings: dict[str, dict[str, str]] = {spec.name: {} for spec in stages}
    led: dict[str, str] = {}  # kind of reference: topic on which the nearest stage before writes it
    for place, spec in enumerate(stages):
        ports = known.get(spec.name)
        if ports is None:
            continue
        own = {full_name(old, spec.name): full_name(new, spec.name) for old, new in spec.remappings.items()}
        for port in ports.inputs:
            if (
                port.use in (Use.NEEDED, Use.HEARD)
                and port.topic not in own
                and led.get(port.kind, port.topic) != port.topic
            ):
                remappings[spec.name][port.topic] = led[port.kind]
        later = [known[other.name] for other in stages[place + 1 :] if other.name in known]
        for output in ports.outputs:
            if output.kind not in (JOINTS, TOOL) or output.role is Role.SILENT:
                continue
            topic = own.get(output.topic, output.topic)
            if topic == output.topic and any(_writes(each, topic) for each in later):
                topic = f"{spec.name}/{output.topic}"
                remappings[spec.name][output.topic] = topic
            if output.role is Role.LEADS:
                led[output.kind] = topic
    return remappings


def chained(stages: Sequence[NodeSpec], description: RobotDescription, tool_frame: str = "") -> tuple[NodeSpec, ...]:
    """The same stages with the remappings of :func:`chain` beside their own."""
    remappings = chain(stages, description, tool_frame)
    return tuple(replace(spec, remappings=remappings[spec.name] | spec.remappings) for spec in stages)


def _writes(ports: Ports, topic: str) -> bool:
    return any(output.topic == topic and output.role is not Role.SILENT for output in ports.outputs)
