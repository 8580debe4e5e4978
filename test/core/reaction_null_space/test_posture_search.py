"""Good start postures: at the tool position, within limits, better than what chance gives."""

from __future__ import annotations

import numpy as np
import pytest
from planned_arms import boom_motions, planar_motions

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.reaction_null_space.reactionless.posture_search import PostureSearchConfig, search_postures
from flexarm_core.reaction_null_space.reactionless.tool_postures import ToolPostures

PLACE = np.array([0.55, 0.1, 0.5])  # [m] in front of the arm
QUICK = PostureSearchConfig(samples=40, refined=5)


def test_postures_have_the_tool_in_place_and_keep_the_limits():
    motions = boom_motions()
    found = search_postures(motions, PLACE, QUICK)
    assert found and [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    for each in found:
        assert np.abs(motions.tool(each.position)[0] - PLACE).max() < 1e-5
        assert (each.position >= motions.model.lower).all() and (each.position <= motions.model.upper).all()


def test_the_best_is_far_better_conditioned_than_the_median_posture():
    motions = boom_motions()
    random = ToolPostures(motions, PLACE).random(np.random.default_rng(1), 60)
    median = np.median([motions.at(q).tool_sigma[-1] for q in random])
    assert search_postures(motions, PLACE, QUICK)[0].tool_sigma > 2.0 * median


def test_conditioning_is_that_of_the_projected_jacobian():
    """The singular values of ``J (1 - A^+ A)``, formed in full."""
    motions = boom_motions()
    q = search_postures(motions, PLACE, QUICK)[0].position
    space = motions.at(q)
    projector = np.eye(7) - np.linalg.pinv(space.coupling) @ space.coupling
    assert np.allclose(np.linalg.svd(space.jacobian @ projector)[1], space.tool_sigma, atol=1e-9)


def test_the_same_seed_gives_the_same_postures():
    first, second = (search_postures(boom_motions(), PLACE, QUICK)[0] for _ in range(2))
    assert np.array_equal(first.position, second.position)


def test_a_place_out_of_reach_is_refused():
    with pytest.raises(InputError, match="out of reach"):
        search_postures(boom_motions(), np.array([3.0, 0.0, 0.5]), QUICK)
    with pytest.raises(InputError, match="three finite numbers"):
        search_postures(boom_motions(), np.array([np.nan, 0.0, 0.5]), QUICK)


def test_more_tasks_than_joints_are_refused():
    with pytest.raises(ConfigError, match="select fewer"):
        planar_motions((True, True, True))
