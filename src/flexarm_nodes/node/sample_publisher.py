"""SamplePublisher: publishes a message in every tick at low cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile


class SamplePublisher:
    """A publisher that reuses one message for all samples: publish() has serialized the message when it returns.

    Attributes:
        message: message to send; fields that are the same in all samples are set by the owner.
    """

    def __init__(self, node: Node, message: Any, topic: str, quality: QoSProfile, write: Callable[..., None]) -> None:
        """Create the publisher.

        Args:
            node: node that publishes.
            message: message with a header.
            topic: topic name.
            quality: quality of service.
            write: writes the values of a sample into the message.
        """
        self._publisher = node.create_publisher(type(message), topic, quality)
        self.message, self._stamp, self._write = message, message.header.stamp, write

    @property
    def heard(self) -> bool:
        """Whether the topic has a subscriber now; without one a sample need not be computed."""
        return bool(self._publisher.get_subscription_count())

    def publish(self, stamp: int, *values: Any) -> None:
        """Publish a sample of a stamp [ns]."""
        self._stamp.sec, self._stamp.nanosec = divmod(stamp, 1_000_000_000)
        self._write(self.message, *values)
        self._publisher.publish(self.message)
