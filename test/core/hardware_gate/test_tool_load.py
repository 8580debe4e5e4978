"""Load at the tool, against Pinocchio: the torques of a rigid body are linear in its parameters, and give them back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from flexarm_core.compiled import allocate
from flexarm_core.hardware_gate.joint_dynamics import JointDynamics
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.load.candidates import (
    BALL,
    NEVER,
    REACH,
    begin,
    fit,
    hand_inertia,
    joint_inertia,
    parameters,
    view_candidates,
)
from flexarm_core.hardware_gate.load.tool_load import AROUND, PLAUSIBLE, ToolLoad, _expected, _wrench
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState

NONE = np.zeros(0)
UR10 = Path(pin.__file__).parents[4] / "share/example-robot-data/robots/ur_description/urdf/ur10_robot.urdf"
GRAVITY = np.array([1.0, -2.0, -9.0])


def body(rng: np.random.Generator) -> pin.Inertia:
    return pin.Inertia(rng.uniform(0.5, 5.0), rng.uniform(-0.1, 0.1, 3), pin.Inertia.Random().inertia * 0.01)


def ten(load: pin.Inertia) -> np.ndarray:
    """Mass, first moment, and inertia about the origin, in the order of the estimate."""
    c = pin.skew(load.lever)
    about = load.inertia - load.mass * c @ c
    pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    return np.array([load.mass, *(load.mass * load.lever), *(about[pair] for pair in pairs)])


@pytest.mark.parametrize("seed", range(20))
def test_the_wrench_of_a_body_is_that_of_newton_and_euler(seed):
    rng = np.random.default_rng(seed)
    load, moved, w = body(rng), rng.standard_normal(6), rng.standard_normal(3)
    Y = np.zeros((6, 10))
    _wrench(moved, w, Y)
    spinning = pin.Motion(np.zeros(3), w)
    expected = load * pin.Motion(moved) + spinning.cross(load * spinning)
    assert np.allclose(Y @ ten(load), expected.vector, atol=1e-12)


def small_ball(rng: np.random.Generator, square: float = 1.0) -> pin.Inertia:
    """A ball with the square of its radius of gyration relative to the usual one."""
    mass = rng.uniform(0.5, 5.0)
    return pin.Inertia(mass, rng.uniform(-0.1, 0.1, 3), mass * square * BALL**2 * np.eye(3))


@pytest.mark.parametrize("seed", range(10))
def test_a_ball_has_the_parameters_and_the_joint_inertia_of_the_same_body(seed):
    rng = np.random.default_rng(seed)
    load, J, theta, L = small_ball(rng, 0.3), rng.standard_normal((6, 5)), np.zeros(10), np.zeros((5, 5))
    place = np.append(load.lever, (0.1, -0.7))
    parameters(load.mass * np.exp(-0.1), place, theta)
    assert np.allclose(theta, ten(load), atol=1e-14)
    joint_inertia(load.mass * np.exp(-0.1), place, J, L)
    assert np.allclose(L, J.T @ load.matrix() @ J, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_inertia_expected_at_first_is_that_of_a_ball_at_a_random_lever(seed):
    rng = np.random.default_rng(seed)
    J, L, one, total = rng.standard_normal((6, 4)), np.zeros((4, 4)), np.zeros((4, 4)), np.zeros((4, 4))
    _expected(2.0, J, L)
    for _ in range(4000):
        joint_inertia(2.0, np.append(rng.normal(0.0, AROUND, 3), (0.0, -1.0)), J, one)
        total += one**2 / 4000
    assert np.allclose(L, np.sqrt(total), rtol=0.05, atol=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_a_share_of_the_hand_has_the_joint_inertia_of_the_same_body(seed):
    rng = np.random.default_rng(seed)
    hand, J, L = body(rng), rng.standard_normal((6, 5)), np.zeros((5, 5))
    _, candidates = allocate(view_candidates)
    begin(candidates, 10.0, hand.matrix())
    hand_inertia(candidates, 0.3, J, L)
    assert np.allclose(L, 0.3 * J.T @ hand.matrix() @ J, atol=1e-12)


def costs(information: np.ndarray, seen: np.ndarray, masses: np.ndarray, balls: np.ndarray) -> np.ndarray:
    """Costs of balls without their prior."""
    found, theta = np.empty(balls.shape[:-1]), np.empty(10)
    for index in np.ndindex(found.shape):
        parameters(masses[index[0]], balls[index], theta)
        found[index] = theta @ (0.5 * information @ theta - seen)
    return found


@pytest.mark.parametrize("seed", range(10))
def test_the_candidates_of_a_load_seen_from_one_side_contain_all_that_explain_it(seed):
    """A load at rest in one posture: its weight and two components of its lever are seen, along gravity nothing is."""
    rng = np.random.default_rng(seed)
    load, Y = small_ball(rng), np.zeros((6, 10))
    _wrench(np.array([0.0, 0.0, 9.81, 0.0, 0.0, 0.0]), np.zeros(3), Y)
    Y[:3] = 0.0  # moments alone
    information, seen = 1e4 * Y.T @ Y, 1e4 * Y.T @ (Y @ ten(load))
    candidates = allocate(view_candidates)[1]
    begin(candidates, 10.0, np.zeros((6, 6)))
    for _ in range(60):
        fit(candidates, information, seen)
    cost = costs(information, seen, candidates.mass, candidates.ball)
    used = candidates.cost < NEVER
    best = np.where(used, cost, np.inf).min(axis=1) - cost[used].min()
    moment = np.hypot(*(load.mass * load.lever)[:2])
    able = candidates.mass * REACH > 1.05 * moment
    assert able.sum() >= 2 and (best[able] < PLAUSIBLE).all()  # every mass that reaches the moment explains it
    for a in np.flatnonzero(able):
        ball = candidates.ball[a, np.where(used[a], candidates.cost[a], np.inf).argmin()]
        moments = candidates.mass[a] * np.exp(ball[3]) * ball[:2]
        assert np.allclose(moments, (load.mass * load.lever)[:2], atol=0.02 * moment + 0.01)


@pytest.mark.parametrize("square", [4.0, 1.0, 0.1])
@pytest.mark.parametrize("seed", range(5))
def test_a_load_is_found_from_the_torques_that_bear_it_in_motion(seed, square):
    rng = np.random.default_rng(seed)
    text = UR10.read_text(encoding="utf-8")
    told, real = ArmModel(text, "tool0", GRAVITY), pin.buildModelFromXML(text)
    real.gravity.linear = GRAVITY
    frame = real.frames[real.getFrameId("tool0")]
    load = small_ball(rng, square)
    real.appendBodyToJoint(frame.parentJoint, load, frame.placement)
    limits = JointLimits(
        told.lower, told.upper, told.velocity_limit, np.full(6, 20.0), told.effort_limit, np.full(6, np.inf)
    )
    estimate, data = ToolLoad(JointDynamics(told), limits), real.createData()
    for _ in range(300):
        q, v, a = rng.uniform(-2.0, 2.0, 6), rng.uniform(-2.0, 2.0, 6), rng.uniform(-20.0, 20.0, 6)
        state = ArmState(0, q, v, NONE, NONE)
        beyond = pin.rnea(real, data, q, v, a) - told.effort_on_resting_base(state, np.zeros(6)) + told.D_m * v
        estimate.observe(state, beyond, np.zeros(6), a, 0.002)
    assert np.allclose(estimate.parameters[:4], ten(load)[:4], rtol=0.05, atol=0.01)
    found = estimate.parameters
    spun = found[4] + found[5] + found[6] - 2.0 * found[1:4] @ found[1:4] / found[0]
    assert abs(spun / (3.0 * found[0] * BALL**2) - square) < 0.3 * max(square, 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_a_load_on_a_wrist_that_spins_is_one_load_whatever_mean_is_taken(seed):
    """Speeds and directions change within a mean: one of the motions and torques at each instant fits, nothing else."""
    rng = np.random.default_rng(seed)
    text, dt = UR10.read_text(encoding="utf-8"), 0.004
    told, real = ArmModel(text, "tool0", GRAVITY), pin.buildModelFromXML(text)
    real.gravity.linear = GRAVITY
    frame = real.frames[real.getFrameId("tool0")]
    load = small_ball(rng)
    real.appendBodyToJoint(frame.parentJoint, load, frame.placement)
    wide = np.full(6, np.inf)
    limits = JointLimits(told.lower, told.upper, told.velocity_limit, np.full(6, 20.0), told.effort_limit, wide)
    estimate, data = ToolLoad(JointDynamics(told), limits), real.createData()
    middle, reach, rate = rng.uniform(-2.0, 2.0, 6), rng.uniform(0.2, 0.4, 6), rng.uniform(6.0, 12.0, 6)

    def at(t):
        return middle + reach * np.sin(rate * t), reach * rate * np.cos(rate * t)

    efforts = []  # beyond the told weight
    for k in range(1, 120):
        (q, v), (half, _), before = at(k * dt), at((k - 0.5) * dt), at((k - 1) * dt)[1]
        mean, a = 0.5 * (v + before), (v - before) / dt
        middle_state = ArmState(0, half, mean, NONE, NONE)
        effort = pin.rnea(real, data, half, mean, a) - told.effort_on_resting_base(middle_state, np.zeros(6))
        efforts.append(effort + told.D_m * mean)
        if k == 1:
            continue
        sent, last = efforts[-1], efforts[-2]
        estimate.observe(ArmState(0, q, v, NONE, NONE), sent, sent - last, a, dt, new=0.15, late=2.0 * dt)
        assert estimate.contradiction < 5.0
    assert np.allclose(estimate.parameters[:4], ten(load)[:4], rtol=0.05, atol=0.02)


def test_a_hand_lighter_than_told_is_no_load():
    rng, text = np.random.default_rng(1), UR10.read_text(encoding="utf-8")
    told, real = ArmModel(text, "tool0", GRAVITY), pin.buildModelFromXML(text)
    real.gravity.linear = GRAVITY
    joint = real.frames[real.getFrameId("tool0")].parentJoint
    link = real.inertias[joint]
    real.inertias[joint] = pin.Inertia(0.2 * link.mass, link.lever, 0.2 * link.inertia)
    place = real.frames[real.getFrameId("tool0")].placement
    assert np.allclose(0.2 * told.hand, place.actInv(real.inertias[joint]).matrix(), atol=1e-12)
    limits = JointLimits(
        told.lower, told.upper, told.velocity_limit, np.full(6, 20.0), told.effort_limit, np.full(6, np.inf)
    )
    estimate, data = ToolLoad(JointDynamics(told), limits), real.createData()
    for _ in range(100):
        q, v, a = rng.uniform(-2.0, 2.0, 6), rng.uniform(-2.0, 2.0, 6), rng.uniform(-20.0, 20.0, 6)
        state = ArmState(0, q, v, NONE, NONE)
        beyond = pin.rnea(real, data, q, v, a) - told.effort_on_resting_base(state, np.zeros(6)) + told.D_m * v
        estimate.observe(state, beyond, np.zeros(6), a, 0.002)
    assert not estimate.inertia.any() and not estimate.parameters.any()


def seen_by(estimate, told, real, state, a, off, escapes=True) -> None:
    """Observe the torques that move the real arm, with an error."""
    told_torque = told.effort_on_resting_base(state, np.zeros(6)) - told.D_m * state.velocity
    beyond = pin.rnea(real, real.createData(), state.position, state.velocity, a) - told_torque
    estimate.observe(state, beyond + off, np.zeros(6), a, 0.002, escapes=escapes)


@pytest.mark.parametrize("seed", range(5))
def test_a_wrong_weight_of_the_arm_is_no_load_and_hides_none(seed):
    """A steady torque of 0.3 of the told gravity: an arm that accelerates tells it from a load at once."""
    rng, text = np.random.default_rng(seed), UR10.read_text(encoding="utf-8")
    told, real = ArmModel(text, "tool0", GRAVITY), pin.buildModelFromXML(text)
    real.gravity.linear = GRAVITY
    wide = np.full(6, np.inf)
    limits = JointLimits(told.lower, told.upper, told.velocity_limit, np.full(6, 20.0), told.effort_limit, wide)
    for mass in (0.0, rng.uniform(2.0, 8.0)):
        if mass:
            frame = real.frames[real.getFrameId("tool0")]
            load = pin.Inertia(mass, rng.uniform(-0.1, 0.1, 3), mass * BALL**2 * np.eye(3))
            real.appendBodyToJoint(frame.parentJoint, load, frame.placement)
        estimate, posture = ToolLoad(JointDynamics(told), limits), rng.uniform(-2.0, 2.0, 6)
        state = ArmState(0, posture, np.zeros(6), NONE, NONE)
        off = 0.3 * rng.uniform(-1.0, 1.0, 6) * told.gravity_effort(state)
        for tick in range(20):
            a = rng.uniform(-20.0, 20.0, 6) * (1.0 if mass else 0.05)
            seen_by(estimate, told, real, state, a, off, escapes=tick < 19)
        inertia = pin.crba(real, real.createData(), posture)
        added = np.triu(inertia) + np.triu(inertia, 1).T - told.blocks(state).H_m
        assert np.allclose(estimate.least, added, atol=0.1 * added.max() + 1e-9)


@pytest.mark.parametrize("late", [0.4, 1.0])
def test_commands_that_act_late_are_no_load(late):
    rng, text = np.random.default_rng(1), UR10.read_text(encoding="utf-8")
    told = ArmModel(text, "tool0", GRAVITY)
    wide = np.full(6, np.inf)
    limits = JointLimits(told.lower, told.upper, told.velocity_limit, np.full(6, 20.0), told.effort_limit, wide)
    estimate = ToolLoad(JointDynamics(told), limits)
    state = ArmState(0, rng.uniform(-2.0, 2.0, 6), np.zeros(6), NONE, NONE)
    inertia, before = told.blocks(state).H_m, np.zeros(6)
    for _ in range(60):
        effort = inertia @ rng.uniform(-20.0, 20.0, 6)
        acted = effort - late * (effort - before)
        estimate.observe(state, effort, effort - before, np.linalg.solve(inertia, acted), 0.002, escapes=True)
        before = effort
        assert not estimate.loaded and not estimate.lacks


def test_the_noise_of_an_arm_at_rest_is_no_lighter_hand():
    rng, text = np.random.default_rng(1), UR10.read_text(encoding="utf-8")
    told = ArmModel(text, "tool0", GRAVITY)
    wide = np.full(6, np.inf)
    limits = JointLimits(told.lower, told.upper, told.velocity_limit, np.full(6, 20.0), told.effort_limit, wide)
    estimate = ToolLoad(JointDynamics(told), limits)
    state, none = ArmState(0, rng.uniform(-2.0, 2.0, 6), np.zeros(6), NONE, NONE), np.zeros(6)
    for _ in range(500):
        estimate.observe(state, none, none, 0.3 * rng.standard_normal(6), 0.001)
        assert estimate.lacks == 0.0


def test_torques_that_may_be_late_or_rub_tell_nothing_and_nothing_is_remembered_after_a_reset():
    text = UR10.read_text(encoding="utf-8")
    told = ArmModel(text, "tool0", GRAVITY)
    limits = JointLimits(
        told.lower, told.upper, told.velocity_limit, np.full(6, 20.0), told.effort_limit, np.full(6, np.inf)
    )
    state = ArmState(0, np.full(6, 0.4), np.zeros(6), NONE, NONE)
    lacking = np.array([0.0, 20.0, 10.0, 3.0, 1.0, 1.0])
    sure, doubted = ToolLoad(JointDynamics(told), limits), ToolLoad(JointDynamics(told), limits)
    for _ in range(50):
        sure.observe(state, lacking, np.zeros(6), np.zeros(6), 0.002)
        doubted.observe(state, lacking, np.full(6, 1e4), np.zeros(6), 0.002)
    assert np.diag(sure.inertia).max() > 100.0 * np.diag(doubted.inertia).max()
    sure.reset()
    assert not sure.inertia.any() and not sure.parameters.any()
