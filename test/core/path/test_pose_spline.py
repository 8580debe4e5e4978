"""Splines of a path: through every pose, continuous to the second derivative, derivatives exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from flexarm_core.errors import InputError
from flexarm_core.path.pose_path import PosePath

START = np.array([0.4, 0.0, 0.3])


def _poses(seed: int, count: int, turn: float = 0.6) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    positions = START + np.cumsum(generator.normal(scale=0.15, size=(count, 3)), axis=0)
    rotation, rotations = Rotation.identity(), []
    for vector in generator.normal(scale=turn, size=(count, 3)):
        rotation = Rotation.from_rotvec(vector) * rotation
        rotations.append(rotation.as_matrix())
    return positions, np.array(rotations)


@given(st.integers(0, 10_000), st.integers(1, 8))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_spline_passes_exactly_through_every_pose(seed, count):
    positions, rotations = _poses(seed, count, 0.3)
    path = PosePath(START, np.eye(3)).spline(positions, rotations)
    assert len(path.knots) == count + 1 and path.knots[-1] == path.length
    through = path.poses(path.knots[1:])
    assert np.allclose(through[0], positions, atol=1e-13) and np.allclose(through[1], rotations, atol=1e-12)
    assert np.array_equal(path.end[0], positions[-1])


@given(st.integers(0, 10_000), st.floats(1e-3, 1.0 - 1e-3))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_derivatives_are_those_of_the_pose(seed, part):
    path = PosePath(START, np.eye(3)).spline(*_poses(seed, 4, 0.3))
    s, h = part * path.length, 1e-6 * path.length
    (p0, Ra), (p1, Rb) = path.pose(s - h), path.pose(s + h)
    first, second = path.derivatives(s)
    turned = Rotation.from_matrix(Rb @ Ra.T).as_rotvec()
    scale = 1.0 + np.abs(second).max()
    assert np.allclose(np.concatenate((p1 - p0, turned)) / (2.0 * h), first, atol=1e-5 * scale)
    below, above = (path.derivatives(s + shift)[0] for shift in (-h, h))
    # At a knot of the inverse the third derivative jumps, so that only one side is exact there.
    assert np.allclose((above - below) / (2.0 * h), second, atol=1e-4 * scale**2)


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_second_derivatives_are_continuous_at_the_poses(seed):
    path = PosePath(START, np.eye(3)).spline(*_poses(seed, 5, 0.3))
    for knot in path.knots[1:-1]:
        (a, a2), (b, b2) = path.derivatives(knot - 1e-9), path.derivatives(knot + 1e-9)
        size = 1.0 + np.abs(a2).max()
        assert np.allclose(a, b, atol=1e-6 * size)
        # The angular part is solved for iteratively, to a tolerance.
        assert np.allclose(a2, b2, atol=1e-4 * size**2)
    assert len(path.corners) == 0


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_the_length_is_the_longer_of_way_and_weighted_turn(seed):
    path = PosePath(START, np.eye(3)).spline(*_poses(seed, 4))
    grid = np.linspace(0.0, path.length, 4001)
    first, _ = path.motions(grid)
    way, turned = (np.trapezoid(np.linalg.norm(part, axis=1), grid) for part in (first[:, :3], first[:, 3:]))
    assert np.isclose(max(way, 0.2 * turned), path.length, rtol=1e-4)


def test_points_on_a_circle_run_at_constant_speed():
    angles = np.linspace(0.0, 1.5 * np.pi, 40)
    circle = np.column_stack((np.cos(angles), np.sin(angles), 0.0 * angles))
    path = PosePath(circle[0], np.eye(3)).spline(circle[1:])
    assert np.isclose(path.length, 1.5 * np.pi, rtol=1e-5)
    first, second = path.motions(np.linspace(0.3, path.length - 0.3, 200))
    assert np.allclose(np.linalg.norm(first, axis=1), 1.0, atol=1e-3)
    assert np.allclose(np.linalg.norm(second, axis=1), 1.0, atol=1e-2)


def test_one_pose_is_met_along_a_straight_line():
    goal, R = START + [0.3, 0.2, -0.1], Rotation.from_rotvec([0.0, 1.0, 0.0]).as_matrix()
    spline, line = (
        draw(PosePath(START, np.eye(3))) for draw in (lambda p: p.spline([goal], [R]), lambda p: p.line(goal, R))
    )
    assert np.isclose(spline.length, line.length)
    for a, b in zip(spline.pose(0.4 * line.length), line.pose(0.4 * line.length), strict=True):
        assert np.allclose(a, b, atol=1e-12)


def test_turns_without_way_and_ways_without_turn_are_splines_too():
    R = [Rotation.from_rotvec([0.0, 0.0, angle]).as_matrix() for angle in (0.5, 1.5, 2.0)]
    turning = PosePath(START, np.eye(3)).spline([START] * 3, R)
    assert np.isclose(turning.length, 0.4) and np.allclose(turning.pose(0.2)[0], START)
    moving = PosePath(START, R[0]).spline([START + 0.1, START + [0.3, 0.0, 0.0]])
    assert np.array_equal(moving.pose(0.1)[1], moving.end[1]) and not moving.derivatives(0.1)[0][3:].any()


def test_a_spline_that_reverses_keeps_finite_derivatives():
    path = PosePath(START, np.eye(3)).spline([START + [0.1, 0.0, 0.0], START])
    first, second = path.motions(np.linspace(0.0, path.length, 1001))
    assert np.isclose(path.length, 0.2) and np.abs(first).max() < 1.2
    assert np.abs(second).max() < 1e3 and np.abs(first[500]).max() < 1e-9


TURNED = Rotation.from_rotvec([np.pi, 0.0, 0.0]).as_matrix()


@pytest.mark.parametrize(
    ("positions", "rotations", "said"),
    [
        ([], None, "needs at least one pose after the first"),
        ([START], None, "poses 1 and 2 are the same"),
        ([START + 0.1, START + 0.1], None, "poses 2 and 3 are the same"),
        ([START + 0.1], [TURNED], "spline, pose 1 to pose 2: the orientations are half a turn apart"),
        ([START + 0.1, START], [np.eye(3)], "2 positions need as many rotations, got 1"),
        ([START + 0.1, START + np.nan], None, "spline: position 3 must be three finite"),
        ([START + 0.1], [2.0 * np.eye(3)], "spline: rotation 2 is not a rotation matrix"),
    ],
)
def test_what_has_no_meaning_is_refused_with_its_reason(positions, rotations, said):
    with pytest.raises(InputError, match=said):
        PosePath(START, np.eye(3)).spline(positions, rotations)
