"""Settings: what has no meaning is refused, what has becomes the plan of the step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from robots import chain_or_skip

from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.config import RedundancyConfig
from flexarm_core.ik_redundancy.objectives import JointRange, Manipulability, Quadratic, Sum, quadratic_form
from flexarm_core.ik_redundancy.plan import make_plan
from flexarm_core.ik_redundancy.step import RedundancyStep
from flexarm_core.turns import TURN, Turns


@pytest.mark.parametrize(
    ("setting", "value"),
    (
        ("weights", ()),
        ("weights", (0.0,)),
        ("weights", (0.0, 0.0, 0.0)),
        ("weights", (1.0, -1.0)),
        ("weights", (1.0, float("nan"))),
        ("origin", (0.0, float("inf"))),
        ("priority", ()),
        ("priority", ("x y z",)),
        ("priority", ("x y z rx ry rz x",)),
        ("priority", ("x y z", "rx ry w")),
        ("length_scale", 0.0),
        ("length_scale", float("nan")),
        ("threshold", -1e-3),
        ("band", -1.0),
        ("band", float("inf")),
        ("given_up", "relax"),
        ("objective", "energy"),
        ("objective_weight", -1.0),
        ("objective_time_constant", -0.1),
        ("objective_time_constant", float("inf")),
        ("corrections", -1),
        ("corrections", 11),
        ("method", "pseudo-inverse"),
        ("damping", -0.1),
        ("damping", float("nan")),
    ),
)
def test_a_setting_without_meaning_is_refused_by_its_name(setting, value):
    with pytest.raises(ConfigError, match=setting):
        RedundancyConfig(**{setting: value})


@pytest.mark.parametrize("setting", ("method", "objective", "given_up"))
def test_the_refusal_names_what_is_valid(setting):
    with pytest.raises(ConfigError, match=getattr(RedundancyConfig(), setting)):
        RedundancyConfig(**{setting: "other"})


def test_one_weight_serves_all_joints_and_several_must_be_one_a_joint():
    assert RedundancyConfig(weights=(2.0,)).each_joint_weight(3).tolist() == [2.0, 2.0, 2.0]
    assert RedundancyConfig(weights=(2.0, 0.0, 1.0)).each_joint_weight(3).tolist() == [2.0, 0.0, 1.0]
    with pytest.raises(ConfigError, match="1 or 4 numbers, got 3"):
        RedundancyConfig(weights=(2.0, 0.0, 1.0)).plan(4)


def test_the_origin_is_where_the_joints_begin_unless_it_is_given():
    begin = np.array([0.1, 0.2])
    assert RedundancyConfig().origin_from(begin).tolist() == [0.1, 0.2]
    assert RedundancyConfig(origin=(1.0, 2.0)).origin_from(begin).tolist() == [1.0, 2.0]
    with pytest.raises(ConfigError, match="2 numbers"):
        RedundancyConfig(origin=(1.0,)).origin_from(begin)


def test_the_origin_taken_at_the_begin_does_not_follow_the_joints():
    begin = np.array([0.1, 0.2])
    origin = RedundancyConfig().origin_from(begin)
    begin += 1.0
    assert origin.tolist() == [0.1, 0.2]


def test_the_plan_is_that_of_the_levels_by_name():
    config = RedundancyConfig(
        weights=(1.0, 2.0, 3.0), priority=("rz", "y x", "z rx ry"), length_scale=0.2, band=0.1, given_up="hold"
    )
    wanted = make_plan((1.0, 2.0, 3.0), [[5], [1, 0], [2, 3, 4]], 0.2, 1e-3, 0.1, True)
    assert np.array_equal(config.plan(3), wanted)


def test_the_plan_leaves_out_the_axes_that_are_not_wanted():
    config = RedundancyConfig(weights=(1.0, 2.0, 3.0), priority=("rz", "y x", "z rx ry"), band=0.0)
    axes = np.array([True, False, True, False, False, False])
    assert np.array_equal(config.plan(3, axes), make_plan((1.0, 2.0, 3.0), [[], [0], [2]], 0.3))


def test_the_plan_of_the_settings_makes_the_step_keep_the_first_level():
    J = np.vstack((np.array([1.0, 2.0, 3.0]), np.zeros((2, 3)), np.array([1.0, 2.0, 3.0]), np.zeros((2, 3))))
    for priority, kept in ((("x y z", "rx ry rz"), 0), (("rx ry rz", "x y z"), 3)):
        levels = [[("x", "y", "z", "rx", "ry", "rz").index(axis) for axis in level.split()] for level in priority]
        assert np.array_equal(RedundancyConfig(priority=priority, band=0.0).plan(3), make_plan(np.ones(3), levels, 0.3))
        tool = RedundancyStep(np.ones(3), levels)
        tool.solve(J, np.array([1.0, 0.0, 0.0, -1.0, 0.0, 0.0]), np.zeros(3))
        assert tool.kept[[0, 3]].tolist() == [float(kept == 0), float(kept == 3)]


def test_each_objective_by_name_is_the_one_meant_besides_the_weights():
    chain = chain_or_skip("panda")
    begin, q = np.full(7, 0.1), np.array([0.2, -0.3, 0.1, -2.0, 0.3, 1.5, 0.4])
    quadratic = Quadratic(np.full(7, 2.0), begin)
    wanted = {
        "quadratic": quadratic,
        "joint_range": Sum((quadratic, JointRange(chain.lower, chain.upper, 0.5))),
        "manipulability": Sum((quadratic, Manipulability(chain, 0.5, 0.3))),
    }
    for name, objective in wanted.items():
        got = RedundancyConfig(weights=(2.0,), objective=name, objective_weight=0.5).objective_of(chain, begin)
        for ours, theirs in zip(quadratic_form(got, q), quadratic_form(objective, q), strict=True):
            assert np.array_equal(ours, theirs)


def test_an_origin_in_another_turn_is_that_of_the_nearest_for_endless_joints():
    chain, begin = chain_or_skip("panda"), np.full(7, 0.4)
    chain = replace(chain, turns=Turns([True] * 6 + [False]))
    away = RedundancyConfig(origin=tuple(np.full(7, 0.1 + 3.0 * TURN))).objective_of(chain, begin)
    assert np.allclose(away.origin, [*np.full(6, 0.1), 0.1 + 3.0 * TURN])
