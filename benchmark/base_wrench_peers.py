"""Other ways round friction, inside the same position loop: an integral, a friction model, a momentum observer."""

from __future__ import annotations

import numpy as np
from base_wrench_station import (
    NONE,
    RIPPLE,
    RIPPLE_PERIOD,
    STICTION,
    STRIBECK_DROP,
    STRIBECK_VELOCITY,
    VISCOUS,
)

from flexarm_core.base_wrench.motion_filter import MotionFilter
from flexarm_core.base_wrench.position_loop import PositionLoop, PositionLoopConfig
from flexarm_core.base_wrench.torque_loop import TorqueLoop, TorqueLoopConfig
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, JointReference
from flexarm_sim.measurement import Measurement

VELOCITY_BANDWIDTH = 400.0  # [rad/s] of the velocities, as in the loop under test


class PositionOnly:
    """The position loop alone, with or without an integral; the other peers build on it."""

    def __init__(self, model: ArmModel, config: PositionLoopConfig | None = None) -> None:
        self.model = model
        self._position = PositionLoop(model, config or PositionLoopConfig())
        self._filter = MotionFilter([False] * model.n, VELOCITY_BANDWIDTH, 0.0)
        self.friction = np.zeros(model.n)

    def update(self, measured: Measurement, wrench: Array, effort: Array, wanted: JointReference) -> Array:
        """See :class:`Loop`; the wrench is not looked at."""
        joints = measured.joints
        velocity, _ = self._filter.update(measured.stamp, joints.position, joints.velocity)
        state = ArmState(measured.stamp, joints.position, velocity, NONE, NONE)
        self.friction = self.correction(state, effort, wanted)
        return self._position.saturated(self._position.update(state, wanted) + self.friction)

    def correction(self, state: ArmState, effort: Array, wanted: JointReference) -> Array:
        """What is added to the efforts for friction (n,)."""
        return np.zeros(self.model.n)


class FrictionModel(PositionOnly):
    """Feed-forward of modeled friction in the direction of the reference.

    Known are the constants of the plant's own law, by a common factor: Coulomb and viscous friction, with ``whole``
    also Stribeck's drop and the part that depends on the position.
    """

    def __init__(self, model: ArmModel, factor: float = 1.0, whole: bool = False) -> None:
        super().__init__(model)
        self._factor, self._whole = factor, whole

    def correction(self, state: ArmState, effort: Array, wanted: JointReference) -> Array:
        """Modeled friction (n,) at the reference."""
        limit, v = self.model.effort_limit, wanted.velocity
        level = limit * STICTION * (1.0 - STRIBECK_DROP)
        if self._whole:
            level = level + limit * STICTION * STRIBECK_DROP * np.exp(-np.square(v / STRIBECK_VELOCITY))
            level = level + limit * RIPPLE * np.sin(2.0 * np.pi * wanted.position / RIPPLE_PERIOD)
        return self._factor * (np.sign(v) * level + VISCOUS * v)


class MomentumObserver(PositionOnly):
    r"""Friction from generalized momentum (De Luca and Mattone 2003), without a sensor under the base.

    ::

        r' = K (dp/dt - tau - C^T qd + g - r),    p = H qd,    friction = -r

    a first-order low-pass of what the model's momentum does not explain. It cannot tell friction from what pushes the
    arm or is missing in its model.
    """

    def __init__(
        self, model: ArmModel, gain: float = 1000.0, bandwidth: float = 1e5, velocity_bandwidth: float = 1e5
    ) -> None:
        """Bind the observer.

        Args:
            model: of the arm.
            gain: K [rad/s].
            bandwidth: of the torque loop that takes its friction [rad/s].
            velocity_bandwidth: of the velocities in the momentum [rad/s].
        """
        super().__init__(model)
        self._gain = gain
        self._loop = TorqueLoop(model.effort_limit, TorqueLoopConfig(torque_bandwidth=bandwidth))
        self._own = MotionFilter([False] * model.n, velocity_bandwidth, 0.0)
        self._residual = np.zeros(model.n)
        self._last: tuple[int, Array, Array, Array] | None = None

    def correction(self, state: ArmState, effort: Array, wanted: JointReference) -> Array:
        """Observed friction (n,)."""
        velocity, _ = self._own.update(state.stamp, state.position, state.velocity)
        blocks, dt = self.model.blocks(state), self._loop.config.period
        if self._last is not None:
            stamp, inertia, before, drift = self._last
            dt = (state.stamp - stamp) * 1e-9
            # dp/dt - C^T qd + g = H dqd/dt + C qd + g
            unexplained = inertia @ (velocity - before) / dt + drift - effort
            self._residual = self._residual + (1.0 - np.exp(-self._gain * dt)) * (unexplained - self._residual)
        self._last = state.stamp, blocks.H_m, velocity, blocks.c_m
        return self._loop.update(-self._residual, dt)
