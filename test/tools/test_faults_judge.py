"""Judge: what a campaign has to see, it sees; each of these motions and statuses is one that a broken gate gave."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from flexarm_core.hardware_gate.state_machine import NOT_LED
from flexarm_core.types import ArmState
from flexarm_tools.faults.arm_faults import NoFault
from flexarm_tools.faults.arms import draw_arm
from flexarm_tools.faults.data_faults import ReferencesLost, StatesLost
from flexarm_tools.faults.gate_under_test import Seen
from flexarm_tools.faults.judge import Judge
from flexarm_tools.faults.outcome import ACCELERATION_BAR, Outcome
from flexarm_tools.faults.plant_faults import HeavyHand
from flexarm_tools.faults.sensor_faults import EncoderJumps, JointsSwapped
from flexarm_tools.faults.source import Source
from flexarm_tools.faults.tally import failures, tally

STEP = 0.001
RUNS = Seen("running", "", 0)


def judge_of(fault, *, arm="arm_7r", mode="velocity", held=None, where="core"):
    """A judge of a case at 0.1 s, its outcome and its arm."""
    rng = np.random.default_rng(0)
    outcome, drawn = Outcome(0, "none", where, arm, mode, "hardware_gate", 250, ""), draw_arm(rng, arm, mode)
    one = fault(rng, 0.1)
    one.end = 1.0
    return Judge(outcome, [one], drawn, held), outcome, drawn.model


def moved(judge, model, accelerate, *, until=0.6, position=None, deflection=0.0):
    """Move the first joint with an acceleration that depends on time and velocity."""
    q, v = np.zeros(model.n) if position is None else position.copy(), np.zeros(model.n)
    for k in range(round(until / STEP)):
        v[0] += accelerate(k * STEP, v[0]) * STEP
        q[0] += v[0] * STEP
        bent = np.full(model.m, deflection)
        state = SimpleNamespace(position=q.copy(), velocity=v.copy(), deflection=bent, deflection_rate=0.0 * bent)
        if not judge.see_motion(k * STEP, state, led=True):
            return


@pytest.mark.parametrize(("times", "hard"), [(1.0, False), (4.0, True)])
@pytest.mark.parametrize("mode", ["effort", "velocity", "position"])
def test_accelerations_of_several_times_the_limit_are_seen(mode, times, hard):
    judge, outcome, model = judge_of(ReferencesLost, mode=mode)
    most = times * min(10.0 * model.velocity_limit[0], 20.0)
    moved(judge, model, lambda now, v: most if v < 0.8 * model.velocity_limit[0] else 0.0)
    assert outcome.too_hard is hard and outcome.speed_ratio < 1.0
    assert outcome.acceleration_ratio == pytest.approx(times, rel=0.05)


@pytest.mark.parametrize(("arm", "hard"), [("arm_7r", True), ("boom_7r", False)])
def test_a_law_may_brake_a_joint_hard_over_an_elastic_base_only(arm, hard):
    judge, outcome, model = judge_of(ReferencesLost, arm=arm, mode="effort")
    most = min(10.0 * model.velocity_limit[0], 20.0)
    moved(judge, model, lambda now, v: most if now < 0.08 else -4.0 * most if v > 0.0 else 0.0)
    assert outcome.too_hard is hard and outcome.acceleration_ratio >= 0.99


@pytest.mark.parametrize(("halted", "fast"), [(True, 0.9), (True, 1.5), (False, 0.9)])
def test_where_an_arm_goes_while_its_gate_gets_no_processor_is_not_the_fault_of_the_gate(halted, fast):
    judge, outcome, model = judge_of(ReferencesLost, mode="effort")
    q, speed = np.zeros(model.n), np.zeros(model.n)
    speed[0], none = fast * model.velocity_limit[0], np.zeros(model.m)
    for k in range(6000):
        q += STEP * speed if k < 3000 else 0.0
        sensed = SimpleNamespace(position=q, velocity=speed * (k < 3000), deflection=none, deflection_rate=none)
        judge.see_motion(0.001 * k, sensed, led=False, halted=halted and 200 < k < 3000)
    assert q[0] > model.upper[0] and outcome.leaves_limits is not halted and judge.thrown is (fast > 1.1)


def test_where_nothing_is_measured_accelerations_are_not_promised():
    judge, outcome, model = judge_of(StatesLost, mode="effort")
    moved(judge, model, lambda now, v: 100.0 if 0.2 < now < 0.202 else 0.0)
    assert outcome.acceleration_ratio < ACCELERATION_BAR["effort"]


@pytest.mark.parametrize(("brakes_at", "leaves"), [(0.3, False), (1e9, True)])
def test_a_joint_that_is_driven_on_beyond_its_limit_is_told_from_one_that_could_not_stop_before(brakes_at, leaves):
    judge, outcome, model = judge_of(ReferencesLost)
    position = np.zeros(model.n)
    position[0] = model.upper[0] - 0.05 * model.velocity_limit[0]
    hardest = min(10.0 * model.velocity_limit[0], 20.0)

    def accelerate(now, v):
        if now < 0.15:  # it is fast before the gate can react
            return hardest if v < 0.9 * model.velocity_limit[0] else 0.0
        return -hardest if now > min(brakes_at, 0.15) + 0.05 and brakes_at < 1.0 and v > 0.0 else 0.0

    moved(judge, model, accelerate, position=position)
    assert outcome.leaves_limits is leaves


@pytest.mark.parametrize(("fault", "judged"), [(EncoderJumps, False), (JointsSwapped, True)])
def test_positions_are_not_judged_after_the_reset_of_an_encoder_that_has_jumped(fault, judged):
    """Nobody can know any more where the joint is; before the reset, it is held where it was."""
    for reset in (False, True):
        judge, outcome, model = judge_of(fault)
        judge.see_status(0.0, RUNS, reset=reset, stopped=False)
        start = np.zeros(model.n)
        start[0] = model.upper[0] - 0.01
        moved(judge, model, lambda now, v: 1.0 if now > 0.3 and v < 0.3 else 0.0, position=start)
        assert (outcome.position_excess > 0.0) is (judged or not reset)


def test_a_posture_that_is_to_be_held_and_is_left_is_seen():
    held = np.zeros(7)
    judge, outcome, model = judge_of(ReferencesLost, held=held)
    moved(judge, model, lambda now, v: 1.0 if v < 0.3 * model.velocity_limit[0] else 0.0, until=1.5)
    assert "did not stay at rest" in outcome.missed and outcome.runs_away


def test_a_base_beyond_its_limit_must_trip_the_gate():
    for state, ignored in (("running", True), ("tripped", False)):
        judge, outcome, model = judge_of(ReferencesLost, arm="planar_3r")
        judge.see_status(0.0, Seen(state, "base", 0, error=True), reset=False, stopped=False)
        moved(judge, model, lambda now, v: 0.0, deflection=0.6)
        assert outcome.base_ignored is ignored and outcome.base_ratio == pytest.approx(1.2)


@pytest.mark.parametrize(
    ("seen", "missed"),
    [
        ([Seen("tripped", "x", 1, error=True), RUNS], "trip not latched"),
        ([Seen("tripped", "x", 1, error=True, trips=k) for k in (1, 2)], "trip not latched"),
        ([Seen("stopping", "", 1)], "wrong level"),
        ([Seen("stopping", "x", 1, error=False)], "wrong level"),
        ([Seen("stopping", "x", 1, error=True), *([RUNS] * 100)], "resumed early"),
        ([Seen("stopping", "x", 1, error=True)] * 100, ""),
        ([Seen("stopping", NOT_LED, 0)], ""),
    ],
)
def test_a_trip_that_ends_a_stop_that_is_no_error_and_a_gate_that_resumes_into_a_fault_are_seen(seen, missed):
    judge, outcome, _ = judge_of(ReferencesLost)
    for k, one in enumerate(seen):
        judge.see_status(0.25 + k * STEP, one, reset=False, stopped=True)
    assert set(outcome.missed) == {missed} - {""}


def test_after_a_reset_a_trip_may_end():
    judge, outcome, _ = judge_of(StatesLost)
    for one, reset in ((Seen("tripped", "x", 1, error=True), False), (RUNS, True)):
        judge.see_status(2.0, one, reset=reset, stopped=True)
    assert not outcome.missed


@pytest.mark.parametrize(("fault", "early"), [(ReferencesLost, True), (JointsSwapped, False)])
def test_after_a_reset_a_gate_may_run_into_a_fault_that_shows_in_motion_alone(fault, early):
    judge, outcome, _ = judge_of(fault)
    for k, reset in enumerate([False] * 10 + [True] * 100):
        one = RUNS if reset else Seen("tripped", "x", 1, error=True)
        judge.see_status(0.25 + k * STEP, one, reset=reset, stopped=True)
    assert outcome.resumed_early is early


@pytest.mark.parametrize(
    ("where", "moves", "early"),
    [("core", 0.0, False), ("core", 0.02, True), ("node", 0.02, False), ("node", 0.1, True)],
)
def test_a_stop_that_ends_while_the_arm_moves_is_seen_though_the_status_of_a_node_may_lag_behind(where, moves, early):
    judge, outcome, model = judge_of(ReferencesLost, where=where)
    judge.see_status(1.2, Seen("stopping", "x", 1, error=True), reset=False, stopped=True)
    still = SimpleNamespace(position=np.zeros(7), velocity=np.zeros(7), deflection=np.zeros(0))
    judge.see_motion(1.2, still, led=True)
    for k in range(round(moves / STEP)):
        fast = SimpleNamespace(position=still.position, velocity=0.5 * model.velocity_limit, deflection=np.zeros(0))
        judge.see_motion(1.2 + (k + 1) * STEP, fast, led=True)
    judge.see_status(1.2 + moves + STEP, RUNS, reset=False, stopped=True)
    assert outcome.resumed_early is early


def test_an_error_where_nothing_is_wrong_is_seen():
    judge, outcome, _ = judge_of(NoFault)
    judge.see_status(0.5, Seen("running", "", 0, error=True), reset=False, stopped=False)
    assert outcome.mislabeled == 1


@pytest.mark.parametrize(("mode", "off", "bad"), [
    ("effort", 0.0, False), ("effort", 0.2, True), ("velocity", 0.01, False), ("velocity", 0.5, True),
    ("position", 0.01, False), ("position", 0.5, True),
])  # fmt: skip
def test_a_first_command_far_from_what_holds_the_arm_is_seen(mode, off, bad):
    judge, outcome, model = judge_of(ReferencesLost, mode=mode)
    none = np.zeros(model.n)
    position = np.full(model.n, 0.3)
    sensed = SimpleNamespace(position=position, velocity=none, deflection=np.zeros(0), deflection_rate=np.zeros(0))
    weight = model.gravity_effort(ArmState(0, position, none, np.zeros(0), np.zeros(0)))
    held = {"effort": weight, "velocity": none, "position": position}[mode]
    scale = model.effort_limit if mode == "effort" else model.velocity_limit
    judge.see_first(held + off * scale, sensed, weight, none)
    assert outcome.bad_start is bad


@pytest.mark.parametrize(("times", "bad"), [(0.9, False), (1.1, True)])
def test_a_first_effort_may_be_what_the_law_makes_of_the_noise_of_a_measurement(times, bad):
    judge, outcome, model = judge_of(ReferencesLost, mode="effort")
    none, asked = np.zeros(model.n), np.linspace(5.0, 10.0, model.n)
    sensed = SimpleNamespace(position=none, velocity=none, deflection=np.zeros(0), deflection_rate=np.zeros(0))
    state = ArmState(0, none, none, np.zeros(0), np.zeros(0))
    weight = model.gravity_effort(state)
    judge.see_first(weight + times * (0.05 * model.effort_limit + asked), sensed, weight, asked)
    assert outcome.bad_start is bad


def test_a_law_tuned_for_a_heavier_arm_makes_more_of_the_noise_of_a_measurement():
    rng = np.random.default_rng(5)
    arm = draw_arm(rng, "arm_7r", "effort")
    heavier = HeavyHand(rng, 0.0)
    source = Source(rng, arm.model, 1000.0, law=heavier.law)
    heavier.plants(arm.plant_text, source, arm)
    position, none = source.start, np.zeros(arm.model.n)
    sensed = SimpleNamespace(position=position, velocity=none, deflection=np.zeros(0), deflection_rate=np.zeros(0))
    noise = 0.001 * arm.model.velocity_limit

    def effort(velocity):
        return source.answer(ArmState(0, position, velocity, np.zeros(0), np.zeros(0)), 0.0).effort

    made = [np.abs(effort(noise * rng.choice([-1.0, 1.0], noise.size)) - effort(none)) for _ in range(200)]
    assert np.max(made, axis=0) == pytest.approx(source.asked(sensed, noise, 0.0), rel=0.2)


def test_a_first_command_may_move_the_arm_as_its_law_does_by_then():
    """At 50 Hz, three states that agree take 0.04 s: the path has begun, and it is the law that accelerates the arm."""
    arm = draw_arm(np.random.default_rng(5), "arm_7r", "effort")
    source, model, none = Source(np.random.default_rng(6), arm.model, 50.0), arm.model, np.zeros(arm.model.n)
    for now in (0.0, 0.04, 0.1):
        position, velocity, acceleration = source.desired(now)
        state = ArmState(0, position, velocity, np.zeros(0), np.zeros(0))
        moves = np.abs(model.inverse_dynamics(model.blocks(state), state, acceleration) - model.gravity_effort(state))
        sensed = SimpleNamespace(position=position, velocity=velocity, deflection=none[:0], deflection_rate=none[:0])
        assert source.asked(sensed, none, now) == pytest.approx(moves, abs=1e-9)
        assert moves.any() == (now > 0.0)


def test_a_campaign_without_valid_cases_fails():
    def outcome(where, late):
        return Outcome(0, "none", where, "random", "effort", "hardware_gate", 250, "", late_machine=late)

    core = [outcome("core", False) for _ in range(8)]
    assert failures(tally(core, {})) == []
    nodes = [outcome("node", late) for late in (False, True)]
    assert failures(tally([*core, *nodes], {})) == ["valid_cases_share is 0.5, needed 0.8"]
    assert failures(tally([], {})) == ["valid_cases_share is 0, needed 0.8"]
