"""The map of the workspace: every path once, refusals recorded, pictures that lie on the paths."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.errors import ConfigError
from flexarm_core.reaction_null_space.reactionless.map import draw, map_reactionless_paths

FIRST, SECOND = 0.310 * 0.096 + 0.120 * 0.1, 0.120 * 0.090  # [kg*m] of TREP, tables I and II


def test_the_family_of_trep_has_each_level_once(trep):
    """Paths of TREP are the level sets of its first moment: as many as different levels, up to whole turns.

    Levels near 0 wind about the second joint's axis, extreme ones do not; a seed and its mirror image share a level
    but not always a path, and the singular posture has none.
    """
    angles = np.array([0.4, 0.8, 1.2, 1.6, 2.0, 2.4])
    seeds = np.concatenate((
        np.column_stack((angles, np.zeros(6))),
        np.column_stack((angles, np.full(6, 2.0 * np.pi))),
        [[0.0, np.pi], [4.0, 0.0]],
    ))  # fmt: skip
    found = map_reactionless_paths(trep, seeds)
    assert len(found.paths) == 6
    assert found.path_of_seed.tolist() == [*range(6), *range(6), -1, -1]
    assert set(found.refused) == {12, 13}
    assert "rank" in found.refused[12] and "limits" in found.refused[13]
    for path, angle in zip(found.paths, angles, strict=True):
        level = (FIRST + SECOND) * np.cos(angle)
        winds = abs(level) < FIRST - SECOND
        assert path.closed == (level > -(FIRST - SECOND)), "round the folded-back posture joint 1 meets its limit"
        assert bool(path.turns.any()) == (winds and path.closed)


def test_two_paths_on_one_level_are_two(trep):
    """q1 and -q1 have the same first moment; on a winding level no path joins them."""
    assert len(map_reactionless_paths(trep, np.array([[1.5, 0.0], [-1.5, 0.0]])).paths) == 2
    assert len(map_reactionless_paths(trep, np.array([[0.3, 0.0], [-0.3, 0.0]])).paths) == 1


def test_a_picture_lies_on_its_path_at_equal_steps(trep):
    path = map_reactionless_paths(trep, np.array([[1.5, 0.0]])).paths[0]
    picture = draw(path, 0.1)
    assert np.diff(picture.s).max() <= 0.1 and np.ptp(np.diff(picture.s)) < 1e-12
    assert picture.closed and picture.ends == ("closed", "closed")
    assert np.allclose(picture.tool_position[-1], picture.tool_position[0], atol=1e-12), "the drawn curve is closed"
    q = picture.position
    moment = FIRST * np.cos(q[:, 0]) + SECOND * np.cos(q.sum(axis=1))
    assert np.ptp(moment) < 1e-11
    h2 = SECOND * np.sin(q.sum(axis=1))
    assert np.allclose(picture.sigma_min, np.hypot(FIRST * np.sin(q[:, 0]) + h2, h2), rtol=1e-9)
    assert np.all(picture.conditioning > 0.0) and np.all(picture.conditioning < 1.0)
    with pytest.raises(ConfigError, match="spacing"):
        draw(path, 0.0)
