"""StageOutputs: what stages give and offer, on the same topics whether they share a process or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from visualization_msgs.msg import MarkerArray

from flexarm.msg import CartesianReference, JointReference
from flexarm_core.pipeline.tick import Tick
from flexarm_nodes.node.arm_node import ArmNode
from flexarm_nodes.node.built_stage import BuiltStage
from flexarm_nodes.node.frames import in_tf

REFERENCES = (CartesianReference, JointReference)


class StageOutputs:
    """Publishers of stages, and what else they have; a message is only made if its topic has a subscriber.

    If several stages of a process publish the same kind of reference, the last stage uses the topic and the others use
    ``STAGE/TOPIC``. Private topics are ``STAGE/TOPIC`` too, unless the stage is alone.
    """

    def __init__(
        self, node: ArmNode, stages: Sequence[BuiltStage], refuse: Callable[[str], None], *, alone: bool = False
    ) -> None:
        """Create the publishers of a node for its stages, in their order, and open what else they have.

        Args:
            node: node that publishes.
            stages: its stages.
            refuse: reports why a request to a stage was rejected.
            alone: whether the node is that of its only stage.
        """
        self._node, self._senders, self._setups = node, [], [built.setup for built in stages if built.setup is not None]
        last = {out.topic: built.stage.name for built in stages for out in built.outputs if out.kind in REFERENCES}
        for built in stages:
            name = built.stage.name
            for out in built.outputs:
                topic = out.topic if last.get(out.topic, name) == name else f"{name}/{out.topic}"
                topic = topic if alone else topic.replace("~/", f"{name}/")
                self._senders.append((node.create_publisher(out.kind, topic, out.quality), out.make))
            if built.setup is not None:
                built.setup.open(node, refuse, "~/" if alone else f"~/{name}/")

    def close(self) -> None:
        """Destroy the publishers, and close what else the stages have."""
        for publisher, _ in self._senders:
            self._node.destroy_publisher(publisher)
        for setup in self._setups:
            setup.close()

    def publish(self, tick: Tick) -> None:
        """Publish what the stages gave for a sample."""
        for publisher, make in self._senders:
            if publisher.get_subscription_count():
                message: Any = make(tick)
                if isinstance(message, MarkerArray):
                    in_tf(message, self._node.frame_prefix)
                if message is not None:
                    publisher.publish(message)
