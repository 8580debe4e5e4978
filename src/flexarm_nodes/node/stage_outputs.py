"""StageOutputs: publishes what stages give, on the same topics whether they share a process or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flexarm.msg import CartesianReference, JointReference
from flexarm_core.pipeline.tick import Tick
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode
from flexarm_nodes.node.built_stage import BuiltStage

REFERENCES = (CartesianReference, JointReference)


class StageOutputs:
    """Publishers of stages; a message is only made if its topic has a subscriber.

    If several stages of a process publish the same kind of reference, the last stage uses the topic and the others use
    ``STAGE/TOPIC``.
    """

    def __init__(self, node: ArmNode, stages: Sequence[BuiltStage]) -> None:
        """Create the publishers of a node for its stages, in their order."""
        self._node, self._senders = node, []
        last = {out.topic: built.stage.name for built in stages for out in built.outputs if out.kind in REFERENCES}
        for built in stages:
            name = built.stage.name
            for out in built.outputs:
                topic = out.topic if last.get(out.topic, name) == name else f"{name}/{out.topic}"
                self._senders.append((node.create_publisher(out.kind, topic, topics.EVERY_SAMPLE), out.make))

    def close(self) -> None:
        """Destroy the publishers."""
        for publisher, _ in self._senders:
            self._node.destroy_publisher(publisher)

    def publish(self, tick: Tick) -> None:
        """Publish what the stages gave for a sample."""
        for publisher, make in self._senders:
            if publisher.get_subscription_count():
                message: Any = make(tick)
                if message is not None:
                    publisher.publish(message)
