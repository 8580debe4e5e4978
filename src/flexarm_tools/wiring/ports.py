"""Ports: the topics that a node subscribes to and advertises, and their purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import IntEnum


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
