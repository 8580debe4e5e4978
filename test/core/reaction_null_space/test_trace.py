"""Tracing: level sets of TREP as judge, ends by limit, singularity, length and closure."""

from __future__ import annotations

import numpy as np
import pytest
from elastic_base_arms import elastic_base_model

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.reaction_null_space.reactionless.trace import trace

FIRST, SECOND = 0.310 * 0.096 + 0.120 * 0.1, 0.120 * 0.090  # [kg*m] of TREP, tables I and II
START = np.array([0.5 * np.pi, 0.0])


def moment(q):
    """First moment of TREP's masses along the soft direction [kg*m]: its rate is the coupling momentum (26)."""
    return FIRST * np.cos(q[..., 0]) + SECOND * np.cos(q[..., 0] + q[..., 1])


def along(path, count=400):
    return np.array([path.position(s) for s in np.linspace(path.start, path.end, count)])


@pytest.mark.parametrize("seed", range(12))
def test_paths_of_trep_are_the_curves_on_which_its_center_of_mass_stays_in_line(trep, seed):
    q = np.random.default_rng(seed).uniform(-2.5, 2.5, 2)
    path = trace(trep, q)
    points = along(path)
    error = np.abs(moment(points) - moment(q)).max()
    assert error < 1e-10 * path.knots.sigma_min.min() * max(path.length, 1.0), "1e-10 across the path per unit of s"
    assert np.allclose(path.position(0.0), q, atol=1e-14)


def test_the_papers_path_closes_after_one_full_turn_of_the_second_joint(trep):
    path = trace(trep, START)
    assert path.closed and path.closing_error < 1e-10
    assert np.allclose(np.abs(path.turns), [0.0, 2.0 * np.pi], atol=1e-14)
    swing = np.arcsin(SECOND / FIRST)
    points = along(path)
    assert points[:, 0].max() == pytest.approx(0.5 * np.pi + swing, abs=1e-4)
    assert points[:, 0].min() == pytest.approx(0.5 * np.pi - swing, abs=1e-4)


def test_a_path_about_the_stretched_posture_closes_without_a_turn(trep):
    path = trace(trep, np.array([0.5, 0.2]))
    assert path.closed and not path.turns.any() and path.closing_error < 1e-10


def test_joint_limits_end_a_path_and_name_the_joint(trep):
    path = trace(trep, np.array([np.pi - 0.2, 0.1]))
    assert not path.closed
    for end, s in ((path.backward_end, path.start), (path.forward_end, path.end)):
        assert (end.reason, end.joint) == ("joint_limit", "joint1")
        assert path.position(s)[0] == pytest.approx(np.pi, abs=1e-10)
    assert along(path)[:, 0].max() <= np.pi


def test_limits_of_the_caller_count_instead_of_the_robots(trep):
    lower, upper = np.array([-np.pi, -1.0]), np.array([np.pi, 0.5])
    path = trace(trep, START, lower=lower, upper=upper)
    reached = sorted([path.position(path.start)[1], path.position(path.end)[1]])
    assert np.allclose(reached, [-1.0, 0.5], atol=1e-10)
    assert path.forward_end.joint == path.backward_end.joint == "joint2"


def test_a_path_that_closes_only_by_a_turn_beyond_a_limit_is_not_closed(trep):
    path = trace(trep, START, lower=np.array([-np.pi, -9.0]), upper=np.array([np.pi, 9.0]))
    assert not path.closed
    assert np.allclose(sorted([path.position(path.start)[1], path.position(path.end)[1]]), [-9.0, 9.0], atol=1e-9)


def test_a_start_on_a_limit_leaves_the_way_back_from_it(trep):
    upper = np.array([np.pi, 0.0])
    path = trace(trep, START, lower=np.array([-np.pi, -1.0]), upper=upper)
    assert path.length == pytest.approx(trace(trep, START, lower=np.array([-np.pi, -1.0]), upper=upper + 1e-9).length)
    assert 0.0 in (path.start, path.end)


def test_a_path_straight_through_a_singular_posture_is_stopped_there(trep):
    """On the level of the saddle at (0, pi) the direction stays smooth while the coupling vanishes."""
    angle = np.arccos((FIRST - SECOND) / (FIRST + SECOND))
    path = trace(trep, np.array([angle, 0.0]), singular_threshold=1e-3)
    for end, s in ((path.backward_end, path.start), (path.forward_end, path.end)):
        assert end.reason == "singular_coupling"
        q = path.position(s)
        assert np.hypot(q[0], abs(q[1]) - np.pi) < 0.01
        assert path.field.at(q).conditioning == pytest.approx(1e-3, rel=1e-3)


def test_length_ends_a_path_that_never_closes():
    """The angular momentum of a turning base is no derivative of a posture: such paths do not come back."""
    path = trace(elastic_base_model(("x", "y", "rz"), 4, limit=np.inf), np.array([0.3, 0.9, -0.5, 1.1]), length=6.0)
    assert (path.backward_end.reason, path.forward_end.reason) == ("length", "length")
    assert (path.start, path.end) == (-6.0, 6.0)


@pytest.mark.parametrize(
    ("directions", "joints", "seed"), [(("x", "y", "rz"), 4, None), (("x", "y", "z"), 4, 1), (("z", "rx", "ry"), 4, 3)]
)
def test_the_same_path_is_found_from_any_of_its_points(directions, joints, seed):
    model = elastic_base_model(directions, joints, seed)
    first = trace(model, np.random.default_rng(7).uniform(-1.0, 1.0, joints), length=3.0)
    q = first.position(0.8 * first.end)
    second = trace(model, q, length=3.0)
    assert second.nearest(first.position(0.0))[1] < 1e-9
    apart = [first.nearest(second.position(s))[1] for s in np.linspace(-0.7, 0.5, 13) * first.end * 0.2]
    assert max(apart) < 1e-9


@pytest.mark.long
def test_knots_are_dense_and_of_continuous_sign():
    path = trace(elastic_base_model(("x", "y", "rz"), 4), np.array([0.3, 0.9, -0.5, 1.1]))
    tangents = path.knots.tangent
    assert (np.einsum("ij,ij->i", tangents[1:], tangents[:-1]) > 0.8).all()
    assert np.diff(path.knots.s).max() <= 0.1 + 1e-12
    chords = np.linalg.norm(np.diff(path.knots.position, axis=0), axis=1)
    assert (chords <= np.diff(path.knots.s) + 1e-12).all(), "s is the length of the path"


@pytest.mark.parametrize(
    ("position", "message"),
    [
        ([0.0, np.pi], "no reactionless path through .* the rank of the coupling to base_x is not 1 there"),
        ([3.5, 0.0], "joint 'joint1' at 3.5 is beyond its limits"),
        ([0.0], "expected 2 finite numbers"),
    ],
)
def test_a_start_without_a_path_is_refused(trep, position, message):
    with pytest.raises(InputError, match=message):
        trace(trep, np.array(position))


@pytest.mark.parametrize(
    "options",
    [{"length": 0.0}, {"length": np.nan}, {"singular_threshold": 1.0}, {"lower": np.zeros(3)},
     {"lower": np.full(2, np.nan)}, {"lower": np.ones(2), "upper": np.zeros(2)}],
)  # fmt: skip
def test_bounds_without_meaning_are_refused(trep, options):
    with pytest.raises(ConfigError):
        trace(trep, START, **options)


def test_an_arm_with_more_freedom_has_no_family_of_lines(planar_3r):
    with pytest.raises(ConfigError, match="3 joints need at least 2 elastic directions"):
        trace(planar_3r, np.array([1.0, -1.0, -1.0]))
