"""Interruptions of a gate: nobody takes its commands, or the drives are to take commands of another kind."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from confirmed import meet

from flexarm_core.errors import ConfigError
from flexarm_core.hardware_gate.config import HardwareGateConfig
from flexarm_core.hardware_gate.gate import HardwareGate
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.state_machine import NOT_LED, GateState
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, JointReference

PERIOD, ACCELERATION = 0.002, 4.0
TICK = 2_000_000  # [ns]
START = np.radians([60.0, -60.0, -60.0])
ELSEWHERE = np.radians([20.0, -30.0, 10.0])


@pytest.fixture
def gate(planar_3r) -> HardwareGate:
    return make(planar_3r, "effort")


def make(model: ArmModel, mode: str, clock=time.monotonic) -> HardwareGate:
    limits = JointLimits(
        lower=model.lower,
        upper=model.upper,
        velocity=np.full(model.n, 1.0),
        acceleration=np.full(model.n, ACCELERATION),
        effort=model.effort_limit,
        effort_rate=np.full(model.n, np.inf),
    )
    return HardwareGate(model, limits, HardwareGateConfig(command_mode=mode, period=PERIOD, recovery_samples=3), clock)


def state(tick: int, position=START, velocity=(0.0, 0.0, 0.0)) -> ArmState:
    moved = np.array(position) + np.array(velocity, dtype=float) * tick * PERIOD
    return ArmState(tick * TICK, moved, np.array(velocity, dtype=float), np.zeros(1), np.zeros(1))


def reference(tick: int, at=START) -> JointReference:
    return JointReference(tick * TICK, position=at + 0.001, velocity=np.full(3, 0.1), effort=np.array([0.1, 0.2, 0.3]))


def answers(gate: HardwareGate, measured: ArmState) -> list:
    first, then = gate.on_state(measured), gate.on_reference(reference(measured.stamp // TICK, measured.position))
    return [command for command in (first, None if then is first else then) if command is not None]


def moved(gate: HardwareGate, velocity=(0.0, 0.0, 0.0)) -> None:
    """Say three times that the arm is elsewhere: so many states must agree with each other."""
    for tick in (0, 1, 2):
        answers(gate, replace(state(tick, ELSEWHERE, velocity), stamp=(10 + tick) * TICK))


def run(gate: HardwareGate) -> None:
    for tick in (-1, 0):
        assert answers(gate, state(tick)) == []
    assert len(answers(gate, state(1))) == 1
    assert gate.status.state is GateState.RUNNING


def test_while_nobody_takes_commands_none_is_given_whatever_comes(gate):
    run(gate)
    gate.interrupt("controller deactivated", silent=True)
    for tick in range(2, 60):
        assert answers(gate, state(tick)) == []
    assert gate.on_unusable_state(60 * TICK, "bad") is None
    assert gate.on_unusable_reference("bad") is None
    assert gate.on_tick() is None
    assert gate.rest_command() is None
    assert gate.status.state is GateState.STOPPING and gate.status.stops == 1
    assert gate.status.reason == "controller deactivated"


def test_an_arm_that_was_moved_meanwhile_is_held_where_it_is_and_then_led_again(gate):
    run(gate)
    gate.interrupt("controller deactivated", silent=True)
    moved(gate)
    held = gate.resume()
    model = gate.model
    still = state(2, ELSEWHERE)
    assert np.allclose(held, model.inverse_dynamics(model.blocks(still), still, np.zeros(3)), atol=1e-9)
    commands = [answers(gate, state(tick, ELSEWHERE))[-1] for tick in range(13, 17)]
    assert np.allclose(commands[:2], held)
    assert gate.status.state is GateState.RUNNING
    assert np.array_equal(commands[-1], [0.1, 0.2, 0.3])


@pytest.mark.parametrize("mode", ["position", "velocity"])
def test_set_points_go_on_from_what_is_measured_within_the_limits(planar_3r, mode):
    gate = make(planar_3r, mode)
    run(gate)
    gate.interrupt("controller deactivated", silent=True)
    speed = np.array([0.5, -0.2, 0.0])
    moved(gate, speed)
    commands = [gate.resume()]
    for tick in range(3, 30):
        commands += answers(gate, replace(state(tick, ELSEWHERE, speed), stamp=(10 + tick) * TICK))
    slower = speed - np.clip(speed, -ACCELERATION * PERIOD, ACCELERATION * PERIOD)
    if mode == "position":
        there = state(2, ELSEWHERE, speed).position
        assert np.allclose(commands[0], there + PERIOD * slower)
        rates = np.diff([there, *commands], axis=0) / PERIOD
    else:
        rates = np.array(commands)
    assert np.allclose(rates[0], slower)
    assert np.all(np.abs(np.diff(rates, axis=0)) <= ACCELERATION * PERIOD + 1e-9)


def test_the_arm_is_braked_as_before_until_the_drives_take_the_other_kind_of_command(gate):
    run(gate)
    gate.interrupt("command mode changes to velocity", silent=False)
    fast = (0.5, 0.01, 0.01)  # readings that stand still would be frozen ones
    commands = [answers(gate, state(tick, velocity=fast)) for tick in range(2, 20)]
    assert all(len(each) == 1 for each in commands)
    assert gate.status.state is GateState.STOPPING
    assert np.allclose(gate.resume("velocity"), [0.5 - ACCELERATION * PERIOD, 0.0, 0.0], atol=0.011)
    for tick in range(20, 60):
        command = answers(gate, state(tick, velocity=fast))[-1]
    assert gate.status.state is GateState.STOPPING  # set points rest, the arm does not
    slow = np.full(3, 0.01)
    for tick in range(60, 90):
        command = answers(gate, state(tick, START + (fast - slow) * 60 * PERIOD, slow))[-1]
    assert gate.status.state is GateState.RUNNING and np.all(np.abs(command) <= 0.5)


def test_a_gate_that_was_never_led_waits_on_and_holds_the_arm_once_commands_are_taken(gate):
    gate.interrupt("no command controller is active", silent=True)
    assert gate.on_state(state(1)) is None
    assert gate.status.state is GateState.WAITING and gate.status.stops == 0
    meet(gate, state(200))
    assert gate.resume() is not None
    assert gate.on_state(state(201)) is None and gate.status.state is GateState.WAITING
    commands = [gate.on_state(state(tick)) for tick in range(202, 250)]
    assert commands[-1] is not None and (gate.status.reason, gate.status.stops) == (NOT_LED, 0)  # nothing is wrong
    gate.on_unusable_state(249 * 1_000_000, "joint state is empty")
    assert (gate.status.reason, gate.status.stops) == ("joint state is empty", 1)  # now it is


def test_without_a_measurement_there_is_nothing_to_hold(gate):
    gate.interrupt("no command controller is active", silent=True)
    assert gate.resume() is None
    run(gate)


@pytest.mark.parametrize("mode", ["effort", "velocity", "position"])
def test_a_state_from_before_a_silence_says_nothing_of_where_the_arm_is_now(planar_3r, mode):
    now = 0.0
    gate = make(planar_3r, mode, lambda: now)
    for tick in (-1, 0, 1):
        answers(gate, state(tick, velocity=(0.5, 0.0, 0.0)))
    gate.interrupt("controller deactivated", silent=True)
    now = 1.0  # no state comes, whoever has the drives may move the arm
    assert gate.resume() is None
    now = 1.2
    assert gate.on_tick() is None
    moving = replace(state(700, velocity=(0.5, 0.0, 0.0)), position=ELSEWHERE)
    slower = np.array([0.5 - ACCELERATION * PERIOD, 0.0, 0.0])
    command = meet(gate, moving)
    if mode == "effort":
        assert np.allclose(gate.model.forward_dynamics(moving, command), [-ACCELERATION, 0.0, 0.0], atol=1e-6)
    else:
        assert np.allclose(command, slower if mode == "velocity" else ELSEWHERE + PERIOD * slower)


def test_an_unknown_mode_is_refused(gate):
    gate.interrupt("change", silent=False)
    with pytest.raises(ConfigError, match="command_mode must be one of effort, velocity, position; got 'torque'"):
        gate.resume("torque")


def test_references_of_either_mode_are_let_pass_while_modes_change(gate):
    run(gate)
    gate.interrupt("command mode changes to velocity", silent=False)
    only_velocity = replace(reference(2), effort=None, position=None)
    assert gate.on_reference(only_velocity) is None
    assert gate.status.stops == 1


@pytest.mark.parametrize("mode", ["effort", "velocity", "position"])
def test_an_arm_that_several_lead_is_held_until_one_is_left(planar_3r, mode):
    gate = make(planar_3r, mode)
    run(gate)
    gate.contest("2 publishers")
    for tick in range(2, 40):
        assert len(answers(gate, state(tick))) == 1
        assert gate.status.state is GateState.STOPPING and gate.status.reason == "2 publishers"
    gate.contest("")
    for tick in range(40, 80):
        answers(gate, state(tick))
    assert gate.status.state is GateState.RUNNING and gate.status.stops == 1


def test_who_shares_the_drives_gives_them_up_until_it_is_told_to_go_on(gate):
    run(gate)
    gate.give_up("1 other publishers")
    assert gate.status.state is GateState.TRIPPED and gate.status.fallback
    assert gate.status.reason == "1 other publishers"
    for tick in range(2, 40):
        assert len(answers(gate, state(tick))) == 1
    assert gate.status.state is GateState.TRIPPED
    gate.acknowledge()
    for tick in range(40, 80):
        answers(gate, state(tick))
    assert gate.status.state is GateState.RUNNING and not gate.status.fallback


@pytest.mark.parametrize("mode", ["effort", "velocity", "position"])
def test_good_references_that_come_before_their_states_end_a_stop_and_no_trip(planar_3r, mode):
    gate = make(planar_3r, mode)
    run(gate)
    stops = (lambda: gate.contest("two lead"), lambda: gate.give_up("1 other publishers"))
    for number, (stop, ends) in enumerate(zip(stops, (True, False), strict=True)):
        stop()
        gate.contest("")
        for tick in range(2 + 40 * number, 42 + 40 * number):
            assert gate.on_reference(reference(tick)) is None
            assert gate.on_state(state(tick)) is not None
        assert (gate.status.state is GateState.RUNNING) is ends
    assert gate.status.state is GateState.TRIPPED
