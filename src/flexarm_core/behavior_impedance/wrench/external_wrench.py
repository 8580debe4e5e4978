"""ExternalWrench: readings of the force/torque sensor at the tool, and the external wrench of a stamp."""

from __future__ import annotations

from collections import deque

from flexarm_core.behavior_impedance.wrench.tool_wrench import ToolWrench
from flexarm_core.entrance import finite, numbers
from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.base_link import BaseLink
from flexarm_core.types import Array, all_finite

REST = 1e-2  # [rad/s | m/s] velocity below which a joint counts as at rest
KEPT = 32  # readings: some may come before the joint state of their stamp


class ExternalWrench:
    """Keeps the newest readings; one that was refused counts as none from its stamp on.

    Attributes:
        sensor: whose readings they are; empty: there is none.
        timeout: age at which a reading is none [s].
    """

    def __init__(self, sensor: str, tool: ToolWrench | None, model: ArmModel, gravity: Array) -> None:
        """Read a sensor, None: there is none, under a gravity (3,) in axes of the root link [m/s^2]."""
        self.sensor, self._tool, self.timeout = sensor, tool, 0.0
        gravity = finite("gravity", gravity, 3)
        self._base, self._gravity, self._weighs = BaseLink(model), gravity, bool(gravity.any())
        self.reset()

    def reset(self) -> None:
        """Forget what came."""
        self._readings: deque[tuple[int, Array | None]] = deque(maxlen=KEPT)

    def take(self, stamp: int, reading: Array | None) -> None:
        """Take a reading.

        Args:
            stamp: of it [ns].
            reading: (6,) in the sensor's frame, as it measures [N, N*m]; None: one that was refused.

        Raises:
            InputError: numbers that are not finite; there is no wrench then.
        """
        if reading is not None:
            reading = numbers("reading", reading, 6)
        good = reading is not None and all_finite(reading)
        self._readings.append((stamp, reading if good else None))
        if reading is not None and not good:
            raise InputError(f"wrench of '{self.sensor}' is not finite: {reading}")

    def _reading(self, stamp: int) -> Array | None:
        """The reading of a stamp [ns], else the newest before it, else the first after it; None where it is too old."""
        chosen = None
        for chosen in reversed(self._readings):
            if chosen[0] <= stamp:
                break
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

    def zero(self, stamp: int, position: Array, deflection: Array, speed: float) -> Array:
        """Take the present reading as that of a free tool; the new bias (6,), sensor's axes [N, N*m].

        Args:
            stamp: of the newest joint state [ns].
            position: (n,) measured joints of the chain [rad | m].
            deflection: (m,) of the elastic joints under the base link [m | rad].
            speed: of the fastest joint [rad/s | m/s].

        Raises:
            InputError: there is no sensor or no valid reading of it, or the arm moves.
        """
        if self._tool is None:
            raise InputError("there is no force/torque sensor at the tool")
        reading = self._reading(stamp)
        if reading is None:
            raise InputError(f"there is no valid reading of '{self.sensor}'")
        if speed > REST:
            raise InputError(f"the arm moves at {speed:.3f} rad/s or m/s; it must be at rest, below {REST}")
        self._tool.bias = self._tool.bias_at_rest(position, reading, self._gravity_in_base(deflection))
        return self._tool.bias

    def _gravity_in_base(self, deflection: Array) -> Array:
        """Gravity (3,) in axes of the base link [m/s^2]: where the root's axes lie there."""
        return self._base.turned(self._gravity, deflection) if self._weighs else self._gravity
