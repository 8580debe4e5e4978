"""PositionLoop: computes the torques with which a frictionless arm follows a joint reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from flexarm_core.compiled import kernel, pack, views
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.settings import Settings, setting
from flexarm_core.types import ArmState, Array, JointReference, all_finite

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


class LoopSettings(NamedTuple):
    """Gains, see :class:`PositionLoopConfig`, and limits of an arm."""

    position_gain: float
    velocity_gain: float
    integral_gain: float
    max_integral: float
    limit: Annotated[Array, "n"]  # effort limits [N*m | N]


class LoopInputs(NamedTuple):
    """Reference and state of a sample."""

    position: Annotated[Array, "n"]  # of the reference [rad | m]
    velocity: Annotated[Array, "n"]
    acceleration: Annotated[Array, "n"]
    at: Annotated[Array, "n"]  # measured position [rad | m]
    moving: Annotated[Array, "n"]  # measured velocity
    commanded: Annotated[Array, "n"]  # effort that was commanded last [N*m | N]


view_settings, view_inputs = views(LoopSettings, "n"), views(LoopInputs, "n")


class PositionLoop:
    """Computed-torque control with the rigid arm: ``tau = H (qdd_r + k_p e + k_d e' + k_i int e dt) + c + D_m qd``."""

    def __init__(self, model: ArmModel, config: PositionLoopConfig) -> None:
        """Bind the loop to an arm."""
        self.model, self.config = model, config
        self._inputs, self._none = np.empty(view_inputs.size(model.n)), np.zeros(model.n)
        self.reset()

    @property
    def config(self) -> PositionLoopConfig:
        """Settings; new settings take effect at the next sample."""
        return self._config

    @config.setter
    def config(self, config: PositionLoopConfig) -> None:
        self._config = config
        gains = (config.position_gain, config.velocity_gain, config.integral_gain, config.max_integral)
        self._settings = pack(LoopSettings(*gains, self.model.effort_limit))

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
        self.model.check_state(state)
        position, velocity, acceleration = self._wanted(reference)
        dt = 0.0 if self._stamp is None else (state.stamp - self._stamp) * 1e-9
        self._stamp = state.stamp
        given = LoopInputs(position, velocity, acceleration, state.position, state.velocity, self._commanded)
        wanted = np.empty(self.model.n)
        demand(self._settings, np.concatenate(given, out=self._inputs), dt, self._integral, wanted)
        # as for a fixed base: including the springs would feed the base vibration back to the arm
        return self.model.effort_on_resting_base(state, wanted)

    def saturated(self, effort: Array) -> Array:
        """Store the commanded effort (n,) and return it; the integral does not grow where it exceeds the limit."""
        self._commanded = effort
        return effort

    def _wanted(self, reference: JointReference) -> tuple[Array, Array, Array]:
        if reference.position is None:
            raise InputError("joint reference has neither effort nor position: the base wrench controller needs one")
        none, shape = self._none, self._none.shape
        position = reference.position
        velocity = none if reference.velocity is None else reference.velocity
        acceleration = none if reference.acceleration is None else reference.acceleration
        for name, value in (("position", position), ("velocity", velocity), ("acceleration", acceleration)):
            if value.shape != shape or not all_finite(value):
                raise InputError(f"joint reference: {name} is {value}, expected {self.model.n} finite numbers")
        return position, velocity, acceleration


@kernel
def demand(settings: Array, inputs: Array, dt: float, integral: Array, wanted: Array) -> None:
    """Write the accelerations (n,) that the loop demands, and update its integral (n,) in place.

    Args:
        settings: see :class:`LoopSettings`.
        inputs: see :class:`LoopInputs`.
        dt: time since the last sample [s].
        integral: (n,) integral.
        wanted: (n,) gets the accelerations.
    """
    n = wanted.shape[0]
    z, u = view_settings(settings, n), view_inputs(inputs, n)
    for i in range(n):
        error = u.position[i] - u.at[i]
        if z.integral_gain == 0.0:
            integral[i] = 0.0
        elif 0.0 < dt <= LONGEST_GAP:
            step = z.integral_gain * error * dt
            # anti-windup: no growth in the direction in which the motor is saturated
            saturated = abs(u.commanded[i]) > z.limit[i] and step * u.commanded[i] > 0.0
            integral[i] = min(max(integral[i] + (0.0 if saturated else step), -z.max_integral), z.max_integral)
        damping = z.velocity_gain * (u.velocity[i] - u.moving[i])
        wanted[i] = u.acceleration[i] + z.position_gain * error + damping + integral[i]
