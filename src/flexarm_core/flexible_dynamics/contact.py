"""ContactInput: the contact wrench beyond a force/torque sensor, as a known input of the model.

A sensor behind the tool measures the wrench of its outboard side on its inboard side, in the sensor frame,
``w = w_c - w_m``: the contact wrench on the tool minus the wrench that accelerates and supports the mass beyond the
sensor. The model computes ``w_m``, which gives ``w_c``. A filter without this input attributes the contact to a
deflection of the arm, and under lasting contact estimates rates that do not exist.
"""

from __future__ import annotations

from flexarm_core.errors import ConfigError
from flexarm_core.flexible_dynamics.model import BodyWrench, FlexibleModel
from flexarm_core.types import Array


class ContactInput:
    """Contact wrench from a force/torque sensor whose reading is an input, not a measurement to compare."""

    def __init__(self, model: FlexibleModel, sensor: str) -> None:
        """Find the sensor in the model.

        Args:
            model: model of the arm.
            sensor: name of the sensor in ``<ros2_control>``.

        Raises:
            ConfigError: there is no such sensor.
        """
        sensors = model.description.force_torque_sensors
        if sensor not in sensors:
            raise ConfigError(f"contact_sensor '{sensor}' does not exist; force/torque sensors: {', '.join(sensors)}")
        self._model, self._body = model, model.body_of(sensors[sensor].frame)

    def wrench(self, reading: Array, x: Array, v: Array, acceleration: Array) -> BodyWrench:
        """Compute the contact wrench on the body that the sensor carries.

        Args:
            reading: (6,) sensor reading ``[f; n]``, finite.
            x: (h + K,) coordinates of hinges and modes.
            v: (h + K,) rates of hinges and modes.
            acceleration: (h + K,) accelerations from which the motion of the mass beyond the sensor follows.
        """
        return BodyWrench(self._body, reading + self._model.hinge_wrenches(x, v, acceleration)[self._body])
