r"""TorqueLoop: integral action on the estimated torque, which makes friction vanish without a friction model.

Feed-forward plus integral action, ``tau_motor = tau_des + w int (tau_des - tau_est) dt`` (patent 003, abstract), with
``tau_est = tau_motor - f`` is the same as ::

    tau_motor = tau_des + f_hat,     f_hat' = w (tau_motor - tau_est - f_hat)

a first-order low-pass of what the motor gives and the links do not get. In this form the loop takes the effort that
really acted: where motors saturate nothing winds up, and where a known delay lies in the wrench, the effort of that
time is compared with it, so that the delay slows the estimate and does not destabilise it. A joint that sticks turns
the low-pass into an integrator: ``f_hat`` grows by ``w tau_des`` until the joint moves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from flexarm_core.compiled import kernel
from flexarm_core.entrance import number, numbers
from flexarm_core.errors import ConfigError
from flexarm_core.types import Array

NOTHING = np.zeros(0)


@dataclass(frozen=True, slots=True)
class TorqueLoopConfig:
    """Settings of the loop.

    Attributes:
        enabled: whether it acts.
        bandwidth: w [rad/s]; 0: by all that delays it, see :meth:`resolved_bandwidth`.
        sensor_bandwidth: of the force/torque sensor [rad/s]; 0: far above the loop's.
        wrench_delay: age of the wrench in a reading [s].
        period: of the samples [s].
        max_friction: largest friction that is made up for, as a share of each joint's effort limit.
        fade_time: in which the loop comes in and goes out without a bump [s].
    """

    enabled: bool = True
    bandwidth: float = 0.0
    sensor_bandwidth: float = 0.0
    wrench_delay: float = 0.0
    period: float = 0.002
    max_friction: float = 0.8
    fade_time: float = 0.2

    def __post_init__(self) -> None:
        """Raise ConfigError for values that have no meaning."""
        for name in ("bandwidth", "sensor_bandwidth", "wrench_delay", "fade_time", "max_friction"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0.0):
                raise ConfigError(f"{name} must be finite and >= 0, got {value}")
        if not (np.isfinite(self.period) and self.period > 0.0):
            raise ConfigError(f"period must be > 0 s, got {self.period}")

    def resolved_bandwidth(self) -> float:
        """Bandwidth in force [rad/s]: as given, else ``1 / (3 (T + d / 2 + 1 / w_sensor))``, d the wrench's delay."""
        if self.bandwidth > 0.0:
            return self.bandwidth
        lag = self.period + 0.5 * self.wrench_delay
        if self.sensor_bandwidth > 0.0:
            lag += 1.0 / self.sensor_bandwidth
        return 1.0 / (3.0 * lag)


class TorqueLoop:
    """One sample: what the motors gave and the links did not get -> what the motors must give more."""

    def __init__(self, effort_limit: Array, config: TorqueLoopConfig) -> None:
        """Take effort limits (n,), infinite where there is none [N*m | N]."""
        self._limit = effort_limit
        self.config = config
        self.reset()

    def reset(self) -> None:
        """Begin without any correction."""
        self._friction: Array | None = None
        self._weight = 0.0

    @property
    def weight(self) -> float:
        """Share of the correction that acts, 0 to 1."""
        return self._weight

    def update(self, friction: Array | None, dt: float) -> Array:
        """Correction of the efforts.

        Args:
            friction: (n,) motor effort that the links did not get in the newest measurement, not a number for joints
                of which nothing is known; None where there is no measurement to believe [N*m | N].
            dt: since the last sample [s].

        Returns:
            (n,) to be added to the desired effort [N*m | N].
        """
        config, dt = self.config, number("dt", dt, 0.0)
        on = config.enabled and friction is not None
        step = dt / config.fade_time if config.fade_time > 0.0 else 1.0
        self._weight = min(max(self._weight + (step if on else -step), 0.0), 1.0)
        if on and friction is not None:
            share, corrected = 1.0 - math.exp(-config.resolved_bandwidth() * dt), np.empty(len(self._limit))
            before = NOTHING if self._friction is None else self._friction
            friction = numbers("friction", friction, len(self._limit))
            _follow(friction, before, share, config.max_friction, self._limit, corrected)
            self._friction = corrected
        elif self._weight == 0.0:
            self._friction = None
        if self._friction is None:
            return np.zeros(len(self._limit))
        correction: Array = self._weight * self._friction
        return correction


@kernel
def _follow(friction: Array, before: Array, share: float, most: float, limit: Array, out: Array) -> None:
    """Low-pass of the friction (n,), not a number: 0, from ``before`` (n,) on, empty: from there on, within bounds."""
    for i in range(out.shape[0]):
        known = 0.0 if np.isnan(friction[i]) else friction[i]
        start = before[i] if before.size else known
        # none at all also where a joint has no effort limit: 0 inf is not a number
        bound = most * limit[i] if most > 0.0 else 0.0
        out[i] = min(max(start + share * (known - start), -bound), bound)
