"""Measurement equations of the estimator: what each sensor should read at a state, and how that changes with it.

The estimated state is ``[y; yd]`` (2N,), ``y`` = [elastic joints of the base; modes of the links]. Strain and
deflection are linear in it. Force/torque sensors and IMUs feel accelerations: they are predicted by forward dynamics
and linearised by forward differences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexarm_core.flexible_dynamics.bodies import make_bodies
from flexarm_core.flexible_dynamics.disturbances import Disturbances
from flexarm_core.flexible_dynamics.imu import imu_reading
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.tree import Mount
from flexarm_core.types import Array

DIFFERENCE = 1e-6  # [sqrt(kg)*m | rad | m, and 1/s of them] step of the forward differences
FROZEN_TRAVEL = 3.0  # standard deviations of its noise that a repeated reading must have been expected to change by
WRENCH = ("fx", "fy", "fz", "nx", "ny", "nz")
IMU = ("ax", "ay", "az", "wx", "wy", "wz")


@dataclass(frozen=True, slots=True)
class Channel:
    """One sensor's reading at one tick; it is used or left out as a whole.

    Attributes:
        name: of the sensor.
        components: (c) names of its numbers.
        innovation: (c,) reading minus prediction.
        jacobian: (c, 2N) of the prediction over ``[y; yd]``.
        variance: (c,) of the reading's noise.
        feedthrough: (c, d) of the prediction over the disturbances of the tick, None: it does not show them.
        of_base: it shows how the base moves, and so that it is pushed.
    """

    name: str
    components: tuple[str, ...]
    innovation: Array
    jacobian: Array
    variance: Array
    feedthrough: Array | None = None
    of_base: bool = False


class FrozenWatch:
    """Finds strain gauges that repeat one value exactly while the model says that the strain changes.

    The expected change is the sum of the predictions' steps, not their difference: a frozen gauge holds back the
    estimate that it corrects, but not the steps that the dynamics make from there.
    """

    def __init__(self, gauges: int, samples: int, noise: float) -> None:
        """Watch ``gauges`` of them; ``samples`` equal readings are suspicious; ``noise`` is their deviation."""
        self._samples, self._limit = samples, FROZEN_TRAVEL * noise
        self._value = np.full(gauges, np.nan)
        self._repeats = np.zeros(gauges, dtype=int)
        self._travel = np.zeros(gauges)
        self._peak = np.zeros(gauges)

    def update(self, strain: Array, step: Array) -> NDArray[np.bool_]:
        """Which gauges (g,) are frozen, from their readings, NaN where missing, and the predicted steps of strain."""
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
    """A channel of each gauge that can be used, and why the others cannot; noise is absolute and relative."""
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
    """A channel of each elastic joint's position and of its rate."""
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
    """Force/torque sensors and IMUs at a hinge state and under an effort."""

    def __init__(self, model: FlexibleModel, wrenches: bool, imus: bool) -> None:
        """Predict these kinds of sensor of this robot."""
        self._model = model
        self._wrenches = tuple(model.description.force_torque_sensors) if wrenches else ()
        places = make_bodies(model.description, model.modal_data)[1]
        self._imus = {name: places[imu.frame] for name, imu in model.description.imus.items()} if imus else {}

    def channels(
        self,
        readings: tuple[Mapping[str, Array], Mapping[str, Array]],
        x: Array,
        v: Array,
        effort: Array,
        variances: tuple[Array, Array],
        disturbances: Disturbances,
        forces: Array | None,
    ) -> tuple[list[Channel], list[str]]:
        """A channel of each sensor that reads, and why the others cannot be used.

        Args:
            readings: of force/torque sensors and of IMUs, by name.
            x: (h + K,) coordinates of the estimate.
            v: (h + K,) its rates.
            effort: (h,) efforts that act.
            variances: (6,) of the wrenches' and of the IMUs' noise.
            disturbances: that the readings show too.
            forces: (h + K, d) that they are, per unit; None: there is no tick over which they could have acted.
        """
        used: list[tuple[str, Array, tuple[str, ...], Array]] = []
        left_out = []
        for names, given, components, variance in (
            (self._wrenches, readings[0], WRENCH, variances[0]),
            (tuple(self._imus), readings[1], IMU, variances[1]),
        ):
            for name in names:
                reading = given.get(name)
                if reading is None or not np.isfinite(reading).all():
                    left_out.append(f"{name}: {'missing' if reading is None else 'not finite'}")
                else:
                    used.append((name, reading, components, variance))
        if not used:
            return [], left_out
        model, free, size = self._model, self._model.unmeasured, len(self._model.unmeasured)
        wanted = [name for name, *_ in used]
        acceleration = model.forward_dynamics(x, v, effort)
        felt = None
        if forces is not None:
            felt = self._felt(wanted, x, v, acceleration, model.response(np.arange(model.size)) @ forces)
        predicted = self._predict(wanted, x, v, acceleration)
        jacobian = np.empty((len(used), 6, 2 * size))
        for j in range(2 * size):
            x2, v2 = x.copy(), v.copy()
            (x2 if j < size else v2)[free[j % size]] += DIFFERENCE
            there = self._predict(wanted, x2, v2, model.forward_dynamics(x2, v2, effort))
            jacobian[:, :, j] = (there - predicted) / DIFFERENCE
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

    def _felt(self, names: list[str], x: Array, v: Array, acceleration: Array, more: Array) -> Array:
        """(c, 6, d) by how much readings change with further accelerations (h + K, d): they are linear in them."""
        still = self._predict(names, x, v, acceleration)
        by_coordinate = np.empty((len(names), 6, len(x)))
        for j, unit in enumerate(np.eye(len(x))):
            by_coordinate[:, :, j] = self._predict(names, x, v, acceleration + unit) - still
        felt: Array = by_coordinate @ more
        return felt

    def _predict(self, names: list[str], x: Array, v: Array, acceleration: Array) -> Array:
        """(c, 6) what these sensors read at these accelerations."""
        model = self._model
        wrenches = model.sensor_wrenches(x, v, acceleration)
        readings = np.empty((len(names), 6))
        for i, name in enumerate(names):
            if name in self._imus:
                self._read_imu(self._imus[name], x, v, acceleration, readings[i])
            else:
                readings[i] = wrenches[name]
        return readings

    def _read_imu(self, place: Mount, x: Array, v: Array, acceleration: Array, reading: Array) -> None:
        """Write what an IMU there reads; the bodies move as inverse dynamics has left them."""
        model = self._model
        if place.body < 0:
            reading[:3], reading[3:] = place.turn.T @ model.tree.root, 0.0
            return
        first = model.tree.first_mode[place.body]
        own = slice(first, first + place.rotation.shape[1])
        imu_reading(
            model.arrays[0],
            model.arrays[2],
            place.body,
            np.vstack((place.node, place.offset, place.turn)),
            np.vstack((place.translation, place.rotation)),
            np.vstack((x[own], v[own], acceleration[own])),
            reading,
        )
