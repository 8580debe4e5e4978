"""Wrong finite states at any moment of a gate's life: commands stay finite, within limits, and where the arm is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from flexarm_core.errors import InputError
from flexarm_core.hardware_gate.config import COMMAND_MODES, HardwareGateConfig
from flexarm_core.hardware_gate.gate import HardwareGate
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.state_machine import GateState
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, JointReference

PERIOD, ACCELERATION = 0.004, 10.0
FIELDS = ("position", "velocity", "deflection", "deflection_rate")


@dataclass
class Bench:
    """An arm at rest, which may be moved while the gate is silent, and everything that the gate answers."""

    model: ArmModel
    rng: np.random.Generator
    mode: str

    def __post_init__(self) -> None:
        n, model = self.model.n, self.model
        limits = JointLimits(
            lower=model.lower, upper=model.upper, velocity=np.full(n, 1.0), acceleration=np.full(n, ACCELERATION),
            effort=model.effort_limit, effort_rate=np.full(n, np.inf), following_error=np.full(n, 0.15),
        )  # fmt: skip
        self.now, self.offset, self.silent = 1.0, 0.0, False
        config = HardwareGateConfig(command_mode=self.mode, period=PERIOD, recovery_samples=3)
        self.gate = HardwareGate(model, limits, config, lambda: self.now)
        self.position = self.rng.uniform(0.2, 0.6, n) * np.where(np.arange(n) % 2, -1.0, 1.0)
        self.state, self.worst = self.true(), 0.0

    def true(self, velocity=0.0) -> ArmState:
        n, m = self.model.n, self.model.m
        noise = 1e-5 * self.rng.standard_normal(n)
        self.state = ArmState(
            round((self.now + self.offset) * 1e9), self.position.copy(), velocity + noise, np.zeros(m), np.zeros(m)
        )
        return self.state

    def hear(self, state: ArmState, *, led: bool) -> None:
        self.answer(lambda: self.gate.on_state(state), lambda why: self.gate.on_unusable_state(state.stamp, why))
        if led:
            wanted = {"position": self.position, "velocity": np.zeros(self.model.n)}
            reference = JointReference(
                state.stamp, **wanted, effort=self.model.gravity_effort(replace(self.state, stamp=state.stamp))
            )
            self.answer(lambda: self.gate.on_reference(reference), self.gate.on_unusable_reference)
        if self.rng.random() < 0.3:
            self.answer(self.gate.on_tick)
        self.now += PERIOD

    def answer(self, ask, refuse=None) -> None:
        try:
            command = ask()
        except InputError as error:
            command = refuse(str(error))
        if command is not None:
            self.judge(command)

    def judge(self, command) -> None:
        assert not self.silent and np.isfinite(command).all()
        mode = self.gate.config.command_mode
        if mode == "position":
            self.worst = max(self.worst, float(np.abs(command - self.position).max()) / 0.02)
        elif mode == "velocity":
            self.worst = max(self.worst, float(np.abs(command).max()) / 0.02)
        else:
            assert (np.abs(command) <= self.model.effort_limit).all()
            pushed = self.model.forward_dynamics(self.state, command)
            self.worst = max(self.worst, float(np.abs(pushed).max()) / (1.5 * ACCELERATION))
        assert self.worst <= 1.0, (mode, self.gate.status)

    def garbage(self) -> ArmState:
        state, rng = self.true(), self.rng
        names = [name for name in FIELDS if rng.random() < 0.4] or [FIELDS[rng.integers(2)]]
        for name in names:
            value = getattr(state, name).copy()
            wrong = 10.0 ** rng.uniform(-0.5, rng.choice([2.0, 300.0]), value.size) * rng.choice([-1, 1], value.size)
            value = np.where(rng.random(value.size) < 0.5, wrong, value)
            if value.size and np.array_equal(value, getattr(state, name)):
                value[rng.integers(value.size)] += 3.0
            state = replace(state, **{name: value})
        return state

    def live(self, steps: int) -> None:
        """Let a random sequence of events happen."""
        rng, gate = self.rng, self.gate
        for _ in range(steps):
            event, led = rng.choice(EVENTS), bool(rng.random() < 0.7)
            if event == "states":
                for _ in range(rng.integers(1, 30)):
                    self.hear(self.true(), led=led)
            elif event == "garbage":
                for _ in range(rng.integers(1, 9)):
                    self.hear(self.garbage(), led=led)
            elif event == "silence" and not self.silent:
                gate.interrupt("no controller is active", silent=True)
                self.silent = True
            elif event == "moved" and self.silent:
                speed = 0.3 * rng.choice([-1.0, 1.0], self.model.n)
                for _ in range(rng.integers(1, 50)):
                    self.position = self.position + speed * PERIOD
                    self.hear(self.true(speed), led=False)
                for _ in range(4):
                    self.hear(self.true(), led=False)
            elif event == "resume" and gate._machine.interrupted:
                self.silent = False
                self.answer(lambda: gate.resume(rng.choice(COMMAND_MODES)))
            elif event == "change" and not self.silent:
                gate.interrupt("command mode changes", silent=False)
            elif event == "reset":
                gate.reset()
                self.silent = False
            elif event == "clock":
                self.offset += rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-2.0, 2.0)
            elif event == "gap":
                self.now += rng.uniform(0.0, 0.5)
                self.answer(gate.on_tick)
            elif event == "acknowledge":
                try:
                    gate.acknowledge()
                except InputError:
                    continue


EVENTS = (  # garbage twice: it comes more often
    "states",
    "garbage",
    "garbage",
    "silence",
    "moved",
    "resume",
    "change",
    "reset",
    "clock",
    "gap",
    "acknowledge",
)


def settle(bench: Bench) -> None:
    """True states and good references again."""
    gate = bench.gate
    if gate._machine.interrupted:
        bench.silent = False
        bench.answer(gate.resume)
    for k in range(200):
        bench.hear(bench.true(), led=True)
        if k % 50 == 49 and gate.status.state is GateState.TRIPPED:
            bench.answer(gate.acknowledge)


@pytest.mark.parametrize("mode", COMMAND_MODES)
@pytest.mark.parametrize("seed", range(12))
def test_wrong_states_at_any_moment_lead_to_no_wrong_command(planar_3r, mode, seed):
    bench = Bench(planar_3r, np.random.default_rng([seed, COMMAND_MODES.index(mode)]), mode)
    bench.live(40)
    settle(bench)
    assert bench.gate.status.state is GateState.RUNNING
    assert not bench.gate.status.blind


@pytest.mark.parametrize("mode", COMMAND_MODES)
def test_zeros_of_a_driver_that_starts_lead_to_no_command(planar_3r, mode):
    """Exact zeros while it starts, then the true positions; with references, as a law that believes all sends them."""
    bench = Bench(planar_3r, np.random.default_rng(1), mode)
    nothing, commands = np.zeros(3), []
    bench.judge = lambda command: commands.append(command)
    for _ in range(100):
        bench.hear(replace(bench.true(), position=nothing, velocity=nothing), led=True)
    assert commands == []
    del bench.judge
    settle(bench)
    assert bench.gate.status.state is GateState.RUNNING


def test_an_arm_that_was_moved_by_hand_while_nothing_was_commanded_is_held_where_it_is(planar_3r):
    bench = Bench(planar_3r, np.random.default_rng(2), "position")
    for _ in range(10):
        bench.hear(bench.true(), led=True)
    bench.gate.interrupt("controller deactivated", silent=True)
    speed = np.array([1.5, -0.8, 0.4])  # a hand may be faster than the arm
    for _ in range(100):
        bench.position = bench.position + speed * PERIOD
        bench.hear(bench.true(speed), led=False)
    command = bench.gate.resume()
    assert command is not None and np.allclose(command, bench.position, atol=0.01)


def test_set_points_that_are_left_behind_in_a_stop_begin_anew_where_the_arm_is(planar_3r):
    """Somebody moves the arm while it is stopped: the drive must not fetch it back."""
    bench = Bench(planar_3r, np.random.default_rng(3), "position")
    for _ in range(10):
        bench.hear(bench.true(), led=True)
    bench.gate.on_unusable_reference("test")
    speed, answers = np.array([0.5, 0.0, 0.0]), []
    bench.judge = lambda command: answers.append(command)
    for _ in range(120):
        bench.position = bench.position + speed * PERIOD
        bench.hear(bench.true(speed), led=False)
    for _ in range(20):
        bench.hear(bench.true(), led=False)
    assert np.abs(answers[-1] - bench.position).max() < 0.16
