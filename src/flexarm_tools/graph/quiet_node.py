"""quiet_node: a node that observes a graph and adds as little as possible to it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.parameter import Parameter


def listening_node(name: str, context: Context) -> Node:
    """Create a node without services, for subscriptions that the caller polls: it must not be spun."""
    return rclpy.create_node(
        name,
        context=context,
        enable_rosout=False,
        start_parameter_services=False,
        parameter_overrides=[Parameter("start_type_description_service", value=False)],
    )


@contextlib.contextmanager
def quiet_node(name: str, domain: int | None) -> Iterator[Node]:
    """Create a node in its own context, without services, because it is not spun and could not answer them.

    Args:
        name: node name; the process ID is appended, since several processes may observe one graph.
        domain: ROS domain; None: ROS_DOMAIN_ID.
    """
    context = Context()
    rclpy.init(context=context, domain_id=domain, signal_handler_options=rclpy.SignalHandlerOptions.NO)
    node = listening_node(f"{name}_{os.getpid()}", context)
    try:
        yield node
    finally:
        node.destroy_node()
        rclpy.try_shutdown(context=context)
