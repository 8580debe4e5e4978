"""WrenchInput: converts messages of the tool's force/torque sensor to readings."""

from __future__ import annotations

from geometry_msgs.msg import WrenchStamped

from flexarm_core.behavior_impedance.wrench.external_wrench import ExternalWrench
from flexarm_core.errors import InputError
from flexarm_nodes.messages.conversions import stamp_to_nanoseconds
from flexarm_nodes.messages.flexible import wrench_from_message


class WrenchInput(ExternalWrench):
    """External wrench at the tool, measured by a sensor that publishes messages."""

    def take_message(self, message: WrenchStamped) -> None:
        """Take a reading.

        Raises:
            InputError: the frame is not the sensor's, or a number is not finite; the reading is then marked invalid.
        """
        assert self._tool is not None
        stamp, frame, wanted = stamp_to_nanoseconds(message.header.stamp), message.header.frame_id, self._tool.frame
        if frame != wanted:
            self.take(stamp, None)
            raise InputError(f"wrench is in frame '{frame}', sensor '{self.sensor}' measures in '{wanted}'")
        self.take(stamp, wrench_from_message(message))
