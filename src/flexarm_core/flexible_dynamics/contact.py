"""ContactInput: what touches an arm beyond a force/torque sensor, as a known force on the model.

A sensor behind the tool reads, of the outboard side on the inboard side in its frame, ``w = w_c - w_m``: what touches
the tool, less what accelerates and holds the mass beyond the sensor. The model knows the latter, so ``w_c`` is known. A
filter that is not told of it bends the arm in its place, and under a lasting contact estimates rates that are not.
"""

from __future__ import annotations

from flexarm_core.errors import ConfigError
from flexarm_core.flexible_dynamics.model import BodyWrench, FlexibleModel
from flexarm_core.types import Array


class ContactInput:
    """A force/torque sensor that is believed, and not compared."""

    def __init__(self, model: FlexibleModel, sensor: str) -> None:
        """Know the arm.

        Args:
            model: of it.
            sensor: name of the sensor, in ``<ros2_control>``.

        Raises:
            ConfigError: there is no such sensor.
        """
        sensors = model.description.force_torque_sensors
        if sensor not in sensors:
            raise ConfigError(f"contact_sensor '{sensor}' does not exist; force/torque sensors: {', '.join(sensors)}")
        self._model, self._body = model, model.body_of(sensors[sensor].frame)

    def wrench(self, reading: Array, x: Array, v: Array, acceleration: Array) -> BodyWrench:
        """What touches the arm, on the body that the sensor carries.

        Args:
            reading: (6,) of the sensor, finite.
            x: (h + K,) coordinates of hinges and modes.
            v: (h + K,) their rates.
            acceleration: (h + K,) under which the mass beyond the sensor moves.
        """
        return BodyWrench(self._body, reading + self._model.hinge_wrenches(x, v, acceleration)[self._body])
