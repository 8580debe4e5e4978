"""Ports: the topics that a node subscribes to and advertises, and their purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.node import topics

JOINTS, TOOL = "JointReference", "CartesianReference"
MOTION = frozenset({"position", "velocity", "acceleration"})
BY_POSITION = (frozenset({"position"}),)


class Use(IntEnum):
    """How a node uses an input."""

    IGNORED = 0  # not used with these parameters, even if subscribed
    FEEDBACK = 1  # used if available, with the value of the previous tick
    HEARD = 2  # used if available
    NEEDED = 3  # the node cannot do its task without it


class Role(IntEnum):
    """Purpose of an output."""

    SILENT = 0  # may be advertised, but is not published with these parameters
    REPORTS = 1  # for information only
    LEADS = 2  # part of the control path: a node must subscribe to it


@dataclass(frozen=True, slots=True)
class Input:
    """A topic that a node subscribes to.

    Attributes:
        topic: name before remapping.
        kind: message type.
        use: how the node uses it.
        because: parameter that determines ``use``, as in ``task 'tool_path'``; empty: ``use`` is fixed.
        fields: for a joint reference, alternative sets of fields, one of which must be given; empty: any fields.
    """

    topic: str
    kind: str
    use: Use = Use.NEEDED
    because: str = ""
    fields: tuple[frozenset[str], ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """A topic that a node advertises.

    Attributes:
        topic: name before remapping.
        kind: message type.
        role: purpose.
        fields: for a joint reference, the fields that are given.
        passes: whether the fields of the incoming reference are passed on.
    """

    topic: str
    kind: str
    role: Role = Role.REPORTS
    fields: frozenset[str] = frozenset()
    passes: bool = False


@dataclass(frozen=True, slots=True)
class Ports:
    """Inputs and outputs of a node."""

    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]

    def renamed(self, rename: Callable[[str], str]) -> Ports:
        """Return the same ports with other topic names."""
        return Ports(
            tuple(replace(port, topic=rename(port.topic)) for port in self.inputs),
            tuple(replace(port, topic=rename(port.topic)) for port in self.outputs),
        )


def merged(ports: Iterable[Ports]) -> Ports:
    """Merge the ports of one node whose parameters change during the run: everything it uses and sends at any time."""
    inputs: dict[str, Input] = {}
    outputs: dict[str, Output] = {}
    for each in ports:
        for port in each.inputs:
            known = inputs.get(port.topic, port)
            both = () if not (known.fields and port.fields) else (*known.fields, *port.fields)
            inputs[port.topic] = replace(max(known, port, key=lambda one: one.use), fields=both)
        for out in each.outputs:
            before = outputs.get(out.topic, out)
            outputs[out.topic] = replace(max(before, out, key=lambda one: one.role), fields=before.fields | out.fields)
    return Ports(tuple(inputs.values()), tuple(outputs.values()))


STATES = Input(topics.JOINT_STATES, "JointState")
MARKERS = Output(topics.MARKERS, "MarkerArray")


def needed(used: bool) -> Use:
    """Return NEEDED, or IGNORED for an input that is not used."""
    return Use.NEEDED if used else Use.IGNORED


def base_state_input(values: Mapping[str, Any]) -> Input:
    """Return the flexible state as the source of the base deflection, by parameter ``base_state_source``."""
    source = values["base_state_source"]
    return Input(
        topics.FLEXIBLE_STATE, "FlexibleState", needed(source == "flexible_state"), f"base_state_source '{source}'"
    )


def command_input(mode: str) -> Input:
    """Return the commands of a plant or of ros2_control."""
    return Input(topics.command_topic(mode), "Float64MultiArray", because=f"command_mode '{mode}'")


def sensor_outputs(description: RobotDescription) -> list[Output]:
    """Return the readings of all sensors of a robot."""
    return [
        *(Output(topics.wrench_topic(name), "WrenchStamped") for name in description.force_torque_sensors),
        *(Output(topics.imu_topic(name), "Imu") for name in description.imus),
        *([Output(topics.STRAIN, "StrainState")] if description.strain_gauges else []),
    ]
