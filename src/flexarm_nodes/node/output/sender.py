"""Sender: a publisher that costs little in every tick."""

from __future__ import annotations

import time
from typing import Any

from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks, UnsupportedEventTypeError
from rclpy.node import Node
from rclpy.qos import QoSProfile

from flexarm_core.errors import InputError
from flexarm_nodes.messages.form import Form, Template

LOOK_AGAIN = 0.2  # [s] after which subscribers are counted again, even if the graph does not seem to have changed


class Sender:
    """A publisher that prepares the bytes of its messages, and remembers whether it has subscribers.

    A form with the same constant fields as the previous one is written into its bytes; another form is published as a
    message.
    """

    def __init__(self, node: Node, kind: Any, topic: str, quality: QoSProfile) -> None:
        """Create the publisher of messages of this type."""
        events = PublisherEventCallbacks(matched=self._on_matched)
        try:
            self._publisher = node.create_publisher(kind, topic, quality, event_callbacks=events)
        except UnsupportedEventTypeError:  # of this middleware: then it is asked every LOOK_AGAIN
            self._publisher = node.create_publisher(kind, topic, quality)
        self._node = node
        self._heard, self._looked = False, 0.0
        self._template: Template | None = None
        self._before: Form | None = None  # the newest form, if there is no template for it yet
        self._plain = False  # messages of this type cannot be prepared

    @property
    def topic_name(self) -> str:
        """Full name of the topic."""
        return str(self._publisher.topic_name)

    @property
    def heard(self) -> bool:
        """Whether the topic has a subscriber; without one a sample need not be computed."""
        now = time.monotonic()
        if now - self._looked > LOOK_AGAIN:
            self._heard, self._looked = self._publisher.get_subscription_count() > 0, now
        return self._heard

    def prepare(self, form: Form) -> None:
        """Prepare messages with the words and sizes of this form, before the first is sent."""
        if self._plain:
            return
        try:
            self._template, self._before = Template(form), None
        except Exception as error:  # whatever it is, the message can still be sent
            self._plain = True
            level = "debug" if isinstance(error, InputError) else "warning"
            getattr(self._node.get_logger(), level)(f"{self.topic_name} is sent without preparation: {error!r}")

    def publish(self, what: Any) -> None:
        """Publish a form, or a message."""
        if not isinstance(what, Form):
            self._publisher.publish(what)
            return
        if self._template is not None and self._template.fits(what):
            self._before = None
            self._publisher.publish(self._template.write(what))
            return
        self._publisher.publish(what.message())
        before, self._before = self._before, what
        if before is not None and before.alike(what):
            self.prepare(what)  # words that change all the time are not worth it

    def flush(self, longest: float) -> None:
        """Wait until the subscribers have acknowledged all sent messages, at most this long [s]."""
        self._publisher.wait_for_all_acked(Duration(seconds=longest))

    def destroy(self) -> None:
        """Destroy the publisher."""
        self._node.destroy_publisher(self._publisher)

    def _on_matched(self, _: Any) -> None:
        """A subscriber has come or gone."""
        self._looked = 0.0
