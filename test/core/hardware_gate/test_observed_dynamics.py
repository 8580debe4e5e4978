"""Observed dynamics, against Pinocchio: what efforts do to an arm with a load that nobody mentioned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from confirmed import meet

from flexarm_core.hardware_gate.config import HardwareGateConfig
from flexarm_core.hardware_gate.gate import HardwareGate
from flexarm_core.hardware_gate.joint_dynamics import JointDynamics
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.observed_dynamics import ObservedDynamics
from flexarm_core.hardware_gate.state_machine import GateState
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import ArmState, JointReference

PERIOD, STEPS, NONE = 0.002, 8, np.zeros(0)
ROOT = Path(__file__).resolve().parents[3]
UR10 = Path(pin.__file__).parents[4] / "share/example-robot-data/robots/ur_description/urdf/ur10_robot.urdf"
POSTURE = np.array([0.3, -1.2, 1.4, -0.4, -1.1, 0.5])


class Loaded:
    """A UR10, told without its load, or with a hand, or more of its last links, of other inertia."""

    def __init__(self, load: float = 0.0, hand: float = 1.0, links: int = 1) -> None:
        text = UR10.read_text(encoding="utf-8")
        self.told, self.real = ArmModel(text, "tool0", (0.0, 0.0, -9.81)), pin.buildModelFromXML(text)
        frame = self.real.frames[self.real.getFrameId("tool0")]
        for joint in range(frame.parentJoint, frame.parentJoint - links, -1):
            link = self.real.inertias[joint]
            self.real.inertias[joint] = pin.Inertia(hand * link.mass, link.lever, hand * link.inertia)
        self.empty = self.real.copy()
        self.carry(load, (0.05, 0.0, 0.1))
        self.q, self.v, self.tick = POSTURE.copy(), np.zeros(6), 0
        velocity = self.told.velocity_limit
        self.limits = JointLimits(
            self.told.lower, self.told.upper, velocity, np.full(6, 20.0), self.told.effort_limit, np.full(6, np.inf)
        )

    def carry(self, load: float, place: tuple[float, float, float]) -> None:
        """Carry a ball of steel at a place in tool axes, and nothing else, from now on."""
        self.real = self.empty.copy()
        frame = self.real.frames[self.real.getFrameId("tool0")]
        radius = np.cbrt(load / (4.0 / 3.0 * np.pi * 7850.0))
        there = frame.placement * pin.SE3(np.eye(3), np.array(place))
        if load:
            self.real.appendBodyToJoint(frame.parentJoint, pin.Inertia.FromSphere(load, radius), there)
        self.data = self.real.createData()

    @property
    def state(self) -> ArmState:
        return ArmState(round(self.tick * PERIOD * 1e9), self.q.copy(), self.v.copy(), NONE, NONE)

    @property
    def inertia(self) -> np.ndarray:
        """The told inertia of the joints."""
        return self.told.blocks(self.state).H_m

    @property
    def bearing(self) -> np.ndarray:
        """Effort that bears the arm with its load."""
        return np.asarray(pin.computeGeneralizedGravity(self.real, self.data, self.q))

    def step(self, effort: np.ndarray) -> np.ndarray:
        """Move for a period; return the mean acceleration."""
        before = self.v
        for _ in range(STEPS):
            self.v = self.v + PERIOD / STEPS * pin.aba(self.real, self.data, self.q, self.v, effort)
            self.q = self.q + PERIOD / STEPS * self.v
        self.tick += 1
        return (self.v - before) / PERIOD


def test_at_first_the_model_says_what_an_effort_does_and_which_effort_does_it():
    arm, rng = Loaded(), np.random.default_rng(1)
    observed = ObservedDynamics(JointDynamics(arm.told), arm.limits, PERIOD)
    state = ArmState(0, POSTURE, rng.uniform(-0.5, 0.5, 6), NONE, NONE)
    effort = arm.told.gravity_effort(state) + rng.uniform(-1.0, 1.0, 6) * 0.01 * arm.told.effort_limit
    caused = observed.acceleration(state, effort[None])[0]
    assert np.allclose(caused, arm.told.forward_dynamics(state, effort) + undamped(arm.told, state), rtol=1e-6)
    again = observed.effort(state, caused)
    assert np.allclose(again, effort, rtol=1e-9)


def undamped(model: ArmModel, state: ArmState) -> np.ndarray:
    """What the told damping takes, which is not counted on."""
    return np.linalg.solve(model.blocks(state).H_m, model.D_m * state.velocity)


@pytest.mark.parametrize("load", [1.0, 5.0, 10.0])
def test_an_effort_that_bears_a_load_is_one_that_causes_nothing_whatever_the_model_says(load):
    arm = Loaded(load)
    observed, effort = ObservedDynamics(JointDynamics(arm.told), arm.limits, PERIOD), arm.bearing
    assert np.abs(arm.told.forward_dynamics(arm.state, effort)).max() > 100.0
    for _ in range(100):
        observed.observe(arm.state, effort)
        arm.step(effort)
    assert np.abs(observed.acceleration(arm.state, effort[None])).max() < 0.1
    assert np.abs(arm.v).max() < 0.01


def test_the_inertia_of_a_load_is_learned_from_what_bears_it_and_never_exceeds_the_real_one_by_much():
    arm = Loaded(5.0)
    observed = ObservedDynamics(JointDynamics(arm.told), arm.limits, PERIOD)
    rng, effort = np.random.default_rng(3), arm.bearing
    for _ in range(100):
        observed.observe(arm.state, effort)
        effort = arm.bearing + arm.inertia @ rng.uniform(-5.0, 5.0, 6)
        arm.step(effort)
    full = pin.crba(arm.real, arm.data, arm.q)
    full = np.triu(full) + np.triu(full, 1).T
    ratios = np.linalg.eigvals(np.linalg.solve(full, arm.inertia + observed.load)).real
    assert ratios.min() > 0.2 and ratios.max() < 1.2
    assert np.linalg.eigvals(np.linalg.solve(full, arm.inertia)).real.min() < 0.03  # what was told


def hold(
    arm: Loaded, changes: dict[int, tuple[float, tuple[float, float, float]]], ticks: int = 300
) -> tuple[float, float]:
    """Hold an arm whose load changes at ticks; return the greatest speed / limit, and that one period after changes."""
    rng, fastest, unavoidable = np.random.default_rng(3), 0.0, 0.0
    observed, effort = ObservedDynamics(JointDynamics(arm.told), arm.limits, PERIOD), arm.bearing
    for tick in range(ticks):
        if tick in changes:
            arm.carry(*changes[tick])
        state = replace(arm.state, velocity=arm.v + 1e-4 * rng.standard_normal(6))
        observed.observe(state, effort)
        asked = -state.velocity / 0.03
        effort = observed.effort(state, asked)
        observed.expect(asked)
        arm.step(effort)
        fastest = max(fastest, float(np.max(np.abs(arm.v) / arm.limits.velocity)))
        unavoidable = max(unavoidable, fastest * (tick in changes))
    assert np.abs(arm.v).max() < 0.02
    return fastest, unavoidable


LOADS = [(0.4, (0.03, -0.01, 0.02)), (0.4, (0.1, 0.1, 0.0)), (1.0, (0.03, 0.03, 0.05)), (3.0, (0.05, 0.0, 0.1))]


@pytest.mark.parametrize("at", [20, 100])
@pytest.mark.parametrize("load", LOADS)
def test_a_load_picked_up_at_rest_is_caught(load, at):
    fastest, _ = hold(Loaded(), {at: load})
    assert fastest < 0.45  # 0.53 to 1.8 if what was seen before counts


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize(("other", "bar"), [((0.0, (0.0, 0.0, 0.0)), 1.05), ((0.2, (0.0, 0.05, 0.0)), 1.45)])
def test_an_arm_that_loses_its_load_is_not_thrown_by_the_effort_that_bore_it(load, other, bar):
    arm = Loaded()
    arm.carry(*load)
    fastest, unavoidable = hold(arm, {100: other})
    assert fastest < bar * unavoidable  # 1.08 and 1.47 times if that effort fades as usual


def test_a_load_that_was_lost_long_ago_does_not_throw_the_arm():
    arm = Loaded()
    arm.q = np.array([0.85, -1.74, 1.49, -0.61, -1.56, 0.32])
    arm.carry(0.4, (0.03, 0.06, -0.12))
    fastest, _ = hold(arm, {100: (0.0, (0.0, 0.0, 0.0))}, ticks=450)
    assert fastest < 0.2  # thrown if what was seen before is kept


@pytest.mark.parametrize("seed", range(3))
def test_an_arm_that_others_hold_has_no_load_whatever_is_asked_of_it(seed):
    """Efforts that move nothing look like an inertia beyond measure, which would correct the first motion."""
    arm, rng = Loaded(), np.random.default_rng(seed)
    observed = ObservedDynamics(JointDynamics(arm.told), arm.limits, PERIOD)
    asked, loads = 0.1 * arm.told.effort_limit * rng.uniform(-1.0, 1.0, 6), []
    for tick in range(500):
        share = min(tick / 100, 1.0) - 0.2 * min(max(tick / 100 - 1.0, 0.0), 1.0)
        state = replace(arm.state, stamp=round(tick * PERIOD * 1e9), velocity=1e-3 * rng.standard_normal(6))
        observed.observe(state, arm.bearing + share * asked)
        loads.append(np.abs(observed.load).max())
    assert not any(loads[300:])


def test_what_bears_a_load_is_kept_while_others_have_the_drives_and_when_control_begins_again():
    arm, rng = Loaded(5.0), np.random.default_rng(2)
    observed, bearing = ObservedDynamics(JointDynamics(arm.told), arm.limits, PERIOD), arm.bearing
    for _ in range(1000):
        observed.observe(arm.state, arm.bearing)
        arm.step(arm.bearing)
    lasting = observed.lasting.copy()
    for _ in range(500):  # they move it, and efforts of the gate do nothing
        arm.q, arm.v, arm.tick = arm.q + PERIOD * 0.1, np.full(6, 0.1), arm.tick + 1
        observed.observe(arm.state, arm.told.effort_limit * rng.uniform(-1.0, 1.0, 6), given_up=True)
    assert np.array_equal(observed.lasting, lasting)
    observed.reset(observed.lasting)
    assert np.abs(observed.balance(replace(arm.state, position=POSTURE)) - bearing).max() < 0.05 * np.abs(bearing).max()


def slide(arm: Loaded, observed: ObservedDynamics, rng: np.random.Generator, ticks: int = 500) -> list[bool]:
    """Move on steadily, whatever efforts are tried: along a wall, or they do not act; return whether a load is used."""
    push, used = np.zeros(6), []
    for _ in range(ticks):
        push = 0.95 * push + 0.03 * arm.told.effort_limit * rng.normal(size=6)
        effort = arm.told.gravity_effort(arm.state) + push
        arm.v = 0.3 + 1e-4 * rng.normal(size=6)
        arm.q, arm.tick = arm.q + PERIOD * arm.v, arm.tick + 1
        observed.observe(arm.state, effort)
        used.append(bool(observed.load.any()))
    return used


@pytest.mark.parametrize(("rested", "bar"), ((0.0, 0.4), (0.1, 0.1)), ids=("escapes", "calm"))
@pytest.mark.parametrize("seed", range(4))
def test_what_no_load_explains_again_and_again_is_none_and_its_correction_would_not_throw_an_arm_without(
    seed, rested, bar
):
    rng, arm, tried = np.random.default_rng(seed), Loaded(), 0
    observed = ObservedDynamics(JointDynamics(arm.told), arm.limits, PERIOD)
    observed.observe(arm.state, None)
    assert not any(slide(arm, observed, rng)[150:])  # it was most of the time
    for _ in range(50):
        slide(arm, observed, rng, 1)
        arm.v, observed._rested = np.zeros(6), rested
        change = rng.uniform(-20.0, 20.0, 6)
        extra = observed.effort(arm.state, observed.mean + change) - observed.balance(arm.state) - arm.inertia @ change
        thrown = np.linalg.solve(arm.inertia, extra) * 2.0 * PERIOD / arm.limits.velocity
        assert np.abs(thrown).max() < bar  # 8 to 23 times the velocity limits without a bound
        tried += np.abs(extra).max() > 1e-3
    assert tried > 5  # a load is sought, and what it needs is tried


def test_a_hand_that_was_lighter_is_not_there_again_because_no_load_explains_what_is_seen():
    rng, arm = np.random.default_rng(0), Loaded(hand=0.1, links=3)
    observed, effort = ObservedDynamics(JointDynamics(arm.told), arm.limits, PERIOD), arm.bearing
    for _ in range(100):
        observed.observe(arm.state, effort)
        effort = arm.bearing + arm.inertia @ rng.uniform(-5.0, 5.0, 6)
        arm.step(effort)
    lacked = observed._load.lacks
    assert lacked > 0.5
    slide(arm, observed, rng, 100)
    assert observed._load.lacks >= lacked and observed._load.missing.any()


def test_what_contradicts_a_load_in_each_sample_does_not_add_up_for_long():
    rng, arm, most = np.random.default_rng(0), Loaded(), 0.0
    observed = ObservedDynamics(JointDynamics(arm.told), arm.limits, PERIOD)
    observed.observe(arm.state, None)
    for _ in range(500):
        slide(arm, observed, rng, 1)
        most = max(most, observed._load.contradiction)
    assert most < 1e3


def fall(observed: ObservedDynamics, arm: Loaded, efforts: list[np.ndarray], doubted: bool = False) -> np.ndarray:
    """Let the arm fall under the efforts; return the last mean acceleration."""
    acceleration = np.zeros(6)
    observed.observe(arm.state, None)
    for effort in efforts:
        acceleration = arm.step(effort)
        observed.observe(arm.state, effort, doubted=doubted)
    return acceleration


def test_while_an_arm_falls_under_steady_efforts_the_last_sample_counts_in_full_unless_it_is_in_doubt():
    arm = Loaded(10.0)
    bears = arm.told.gravity_effort(arm.state)
    observed = ObservedDynamics(JointDynamics(arm.told), arm.limits, PERIOD)
    measured = fall(observed, arm, [bears] * 6)
    assert np.allclose(observed.mean, measured, rtol=0.02, atol=0.02 * np.abs(measured).max())
    assert np.allclose(observed.balance(arm.state), bears, rtol=0.02, atol=0.02 * np.abs(bears).max())
    doubtful, arm = ObservedDynamics(JointDynamics(arm.told), arm.limits, PERIOD), Loaded(10.0)
    fall(doubtful, arm, [bears] * 6, doubted=True)
    assert np.abs(doubtful.mean - measured).max() > 0.1 * np.abs(measured).max()


@pytest.mark.parametrize("joints", [slice(0, 6), slice(2, 4)], ids=["all", "two"])
def test_joints_that_lose_their_speed_without_a_cause_say_nothing_of_what_efforts_do(joints):
    """The arm hit something, or readings changed their scale: the efforts that are right are those of before."""
    arm = Loaded()
    arm.v = np.full(6, 0.5)
    observed = ObservedDynamics(JointDynamics(arm.told), arm.limits, PERIOD)
    bears = np.asarray(pin.nonLinearEffects(arm.real, arm.data, arm.q, arm.v))
    fall(observed, arm, [bears] * 20)
    arm.tick += 1
    arm.v[joints] /= 6.0
    observed.observe(arm.state, bears)
    for _ in range(3):
        right = np.asarray(pin.nonLinearEffects(arm.real, arm.data, arm.q, arm.v))
        assert np.abs(observed.effort(arm.state, np.zeros(6)) - right).max() < 1.0  # it was 253 N*m
        arm.step(bears)
        observed.observe(arm.state, bears)


@pytest.mark.parametrize(("joints", "counts"), [(slice(2, 3), True), (slice(2, 4), False)], ids=["one", "two"])
def test_after_joints_that_lose_their_speed_no_load_is_learned_for_some_samples_but_one_joint_alone_counts(
    joints, counts
):
    """Efforts move nothing afterwards, which would look like a load; one joint that is stopped is an answer to them."""
    rng, arm = np.random.default_rng(0), Loaded()
    arm.v = np.full(6, 0.5)
    observed = ObservedDynamics(JointDynamics(arm.told), arm.limits, PERIOD)
    bears = np.asarray(pin.nonLinearEffects(arm.real, arm.data, arm.q, arm.v))
    fall(observed, arm, [bears] * 20)
    arm.v[joints] /= 6.0
    for k in range(6):
        arm.tick += 1
        observed.observe(arm.state, bears + k * 0.1 * arm.told.effort_limit * rng.normal(size=6))
    learned = observed._load._state.number[0] != 20.0  # observations of a load
    assert learned == counts
    assert (np.abs(observed.mean).max() > 10.0) == counts


def test_a_change_of_efforts_that_may_not_have_acted_yet_is_not_taken_to_have_caused_the_motion():
    """An arm falls, and the effort that bears it acts a sample late: it must not seem to do nothing."""
    arm = Loaded(10.0)
    bears, told = arm.bearing, arm.told.gravity_effort(arm.state)
    observed = ObservedDynamics(JointDynamics(arm.told), arm.limits, PERIOD)
    fall(observed, arm, [told] * 6, doubted=True)  # so that the mean is behind
    before = observed.balance(arm.state)
    arm.step(told)
    observed.observe(arm.state, bears)
    share = np.abs(observed.balance(arm.state) - before).max() / np.abs(bears - told).max()
    assert share < 0.45  # what the low pass takes of it, and hardly more


def test_a_told_arm_without_a_load_learns_none():
    arm = Loaded()
    observed, effort = ObservedDynamics(JointDynamics(arm.told), arm.limits, PERIOD), arm.bearing
    rng = np.random.default_rng(4)
    for _ in range(100):
        observed.observe(arm.state, effort)
        effort = arm.bearing + arm.inertia @ rng.uniform(-5.0, 5.0, 6)
        arm.step(effort)
    assert np.linalg.eigvals(np.linalg.solve(arm.inertia, arm.inertia + observed.load)).real.max() < 1.2


def test_bent_links_that_drives_let_go_push_the_joints_and_are_no_load():
    """What a low pass holds from before the first effort is the model's forecast, not a part of one measurement."""
    model = ArmModel(load_robot_description(ROOT / "urdf" / "flexible_3r.urdf.xacro"), "tool0", (0.0, 0.0, 0.0))
    limits = JointLimits(
        model.lower, model.upper, model.velocity_limit, np.full(3, 20.0), model.effort_limit, np.full(3, np.inf)
    )
    observed, none = ObservedDynamics(JointDynamics(model), limits, 0.001, slowest=2.0), np.zeros(3)
    bent = ArmState(0, np.array([-0.3, -0.4, -0.8]), none, np.full(model.m, 0.003), np.zeros(model.m))
    observed.observe(bent, None)
    pushed = model.forward_dynamics(bent, none)
    observed.observe(replace(bent, stamp=1_000_000, velocity=0.001 * pushed), none)
    lacking = np.abs(model.blocks(bent).H_m @ pushed)
    assert lacking.max() > 1.0 and (np.abs(observed.lasting) < 0.01 * lacking.max()).all()


@pytest.mark.parametrize(("load", "push"), [(0.0, 1.0), (5.0, 0.0)])
def test_what_lasts_is_the_weight_of_a_load_and_not_what_accelerates_the_arm(load, push):
    arm, none = Loaded(load), np.zeros(6)
    observed, effort = ObservedDynamics(JointDynamics(arm.told), arm.limits, PERIOD), arm.bearing
    for _ in range(250):
        observed.observe(arm.state, effort)
        pushing = arm.inertia[:, 0] * push
        moving = arm.told.effort_on_resting_base(arm.state, none) - arm.told.gravity_effort(arm.state)
        effort = arm.bearing + moving - arm.told.D_m * arm.v + pushing
        arm.step(effort)
    share = 1.0 - np.exp(-1.0)  # in half a second
    weight = arm.bearing - arm.told.gravity_effort(arm.state)
    assert np.allclose(observed.lasting, share * weight, rtol=0.01, atol=0.05 * push * arm.inertia[0, 0] + 1e-9)


def brake_light_wrist(ticks: int, links: int) -> tuple[Loaded, float, list[float]]:
    """Brake links that are a tenth as heavy as told; return the arm after it, its greatest speed, and the shares."""
    arm = Loaded(hand=0.1, links=links)
    observed, fastest, effort, shares = ObservedDynamics(JointDynamics(arm.told), arm.limits, PERIOD), 0.0, None, []
    arm.v = np.array([0.0, 0.0, 0.0, 0.5, -0.5, 0.5])
    for _ in range(ticks):
        state = arm.state
        observed.observe(state, effort)
        asked = np.clip(-40.0 * state.velocity, -20.0, 20.0)
        effort = observed.effort(state, asked)
        observed.expect(asked)
        arm.step(effort)
        fastest = max(fastest, float(np.abs(arm.v).max()))
        shares.append(observed.share)
    return arm, fastest, shares


@pytest.mark.parametrize("links", [1, 3])
def test_a_hand_or_a_wrist_that_is_lighter_than_told_is_known_before_it_shakes(links):
    arm, fastest, _ = brake_light_wrist(200, links)
    assert fastest < 1.0 and np.abs(arm.v).max() < 0.05


def test_what_a_hand_lacks_is_learned_while_it_brakes_and_never_taken_off_an_arm_as_told():
    for hand, least, most in ((0.1, 0.8, 1.0), (1.0, 0.0, 0.0)):
        arm = Loaded(hand=hand)
        observed, effort = ObservedDynamics(JointDynamics(arm.told), arm.limits, PERIOD), None
        arm.v, found = np.array([0.0, 0.0, 0.0, 0.5, -0.5, 0.5]), []
        for _ in range(100):
            observed.observe(arm.state, effort)
            asked = np.clip(-40.0 * arm.v, -20.0, 20.0)
            effort = observed.effort(arm.state, asked)
            observed.expect(asked)
            found.append(1.0 - observed.inertia(arm.state)[5, 5] / arm.inertia[5, 5])
            arm.step(effort)
        assert least <= found[25] <= most and max(found) <= most


def test_what_a_hand_lacked_in_one_posture_is_not_taken_off_in_another():
    arm, rng, effort = Loaded(hand=0.1), np.random.default_rng(0), None
    observed = ObservedDynamics(JointDynamics(arm.told), arm.limits, PERIOD)
    arm.v = np.array([0.0, 0.0, 0.0, 0.5, -0.5, 0.5])
    for _ in range(25):
        observed.observe(arm.state, effort)
        asked = np.clip(-40.0 * arm.v, -20.0, 20.0)
        effort = observed.effort(arm.state, asked)
        arm.step(effort)
    for second in range(1, 300):  # states after gaps
        state = ArmState(arm.state.stamp + round(second * 1e9), rng.uniform(-3.0, 3.0, 6), np.zeros(6), NONE, NONE)
        observed.observe(state, None if second % 2 else effort)
        assert np.allclose(observed.inertia(state), arm.told.blocks(state).H_m + observed.load)
        assert np.linalg.eigvalsh(observed.inertia(state)).min() > 1e-5


def test_while_little_is_asked_of_the_arm_the_share_returns_to_what_is_told():
    _, _, shares = brake_light_wrist(1000, 3)
    assert min(shares) < 0.8 and shares[-1] > 1.1 * min(shares)  # and falls again where the hand shakes


@pytest.mark.parametrize("load", [0.5, 1.0, 1.5])
def test_behind_the_gate_a_law_that_does_not_know_its_load_throws_no_joint_and_a_stop_ends_at_rest(load):
    arm, now, fastest = Loaded(load), [0.0], 0.0
    gate = HardwareGate(arm.told, arm.limits, HardwareGateConfig(period=PERIOD), lambda: now[0])
    meet(gate, arm.state)
    for tick in range(1000):
        now[0], state = arm.tick * PERIOD, arm.state
        if tick == 500:
            gate.end("a stop")
        answer = gate.on_state(state) if tick else None
        asked = 900.0 * (POSTURE - state.position) - 60.0 * state.velocity
        effort = arm.told.blocks(state).H_m @ asked + arm.told.gravity_effort(state)
        command = gate.on_reference(JointReference(state.stamp, effort=effort))
        arm.step(command if answer is None else answer)
        fastest = max(fastest, float((np.abs(arm.v) / arm.told.velocity_limit).max()))
    assert fastest < 1.1
    assert (np.abs(arm.v) / arm.told.velocity_limit).max() < 0.02
    assert gate.status.state is GateState.STOPPING and gate.status.trips == 0
