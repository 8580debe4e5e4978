"""Prediction: where the arm is by its model, while no believable state comes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flexarm_core.entrance import number
from flexarm_core.hardware_gate.joint_dynamics import JointDynamics
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, all_finite

STEP = 0.002  # [s] of the integration
WRONG = 0.1  # share by which all masses may be smaller than told, and velocities smaller than believed
DOUBTFUL = 0.2  # share of a velocity limit by which the two may be apart
FASTEST = 1.5  # multiple of the velocity limit that a prediction may reach: beyond it, it says nothing


class Prediction:
    """Integrates ``qdd = FD(q, qd, effort)`` from the last believed state, the base held as it was.

    A second arm, whose masses and velocities are smaller by WRONG, gets the same efforts. Where both move apart, as two
    inverted pendulums do, nothing is known any more.
    """

    def __init__(self, model: ArmModel) -> None:
        """Predict an arm."""
        self._dynamics = JointDynamics(model)
        self._limit, self._fastest = model.velocity_limit, FASTEST * model.velocity_limit
        self.reset()

    def reset(self) -> None:
        """Forget the prediction: measurements are there."""
        self._state: ArmState | None = None
        self._lighter: ArmState | None = None
        self._ended = False

    @property
    def is_believable(self) -> bool:
        """Whether the two arms still move alike, and nobody has taken them to rest."""
        if self._state is None or self._lighter is None:
            return True
        apart = np.abs(self._lighter.velocity - self._state.velocity) / self._limit
        return not self._ended and bool((apart <= DOUBTFUL).all())

    def advance(self, measured: ArmState, effort: Array, dt: float) -> ArmState:
        """State after an effort (n,) that reached the links for ``dt`` [s]; ``measured``: where a prediction begins."""
        start = replace(measured, deflection_rate=np.zeros_like(measured.deflection_rate))
        self._state = self._moved(self._state or start, effort, dt)
        slower = replace(start, velocity=(1.0 - WRONG) * start.velocity)
        self._lighter = self._moved(self._lighter or slower, effort / (1.0 - WRONG), dt)
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
