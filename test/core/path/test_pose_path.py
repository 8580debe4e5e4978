"""Lines, arcs, circles and their chain: exact derivatives, shortest turns, corners, and what has no meaning."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from flexarm_core.errors import InputError
from flexarm_core.path.pose_path import PosePath

START = np.array([0.3, -0.1, 0.5])
R0 = Rotation.from_rotvec([0.4, -0.8, 0.3]).as_matrix()
numbers = st.floats(-1.0, 1.0)
vectors = st.tuples(numbers, numbers, numbers).map(np.array)


def _turned(vector, R=R0):
    return Rotation.from_rotvec(vector).as_matrix() @ R


def _chain() -> PosePath:
    """One piece of each kind."""
    path = PosePath(START, R0).line(START + [0.2, 0.1, 0.0], _turned([0.1, 0.2, 0.3]))
    path = path.arc(START + [0.3, 0.2, 0.1], START + [0.2, 0.4, 0.1], _turned([0.5, 0.0, -0.4]))
    path = path.circle(START, [0.1, 0.2, 1.0], 8.0, follow=True).turn([0.0, 0.0, 7.0])
    return path.line(START)


def assert_derivatives_are_exact(path: PosePath, s: float, h: float = 1e-5, atol: float = 1e-6) -> None:
    """Central differences of poses and of first derivatives, inside a piece."""
    (p0, Ra), (p1, Rb) = path.pose(s - h), path.pose(s + h)
    first, second = path.derivatives(s)
    turned = Rotation.from_matrix(Rb @ Ra.T).as_rotvec()
    scale = 1.0 + np.abs(second).max()
    assert np.allclose(np.concatenate((p1 - p0, turned)) / (2.0 * h), first, atol=atol * scale)
    difference = (path.derivatives(s + h)[0] - path.derivatives(s - h)[0]) / (2.0 * h)
    assert np.allclose(difference, second, atol=atol * scale**2)


@given(st.floats(1e-4, 1.0 - 1e-4))
@settings(deadline=None, derandomize=True)
def test_derivatives_are_those_of_the_pose(part):
    path = _chain()
    s = part * path.length
    if np.abs(path.breaks - s).min() > 2e-5:
        assert_derivatives_are_exact(path, s)


def test_pieces_begin_where_the_ones_before_end():
    path = _chain()
    before, behind = (path.poses(np.clip(path.breaks[1:-1] + shift, 0.0, path.length)) for shift in (-1e-12, 1e-12))
    assert np.allclose(before[0], behind[0], atol=1e-11) and np.allclose(before[1], behind[1], atol=1e-10)


def test_a_grid_of_poses_is_the_poses_one_by_one():
    path = _chain()
    grid = np.linspace(0.0, path.length, 37)
    positions, rotations = path.poses(grid)
    for s, p, R in zip(grid, positions, rotations, strict=True):
        assert np.array_equal(path.pose(s)[0], p) and np.array_equal(path.pose(s)[1], R)


@given(vectors, vectors, st.floats(0.0, 1.0))
@settings(deadline=None, derandomize=True)
def test_a_line_turns_about_one_axis_at_a_constant_rate(displacement, vector, part):
    if np.linalg.norm(displacement) < 1e-6:
        return
    path = PosePath(START, R0).line(START + displacement, _turned(vector))
    p, R = path.pose(part * path.length)
    assert np.allclose(p, START + part * displacement, atol=1e-12)
    assert np.allclose(R, _turned(part * vector), atol=1e-7)  # log of a small turn
    first, second = path.derivatives(part * path.length)
    assert np.isclose(max(np.linalg.norm(first[:3]), 0.2 * np.linalg.norm(first[3:])), 1.0)
    assert not second.any()


def test_the_end_pose_is_met():
    goal, R = START + [0.1, -0.3, 0.2], _turned([1.0, -2.0, 0.5])
    for path in (PosePath(START, R0).line(goal, R), PosePath(START, R0).arc(START + [0.3, 0.0, 0.0], goal, R)):
        for p, rotation in (path.end, path.pose(path.length)):
            assert np.allclose(p, goal, atol=1e-14) and np.allclose(rotation, R, atol=1e-13)


@given(vectors, vectors)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_an_arc_is_on_the_circle_and_passes_the_via_point(a, b):
    sides = [np.linalg.norm(v) for v in (a, b, b - a)]
    if min(sides) < 1e-2 or np.linalg.norm(np.cross(a, b)) < 0.05 * sides[0] * sides[1]:
        return
    path = PosePath(START, R0).arc(START + a, START + b)
    positions, rotations = path.poses(np.linspace(0.0, path.length, 400))
    center = path.segments[0].center
    assert np.ptp(np.linalg.norm(positions - center, axis=1)) < 1e-12 * (1.0 + np.linalg.norm(center))
    step = path.length / 399
    assert np.linalg.norm(positions - (START + a), axis=1).min() < 0.51 * step
    assert np.allclose(positions[-1], START + b, atol=1e-10)
    # Short steps of the way add up to the length, just below it.
    assert path.length * (1.0 - 1e-4) < np.linalg.norm(np.diff(positions, axis=0), axis=1).sum() <= path.length + 1e-12
    assert np.array_equal(rotations[-1], rotations[0])


def test_a_circle_of_many_turns_comes_back():
    path = PosePath([1.0, 0.0, 0.2], R0).circle([0.0, 0.0, 5.0], [0.0, 0.0, 2.0], 20.0 * np.pi)
    assert np.isclose(path.length, 20.0 * np.pi)
    for turn in range(11):
        p, R = path.pose(2.0 * np.pi * turn)
        assert np.allclose(p, [1.0, 0.0, 0.2], atol=1e-13) and np.allclose(R, R0, atol=1e-14)
    assert np.allclose(path.pose(0.5 * np.pi)[0], [0.0, 1.0, 0.2])
    back = PosePath([1.0, 0.0, 0.2], R0).circle([0.0, 0.0, 0.0], [0.0, 0.0, 1.0], -np.pi)
    assert np.allclose(back.pose(0.5 * np.pi)[0], [0.0, -1.0, 0.2])


def test_a_tool_that_follows_the_circle_keeps_its_view_of_the_center():
    center = START + [0.2, 0.1, -0.1]
    path = PosePath(START, R0).circle(center, [0.3, -0.5, 1.0], 5.0, follow=True)
    positions, rotations = path.poses(np.linspace(0.0, path.length, 20))
    assert np.allclose(np.einsum("gji,gj->gi", rotations, center - positions), R0.T @ (center - START))


def test_a_turn_on_the_spot_has_a_length_and_any_number_of_revolutions():
    path = PosePath(START, R0, characteristic_length=0.5).turn([0.0, 9.0, 0.0])
    assert np.isclose(path.length, 4.5)
    p, R = path.pose(path.length / 3.0)
    assert np.allclose(p, START) and np.allclose(R, _turned([0.0, 3.0, 0.0]))
    assert np.allclose(path.derivatives(1.0)[0], [0.0, 0.0, 0.0, 0.0, 2.0, 0.0])


def test_corners_are_where_the_tangent_jumps():
    start = PosePath([0.0, 0.0, 0.0], np.eye(3)).line([1.0, 0.0, 0.0])
    assert len(start.line([2.0, 0.0, 0.0]).corners) == 0
    assert np.allclose(start.line([2.0, 1e-3, 0.0]).corners, [1.0])
    tangent = start.circle([1.0, 0.5, 0.0], [0.0, 0.0, 1.0], np.pi)
    assert len(tangent.corners) == 0 and np.allclose(tangent.breaks, [0.0, 1.0, 1.0 + 0.5 * np.pi])
    assert np.allclose(tangent.line([1.0, 3.0, 0.0]).corners, [1.0 + 0.5 * np.pi])
    assert np.allclose(start.line([2.0, 0.0, 0.0], _turned([0.0, 0.0, 0.1], np.eye(3))).corners, [1.0])


def test_a_coordinate_that_stands_twice_is_read_from_both_sides():
    path = PosePath([0.0, 0.0, 0.0], np.eye(3)).line([1.0, 0.0, 0.0]).line([1.0, 1.0, 0.0])
    first, _ = path.motions(np.array([0.5, 1.0, 1.0, 2.0]))
    assert np.allclose(first[:, :3], [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]])
    assert np.allclose(path.derivatives(1.0)[0][:3], [0, 1, 0])


def test_a_path_in_another_frame_moves_every_pose_alike():
    path, R, t = _chain(), Rotation.from_rotvec([0.2, 1.1, -0.6]).as_matrix(), np.array([1.0, -2.0, 0.3])
    moved = path.moved(R, t)
    grid = np.linspace(0.0, path.length, 25)
    for before, behind in zip(path.poses(grid), moved.poses(grid), strict=True):
        expected = before @ R.T + t if before.ndim == 2 else R @ before
        assert np.allclose(behind, expected, atol=1e-13)
    assert_derivatives_are_exact(moved, 0.6)
    assert np.allclose(moved.corners, path.corners) and np.allclose(moved.knots, path.knots)
    assert np.allclose(moved.end[0], R @ path.end[0] + t) and np.allclose(moved.end[1], R @ path.end[1])


def test_a_path_that_is_not_drawn_yet_stays_at_its_start():
    path = PosePath(START, R0)
    assert path.length == 0.0 and np.array_equal(path.pose(0.0)[0], START) and len(path.corners) == 0
    assert np.array_equal(path.knots, [0.0]) and not path.derivatives(0.0)[0].any()


def test_drawing_on_leaves_the_path_as_it_was():
    path = PosePath(START, R0).line(START + 0.1)
    path.line(START).end[0][:] = 0.0
    assert len(path.segments) == 1 and np.allclose(path.end[0], START + 0.1)


A, B = [0.1, 0.0, 0.0], [0.2, 0.0, 0.0]


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (lambda p: p.line(START), "line: the end pose is the start pose"),
        (lambda p: p.line(), "line: the end pose is the start pose"),
        (lambda p: p.line([np.nan, 0.0, 0.0]), "line: position must be three finite numbers"),
        (lambda p: p.line(START + A, np.zeros((3, 3))), "line: rotation is not a rotation matrix"),
        (lambda p: p.line(START + A, R0 @ np.diag([-1.0, -1.0, 1.0])), "line: the orientations are half a turn apart"),
        (lambda p: p.turn([0.0, 0.0, 0.0]), "the end pose is the start pose"),
        (lambda p: p.turn([0.0, np.inf, 0.0]), "turn: rotation vector must be three finite"),
        (lambda p: p.arc(START + A, START + B), "arc: start, via and end lie on one line"),
        (lambda p: p.arc(START + B, START + A), "arc: start, via and end lie on one line"),
        (lambda p: p.arc(START + A, START + A), "two of start, via and end are the same"),
        (lambda p: p.arc(START + A, START), "two of start, via and end are the same"),
        (lambda p: p.arc(START, START + A), "two of start, via and end are the same"),
        (lambda p: p.circle(START + A, [0.0, 0.0, 0.0]), "the normal has no length"),
        (lambda p: p.circle(START + A, [1.0, 0.0, 0.0]), "lies on the axis of the circle"),
        (lambda p: p.circle(START + A, [0.0, 0.0, 1.0], 0.0), "the angle must be a finite number other than 0"),
        (lambda p: p.circle(START + A, [0.0, 0.0, 1.0], np.nan, follow=True), "the angle must be a finite number"),
        (lambda p: p.line(START + A).pose(0.2), "path coordinates must lie in \\[0, 0.1\\] m"),
        (lambda p: p.line(START + A).pose(np.nan), "path coordinates must lie in"),
        (lambda p: PosePath(START, R0, 0.0), "the characteristic length must be > 0"),
        (lambda p: PosePath([1.0], R0), "start position must be three finite"),
    ],
)
def test_what_has_no_meaning_is_refused_with_its_reason(draw, said):
    with pytest.raises(InputError, match=said):
        draw(PosePath(START, R0))
