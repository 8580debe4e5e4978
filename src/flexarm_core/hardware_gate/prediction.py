"""Prediction: where the arm is by its model, while no believable state comes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flexarm_core.entrance import number, numbers
from flexarm_core.hardware_gate.joint_dynamics import JointDynamics
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, all_finite

STEP = 0.002  # [s] of the integration
WRONG = 0.1  # share by which inertia and velocity of a joint may be other than believed
DOUBTFUL = 0.5  # share of a velocity limit by which two predictions may be apart
FASTEST = 1.5  # multiple of the velocity limit that a prediction may reach: beyond it, it says nothing


class Prediction:
    """Integrates ``qdd = FD(q, qd, effort)`` from the last believed state, the base held as it was.

    Others like it get the same efforts: one whose masses and velocities are smaller by WRONG, and some in which those
    of every other joint are, of every other two, of every other four, and those of the rest are greater, so that any
    two joints err against each other in one of them. Where they move apart, as inverted pendulums and light wrists
    under another one's gravity do, nothing is known any more.
    """

    def __init__(self, model: ArmModel, velocity_limit: Array) -> None:
        """Predict an arm whose joints have these limits (n,) [rad/s | m/s]."""
        self._dynamics = JointDynamics(model)
        self._limit = numbers("velocity_limit", velocity_limit, model.n)
        self._fastest = FASTEST * self._limit
        joints = np.arange(model.n)
        signs = [np.ones(model.n), *(1.0 - 2.0 * (joints >> bit & 1) for bit in range(int(model.n - 1).bit_length()))]
        self._shares = [1.0 - WRONG * sign for sign in signs]
        self.reset()

    def reset(self) -> None:
        """Forget the prediction: measurements are there."""
        self._state: ArmState | None = None
        self._others: list[ArmState] = []
        self._ended = False

    @property
    def is_believable(self) -> bool:
        """Whether all arms still move alike, and nobody has taken them to rest."""
        if self._state is None:
            return True
        most, expected = DOUBTFUL * self._limit, self._state.velocity
        return not self._ended and all((np.abs(other.velocity - expected) <= most).all() for other in self._others)

    def advance(self, measured: ArmState, effort: Array, dt: float) -> ArmState:
        """State after an effort (n,) that reached the links for ``dt`` [s]; ``measured``: where a prediction begins."""
        start = replace(measured, deflection_rate=np.zeros_like(measured.deflection_rate))
        if self._state is None:
            self._state = start
            self._others = [replace(start, velocity=share * start.velocity) for share in self._shares]
        self._state = self._moved(self._state, effort, dt)
        pairs = zip(self._others, self._shares, strict=True)
        self._others = [self._moved(other, effort / share, dt) for other, share in pairs]
        return self._state

    def _moved(self, state: ArmState, effort: Array, dt: float) -> ArmState:
        steps = max(int(np.ceil(number("dt", dt) / STEP)), 1)
        h = dt / steps
        for _ in range(steps):
            acceleration = self._dynamics.acceleration(state, effort)
            if not all_finite(acceleration):
                break
            velocity = np.clip(state.velocity + h * acceleration, -self._fastest, self._fastest)
            state = replace(state, position=state.position + h * velocity, velocity=velocity)
        return state

    def rest(self) -> ArmState | None:
        """The predicted posture at rest, for when motion can be predicted no longer."""
        self._ended = True
        if self._state is not None:
            self._state = replace(self._state, velocity=np.zeros_like(self._state.velocity))
        return self._state
