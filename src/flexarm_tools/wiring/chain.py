"""Chain: remappings that connect stages in order, each to the next and the last to the gate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from flexarm_core.errors import ConfigError
from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.node.ports import JOINTS, TOOL, Ports, Role, Use
from flexarm_tools.scenario.scenario import PLANT, NodeSpec, Scenario
from flexarm_tools.wiring.table import node_ports, spec_ports
from flexarm_tools.wiring.wiring import check_wiring, full_name


def chain(stages: Sequence[NodeSpec], description: RobotDescription, tool_frame: str = "") -> dict[str, dict[str, str]]:
    """Return the remappings of each stage by node name: a stage reads the output of the nearest stage before it.

    If several stages write a topic, the last one keeps its name, because the recorder and the gate use that name; the
    topic of another stage becomes ``NODE/joint_reference``. Remappings given for a node are kept, and nodes that the
    wiring table does not contain are left unchanged.

    Args:
        stages: nodes in the order in which they process a sample.
        description: description of the robot.
        tool_frame: tool link; empty: the default of the description.

    Raises:
        RobotDescriptionError: the robot does not have the tool link.
    """
    known = {
        spec.name: ports
        for spec in stages
        if (ports := spec_ports(spec, spec.parameters, description, tool_frame)) is not None
    }
    remappings: dict[str, dict[str, str]] = {spec.name: {} for spec in stages}
    led: dict[str, str] = {}  # kind of reference -> topic on which the nearest previous stage publishes it
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
    """Return the stages with the remappings of :func:`chain`; their own remappings take precedence."""
    remappings = chain(stages, description, tool_frame)
    return tuple(replace(spec, remappings=remappings[spec.name] | spec.remappings) for spec in stages)


def wired_nodes(scenario: Scenario) -> tuple[NodeSpec, ...]:
    """Return the nodes of a scenario with the remappings that chain them in the order of the file, checked.

    Raises:
        ConfigError: the nodes cannot control the arm; the message names every fault.
        RobotDescriptionError: the robot does not have the tool link.
    """
    robot, true = scenario.robot, scenario.true_robot
    nodes = chained(scenario.nodes, robot.description, robot.tool_frame)
    plant = node_ports(PLANT, scenario.plant, true.description, true.tool_frame)
    assert plant is not None  # the table contains the plant
    changes: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for event in scenario.events:
        changes[event.node].append(event.parameters)
    faults = check_wiring(nodes, robot.description, robot.tool_frame, changes=changes, around={PLANT: plant})
    if faults:
        listed = "".join(f"\n  {fault}" for fault in faults)
        raise ConfigError(f"{scenario.path}: wiring of the nodes has {len(faults)} fault(s){listed}")
    return nodes


def _writes(ports: Ports, topic: str) -> bool:
    return any(output.topic == topic and output.role is not Role.SILENT for output in ports.outputs)
