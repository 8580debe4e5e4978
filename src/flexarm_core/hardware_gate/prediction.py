"""Prediction: where the arm is by its model, while no believable state comes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flexarm_core.entrance import number
from flexarm_core.hardware_gate.joint_dynamics import JointDynamics
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, all_finite

STEP = 0.002  # [s] of the integration
FASTEST = 1.5  # multiple of the velocity limit that a prediction may reach: beyond it, it says nothing


class Prediction:
    """Integrates ``qdd = FD(q, qd, effort)`` from the last believed state, the base held as it was."""

    def __init__(self, model: ArmModel) -> None:
        """Predict an arm."""
        self._dynamics = JointDynamics(model)
        self._fastest = FASTEST * model.velocity_limit
        self.reset()

    def reset(self) -> None:
        """Forget the prediction: measurements are there."""
        self._state: ArmState | None = None

    def advance(self, measured: ArmState, effort: Array, dt: float) -> ArmState:
        """State after an effort (n,) that reached the links for ``dt`` [s]; ``measured``: where a prediction begins."""
        state = self._state
        if state is None:
            state = replace(measured, deflection_rate=np.zeros_like(measured.deflection_rate))
        steps = max(int(np.ceil(number("dt", dt) / STEP)), 1)
        h = dt / steps
        for _ in range(steps):
            acceleration = self._dynamics.acceleration(state, effort)
            if not all_finite(acceleration):
                break
            velocity = np.clip(state.velocity + h * acceleration, -self._fastest, self._fastest)
            state = replace(state, position=state.position + h * velocity, velocity=velocity)
        self._state = state
        return state

    def rest(self) -> ArmState | None:
        """The predicted posture at rest, for when motion can be predicted no longer."""
        if self._state is not None:
            self._state = replace(self._state, velocity=np.zeros_like(self._state.velocity))
        return self._state
