"""Reject gains of the velocity law that are not stable on the sampled arm at every posture of a motion."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from flexarm_core.errors import ConfigError
from flexarm_core.reaction_null_space.reactionless.velocity_law import VelocityLawConfig
from flexarm_core.reaction_null_space.stability.velocity_law_poles import (
    ROUND_OFF,
    largest_stable_gain,
    velocity_law_poles,
)
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array


def check_velocity_gains(
    model: ArmModel,
    postures: Iterable[Array],
    config: VelocityLawConfig,
    *,
    drive_bandwidth: float,
    period: float,
    delay: int,
) -> None:
    """Reject gains that :func:`velocity_law_poles` finds unstable; the message gives the largest stable vibration gain.

    Args:
        model: the arm.
        postures: postures (n,) [rad | m].
        config: settings of the law.
        drive_bandwidth: bandwidth of the first-order lag of the drives [rad/s].
        period: sampling period [s].
        delay: delay of the measurements, in periods.

    Raises:
        ConfigError: the gains are unstable at one of the postures.
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
        raise ConfigError(
            f"vibration_gain {config.vibration_gain:g} 1/s is unstable {loop}:"
            f" the largest stable one is {limit:.4g} 1/s"
        )
    raise ConfigError(f"no vibration_gain is stable {loop}: lower momentum_gain or path_gain, or the delay")
