r"""Map of the commanded tool motion to the joints at measured joint positions (patent claims 5, 14, 26).

The law continues from the commanded motion, and joints follow their references with the lag of the drives. With the
measured joints ``q``, the commanded ones ``q_c`` of the same moment, and the pose error ``e`` of the tool between
them::

    d  = (q_c - q) + J#(q) (e - J(q) (q_c - q))     joint motion that brings the measured tool to the commanded pose
    u <- u + k dt d                                 added to the reference: q_c + u

The transform ``J#`` is that of the measured joints; the first term leaves the redundant joints where they should be.
The offset ``u`` grows until the real tool is on its path: at constant speed there is no lag left, and with the
acceleration ``a`` it is ``a L / k`` for drives of lag ``L``.

**Stability.** The loop from the joints over ``k`` and the drives ``1 / (1 + L s / 2)^2`` back to the joints, with a
delay ``t``, is stable below ``k_max = w (1 + (w L / 2)^2)``, where ``w t + 2 atan(w L / 2) = pi / 2``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.optimize

from flexarm_core.entrance import finite, number
from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.kernels.rotations import pose_error
from flexarm_core.settings import Settings, setting
from flexarm_core.types import Array

MAPS = ("commanded", "measured")
USUAL, LARGEST = 0.3, 0.5  # gains in parts of the largest stable one: the default, and what is accepted
DAMPING = 1e-4  # [m] of the inverse Jacobian, rotations scaled to lengths


@dataclass(frozen=True, slots=True)
class MeasuredMapConfig(Settings):
    """Settings of the map; ``gain`` and ``stability_limit`` are derived from them."""

    # fmt: off
    map: str = setting("commanded",
        "joint positions at which the tool motion is transformed to the joints: commanded, or measured, which removes"
        " the lag of the drives from the path of the tool", choices=MAPS)
    map_gain: float = setting(0.0,
        "gain with which map measured brings the measured tool to the commanded pose; 0: 0.3 times the largest stable"
        " one", "1/s", 0.0)
    drive_lag: float = setting(0.01,
        "lag of the drives behind a ramp of positions, for map measured; 2 / bandwidth for a position servo",
        "s", 0.0, 10.0)
    rate: float = setting(500.0, "nominal sampling rate for which map_gain is checked", "Hz", 1.0, 1e5)
    delay: float = setting(0.0,
        "delay of joint states and commands besides one period, for which map_gain is checked", "s", 0.0, 1.0)
    # fmt: on

    def check(self) -> None:
        """Raise ConfigError for a gain that is too large for lag and delay."""
        most = LARGEST * self.stability_limit
        if self.map == "measured" and self.map_gain > most:
            raise ConfigError(
                f"map_gain {self.map_gain:g} 1/s is too large: drives with a lag of {self.drive_lag:g} s and a delay of"
                f" {self.dead_time:g} s are stable below {self.stability_limit:.4g} 1/s; at most half, {most:.4g}",
                setting="map_gain", value=self.map_gain,
            )  # fmt: skip

    @property
    def dead_time(self) -> float:
        """Delay in the loop: one period plus the configured delay [s]."""
        return 1.0 / self.rate + self.delay

    @property
    def stability_limit(self) -> float:
        """Smallest gain at which the loop is unstable [1/s]."""
        half, delay = 0.5 * self.drive_lag, self.dead_time
        w = scipy.optimize.brentq(
            lambda w: w * delay + 2.0 * math.atan(w * half) - 0.5 * math.pi, 0.0, 0.5 * math.pi / delay
        )
        return float(w * (1.0 + (w * half) ** 2))

    @property
    def gain(self) -> float:
        """Gain in use [1/s]."""
        return self.map_gain or USUAL * self.stability_limit


class MeasuredMap:
    """Offset of the joint reference that brings the measured tool to the commanded pose.

    Attributes:
        offset: (n,) added to the joint reference [rad | m].
        rate: (n,) rate of the offset [rad/s | m/s].
    """

    def __init__(self, chain: Chain, limits: MotionLimits, length_scale: float, config: MeasuredMapConfig) -> None:
        """Begin without an offset.

        Args:
            chain: kinematics of the arm.
            limits: limits of the joints; the offset is at most twice the lag at the velocity limits.
            length_scale: length by which rotations are multiplied to compare them with translations [m/rad].
            config: settings.
        """
        self._chain, self._limits, self._gain = chain, limits, config.gain
        self._most = 2.0 * (config.drive_lag + config.dead_time) * limits.velocity
        self._scale = np.array([1.0] * 3 + [length_scale] * 3)
        self.reset()

    def reset(self) -> None:
        """Forget the offset."""
        self.offset, self.rate = np.zeros(self._chain.n), np.zeros(self._chain.n)

    def hold(self) -> None:
        """Keep the offset for a sample."""
        self.rate = np.zeros(self._chain.n)

    def update(self, measured: Array, commanded: Array, dt: float) -> None:
        """Integrate the offset over a sample.

        Args:
            measured: (n,) joint positions [rad | m].
            commanded: (n,) positions that were commanded for the same moment [rad | m].
            dt: sampling period [s].

        Raises:
            InputError: an array does not have the shape (n,) or is not finite, or the period is not positive.
        """
        n, dt = self._chain.n, number("dt", dt, 1e-9)
        measured, commanded = finite("measured", measured, n), finite("commanded", commanded, n)
        p, R, J = self._chain.kinematics(measured)
        p_c, R_c = self._chain.pose(commanded)
        error, away = np.empty(6), commanded - measured
        pose_error(p_c, R_c, p, R, error)
        scaled = self._scale[:, None] * J
        rest = self._scale * (error - J @ away)
        away = away + scaled.T @ np.linalg.solve(scaled @ scaled.T + DAMPING**2 * np.eye(6), rest)
        limits, before = self._limits, self.offset
        room = np.minimum(limits.lower - commanded, 0.0), np.maximum(limits.upper - commanded, 0.0)
        self.offset = np.clip(
            before + self._gain * dt * away, np.maximum(-self._most, room[0]), np.minimum(self._most, room[1])
        )
        self.rate = (self.offset - before) / dt
