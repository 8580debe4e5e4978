"""Messages of the planar 3R arm for tests with live nodes."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState

START = np.radians([60.0, -60.0, -60.0])
NAMES = ["joint1", "joint2", "joint3", "base_x"]


def joint_state(
    tick: int, position=START, velocity=(0.0, 0.0, 0.0), deflection=0.0, rate=0.0, names=None
) -> JointState:
    """Joint state of the planar arm at tick * 1 ms, in the order of ``names``."""
    names = NAMES if names is None else names
    values = dict(zip(NAMES, zip([*position, deflection], [*velocity, rate], strict=True), strict=True))
    message = JointState(name=list(names))
    message.header.stamp = Time(sec=tick // 1000, nanosec=(tick % 1000) * 1_000_000)
    message.position = [float(values[name][0]) for name in names]
    message.velocity = [float(values[name][1]) for name in names]
    return message
