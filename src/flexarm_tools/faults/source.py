"""Source: a motion within the limits, or a posture to hold, and its control law; it uses all states without checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexarm_core.errors import FlexarmError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, JointReference
from flexarm_tools.faults.arms import middle_posture, promised_acceleration

MOVES, FIRM, HOLDS, BEYOND = "moves", "moves firmly", "holds firmly", "leads beyond the position limits"  # laws
BANDWIDTH = 25.0  # [rad/s] bandwidth of the control law, lower at low rates
FIRMNESS = 100.0  # [rad/s] bandwidth of a law that holds an unknown load, over a rigid base, lower at low rates
SAMPLES = 0.1  # largest product of bandwidth and sampling period
HARD = 0.1, 0.3  # range of a motion's acceleration, relative to the gate's default limit
CATCHING_UP = 0.5  # largest acceleration for correcting a position error, relative to that limit
GENTLE = 0.25  # [rad/s] and [rad/s^2] for an arm on an elastic base
SHARE = 0.9  # of the effort limits; all joints are scaled together, since clipping one would move the others
PASSES = 0.3, 0.6  # [s] at the speed of the motion: range of the ways before and beyond a limit
GROWTH = 0.3  # [s] duration of the smooth start
LOOK = np.linspace(0.0, 3.0, 60)  # [s] times at which the needed effort is computed
SLOWER = 0.8  # factor on the speed of a motion that needs more, until it needs no more or the factor is below SLOWEST
SLOWEST = 0.1


class Source:
    """Sinusoidal motion of all joints with computed torque.

    Attributes:
        start: (n,) posture at the start [rad | m].
        bandwidth: bandwidth of the control law [rad/s].
        period: time between two joint states [s].
    """

    def __init__(
        self,
        rng: np.random.Generator,
        model: ArmModel,
        rate: float,
        *,
        law: str = MOVES,
    ) -> None:
        """Draw a motion of at most 0.9 times the speed limits and HARD; slower for an elastic base, or weak motors.

        Args:
            rng: random numbers.
            model: arm as it is told.
            rate: rate of joint states [Hz].
            law: MOVES corrects errors of position by at most CATCHING_UP; FIRM and HOLDS correct any, as a PD does;
                BEYOND is a path that leads some joints beyond their position limits.
        """
        firm = law in (FIRM, HOLDS)
        most = FIRMNESS if firm and not model.m else BANDWIDTH
        self._model, self.bandwidth, self.period = model, min(most, SAMPLES * rate), 1.0 / rate
        self._tuned = model
        self.start, self._way = middle_posture(rng, model)
        speed = rng.uniform(0.2, 0.9, model.n) * np.minimum(model.velocity_limit, 4.0)
        usual = promised_acceleration(model.velocity_limit)
        acceleration = rng.uniform(*HARD, model.n) * usual
        self._catching_up = np.full(model.n, np.inf) if firm else CATCHING_UP * usual
        if model.m:
            speed, acceleration = np.minimum(speed, GENTLE), GENTLE * acceleration / (HARD[1] * usual)
        amplitude = np.minimum(speed**2 / acceleration, np.abs(self._way))
        self._amplitude, self._rate = amplitude, np.minimum(speed / amplitude, np.sqrt(acceleration / amplitude))
        self._phase = rng.choice([-1.0, 1.0], model.n)
        if firm:  # a PD overshoots with another load than told
            self._rate = 0.5 * self._rate
        if law == HOLDS:
            self._amplitude = np.zeros(model.n)
        self._path = self._path_beyond(rng, speed) if law == BEYOND else None
        factor = 1.0
        while self._path is None and factor > SLOWEST and self._needs_too_much():
            factor *= SLOWER
            self._rate = self._rate * SLOWER

    def _path_beyond(self, rng: np.random.Generator, speed: Array) -> tuple[Array, float]:
        """Start some joints before a position limit; return the way (n,) through it, and how long that takes [s]."""
        led = rng.random(speed.size) < 0.5
        led[rng.integers(speed.size)] = True
        led &= np.isfinite(self._model.upper - self._model.lower)
        side, before, after = rng.choice([-1.0, 1.0], speed.size), *rng.uniform(*PASSES, (2, speed.size))
        limit = np.where(side > 0.0, self._model.upper, self._model.lower)
        self.start = np.where(led, limit - side * before * speed, self.start)
        return np.where(led, side * (before + after) * speed, 0.0), 1.9 * 2.0 * PASSES[1]

    def desired(self, now: float) -> tuple[Array, Array, Array]:
        """Return desired position, velocity and acceleration (n,)."""
        if self._path is not None:
            way, duration = self._path
            s = min(now / duration, 1.0)
            return (
                self.start + s**3 * (10 - 15 * s + 6 * s**2) * way, 30 * s**2 * (1 - s) ** 2 / duration * way,
                60 * s * (1 - s) * (1 - 2 * s) / duration**2 * way,
            )  # fmt: skip
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

    def tune(self, true: ArmModel, slower: float = 1.0) -> None:
        """Choose gains for the true arm, as a user who tunes them on the arm; gravity stays that of the model.

        Args:
            true: the arm.
            slower: factor by which the bandwidth is reduced.
        """
        self._tuned, self.bandwidth = true, self.bandwidth / slower

    def displacement(self, duration: float) -> Array:
        """Return the displacement (n,) of a joint move of similar speed and acceleration (1.9 d/T and 5.8 d/T^2).

        It leads to the middle of the limits, by half the way: moves that begin anew after stops stay within them.
        """
        speed, acceleration = self._amplitude * self._rate, self._amplitude * self._rate**2
        farthest = np.minimum(speed * duration / 1.9, acceleration * duration**2 / 5.8)
        return np.copysign(np.minimum(farthest, 0.5 * np.abs(self._way)), self._way)

    def asked(self, sensed: Any, noise: Array, now: float) -> Array:
        """Return the efforts (n,) beyond the weight that the law at most asks: ``|u(now) - g| + |H| 2 w noise``.

        Args:
            sensed: true state of the arm; at low rates, the motion has begun before the first command.
            noise: (n,) largest noise of a velocity.
            now: time [s].
        """
        state = ArmState(0, sensed.position, sensed.velocity, sensed.deflection, sensed.deflection_rate)
        effort: Array = np.abs(self._tuned.blocks(state).H_m) @ (2.0 * self.bandwidth * noise)
        reference = self.answer(state, now)
        if reference is not None and reference.effort is not None:
            effort += np.abs(reference.effort - self._model.gravity_effort(state))
        return effort

    def answer(self, state: ArmState, now: float) -> JointReference | None:
        """Return the reference for a state; None if the state is not finite."""
        if not (np.isfinite(state.position).all() and np.isfinite(state.velocity).all()):
            return None
        position, velocity, acceleration = self.desired(now)
        w = self.bandwidth
        error = np.clip(position - state.position, -self._catching_up / w**2, self._catching_up / w**2)
        feedback = w**2 * error + 2.0 * w * (velocity - state.velocity)
        try:
            blocks = self._model.blocks(state)
            # As for a base at rest: compensating the motion of the base is unstable in many postures at any rate.
            gains = blocks.H_m if self._tuned is self._model else self._tuned.blocks(state).H_m
            push, bias = blocks.H_m @ acceleration + gains @ feedback, blocks.c_m + self._model.D_m * state.velocity
            room = np.maximum(SHARE * self._model.effort_limit - np.abs(bias), 0.0)
            effort = push * min(1.0, float(np.min(room / np.maximum(np.abs(push), 1e-9)))) + bias
        except FlexarmError:
            return None
        return JointReference(state.stamp, position, velocity + w * error, acceleration, effort)
