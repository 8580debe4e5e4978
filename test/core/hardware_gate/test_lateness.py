"""Lateness: what only the gate's own process was late for stops the arm, and is no trip."""

from __future__ import annotations

import numpy as np
import pytest
from gated_arm import PERIOD, Arm, effort_for, make_gate

from flexarm_core.errors import InputError
from flexarm_core.hardware_gate.lateness import LEAST, RECENT, Lateness
from flexarm_core.hardware_gate.state_machine import GateState
from flexarm_core.hardware_gate.supervisor import SupervisorConfig
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState

TICK = 0.01  # [s] of the watchdog
RUNNING, STOPPING, TRIPPED = GateState.RUNNING, GateState.STOPPING, GateState.TRIPPED


@pytest.fixture
def planar_3r(planar_3r_text) -> ArmModel:
    """The planar arm on a base that may move as far as it likes."""
    return ArmModel(planar_3r_text.replace('lower="-0.5" upper="0.5"', 'lower="-5" upper="5"'), gravity=(0.0, 0.0, 0.0))


class Run:
    """A gate and an arm that moves, on a machine that may take the processor away."""

    def __init__(self, model: ArmModel, *, honest: bool = True, **config) -> None:
        """``honest``: whether the gate is told when its process was late."""
        self.now, self.honest, self.model = 0.0, honest, model
        self.gate = make_gate(model, lockstep=False, clock=lambda: self.now, **config)
        self.arm = Arm(model, velocity=(0.1, 0.0, 0.0))
        self.command = np.zeros(3)
        self.speeds: list[float] = []

    @property
    def state(self) -> GateState:
        return self.gate.status.state

    def _pass(self) -> None:
        self.now += PERIOD
        self.arm.step(self.command)
        self.speeds.append(float(np.abs(self.arm.state.velocity).max()))

    def _take(self, command) -> None:
        self.command = self.command if command is None else command

    def go_on(self, seconds: float, age: float = 0.0, *, states: bool = True) -> None:
        """Let states and references come, and the watchdog look."""
        for tick in range(round(seconds / PERIOD)):
            self._pass()
            if states:
                self._take(self._hear(age))
                if age == 0.0:
                    self._lead()
            if tick % round(TICK / PERIOD) == 0:
                self._take(self.gate.on_tick())

    def _lead(self) -> None:
        try:
            self._take(self.gate.on_reference(effort_for(self.model, self.arm.state, np.zeros(3))))
        except InputError as error:
            self._take(self.gate.on_unusable_reference(str(error)))

    def _hear(self, age: float):
        try:
            return self.gate.on_state(self.arm.state, age)
        except InputError as error:
            return self.gate.on_unusable_state(self.arm.state.stamp, str(error))

    def halt(self, seconds: float) -> None:
        """Let the arm go on while the gate does not run; then the watchdog looks first."""
        for _ in range(round(seconds / PERIOD)):
            self._pass()
        if self.honest:
            self.gate.was_late(seconds)
        self._take(self.gate.on_tick())


@pytest.mark.parametrize("seed", range(3))
def test_lateness_is_the_time_that_its_intervals_cover_together(seed):
    rng, step = np.random.default_rng(seed), 1e-4
    lateness, late, now = Lateness(np.ones(1), 0.02, 0.3), np.zeros(round(3.0 / step), dtype=bool), 0.0
    while (now := now + float(rng.exponential(0.03))) < 2.9:
        took = min(float(rng.exponential(0.03)), now)
        lateness.note(now, took)
        if took >= LEAST:
            late[round((now - took) / step) : round(now / step)] = True
        span = float(rng.uniform(0.0, RECENT))
        known = late[round(max(now - span, 0.0) / step) : round(now / step)].sum() * step
        assert lateness.within(now, span) == pytest.approx(known, abs=50 * step)


@pytest.mark.parametrize("honest", [True, False])
def test_a_process_that_got_no_processor_stops_the_arm_and_goes_on_by_itself(planar_3r, honest):
    run = Run(planar_3r, honest=honest)
    run.go_on(0.2)
    assert run.state is RUNNING
    run.halt(0.5)
    assert (run.state, run.gate.status.fallback) == ((STOPPING, False) if honest else (TRIPPED, True))
    run.go_on(0.2)
    assert run.state is (STOPPING if honest else TRIPPED)  # until arm and machine have been quiet for a while
    assert "the machine is late" in run.gate.status.reason or not honest
    run.go_on(0.6)
    assert run.state is (RUNNING if honest else TRIPPED)
    assert max(run.speeds) < 0.11


def test_states_that_do_not_come_either_when_the_process_runs_again_are_lost(planar_3r):
    run = Run(planar_3r)
    run.go_on(0.2)
    run.halt(0.5)
    run.go_on(run.gate.config.state_timeout - TICK, states=False)
    assert run.state is STOPPING and not run.gate.status.fallback
    run.go_on(2.5 * TICK, states=False)
    assert run.state is STOPPING and run.gate.status.fallback  # the machine may still be to blame
    run.go_on(RECENT, states=False)
    assert run.state is TRIPPED and run.gate.status.fallback


def test_a_process_that_was_late_before_and_misses_states_now_trips_after_the_blind_time(planar_3r):
    run = Run(planar_3r)
    run.go_on(0.2)
    run.halt(0.05)
    run.go_on(RECENT)
    run.go_on(run.gate.config.blind_time + 2.5 * TICK, states=False)
    assert run.state is TRIPPED and run.gate.status.fallback


def test_states_that_do_not_come_at_all_trip_however_busy_the_machine_is(planar_3r):
    run = Run(planar_3r)
    run.go_on(0.2)
    for _ in range(40):
        run.gate.was_late(0.01)
        run.go_on(0.04, states=False)
        assert run.state is not RUNNING or run.now < 0.4
    assert run.state is TRIPPED and run.gate.status.fallback


@pytest.mark.parametrize("honest", [True, False])
def test_stops_in_a_row_trip_unless_the_machine_was_late(planar_3r, honest):
    often = SupervisorConfig(max_saturation_time=1e6, max_tracking_time=1e6, max_stops=3, stop_window=10.0)
    run = Run(planar_3r, honest=honest, supervisor=often)
    for _ in range(5):
        run.go_on(0.4)
        run.halt(0.15)
        run.go_on(0.2)
    assert (run.state is TRIPPED) != honest
    assert run.gate.status.stops >= 3


@pytest.mark.parametrize("busy", [True, False])
def test_states_that_are_late_for_a_while_on_a_busy_machine_give_the_drives_away_and_take_them_back(planar_3r, busy):
    run = Run(planar_3r)
    run.go_on(0.2)
    if busy:
        run.gate.was_late(0.05)
    run.go_on(0.05, age=0.05)
    assert run.gate.status.fallback and run.state is (STOPPING if busy else TRIPPED)
    run.go_on(1.5)
    assert run.gate.status.fallback != busy and run.state is (RUNNING if busy else TRIPPED)


def test_states_that_stay_late_when_the_machine_is_not_busy_any_more_trip(planar_3r):
    run = Run(planar_3r)
    run.go_on(0.2)
    for _ in range(10):
        run.gate.was_late(0.02)
        run.go_on(0.05, age=0.05)
    assert run.state is STOPPING and run.gate.status.fallback
    run.go_on(RECENT, age=0.05)
    assert run.state is TRIPPED


@pytest.mark.parametrize("broken", ["", "moves", "late states", "busy", "moves a little"])
def test_a_suspended_stop_ends_once_all_has_been_quiet_for_the_time_for_it_without_a_break(broken):
    """Limit 2 rad/s: 0.04 rad/s is rest; 0.02 s of lateness within the 0.3 s make the machine busy."""
    lateness, quiet = Lateness(2.0 * np.ones(1), 0.02, 0.3), 0.3
    lateness.suspend()
    begin, broke, ended = 5.0, 5.2, None
    for tick in range(1500):
        now = begin + tick * PERIOD
        at_break = broken and abs(now - broke) < 0.5 * PERIOD
        speed = {"moves": 0.05, "moves a little": 0.03}.get(broken, 0.0) if at_break else 0.0
        if at_break and broken == "busy":
            lateness.note(now, 0.03)
        state = ArmState(round(now * 1e9), np.zeros(1), -speed * np.ones(1), np.zeros(0), np.zeros(0))
        if lateness.recovers(state, now, on_time=not (at_break and broken == "late states")):
            ended = now
            break
        assert lateness.suspended
    # after lateness it waits until all but 0.02 s of that is out of sight, and then as long again
    expected = {"": begin, "moves a little": begin, "busy": broke - 0.02 + quiet}.get(broken, broke) + quiet
    assert ended == pytest.approx(expected, abs=2.5 * PERIOD) and not lateness.suspended
