"""Source: a motion within the limits and its control law; it uses all states without checks."""

from __future__ import annotations

import numpy as np

from flexarm_core.errors import FlexarmError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, JointReference
from flexarm_nodes.hardware_gate.parameters import usual_acceleration
from flexarm_tools.faults.arms import middle_posture

BANDWIDTH = 25.0  # [rad/s] bandwidth of the control law, lower at low rates
SAMPLES = 0.1  # largest product of bandwidth and sampling period
HARD = 0.1, 0.3  # range of a motion's acceleration, relative to the gate's default limit
CATCHING_UP = 0.5  # largest acceleration for correcting a position error, relative to that limit
GENTLE = 0.25  # [rad/s] and [rad/s^2] for an arm on an elastic base
SHARE = 0.9  # of the effort limits; all joints are scaled together, since clipping one would move the others
GROWTH = 0.3  # [s] duration of the smooth start
LOOK = np.linspace(0.0, 3.0, 60)  # [s] times at which the needed effort is computed
SLOWER = 0.8  # factor on the speed of a motion that needs more, until it needs no more or the factor is below SLOWEST
SLOWEST = 0.1


class Source:
    """Sinusoidal motion of all joints with computed torque.

    Attributes:
        start: (n,) posture at the start [rad | m].
    """

    def __init__(self, rng: np.random.Generator, model: ArmModel, rate: float) -> None:
        """Draw a motion of at most 0.9 times the speed limits and HARD; slower for an elastic base, or weak motors."""
        self._model, self._bandwidth = model, min(BANDWIDTH, SAMPLES * rate)
        self.start, reach = middle_posture(rng, model)
        speed = rng.uniform(0.2, 0.9, model.n) * np.minimum(model.velocity_limit, 4.0)
        usual = usual_acceleration(model.velocity_limit)
        acceleration = rng.uniform(*HARD, model.n) * usual
        self._catching_up = CATCHING_UP * usual
        if model.m:
            speed, acceleration = np.minimum(speed, GENTLE), GENTLE * acceleration / (HARD[1] * usual)
        amplitude = np.minimum(speed**2 / acceleration, reach)
        self._amplitude, self._rate = amplitude, np.minimum(speed / amplitude, np.sqrt(acceleration / amplitude))
        self._phase = rng.choice([-1.0, 1.0], model.n)
        factor = 1.0
        while factor > SLOWEST and self._needs_too_much():
            factor *= SLOWER
            self._rate = self._rate * SLOWER

    def desired(self, now: float) -> tuple[Array, Array, Array]:
        """Return desired position, velocity and acceleration (n,)."""
        s = min(now / GROWTH, 1.0)
        grow, slope, bend = s**3 * (10 - 15 * s + 6 * s**2), 30 * s**2 * (1 - s) ** 2, 60 * s * (1 - s) * (1 - 2 * s)
        slope, bend = slope / GROWTH, bend / GROWTH**2
        angle = self._rate * now
        sine, cosine = self._phase * np.sin(angle), self._phase * np.cos(angle)
        a, w = self._amplitude, self._rate
        position = self.start + a * grow * sine
        velocity = a * (slope * sine + grow * w * cosine)
        return position, velocity, a * (bend * sine + 2.0 * slope * w * cosine - grow * w**2 * sine)

    def _needs_too_much(self) -> bool:
        """Return whether a motor could not follow the motion; centripetal forces of a random arm can be large."""
        model, base = self._model, np.zeros(self._model.m)
        for now in LOOK:
            position, velocity, acceleration = self.desired(float(now))
            state = ArmState(0, position, velocity, base, base)
            effort = model.inverse_dynamics(model.blocks(state), state, acceleration)
            if (np.abs(effort) > SHARE * model.effort_limit).any():
                return True
        return False

    def displacement(self, duration: float) -> Array:
        """Return the displacement (n,) of a joint move of similar speed and acceleration (1.9 d/T and 5.8 d/T^2)."""
        speed, acceleration = self._amplitude * self._rate, self._amplitude * self._rate**2
        farthest = np.minimum(speed * duration / 1.9, acceleration * duration**2 / 5.8)
        return self._phase * np.minimum(farthest, self._amplitude)

    def answer(self, state: ArmState, now: float) -> JointReference | None:
        """Return the reference for a state; None if the state is not finite."""
        if not (np.isfinite(state.position).all() and np.isfinite(state.velocity).all()):
            return None
        position, velocity, acceleration = self.desired(now)
        w = self._bandwidth
        error = np.clip(position - state.position, -self._catching_up / w**2, self._catching_up / w**2)
        wanted = acceleration + w**2 * error + 2.0 * w * (velocity - state.velocity)
        try:
            blocks = self._model.blocks(state)
            # As for a base at rest: compensating the motion of the base is unstable in many postures at any rate.
            push, bias = blocks.H_m @ wanted, blocks.c_m + self._model.D_m * state.velocity
            room = np.maximum(SHARE * self._model.effort_limit - np.abs(bias), 0.0)
            effort = push * min(1.0, float(np.min(room / np.maximum(np.abs(push), 1e-9)))) + bias
        except FlexarmError:
            return None
        return JointReference(state.stamp, position, velocity + w * error, acceleration, effort)
