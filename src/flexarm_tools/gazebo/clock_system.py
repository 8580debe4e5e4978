"""A system of Gazebo in Python, loaded by its PythonSystemLoader: publishes ``/clock`` at the rate of the controllers.

Gazebo's own clock has a message for every step, 2000 a second: bridged to ROS 2, all nodes together would spend more on
time than on their work.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

PAUSED_PERIOD = 1.0  # [s] between two messages while simulated time stands still, for nodes that start meanwhile
MICROSECOND = timedelta(microseconds=1)


class ClockSystem:
    """Publishes simulated time after a step, once a period of ``<rate>`` [Hz]."""

    def configure(self, entity: Any, sdf: Any, ecm: Any, events: Any) -> None:
        """Read ``<rate>`` and make the publisher, in a context of its own: gz_ros2_control has another one."""
        from rclpy.context import Context
        from rclpy.node import Node
        from rclpy.qos import QoSProfile
        from rosgraph_msgs.msg import Clock

        period = round(1e6 / sdf.get_double("rate"))  # [us], as Gazebo tells the time
        self._period, self._next, self._said = period, 0, float("-inf")
        self._message = Clock()
        self._context = Context()
        self._context.init(args=[])
        self._node = Node("gazebo_clock", context=self._context, start_parameter_services=False, enable_rosout=False)
        self._publisher = self._node.create_publisher(Clock, "/clock", QoSProfile(depth=10))

    def post_update(self, info: Any, ecm: Any) -> None:
        """Publish if a period has gone by."""
        now = info.sim_time // MICROSECOND
        if info.paused:
            if time.monotonic() - self._said < PAUSED_PERIOD:
                return
        elif now < self._next and now >= self._next - self._period:
            return
        self._next = (now // self._period + 1) * self._period
        self._said = time.monotonic()
        stamp = self._message.clock
        stamp.sec, microseconds = divmod(now, 1_000_000)
        stamp.nanosec = 1000 * microseconds
        self._publisher.publish(self._message)

    def shutdown(self) -> None:
        """End the node before the interpreter ends."""
        self._node.destroy_node()
        self._context.try_shutdown()


def get_system() -> ClockSystem:
    """What Gazebo asks for."""
    return ClockSystem()
