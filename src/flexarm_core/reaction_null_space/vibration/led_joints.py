"""LedJoints: joint reference for servos, integrated from the accelerations of a law over an undeflected base."""

from __future__ import annotations

import numpy as np

from flexarm_core.compiled import kernel
from flexarm_core.entrance import expect, finite
from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array

LEASH = 0.5  # [rad | m] largest distance between joints and reference; beyond it the reference is rejected
LONGEST_GAP = 0.1  # [s] longest time between two samples over which the joint reference is integrated


class LedJoints:
    """Joint reference integrated from the accelerations of a law since the first sample.

    Attributes:
        gives: (n, m) map from the base rate to the reference joint velocity that it causes, if the law lets the
            reference yield to the base.
    """

    def __init__(self, model: ArmModel) -> None:
        """Start for an arm with n joints on a base with m directions."""
        self._model = expect("model", model, ArmModel)
        self.gives = np.zeros((model.n, model.m))
        self._none, self._still = np.zeros(model.m), np.zeros(model.n)
        _carry_on(self._still, self._still, self._still, 0.0, *np.empty((2, model.n)))  # loads the compiled code
        self.let_go()

    def let_go(self) -> None:
        """Forget the reference; it starts again at the measured joint positions."""
        self._last: tuple[ArmState, Array] | None = None  # last reference state and its acceleration
        self._rate = self._none  # base rate at that sample

    def take(self, at: ArmState, acceleration: Array, rate: Array) -> None:
        """Store a joint state, its acceleration (n,) and the base rate (m,) for integration to the next sample."""
        self._model.check_state(at)
        self._last = at, finite("acceleration", acceleration, self._model.n)
        self._rate = finite("rate", rate, self._model.m)

    def at(self, state: ArmState, rests: bool, yields: bool) -> ArmState:
        """Return the reference at a sample.

        Args:
            state: measured state.
            rests: whether the arm is brought to rest: a new reference then starts at the measured velocity, otherwise
                at zero velocity.
            yields: whether ``gives`` is applied.

        Raises:
            InputError: the joints are too far from the reference and ``rests`` is false (the reference then starts
                again at the joints), or the state does not fit the arm.
        """
        self._model.check_state(state)
        if self._last is not None:
            led, acceleration = self._last
            dt = (state.stamp - led.stamp) * 1e-9
            if 0.0 <= dt <= LONGEST_GAP:
                position, velocity = np.empty_like(self._still), np.empty_like(self._still)
                _carry_on(led.position, led.velocity, acceleration, dt, position, velocity)
                if np.abs(position - state.position).max() <= LEASH:
                    if yields:
                        velocity = velocity + self.gives @ (state.deflection_rate - self._rate)
                    return ArmState(state.stamp, position, velocity, self._none, self._none)
                self.let_go()
                if not rests:
                    raise InputError(
                        f"the reference of the joint servos has left the joints by more than {LEASH:g} rad or m, which"
                        " are stuck, or pushed, or sampled too slowly for the gains; it sets out anew from them"
                    )
        velocity = state.velocity if rests else self._still
        return ArmState(state.stamp, state.position, velocity, self._none, self._none)


@kernel
def _carry_on(position: Array, velocity: Array, acceleration: Array, dt: float, to: Array, to_velocity: Array) -> None:
    """Integrate joint positions and velocities (n,) over ``dt`` [s] at constant acceleration, into ``to`` arrays."""
    for i in range(to.shape[0]):
        to[i] = position[i] + (velocity[i] + 0.5 * acceleration[i] * dt) * dt
        to_velocity[i] = velocity[i] + acceleration[i] * dt
