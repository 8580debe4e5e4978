"""Publications: outputs and interfaces of stages, on the same topics for separate nodes and for one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from visualization_msgs.msg import MarkerArray

from flexarm.msg import CartesianReference, JointReference
from flexarm_core.pipeline.tick import Tick
from flexarm_nodes.messages.form import Form
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode
from flexarm_nodes.node.built_stage import BuiltStage
from flexarm_nodes.node.frames import in_tf
from flexarm_nodes.node.output.sender import Sender

REFERENCES = (CartesianReference, JointReference)


@dataclass(slots=True)
class _Sent:
    sender: Sender
    make: Callable[[Tick], Any]
    latched: bool
    rate: Callable[[], float] | None
    shown: int | None = None  # stamp of the newest message [ns]

    def due(self, stamp: int, rate: float) -> bool:
        """Return whether a message with a limited rate [Hz] is due at this stamp; a repeated sample repeats it."""
        last = stamp if self.shown is None else self.shown
        return rate > 0.0 and not 0 < stamp - last < (1.0 - 1e-6) * 1e9 / rate


def output_topics(stages: Sequence[BuiltStage]) -> dict[tuple[str, str], str]:
    """Return the topics of stages that share a process, by the stage and the topic of a stage that is alone.

    If several stages publish the same kind of reference, the last stage uses the topic and the others use
    ``STAGE/TOPIC``. Private topics are ``STAGE/TOPIC`` too.
    """
    last = {out.topic: built.stage.name for built in stages for out in built.outputs if out.kind in REFERENCES}
    found = {}
    for built in stages:
        name = built.stage.name
        for out in built.outputs:
            topic = out.topic if last.get(out.topic, name) == name else f"{name}/{out.topic}"
            found[name, out.topic] = topic.replace("~/", f"{name}/")
    return found


class Publications:
    """Publishers of stages, and what else they have; a message is only made if its topic has a subscriber."""

    def __init__(
        self,
        node: ArmNode,
        stages: Sequence[BuiltStage],
        refuse: Callable[[str, str], None],
        try_again: Callable[[], None],
        *,
        alone: bool = False,
    ) -> None:
        """Create the publishers of a node for its stages, in their order, and open what else they have.

        Args:
            node: node that publishes.
            stages: its stages.
            refuse: reports, for the stage of a name, why a request to it was rejected.
            try_again: processes the sample that waited for a stage.
            alone: whether the node is that of its only stage.
        """
        self._node, self._interfaces = node, [built.interfaces for built in stages]
        self._senders: list[_Sent] = []
        names = output_topics(stages)
        for built in stages:
            name = built.stage.name
            for out in built.outputs:
                topic = out.topic if alone else names[name, out.topic]
                sender = Sender(node, out.kind, topic, out.quality)
                self._senders.append(_Sent(sender, out.make, out.quality is topics.LATCHED, out.rate))
                if out.first is not None:
                    sender.publish(self._in_tf(out.first))
            built.interfaces.attach(node, partial(refuse, name), try_again, "" if alone else name)

    def close(self) -> None:
        """Destroy the publishers, and close what else the stages have."""
        for sent in self._senders:
            sent.sender.destroy()
        for interfaces in self._interfaces:
            interfaces.close()

    def publish(self, tick: Tick) -> None:
        """Publish the outputs of the stages for a sample."""
        for sent in self._senders:
            if sent.latched or sent.sender.heard:
                if sent.rate is not None and not sent.due(tick.stamp, sent.rate()):
                    continue
                made = sent.make(tick)
                if made is not None:
                    sent.sender.publish(self._in_tf(made))
                    sent.shown = tick.stamp

    def prepare(self, tick: Tick) -> None:
        """Prepare the messages that would be published for a sample at once, and publish none."""
        for sent in self._senders:
            if sent.rate is None and sent.sender.heard:
                made = sent.make(tick)
                if isinstance(made, Form):
                    sent.sender.prepare(made)

    def _in_tf(self, message: Any) -> Any:
        """Return a message or form for TF: markers have the prefix of the node's frames."""
        return in_tf(message, self._node.frame_prefix) if isinstance(message, MarkerArray) else message
