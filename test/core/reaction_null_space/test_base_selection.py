"""Which motions of the base are kept quiet: modes, the gap between soft and stiff, names."""

from __future__ import annotations

import numpy as np
import pytest
import robots

from flexarm_core.errors import ConfigError
from flexarm_core.reaction_null_space.coupling.base_modes import base_modes, soft_mode_count
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import ArmState

SPACE = (0.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def boom() -> ArmModel:
    return ArmModel(load_robot_description(robots.URDF / "boom_7r.urdf.xacro"), gravity=SPACE)


def random_state(model: ArmModel, rng: np.random.Generator) -> ArmState:
    q = rng.uniform(np.maximum(model.lower, -2.0), np.minimum(model.upper, 2.0))
    return ArmState(0, q, rng.normal(size=model.n), np.zeros(model.m), np.zeros(model.m))


def test_modes_are_those_of_the_base_under_locked_joints(boom):
    state = random_state(boom, np.random.default_rng(0))
    blocks = boom.blocks(state)
    modes = base_modes(blocks.H_b, boom.K_b)
    assert np.allclose(modes.frequencies, boom.natural_frequencies(state), rtol=1e-6)
    assert np.allclose(modes.shapes.T @ blocks.H_b @ modes.shapes, np.eye(6), atol=1e-8)
    assert np.allclose(modes.momenta @ modes.shapes, np.eye(6), atol=1e-8)


@pytest.mark.parametrize(
    ("frequencies", "count"),
    [
        ([1.0, 1.2, 2.0, 40.0, 50.0], 3),
        ([1.0, 1.5, 2.0], 3),
        ([3.0], 1),
        ([1.0, 3.0, 4.0], 1),
        ([2.0, 2.1, 9.0, 60.0], 3),
    ],
)
def test_soft_modes_end_at_the_widest_gap(frequencies, count):
    assert soft_mode_count(np.array(frequencies), spare=5) == count


def test_more_soft_modes_than_joints_are_refused_and_not_cut_off():
    with pytest.raises(ConfigError, match="3 soft modes .* at most 2 can be kept quiet"):
        soft_mode_count(np.array([1.0, 1.5, 2.0, 40.0]), spare=2)


def test_the_soft_modes_of_the_boom_are_three_at_every_posture(boom):
    rng = np.random.default_rng(1)
    assert BaseSelection(boom, ("auto",)).count == 3
    for _ in range(200):
        blocks = boom.blocks(random_state(boom, rng))
        assert soft_mode_count(base_modes(blocks.H_b, boom.K_b).frequencies, spare=6) == 3


def test_motion_inside_the_null_space_of_the_soft_modes_loads_none_of_them(boom):
    """The generalized force on a mode is ``-v . (H_bm qdd + dH_bm qd)``; the base's own equation says the same."""
    rng, selection = np.random.default_rng(2), BaseSelection(boom, ("auto",))
    for _ in range(100):
        state = random_state(boom, rng)
        blocks = boom.blocks(state)
        selected = selection.at(blocks, 0.3, 0.0)
        wanted = rng.normal(size=boom.n)
        A = selected.coupling
        quiet = wanted - np.linalg.pinv(A) @ (A @ wanted + selected.bias)
        modes = base_modes(blocks.H_b, boom.K_b)
        for acceleration, still in ((quiet, True), (wanted, False)):
            base = boom.base_acceleration(blocks, state, acceleration)
            soft = (modes.momenta @ base)[:3]
            assert bool(np.abs(soft).max() < 1e-7) is still


def test_the_damping_of_soft_modes_is_theirs_and_that_of_names_is_the_papers(boom, planar_3r):
    rng = np.random.default_rng(3)
    state = random_state(boom, rng)
    blocks = boom.blocks(state)
    modes, rate = base_modes(blocks.H_b, boom.K_b), rng.normal(size=6)
    selected = BaseSelection(boom, ("auto",)).at(blocks, 0.3, 0.0)
    assert np.allclose(selected.damping @ rate, 0.6 * modes.frequencies[:3] * (modes.momenta @ rate)[:3])
    literal = BaseSelection(boom, ("auto",)).at(blocks, 0.3, 5.0)
    assert np.allclose(literal.damping @ rate, 5.0 * (modes.momenta @ rate)[:3])
    named = BaseSelection(boom, ("boom_z", "boom_y")).at(blocks, 0.3, 5.0)
    assert np.allclose(named.coupling, blocks.H_bm[[2, 1]])
    assert np.allclose(named.damping, 5.0 * blocks.H_b[np.ix_([2, 1], [2, 1])] @ np.eye(6)[[2, 1]])
    planar = random_state(planar_3r, rng)
    of_planar = planar_3r.blocks(planar)
    whole = BaseSelection(planar_3r).at(of_planar, 0.7, 0.0)
    assert np.allclose(whole.damping, 1.4 * np.sqrt(100.0 * of_planar.H_b))


@pytest.mark.parametrize("names", [("boom_q",), ("boom_x", "boom_x"), (), ("boom_x", "auto")])
def test_selections_that_mean_nothing_are_refused(boom, names):
    with pytest.raises(ConfigError, match="selection is"):
        BaseSelection(boom, names)


def test_no_more_directions_are_selected_than_joints_can_keep_quiet(planar_3r, boom):
    assert BaseSelection(boom).count == 6
    with pytest.raises(ConfigError, match="needs more actuated joints"):
        BaseSelection(boom, ("all",), spare=2)
