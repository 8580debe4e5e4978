r"""TorqueLoop: integral action on the estimated torque, which compensates friction without a friction model.

Feed-forward plus integral action, ``tau_motor = tau_des + w int (tau_des - tau_est) dt`` (US 5,767,648, abstract), with
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
from typing import Annotated, NamedTuple

import numpy as np

from flexarm_core.compiled import allocate, kernel, pack, views
from flexarm_core.entrance import ANY, number, numbers
from flexarm_core.errors import InputError
from flexarm_core.settings import Settings, setting
from flexarm_core.types import Array


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


class LoopSettings(NamedTuple):
    """Settings of the compiled loop; see :class:`TorqueLoopConfig`."""

    on: bool
    bandwidth: float
    max_friction: float
    fade_time: float
    period: float


class Loop(NamedTuple):
    """Settings, and what lasts from sample to sample."""

    settings: LoopSettings
    limit: Annotated[Array, "n"]  # effort limits, infinite for joints without a limit [N*m | N]
    weight: Annotated[Array, 1]  # fraction of the correction that is applied, 0 to 1
    begun: Annotated[Array, 1]  # whether there is a friction estimate
    friction: Annotated[Array, "n"]  # bounded low-pass of the friction [N*m | N]


view_loop = views(Loop, "n")


class TorqueLoop:
    """Compute the effort that compensates friction from the measured friction, once per sample.

    Attributes:
        memory: :class:`Loop` with the settings of the present config, for compiled code.
    """

    def __init__(self, effort_limit: Array, config: TorqueLoopConfig) -> None:
        """Set the effort limits (n,), infinite for joints without a limit [N*m | N]."""
        limit = numbers("effort_limit", effort_limit, ANY)
        if np.isnan(limit).any():
            raise InputError(f"effort_limit has a value that is not a number: {effort_limit}")
        self.memory, self._memory = allocate(view_loop, len(limit))
        self._memory.limit[:] = limit
        self.config = config

    @property
    def config(self) -> TorqueLoopConfig:
        """Settings; new settings take effect at the next sample."""
        return self._config

    @config.setter
    def config(self, config: TorqueLoopConfig) -> None:
        self._config = config
        bandwidth, period = config.resolved_bandwidth(), config.period
        chosen = pack(LoopSettings(config.torque_loop, bandwidth, config.max_friction, config.fade_time, period))
        self.memory[: len(chosen)] = chosen

    def reset(self) -> None:
        """Set the correction to zero."""
        for part in (self._memory.weight, self._memory.begun, self._memory.friction):
            part[:] = 0.0

    @property
    def weight(self) -> float:
        """Fraction of the correction that is applied, 0 to 1."""
        return float(self._memory.weight[0])

    def update(self, friction: Array | None, dt: float) -> Array:
        """Update the friction estimate and return the effort correction.

        Args:
            friction: (n,) motor effort minus link torque in the newest measurement, NaN for joints without an
                estimate; None if there is no valid measurement [N*m | N].
            dt: time since the last sample [s].

        Returns:
            (n,) correction to add to the desired effort [N*m | N].
        """
        limit = self._memory.limit
        correction = np.empty(len(limit))
        measured = limit if friction is None else numbers("friction", friction, len(limit))
        known = friction is not None
        compensate(self.memory, measured, known, number("dt", dt, 0.0), correction)
        return correction


@kernel
def compensate(memory: Array, friction: Array, known: bool, dt: float, correction: Array) -> None:
    """Update the bounded low-pass of the friction (n,), and write its weighted value to ``correction`` (n,).

    NaN counts as zero friction. The low-pass starts at the friction. ``known``: whether there is a valid measurement.
    ``memory``: see :class:`Loop`.
    """
    s = view_loop(memory, friction.shape[0])
    z, limit = s.settings, s.limit
    on = z.on and known
    step = dt / z.fade_time if z.fade_time > 0.0 else 1.0
    s.weight[0] = min(max(s.weight[0] + (step if on else -step), 0.0), 1.0)
    if on:
        share = 1.0 - math.exp(-z.bandwidth * dt)
        for i in range(limit.shape[0]):
            now = 0.0 if math.isnan(friction[i]) else friction[i]
            start = s.friction[i] if s.begun[0] > 0.0 else now
            # zero if max_friction is 0, also for a joint without an effort limit, where 0 * inf would be NaN
            bound = z.max_friction * limit[i] if z.max_friction > 0.0 else 0.0
            s.friction[i] = min(max(start + share * (now - start), -bound), bound)
        s.begun[0] = 1.0
    elif s.weight[0] == 0.0:
        s.begun[0] = 0.0
    for i in range(limit.shape[0]):
        correction[i] = s.weight[0] * s.friction[i] if s.begun[0] > 0.0 else 0.0
