"""HeardTopic: one topic of a live graph, its messages taken as they lie on the wire, with their times."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from flexarm_nodes.node.topics import EVERY_SAMPLE
from flexarm_tools.graph.message_class import message_class
from flexarm_tools.graph.tapped_topic import HeardMessage, TappedTopic


class HeardTopic(TappedTopic):
    """Subscription that follows its publishers: it asks for the most that all of them offer."""

    def __init__(self, node: Node, name: str, type_name: str) -> None:
        """Listen to a topic.

        Args:
            node: gets the subscription; it need not be spun.
            name: of the topic.
            type_name: of its messages.

        Raises:
            ConfigError: the type is not installed.
        """
        self.type_name = type_name
        self.publishers: list[Any] = []
        self._reliable = self._latched = True
        super().__init__(node, message_class(type_name), name)
        self.follow()

    def follow(self) -> list[HeardMessage]:
        """See which publishers there are now, and listen to each of them.

        Returns:
            What had come before the subscription was made anew.
        """
        publishers = self._node.get_publishers_info_by_topic(self.name)
        if publishers:  # what the last one offered stays known after its end
            self.publishers = publishers
        offered = [publisher.qos_profile for publisher in publishers]
        # What was once given up is not asked for again: latched messages would come twice.
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
        """What the last publisher offered stays known after its end."""
        return len(self.publishers) == 1
