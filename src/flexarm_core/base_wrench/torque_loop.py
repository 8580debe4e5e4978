r"""TorqueLoop: integral action on the estimated torque, which compensates friction without a friction model.

Feed-forward plus integral action, ``tau_motor = tau_des + w int (tau_des - tau_est) dt`` (patent 003, abstract), with
``tau_est = tau_motor - f`` is the same as ::

    tau_motor = tau_des + f_hat,     f_hat' = w (tau_motor - tau_est - f_hat)

a first-order low-pass of the difference between motor effort and link torque. This form uses the effort that actually
acted: there is no windup when motors saturate. If the wrench has a known delay, it is compared with the effort of the
same time, so that the delay slows the estimate but does not destabilize it. If a joint sticks, the low-pass becomes an
integrator: ``f_hat`` grows at the rate ``w tau_des`` until the joint moves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from flexarm_core.compiled import kernel
from flexarm_core.entrance import number, numbers
from flexarm_core.settings import Settings, setting
from flexarm_core.types import Array

NOTHING = np.zeros(0)


@dataclass(frozen=True, slots=True)
class TorqueLoopConfig(Settings):
    """Settings of the loop."""

    # fmt: off
    torque_loop: bool = setting(True, "compensate joint friction by the torque loop; false: position loop only")
    torque_bandwidth: float = setting(0.0,
        "bandwidth of the torque loop; 0: derived from the rate, sensor_bandwidth and wrench_delay", "rad/s", 0.0)
    sensor_bandwidth: float = setting(0.0,
        "bandwidth of the base force/torque sensor; 0: assumed far above that of the torque loop", "rad/s", 0.0)
    wrench_delay: float = setting(0.0, "age of the wrench in a reading", "s", 0.0)
    period: float = setting(0.002, "sampling period", "s", 1e-9)
    max_friction: float = setting(0.8,
        "largest friction that the torque loop compensates, as a fraction of the effort limit of each joint", "", 0.0)
    fade_time: float = setting(0.2, "time in which the torque loop is faded in and out", "s", 0.0)
    # fmt: on

    def resolved_bandwidth(self) -> float:
        """Return the bandwidth in use [rad/s].

        This is ``torque_bandwidth`` if it is positive, else ``1 / (3 (T + d / 2 + 1 / w_sensor))`` with the sampling
        period T and the wrench delay d.
        """
        if self.torque_bandwidth > 0.0:
            return self.torque_bandwidth
        lag = self.period + 0.5 * self.wrench_delay
        if self.sensor_bandwidth > 0.0:
            lag += 1.0 / self.sensor_bandwidth
        return 1.0 / (3.0 * lag)


class TorqueLoop:
    """Compute the effort that compensates friction from the measured friction, once per sample."""

    def __init__(self, effort_limit: Array, config: TorqueLoopConfig) -> None:
        """Set the effort limits (n,), infinite for joints without a limit [N*m | N]."""
        self._limit = effort_limit
        self.config = config
        self.reset()

    def reset(self) -> None:
        """Set the correction to zero."""
        self._friction: Array | None = None
        self._weight = 0.0

    @property
    def weight(self) -> float:
        """Fraction of the correction that is applied, 0 to 1."""
        return self._weight

    def update(self, friction: Array | None, dt: float) -> Array:
        """Update the friction estimate and return the effort correction.

        Args:
            friction: (n,) motor effort minus link torque in the newest measurement, NaN for joints without an
                estimate; None if there is no valid measurement [N*m | N].
            dt: time since the last sample [s].

        Returns:
            (n,) correction to add to the desired effort [N*m | N].
        """
        config, dt = self.config, number("dt", dt, 0.0)
        on = config.torque_loop and friction is not None
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
    """Write the bounded low-pass of the friction (n,) to ``out``.

    NaN counts as zero friction. ``before`` (n,) is the previous output; if empty, the filter starts at the friction.
    """
    for i in range(out.shape[0]):
        known = 0.0 if np.isnan(friction[i]) else friction[i]
        start = before[i] if before.size else known
        # zero if max_friction is 0, also for a joint without an effort limit, where 0 * inf would be NaN
        bound = most * limit[i] if most > 0.0 else 0.0
        out[i] = min(max(start + share * (known - start), -bound), bound)
