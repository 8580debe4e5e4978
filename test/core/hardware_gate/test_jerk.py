"""Commands of velocity and position keep their jerk limits, and no other limit is lost by it."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.hardware_gate.command_law import CommandLaw
from flexarm_core.hardware_gate.config import HardwareGateConfig
from flexarm_core.hardware_gate.gate import HardwareGate
from flexarm_core.hardware_gate.jerk import ending, rest, start_of
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.state_machine import GateState
from flexarm_core.types import ArmState, JointReference

N = 3
ROUNDING = 1e-6  # of the limits


def drawn_limits(rng: np.random.Generator, model, dt: float) -> JointLimits:
    """Limits such that the acceleration takes 0.4 to 400 samples to its limit, and its limit to that of velocity."""
    acceleration = 10.0 ** rng.uniform(-0.5, 1.5, N)
    return JointLimits(
        lower=np.where(rng.random(N) < 0.2, -np.inf, -(10.0 ** rng.uniform(-1.0, 0.5, N))),
        upper=np.where(rng.random(N) < 0.2, np.inf, 10.0 ** rng.uniform(-1.0, 0.5, N)),
        velocity=acceleration * dt * 10.0 ** rng.uniform(0.5, 2.5, N),
        acceleration=acceleration,
        effort=model.effort_limit,
        effort_rate=np.full(N, np.inf),
        following_error=np.full(N, np.inf),
        jerk=acceleration / dt * 10.0 ** rng.uniform(-2.5, 0.4, N),
    )


def wishes(rng: np.random.Generator, limits: JointLimits, mode: str):
    """Draw what is wanted next, for ever: steps, ramps, waves, noise, far beyond the limits or not at all."""
    most = limits.velocity if mode == "velocity" else np.minimum(np.maximum(-limits.lower, limits.upper), 3.0)
    value = np.zeros(N)
    while True:
        kind, length = rng.integers(5), int(10.0 ** rng.uniform(0.0, 2.5))
        size = most * 10.0 ** rng.uniform(-2.0, 0.5, N) * rng.choice([-1.0, 1.0], N)
        slope, cycle = size / length, rng.uniform(0.01, 0.5, N)
        for i in range(length):
            if kind == 0:
                value = size
            elif kind == 1:
                value = value + slope
            elif kind == 2:
                value = size * np.sin(cycle * i)
            elif kind == 3:
                value = size * rng.normal(size=N)
            yield value.copy()


def assert_kept(limits: JointLimits, mode: str, commands: np.ndarray, before: np.ndarray, dt: float) -> np.ndarray:
    """Assert that commands keep their limits from rest at positions ``before`` on; return the positions."""
    rates = commands if mode == "velocity" else np.diff([before, *commands], axis=0) / dt
    accelerations = np.diff([0.0 * before, *rates], axis=0) / dt
    jerks = np.diff([0.0 * before, *accelerations], axis=0) / dt
    rounding = ROUNDING + 1e-15 / dt ** np.arange(1, 4)  # of positions
    assert (np.abs(rates) <= limits.velocity * (1.0 + ROUNDING) + rounding[0]).all()
    assert (np.abs(accelerations) <= limits.acceleration * (1.0 + ROUNDING) + rounding[1]).all()
    assert (np.abs(jerks) <= limits.jerk * (1.0 + ROUNDING) + rounding[2]).all()
    positions = before + np.cumsum(rates, axis=0) * dt
    assert (positions <= limits.upper + 1e-9).all() and (positions >= limits.lower - 1e-9).all()
    return positions


@given(st.integers(0, 2**32 - 1), st.sampled_from(["velocity", "position"]), st.sampled_from([0.001, 0.004, 0.01]))
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_commands_keep_velocity_acceleration_jerk_and_position_limits_in_motion_and_in_stops(planar_3r, seed, mode, dt):
    rng = np.random.default_rng(seed)
    limits = drawn_limits(rng, planar_3r, dt)
    law = CommandLaw(planar_3r, limits, mode, dt, 2.0 * dt, 20.0)
    at, none, commands, wanted = np.zeros(N), np.zeros(planar_3r.m), [], wishes(rng, limits, mode)
    stops = 0
    for tick in range(1500):
        if stops == 0 and rng.random() < 0.005:
            stops = int(10.0 ** rng.uniform(0.0, 2.5))
            law.begin_stop()
        stops = max(stops - 1, 0)
        state = ArmState(tick, at, law.rate, none, none)
        command = law.brake(state, dt) if stops else law.follow(next(wanted), None, state)
        commands.append(law.remember(command, dt))
        at = at + law.rate * dt if mode == "velocity" else command
    assert_kept(limits, mode, np.array(commands), np.zeros(N), dt)
    longest = limits.velocity / limits.acceleration + 2.0 * limits.acceleration / limits.jerk
    law.begin_stop()
    for _ in range(int(longest.max() / dt) + 5):
        law.remember(law.brake(ArmState(0, at, law.rate, none, none), dt), dt)
    assert not law.rate.any()


class Driven:
    """A gate whose drives move as commanded, and what its commands do."""

    def __init__(self, model, limits: JointLimits, mode: str, period: float) -> None:
        self.limits, self.mode, self.period, self.now = limits, mode, period, 0.0
        config = HardwareGateConfig(command_mode=mode, period=period, recovery_samples=2)
        self.gate = HardwareGate(model, limits, config, lambda: self.now)
        self.base = np.zeros(model.m)
        self.at, self.rate, self.acceleration = np.zeros((3, N))
        self.dt, self.moved = period, False
        remember = self.gate._commands.law.remember
        self.gate._commands.law.remember = lambda command, dt: remember(command, self.note(dt))

    def note(self, dt: float) -> float:
        """Take note of the time for which the gate makes a command."""
        self.dt = dt
        return dt

    def advance(self) -> ArmState:
        """Return the state after a period."""
        self.now += self.period
        if self.mode == "velocity":
            self.at = self.at + self.rate * self.period
        rate = self.rate if self.moved or self.mode == "velocity" else 0.0 * self.rate
        self.moved, self.before = False, (self.at, self.rate, self.acceleration)
        return ArmState(round(self.now * 1e9), self.at, rate, self.base, self.base)

    def take(self, command) -> None:
        """Move as commanded, in the place of an earlier command of this period; fail if a limit is broken."""
        if command is None:
            return
        if self.mode == "position":
            self.at, self.rate, self.acceleration = self.before
        limits, before, was, self.moved = self.limits, self.rate, self.acceleration, True
        self.rate = command if self.mode == "velocity" else (command - self.at) / self.dt
        self.at = self.at if self.mode == "velocity" else command
        self.acceleration = (self.rate - before) / self.dt
        assert (np.abs(self.rate) <= limits.velocity * (1.0 + ROUNDING) + 1e-9).all()
        assert (np.abs(self.acceleration) <= limits.acceleration * (1.0 + ROUNDING) + 1e-6).all()
        assert (np.abs(self.acceleration - was) <= (limits.jerk * (1.0 + ROUNDING) + 1e-2) * self.dt).all()
        if self.mode == "position":  # with velocities, the joints move on while no state tells where they are
            assert (self.at <= limits.upper + 1e-9).all() and (self.at >= limits.lower - 1e-9).all()

    def give(self, state: ArmState, goal: np.ndarray | None, *, number: bool = True) -> None:
        """Give a state and a reference as a node does."""
        gate = self.gate
        try:
            self.take(gate.on_state(state, age=0.0))
        except InputError as error:
            self.take(gate.on_unusable_state(state.stamp, str(error)))
        if goal is None:
            return
        try:
            self.take(gate.on_reference(JointReference(state.stamp, **{self.mode: goal if number else goal * np.nan})))
        except InputError as error:
            self.take(gate.on_unusable_reference(str(error)))


@pytest.mark.parametrize("mode", ["velocity", "position"])
def test_starts_stops_trips_and_bridged_gaps_of_a_gate_keep_the_jerk_limits(planar_3r, mode):
    seen = set()
    for seed in range(25):
        rng = np.random.default_rng(seed)
        driven = Driven(planar_3r, drawn_limits(rng, planar_3r, 0.002), mode, 0.002)
        gate, wanted, left, fault = driven.gate, wishes(rng, driven.limits, mode), 0, ""
        for tick in range(1000):
            if left == 0:
                fault = rng.choice(["", "", "no states", "no references", "not a number", "trip", "reset"])
                left = int(10.0 ** rng.uniform(0.5, 2.0))
            left -= 1
            state, goal = driven.advance(), next(wanted)
            if fault == "no states":
                if tick % 5 == 0:
                    driven.take(gate.on_tick())
                continue
            driven.give(state, None if fault == "no references" else goal, number=fault != "not a number")
            if fault == "trip":
                gate.give_up("test")
            if gate.status.state is GateState.TRIPPED and fault != "trip":
                with suppress(InputError):
                    gate.acknowledge()
            seen.add(gate.status.state)
    assert seen >= {GateState.RUNNING, GateState.STOPPING, GateState.TRIPPED}


def test_a_stop_takes_the_time_of_the_closed_form_and_no_more(planar_3r):
    one = np.ones(N)
    limits = JointLimits(-3.0 * one, 3.0 * one, 2.0 * one, 10.0 * one, one, np.inf * one, jerk=200.0 * one)
    law = CommandLaw(planar_3r, limits, "velocity", 0.001, 0.002, 20.0)
    law.remember(law.follow(np.zeros(N), None, ArmState(0, 0.0 * one, 0.0 * one, np.zeros(1), np.zeros(1))), 0.001)
    law.rate, at, ticks = 1.5 * one, -2.0 * one, 0
    while law.rate.any():
        law.remember(law.brake(ArmState(ticks, at, law.rate, np.zeros(1), np.zeros(1)), 0.001), 0.001)
        at, ticks = at + law.rate * 0.001, ticks + 1
    assert ticks == pytest.approx(1000.0 * (1.5 / 10.0 + 10.0 / 200.0), abs=2.0)  # v / A + A / J


@given(st.floats(-1.0, 1.0), st.floats(-200.0, 200.0), st.floats(0.01, 2.0))
@settings(deadline=None, max_examples=200)
def test_the_way_of_a_stop_is_the_sum_of_its_samples(a, u, d):
    velocity, acceleration, way = u, a, 0.0
    for _ in range(2000):
        acceleration = min(max(start_of(-velocity, 1.0, d), acceleration - d, -1.0), acceleration + d, 1.0)
        velocity += acceleration
        velocity = velocity if abs(velocity) > 1e-9 else 0.0
        way += velocity
    assert velocity == 0.0
    assert rest(u, a, 1.0, d) == pytest.approx(way, rel=1e-6, abs=1e-6)


@given(st.floats(-100.0, 100.0), st.floats(0.01, 2.0))
def test_the_acceleration_that_changes_a_velocity_by_as_much_is_the_inverse_of_the_change(change, d):
    first = start_of(change, 1e3, d)
    assert first + ending(first, d) == pytest.approx(change, abs=1e-9)


@pytest.mark.parametrize("mode", ["velocity", "position"])
def test_smooth_commands_pass_bit_for_bit_and_a_step_is_reached_without_overshoot(planar_3r, mode):
    one, none, dt = np.ones(N), np.zeros(1), 0.001
    limits = JointLimits(-3.0 * one, 3.0 * one, 2.0 * one, 20.0 * one, one, np.inf * one, jerk=5000.0 * one)
    law = CommandLaw(planar_3r, limits, mode, dt, 2.0 * dt, 20.0)
    at = 0.0 * one

    def follow(wanted) -> np.ndarray:
        nonlocal at
        command = law.remember(law.follow(wanted * one, None, ArmState(0, at, law.rate, none, none)), dt)
        at = at + law.rate * dt if mode == "velocity" else command
        return command

    for tick in range(1000):
        smooth = 0.1 * (1.0 - np.cos(5.0 * tick * dt))
        assert np.array_equal(follow(smooth), smooth * one)
    assert not law.limited
    smooth = [follow(0.7) for _ in range(600)]
    assert law.limited == () and (smooth[-1] == 0.7).all() and np.max(smooth) <= 0.7 + 1e-12
    with pytest.raises(ConfigError, match="jerk limits must be > 0"):
        JointLimits(-one, one, one, one, one, one, jerk=0.0 * one)


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_positions_reach_a_step_without_overshoot_in_the_least_time_also_without_a_jerk_limit(planar_3r, seed):
    rng, dt = np.random.default_rng(seed), 0.001
    one, none = np.ones(N), np.zeros(1)
    v, a, j = 10.0 ** rng.uniform(-0.5, 1.0), 10.0 ** rng.uniform(0.5, 1.5), rng.choice([np.inf, 1000.0])
    limits = JointLimits(-3.0 * one, 3.0 * one, v * one, a * one, one, np.inf * one, jerk=j * one)
    law, at, goal = CommandLaw(planar_3r, limits, "position", dt, 2.0 * dt, 20.0), np.zeros(N), rng.uniform(-2.5, 2.5)
    peak = min(v, np.sqrt(abs(goal) * a))
    steps = int((abs(goal) / peak + peak / a + (3.0 * a / j if j < np.inf else 0.0)) / dt) + 10
    for tick in range(steps):
        state = ArmState(tick, at, law.rate, none, none)
        at = law.remember(law.follow(goal * one, None, state), dt)
        assert (np.abs(at) <= abs(goal) + 1e-9).all()
    assert (at == goal).all() and np.abs(law.rate).max() < 1e-9
