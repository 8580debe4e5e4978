"""The gate on a simulated arm: transparent when all is well, safe when it is not."""

from __future__ import annotations

import contextlib
import re
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from confirmed import meet
from gated_arm import ACCELERATION, PERIOD, VELOCITY, Arm, effort_for, make_gate

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.hardware_gate.command_law import CommandLaw
from flexarm_core.hardware_gate.config import HardwareGateConfig
from flexarm_core.hardware_gate.gate import HardwareGate
from flexarm_core.hardware_gate.limits import JointLimits, hardest_braking
from flexarm_core.hardware_gate.speed_watch import SpeedWatch
from flexarm_core.hardware_gate.state_machine import GateState
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, JointReference


@pytest.fixture
def planar_3r(planar_3r_text) -> ArmModel:
    """The planar arm on a base that may move as far as it likes: these tests are about joints."""
    return ArmModel(planar_3r_text.replace('lower="-0.5" upper="0.5"', 'lower="-5" upper="5"'), gravity=(0.0, 0.0, 0.0))


def test_within_every_limit_the_effort_passes_unchanged(planar_3r):
    gate, arm = make_gate(planar_3r), Arm(planar_3r)
    for _ in range(50):
        assert gate.on_state(arm.state) is None
        reference = effort_for(planar_3r, arm.state, [0.5, -1.0, 1.9])
        command = gate.on_reference(reference)
        assert np.array_equal(command, reference.effort)
        arm.step(command)
    assert gate.status.state is GateState.RUNNING and gate.status.stops == 0 and gate.status.limited == ()


def test_a_reference_that_comes_before_its_state_waits_for_it(planar_3r):
    gate, arm = make_gate(planar_3r), Arm(planar_3r)
    reference = effort_for(planar_3r, arm.state, [0.0, 1.0, 0.0])
    assert gate.on_reference(reference) is None
    assert np.array_equal(gate.on_state(arm.state), reference.effort)


def test_in_lockstep_a_state_is_answered_once_and_only_by_its_own_reference(planar_3r):
    gate, arm = make_gate(planar_3r), Arm(planar_3r)
    gate.on_state(arm.state)
    reference = effort_for(planar_3r, arm.state, [0.0, 0.0, 0.0])
    assert gate.on_reference(reference) is not None
    assert gate.on_reference(reference) is None
    arm.step(reference.effort)
    gate.on_state(arm.state)
    assert gate.on_reference(reference) is None


def test_an_effort_that_answered_a_state_in_a_stop_also_answers_its_reference(planar_3r):
    """Who looks at the answers to references alone would go on with the effort before: it may throw the arm."""
    gate, arm = make_gate(planar_3r), Arm(planar_3r)
    for _ in range(3):
        gate.on_state(arm.state)
        arm.step(gate.on_reference(effort_for(planar_3r, arm.state, [5.0, -5.0, 5.0])))
    gate.contest("two lead")
    for _ in range(10):
        brakes = gate.on_state(arm.state)
        again = gate.on_reference(effort_for(planar_3r, arm.state, [5.0, -5.0, 5.0]))
        assert gate.status.state is GateState.STOPPING and brakes is not None and again is brakes
        assert gate.on_unusable_reference("no effort") is brakes
        arm.step(again)
    assert gate.on_state(arm.state) is not None
    gate.interrupt("no controller is active", silent=True)
    assert gate.on_reference(effort_for(planar_3r, arm.state, [0.0, 0.0, 0.0])) is None
    assert gate.on_unusable_reference("no effort") is None


def test_pushing_against_the_limits_never_breaks_them(planar_3r):
    gate, arm = make_gate(planar_3r), Arm(planar_3r)
    seen = set()
    for tick in range(12000):
        gate.on_state(arm.state)
        sign = 1.0 if tick < 6000 else -1.0
        command = gate.on_reference(effort_for(planar_3r, arm.state, sign * np.array([100.0, 100.0, -100.0])))
        seen.update(gate.status.limited)
        arm.step(command)
        # the effort limit comes first: where it binds, the others give way by a trifle
        assert np.all(np.abs(arm.state.velocity) <= VELOCITY + 2e-3)
        # a base that swings by meters pushes the joints for some milliseconds before that is observed
        assert np.all(arm.state.position <= planar_3r.upper + 0.03)
        assert np.all(arm.state.position >= planar_3r.lower - 0.03)
        assert np.all(np.abs(command) <= planar_3r.effort_limit)
    assert any("joint1: position" in text for text in seen)


def test_effort_changes_no_faster_than_its_rate_limit(planar_3r):
    gate, arm = make_gate(planar_3r, effort_rate=1000.0), Arm(planar_3r)
    commands = []
    for tick in range(100):
        gate.on_state(arm.state)
        wanted = [5.0, 0.0, 0.0] if tick % 40 < 20 else [-5.0, 0.0, 0.0]
        commands.append(gate.on_reference(effort_for(planar_3r, arm.state, wanted)))
        arm.step(commands[-1])
    assert np.abs(np.diff(commands, axis=0)).max() <= 1000.0 * PERIOD + 1e-9


def test_without_references_the_arm_stops_and_then_stays(planar_3r):
    gate, arm = make_gate(planar_3r), Arm(planar_3r, velocity=(1.0, -0.5, 0.8))
    gate.on_state(arm.state)
    last = gate.on_reference(effort_for(planar_3r, arm.state, np.zeros(3)))
    arm.step(last)
    for _ in range(1000):
        command, most = gate.on_state(arm.state), hardest_braking(gate.limits, arm.state.velocity)
        if command is not None:
            before = arm.state.velocity
            last = command
        arm.step(last)
        if command is not None:
            assert np.all(np.abs(arm.state.velocity - before) <= 2.0 * most * PERIOD)  # the base pushes, too
    assert gate.status.state is GateState.STOPPING and gate.status.stops == 1
    assert "no joint reference for 0.08" in gate.status.reason
    assert np.abs(arm.state.velocity).max() < 1e-3
    rest = arm.state.position
    for _ in range(1000):
        arm.step(gate.on_state(arm.state))
    assert np.abs(arm.state.position - rest).max() < 1e-3


def test_states_that_stay_too_old_ask_for_the_fallback(planar_3r):
    now = 0.0
    gate, arm = make_gate(planar_3r, lockstep=False, clock=lambda: now), Arm(planar_3r)
    borne = gate.config.bearable_age(elastic_base=True)
    for tick in range(500):
        now = tick * PERIOD
        late = tick >= 50
        command = gate.on_state(arm.state, 1.5 * borne if late else 0.0)
        if not late:
            command = gate.on_reference(effort_for(planar_3r, arm.state, np.zeros(3)))
        if tick == 60:
            assert gate.status.state is GateState.STOPPING and "s old when they arrive" in gate.status.reason
        if gate.status.fallback:
            break
        arm.step(np.zeros(3) if command is None else command)
    assert gate.status.state is GateState.TRIPPED and gate.status.fallback
    assert gate.config.blind_time < now - 50 * PERIOD < gate.config.blind_time + 0.02


def test_a_stop_for_late_states_ends_only_where_they_are_well_within_what_is_borne(planar_3r):
    now = 0.0
    gate, arm = make_gate(planar_3r, lockstep=False, clock=lambda: now), Arm(planar_3r)
    borne = gate.config.bearable_age(elastic_base=True)
    states = []
    for tick in range(300):
        now = tick * PERIOD
        age = 0.0 if tick < 50 else 1.2 * borne if tick < 100 else 0.9 * borne if tick < 200 else 0.3 * borne
        answer = gate.on_state(arm.state, age)
        followed = gate.on_reference(effort_for(planar_3r, arm.state, np.zeros(3)))
        states.append(gate.status.state)
        command = followed if followed is not None else answer
        arm.step(np.zeros(3) if command is None else command)
    running, stopping = GateState.RUNNING, GateState.STOPPING
    assert states[49] is running and states[99] is stopping and states[199] is stopping and states[-1] is running


def test_late_states_that_are_overtaken_are_not_called_a_clock_that_jumped(planar_3r):
    now = 0.0
    gate, arm = make_gate(planar_3r, lockstep=False, clock=lambda: now, command_mode="velocity"), Arm(planar_3r)
    for tick in range(151):
        now, late = tick * PERIOD, 0.095 if tick < 150 else 0.0
        state = replace(arm.state, stamp=round((now + 1.0 - late) * 1e9))
        with pytest.raises(InputError) if tick == 150 else contextlib.nullcontext():  # a jump is not believed at once
            (gate.on_state if tick else partial(meet, gate))(state, late)
            gate.on_reference(JointReference(state.stamp, velocity=np.zeros(3)))
    assert "0.095 s late, and are not any more" in gate.status.reason


def test_a_stop_on_late_states_ends_only_where_they_have_shown_it(planar_3r):
    """States and commands are 60 ms late: what is measured shows an arm at rest that has just begun to move."""
    late, clock, none, goal = 60, Clock(), np.zeros(planar_3r.m), np.full(3, 0.1)
    gate = make_gate(planar_3r, lockstep=False, clock=clock, command_mode="position")
    commands, speed, stopped = [goal] * (2 * late), 0.0, False
    for tick in range(2 * late, 1500):
        clock.now = tick * PERIOD
        then = [commands[tick - shift - 2 * late] for shift in (0, 1)]
        state = ArmState((tick - late) * 1_000_000, then[0], (then[0] - then[1]) / PERIOD, none, none)
        given = [gate.on_state(state, late * PERIOD)]
        goal = goal + np.clip((tick - 600) * PERIOD * ACCELERATION, 0.0, 0.8) * PERIOD * np.ones(3)
        given.append(gate.on_reference(JointReference(state.stamp, position=goal)) if tick > 2 * late + 5 else None)
        given.append(gate.on_unusable_reference("test") if tick == 705 else None)
        commands.append(next((one for one in reversed(given) if one is not None), commands[-1]))
        speed = np.abs(commands[tick - late] - commands[tick - late - 1]).max() / PERIOD
        if stopped and gate.status.state is GateState.RUNNING:
            break
        stopped = gate.status.state is GateState.STOPPING and tick >= 705
    assert stopped and 705 < tick < 1400 and speed < 0.1 * VELOCITY


def test_joints_that_a_stop_on_late_states_makes_faster_ask_for_the_fallback(planar_3r):
    watch = SpeedWatch(make_gate(planar_3r).limits, planar_3r.joint_names)
    limit = make_gate(planar_3r).limits.velocity
    state = Arm(planar_3r).state
    for late, reached in ((True, 0.5), (False, 1.1)):
        watch.begin_stop()
        named = [
            share
            for share in np.arange(0.3, 1.4, 0.05)
            if watch.failing_stop(replace(state, velocity=share * limit), 0.0, late=late)
        ]
        assert reached - 0.1 < named[0] <= reached + 0.15


def test_who_commands_late_is_still_suspected_after_the_drives_had_another_controller(planar_3r):
    """While the fallback has the drives, commands of the gate move nothing and say nothing about their delay."""
    gate, arm = make_gate(planar_3r, lockstep=False), Arm(planar_3r)
    meet(gate, arm.state)
    arm.step(gate.on_reference(effort_for(planar_3r, arm.state, np.zeros(3))))
    gate._timing.response.age = 0.065
    gate.on_state(arm.state)
    assert gate.status.fallback
    for tick in range(400):
        arm.step(30.0 * np.sin(0.1 * tick) * np.array([1.0, 0.5, 0.2]))
        gate.on_state(arm.state)
    gate.acknowledge()
    assert gate._timing.response.suspected == 0.065


def test_after_the_fallback_had_the_drives_commands_begin_anew(planar_3r):
    """The gate's own commands meanwhile moved nothing: they grew to the effort limits, and a reset began with them."""
    gate, arm = make_gate(planar_3r, lockstep=False), Arm(planar_3r)
    meet(gate, arm.state)
    arm.step(gate.on_reference(effort_for(planar_3r, arm.state, np.zeros(3))))
    gate.give_up("another writer")
    largest = 0.0
    for tick in range(400):
        arm.step(30.0 * np.sin(0.1 * tick) * np.array([1.0, 0.5, 0.2]))
        command = gate.on_state(arm.state)
        largest = max(largest, float(np.abs(command / planar_3r.effort_limit).max()))
    arm.state = replace(arm.state, velocity=np.zeros(3))
    gate.on_state(arm.state)
    gate.acknowledge()
    arm.step(np.zeros(3))
    first = gate.on_state(arm.state)
    assert largest > 0.2 and gate._timing.response.suspected == 0.0
    assert np.abs(first / planar_3r.effort_limit).max() < 0.01


@pytest.mark.parametrize("fallback", [False, True])
def test_while_others_hold_the_arm_the_effort_of_the_gate_does_not_grow(planar_3r, fallback):
    """A brake holds it where the gate would not: efforts that move nothing grew without a bound."""
    gate, arm = make_gate(planar_3r, lockstep=False, fallback=fallback), Arm(planar_3r)
    rng, sagged = np.random.default_rng(1), np.array([0.01, -0.012, 0.008])
    meet(gate, arm.state)
    arm.step(gate.on_reference(effort_for(planar_3r, arm.state, np.zeros(3))))
    gate.give_up("another writer")
    gate.on_state(arm.state)
    for tick in range(1, 3000):
        position = arm.state.position + min(tick / 1000, 1.0) * sagged
        velocity = (tick < 1000) * sagged + 1e-3 * rng.standard_normal(3)
        stamp = arm.state.stamp + tick * 1_000_000
        command = gate.on_state(replace(arm.state, stamp=stamp, position=position, velocity=velocity))
    assert gate.status.fallback and np.abs(command / planar_3r.effort_limit).max() < 0.1


def test_one_state_that_is_too_old_is_not_followed(planar_3r):
    now = 0.0
    gate, arm = make_gate(planar_3r, lockstep=False, clock=lambda: now), Arm(planar_3r)
    for tick, age in enumerate((0.0, 0.0, 0.05, 0.0)):
        now = tick * PERIOD
        (gate.on_state if tick else partial(meet, gate))(arm.state, age)
        command = gate.on_reference(effort_for(planar_3r, arm.state, np.zeros(3)))
        assert (command is None) == (age > 0.0) and gate.status.state is GateState.RUNNING
        arm.step(np.zeros(3))


def test_after_a_stop_good_references_bring_control_back(planar_3r):
    gate, arm = make_gate(planar_3r), Arm(planar_3r)
    gate.on_state(arm.state)
    assert gate.on_unusable_reference("test") is not None
    assert gate.status.state is GateState.STOPPING
    for _ in range(10):
        arm.step(np.zeros(3))
        command = gate.on_state(arm.state)
        reference = effort_for(planar_3r, arm.state, [0.1, 0.0, 0.0])
        command = gate.on_reference(reference) if command is None else (gate.on_reference(reference), command)[1]
        assert command is not None
    assert gate.status.state is GateState.RUNNING and np.array_equal(command, reference.effort)
    assert gate.status.stops == 1


def test_without_measurements_the_arm_brakes_along_its_model_and_is_then_borne(planar_3r_text):
    model = ArmModel(planar_3r_text, gravity=(0.0, -1.0, 0.0))
    now = 0.0
    gate, arm = make_gate(model, lockstep=False, clock=lambda: now), Arm(model, velocity=(0.5, -0.3, 0.2))
    meet(gate, arm.state)
    command = gate.on_reference(effort_for(model, arm.state, np.zeros(3)))
    fastest = 0.0
    for tick in range(1, 600):
        now = tick * PERIOD
        arm.step(command)
        answer = gate.on_tick() if tick % 10 == 0 else None
        command = command if answer is None else answer
        fastest = max(fastest, float(np.abs(arm.state.velocity).max()))
        if tick == 70:
            assert gate.status.state is GateState.RUNNING and not gate.status.blind  # late, not lost
        if tick == 100:
            assert gate.status.state is GateState.STOPPING and gate.status.blind
            assert gate.status.reason == "no joint state for 0.090 s"
        if tick in (290, 320):
            assert gate.status.fallback == (tick == 320)
            assert np.abs(arm.state.velocity).max() < 0.3  # from 0.52, and the base goes on pushing
        if tick == 330:
            break
    assert fastest <= 0.55
    assert np.allclose(command, model.gravity_effort(arm.state), atol=1.0)
    with pytest.raises(InputError, match=r"no usable joint state for 0\.330 s: the drives cannot be taken over"):
        gate.acknowledge()
    assert gate.status.fallback and gate.status.state is GateState.TRIPPED
    for tick in range(3):
        with nullcontext() if tick == 2 else pytest.raises(InputError, match="yet to agree"):
            gate.on_state(replace(arm.state, stamp=arm.state.stamp + tick, velocity=np.zeros(3)))
    gate.acknowledge()
    assert not gate.status.fallback and gate.status.state is GateState.STOPPING


@pytest.mark.parametrize("mode", ["velocity", "position"])
def test_set_points_do_not_make_up_for_the_time_in_which_no_state_came(planar_3r, mode):
    """Drives held the last one meanwhile: a step to where a stop would have led would jerk the arm."""
    now = 0.0
    gate, state = make_gate(planar_3r, lockstep=False, clock=lambda: now, command_mode=mode), Arm(planar_3r).state
    rate = np.array([0.5, 0.3, -0.4])
    for tick in range(100):
        now, position = tick * PERIOD, state.position + tick * PERIOD * rate
        gate.on_state(replace(state, stamp=tick * 1_000_000, position=position, velocity=rate))
        reference = JointReference(tick * 1_000_000, position=position + PERIOD * rate, velocity=rate)
        before = gate.on_reference(reference)
    assert gate.status.state is GateState.RUNNING
    led, given, seen = gate._commands.law.rate.copy(), [before], now
    for tick in range(1, 12):
        now = seen + 0.01 * tick
        given += [] if (answer := gate.on_tick()) is None else [answer]
    passed = np.array([[PERIOD], *[[0.01]] * (len(given) - 2)])
    rates = given[1:] if mode == "velocity" else np.diff(given, axis=0) / passed
    slower = -np.diff(np.abs([led, *rates]), axis=0)
    share = slower / (ACCELERATION * passed)  # the stop begins softly, as the base bends
    assert gate.status.blind and share[0] == pytest.approx(np.ones(3)) and ((share > 0.5) & (share < 1.0 + 1e-6)).all()


class Clock:
    """Time of a gate."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time [s]."""
        return self.now


def lead(model: ArmModel, missing=(), late=(), unheard=()) -> tuple[HardwareGate, np.ndarray, np.ndarray]:
    """Lead position drives; references to these ticks are missing, or come after the next state, or states are missing.

    Returns:
        The gate; set points in force at each tick, and velocities of the joints.
    """
    clock, at, goal, base, waits = Clock(), np.full(3, 0.1), np.full(3, 0.1), np.zeros(model.m), None
    gate = make_gate(model, lockstep=False, clock=clock, command_mode="position")
    commands, velocities = [at], [0.0 * at]
    for tick in range(1, 1000):
        clock.now = tick * PERIOD
        state = ArmState(round(tick * PERIOD * 1e9), at, velocities[-1], base, base)
        heard = tick not in unheard
        given = [gate.on_state(state) if heard else None, None if waits is None else gate.on_reference(waits)]
        goal, waits = goal + min(tick * PERIOD / 0.5, 1.0) * LED * PERIOD, None
        reference = JointReference(state.stamp, position=goal)
        if tick in late:
            waits = reference
        elif heard and tick not in missing:
            given.append(gate.on_reference(reference))
        given.append(gate.on_tick() if tick % 2 == 0 else None)
        commands.append(next((one for one in reversed(given) if one is not None), commands[-1]))
        moved = at + (1.0 - np.exp(-80.0 * PERIOD)) * (commands[-1] - at)
        velocities.append((moved - at) / PERIOD)
        at = moved
    return gate, np.array(commands), np.array(velocities)


LED, AT_MOST = np.array([0.6, -0.4, 0.3]), 1.001 * ACCELERATION * PERIOD


def test_a_position_drive_whose_references_are_lost_slows_down_at_the_limit_and_not_at_once(planar_3r):
    """It halts a joint at its last set point; a stop that began only then would set it in motion again."""
    gate, commands, velocities = lead(planar_3r, missing=range(690, 1000))
    assert gate.status.state is GateState.STOPPING and "no joint reference" in gate.status.reason
    rates = np.diff(commands, axis=0) / PERIOD
    assert np.abs(np.diff(rates[690:], axis=0)).max() <= AT_MOST and not rates[-1].any()
    assert np.abs(np.diff(velocities, axis=0)).max() <= 1.05 * AT_MOST + 0.08 * 0.6  # one period of the drive alone


def test_a_position_drive_is_led_on_towards_rest_while_states_are_missing(planar_3r):
    gate, _, velocities = lead(planar_3r, unheard=range(700, 750))
    assert gate.status.state is GateState.RUNNING
    assert (np.abs(velocities[730]) >= 0.7 * np.abs(LED)).all()  # a drive without set points rests by then


def test_one_lost_reference_costs_a_position_drive_no_more_than_its_own_period(planar_3r):
    gate, _, velocities = lead(planar_3r, missing=range(700, 1000, 25))
    assert gate.status.state is GateState.RUNNING
    assert np.abs(velocities[700:] - LED).max() <= 0.08 * 0.6 + 2.0 * AT_MOST


def test_a_reference_that_comes_after_the_next_state_takes_the_place_of_the_set_point_that_filled_in(planar_3r):
    """Both set points of one period would be two steps: twice the velocity."""
    _, commands, velocities = lead(planar_3r, late=range(700, 1000))
    assert np.abs(np.diff(commands[702:], axis=0) / PERIOD - LED).max() <= AT_MOST
    assert np.abs(velocities[700:] - LED).max() <= 0.08 * 0.6 + 2.0 * AT_MOST


@pytest.mark.parametrize("oftener", [2, 4, 5])
def test_states_that_come_oftener_than_references_do_not_quicken_set_points(planar_3r, oftener):
    """A reference is overdue after a period; in the states before, set points would run ahead."""
    clock, goal, base = Clock(), np.full(3, 0.1), np.zeros(planar_3r.m)
    gate, velocity = make_gate(planar_3r, lockstep=False, clock=clock, command_mode="position"), 0.0 * goal
    command = goal
    for tick in range(1, 600 * oftener):
        clock.now = tick * PERIOD / oftener
        at = goal + tick % oftener / oftener * PERIOD * velocity
        state = ArmState(round(clock.now * 1e9), at, velocity, base, base)
        given = [gate.on_state(state)]
        if tick % oftener == 0:
            velocity = min(clock.now / 0.4, 1.0) * LED
            goal = goal + velocity * PERIOD
            given.append(gate.on_reference(JointReference(state.stamp, position=goal)))
            command = next((one for one in reversed(given) if one is not None), command)
            assert np.abs(command - goal).max() <= 0.1 * PERIOD * LED.max()
        elif tick > 10 * oftener:
            assert given == [None]
    assert gate.status.state is GateState.RUNNING and np.abs(command - goal).max() < 1e-9


def test_set_points_begin_anew_once_in_a_stop_where_an_encoder_counts_backward(planar_3r):
    """Each new beginning moves its joint, for ever: it went to and fro."""
    clock, none = Clock(), np.zeros(planar_3r.m)
    gate = make_gate(planar_3r, lockstep=False, clock=clock, command_mode="position")
    gate = HardwareGate(planar_3r, replace(gate.limits, following_error=np.full(3, 0.05)), gate.config, clock)
    true, goal, moved, states = np.full(3, 0.1), np.full(3, 0.1), [], set()
    command = true
    for tick in range(1, 3000):
        clock.now = tick * PERIOD
        before, true = true, true + np.clip(0.08 * (command - true), -0.5 * PERIOD, 0.5 * PERIOD)
        read, rate = true.copy(), (true - before) / PERIOD
        read[0], rate[0] = 0.2 - true[0], -rate[0]  # from rest on
        state = ArmState(tick * 1_000_000, read, rate, none, none)
        goal = goal + np.clip((tick - 30) * PERIOD, 0.0, 0.3) * PERIOD * (gate.status.state is GateState.RUNNING)
        given = [gate.on_state(state), gate.on_reference(JointReference(state.stamp, position=goal))]
        command = next((one for one in reversed(given) if one is not None), command)
        states.add(gate.status.state)
        moved.append(true[0])
    assert gate.status.state is GateState.TRIPPED and "nor those that began anew" in gate.status.reason
    assert GateState.STOPPING in states and np.ptp(moved[-1000:]) < 1e-6


def test_the_stop_for_lost_references_answers_the_newest_state_at_once(planar_3r):
    now = 0.0
    gate, arm = make_gate(planar_3r, lockstep=False, clock=lambda: now), Arm(planar_3r, velocity=(0.5, 0.0, 0.0))
    meet(gate, arm.state)
    command = gate.on_reference(effort_for(planar_3r, arm.state, np.zeros(3)))
    for tick in range(1, 80):
        now = tick * PERIOD
        arm.step(command)
        gate.on_state(arm.state)
    before, now = arm.state.velocity[0], 0.0805
    arm.step(gate.on_tick())
    assert gate.status.state is GateState.STOPPING and gate.status.reason.startswith("no joint reference for 0.08")
    assert -3.0 * ACCELERATION < (arm.state.velocity[0] - before) / PERIOD < -0.5 * ACCELERATION


def test_where_a_prediction_is_worth_little_the_fallback_is_asked_for_and_the_arm_braked_on(planar_3r_text):
    model = ArmModel(planar_3r_text, gravity=(0.0, -3.0, 0.0))
    now = 0.0
    gate, arm = make_gate(model, lockstep=False, clock=lambda: now), Arm(model, velocity=(0.5, -0.4, 0.3))
    meet(gate, arm.state)
    command, speeds, asked = gate.on_reference(effort_for(model, arm.state, np.zeros(3))), [], None
    for tick in range(1, 290):
        now = tick * PERIOD
        arm.step(command)
        answer = gate.on_tick() if tick % 10 == 0 else None
        command = command if answer is None else answer
        speeds.append(float(np.abs(arm.state.velocity).max()))
        asked = tick if asked is None and gate.status.fallback else asked
    assert asked is not None and 90 < asked < 250
    assert gate.status.state is GateState.TRIPPED
    assert speeds[-1] < 0.5 * speeds[asked]


def test_an_unusable_state_stops_the_arm_and_is_answered_by_braking_along_the_model(planar_3r):
    gate, arm = make_gate(planar_3r), Arm(planar_3r, velocity=(0.5, 0.0, 0.0))
    gate.on_state(arm.state)
    arm.step(gate.on_reference(effort_for(planar_3r, arm.state, [1.0, 0.0, 0.0])))
    command = gate.on_unusable_state(1_000_000, "joint state position of joint2 is not finite")
    before = arm.state.velocity
    arm.step(command)
    assert np.allclose((arm.state.velocity - before) / PERIOD, [-ACCELERATION, 0.0, 0.0], atol=0.1)
    assert gate.status.state is GateState.STOPPING and "joint2" in gate.status.reason


def test_a_reference_with_nan_or_of_another_kind_is_refused(planar_3r):
    gate, arm = make_gate(planar_3r), Arm(planar_3r)
    gate.on_state(arm.state)
    good = effort_for(planar_3r, arm.state, np.zeros(3))
    with pytest.raises(InputError, match="effort is not finite"):
        gate.on_reference(replace(good, effort=np.array([0.0, np.nan, 0.0])))
    with pytest.raises(InputError, match=r"effort has shape \(2,\)"):
        gate.on_reference(replace(good, effort=np.zeros(2)))
    with pytest.raises(InputError, match="'effort' needs effort in the joint reference; given: position"):
        gate.on_reference(JointReference(stamp=0, position=np.zeros(3)))


def test_what_friction_takes_is_no_acceleration(planar_3r):
    gate, arm = make_gate(planar_3r), Arm(planar_3r, velocity=(0.2, -0.1, 0.3))
    friction = np.array([45.0, -30.0, 13.0])
    gate.on_state(arm.state)
    links = effort_for(planar_3r, arm.state, [0.5, -1.0, 1.5])
    reference = replace(links, effort=links.effort + friction, friction=friction)
    assert np.array_equal(gate.on_reference(reference), reference.effort)
    assert gate.status.limited == ()
    gate = make_gate(planar_3r)
    gate.on_state(arm.state)
    assert not np.allclose(gate.on_reference(replace(reference, friction=None)), reference.effort, atol=1.0)
    assert "joint3: position, velocity or acceleration" in gate.status.limited


def test_the_links_of_a_rubbing_joint_get_the_limited_acceleration(planar_3r):
    gate, arm = make_gate(planar_3r), Arm(planar_3r, velocity=(0.2, -0.1, 0.3))
    friction = np.array([45.0, -30.0, 13.0])
    gate.on_state(arm.state)
    links = effort_for(planar_3r, arm.state, [0.5, -7.0, 1.5])
    command = gate.on_reference(replace(links, effort=links.effort + friction, friction=friction))
    allowed = effort_for(planar_3r, arm.state, [0.5, -ACCELERATION, 1.5]).effort
    assert np.allclose(command, allowed + friction, rtol=0.0, atol=1e-9)
    assert gate.status.limited == ("joint2: position, velocity or acceleration",)


def test_rubbing_joints_keep_every_limit_when_their_friction_is_known(planar_3r):
    gate, arm = make_gate(planar_3r), Arm(planar_3r)
    for tick in range(6000):
        gate.on_state(arm.state)
        friction = np.array([45.0, 30.0, 13.0]) * np.tanh(arm.state.velocity / 1e-3)
        sign = 1.0 if tick < 3000 else -1.0
        links = effort_for(planar_3r, arm.state, sign * np.array([100.0, 100.0, -100.0]))
        command = gate.on_reference(replace(links, effort=links.effort + friction, friction=friction))
        arm.step(command - friction)
        assert np.all(np.abs(arm.state.velocity) <= 1.01 * VELOCITY)
        # a base that swings by meters pushes the joints for some milliseconds before that is observed
        assert np.all(arm.state.position <= planar_3r.upper + 0.03)
        assert np.all(arm.state.position >= planar_3r.lower - 0.03)
        assert np.all(np.abs(command) <= planar_3r.effort_limit)


def test_no_more_friction_is_believed_than_the_motor_can_give(planar_3r):
    gate, arm = make_gate(planar_3r), Arm(planar_3r)
    most = planar_3r.effort_limit[1]
    gate.on_state(arm.state)
    friction = np.array([0.0, most + 100.0, 0.0])
    links = effort_for(planar_3r, arm.state, [0.0, -1.0, 0.0]).effort
    believed = np.array([0.0, most, 0.0])
    command = gate.on_reference(JointReference(arm.state.stamp, effort=links + believed, friction=friction))
    assert np.array_equal(command, links + believed)  # judged with the friction that was believed, it passes
    assert gate.status.limited == ("joint2: friction",)


def test_no_more_friction_is_believed_than_max_friction(planar_3r):
    limits = replace(make_gate(planar_3r).limits, friction=np.array([20.0, 5.0, 20.0]))
    gate, arm = HardwareGate(planar_3r, limits, HardwareGateConfig(period=PERIOD, lockstep=True)), Arm(planar_3r)
    gate.on_state(arm.state)
    links = effort_for(planar_3r, arm.state, [0.0, -1.0, 0.0]).effort
    command = gate.on_reference(
        JointReference(0, effort=links + np.array([0.0, 5.0, 0.0]), friction=np.array([15.0, 30.0, -15.0]))
    )
    assert "joint2: friction" in gate.status.limited
    wanted = planar_3r.forward_dynamics(arm.state, links - np.array([15.0, 0.0, -15.0]))
    held = wanted * ACCELERATION / np.abs(wanted).max()  # each one limited alone would need more effort than was asked
    allowed = planar_3r.inverse_dynamics(planar_3r.blocks(arm.state), arm.state, held)
    assert np.allclose(command, allowed + np.array([15.0, 5.0, -15.0]), rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_over_an_elastic_base_less_acceleration_needs_no_more_effort_than_was_asked(planar_3r, seed):
    """What was asked spares the base; its joints limited one by one would push it: once 479 N*m instead of 63."""
    rng = np.random.default_rng(seed)
    gate, arm = make_gate(planar_3r), Arm(planar_3r)
    arm.state = replace(arm.state, position=np.array([0.67, 0.34, -2.33]) + 0.1 * rng.standard_normal(3))
    gate.on_state(arm.state)
    spares = np.linalg.svd(planar_3r.blocks(arm.state).H_bm)[2][1:]
    wanted = rng.standard_normal(2) @ spares
    asked = effort_for(planar_3r, arm.state, 3.0 * ACCELERATION * wanted / np.abs(wanted).max())
    command = gate.on_reference(asked)
    assert (np.abs(command) <= np.abs(asked.effort) + 0.05 * planar_3r.effort_limit + 1e-9).all()
    caused = planar_3r.forward_dynamics(arm.state, command)
    assert np.abs(caused).max() <= ACCELERATION * (1.0 + 1e-9) and gate.status.limited


@pytest.mark.parametrize("claimed", [5.0, 100.0])
def test_friction_that_is_not_there_does_not_make_a_joint_run_away(planar_3r, claimed):
    gate, arm = make_gate(planar_3r), Arm(planar_3r)
    fastest, farthest = 0.0, -np.inf
    for _ in range(2500):
        stops = gate.on_state(arm.state)
        friction = np.array([0.0, claimed, 0.0])
        links = effort_for(planar_3r, arm.state, [0.0, 100.0, 0.0])
        command = gate.on_reference(replace(links, effort=links.effort + friction, friction=friction))
        arm.step(command if stops is None else stops)
        fastest = max(fastest, float(np.abs(arm.state.velocity).max()))
        farthest = max(farthest, float((arm.state.position - planar_3r.upper).max()))
    assert fastest <= 1.2 * VELOCITY and farthest <= 0.05  # this gate is told to believe any friction


def test_an_effort_limit_that_is_infinite_believes_friction_that_could_not_throw_the_arm(planar_3r):
    limits = replace(make_gate(planar_3r).limits, effort=np.full(3, np.inf))
    gate = HardwareGate(planar_3r, limits, HardwareGateConfig(period=PERIOD, lockstep=True))
    arm, friction = Arm(planar_3r), np.array([0.0, 600.0, 0.0])
    gate.on_state(arm.state)
    command = gate.on_reference(JointReference(arm.state.stamp, effort=friction, friction=friction))
    assert np.array_equal(command, friction) and gate.status.limited == ()
    gate.on_state(replace(arm.state, stamp=1_000_000))
    thrown = gate.on_reference(JointReference(1_000_000, effort=100.0 * friction, friction=100.0 * friction))
    moved = arm.model.forward_dynamics(arm.state, thrown) * PERIOD
    assert np.abs(moved).max() <= 1.1 * VELOCITY and "joint2: friction" in gate.status.limited


@pytest.mark.parametrize("joint", range(3))
def test_a_joint_that_slows_as_hard_as_its_limit_allows_is_slowed_no_harder(planar_3r_text, joint):
    stiff = re.sub("<flexibility>.*</flexibility>", "", planar_3r_text, flags=re.DOTALL)
    rigid = ArmModel(stiff.replace('type="prismatic"', 'type="fixed"'), gravity=(0.0, 0.0, 0.0))
    start, asked, speeds = np.zeros(3), np.zeros(3), []
    start[joint], asked[joint] = 0.9 * VELOCITY, -10.0 * ACCELERATION
    gate, arm = make_gate(rigid), Arm(rigid, velocity=tuple(start))
    for _ in range(60):
        gate.on_state(arm.state)
        speeds.append(arm.state.velocity[joint])
        arm.step(gate.on_reference(effort_for(rigid, arm.state, asked)))
    window = round(0.02 / PERIOD)
    slowed = (np.array(speeds[:-window]) - np.array(speeds[window:])) / (window * PERIOD)
    assert 0.9 * ACCELERATION < slowed.max() < 2.5 * ACCELERATION


def test_effort_limits_hold_for_the_whole_effort_friction_included(planar_3r):
    gate, arm = make_gate(planar_3r), Arm(planar_3r)
    most = planar_3r.effort_limit[0]
    gate.on_state(arm.state)
    friction = np.array([most - 10.0, 0.0, 0.0])
    links = effort_for(planar_3r, arm.state, [1.0, 0.0, 0.0]).effort
    assert links[0] > 10.0
    command = gate.on_reference(JointReference(arm.state.stamp, effort=links + friction, friction=friction))
    assert np.isclose(command[0], most, rtol=0.0, atol=1e-9)
    moved = planar_3r.forward_dynamics(arm.state, command - friction)
    assert 0.0 < moved[0] < 1.0 and np.allclose(moved[1:], 0.0, atol=1e-9)  # all joints give way alike
    assert "joint1: effort" in gate.status.limited


def test_the_effort_rate_limit_holds_for_the_whole_effort_friction_included(planar_3r):
    gate, arm = make_gate(planar_3r, effort_rate=1000.0), Arm(planar_3r)
    commands = []
    for sign in (1.0, -1.0):  # a joint turns back, and its friction with it
        gate.on_state(arm.state)
        friction = sign * np.array([45.0, 0.0, 0.0])
        commands.append(gate.on_reference(JointReference(arm.state.stamp, effort=friction, friction=friction)))
        arm.step(np.zeros(3))
    assert np.array_equal(commands, [[45.0, 0.0, 0.0], [44.0, 0.0, 0.0]])
    assert gate.status.limited == ("joint1: effort",)


def test_a_stop_keeps_nothing_of_the_friction(planar_3r):
    friction, after = np.array([45.0, -30.0, 13.0]), []
    for given in (np.zeros(3), friction):
        gate, arm = make_gate(planar_3r), Arm(planar_3r, velocity=(0.2, -0.1, 0.3))
        gate.on_state(arm.state)
        links = effort_for(planar_3r, arm.state, np.zeros(3))
        gate.on_reference(replace(links, effort=links.effort + given, friction=given))
        arm.step(links.effort)
        gate.on_state(arm.state)
        after.append(gate.on_unusable_reference("test"))
    assert np.array_equal(*after)


@pytest.mark.parametrize("mode", ["effort", "velocity", "position"])
def test_friction_that_cannot_be_used_is_refused_in_every_mode(planar_3r, mode):
    gate, arm = make_gate(planar_3r, command_mode=mode), Arm(planar_3r)
    gate.on_state(arm.state)
    with pytest.raises(InputError, match="friction is not finite"):
        gate.on_reference(JointReference(0, **{mode: np.zeros(3)}, friction=np.array([0.0, np.nan, 0.0])))
    with pytest.raises(InputError, match=r"friction has shape \(2,\), expected \(3,\)"):
        gate.on_reference(JointReference(0, **{mode: np.zeros(3)}, friction=np.zeros(2)))
    with pytest.raises(InputError, match=f"'{mode}' needs {mode} in the joint reference; given: friction"):
        gate.on_reference(JointReference(0, friction=np.zeros(3)))


@pytest.mark.parametrize("mode", ["velocity", "position"])
def test_friction_means_nothing_to_velocities_and_positions(planar_3r, mode):
    commands = []
    for friction in (None, np.full(3, 1e6)):
        gate, arm = make_gate(planar_3r, command_mode=mode), Arm(planar_3r)
        gate.on_state(arm.state)
        commands.append(gate.on_reference(JointReference(0, **{mode: np.full(3, 3.0)}, friction=friction)))
        assert all("velocity or acceleration" in text for text in gate.status.limited)
    assert np.array_equal(*commands)


def test_a_stale_reference_is_refused(planar_3r):
    gate, arm = make_gate(planar_3r, lockstep=False), Arm(planar_3r)
    meet(gate, arm.state)
    gate.on_state(replace(arm.state, stamp=70_000_000))
    assert gate.on_reference(JointReference(stamp=0, effort=np.zeros(3))) is not None
    gate.on_state(replace(arm.state, stamp=90_000_000))
    with pytest.raises(InputError, match="0.090 s older than the newest joint state"):
        gate.on_reference(JointReference(stamp=0, effort=np.zeros(3)))


@pytest.mark.parametrize("mode", ["velocity", "position"])
def test_velocity_and_position_commands_keep_velocity_and_acceleration_limits(planar_3r, mode):
    gate, arm = make_gate(planar_3r, command_mode=mode), Arm(planar_3r)
    commands, state = [], arm.state
    for tick in range(9000):
        state = replace(state, stamp=tick * 1_000_000)
        answer = gate.on_state(state)
        if tick < 6500:
            target = np.array([3.0, -3.0, 10.0])  # a jump, far beyond limits
            reference = JointReference(stamp=state.stamp, **{mode: target})
            answer = gate.on_reference(reference)
        if answer is not None:
            commands.append(answer)
        command = commands[-1]
        moved = command if mode == "position" else state.position + PERIOD * command
        state = replace(state, position=moved, velocity=(moved - state.position) / PERIOD)
    rates = np.array(commands) if mode == "velocity" else np.diff(commands, axis=0) / PERIOD
    accelerations = np.diff(rates, axis=0) / PERIOD
    assert np.abs(rates).max() <= VELOCITY + 1e-6
    assert np.abs(accelerations).max() <= ACCELERATION + 1e-6
    assert np.all(state.position <= planar_3r.upper + 1e-4)
    assert np.all(state.position >= planar_3r.lower - 1e-4)
    assert gate.status.state is GateState.STOPPING and np.allclose(rates[-1], 0.0)


def test_a_repeated_state_is_ignored_and_a_clock_that_went_back_begins_anew_with_a_stop(planar_3r):
    gate, arm = make_gate(planar_3r), Arm(planar_3r)
    gate.on_state(replace(arm.state, stamp=5_000_000_000))
    gate.on_reference(JointReference(5_000_000_000, effort=np.zeros(3)))
    assert gate.on_state(replace(arm.state, stamp=5_000_000_000)) is None
    assert gate.on_state(replace(arm.state, stamp=4_999_000_000)) is None
    assert gate.status.state is GateState.RUNNING
    assert gate.on_state(replace(arm.state, stamp=0)) is not None
    assert gate.status.reason == "time went back by 5.000 s"
    for tick in range(1, 8):
        gate.on_state(replace(arm.state, stamp=tick * 1_000_000))
        gate.on_reference(JointReference(tick * 1_000_000, effort=np.zeros(3)))
    assert gate.status.state is GateState.RUNNING and gate.status.stops == 1


@pytest.mark.parametrize("change", [{"command_mode": "magic"}, {"period": 0.0}, {"recovery_samples": 0}])
def test_settings_without_meaning_are_refused(change):
    with pytest.raises(ConfigError):
        HardwareGateConfig(**change)


def test_where_one_motor_cannot_bear_its_weight_the_others_brake(planar_3r_text):
    model = ArmModel(planar_3r_text, gravity=(0.0, -9.81, 0.0))
    state = ArmState(0, np.radians([60.0, -60.0, -60.0]), np.array([-0.3, 0.3, -0.4]), np.zeros(1), np.zeros(1))
    weight = model.gravity_effort(state)
    effort = np.array([0.9 * abs(weight[0]), 500.0, 500.0])
    wide, one = np.full(3, np.inf), np.ones(3)
    limits = JointLimits(-wide, wide, VELOCITY * one, ACCELERATION * one, effort, wide)
    law = CommandLaw(model, limits, "effort", PERIOD, PERIOD, 20.0)
    given = law.brake(state, PERIOD)
    assert law.limited == ("joint1: effort",)
    acceleration = model.forward_dynamics(state, given)
    assert (np.abs(given) <= effort).all() and abs(given[0]) == effort[0]
    assert acceleration[1:] * np.sign(state.velocity[1:]) == pytest.approx(-ACCELERATION * one[1:], rel=0.05)


def weak_law(text: str, rng: np.random.Generator) -> tuple[ArmModel, CommandLaw, ArmState]:
    """A law of an arm with weak motors, in a random state, weightless or not."""
    fixed = re.sub(r'(<joint name="base_x" type=)"[a-z]*"', r'\1"fixed"', re.sub(r"<elastic_joint[^>]*/>", "", text))
    model = ArmModel(fixed, gravity=(0.0, -9.81 * rng.integers(2), 0.0))
    none, wide = np.zeros(0), np.full(3, np.inf)
    state = ArmState(0, rng.uniform(-1.5, 1.5, 3), rng.uniform(-2.0, 2.0, 3), none, none)
    blocks = model.blocks(state)
    strength = rng.uniform(0.05, 1.2, 3) * np.abs(np.diag(blocks.H_m)) * 10.0 + 0.1
    one = np.ones(3)
    limits = JointLimits(-wide, wide, 3.0 * one, 10.0 * one, strength, wide)
    return model, CommandLaw(model, limits, "effort", PERIOD, PERIOD, 20.0), state


@pytest.mark.parametrize("seed", range(60))
def test_weak_motors_never_throw_another_joint(planar_3r_text, seed):
    """Following or braking, what a motor cannot give makes all accelerations smaller, or none but its own larger."""
    rng = np.random.default_rng(seed)
    model, law, state = weak_law(planar_3r_text, rng)
    most, bias = law._limits.effort, model.inverse_dynamics(model.blocks(state), state, np.zeros(3))
    wanted = rng.uniform(-10.0, 10.0, 3)
    followed = law.follow(model.inverse_dynamics(model.blocks(state), state, wanted), None, state)
    assert (np.abs(followed) <= most * (1.0 + 1e-9)).all()
    caused = model.forward_dynamics(state, followed)
    weight = model.gravity_effort(state)
    if (np.abs(weight + 1.21 * (bias - weight)) < most).all() and (np.abs(bias) < most).all():
        share = caused @ wanted / (wanted @ wanted)
        assert 0.0 <= share <= 1.0 + 1e-6 and caused == pytest.approx(share * wanted, abs=1e-6)
    braked = law.brake(state, PERIOD)
    assert (np.abs(braked) <= most * (1.0 + 1e-9)).all()
    free = np.abs(braked) < most * (1.0 - 1e-6)
    slowed = -model.forward_dynamics(state, braked) * np.sign(state.velocity)
    assert (slowed[free] > -1e-6).all() and (slowed[free] < 10.0 * (1.0 + 1e-6)).all()
