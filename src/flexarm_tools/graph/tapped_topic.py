"""TappedTopic: the messages of a topic as they lie on the wire, with their times and their publisher's count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile

from flexarm_nodes.node.topics import EVERY_SAMPLE


@dataclass(frozen=True, slots=True)
class HeardMessage:
    """A message as it came.

    Attributes:
        arrived: when it reached this process [ns since 1970].
        sent: when it left its publisher [ns since 1970].
        sequence: its publisher's count, from 1; 0 where the middleware does not tell.
        data: serialised (CDR).
    """

    arrived: int
    sent: int
    sequence: int
    data: bytes


class TappedTopic:
    """A subscription that is emptied now and then: no callback, and the node need not be spun.

    Attributes:
        name: of the topic.
        count: messages so far.
        lost: messages that the only publisher numbered between two that came, and that never came.
        missed: likewise before the first that came.
    """

    def __init__(self, node: Node, kind: Any, name: str) -> None:
        """Know the topic; :meth:`listen` begins."""
        self.name, self.count, self.lost, self.missed = name, 0, 0, 0
        self._node, self._kind = node, kind
        self._subscription: Any = None
        self._sequence = 0

    def listen(self, quality: QoSProfile = EVERY_SAMPLE) -> None:
        """Subscribe."""
        self._subscription = self._node.create_subscription(self._kind, self.name, _ignore, quality, raw=True)

    def close(self) -> None:
        """Listen no more."""
        self._node.destroy_subscription(self._subscription)

    @property
    def hears_all(self) -> bool:
        """Whether everybody who is known to publish is heard."""
        return bool(self._subscription.get_publisher_count() >= self._node.count_publishers(self.name))

    @property
    def numbered(self) -> bool:
        """Whether messages can be counted by their numbers: each publisher has its own."""
        return self._node.count_publishers(self.name) <= 1

    def take(self, now: int = 0) -> list[HeardMessage]:
        """What has come since, oldest first.

        Args:
            now: arrival [ns since 1970] of messages whose middleware does not note it.
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
            numbered = self.numbered
            for message in messages:
                self._number(message.sequence, numbered)
        return messages

    def _number(self, sequence: int, numbered: bool) -> None:
        """Count a message, and those that its publisher sent since the one before."""
        absent = sequence - self._sequence - 1
        if numbered and absent > 0:
            if self.count:
                self.lost += absent
            else:
                self.missed = absent
        self._sequence = sequence
        self.count += 1


def _ignore(message: bytes) -> None:
    """Messages are taken, not delivered."""
