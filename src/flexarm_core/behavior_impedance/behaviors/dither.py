"""Dither: a small oscillation of the set-point, for example to overcome stiction or to search."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from flexarm_core.behavior_impedance.behavior import Arm, Behavior, Contribution, MotionSample
from flexarm_core.behavior_impedance.layout import view_parts
from flexarm_core.behavior_impedance.task_frame import FRAME_SETTINGS, TaskFrame
from flexarm_core.compiled import allocating_kernel
from flexarm_core.settings import Setting
from flexarm_core.types import Array

STILL = np.zeros(3)


class Dither(Behavior):
    """Set-point offset ``x_b = a r(t) sin(w t)`` with its velocity and acceleration; r rises smoothly from 0 to 1.

    With tool axes, ``a`` rotates with the tool; the angular acceleration of the tool is neglected.
    """

    KIND = "dither"
    SETTINGS = (
        Setting("amplitude", "double[]", [0.0] * 6,
            "amplitude of the superimposed oscillation of the tool along and about x y z", "m, rad", 0.0, 0.1, size=6),
        Setting("frequency", "double", 5.0, "frequency of the superimposed oscillation of the tool", "Hz", 0.0, 100.0),
        Setting("rise_time", "double", 0.5,
            "time in which the superimposed oscillation grows to its full amplitude", "s", 1e-3),
        *FRAME_SETTINGS,
    )  # fmt: skip

    def __init__(self, arm: Arm, settings: Mapping[str, Any]) -> None:
        """Prepare; see :class:`Behavior`."""
        self._amplitude = np.array(settings["amplitude"])
        self._rate, self._rise = 2.0 * math.pi * settings["frequency"], settings["rise_time"]
        self._frame = TaskFrame(settings)
        self._time = self._phase = 0.0

    def take_over(self, old: Behavior) -> None:
        """Continue with the time and the phase of the old instance."""
        assert isinstance(old, Dither)
        self._time, self._phase = old._time, old._phase

    def update(self, sample: MotionSample, out: Contribution) -> None:
        """Write offset, twist and acceleration of the set-point."""
        self._time += sample.dt
        self._phase = math.fmod(self._phase + self._rate * sample.dt, 2.0 * math.pi)
        x = min(self._time / self._rise, 1.0)
        r, dr = x**3 * (10.0 + x * (-15.0 + 6.0 * x)), 30.0 * x**2 * (1.0 - x) ** 2 / self._rise
        ddr = 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / self._rise**2
        w, s, c = self._rate, math.sin(self._phase), math.cos(self._phase)
        turning = self._frame.angular_velocity(sample)
        _oscillate(
            self._frame.rotation(sample), STILL if turning is None else turning, self._amplitude,
            (r * s, dr * s + r * w * c, ddr * s + 2.0 * dr * w * c - r * w * w * s), out.row, sample.position.size,
        )  # fmt: skip
        out.measure[0] = r


@allocating_kernel
def _oscillate(
    R: Array, turning: Array, amplitude: Array, wave: tuple[float, float, float], row: Array, n: int
) -> None:
    """Compute the set-point of an oscillation in rotating axes.

    Args:
        R: (3, 3) axes as columns, in base link axes.
        turning: (3,) angular velocity of the axes, in base link axes [rad/s].
        amplitude: (6,) amplitude in these axes [m, rad].
        wave: what the amplitude is multiplied by, and its first and second time derivatives [1, 1/s, 1/s^2].
        row: contribution, see :class:`Parts`, which gets offset, twist and acceleration.
        n: number of joints.
    """
    x, v, a = wave
    out = view_parts(row, n)
    offset, twist, acceleration = out.offset, out.twist, out.acceleration
    u, w, c = np.empty(3), turning, np.empty(3)
    for part in range(0, 6, 3):
        for i in range(3):
            along = 0.0
            for k in range(3):
                along += R[i, k] * amplitude[part + k]
            offset[part + i], twist[part + i], acceleration[part + i] = along * x, along * v, along * a
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            c[i] = w[j] * offset[part + k] - w[k] * offset[part + j]
            u[i] = 2.0 * twist[part + i] + c[i]
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            acceleration[part + i] += w[j] * u[k] - w[k] * u[j]
            twist[part + i] += c[i]
