"""LedJoints: the joint reference of servos, led by the accelerations of a law, over an undeflected base."""

from __future__ import annotations

import numpy as np

from flexarm_core.entrance import expect, finite
from flexarm_core.errors import InputError
from flexarm_core.reaction_null_space.vibration.task import carry_on
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array

LEASH = 0.5  # [rad | m] between joints and their led reference beyond which it is not that of this arm
LONGEST_GAP = 0.1  # [s] between two samples over which a joint reference is carried on


class LedJoints:
    """Where a law's accelerations have led the joints since the first sample.

    Attributes:
        gives: (n, m) joint velocities that a base's rate brings about in the reference, where the law has it give way.
    """

    def __init__(self, model: ArmModel) -> None:
        """Begin with an arm of n joints on a base of m directions."""
        self._model = expect("model", model, ArmModel)
        self.gives = np.zeros((model.n, model.m))
        self._none, self._still = np.zeros(model.m), np.zeros(model.n)
        carry_on(self._still, self._still, self._still, 0.0, *np.empty((2, model.n)))  # loads the compiled code
        self.let_go()

    def let_go(self) -> None:
        """Forget the reference: it begins anew at the measured joints."""
        self._last: tuple[ArmState, Array] | None = None  # and its acceleration
        self._rate = self._none  # of the base then

    def take(self, at: ArmState, acceleration: Array, rate: Array) -> None:
        """Lead the joints from a state of theirs by an acceleration (n,); ``rate`` (m,) is the base's."""
        self._model.check_state(at)
        self._last = at, finite("acceleration", acceleration, self._model.n)
        self._rate = finite("rate", rate, self._model.m)

    def at(self, state: ArmState, rests: bool, yields: bool) -> ArmState:
        """The reference at a sample.

        Args:
            state: measured.
            rests: whether the arm is to come to rest from the motion that it has; else a reference begins at rest.
            yields: whether ``gives`` counts.

        Raises:
            InputError: the reference has left the joints, and the arm is not to rest; it begins anew. Or the state is
                not that of such an arm.
        """
        self._model.check_state(state)
        if self._last is not None:
            led, acceleration = self._last
            dt = (state.stamp - led.stamp) * 1e-9
            if 0.0 <= dt <= LONGEST_GAP:
                position, velocity = np.empty_like(self._still), np.empty_like(self._still)
                carry_on(led.position, led.velocity, acceleration, dt, position, velocity)
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
