"""A joint whose effort acts backward is found, and efforts that act in vain, whatever the load; others are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gated_arm import PERIOD, Arm, make_gate

from flexarm_core.errors import InputError
from flexarm_core.hardware_gate.braking import Braking
from flexarm_core.hardware_gate.effort_direction import PRESSED, PUSHED, TRIED, EffortDirection
from flexarm_core.hardware_gate.gate import HardwareGate
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.state_machine import GateState
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, JointReference
from flexarm_tools.faults.campaign import run_core_case

N, MOST = 4, 20.0  # joints; effort limits [N*m]
NONE = np.zeros(0)


def direction() -> EffortDirection:
    one = np.ones(N)
    return EffortDirection(JointLimits(-9 * one, 9 * one, 2 * one, 20 * one, MOST * one, np.inf * one))


def spread(rng, largest: float) -> np.ndarray:
    """A random positive definite matrix (n, n)."""
    turned, _ = np.linalg.qr(rng.normal(size=(N, N)))
    return turned @ np.diag(largest * 10.0 ** rng.uniform(-1.5, 0.0, N)) @ turned.T


def found(
    seed: int, heavy: float, backward: int | None = None, late: bool = False, alternating: bool = False,
    period: float = 0.002, lost: float = 0.0,
) -> int:  # fmt: skip
    """The joint that is found; -1: none.

    ``heavy``: inertia of a load that nobody told, relative to the arm's. ``lost``: part of the efforts that do not
    reach the drives.
    """
    rng, watch = np.random.default_rng(seed), direction()
    told, load = spread(rng, 1.0), spread(rng, heavy)
    signs, velocity, given, before = np.ones(N), np.full(N, 1.5), np.zeros(N), np.zeros(N)
    acting, luck = np.zeros(N), np.random.default_rng([seed, 1])
    if backward is not None:
        signs[backward] = -1.0
    for k in range(60):
        state = ArmState(round((k + 1) * period * 1e9), np.zeros(N), velocity.copy(), NONE, NONE)
        joint = watch.find(state, given, np.full(N, 0.1), told)
        if joint is not None:
            return joint
        before, given = given, 0.3 * MOST * rng.normal(size=N)
        if alternating:
            given = (-1.0) ** k * np.abs(given)
        acting = signs * (before if late else given) if luck.random() >= lost else acting
        velocity = velocity + period * np.linalg.solve(told + load, acting) + 1e-5 * rng.normal(size=N)
    return -1


@pytest.mark.parametrize("alternating", (False, True), ids=("random", "alternating"))
def test_joints_that_answer_their_efforts_are_not_taken_for_reversed(alternating):
    """A sample late, alternating efforts of several joints can hardly be told from a reversed one."""
    assert {found(seed, 0.1, None, False, alternating) for seed in range(100)} == {-1}
    assert sum(found(seed, 1.0, None, True, alternating) >= 0 for seed in range(100)) < 6


@pytest.mark.parametrize("heavy", (0.01, 1.0, 10.0))
def test_a_reversed_joint_is_found_whatever_the_load(heavy):
    joints = [found(seed, heavy, seed % N) for seed in range(100)]
    assert sum(joint == seed % N for seed, joint in enumerate(joints)) > 80
    assert all(joint in (-1, seed % N) for seed, joint in enumerate(joints))


def test_at_low_rates_lost_commands_are_not_taken_for_a_reversed_joint():
    """23 of these 600 if only the last samples within MEMORY count: at 50 Hz that is one."""
    assert (
        sum(found(seed, heavy, None, False, False, 0.02, 0.3) >= 0 for seed in range(300) for heavy in (0.1, 1.0)) < 12
    )


@pytest.mark.parametrize(("late", "known"), ((0.0, True), (0.3, False)))
def test_after_the_process_was_late_it_is_not_known_when_efforts_acted(planar_3r_text, late, known):
    model, now = ArmModel(planar_3r_text, gravity=(0.0,) * 3), [0.0]
    gate, arm, rng = make_gate(model, clock=lambda: now[0], lockstep=False), Arm(model), np.random.default_rng(0)
    for k in range(100):
        now[0] += PERIOD
        if k == 90:
            gate.was_late(late)
        gate.on_state(arm.state)
        reference = JointReference(stamp=arm.state.stamp, effort=0.01 * model.effort_limit * rng.normal(size=3))
        command = gate.on_reference(reference)
        arm.step(np.zeros(3) if command is None else command)
    assert bool(gate._direction._memory[PUSHED].any()) is known


def test_no_joint_is_reversed_while_none_is_faster_than_its_acceleration_limit_allows():
    watch, velocity = direction(), 1.5
    for k in range(40):
        effort = np.full(N, 10.0 * np.sin(0.3 * k))
        velocity -= 0.002 * effort[0]
        state = ArmState((k + 1) * 2_000_000, np.zeros(N), np.full(N, velocity), NONE, NONE)
        assert watch.find(state, effort, np.zeros(N), np.eye(N)) is None


def test_full_effort_in_vain_is_tried_out_for_two_samples():
    watch, shares = direction(), []
    for k in range(PRESSED + 6):
        state = ArmState((k + 1) * 1_000_000, np.zeros(N), np.array((0.5 + 0.01 * k, 0.0, 0.0, 0.0)), NONE, NONE)
        watch.find(state, np.array((-MOST, 0.0, 0.0, 0.0)), np.full(N, 0.1), np.eye(N))
        shares.append(watch.share.tolist())
    tried = [[share, 1.0, 1.0, 1.0] for share in TRIED]
    assert shares[PRESSED - 1 : PRESSED + 1] == tried and shares[: PRESSED - 1] + shares[PRESSED + 1 :] == [
        [1.0] * N
    ] * (PRESSED + 4)
    watch.share[0] = 0.6
    watch.find(ArmState(1, np.zeros(N), np.zeros(N), NONE, NONE), np.zeros(N), np.zeros(N), np.eye(N))
    assert watch.share.tolist() == [1.0] * N  # time went back: a try ends with what was seen


def test_full_effort_that_drives_a_joint_is_not_lessened():
    watch = direction()
    for k in range(PRESSED + 6):
        state = ArmState((k + 1) * 1_000_000, np.zeros(N), np.array((0.5 + 0.01 * k, 0.0, 0.0, 0.0)), NONE, NONE)
        watch.find(state, np.array((MOST, 0.0, 0.0, 0.0)), np.full(N, 0.1), np.eye(N))
        assert watch.share.tolist() == [1.0] * N


def test_a_joint_that_others_carry_against_its_effort_is_not_reversed():
    rng, watch, velocity = np.random.default_rng(2), direction(), np.full(N, 1.5)
    inertia, effort = np.eye(N), np.zeros(N)
    inertia[0, 1] = inertia[1, 0] = 0.8
    for k in range(60):
        state = ArmState((k + 1) * 2_000_000, np.zeros(N), velocity.copy(), NONE, NONE)
        assert watch.find(state, effort, np.full(N, 0.1), inertia) is None
        pull = 0.5 * MOST * rng.normal()
        effort = np.array((0.3 * pull, pull, 0.0, 0.0))
        velocity = velocity + 0.002 * np.linalg.solve(inertia, effort)


def test_the_gate_gives_a_reversed_joint_no_effort_and_begins_anew_only_after_it_was_deactivated(planar_3r_text):
    model = ArmModel(planar_3r_text.replace('lower="-0.5" upper="0.5"', 'lower="-5" upper="5"'), gravity=(0.0,) * 3)
    gate, arm = make_gate(model), Arm(model, velocity=(0.0, 0.1, 0.0))
    backward = np.array((1.0, -1.0, 1.0))
    for _ in range(400):
        gate.on_state(arm.state)
        damped = -300.0 * arm.state.velocity
        command = gate.on_reference(JointReference(stamp=arm.state.stamp, effort=damped))
        if gate.status.state is GateState.TRIPPED:
            break
        arm.step(backward * command)
    status = gate.status
    assert f"efforts accelerate {model.joint_names[1]} the wrong way" in status.reason and status.fallback
    assert np.abs(arm.state.velocity).max() < 1.1
    arm.state = replace(arm.state, stamp=arm.state.stamp + round(PERIOD * 1e9))
    command = gate.on_state(arm.state)
    assert command is not None and command[1] == 0.0 and command.any()
    model_only = model.gravity_effort(arm.state) + 1.0
    gate._commands.law.load = lambda state: model_only  # what the arm needs at rest
    rest = gate.rest_command()
    assert rest is not None and rest[1] == 0.0 and rest[0] and rest[2]
    with pytest.raises(InputError, match="the wrong way.*deactivate and activate"):
        gate.acknowledge()
    gate.reset()
    assert gate.status.state is GateState.WAITING
    gate.acknowledge()


@pytest.mark.parametrize(("seed", "most"), ((7700013, 1.1), (7700025, 2.0), (7700002, 2.6), (8800037, 2.5)))
def test_arms_with_a_reversed_motor_are_given_to_the_fallback_before_they_are_thrown(seed, most):
    """Cases that reached up to 400 times the limits, and did not come to rest."""
    outcome = run_core_case(seed, ["motor_reversed"])
    assert outcome.speed_ratio < most and outcome.at_rest


def in_vain(seed: int, effect: np.ndarray, load: np.ndarray, fast: float, pushed: float = 0.0) -> list[bool]:
    """What is found while random efforts act with an effect (N, N) at a speed, and something pushes the third joint."""
    rng, watch, velocity, effort = np.random.default_rng(seed), direction(), np.full(N, fast), np.zeros(N)
    inertia, found = spread(rng, 3.0), []
    for k in range(12):
        watch.find(ArmState((k + 1) * 1_000_000, np.zeros(N), velocity.copy(), NONE, NONE), effort, np.ones(N), inertia)
        found.append(watch.in_vain)
        effort = 0.5 * MOST * rng.normal(size=N)
        push = pushed * rng.normal() * np.eye(N)[2]
        velocity = velocity + 0.001 * np.linalg.solve(inertia + load, effect @ effort + push)
    return found


def gate_in_vain(text: str, now=None, samples: int = 150, **config) -> tuple[HardwareGate, list[np.ndarray]]:
    """A gate that has tripped as something pushes a weightless arm whatever it commands, and its commands since."""
    model = ArmModel(text.replace('lower="-0.5" upper="0.5"', 'lower="-5" upper="5"'), gravity=(0.0,) * 3)
    now, rng = [0.0] if now is None else now, np.random.default_rng(1)
    gate, arm, given = make_gate(model, clock=lambda: now[0], **config), Arm(model, velocity=(0.0, 0.3, 0.0)), []
    for _ in range(600):
        now[0] += PERIOD
        answer = gate.on_state(arm.state)
        command = gate.on_reference(JointReference(stamp=arm.state.stamp, effort=-300.0 * arm.state.velocity))
        command = answer if command is None else command
        given += [command] if gate.status.state is GateState.TRIPPED else []
        arm.step(np.array((0.0, 20.0 + 100.0 * rng.normal(), 0.0)))
        if len(given) > samples:
            break
    return gate, given


def test_a_gate_whose_efforts_act_in_vain_gives_none_until_its_fallback_has_the_drives(planar_3r_text):
    gate, given = gate_in_vain(planar_3r_text, fallback=True)
    assert "efforts do not slow it" in gate.status.reason and gate.status.fallback
    assert not np.any(given[:100]) and np.any(given[101:])  # if no drive takes over, it does what it can


def test_an_arm_whose_links_bend_is_given_to_the_fallback_but_not_let_go(planar_3r_text, monkeypatch):
    """What the links have stored would move it: 3.0 times a limit when it was let go, 1.05 when not."""
    monkeypatch.setattr(Braking, "bends", True)
    gate, given = gate_in_vain(planar_3r_text, fallback=True)
    assert "efforts do not slow it" in gate.status.reason and gate.status.fallback and np.any(given[:50])


def test_efforts_return_after_a_release_although_no_joint_states_arrive_any_more(planar_3r_text):
    now = [0.0]
    gate, given = gate_in_vain(planar_3r_text, now=now, samples=20, fallback=True, lockstep=False)
    assert given and not np.any(given)
    later = []
    for _ in range(30):
        now[0] += 0.01
        later.append(gate.on_tick())
    assert any(np.any(command) for command in later if command is not None)


def test_a_gate_without_a_fallback_brakes_whatever_efforts_do(planar_3r_text):
    gate, given = gate_in_vain(planar_3r_text)
    assert "efforts do not slow it" not in gate.status.reason and np.any(given, axis=1).all()


SWAPPED, DEAD, NOT_THERE = np.eye(N)[[1, 0, 2, 3]], np.diag((1.0, 0.0, 0.0, 1.0)), np.zeros((N, N))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("effect", (SWAPPED, DEAD, NOT_THERE), ids=("swapped", "dead", "late"))
def test_efforts_that_act_in_vain_are_noticed_beyond_a_velocity_limit_and_only_there(seed, effect):
    assert any(in_vain(seed, effect, NOT_THERE, 2.2, pushed=5.0 * MOST))
    assert not any(in_vain(seed, effect, NOT_THERE, 0.5, pushed=5.0 * MOST))


@pytest.mark.parametrize("seed", range(6))
def test_efforts_that_act_on_any_load_are_not_in_vain_at_any_speed(seed):
    load = 10.0 ** (seed - 2) * spread(np.random.default_rng(seed), 50.0)
    assert not any(in_vain(seed, np.eye(N), load, 3.0))


@pytest.mark.parametrize("seed", range(20))
def test_noise_that_was_there_before_a_joint_escaped_is_no_proof_of_efforts_in_vain(seed):
    rng, watch, velocity, effort = np.random.default_rng(seed), direction(), np.full(N, 2.2), np.zeros(N)
    inertia, found = spread(rng, 3.0), []
    for k in range(600):
        seen = ArmState((k + 1) * 1_000_000, np.zeros(N), velocity + 0.001 * rng.normal(size=N), NONE, NONE)
        watch.find(seen, effort, np.full(N, float(k > 550)), inertia)
        found.append(watch.surely)
        effort = 0.1 * MOST * rng.normal(size=N)
        velocity = velocity + 0.001 * np.linalg.solve(inertia, effort)
    assert not any(found)


@pytest.mark.parametrize("seed", range(6))
def test_efforts_that_act_a_sample_late_may_seem_in_vain_but_not_surely(seed):
    rng, watch, velocity, effort = np.random.default_rng(seed), direction(), np.full(N, 2.2), np.zeros(N)
    inertia, found = spread(rng, 3.0), []
    for k in range(600):
        watch.find(ArmState((k + 1) * 1_000_000, np.zeros(N), velocity, NONE, NONE), effort, np.ones(N), inertia)
        found.append((watch.in_vain, watch.surely))
        velocity = velocity + 0.001 * np.linalg.solve(inertia, effort)  # which was in force a sample before
        effort = 0.1 * MOST * rng.normal(size=N)
    assert any(in_vain for in_vain, _ in found) and not any(surely for _, surely in found[100:])
