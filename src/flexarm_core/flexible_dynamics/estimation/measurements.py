"""Measurement equations of the estimator: predicted reading of each sensor and its Jacobian.

The estimated state is ``[y; yd]`` (2N,), ``y`` = [elastic joints of the base; modes of the links]. Strain and
deflection are linear in the state. Readings of force/torque sensors and IMUs depend on accelerations: they are
predicted by forward dynamics and linearized by forward differences of the inverse dynamics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexarm_core.entrance import ANY, finite, numbers
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.flexible_dynamics.bodies import make_bodies
from flexarm_core.flexible_dynamics.estimation.disturbances import Disturbances
from flexarm_core.flexible_dynamics.estimation.motion_readings import linearize_motion
from flexarm_core.flexible_dynamics.model import BodyWrench, FlexibleModel, Wrenches
from flexarm_core.types import Array

FROZEN_TRAVEL = 3.0  # expected change, in standard deviations of the noise, above which a repeated reading is frozen
WRENCH = ("fx", "fy", "fz", "nx", "ny", "nz")
IMU = ("ax", "ay", "az", "wx", "wy", "wz")


@dataclass(frozen=True, slots=True)
class Channel:
    """Reading of one sensor in one sample; it is used or rejected as a whole.

    Attributes:
        name: name of the sensor.
        components: (c) names of the components of the reading.
        innovation: (c,) reading minus prediction.
        jacobian: (c, 2N) derivative of the prediction with respect to ``[y; yd]``.
        variance: (c,) variances of the measurement noise.
        feedthrough: (c, d) derivative of the prediction with respect to the disturbances of the sampling period; None:
            the reading does not depend on them.
        of_base: whether the reading shows the motion of the base, and therefore pushes on it.
    """

    name: str
    components: tuple[str, ...]
    innovation: Array
    jacobian: Array
    variance: Array
    feedthrough: Array | None = None
    of_base: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """Names (c) of the components, including the name of the sensor."""
        return _labels(self.name, self.components)


@cache
def _labels(name: str, components: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{name} {component}".strip() for component in components)


class FrozenWatch:
    """Detects strain gauges that repeat one value exactly while the model predicts a change of strain.

    The expected change is the sum of the predicted steps, not the difference of estimates: a frozen gauge holds the
    estimate at its value by correction, but it does not affect the steps predicted by the dynamics.
    """

    def __init__(self, gauges: int, samples: int, noise: float) -> None:
        """Set the number of gauges, the number of equal readings to suspect, and the standard deviation of noise."""
        self._samples, self._limit = samples, FROZEN_TRAVEL * noise
        self._value = np.full(gauges, np.nan)
        self._repeats = np.zeros(gauges, dtype=int)
        self._travel = np.zeros(gauges)
        self._peak = np.zeros(gauges)

    def update(self, strain: Array, step: Array) -> NDArray[np.bool_]:
        """Return which gauges (g,) are frozen, from readings (NaN if missing) and predicted steps of strain (g,)."""
        same = strain == self._value
        seen = ~np.isnan(strain)
        self._value = np.where(seen, strain, self._value)
        self._repeats = np.where(same, self._repeats + 1, np.where(seen, 0, self._repeats))
        self._travel = np.where(same, self._travel + step, np.where(seen, 0.0, self._travel))
        self._peak = np.where(same, np.maximum(self._peak, np.abs(self._travel)), np.where(seen, 0.0, self._peak))
        return seen & (self._repeats >= self._samples) & (self._peak > self._limit)


def strain_channels(
    model: FlexibleModel, readings: Mapping[str, float], frozen: NDArray[np.bool_], y: Array, noise: tuple[float, float]
) -> tuple[list[Channel], list[str]]:
    """Return a channel for each usable gauge, and the reasons why others are not; noise is (absolute, relative)."""
    channels, left_out = [], []
    modes = len(model.modal)
    first = len(y) - modes
    for row, name in enumerate(model.description.strain_gauges):
        reading = readings.get(name)
        if reading is None or not np.isfinite(reading):
            left_out.append(f"{name}: {'missing' if reading is None else 'not finite'}")
        elif frozen[row]:
            left_out.append(f"{name}: frozen")
        else:
            jacobian = np.zeros((1, 2 * len(y)))
            jacobian[0, first : len(y)] = model.strain_map[row]
            innovation = np.array([reading - model.strain_map[row] @ y[first:]])
            channels.append(
                Channel(name, ("",), innovation, jacobian, np.array([noise[0] ** 2 + (noise[1] * reading) ** 2]))
            )
    return channels, left_out


def deflection_channels(
    names: tuple[str, ...], readings: tuple[Array | None, Array | None], y: Array, yd: Array, noise: tuple[float, float]
) -> tuple[list[Channel], list[str]]:
    """Return a channel for each usable position and rate of elastic joints, and the reasons why others are not."""
    y, yd = finite("y", y, ANY), finite("yd", yd, ANY)
    for reading in readings:
        if reading is not None:
            numbers("reading", reading, len(names))
    if len(readings) != 2 or len(y) != len(yd) or len(y) < len(names):
        raise InputError(
            f"{len(names)} elastic joints need two readings and states of as many, got {len(y)}, {len(yd)}"
        )
    channels, left_out = [], []
    for quantity, reading, predicted, sigma, first in zip(
        ("deflection", "deflection_rate"), readings, (y, yd), noise, (0, len(y)), strict=True
    ):
        for i, name in enumerate(names):
            if reading is None or not np.isfinite(reading[i]):
                left_out.append(f"{name} {quantity}: {'missing' if reading is None else 'not finite'}")
                continue
            jacobian = np.zeros((1, 2 * len(y)))
            jacobian[0, first + i] = 1.0
            innovation = np.array([reading[i] - predicted[i]])
            channels.append(Channel(name, (quantity,), innovation, jacobian, np.array([sigma**2]), of_base=True))
    return channels, left_out


class MotionSensors:
    """Predicts force/torque sensors and IMUs, whose readings depend on accelerations."""

    def __init__(self, model: FlexibleModel, wrenches: Iterable[str], imus: bool) -> None:
        """Select the force/torque sensors by name, and all IMUs or none."""
        self._model = model
        self._wrenches, self._imus = tuple(wrenches), tuple(model.description.imus) if imus else ()
        places = make_bodies(model.description, model.modal_data)[1]
        sensors = [model.body_of(model.description.force_torque_sensors[name].frame) for name in self._wrenches]
        mounts = [places[model.description.imus[name].frame] for name in self._imus]
        count, most = len(sensors) + len(mounts), max((mount.rotation.shape[1] for mount in mounts), default=0)
        body = np.array([*sensors, *(mount.body for mount in mounts)], dtype=np.int64)
        frame, influence = np.zeros((count, 5, 3)), np.zeros((count, 6, most))
        for i, mount in enumerate(mounts, len(sensors)):
            frame[i] = np.vstack((mount.node, mount.offset, mount.turn))
            influence[i, :, : mount.rotation.shape[1]] = np.vstack((mount.translation, mount.rotation))
        self._table: tuple[NDArray[Any], ...] = body, np.arange(count) < len(sensors), frame, influence

    def channels(
        self,
        readings: tuple[Mapping[str, Array], Mapping[str, Array]],
        x: Array,
        v: Array,
        effort: Array,
        variances: tuple[Array, Array],
        disturbances: Disturbances,
        mobility: Array | None,
        contact: Wrenches | None,
    ) -> tuple[list[Channel], list[str]]:
        """Return a channel for each usable sensor, and the reasons why others are not usable.

        Args:
            readings: readings (6,) of force/torque sensors and of IMUs, by name.
            x: (h + K,) estimated coordinates.
            v: (h + K,) estimated rates.
            effort: (h,) applied hinge efforts.
            variances: noise variances (6,) of the force/torque sensors and of the IMUs.
            disturbances: disturbances that also affect the readings.
            mobility: (N, N) mobility ``L`` of the unmeasured coordinates over the sampling period in which the
                disturbances acted; None: there was no prediction, and therefore no disturbance.
            contact: contact wrench on the arm; None: no contact.
        """
        used: list[tuple[str, Array, tuple[str, ...], Array]] = []
        rows: list[int] = []  # rows of the sensor table
        left_out = []
        for names, given, components, variance, first in (
            (self._wrenches, readings[0], WRENCH, variances[0], 0),
            (self._imus, readings[1], IMU, variances[1], len(self._wrenches)),
        ):
            for row, name in enumerate(names, first):
                reading = given.get(name)
                if reading is None or not np.isfinite(reading).all():
                    left_out.append(f"{name}: {'missing' if reading is None else 'not finite'}")
                else:
                    used.append((name, reading, components, variance))
                    rows.append(row)
        if not used:
            return [], left_out
        model = self._model
        table = self._table if len(rows) == len(self._table[0]) else tuple(part[rows] for part in self._table)
        predicted, jacobian = np.empty((len(used), 6)), np.empty((len(used), 6, 2 * len(model.unmeasured)))
        shown, felt = np.empty((len(used), 6, model.size)), None
        model.set_wrenches(x, v, contact)
        linearize_motion(*model.arrays, x, v, effort, model.unmeasured, *table, predicted, shown, jacobian)
        if mobility is not None:
            felt = disturbances.shown(shown.reshape(-1, model.size), mobility).reshape(*predicted.shape, -1)
        return [
            Channel(
                name,
                components,
                reading - predicted[i],
                jacobian[i],
                variance,
                None if felt is None else felt[i] + disturbances.through(name),
                of_base=True,
            )
            for i, (name, reading, components, variance) in enumerate(used)
        ], left_out


class ContactInput:
    """Contact wrench beyond a force/torque sensor whose reading is an input of the model and is not compared.

    A sensor behind the tool measures the wrench of its outboard side on its inboard side, in the sensor frame,
    ``w = w_c - w_m``: the contact wrench on the tool minus the wrench that accelerates and supports the mass beyond the
    sensor. The model computes ``w_m``, which gives ``w_c``. A filter without this input attributes the contact to a
    deflection of the arm, and under lasting contact estimates rates that do not exist.
    """

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
