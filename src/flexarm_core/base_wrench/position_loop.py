"""PositionLoop: computes the torques with which a frictionless arm follows a joint reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.settings import Settings, setting
from flexarm_core.types import ArmState, Array, JointReference

LONGEST_GAP = 0.1  # longest time between two samples over which the error is integrated [s]


@dataclass(frozen=True, slots=True)
class PositionLoopConfig(Settings):
    """Gains of the loop, which give accelerations; the mass matrix of the arm converts them to torques."""

    # fmt: off
    position_gain: float = setting(5000.0, "position gain of the joint position loop", "1/s^2", 0.0)
    velocity_gain: float = setting(200.0, "velocity gain of the joint position loop", "1/s", 0.0)
    integral_gain: float = setting(0.0, "integral gain of the joint position loop; 0: no integral action", "1/s^3", 0.0)
    max_integral: float = setting(20.0,
        "largest acceleration that the integral action of the joint position loop demands", "rad/s^2 | m/s^2", 0.0)
    # fmt: on

    def check(self) -> None:
        """Raise ConfigError for gains that lead to an unstable loop."""
        if self.integral_gain > 0.0 and self.integral_gain >= self.position_gain * self.velocity_gain:
            raise ConfigError(
                f"integral_gain {self.integral_gain:g} makes the loop unstable: it must be below position_gain *"
                f" velocity_gain = {self.position_gain * self.velocity_gain:g} 1/s^3"
            )


class PositionLoop:
    """Computed-torque control with the rigid arm: ``tau = H (qdd_r + k_p e + k_d e' + k_i int e dt) + c + D_m qd``."""

    def __init__(self, model: ArmModel, config: PositionLoopConfig) -> None:
        """Bind the loop to an arm."""
        self.model, self.config = model, config
        self.reset()

    def reset(self) -> None:
        """Set the integral to zero."""
        self._integral = np.zeros(self.model.n)
        self._stamp: int | None = None
        self._commanded = np.zeros(self.model.n)

    def update(self, state: ArmState, reference: JointReference) -> Array:
        """Return the desired efforts (n,) for one sample [N*m | N].

        Args:
            state: measured state.
            reference: reference with a position; missing velocity or acceleration is taken as zero.

        Raises:
            InputError: the reference has no position, or an array of wrong shape or not finite.
        """
        position, velocity, acceleration = self._wanted(reference)
        config, dt = self.config, 0.0 if self._stamp is None else (state.stamp - self._stamp) * 1e-9
        self._stamp = state.stamp
        error = position - state.position
        if config.integral_gain > 0.0 and 0.0 < dt <= LONGEST_GAP:
            step = config.integral_gain * error * dt
            limit = self.model.effort_limit
            saturated = np.where(np.abs(self._commanded) > limit, np.sign(self._commanded), 0.0)
            step = np.where(step * saturated > 0.0, 0.0, step)  # anti-windup: the motor is saturated
            self._integral = np.clip(self._integral + step, -config.max_integral, config.max_integral)
        elif config.integral_gain == 0.0:
            self._integral = np.zeros(self.model.n)
        wanted = acceleration + config.position_gain * error + config.velocity_gain * (velocity - state.velocity)
        blocks = self.model.blocks(state)
        # as for a fixed base: including the springs would feed the base vibration back to the arm
        return blocks.H_m @ (wanted + self._integral) + blocks.c_m + self.model.D_m * state.velocity

    def saturated(self, effort: Array) -> Array:
        """Store the commanded effort (n,) and return it; the integral does not grow where it exceeds the limit."""
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
