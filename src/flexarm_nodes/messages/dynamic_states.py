"""DynamicStates: joint states and sensor readings from dynamic_joint_states, one message for all of ros2_control.

Names are those of ros2_control's interfaces: ``position``, ``velocity``, ``effort`` of joints; ``force.x`` to
``torque.z`` of force/torque sensors; ``linear_acceleration.x`` to ``angular_velocity.z`` of IMUs. Values have no frame:
they are those of the sensor's own.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from control_msgs.msg import DynamicJointState
from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, JointState

from flexarm_core.errors import InputError
from flexarm_nodes.messages.cdr import message_reader
from flexarm_nodes.messages.conversions import doubles, stamp_to_nanoseconds, wrench_form
from flexarm_nodes.messages.flexible import imu_form

INTERFACES = {
    "wrench": tuple(f"{part}.{axis}" for part in ("force", "torque") for axis in "xyz"),
    "imu": tuple(f"{part}.{axis}" for part in ("linear_acceleration", "angular_velocity") for axis in "xyz"),
}
read_dynamic = message_reader(DynamicJointState)


class DynamicStates:
    """One message, by joint or sensor and interface."""

    def __init__(self, raw: bytes) -> None:
        """Read the bytes of a message.

        Raises:
            InputError: it cannot be read, or its numbers of names and values differ.
        """
        message = read_dynamic(raw)
        self._header, names, given = message.header, message.joint_names, message.interface_values
        if len(names) != len(given) or any(len(one.interface_names) != len(one.values) for one in given):
            raise InputError("dynamic joint state: its numbers of names and values differ")
        values = [dict(zip(one.interface_names, one.values, strict=True)) for one in given]
        self._all: list[tuple[str, Mapping[str, float]]] = list(zip(names, values, strict=True))
        self._values = dict(self._all)

    def joint_state(self) -> bytes:
        """Return the bytes of the joint state of all entries with a position; missing velocities or efforts: empty."""
        joints = [(name, values) for name, values in self._all if "position" in values]
        state = JointState(header=self._header, name=[name for name, _ in joints])
        for field in ("position", "velocity", "effort"):
            if any(field in values for _, values in joints):
                setattr(state, field, doubles(np.array([values.get(field, np.nan) for _, values in joints])))
        return bytes(serialize_message(state))

    def has(self, kind: str, name: str) -> bool:
        """Return whether a sensor is in the message, of a kind whose interfaces are known."""
        return kind in INTERFACES and name in self._values

    def reading(self, kind: str, name: str, frame: str) -> WrenchStamped | Imu:
        """Return the message of a sensor.

        Raises:
            InputError: the sensor is named twice, or an interface is missing, or not finite.
        """
        if sum(one == name for one, _ in self._all) > 1:
            raise InputError(f"dynamic joint state names '{name}' twice")
        values = self._values[name]
        missing = [interface for interface in INTERFACES[kind] if not np.isfinite(values.get(interface, np.nan))]
        if missing:
            raise InputError(f"dynamic joint state: {', '.join(missing)} of '{name}' is missing or not finite")
        stamp, found = stamp_to_nanoseconds(self._header.stamp), np.array([values[one] for one in INTERFACES[kind]])
        form = wrench_form(stamp, frame, found) if kind == "wrench" else imu_form(stamp, frame, found)
        message: WrenchStamped | Imu = form.message()
        return message
