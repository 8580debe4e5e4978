"""SamplePublisher: sends a message in every tick at the least cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile


class SamplePublisher:
    """A publisher that writes every sample into one and the same message: it has left as bytes when it returns.

    Attributes:
        message: what is sent; what is the same in all samples is set from outside.
    """

    def __init__(self, node: Node, message: Any, topic: str, quality: QoSProfile, write: Callable[..., None]) -> None:
        """Create the publisher.

        Args:
            node: that gets it.
            message: with a header.
            topic: name.
            quality: of service.
            write: puts the values of a sample into the message.
        """
        self._publisher = node.create_publisher(type(message), topic, quality)
        self.message, self._stamp, self._write = message, message.header.stamp, write

    @property
    def heard(self) -> bool:
        """Whether anybody listens at this moment: to others a sample is lost in any case."""
        return bool(self._publisher.get_subscription_count())

    def publish(self, stamp: int, *values: Any) -> None:
        """Send a sample of a stamp [ns]."""
        self._stamp.sec, self._stamp.nanosec = divmod(stamp, 1_000_000_000)
        self._write(self.message, *values)
        self._publisher.publish(self.message)
