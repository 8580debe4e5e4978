"""Teleoperation: the tool follows twists sent by an operator, added to the motion of the other behaviors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from flexarm_core.behavior_impedance.behavior import Arm, Behavior, Contribution, MotionSample
from flexarm_core.behavior_impedance.task_frame import FRAME_SETTINGS, TaskFrame
from flexarm_core.errors import InputError
from flexarm_core.kernels.twist_following import follow_twist, twist_state
from flexarm_core.settings import Setting
from flexarm_core.types import Array

STILL = np.zeros(6)


class Teleoperation(Behavior):
    """Set-point velocity ``v_b`` = the last twist received, within limits; ``x_b`` = its integral.

    The set-point is brought to rest when the stream stops. If an obstacle or a contact keeps the tool from following,
    the set-point moves away from the tool by no more than ``max_lag``: its velocity is limited so that it can still
    brake within the rest of that distance.
    """

    KIND = "teleoperation"
    SETTINGS = (
        Setting("timeout", "double", 0.2,
            "age of the newest twist command at which the tool is brought to rest", "s", 1e-3),
        Setting("max_linear_velocity", "double", 0.25,
            "largest linear velocity of the tool; faster twist commands are scaled down", "m/s", 1e-6),
        Setting("max_angular_velocity", "double", 1.0,
            "largest angular velocity of the tool; faster twist commands are scaled down", "rad/s", 1e-6),
        Setting("max_linear_acceleration", "double", 1.0,
            "largest linear acceleration with which the tool follows twist commands", "m/s^2", 1e-6),
        Setting("max_angular_acceleration", "double", 4.0,
            "largest angular acceleration with which the tool follows twist commands", "rad/s^2", 1e-6),
        Setting("max_lag", "double", 0.05,
            "largest distance by which the tool may lag behind its set-point, for example in contact", "m", 1e-6),
        Setting("max_angular_lag", "double", 0.5,
            "largest angle by which the tool may lag behind its set-point, for example in contact", "rad", 1e-6, 3.0),
        Setting("axes", "bool[]", [True] * 6,
            "components x y z rx ry rz of the twist command that are followed", size=6),
        *FRAME_SETTINGS,
    )  # fmt: skip

    def __init__(self, arm: Arm, settings: Mapping[str, Any]) -> None:
        """Prepare; see :class:`Behavior`."""
        self._fastest = settings["max_linear_velocity"], settings["max_angular_velocity"]
        self._strongest = settings["max_linear_acceleration"], settings["max_angular_acceleration"]
        self.timeout: float = settings["timeout"]
        self._axes, self._frame = np.array(settings["axes"], dtype=float), TaskFrame(settings)
        self._given: tuple[int, Array] | None = None
        self._limits = np.array((*self._strongest, settings["max_lag"], settings["max_angular_lag"], 0.0))
        self._state, self._stale = twist_state(), True

    def take_over(self, old: Behavior) -> None:
        """Continue from the offset and velocity of the old instance."""
        assert isinstance(old, Teleoperation)
        self._state = old._state
        if old._given is not None:
            self.give(*old._given)

    def give(self, stamp: int, twist: Array) -> None:
        """Accept a twist from the operator.

        Args:
            stamp: time of the twist [ns].
            twist: (6,) ``[v; w]`` in the axes of this behavior's frame [m/s, rad/s].

        Raises:
            InputError: the twist is not six finite numbers; the previous twist is kept.
        """
        try:
            value: Array = np.array(twist, dtype=float)
        except (TypeError, ValueError) as error:
            raise InputError(f"a twist is six finite numbers, got {twist!r}") from error
        if value.shape != (6,) or not np.isfinite(value).all():
            raise InputError(f"a twist is six finite numbers, got {twist}")
        for part, fastest in zip((slice(0, 3), slice(3, 6)), self._fastest, strict=True):
            value[part] *= min(1.0, fastest / max(math.hypot(*value[part]), 1e-300))
        self._given = stamp, value * self._axes

    def update(self, sample: MotionSample, out: Contribution) -> None:
        """Write offset, twist and acceleration of the set-point."""
        self._stale = self._given is None or abs(sample.stamp - self._given[0]) > round(self.timeout * 1e9)
        wanted = STILL
        if self._given is not None and not self._stale:
            wanted = self._frame.vector(sample, self._given[1])
        self._limits[4] = sample.dt
        out.measure[0] = follow_twist(wanted, sample.error, self._limits, self._state, out.offset_motion)

    def note(self) -> str:
        """Return whether twists are received."""
        return "no twists" if self._stale else "following"
