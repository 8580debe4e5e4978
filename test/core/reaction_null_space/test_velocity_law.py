"""The velocity law: the momentum that it commands, the paper's (30) literally, gravity, turns, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from elastic_base_arms import elastic_base_arm, elastic_base_model

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.reaction_null_space.reactionless.trace import trace
from flexarm_core.reaction_null_space.reactionless.velocity_law import Along, VelocityLaw, VelocityLawConfig
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState

START = np.array([0.5 * np.pi, 0.0])


def state_of(position, deflection, rng=None):
    """A state; what the law must not look at is random."""
    n, m = len(position), len(deflection)
    rates = (np.zeros(n), np.zeros(m)) if rng is None else (rng.normal(size=n), rng.normal(size=m))
    return ArmState(7, np.array(position), rates[0], np.array(deflection), rates[1])


@pytest.mark.parametrize("feed_forward", [False, True])
@pytest.mark.parametrize(("directions", "joints", "seed"), [(("x", "y", "rz"), 4, None), (("x", "y"), 5, 1)])
def test_the_commanded_momentum_damps_the_base_and_gives_back_what_was_taken(directions, joints, seed, feed_forward):
    """A qd = H g_b x + g_m A (q_r - q): the reference's own motion and the path gain do not enter."""
    model, rng = elastic_base_model(directions, joints, seed), np.random.default_rng(0)
    law = VelocityLaw(model, VelocityLawConfig(8.0, 3.0, 40.0, feed_forward=feed_forward))
    regular = 0
    for _ in range(50):
        q, posture = rng.uniform(-1.0, 1.0, (2, joints))
        state = state_of(q, 0.02 * rng.normal(size=len(directions)), rng)
        law.hold(posture)
        velocity = law.update(state).velocity
        blocks = model.blocks(state)
        expected = blocks.H_b @ (8.0 * state.deflection) + 3.0 * blocks.H_bm @ (posture - q)
        if law.coupling.damping == 0.0:
            regular += 1
            assert np.allclose(blocks.H_bm @ velocity, expected, atol=1e-10)
            free = law.coupling.null_projector()
            assert np.allclose(free @ velocity, 40.0 * free @ (posture - q), atol=1e-10)
    assert regular > 20


def test_with_one_direction_and_one_gain_it_is_the_papers_law(trep):
    """qd = h^+ m_b g_b x_b + G_m (q_r - q), equation 30, with m_b the mass that swings: base and arm."""
    config = VelocityLawConfig(24.0, 20.0, 20.0, feed_forward=False)
    law, rng = VelocityLaw(trep, config), np.random.default_rng(1)
    path = trace(trep, START)
    law.follow(path)
    for _ in range(50):
        s, rate, x = rng.uniform(0.0, path.length), rng.normal(), 0.01 * rng.normal()
        q = path.position(s) + 0.1 * rng.normal(size=2)
        h2 = -0.12 * 0.09 * np.sin(q.sum())
        h = np.array([h2 - (0.31 * 0.096 + 0.12 * 0.1) * np.sin(q[0]), h2])
        mass = 0.795 + 0.31 + 0.12
        expected = h / (h @ h) * mass * 24.0 * x + 20.0 * (path.position(s) - q)
        reference = law.update(state_of(q, [x], rng), Along(s, rate, 1.0))
        assert np.allclose(reference.velocity, expected, atol=1e-9)
        assert np.allclose(reference.position, path.position(s), atol=1e-12)
        assert reference.stamp == 7


def test_on_the_path_without_deflection_the_command_is_the_paths_motion(trep):
    path = trace(trep, START)
    law = VelocityLaw(trep, VelocityLawConfig(drive_lag=0.005))
    law.follow(path)
    for s in (-1.0, 0.4, 9.0):
        motion = path.sample(s, 1.5, -0.7)
        command = law.update(state_of(motion.position, [0.0]), Along(s, 1.5, -0.7)).velocity
        assert np.allclose(command, motion.velocity + 0.005 * motion.acceleration, atol=1e-7)


def test_unselected_directions_count_as_rigid():
    model, rng = elastic_base_model(("x", "y", "rz"), 4), np.random.default_rng(2)
    law = VelocityLaw(model, VelocityLawConfig(10.0, 2.0, selection=("base_rz", "base_x")))
    regular = 0
    for _ in range(20):
        q, x = rng.uniform(0.3, 1.5, 4), 0.01 * rng.normal(size=3)
        law.hold(q)
        velocity = law.update(state_of(q, x)).velocity
        blocks = model.blocks(state_of(q, x))
        kept = [0, 2]
        momentum = blocks.H_b[np.ix_(kept, kept)] @ (10.0 * x[kept])
        if law.coupling.damping == 0.0:
            regular += 1
            assert np.allclose(blocks.H_bm[kept] @ velocity, momentum, atol=1e-10)
    assert regular > 10


def test_what_gravity_bends_is_no_vibration():
    model = ArmModel(elastic_base_arm(("z", "rx", "ry"), 4, 3))
    q = np.array([0.3, -0.4, 0.8, 0.2])
    x = np.zeros(3)
    for _ in range(60):  # the posture of rest on the springs
        x = -np.linalg.solve(model.K_b, model.blocks(state_of(q, x)).c_b)
    assert np.abs(x).max() > 1e-3
    law = VelocityLaw(model, VelocityLawConfig())
    assert np.abs(law.update(state_of(q, x)).velocity).max() < 1e-9
    assert np.abs(law.update(state_of(q, x + 1e-3)).velocity).max() > 1e-3


def test_the_first_posture_is_held_until_another_is_given(trep):
    law = VelocityLaw(trep, VelocityLawConfig(momentum_gain=5.0, path_gain=5.0))
    assert np.allclose(law.update(state_of(START, [0.0])).velocity, 0.0)
    assert np.allclose(law.update(state_of(START + 0.1, [0.0])).velocity, -0.5)
    law.reset()
    assert np.allclose(law.update(state_of(START + 0.1, [0.0])).velocity, 0.0)


def test_whole_turns_of_an_endless_joint_are_no_error(trep):
    law = VelocityLaw(trep, VelocityLawConfig())
    law.hold(START)
    near = law.update(state_of(START + [0.0, 0.1], [0.0])).velocity
    for turns in (-2, 1, 3):
        there = law.update(state_of(START + [0.0, 0.1 + 2.0 * np.pi * turns], [0.0])).velocity
        assert np.allclose(there, near, atol=1e-12)
    joint1 = law.update(state_of(START - [2.0 * np.pi, 0.0], [0.0])).velocity
    assert np.abs(joint1).max() > 1.0, "of a joint with limits they are one"


def test_at_singular_coupling_the_command_stays_bounded_and_says_so(trep):
    law = VelocityLaw(trep, VelocityLawConfig())
    scale = np.sqrt(1.225 * 0.02)
    for q1 in (0.0, 1e-6, 1e-4, 1e-2):
        q = np.array([q1, np.pi])
        law.hold(q)
        velocity = law.update(state_of(q, [0.01])).velocity
        assert law.coupling.damping > 0.0
        assert np.abs(velocity).max() < 1.225 * 24.0 * 0.01 / (2.0 * 0.001 * scale)


@pytest.mark.parametrize(
    "change", [{"vibration_gain": -1.0}, {"momentum_gain": np.nan}, {"drive_lag": -0.1}, {"coupling_threshold": 1.0}]
)
def test_settings_without_meaning_are_refused(change):
    with pytest.raises(ConfigError, match=next(iter(change))):
        VelocityLawConfig(**change)


def test_what_does_not_fit_the_arm_is_refused(trep, planar_3r):
    with pytest.raises(ConfigError, match="name 1 to 2 different ones of: base_x"):
        VelocityLaw(trep, VelocityLawConfig(selection=("base_y",)))
    law = VelocityLaw(planar_3r, VelocityLawConfig())
    with pytest.raises(ConfigError, match="the path is of 'trep'"):
        law.follow(trace(trep, START))
    with pytest.raises(InputError, match="expected 3 finite numbers"):
        law.hold(START)
    with pytest.raises(InputError, match="call follow"):
        law.update(state_of(np.ones(3), [0.0]), Along(0.0))
    law = VelocityLaw(trep, VelocityLawConfig())
    law.follow(trace(trep, START))
    with pytest.raises(InputError, match="give where on it"):
        law.update(state_of(START, [0.0]))
    with pytest.raises(InputError, match="deflection"):
        law.update(state_of(START, [np.nan]), Along(0.0))
