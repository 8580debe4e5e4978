"""quiet_node: a node that looks at a graph and adds to it no more than it must."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.parameter import Parameter


def listening_node(name: str, context: Context) -> Node:
    """Node without services, for subscriptions that somebody empties: it is not to be spun."""
    return rclpy.create_node(
        name,
        context=context,
        enable_rosout=False,
        start_parameter_services=False,
        parameter_overrides=[Parameter("start_type_description_service", value=False)],
    )


@contextlib.contextmanager
def quiet_node(name: str, domain: int | None) -> Iterator[Node]:
    """Node in a context of its own, without services, which nobody would answer: it is not spun.

    Args:
        name: of the node; the process number follows it, as several may look at one graph.
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
