"""Plans in MuJoCo: followed by joint servos, exact and with wrong inertias, against the straight line."""

from __future__ import annotations

import numpy as np
import pytest
from plan_follower import follow, resolved_trajectory, scaled
from planned_arms import boom_motions

from flexarm_core.reaction_null_space.planning.planner import ReactionPlanner

START, GOAL = np.array([0.69, -0.14, 0.60]), np.array([0.68, 0.36, 0.57])  # [m]
DURATION = 4.0  # [s]


@pytest.fixture(scope="module")
def planned():
    motions = boom_motions()
    plan = ReactionPlanner(motions).plan(START, GOAL, DURATION)
    straight = resolved_trajectory(motions, plan.positions[0], GOAL - START, DURATION)
    energy, _ = follow(motions.model, straight, DURATION)
    return motions.model, plan, energy


@pytest.mark.long
def test_the_servos_take_the_tool_to_the_goal_and_leave_the_base_as_quiet_as_predicted(planned):
    model, plan, straight = planned
    energy, tool = follow(model, plan.trajectory(), DURATION)
    assert np.linalg.norm(tool - GOAL) < 1e-3
    assert np.sqrt(energy / straight) < 0.05
    assert plan.straight_energy == pytest.approx(straight, rel=0.2)
    assert plan.peak_energy == pytest.approx(energy, rel=0.5)


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_inertias_that_are_wrong_by_a_tenth_leave_the_base_quiet(planned, factor):
    model, plan, straight = planned
    energy, _ = follow(model, plan.trajectory(), DURATION, scaled(model.description, lambda _: factor))
    assert np.sqrt(energy / straight) < 0.05
