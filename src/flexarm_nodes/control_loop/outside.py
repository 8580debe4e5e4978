"""OutsideReferences: references from other nodes, for stages of a control loop that none of its stages gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flexarm.msg import CartesianReference, FlexibleState, JointReference
from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_nodes.messages.conversions import stamp_to_nanoseconds
from flexarm_nodes.node.arm_node import ArmNode
from flexarm_nodes.node.built_stage import BuiltStage
from flexarm_nodes.node.stage_node import AHEAD, STREAMS

GIVEN = {CartesianReference: "tool", JointReference: "joints", FlexibleState: "flexible"}


@dataclass(slots=True)
class _Stream:
    """References of one kind for one stage: its newest, if any, and whether a tick has had it."""

    name: str
    built: BuiltStage
    newest: Any = None
    used: bool = False

    def awaited(self, stamp: int) -> bool:
        """Return whether a sample of this stamp [ns] waits for a reference."""
        newest = -1 if self.newest is None else self.newest.stamp
        return self.name in self.built.awaits() or self.name in self.built.waits_for(stamp, newest)


class OutsideReferences:
    """Hears the references that a stage needs and no stage before it gives.

    A sample waits for them as for sensor readings. If none has come with its stamp, it gets the newest one, unless
    that is older than the ``reference_timeout`` of the stage; a stage that awaits references gets each once. A flexible
    state must have the stamp of the sample.
    """

    def __init__(self, node: ArmNode, refuse: Callable[[str], None], came: Callable[[str, int], None]) -> None:
        """Call ``refuse`` with the reason why a reference was rejected, and ``came`` with name and stamp of each."""
        self._node, self._refuse, self._came = node, refuse, came
        self._subscriptions: list[Any] = []
        self._streams: list[_Stream] = []

    def open(self, stages: Sequence[tuple[BuiltStage, Mapping[str, str]]], model: ArmModel) -> None:
        """Subscribe for stages in their order, each with the topics of the references that it may need, by name."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._subscriptions, self._streams = [], []
        given: set[str] = set()
        for built, names in stages:
            for name, topic in names.items():
                if name not in given:
                    stream = _Stream(name, built)
                    self._streams.append(stream)
                    heard = self._node.hear(STREAMS[name][0], topic, self._on_message(stream, model))
                    self._subscriptions.append(heard)
                given.add(name)  # a later stage gets what this one leaves or gives
            given |= {GIVEN[output.kind] for output in built.outputs if output.kind in GIVEN}

    def reset(self) -> None:
        """Discard all references."""
        for stream in self._streams:
            stream.newest = None

    def awaited(self, stamp: int) -> tuple[str, ...]:
        """Return the names of the references that a sample of this stamp [ns] waits for."""
        return tuple(stream.name for stream in self._streams if stream.awaited(stamp))

    def take(self, stamp: int, timeout: Callable[[str], float]) -> dict[str, Any]:
        """Return the references for a sample of this stamp [ns] by name; ``timeout``: of a stage by its name [s]."""
        found = {}
        for stream in self._streams:
            newest, refusal = stream.newest, getattr(stream.built.stage, "refusal", "")
            if newest is None or not (stream.awaited(stamp) or refusal):  # the stage says that it does not follow it
                continue
            if stream.name == "flexible":
                fresh = newest.stamp == stamp
            elif stream.name in stream.built.awaits():
                fresh = not stream.used
            else:
                fresh = (stamp - newest.stamp) * 1e-9 <= timeout(stream.built.stage.name)
            if fresh and (newest.stamp - stamp) * 1e-9 <= AHEAD:
                found[stream.name], stream.used = newest, True
        return found

    def _on_message(self, stream: _Stream, model: ArmModel) -> Callable[[Any], None]:
        read = STREAMS[stream.name][2]

        def on_message(message: Any) -> None:
            try:
                value = read(message, model, stream.built)
                if stream.newest is not None and value.stamp < stream.newest.stamp:
                    late = (stream.newest.stamp - value.stamp) * 1e-9
                    raise InputError(f"reference is {late:.3f} s older than the one in use: ignored")
                stream.newest, stream.used = value, False
            except InputError as error:
                self._refuse(f"{stream.built.stage.name}: {error}")
            self._came(stream.name, stamp_to_nanoseconds(message.header.stamp))

        return on_message
