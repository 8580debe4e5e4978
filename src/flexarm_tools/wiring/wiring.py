"""Wiring: check before the start whether the nodes of a run are connected so that they can control the arm.

Launch files use it in the same way as the scenario runner::

    nodes = [NodeSpec("flexarm", "rns_vibration_controller", "rns_vibration_controller", parameters, remappings), ...]
    around = {"ros2_control": ros2_control_ports(description, "effort")}
    faults = check_wiring(nodes, description, around=around)

with the remappings that :func:`flexarm_tools.wiring.chain.chain` returns for ordered stages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.node import topics
from flexarm_nodes.node.ports import JOINTS, TOOL, Input, Output, Ports, Role, Use, merged
from flexarm_nodes.registry import CONTROL_LOOP, GATE, STAGES
from flexarm_tools.scenario.scenario import NodeSpec
from flexarm_tools.wiring.table import spec_ports, writers_of

FAULTS = ("two_writers", "missing_input", "unread_reference", "lacking_fields", "wrong_order", "no_gate", "no_topic")
OTHER_NAMES = (  # names that a node may have but that are not part of the wiring
    topics.ADVANCE_SIMULATION,
    topics.CALIBRATE_BASE_WRENCH,
    topics.CALIBRATE_TOOL_WRENCH,
    topics.FOLLOW_CARTESIAN_PATH,
    topics.SET_BEHAVIORS,
    topics.SOLVE_IK,
    topics.ZERO_WRENCH,
    topics.ROBOT_DESCRIPTION,
    topics.DIAGNOSTICS,
    topics.CLOCK,
)


@dataclass(frozen=True, slots=True)
class WiringFault:
    """A fault of the wiring because of which the arm cannot be controlled.

    Attributes:
        kind: one of FAULTS.
        nodes: names of the affected nodes.
        topic: affected topic after remapping; empty: none.
        text: description of the fault and its remedy.
    """

    kind: str
    nodes: tuple[str, ...]
    topic: str
    text: str

    def __str__(self) -> str:
        """Return the text."""
        return self.text


@dataclass(frozen=True, slots=True)
class _Node:
    """A node with its topics after remapping."""

    name: str
    executable: str
    ports: Ports

    @property
    def rank(self) -> int:
        """Position in the order of stages, -1 for a node that is not a stage."""
        return list(STAGES).index(self.executable) if self.executable in STAGES else -1


@dataclass(frozen=True, slots=True)
class _Graph:
    """Publishers and subscribers of each topic."""

    nodes: tuple[_Node, ...]
    closed: bool  # whether the table contains all nodes
    writers: Mapping[str, list[tuple[_Node, Output]]]
    readers: Mapping[str, list[tuple[_Node, Input]]]


def check_wiring(
    nodes: Sequence[NodeSpec],
    description: RobotDescription,
    tool_frame: str = "",
    *,
    changes: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    around: Mapping[str, Ports] | None = None,
) -> tuple[WiringFault, ...]:
    """Return the faults in the wiring of nodes; empty if there are none.

    Nodes that the wiring table does not contain (of other packages) may read and write any topic; with such nodes,
    missing inputs and unread outputs are not reported.

    Args:
        nodes: nodes to run; the simulated plant may be one of them.
        description: robot as described to the nodes.
        tool_frame: tool link; empty: the default of the description.
        changes: parameters that will be set at run time, by node name, in order of time: inputs and outputs used at
            any time count as used.
        around: other publishers and subscribers, by name, for example ``ros2_control_ports`` in place of the plant.

    Raises:
        RobotDescriptionError: the robot does not have the tool link.
    """
    known: list[_Node] = []
    faults: list[WiringFault] = []
    closed = True
    for spec in nodes:
        ports = _ports(spec, description, tool_frame, (changes or {}).get(spec.name, ()))
        if ports is None:
            closed = False
            continue
        faults += _unknown_topics(spec, ports)
        known.append(_Node(spec.name, spec.executable, ports.renamed(_remapping(spec))))
    known += [_Node(name, "", ports.renamed(partial(full_name, node=name))) for name, ports in (around or {}).items()]
    graph = _graph(known, closed)
    for look in (_two_writers, _missing, _unread, _lacking, _out_of_order, _without_gate):
        faults += look(graph)
    return tuple(faults)


def full_name(topic: str, node: str) -> str:
    """Return the name of a node's topic relative to the namespace of the nodes: ``~/markers`` -> ``rns/markers``."""
    return f"{node}/{topic[2:]}" if topic.startswith("~/") else topic.removeprefix("/")


def _remapping(spec: NodeSpec) -> Callable[[str], str]:
    """Return a function that remaps full topic names."""
    renames = {full_name(old, spec.name): full_name(new, spec.name) for old, new in spec.remappings.items()}
    return lambda topic: renames.get(topic, topic)


def _ports(
    spec: NodeSpec, description: RobotDescription, tool_frame: str, changes: Sequence[Mapping[str, Any]]
) -> Ports | None:
    """Return the ports of a node with full topic names before remapping."""
    found, parameters = [], dict(spec.parameters)
    for change in ({}, *changes):
        parameters |= change
        ports = spec_ports(spec, parameters, description, tool_frame)
        if ports is None:
            return None
        found.append(ports)
    return merged(found).renamed(lambda topic: full_name(topic, spec.name))


def _graph(nodes: Sequence[_Node], closed: bool) -> _Graph:
    writers: dict[str, list[tuple[_Node, Output]]] = defaultdict(list)
    readers: dict[str, list[tuple[_Node, Input]]] = defaultdict(list)
    for node in nodes:
        for output in node.ports.outputs:
            if output.role is not Role.SILENT:
                writers[output.topic].append((node, output))
        for port in node.ports.inputs:
            readers[port.topic].append((node, port))
    return _Graph(tuple(nodes), closed, dict(writers), dict(readers))


def _unknown_topics(spec: NodeSpec, ports: Ports) -> Iterator[WiringFault]:
    own = [*(port.topic for port in ports.inputs), *(port.topic for port in ports.outputs)]
    for source in spec.remappings:
        topic = full_name(source, spec.name)
        if topic not in own and topic not in (full_name(name, spec.name) for name in OTHER_NAMES):
            text = f"node '{spec.name}' is to have '{source}' remapped, but has no such topic; it has {', '.join(own)}"
            yield WiringFault("no_topic", (spec.name,), topic, text)


def _two_writers(graph: _Graph) -> Iterator[WiringFault]:
    for topic, writers in graph.writers.items():
        if len(writers) > 1:
            names = tuple(node.name for node, _ in writers)
            text = (
                f"topic '{topic}' ({writers[0][1].kind}) takes one writer, and has {len(writers)}:"
                f" {_listed(names)}; leave out all but one, or remap so that each leads to the next"
            )
            yield WiringFault("two_writers", names, topic, text)


def _missing(graph: _Graph) -> Iterator[WiringFault]:
    for topic, readers in graph.readers.items():
        if topic in graph.writers or not graph.closed:
            continue
        for node, port in readers:
            if port.use is Use.NEEDED:
                why = f" ({port.because})" if port.because else ""
                text = f"node '{node.name}' needs {port.kind} on '{topic}'{why}, which nobody writes"
                yield WiringFault("missing_input", (node.name,), topic, text + _who_would(graph, port, topic))


def _who_would(graph: _Graph, port: Input, topic: str) -> str:
    silent = [
        node.name for node in graph.nodes for output in node.ports.outputs
        if output.topic == topic and output.role is Role.SILENT
    ]  # fmt: skip
    if silent:
        return f": {_listed(silent)} could, but not with these parameters"
    unread = (
        (node, output) for node in graph.nodes for output in node.ports.outputs
        if output.role is Role.LEADS and output.topic not in graph.readers
    )  # fmt: skip
    stray = [f"'{node.name}' on '{output.topic}'" for node, output in unread if output.kind == port.kind]
    if stray:
        return f": remap it to what nobody reads, {', '.join(stray)}"
    could = writers_of(topic)
    return f": start one of {', '.join(could)} before it" if could else ": let its sensor be broadcast, or do without"


def _unread(graph: _Graph) -> Iterator[WiringFault]:
    for topic, writers in graph.writers.items():
        readers = graph.readers.get(topic, [])
        if not graph.closed or any(port.use in (Use.NEEDED, Use.HEARD) for _, port in readers):
            continue
        for node, output in writers:
            if output.role is Role.LEADS:
                deaf = [f"'{reader.name}' ignores it by its {port.because}" for reader, port in readers if port.because]
                hint = "; ".join(deaf) or "leave it out, or remap the input of the stage that is to follow it"
                text = f"node '{node.name}' leads by {output.kind} on '{topic}', which nobody reads: {hint}"
                yield WiringFault("unread_reference", (node.name,), topic, text)


def _lacking(graph: _Graph) -> Iterator[WiringFault]:
    for topic, readers in graph.readers.items():
        for writer, output in graph.writers.get(topic, []):
            given = _given(graph, writer, output)
            for node, port in readers:
                if port.use is not Use.NEEDED or not port.fields or any(wanted <= given for wanted in port.fields):
                    continue
                wanted = " or ".join(" and ".join(sorted(one)) for one in port.fields)
                text = (
                    f"node '{node.name}' ({port.because}) needs {wanted} in the {port.kind} on '{topic}', and"
                    f" '{writer.name}' gives {', '.join(sorted(given))}: choose other parameters, or another stage"
                )
                yield WiringFault("lacking_fields", (writer.name, node.name), topic, text)


def _given(graph: _Graph, writer: _Node, output: Output, passed: tuple[str, ...] = ()) -> frozenset[str]:
    """Return the fields of a joint reference, including those passed on from the reference that the node receives."""
    given = output.fields
    if output.passes and writer.name not in passed:
        for port in writer.ports.inputs:
            if port.kind == output.kind and port.use is Use.NEEDED:
                for before, source in graph.writers.get(port.topic, []):
                    given |= _given(graph, before, source, (*passed, writer.name))
    return given


def _out_of_order(graph: _Graph) -> Iterator[WiringFault]:
    for topic, readers in graph.readers.items():
        for writer, output in graph.writers.get(topic, []):
            for node, port in readers:
                leads = output.kind in (JOINTS, TOOL) and port.use in (Use.NEEDED, Use.HEARD)
                if leads and writer.rank >= node.rank >= 0:
                    text = (
                        f"node '{node.name}' reads on '{topic}' what '{writer.name}' writes, and would undo it:"
                        f" '{node.name}' comes first of these two (order: {', '.join(STAGES)})"
                    )
                    yield WiringFault("wrong_order", (writer.name, node.name), topic, text)


def _without_gate(graph: _Graph) -> Iterator[WiringFault]:
    if graph.closed and all(node.executable not in (GATE, CONTROL_LOOP) for node in graph.nodes):
        text = f"no {GATE} is among the nodes: nothing but it may write commands, so that every limit holds; add it"
        yield WiringFault("no_gate", (), "", text)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
