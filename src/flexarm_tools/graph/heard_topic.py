"""HeardTopic: one topic of a running graph; its messages are taken in serialized form with their times."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from flexarm_nodes.node.topics import EVERY_SAMPLE
from flexarm_tools.graph.message_class import message_class
from flexarm_tools.graph.tapped_topic import HeardMessage, TappedTopic


class HeardTopic(TappedTopic):
    """Subscription that adapts to the publishers: it requests the strictest QoS that all of them offer."""

    def __init__(self, node: Node, name: str, type_name: str) -> None:
        """Subscribe to a topic.

        Args:
            node: node of the subscription; it need not be spun.
            name: topic name.
            type_name: message type.

        Raises:
            ConfigError: the message type is not installed.
        """
        self.type_name = type_name
        self.publishers: list[Any] = []
        self._reliable = self._latched = True
        super().__init__(node, message_class(type_name), name)
        self.follow()

    def follow(self) -> list[HeardMessage]:
        """Update the list of publishers, and renew the subscription if their QoS requires it.

        Returns:
            Messages that had arrived before the subscription was renewed.
        """
        publishers = self._node.get_publishers_info_by_topic(self.name)
        if publishers:  # the QoS of the last publisher is kept after it has ended
            self.publishers = publishers
        offered = [publisher.qos_profile for publisher in publishers]
        # QoS is never raised again: latched messages would be received twice.
        reliable = self._reliable and all(each.reliability == ReliabilityPolicy.RELIABLE for each in offered)
        latched = self._latched and all(each.durability == DurabilityPolicy.TRANSIENT_LOCAL for each in offered)
        waiting: list[HeardMessage] = []
        if self._subscription is not None:
            if (reliable, latched) == (self._reliable, self._latched):
                return waiting
            waiting = self.take(0)
            self.close()
        self._reliable, self._latched = reliable, latched
        quality = QoSProfile(
            depth=EVERY_SAMPLE.depth,
            reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
        )
        self.listen(quality)
        return waiting

    @property
    def numbered(self) -> bool:
        """Whether there is one publisher; a publisher that has ended remains known until another appears."""
        return len(self.publishers) == 1 and super().numbered
