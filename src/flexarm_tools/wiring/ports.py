"""Ports: which topics a node listens to and which it advertises, and what for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import IntEnum


class Use(IntEnum):
    """What a node does with an input."""

    IGNORED = 0  # its parameters want something else, whether it listens or not
    FEEDBACK = 1  # it uses what comes, of the tick before
    HEARD = 2  # it uses what comes
    NEEDED = 3  # it does nothing of use without


class Role(IntEnum):
    """What an output is for."""

    SILENT = 0  # may be advertised, but nothing is sent with these parameters
    REPORTS = 1  # for whoever wants to know
    LEADS = 2  # the arm is led by it: somebody must read it


@dataclass(frozen=True, slots=True)
class Input:
    """A topic that a node listens to.

    Attributes:
        topic: before remapping.
        kind: message type.
        use: what the node does with it.
        because: parameter that has it so, ``task 'tool_path'``; empty: it is always so.
        fields: of a joint reference, sets of which one must be given; empty: whatever comes.
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
        topic: before remapping.
        kind: message type.
        role: what it is for.
        fields: of a joint reference, what is given.
        passes: whether what the incoming reference gives goes on with it.
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
        """The same with other topic names."""
        return Ports(
            tuple(replace(port, topic=rename(port.topic)) for port in self.inputs),
            tuple(replace(port, topic=rename(port.topic)) for port in self.outputs),
        )


def merged(ports: Iterable[Ports]) -> Ports:
    """Of one node whose parameters change on the way: what it uses and sends at any time."""
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
