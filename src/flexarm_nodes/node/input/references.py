"""The rules for stamps and references, for nodes of one stage and for control_loop alike.

- A joint state that is up to SET_BACK older than the newest one is out of order: it is ignored. An older one shows that
the clock was set back: a new run begins with it.
- A stamp is answered once. A repeated joint state gets the same answer again, a repeated reference gets none.
- A joint state waits for the references of its stamp until the next joint state. Where a gate in the same process must
  see it in time, outside lockstep, it waits at most ``sensor_wait``; nothing may compile in a tick there either.
- Then the stage gets the newest reference, unless that is older than its ``reference_timeout``; without one, 0. A
  flexible state must have the stamp of the joint state. The status of a stage reports its missing inputs.
- A reference that is stamped more than AHEAD later than the newest joint state is ignored.
- A reference that is older than the newest one is ignored.
- A reference that cannot be used is one of its stamp all the same: no older one replaces it.
- Gains are checked at the present posture: at activation if a joint state has arrived by then, else with the first
    sample.

All of this is reported: a rejected input as an error, a missing input or one out of order as a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flexarm.msg import CartesianReference, FlexibleState, JointReference
from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_nodes.messages.conversions import (
    cartesian_reference_from_message,
    joint_reference_from_message,
    stamp_to_nanoseconds,
)
from flexarm_nodes.messages.flexible import flexible_state_from_message
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode
from flexarm_nodes.node.built_stage import BuiltStage
from flexarm_nodes.node.input.companions import Companions

SET_BACK = 0.1  # [s]
AHEAD = 0.1  # [s]
RESTARTED = "time went back by {:.3f} s: restarted"
STREAMS: dict[str, tuple[Any, str, Callable[[Any, ArmModel, BuiltStage], Any]]] = {
    "tool": (CartesianReference, topics.CARTESIAN_REFERENCE,
        lambda message, model, built: cartesian_reference_from_message(message, model.tool_frame)),
    "joints": (JointReference, topics.DESIRED_JOINT_REFERENCE,
        lambda message, model, built: joint_reference_from_message(message, model.joint_names)),
    "flexible": (FlexibleState, topics.FLEXIBLE_STATE,
        lambda message, model, built: flexible_state_from_message(message, model.elastic_joint_names, built.modes)),
}  # fmt: skip
CALLED = {"tool": "tool reference", "joints": "joint reference", "flexible": "flexible state"}
GIVEN = {kind: name for name, (kind, _, _) in STREAMS.items()}


@dataclass(frozen=True, slots=True)
class Rejected:
    """Record of a rejected reference: its stamp [ns], and the reason."""

    stamp: int
    reason: str


@dataclass(slots=True)
class _Stream:
    """References of one kind for one stage.

    Attributes:
        newest: newest one, None before any.
        used: whether a tick has had it.
    """

    name: str
    built: BuiltStage
    newest: Any = None
    used: bool = False

    @property
    def once(self) -> bool:
        """Whether the stage can do without it, and takes each one once."""
        return self.name in self.built.awaits()

    def needed(self, stamp: int) -> bool:
        """Return whether a sample of this stamp [ns] needs a reference."""
        newest = -1 if self.newest is None else self.newest.stamp
        return not self.once and self.name in self.built.waits_for(stamp, newest)

    def lack(self, stamp: int, timeout: float) -> str:
        """Return why the newest one is not used for a sample of this stamp [ns]; empty: it is."""
        called = CALLED[self.name]
        if self.newest is None:
            return f"no {called} has come"
        if self.once:
            return "a sample has had it" if self.used else ""
        age = (stamp - self.newest.stamp) * 1e-9
        if self.name == "flexible":
            return "the newest flexible state is of another joint state" if age else ""
        return f"{called} is {age:.3f} s old, at most {timeout} s are accepted" if age > timeout else ""


class References:
    """Subscribes to the references that a stage needs and no earlier stage of the process gives; see the module."""

    def __init__(self, node: ArmNode, refuse: Callable[[str, str], None], arrived: Callable[[], None]) -> None:
        """Receive references on a node.

        Args:
            node: node that subscribes.
            refuse: called with the name of a stage and the reason why a reference for it was rejected.
            arrived: called when one has arrived that was not ignored.
        """
        self._node, self._refuse, self._arrived = node, refuse, arrived
        self._subscriptions: list[Any] = []
        self._streams: list[_Stream] = []
        self._present: int | None = None  # stamp of the newest joint state [ns]
        self._companions = Companions(self._awaited)

    def open(
        self,
        stages: Sequence[tuple[BuiltStage, Mapping[str, str]]],
        model: ArmModel,
        timeout: Callable[[str], float],
    ) -> None:
        """Subscribe for stages in their order.

        Args:
            stages: each with the topics of the references that it may need, by name.
            model: arm model.
            timeout: returns the ``reference_timeout`` of a stage by its name [s].
        """
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._subscriptions, self._streams, self._timeout = [], [], timeout
        given: set[str] = set()
        for built, names in stages:
            for name, topic in names.items():
                if name not in given:
                    stream = _Stream(name, built)
                    self._streams.append(stream)
                    heard = self._node.hear(STREAMS[name][0], topic, self._on_message(stream, model))
                    self._subscriptions.append(heard)
                if name in built.stage.needs:
                    given.add(name)  # later stages receive this stage's output
            given |= {GIVEN[output.kind] for output in built.outputs if output.kind in GIVEN}
        self.reset()

    def reset(self) -> None:
        """Discard all references."""
        self._present = None
        self._companions.reset()
        for stream in self._streams:
            stream.newest, stream.used = None, False

    def begin(self, stamp: int) -> None:
        """Note the stamp [ns] of the newest joint state; references that arrived before may be far ahead of it."""
        self._present = stamp
        for stream in self._streams:
            if stream.newest is not None and self._is_ahead(stream, stream.newest.stamp):
                stream.newest = None
                self._companions.forget(stream.name)

    def complete(self, stamp: int) -> bool:
        """Return whether a sample of this stamp [ns] has to wait for no reference."""
        return self._companions.complete(stamp)

    def lacks(self, stamp: int) -> list[str]:
        """Return the names of the references that a sample of this stamp [ns] waits for and cannot do without."""
        missing = self._companions.missing(stamp)
        return [stream.name for stream in self._streams if stream.name in missing and stream.needed(stamp)]

    def newest(self) -> dict[str, Any]:
        """Return the newest references by their names, whether they fit any sample or not; nothing counts as used."""
        found = {stream.name: stream.newest for stream in self._streams}
        return {name: one for name, one in found.items() if one is not None and not isinstance(one, Rejected)}

    def take(self, stamp: int, tolerance: int) -> dict[str, Any]:
        """Return fields of the tick of a sample: references by their names, what is ``refused``, and ``remarks``.

        Args:
            stamp: stamp of the sample [ns].
            tolerance: of :class:`Companions` [ns].
        """
        self._companions.tolerance = tolerance
        self._companions.answer(stamp)
        found: dict[str, Any] = {}
        refused, remarks = {}, {}
        for stream in self._streams:
            who, newest, needed = stream.built.stage.name, stream.newest, stream.needed(stamp)
            # where a stage does not follow a reference at present, it says so itself
            if not (needed or stream.once or stream.built.stage.refusal):
                continue
            lack = stream.lack(stamp, self._timeout(who))
            if lack and needed:
                remarks[who] = lack
            elif isinstance(newest, Rejected) and (needed or stream.once) and not lack:
                refused[who], stream.used = newest.reason, True
            elif not (lack or isinstance(newest, Rejected)):
                found[stream.name], stream.used = newest, True
        return {**found, "refused": refused, "remarks": remarks}

    def _awaited(self) -> tuple[str, ...]:
        stamp = self._present or 0
        return tuple(stream.name for stream in self._streams if stream.once or stream.needed(stamp))

    def _is_ahead(self, stream: _Stream, stamp: int) -> bool:
        """Return whether a stamp [ns] is too far ahead of the newest joint state, and say so."""
        ahead = 0.0 if self._present is None else (stamp - self._present) * 1e-9
        if ahead <= AHEAD:
            return False
        said = f"{CALLED[stream.name]} is stamped {ahead:.3f} s ahead of the joint state: ignored"
        self._refuse(stream.built.stage.name, said)
        return True

    def _on_message(self, stream: _Stream, model: ArmModel) -> Callable[[Any], None]:
        read = STREAMS[stream.name][2]

        def on_message(message: Any) -> None:
            stamp, who, newest = stamp_to_nanoseconds(message.header.stamp), stream.built.stage.name, stream.newest
            if self._is_ahead(stream, stamp):
                return
            try:
                value = read(message, model, stream.built)
            except InputError as error:
                value = Rejected(stamp, str(error))
                self._refuse(who, str(error))
            if newest is None or stamp >= newest.stamp:
                stream.newest, stream.used = value, False
            elif not isinstance(value, Rejected):
                late = (newest.stamp - stamp) * 1e-9
                self._refuse(who, f"{CALLED[stream.name]} is {late:.3f} s older than the newest: ignored")
            self._companions.came(stream.name, stamp)
            self._arrived()

        return on_message
