"""Orientations against scipy and against what a rotation is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from flexarm_core.errors import InputError
from flexarm_core.path.rotations import Turn, checked_rotation, checked_vector, rotation_between

numbers = st.floats(-10.0, 10.0)
vectors = st.tuples(numbers, numbers, numbers).map(np.array)


@given(vectors, vectors, st.floats(0.0, 1.0))
@settings(deadline=None, derandomize=True)
def test_a_turn_is_the_exponential_of_its_part_of_the_vector(begin, vector, part):
    start = Rotation.from_rotvec(begin)
    expected = Rotation.from_rotvec(part * vector) * start
    assert np.allclose(Turn(start.as_matrix(), vector).rotations(np.array([part]))[0], expected.as_matrix(), atol=1e-13)


@given(vectors, vectors)
@settings(deadline=None, derandomize=True)
def test_the_vector_between_two_orientations_leads_from_one_to_the_other(first, second):
    start, end = (Rotation.from_rotvec(v).as_matrix() for v in (first, second))
    try:
        vector = rotation_between(start, end)
    except InputError:
        assert np.trace(end @ start.T) < -1.0 + 1e-10
        return
    assert np.linalg.norm(vector) < np.pi
    assert np.allclose(Turn(start, vector).rotations(np.ones(1))[0], end, atol=1e-12)


def test_half_a_turn_is_refused_since_its_way_is_not_unique():
    with pytest.raises(InputError, match="half a turn apart"):
        rotation_between(np.eye(3), np.diag([1.0, -1.0, -1.0]))


def test_a_rotation_within_rounding_is_made_orthonormal():
    R = Rotation.from_rotvec([0.3, -0.5, 1.0]).as_matrix() + 1e-7 * np.arange(9.0).reshape(3, 3) / 9.0
    checked = checked_rotation(R, "R")
    assert np.abs(checked @ checked.T - np.eye(3)).max() < 1e-13
    assert np.abs(checked - R).max() < 3e-7


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (np.eye(2), "must be a rotation matrix"),
        (np.full((3, 3), np.nan), "of finite numbers"),
        (2.0 * np.eye(3), "R R\\^T differs from 1 by 3"),
        (np.diag([1.0, 1.0, -1.0]), "or R mirrors"),
        ("turn", "must be a rotation matrix"),
    ],
)
def test_what_is_no_rotation_is_refused(value, said):
    with pytest.raises(InputError, match=said):
        checked_rotation(value, "R")


@pytest.mark.parametrize("value", [[1.0, 2.0], [1.0, 2.0, np.inf], None, "abc"])
def test_what_is_no_vector_is_refused(value):
    with pytest.raises(InputError, match="p must be three finite numbers"):
        checked_vector(value, "p")
