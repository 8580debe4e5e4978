"""WrenchInput: readings of the force/torque sensor at the tool, and the external wrench of a stamp."""

from __future__ import annotations

from collections import deque

import numpy as np
from geometry_msgs.msg import WrenchStamped
from std_srvs.srv import Trigger

from flexarm_core.behavior_impedance.tool_wrench import ToolWrench
from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.base_link import BaseLink
from flexarm_core.types import Array, CartesianReference
from flexarm_nodes.conversions import stamp_to_nanoseconds
from flexarm_nodes.flexible_conversions import wrench_from_message

REST = 1e-2  # [rad/s | m/s] velocity below which a joint counts as at rest
KEPT = 32  # readings: some may come before the joint state of their stamp


class WrenchInput:
    """Keeps the newest readings; one that was refused counts as none from its stamp on."""

    def __init__(self, sensor: str, tool: ToolWrench | None, model: ArmModel, gravity: Array) -> None:
        """Read a sensor, None: there is none, under a gravity (3,) in axes of the root link [m/s^2]."""
        self.sensor, self._tool, self.timeout = sensor, tool, 0.0
        self._base, self._world, self._gravity = BaseLink(model), model.world_frame, gravity
        self.reset()

    def reset(self) -> None:
        """Forget what came."""
        self._readings: deque[tuple[int, Array | None]] = deque(maxlen=KEPT)

    def take(self, message: WrenchStamped) -> None:
        """Take a reading.

        Raises:
            InputError: another frame than the sensor's, numbers that are not finite; there is no wrench then.
        """
        assert self._tool is not None
        stamp, reading = stamp_to_nanoseconds(message.header.stamp), wrench_from_message(message)
        frame, wanted = message.header.frame_id, self._tool.frame
        good = frame == wanted and bool(np.isfinite(reading).all())
        self._readings.append((stamp, reading if good else None))
        if frame != wanted:
            raise InputError(f"wrench is in frame '{frame}', sensor '{self.sensor}' measures in '{wanted}'")
        if not good:
            raise InputError(f"wrench of '{self.sensor}' is not finite: {reading}")

    def _reading(self, stamp: int) -> Array | None:
        """The reading of a stamp [ns], else the newest before it, else the first after it; None where it is too old."""
        before = [entry for entry in self._readings if entry[0] <= stamp]
        chosen = before[-1] if before else next(iter(self._readings), None)
        if chosen is None or abs(stamp - chosen[0]) * 1e-9 > self.timeout:
            return None
        return chosen[1]

    def external(self, stamp: int, position: Array, deflection: Array) -> Array | None:
        """External wrench (6,) on the tool at its origin, base link's axes; None where there is none [N, N*m].

        Args:
            stamp: of the sample [ns].
            position: (n,) measured joints of the chain [rad | m].
            deflection: (m,) of the elastic joints under the base link [m | rad].
        """
        reading = self._reading(stamp)
        if reading is None or self._tool is None:
            return None
        return self._tool.external(position, reading, self._gravity_in_base(deflection))

    def answer_zero(
        self, response: Trigger.Response, stamp: int, position: Array, deflection: Array, speed: float
    ) -> Trigger.Response:
        """Take the present reading as that of a free tool, where the arm is at rest; the answer says the new bias.

        Args:
            response: that is filled.
            stamp: of the newest joint state [ns].
            position: (n,) measured joints of the chain [rad | m].
            deflection: (m,) of the elastic joints under the base link [m | rad].
            speed: of the fastest joint [rad/s | m/s].
        """
        reading = self._reading(stamp)
        if self._tool is None:
            response.message = "there is no force/torque sensor at the tool"
        elif reading is None:
            response.message = f"there is no valid reading of '{self.sensor}'"
        elif speed > REST:
            response.message = f"the arm moves at {speed:.3f} rad/s or m/s; it must be at rest, below {REST}"
        else:
            self._tool.bias = self._tool.bias_at_rest(position, reading, self._gravity_in_base(deflection))
            response.success = True
            response.message = f"wrench_bias: {[round(float(part), 6) for part in self._tool.bias]}"
        return response

    def _gravity_in_base(self, deflection: Array) -> Array:
        """Gravity (3,) in axes of the base link [m/s^2]: where the root's axes lie there."""
        origin, none = np.zeros(3), np.zeros(6)
        root = CartesianReference(0, self._world, origin, np.eye(3), none, none, np.ones(6, dtype=bool))
        in_base: Array = self._base.reference(root, deflection)[1] @ self._gravity
        return in_base
