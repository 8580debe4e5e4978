"""The null direction: what it annihilates, how it turns, and where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from elastic_base_arms import elastic_base_model

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.reaction_null_space.coupling.null_direction import NullDirection

FREE_BY_ONE = [
    (("x", "y", "rz"), 4, None),
    (("x", "y", "z"), 4, 1),
    (("z", "rx", "ry"), 4, 2),
    (("x", "y", "z", "rx", "ry", "rz"), 7, 3),
]


@pytest.mark.parametrize(("directions", "joints", "seed"), FREE_BY_ONE)
def test_the_direction_is_a_unit_vector_that_the_coupling_annihilates(directions, joints, seed):
    field, rng = NullDirection(elastic_base_model(directions, joints, seed)), np.random.default_rng(0)
    for q in rng.uniform(-2.5, 2.5, (100, joints)):
        vector, coupling = field.at(q), field.coupling(q)
        assert np.linalg.norm(vector.tangent) == pytest.approx(1.0, abs=1e-14)
        assert np.abs(coupling @ vector.tangent).max() < 1e-13 * np.linalg.norm(coupling)
        assert vector.sigma_min == pytest.approx(np.linalg.svd(coupling)[1][-1], rel=1e-10)
        assert np.allclose(coupling @ vector.inverse, np.eye(len(directions)), atol=1e-9)


@pytest.mark.parametrize(("directions", "joints", "seed"), FREE_BY_ONE)
def test_its_turn_along_itself_is_what_central_differences_say(directions, joints, seed):
    field, rng, h = NullDirection(elastic_base_model(directions, joints, seed)), np.random.default_rng(1), 1e-5
    for q in rng.uniform(-2.5, 2.5, (20, joints)):
        vector = field.at(q)
        n = vector.tangent
        if vector.conditioning < 0.01:
            continue
        ahead, behind = field.at(q + h * n).tangent, field.at(q - h * n).tangent
        expected = (ahead * np.sign(ahead @ n) - behind * np.sign(behind @ n)) / (2.0 * h)
        found = field.turn(q, vector, n)
        assert np.allclose(found, expected, atol=1e-6 * (1.0 + np.abs(expected).max()))
        assert found @ n == pytest.approx(0.0, abs=1e-10)
        assert np.array_equal(field.turn(q, vector, -n), found), "the curvature does not depend on the sense"


def test_on_trep_it_is_the_papers_vector(trep):
    """n = (h2, -h1), equation 27, and sigma_min its length."""
    field, rng = NullDirection(trep), np.random.default_rng(2)
    for q in rng.uniform(-3.0, 3.0, (200, 2)):
        h2 = -0.120 * 0.090 * np.sin(q.sum())
        h1 = -(0.310 * 0.096 + 0.120 * 0.1) * np.sin(q[0]) + h2
        n, vector = np.array([h2, -h1]), field.at(q)
        assert abs(vector.tangent @ n) == pytest.approx(np.linalg.norm(n), rel=1e-12)
        assert vector.sigma_min == pytest.approx(np.linalg.norm(n), rel=1e-9)


def test_a_direction_that_the_arm_cannot_excite_takes_no_freedom():
    """A planar arm does not move along z: x and z of the base leave two joints one free direction, as x alone does."""
    both, alone = (elastic_base_model(("x", "z"), 2), ("x",)), None
    field = NullDirection(both[0])
    alone = NullDirection(both[0], ("base_x",))
    for q in np.random.default_rng(3).uniform(-2.5, 2.5, (20, 2)):
        assert abs(field.at(q).tangent @ alone.at(q).tangent) == pytest.approx(1.0, abs=1e-12)
        assert field.at(q).sigma_min == pytest.approx(alone.at(q).sigma_min, rel=1e-9)


def test_as_many_directions_as_joints_leave_none_and_say_so():
    field = NullDirection(elastic_base_model(("x", "y", "z", "rx"), 4, 1))
    assert field.at(np.array([0.3, -0.7, 1.1, 0.4])).sigma_min == 0.0


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (("base_q",), "'base_q' is none; valid: base_x"),
        (("base_x", "base_x"), "a name stands twice"),
        (("base_x", "base_y"), "4 joints need at least 3 elastic directions, selected are 2"),
        ((), "selected are 0"),
    ],
)
def test_a_selection_that_does_not_fit_is_refused(selection, message):
    with pytest.raises(ConfigError, match=message):
        NullDirection(elastic_base_model(("x", "y", "rz"), 4), selection)


def test_of_a_wrong_posture_nothing_is_computed():
    field = NullDirection(elastic_base_model(("x", "y", "rz"), 4))
    for wrong in ([0.0, 1.0], [0.0, np.nan, 0.0, 0.0]):
        with pytest.raises(InputError, match="expected 4 finite numbers"):
            field.check_position(np.array(wrong))
