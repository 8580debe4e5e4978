"""Prediction: integrates the arm model while no believable state arrives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flexarm_core.entrance import number, numbers
from flexarm_core.hardware_gate.joint_dynamics import JointDynamics
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, all_finite

STEP = 0.002  # [s] integration step
WRONG = 0.1  # assumed relative error of the inertia and velocity of a joint
DOUBTFUL = 0.5  # fraction of the velocity limit by which two predictions may differ
FASTEST = 1.5  # multiple of the velocity limit to which a predicted velocity is clipped


class Prediction:
    """Integrates ``qdd = FD(q, qd, effort)`` from the last believed state, with the base fixed at its deflection.

    Perturbed copies get the same efforts. One has masses and velocities smaller by WRONG. In the others they are
    smaller for every second joint, for every second pair, for every second group of four, and greater for the rest, so
    that any two joints have opposite errors in one of them. Where the copies diverge, as for an inverted pendulum or a
    light wrist under a wrong gravity load, the prediction is not believed.
    """

    def __init__(self, model: ArmModel, velocity_limit: Array) -> None:
        """Predict an arm with these joint velocity limits (n,) [rad/s | m/s]."""
        self._dynamics = JointDynamics(model)
        self._limit = numbers("velocity_limit", velocity_limit, model.n)
        self._fastest = FASTEST * self._limit
        joints = np.arange(model.n)
        signs = [np.ones(model.n), *(1.0 - 2.0 * (joints >> bit & 1) for bit in range(int(model.n - 1).bit_length()))]
        self._shares = [1.0 - WRONG * sign for sign in signs]
        self.reset()

    def reset(self) -> None:
        """Discard the prediction, as measurements are available."""
        self._state: ArmState | None = None
        self._others: list[ArmState] = []
        self._since = 0  # stamp of the measurement that it started at [ns]
        self._ended = False

    @property
    def is_believable(self) -> bool:
        """Whether all copies still agree, and :meth:`rest` has not ended the prediction."""
        if self._state is None:
            return True
        most, expected = DOUBTFUL * self._limit, self._state.velocity
        return not self._ended and all((np.abs(other.velocity - expected) <= most).all() for other in self._others)

    def holds(self, measured: ArmState, effort: Array, dt: float) -> bool:
        """Return whether all copies still agree ``dt`` [s] after a measurement, with a constant effort (n,)."""
        kept = self._state, self._others, self._since
        self._state = None
        self.advance(measured, effort, dt)
        believable = self.is_believable
        self._state, self._others, self._since = kept
        return believable

    def advance(self, measured: ArmState, effort: Array, dt: float) -> ArmState:
        """Return the state after ``dt`` [s] with an effort (n,) on the links.

        The first call starts at ``measured``, and so does one with a newer measurement.
        """
        start = replace(measured, deflection_rate=np.zeros_like(measured.deflection_rate))
        if self._state is None or measured.stamp > self._since:
            self._state, self._since = start, measured.stamp
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
        """Return the predicted posture at rest, and end the prediction; None if there was none."""
        self._ended = True
        if self._state is not None:
            self._state = replace(self._state, velocity=np.zeros_like(self._state.velocity))
        return self._state
