"""Obstacles: what is one, their table and the flat lists of a node's parameters."""

from __future__ import annotations

import math

import numpy as np
import pytest

from flexarm_core.behavior_impedance.avoidance.obstacles import Obstacle, obstacles_from_lists, pack
from flexarm_core.errors import ConfigError

LISTS = {
    "names": ["ball", "box", "floor"],
    "kinds": ["sphere", "box", "half_space"],
    "positions": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 0.0, -0.1],
    "rpys": [0.0, 0.0, 0.0, 0.0, 0.0, math.pi / 2, math.pi / 2, 0.0, 0.0],
    "sizes": [0.3, 0.0, 0.0, 0.1, 0.2, 0.3, 0.0, 0.0, 0.0],
}


def test_flat_lists_become_obstacles_and_a_table():
    ball, box, floor = obstacles_from_lists(**LISTS)
    assert ball.size == (0.3,) and box.size == (0.1, 0.2, 0.3) and floor.size == ()
    assert np.allclose(box.rotation @ [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    assert np.allclose(floor.rotation[:, 2], [0.0, -1.0, 0.0])
    table = pack([ball, box, floor])
    assert table.shape == (3, 16)
    assert np.array_equal(table[:, 0], [0.0, 1.0, 2.0])
    assert np.array_equal(table[:, 1:4].ravel(), LISTS["positions"])
    assert np.array_equal(table[1, 4:13].reshape(3, 3), box.rotation)
    assert np.array_equal(table[:, 13:].ravel(), [0.3, 0.0, 0.0, 0.1, 0.2, 0.3, 0.0, 0.0, 0.0])


def test_without_angles_nothing_is_turned_and_without_names_there_is_nothing():
    assert all(
        np.array_equal(obstacle.rotation, np.eye(3)) for obstacle in obstacles_from_lists(**LISTS | {"rpys": []})
    )
    assert obstacles_from_lists([], [], [], [], []) == ()
    assert pack([]).shape == (0, 16)


@pytest.mark.parametrize(
    ("change", "message"),
    (
        ({"kinds": ["sphere"]}, "3 obstacles .* as many kinds, got 1"),
        ({"positions": [1.0]}, "9 numbers in positions, 3 each; got 1"),
        ({"rpys": [1.0] * 8}, "9 numbers in rpys, 3 each; got 8"),
        ({"sizes": []}, "9 numbers in sizes, 3 each; got 0"),
        ({"names": ["ball", "ball", "floor"]}, "given twice: ball"),
        ({"names": ["", "box", "floor"]}, "needs a name"),
        ({"kinds": ["cone", "box", "half_space"]}, "'cone' is unknown; valid: sphere, box, half_space"),
        ({"sizes": [-0.3, 0.0, 0.0] + [0.1] * 6}, "'ball': a sphere needs a radius > 0"),
        ({"sizes": [0.3, 0.0, 0.0, 0.1, 0.0, 0.1, 0.0, 0.0, 0.0]}, "'box': a box needs three half extents > 0"),
        ({"positions": [math.nan] * 9}, "'ball': the position must be three finite numbers"),
        ({"rpys": [math.inf] * 9}, "'ball': the orientation is no rotation"),
    ),
)
def test_what_does_not_fit_is_refused_and_said(change, message):
    with np.errstate(invalid="ignore"), pytest.raises(ConfigError, match=message):
        obstacles_from_lists(**LISTS | change)


@pytest.mark.parametrize(
    ("position", "rotation", "size", "message"),
    (
        ([0.0, 0.0], np.eye(3), (1.0,), "three finite numbers"),
        ([0.0] * 3, 2.0 * np.eye(3), (1.0,), "no rotation"),
        ([0.0] * 3, np.diag([1.0, 1.0, -1.0]), (1.0,), "no rotation"),
        ([0.0] * 3, np.eye(2), (1.0,), "no rotation"),
        ([0.0] * 3, np.eye(3), (1.0, 2.0), "a radius"),
        ([0.0] * 3, np.eye(3), (math.inf,), "a radius"),
    ),
)
def test_a_body_without_meaning_is_refused(position, rotation, size, message):
    with pytest.raises(ConfigError, match=message):
        Obstacle("ball", "sphere", position, rotation, size)
