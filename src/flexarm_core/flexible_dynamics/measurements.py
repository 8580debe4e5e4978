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

from flexarm_core.flexible_dynamics.model import FlexibleModel
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
    """

    name: str
    components: tuple[str, ...]
    innovation: Array
    jacobian: Array
    variance: Array


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
            channels.append(Channel(name, (quantity,), innovation, jacobian, np.array([sigma**2])))
    return channels, left_out


class MotionSensors:
    """Force/torque sensors and IMUs at a hinge state and under an effort."""

    def __init__(self, model: FlexibleModel, wrenches: bool, imus: bool) -> None:
        """Predict these kinds of sensor of this robot."""
        self._model = model
        self._wrenches = tuple(model.description.force_torque_sensors) if wrenches else ()
        self._imus = {name: imu.frame for name, imu in model.description.imus.items()} if imus else {}

    def channels(
        self,
        readings: tuple[Mapping[str, Array], Mapping[str, Array]],
        x: Array,
        v: Array,
        effort: Array,
        variances: tuple[Array, Array],
    ) -> tuple[list[Channel], list[str]]:
        """A channel of each sensor that reads, and why the others cannot be used.

        Args:
            readings: of force/torque sensors and of IMUs, by name.
            x: (h + K,) coordinates of the estimate.
            v: (h + K,) its rates.
            effort: (h,) efforts that act.
            variances: (6,) of the wrenches' and of the IMUs' noise.
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
        free, size = self._model.unmeasured, len(self._model.unmeasured)
        wanted = [name for name, *_ in used]
        predicted = self._predict(wanted, x, v, effort)
        jacobian = np.empty((len(used), 6, 2 * size))
        for j in range(2 * size):
            x2, v2 = x.copy(), v.copy()
            (x2 if j < size else v2)[free[j % size]] += DIFFERENCE
            jacobian[:, :, j] = (self._predict(wanted, x2, v2, effort) - predicted) / DIFFERENCE
        return [
            Channel(name, components, reading - predicted[i], jacobian[i], variance)
            for i, (name, reading, components, variance) in enumerate(used)
        ], left_out

    def _predict(self, names: list[str], x: Array, v: Array, effort: Array) -> Array:
        """(c, 6) what these sensors read under the accelerations of forward dynamics."""
        model = self._model
        acceleration = model.forward_dynamics(x, v, effort)
        wrenches = model.sensor_wrenches(x, v, acceleration) if self._wrenches else {}
        readings = np.empty((len(names), 6))
        for i, name in enumerate(names):
            if name in wrenches:
                readings[i] = wrenches[name]
                continue
            motion = model.frame_motion(self._imus[name], x, v, acceleration)
            readings[i, :3] = motion.rotation.T @ (motion.acceleration[:3] + model.tree.root)
            readings[i, 3:] = motion.rotation.T @ motion.velocity[3:]
        return readings
