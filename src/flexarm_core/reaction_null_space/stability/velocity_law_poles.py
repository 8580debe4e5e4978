"""Poles of arm and base under the velocity law, with sampling, delay, drive lag and all base directions.

About a posture at rest, ``q`` is the joint displacement, ``x`` the deflection of the whole base and ``w`` the bandwidth
of the drives::

    H_b xdd + D_b xd + K_b x = -H_bm qdd,   qdd = w (v - qd)
    v = A^+ S H_b S^T g_b S x - [ g_m A^+ A + g_p (1 - A^+ A) ] q,   A = S H_bm
        held over each period, computed from measurements that are `delay` periods old

The discretization of the linear system is exact: zero-order hold by the matrix exponential. Directions that are not
selected can vibrate too, so excitation of these directions by the law (spillover) is detected. The gravity stiffness is
neglected.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.linalg import expm

from flexarm_core.entrance import number
from flexarm_core.errors import ConfigError, GainError
from flexarm_core.reaction_null_space.reactionless.velocity_law import VelocityLaw, VelocityLawConfig
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array

MOST_DELAY = 1000  # periods
SMALLEST, LARGEST = 1e-2, 1e5  # [1/s] range of the gain search
ROUND_OFF = 1e-9  # round-off by which the absolute value of a pole at 1 may seem to exceed 1


def velocity_law_poles(
    model: ArmModel,
    position: Array,
    config: VelocityLawConfig,
    *,
    drive_bandwidth: float = 200.0,
    period: float = 0.001,
    delay: int = 0,
) -> tuple[Array, Array]:
    """Return the poles of the sampled closed loop about a held posture.

    Args:
        model: the arm.
        position: (n,) the posture [rad | m].
        config: settings of the law; the feed-forward is not used.
        drive_bandwidth: w of the first-order lag of the drives [rad/s].
        period: sampling period [s].
        delay: delay of the measurements, in periods.

    Returns:
        Absolute values of all poles z, largest first (stable: below 1); and the oscillations below half the sampling
        frequency as rows ``(natural frequency [rad/s], damping ratio)``, least damped first.

    Raises:
        ConfigError: a period or bandwidth that is not positive, a negative delay, or a selection that does not fit.
        InputError: an invalid posture.
    """
    _check(drive_bandwidth, period, delay)
    z = np.linalg.eigvals(_Loop(model, position, config, drive_bandwidth, period, delay).at(config.vibration_gain))
    s = np.log(z[np.abs(z) > 1e-12].astype(complex)) / period
    waves = s[(s.imag > 1e-9) & (s.imag < 0.999 * np.pi / period)]
    rows = np.column_stack((np.abs(waves), -waves.real / np.abs(waves))) if len(waves) else np.zeros((0, 2))
    return np.sort(np.abs(z))[::-1], rows[np.argsort(rows[:, 1])]


def largest_stable_gain(
    model: ArmModel,
    position: Array,
    config: VelocityLawConfig,
    *,
    drive_bandwidth: float = 200.0,
    period: float = 0.001,
    delay: int = 0,
) -> float:
    """Return the largest vibration gain g_b such that all gains up to it are stable [1/s].

    The result is 0 if a gain of 0.01 1/s is unstable, and inf if every gain up to 1e5 1/s is stable. For arguments and
    errors see :func:`velocity_law_poles`; the vibration gain in the configuration is not used.
    """
    _check(drive_bandwidth, period, delay)

    loop = _Loop(model, position, config, drive_bandwidth, period, delay)

    def stable(gain: float) -> bool:
        return bool(np.abs(np.linalg.eigvals(loop.at(gain))).max() <= 1.0 + ROUND_OFF)

    good = 0.0
    for gain in np.geomspace(SMALLEST, LARGEST, 100):
        bad = float(gain)
        if not stable(bad):
            break
        good = bad
    else:
        return float("inf")
    while good > 0.0 and bad - good > 1e-6 * bad:
        middle = 0.5 * (good + bad)
        good, bad = (middle, bad) if stable(middle) else (good, middle)
    return good


def check_velocity_gains(
    model: ArmModel,
    postures: Iterable[Array],
    config: VelocityLawConfig,
    *,
    drive_bandwidth: float,
    period: float,
    delay: int,
) -> None:
    """Reject gains that are unstable at a posture of a motion; the message gives the largest stable vibration gain.

    Args:
        model: the arm.
        postures: postures (n,) [rad | m].
        config: settings of the law.
        drive_bandwidth: bandwidth of the first-order lag of the drives [rad/s].
        period: sampling period [s].
        delay: delay of the measurements, in periods.

    Raises:
        GainError: the vibration gain is unstable at one of the postures; it has the largest stable one.
        ConfigError: so is any vibration gain.
    """
    poles = partial(velocity_law_poles, drive_bandwidth=drive_bandwidth, period=period, delay=delay)
    largest_gain = partial(largest_stable_gain, drive_bandwidth=drive_bandwidth, period=period, delay=delay)
    postures = list(postures)
    if max(float(poles(model, each, config)[0][0]) for each in postures) <= 1.0 + ROUND_OFF:
        return
    limit = min(largest_gain(model, each, config) for each in postures)
    loop = (
        f"at {1.0 / period:g} Hz with a delay of {delay * period:g} s, drives of {drive_bandwidth:g} rad/s,"
        f" momentum_gain {config.momentum_gain:g} and path_gain {config.path_gain:g} 1/s"
    )
    if limit > 0.0:
        raise GainError(
            f"vibration_gain {config.vibration_gain:g} 1/s is unstable {loop}:"
            f" the largest stable one is {limit:.4g} 1/s",
            "vibration_gain",
            config.vibration_gain,
            limit,
        )
    raise ConfigError(f"no vibration_gain is stable {loop}: lower momentum_gain or path_gain, or the delay")


def _check(drive_bandwidth: float, period: float, delay: int) -> None:
    number("period", period), number("drive_bandwidth", drive_bandwidth), number("delay", delay, 0, MOST_DELAY)
    if not (period > 0.0 and drive_bandwidth > 0.0 and delay >= 0):
        raise ConfigError(f"period {period} and drive_bandwidth {drive_bandwidth} must be positive, delay {delay} >= 0")


class _Loop:
    """Transition matrix of ``[x, xd, q, qd, delayed commands]`` from sample to sample, for any vibration gain."""

    def __init__(
        self, model: ArmModel, position: Array, config: VelocityLawConfig, bandwidth: float, period: float, delay: int
    ) -> None:
        n, m, w = model.n, model.m, bandwidth
        blocks = model.blocks(ArmState(0, np.asarray(position, dtype=float), np.zeros(n), np.zeros(m), np.zeros(m)))
        inverse = np.linalg.inv(blocks.H_b)
        size, x, xd, q, qd = 2 * (m + n), slice(0, m), slice(m, 2 * m), slice(2 * m, 2 * m + n), slice(2 * m + n, None)
        dynamics = np.zeros((size + n, size + n))
        states = dynamics[:size, :size]
        states[x, xd], states[q, qd], states[qd, qd] = np.eye(m), np.eye(n), -w * np.eye(n)
        states[xd, x], states[xd, xd] = -inverse @ model.K_b, -inverse @ model.D_b
        states[xd, qd] = w * inverse @ blocks.H_bm
        dynamics[xd, size:], dynamics[size - n : size, size:] = -w * inverse @ blocks.H_bm, w * np.eye(n)
        self._step, self._n, self._delay = expm(dynamics * period)[:size], n, delay
        self._on_base, self._on_joints = np.zeros((n, size)), np.zeros((n, size))
        law = VelocityLaw(model, replace(config, vibration_gain=1.0))
        self._on_base[:, x], self._on_joints[:, q] = law.feedback(blocks)  # the former is proportional to the gain

    def at(self, vibration_gain: float) -> Array:
        """Return the transition matrix for this gain [1/s]."""
        step, n, delay, size = self._step, self._n, self._delay, len(self._step)
        law = vibration_gain * self._on_base + self._on_joints
        if delay == 0:
            return np.asarray(step[:, :size] + step[:, size:] @ law)
        loop = np.zeros((size + delay * n, size + delay * n))
        loop[:size, :size], loop[:size, -n:] = step[:, :size], step[:, size:]
        loop[size : size + n, :size] = law
        loop[size + n :, size:-n] = np.eye((delay - 1) * n)
        return loop
