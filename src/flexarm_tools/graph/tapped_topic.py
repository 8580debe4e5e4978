"""TappedTopic: serialized messages of a topic, with their times and publisher sequence numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile

from flexarm_nodes.node.topics import EVERY_SAMPLE

TAKE_PERIOD = 0.01  # [s] wall time between two polls of subscriptions


@dataclass(frozen=True, slots=True)
class HeardMessage:
    """A message as received."""

    arrived: int  # time of arrival in this process [ns since 1970]
    sent: int  # time of publication [ns since 1970]
    sequence: int  # sequence number of its publisher, from 1; 0 if the middleware does not provide it
    data: bytes  # serialized message (CDR)


class TappedTopic:
    """A subscription that is polled: it has no callback, and the node need not be spun.

    Attributes:
        name: topic name.
        count: number of messages received so far.
        lost: number of messages lost between received messages, by the sequence numbers of a single publisher.
        missed: number of messages sent before the first received message.
        newest: the last two received messages, or fewer.
    """

    def __init__(self, node: Node, kind: Any, name: str) -> None:
        """Store the topic; :meth:`listen` subscribes."""
        self.name, self.count, self.lost, self.missed = name, 0, 0, 0
        self.newest: list[HeardMessage] = []
        self._node, self._kind = node, kind
        self._subscription: Any = None
        self._sequence = 0

    def listen(self, quality: QoSProfile = EVERY_SAMPLE) -> None:
        """Subscribe."""
        self._subscription = self._node.create_subscription(self._kind, self.name, _ignore, quality, raw=True)

    def close(self) -> None:
        """End the subscription."""
        self._node.destroy_subscription(self._subscription)

    @property
    def hears_all(self) -> bool:
        """Whether the subscription is matched with all known publishers."""
        return bool(self._subscription.get_publisher_count() >= self._node.count_publishers(self.name))

    @property
    def numbered(self) -> bool:
        """Whether sequence numbers can be used to count messages: each publisher has its own sequence."""
        return bool(self._subscription.get_publisher_count() <= 1)

    def take(self, now: int = 0) -> list[HeardMessage]:
        """Return the messages that have arrived since the last call, oldest first.

        Args:
            now: time of arrival [ns since 1970] for messages without a received timestamp.
        """
        messages: list[HeardMessage] = []
        handle = self._subscription.handle
        with handle:
            while len(messages) < EVERY_SAMPLE.depth:
                taken = handle.take_message(self._kind, True)
                if taken is None:
                    break
                data, info = taken
                arrived = info["received_timestamp"] or now
                sequence = info["publication_sequence_number"] or 0
                messages.append(HeardMessage(arrived, info["source_timestamp"] or arrived, sequence, data))
        if messages:
            self.newest = [*self.newest, *messages][-2:]
            numbered = self.numbered
            for message in messages:
                self._number(message.sequence, numbered)
        return messages

    def _number(self, sequence: int, numbered: bool) -> None:
        """Count a message, and the messages lost since the previous one."""
        absent = sequence - self._sequence - 1
        if numbered and absent > 0:
            if self.count:
                self.lost += absent
            else:
                self.missed = absent
        self._sequence = sequence
        self.count += 1


def _ignore(message: bytes) -> None:
    """Ignore the message: messages are taken from the subscription, not delivered to a callback."""
