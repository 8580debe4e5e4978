"""Topics that a node reads and writes with its parameters: those that its class declares, or a loop of its stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.control_loop.loop import USUAL
from flexarm_nodes.node import topics
from flexarm_nodes.node.ports import (
    JOINTS,
    MARKERS,
    TOOL,
    Input,
    Output,
    Ports,
    Role,
    Use,
    command_input,
    sensor_outputs,
)
from flexarm_nodes.registry import CONTROL_LOOP, GATE, STAGES, added_stages, ports_of
from flexarm_tools.scenario.scenario import NodeSpec

PLANT = "simulated_plant"

Values = Mapping[str, Any]


def node_ports(
    executable: str, parameters: Values, description: RobotDescription, tool_frame: str = ""
) -> Ports | None:
    """Return the ports of a node of the suite or of an added stage, None for an executable that is neither.

    Args:
        executable: executable of the package ``flexarm``.
        parameters: by name, nested names joined with dots; missing parameters have their defaults.
        description: robot as described to the node.
        tool_frame: tool link; empty: the default of the description.

    Raises:
        RobotDescriptionError: the robot does not have the tool link, or no chain of joints leads to the tool.
    """
    if executable == CONTROL_LOOP:
        return _control_loop(parameters, description, tool_frame)
    return ports_of(executable, parameters, description, tool_frame)


def spec_ports(spec: NodeSpec, parameters: Values, description: RobotDescription, tool_frame: str = "") -> Ports | None:
    """Return :func:`node_ports` of a node with other parameters, None for executables of unknown packages."""
    kind = added_stages()[0].get(spec.executable)
    if spec.package != "flexarm" and (kind is None or kind.package != spec.package):
        return None
    return node_ports(spec.executable, parameters, description, tool_frame)


def stage_packages() -> dict[str, str]:
    """Return the package of each stage by its executable: those of the suite in their order, then the added ones."""
    return dict.fromkeys(STAGES, "flexarm") | {name: kind.package for name, kind in added_stages()[0].items()}


def ros2_control_ports(description: RobotDescription, command_mode: str) -> Ports:
    """Return the ports that replace the plant's on a real arm: broadcasters and the forward command controller."""
    return Ports(
        (command_input(command_mode),), (Output(topics.JOINT_STATES, "JointState"), *sensor_outputs(description))
    )


def odometry_ports(nodes: Sequence[NodeSpec]) -> Ports:
    """Return the ports of those who measure the base of a real arm, odometry and TF, by the names that nodes read."""
    kinds = {topics.ODOMETRY: "Odometry", topics.TF: "TFMessage"}
    names = {(node.remappings.get(topic, topic), kind) for topic, kind in kinds.items() for node in nodes}
    return Ports((), tuple(Output(name, kind) for name, kind in sorted(names)))


def _control_loop(parameters: Values, description: RobotDescription, tool: str) -> Ports:
    """Return the ports of stages in one process: references between stages are published for information only."""
    stages = parameters.get("stages", USUAL)
    ports: dict[str, Ports] = {}
    for name in stages:
        own = {key.removeprefix(f"{name}."): value for key, value in parameters.items() if key.startswith(f"{name}.")}
        known = node_ports(name, own, description, tool)
        if known is not None:
            ports[name] = known
    last = {  # stage that keeps the topic name of a reference: the last that writes it
        output.topic: name
        for name, each in ports.items()
        for output in each.outputs
        if output.kind in (JOINTS, TOOL) and output.role is not Role.SILENT
    }
    inputs: dict[str, Input] = {}
    outputs: list[Output] = []
    given: set[str] = set()  # kinds of references and estimates from the previous stages
    for name, each in ports.items():
        for port in each.inputs:
            if port.kind in given or port.use is Use.FEEDBACK or (port.use is Use.IGNORED and port.topic in inputs):
                continue
            inputs[port.topic] = replace(port, because=f"stage {name}: {port.because}")
        for output in each.outputs:
            if output.role is Role.SILENT:
                continue
            inner = output == MARKERS or last.get(output.topic, name) != name
            topic = f"{name}/{output.topic.removeprefix('~/')}" if inner else output.topic
            outputs.append(replace(output, topic=topic, role=output.role if name == GATE else Role.REPORTS))
            given |= {output.kind} if output.kind in (JOINTS, TOOL, "FlexibleState") else set()
    return Ports(tuple(inputs.values()), tuple(outputs))


def writers_of(topic: str) -> tuple[str, ...]:
    """Return the executables of the suite that can publish a topic with suitable parameters, without sensors."""
    named = {
        topics.CARTESIAN_REFERENCE: ("reference_generator", "behavior_impedance_controller"),
        topics.PATH_REFERENCE: ("reference_generator",),
        topics.DESIRED_JOINT_REFERENCE: ("reference_generator", "joint_trajectory_follower"),
        topics.JOINT_REFERENCE: tuple(STAGES)[4:-1],
        topics.FLEXIBLE_STATE: ("flexible_dynamics_estimator", "base_odometry"),
        topics.JOINT_STATES: (PLANT,),
    }
    gate = (GATE,) if topic.endswith("/commands") else ()
    return named.get(topic, gate)
