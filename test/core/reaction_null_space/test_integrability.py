"""Integrability of reactionless motions: conserved quantities say what brackets reach; Pinocchio judges surfaces."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
from elastic_base_arms import elastic_base_arm, elastic_base_model

from flexarm_core.errors import InputError
from flexarm_core.reaction_null_space.reaction_null_space import ReactionNullSpace
from flexarm_core.reaction_null_space.reactionless.integrability import integrability, trace_surface

ROTATIONS = ("rx", "ry", "rz")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("directions", "joints"),
    [(("x",), 3), (("x", "y"), 5), (("x", "y", "z"), 5), (("rz",), 3), (("x", "rz"), 4), (("rx", "ry"), 5)]
    + [(("x", "y", "rz"), 5), (("x", "rx", "ry", "rz"), 7)],
)
def test_all_is_reached_but_what_keeps_the_center_of_mass_in_its_place(directions, joints, seed):
    space = ReactionNullSpace(elastic_base_model(directions, joints, seed), ("all",))
    found = integrability(space, np.random.default_rng(seed).uniform(-1.5, 1.5, joints))
    linear = len([each for each in directions if each not in ROTATIONS])
    assert found.growth[0] == joints - len(directions)
    assert found.growth[-1] == joints - linear
    assert found.integrable == (linear == len(directions))
    assert (found.curvature < 1e-9) == found.integrable


def test_one_direction_is_always_a_path():
    path = integrability(ReactionNullSpace(elastic_base_model(("x", "rz"), 3), ("all",)), np.array([0.3, 0.8, -0.5]))
    assert path.growth == (1,) and path.integrable and str(path) == "1 of 3, integrable: a path"
    half = integrability(ReactionNullSpace(elastic_base_model(("x", "rz"), 2), ("base_x",)), np.array([0.3, 0.8]))
    assert half.growth == (1,)
    free = ReactionNullSpace(elastic_base_model(("x", "y", "rz"), 5), ("all",))
    assert "not integrable" in str(integrability(free, np.array([0.3, 0.8, -0.5, 0.4, 1.0])))


@pytest.mark.parametrize(("directions", "joints", "seed"), [("x", 3, 1), ("xy", 4, None), ("xyz", 5, 2)])
def test_on_a_surface_the_center_of_mass_of_pinocchio_keeps_its_place(directions, joints, seed):
    model = elastic_base_model(tuple(directions), joints, seed)
    judge = pinocchio.buildModelFromXML(elastic_base_arm(tuple(directions), joints, seed))
    data, m = judge.createData(), len(directions)
    q = np.random.default_rng(5).uniform(-1.0, 1.0, joints)
    surface = trace_surface(ReactionNullSpace(model, ("all",)), q, half=3)
    assert np.array_equal(surface.position[3, 3], q) and np.allclose(surface.basis.T @ surface.basis, np.eye(2))
    postures = surface.position[np.isfinite(surface.position).all(axis=2)]
    assert len(postures) > 30 and np.linalg.matrix_rank(postures - q, 0.1) >= 2
    axes = ["xyz".index(each) for each in directions]
    centers = [pinocchio.centerOfMass(judge, data, np.concatenate((np.zeros(m), each)))[axes] for each in postures]
    assert np.ptp(centers, axis=0).max() < 1e-9


def test_a_surface_ends_at_position_limits():
    model = elastic_base_model(("x",), 3, 1)
    q = np.array([0.3, -0.4, 0.5])
    upper = q + 0.4
    surface = trace_surface(ReactionNullSpace(model, ("all",)), q, upper=upper)
    inside = np.isfinite(surface.position).all(axis=2)
    assert not inside.all() and inside[5, 5] and (surface.position[inside] <= upper + 1e-9).all()
    assert np.array_equal(np.isfinite(surface.tool_position).all(axis=2), inside)


def test_there_is_no_surface_where_brackets_leave_it_or_the_motions_have_another_number_of_directions():
    q = np.array([0.3, 0.8, -0.5])
    with pytest.raises(InputError, match="2 of 3, not integrable"):
        trace_surface(ReactionNullSpace(elastic_base_model(("rz",), 3), ("all",)), q)
    with pytest.raises(InputError, match="1 of 3, integrable: a path"):
        trace_surface(ReactionNullSpace(elastic_base_model(("x", "y"), 3), ("all",)), q)
