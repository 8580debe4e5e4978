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
    """References of one kind for one stage.

    Attributes:
        newest: newest one that can be used, None before any.
        used: whether a tick has had it.
        came: largest stamp of any, whether usable or not [ns], -1 before any.
        refused: stamp [ns] of the newest one that is not usable, and the reason.
    """

    name: str
    built: BuiltStage
    newest: Any = None
    used: bool = False
    came: int = -1
    refused: tuple[int, str] = -1, ""

    def awaited(self, stamp: int) -> bool:
        """Return whether a sample of this stamp [ns] waits for a reference."""
        newest = -1 if self.newest is None else self.newest.stamp
        return self.name in self.built.awaits() or self.name in self.built.waits_for(stamp, newest)

    def reset(self) -> None:
        """Discard all references."""
        self.newest, self.used, self.came, self.refused = None, False, -1, (-1, "")


class OutsideReferences:
    """Subscribes to the references that a stage needs and no stage before it gives.

    A sample waits for them as for sensor readings. If none has come with its stamp, it gets the newest one, unless
    that is older than the ``reference_timeout`` of the stage; a stage that awaits references gets each once. A flexible
    state must have the stamp of the sample. A reference that is stamped more than AHEAD after the newest joint state is
    ignored.
    """

    def __init__(
        self,
        node: ArmNode,
        refuse: Callable[[str], None],
        came: Callable[[str, int], None],
        present: Callable[[], int],
    ) -> None:
        """Receive references on a node.

        Args:
            node: node that subscribes.
            refuse: called with the reason why a reference was rejected.
            came: called with name and stamp of each that was not ignored.
            present: returns the stamp of the newest joint state [ns], 0 before any.
        """
        self._node, self._refuse, self._came, self._present = node, refuse, came, present
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
                if name in built.stage.needs:
                    given.add(name)  # a later stage gets what this one leaves or gives
            given |= {GIVEN[output.kind] for output in built.outputs if output.kind in GIVEN}

    def reset(self) -> None:
        """Discard all references."""
        for stream in self._streams:
            stream.reset()

    def awaited(self, stamp: int) -> tuple[str, ...]:
        """Return the names of the references that a sample of this stamp [ns] waits for."""
        return tuple(stream.name for stream in self._streams if stream.awaited(stamp))

    def lacks(self, stamp: int) -> tuple[str, ...]:
        """Return the names of the references that a sample of this stamp [ns] needs, and that have not come yet."""
        missing = [stream for stream in self._streams if not 0 <= stream.came - stamp <= AHEAD * 1e9]
        return tuple(one.name for one in missing if one.awaited(stamp) and one.name not in one.built.awaits())

    def newest(self) -> dict[str, Any]:
        """Return the newest references by their names, whether they fit any sample or not; nothing counts as used."""
        return {stream.name: stream.newest for stream in self._streams if stream.newest is not None}

    def take(self, stamp: int, timeout: Callable[[str], float]) -> dict[str, Any]:
        """Return fields of the tick of a sample: references by their names, and what is ``refused``.

        Args:
            stamp: stamp of the sample [ns].
            timeout: returns the ``reference_timeout`` of a stage by its name [s].
        """
        found: dict[str, Any] = {}
        refused = {}
        for stream in self._streams:
            newest, refusal = stream.newest, getattr(stream.built.stage, "refusal", "")
            if not (stream.awaited(stamp) or refusal):  # else the stage says that it does not follow it
                continue
            if newest is None:
                fresh = False
            elif stream.name == "flexible":
                fresh = newest.stamp == stamp
            elif stream.name in stream.built.awaits():
                fresh = not stream.used
            else:
                fresh = (stamp - newest.stamp) * 1e-9 <= timeout(stream.built.stage.name)
            if fresh and (newest.stamp - stamp) * 1e-9 <= AHEAD:
                found[stream.name], stream.used = newest, True
            elif stream.refused[0] == stamp and not refusal:
                refused[stream.built.stage.name] = stream.refused[1]
        return {**found, "refused": refused}

    def _on_message(self, stream: _Stream, model: ArmModel) -> Callable[[Any], None]:
        read = STREAMS[stream.name][2]

        def on_message(message: Any) -> None:
            stamp, who, newest = stamp_to_nanoseconds(message.header.stamp), stream.built.stage.name, stream.newest
            if (ahead := self._ahead(stamp)) > AHEAD:
                self._refuse(f"{who}: reference is stamped {ahead:.3f} s ahead of the joint state: ignored")
                return
            stream.came = stamp if self._ahead(stream.came) > AHEAD else max(stream.came, stamp)
            try:
                value = read(message, model, stream.built)
                if newest is not None and stamp < newest.stamp and self._ahead(newest.stamp) <= AHEAD:
                    late = (newest.stamp - stamp) * 1e-9
                    raise InputError(f"reference is {late:.3f} s older than the one in use: ignored")
                stream.newest, stream.used = value, False
            except InputError as error:
                stream.refused = stamp, str(error)
                self._refuse(f"{who}: {error}")
            self._came(stream.name, stamp)

        return on_message

    def _ahead(self, stamp: int) -> float:
        """Return how far a stamp [ns] is ahead of the newest joint state [s]; 0 before any."""
        present = self._present()
        return (stamp - present) * 1e-9 if present else 0.0
