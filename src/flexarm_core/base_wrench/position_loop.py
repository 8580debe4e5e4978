"""PositionLoop: the torques with which a frictionless arm would follow a joint reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, JointReference

LONGEST_GAP = 0.1  # [s] between two samples over which the integral goes on


@dataclass(frozen=True, slots=True)
class PositionLoopConfig:
    """Gains of the loop, as accelerations: the inertia of the arm scales them.

    Attributes:
        position_gain: k_p [1/s^2].
        velocity_gain: k_d [1/s].
        integral_gain: k_i [1/s^3]; 0: none.
        max_integral: largest acceleration that the integral asks for [rad/s^2 | m/s^2].
    """

    position_gain: float = 5000.0
    velocity_gain: float = 200.0
    integral_gain: float = 0.0
    max_integral: float = 20.0

    def __post_init__(self) -> None:
        """Raise ConfigError for gains that are not numbers, below zero or unstable by themselves."""
        for name in ("position_gain", "velocity_gain", "integral_gain", "max_integral"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0.0):
                raise ConfigError(f"{name} must be finite and >= 0, got {value}")
        if self.integral_gain > 0.0 and self.integral_gain >= self.position_gain * self.velocity_gain:
            raise ConfigError(
                f"integral_gain {self.integral_gain:g} makes the loop unstable: it must be below position_gain *"
                f" velocity_gain = {self.position_gain * self.velocity_gain:g} 1/s^3"
            )


class PositionLoop:
    """``tau = H (qdd_r + k_p e + k_d e' + k_i int e dt) + c + D_m qd``: computed torque on the arm's rigid model."""

    def __init__(self, model: ArmModel, config: PositionLoopConfig) -> None:
        """Bind the loop to an arm."""
        self.model, self.config = model, config
        self.reset()

    def reset(self) -> None:
        """Forget the integral."""
        self._integral = np.zeros(self.model.n)
        self._stamp: int | None = None
        self._commanded = np.zeros(self.model.n)

    def update(self, state: ArmState, reference: JointReference) -> Array:
        """Desired efforts (n,) at one sample [N*m | N].

        Args:
            state: measured.
            reference: with a position; velocity and acceleration count as zero where they are not given.

        Raises:
            InputError: the reference has no position, wrong shapes or numbers that are not finite.
        """
        position, velocity, acceleration = self._wanted(reference)
        config, dt = self.config, 0.0 if self._stamp is None else (state.stamp - self._stamp) * 1e-9
        self._stamp = state.stamp
        error = position - state.position
        if config.integral_gain > 0.0 and 0.0 < dt <= LONGEST_GAP:
            step = config.integral_gain * error * dt
            limit = self.model.effort_limit
            saturated = np.where(np.abs(self._commanded) > limit, np.sign(self._commanded), 0.0)
            step = np.where(step * saturated > 0.0, 0.0, step)  # a motor at its limit: no winding up
            self._integral = np.clip(self._integral + step, -config.max_integral, config.max_integral)
        elif config.integral_gain == 0.0:
            self._integral = np.zeros(self.model.n)
        wanted = acceleration + config.position_gain * error + config.velocity_gain * (velocity - state.velocity)
        blocks = self.model.blocks(state)
        # as on a base that stands still: to reckon with its springs would feed its swinging back to the arm
        return blocks.H_m @ (wanted + self._integral) + blocks.c_m + self.model.D_m * state.velocity

    def saturated(self, effort: Array) -> Array:
        """Say what is commanded (n,): where it lies beyond the motor's limit, the integral waits; returns it."""
        self._commanded = effort
        return effort

    def _wanted(self, reference: JointReference) -> tuple[Array, Array, Array]:
        if reference.position is None:
            raise InputError("joint reference has neither effort nor position: the base wrench controller needs one")
        none = np.zeros(self.model.n)
        fields = {
            "position": reference.position,
            "velocity": none if reference.velocity is None else reference.velocity,
            "acceleration": none if reference.acceleration is None else reference.acceleration,
        }
        for name, value in fields.items():
            if value.shape != (self.model.n,) or not np.isfinite(value).all():
                raise InputError(f"joint reference: {name} is {value}, expected {self.model.n} finite numbers")
        return fields["position"], fields["velocity"], fields["acceleration"]
