"""Motion along reactionless paths: no reaction, no momentum, at any speed law, there and back, round and round."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
from elastic_base_arms import WEIGHTLESS, elastic_base_arm, elastic_base_model

from flexarm_core.errors import InputError
from flexarm_core.reaction_null_space.reactionless.trace import trace
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState

CASES = [(("x", "y", "rz"), 4, None), (("x", "y", "z"), 4, 1), (("z", "rx", "ry"), 4, 3), (("y",), 2, None)]
START = np.array([0.5 * np.pi, 0.0])


def random_paths(directions, joints, seed, rng):
    model = elastic_base_model(directions, joints, seed)
    for _ in range(3):
        yield trace(model, rng.uniform(-1.2, 1.2, joints), length=2.0)


@pytest.mark.parametrize(("directions", "joints", "seed"), CASES)
def test_no_motion_along_a_path_has_momentum_or_reaction(directions, joints, seed):
    rng = np.random.default_rng(0)
    for path in random_paths(directions, joints, seed, rng):
        model, still = path.field.model, np.zeros(len(directions))
        for _ in range(100):
            s, rate, acceleration = rng.uniform(path.start, path.end), *rng.uniform(-3.0, 3.0, 2)
            motion = path.sample(s, rate, acceleration)
            blocks = model.blocks(ArmState(0, motion.position, motion.velocity, still, still))
            assert np.abs(blocks.H_bm @ motion.velocity).max() < 1e-10
            assert np.abs(blocks.H_bm @ motion.acceleration + blocks.dH_bm_qd).max() < 1e-9


def test_the_whole_arms_momentum_stays_zero_by_centroidal_dynamics():
    """Another algorithm: x, y and yaw momentum of all bodies about the base's origin, base at rest."""
    text = elastic_base_arm(("x", "y", "rz"), 4)
    path = trace(ArmModel(text, gravity=WEIGHTLESS), np.array([0.3, 0.9, -0.5, 1.1]))
    model = pinocchio.buildModelFromXML(text)
    data, largest = model.createData(), 0.0
    for s in np.linspace(path.start, path.end, 100):
        motion = path.sample(s, 2.0, 0.0)
        q, v = np.concatenate((np.zeros(3), motion.position)), np.concatenate((np.zeros(3), motion.velocity))
        h = pinocchio.computeCentroidalMomentum(model, data, q, v)
        spin = h.angular + np.cross(data.com[0], h.linear)
        largest = max(largest, abs(h.linear[0]), abs(h.linear[1]), abs(spin[2]))
    assert largest < 1e-10


@pytest.mark.parametrize(("directions", "joints", "seed"), CASES)
def test_velocity_and_acceleration_are_the_derivatives_of_the_position(directions, joints, seed):
    rng, h = np.random.default_rng(1), 2e-4
    for path in random_paths(directions, joints, seed, rng):
        for _ in range(10):
            s, rate, acceleration = rng.uniform(path.start + 0.01, path.end - 0.01), *rng.uniform(-2.0, 2.0, 2)
            x = [path.position(s + rate * t + 0.5 * acceleration * t**2) for t in (-2 * h, -h, 0.0, h, 2 * h)]
            motion = path.sample(s, rate, acceleration)
            velocity = (x[0] - 8.0 * x[1] + 8.0 * x[3] - x[4]) / (12.0 * h)
            second = (-x[0] + 16.0 * x[1] - 30.0 * x[2] + 16.0 * x[3] - x[4]) / (12.0 * h * h)
            assert np.allclose(motion.velocity, velocity, atol=1e-8)
            assert np.allclose(motion.acceleration, second, atol=1e-5)


@pytest.mark.parametrize(("directions", "joints", "seed"), CASES)
def test_the_quick_reading_agrees_with_the_exact_one(directions, joints, seed):
    rng = np.random.default_rng(2)
    for path in random_paths(directions, joints, seed, rng):
        for _ in range(100):
            law = rng.uniform(path.start, path.end), *rng.uniform(-1.0, 1.0, 2)
            quick, exact = path.read(*law), path.sample(*law)
            assert np.array_equal(quick.position, exact.position)
            assert np.allclose(quick.velocity, exact.velocity, atol=1e-7)
            assert np.allclose(quick.acceleration, exact.acceleration, atol=1e-5)


def test_backwards_is_the_same_path_with_opposite_velocity():
    path = trace(elastic_base_model(("x", "y", "rz"), 4), np.array([0.3, 0.9, -0.5, 1.1]))
    for s in np.linspace(path.start, path.end, 20):
        there, back = path.sample(s, 1.7, 0.0), path.sample(s, -1.7, 0.0)
        assert np.array_equal(there.position, back.position)
        assert np.array_equal(there.velocity, -back.velocity)
        assert np.array_equal(there.acceleration, back.acceleration), "centripetal, the same either way"


def test_a_closed_path_goes_on_round_after_round_in_both_senses(trep):
    path = trace(trep, START)
    for s in np.linspace(path.start, path.end, 15)[:-1]:
        base = path.sample(s, 1.0, 0.5)
        for rounds in (-3, -1, 1, 2):
            later = path.sample(s + rounds * path.length, 1.0, 0.5)
            assert np.allclose(later.position, base.position + rounds * path.turns, atol=1e-10)
            assert np.allclose(later.velocity, base.velocity, atol=1e-9)
            assert np.allclose(later.acceleration, base.acceleration, atol=1e-8)
    around = [path.position(path.end + d) for d in (-1e-6, 0.0, 1e-6)]
    assert np.allclose(np.diff(around, axis=0), 1e-6 * path.sample(path.end, 1.0, 0.0).velocity, atol=1e-11)


def test_an_open_path_ends(trep):
    path = trace(trep, np.array([np.pi - 0.2, 0.1]))
    for beyond in (path.start - 1e-6, path.end + 1e-6, np.nan):
        with pytest.raises(InputError, match="path coordinate"):
            path.sample(beyond, 0.0, 0.0)
    assert np.array_equal(path.position(path.end + 1e-10), path.position(path.end)), "round-off of a time law is taken"
    with pytest.raises(InputError, match="must be finite"):
        path.sample(0.0, np.inf, 0.0)


def test_sigma_min_is_kept_at_the_knots_and_found_between_them(trep):
    path = trace(trep, START)
    for index in (0, 10, 40):
        assert path.sigma_min(path.knots.s[index]) == pytest.approx(path.knots.sigma_min[index], rel=1e-9)
    assert path.sigma_min(0.0) == pytest.approx(np.hypot(0.310 * 0.096 + 0.12 * 0.1 + 0.12 * 0.09, 0.12 * 0.09))


def test_the_tool_path_is_that_of_the_joints(trep):
    knots = trace(trep, START).knots
    q1, q12 = knots.position[:, 0], knots.position.sum(axis=1)
    assert np.allclose(knots.tool_position[:, 0], 0.1 * (np.cos(q1) + np.cos(q12)), atol=1e-12)
    assert np.allclose(knots.tool_position[:, 1], 0.1 * (np.sin(q1) + np.sin(q12)), atol=1e-12)


@pytest.mark.parametrize("start", [START, np.array([0.5, 0.2]), np.array([np.pi - 0.2, 0.1])])
def test_the_nearest_point_is_found_from_beside_the_path(trep, start):
    path, rng = trace(trep, start), np.random.default_rng(3)
    for s in rng.uniform(path.start, path.end, 20):
        q = path.position(s)
        tangent = path.sample(s, 1.0, 0.0).velocity
        beside = q + 1e-3 * np.array([-tangent[1], tangent[0]]) + np.array([0.0, 2.0 * np.pi * rng.integers(-2, 3)])
        found, distance = path.nearest(beside)
        assert distance == pytest.approx(1e-3, rel=1e-3)
        assert np.linalg.norm(path.field.difference(path.position(found), q)) < 1e-4
    outside = np.array([-3.0, 0.0])
    dense = [np.linalg.norm(path.field.difference(path.position(s), outside)) for s in
             np.linspace(path.start, path.end, 4000)]  # fmt: skip
    assert path.nearest(outside)[1] == pytest.approx(min(dense), abs=1e-4)
