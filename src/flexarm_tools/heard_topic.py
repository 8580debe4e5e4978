"""HeardTopic: one topic of a live graph, its messages taken as they lie on the wire, with their times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from flexarm_nodes.topics import EVERY_SAMPLE
from flexarm_tools.message_class import message_class


@dataclass(frozen=True, slots=True)
class HeardMessage:
    """A message as it came.

    Attributes:
        arrived: when it reached this process [ns since 1970].
        sent: when it left its publisher [ns since 1970].
        sequence: its publisher's count, 0 where the middleware does not tell.
        data: serialised (CDR).
    """

    arrived: int
    sent: int
    sequence: int
    data: bytes


class HeardTopic:
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
        self.name, self.type_name = name, type_name
        self.publishers: list[Any] = []
        self.count, self.lost = 0, 0
        self._node, self._class = node, message_class(type_name)
        self._reliable = self._latched = True
        self._sequence = 0
        self._subscription: Any = None
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
        self._subscription = self._node.create_subscription(self._class, self.name, _ignore, quality, raw=True)
        return waiting

    def take(self, now: int) -> list[HeardMessage]:
        """What has come since, oldest first.

        Args:
            now: arrival [ns since 1970] of messages whose middleware does not note it.
        """
        messages: list[HeardMessage] = []
        handle = self._subscription.handle
        with handle:
            while len(messages) < EVERY_SAMPLE.depth:
                taken = handle.take_message(self._class, True)
                if taken is None:
                    break
                data, info = taken
                arrived = info["received_timestamp"] or now
                sequence = info["publication_sequence_number"] or 0
                messages.append(HeardMessage(arrived, info["source_timestamp"] or arrived, sequence, data))
        for message in messages:
            self._number(message.sequence)
        return messages

    def close(self) -> None:
        """Listen no more."""
        self._node.destroy_subscription(self._subscription)

    def _number(self, sequence: int) -> None:
        """Count a message, and those that its publisher sent since the one before; several publishers count alike."""
        if self.count and len(self.publishers) == 1:
            self.lost += max(sequence - self._sequence - 1, 0)
        self._sequence = sequence
        self.count += 1


def _ignore(message: bytes) -> None:
    """Messages are taken, not delivered."""
