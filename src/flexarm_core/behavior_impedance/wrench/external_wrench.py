"""ExternalWrench: computes the external wrench at a stamp from the newest reading of the tool's sensor."""

from __future__ import annotations

import numpy as np

from flexarm_core.behavior_impedance.wrench.tool_calibration import ToolCalibration, ToolWeighing, calibrate_tool
from flexarm_core.behavior_impedance.wrench.tool_wrench import ToolWrench
from flexarm_core.entrance import finite, numbers
from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.base_link import BaseLink
from flexarm_core.types import Array, all_finite

REST = 1e-2  # [rad/s | m/s] velocity below which a joint counts as at rest


class ExternalWrench:
    """Keeps the newest reading; a rejected reading means that no wrench is available from its stamp on.

    Attributes:
        sensor: name of the sensor; an empty string if there is none.
        timeout: largest time between a reading and the requested stamp [s].
    """

    def __init__(self, sensor: str, tool: ToolWrench | None, model: ArmModel, gravity: Array) -> None:
        """Set up the sensor.

        Args:
            sensor: name of the sensor; an empty string if there is none.
            tool: computes the external wrench from a reading; None if there is no sensor.
            model: model of the arm and of its base.
            gravity: (3,) gravity in root link axes [m/s^2].
        """
        self.sensor, self._tool, self.timeout = sensor, tool, 0.0
        gravity = finite("gravity", gravity, 3)
        self._base, self._gravity, self._weighs = BaseLink(model), gravity, bool(gravity.any())
        self.reset()

    def reset(self) -> None:
        """Discard the reading."""
        self._newest: tuple[int, Array | None] = 0, None

    def take(self, stamp: int, reading: Array | None) -> None:
        """Store a reading.

        Args:
            stamp: time of the reading [ns].
            reading: (6,) raw wrench in the sensor frame [N, N*m]; None: the reading was rejected.

        Raises:
            InputError: the reading is not six numbers, or it is not finite; a non-finite reading is stored as rejected.
        """
        if reading is not None:
            reading = numbers("reading", reading, 6)
        good = reading is not None and all_finite(reading)
        self._newest = stamp, reading if good else None
        if reading is not None and not good:
            raise InputError(f"wrench of '{self.sensor}' is not finite: {reading}")

    def _reading(self, stamp: int) -> Array | None:
        """Return the reading, None if it is further from the stamp [ns] than the timeout, or was rejected."""
        taken, reading = self._newest
        return reading if abs(stamp - taken) * 1e-9 <= self.timeout else None

    def external(self, stamp: int, position: Array, deflection: Array) -> Array | None:
        """Return the external wrench (6,) on the tool at the tool origin, in base link axes [N, N*m].

        Return None if no valid reading is available.

        Args:
            stamp: time of the sample [ns].
            position: (n,) measured joint positions of the chain [rad | m].
            deflection: (m,) deflections of the elastic joints under the base link [m | rad].
        """
        reading = self._reading(stamp)
        if reading is None or self._tool is None:
            return None
        return self._tool.external(position, reading, self._gravity_in_base(deflection))

    def weigh(self, weighing: ToolWeighing, stamp: int, position: Array, deflection: Array, speed: float) -> None:
        """Give the reading at a stamp to a weighing of the tool; arguments as in :meth:`zero`."""
        if self._tool is not None:
            gravity = self._tool.gravity_in_sensor(position, self._gravity_in_base(deflection))
            weighing.take(stamp, gravity, self._reading(stamp), speed)

    def calibrated(self, weighing: ToolWeighing, apply: bool) -> ToolCalibration:
        """Return the calibration from the poses of a weighing, and use it from now on if it is to be applied.

        Raises:
            InputError: there is no sensor, or the readings do not fit to a load.
        """
        if self._tool is None:
            raise InputError("there is no force/torque sensor at the tool")
        found = calibrate_tool(np.array(weighing.gravity), np.array(weighing.wrench), self._tool.sign)
        if apply:
            self._tool.take_calibration(found)
        return found

    def zero(self, stamp: int, position: Array, deflection: Array, speed: float) -> Array:
        """Zero the sensor: assume that the tool is free, and return the new bias (6,) in sensor axes [N, N*m].

        Args:
            stamp: stamp of the newest joint state [ns].
            position: (n,) measured joint positions of the chain [rad | m].
            deflection: (m,) deflections of the elastic joints under the base link [m | rad].
            speed: speed of the fastest joint [rad/s | m/s].

        Raises:
            InputError: there is no sensor or no valid reading, or the arm is moving.
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
        """Return gravity (3,) in base link axes [m/s^2], given the deflections of the base."""
        return self._base.turned(self._gravity, deflection) if self._weighs else self._gravity
