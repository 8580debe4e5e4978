"""The map of the workspace: closed forms of planar arms, exhaustive search, limits, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from planned_arms import boom_motions

from flexarm_core.errors import ConfigError
from flexarm_core.reaction_null_space.reactionless.conditioning_map import (
    ConditioningMap,
    ConditioningMapConfig,
    map_conditioning,
)
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection

FIRST, SECOND = 0.310 * 0.096 + 0.120 * 0.1, 0.120 * 0.090  # [kg*m] of TREP, tables I and II
MASS, LENGTH = 10.0, 1.0  # [kg], [m] of each link of the planar arm, its center of mass in the middle


def mapped(model, postures: int, **options) -> ConditioningMap:
    """A map with all directions of the base at rest."""
    return map_conditioning(model, BaseSelection(model), ConditioningMapConfig(postures, **options))


def planar_forms(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coupling (3,) to a base that gives way along x, and Jacobian (2, 3) of the tool, of the planar 3R arm."""
    angles = np.cumsum(q)
    joints = np.concatenate(([[0.0, 0.0]], np.cumsum(LENGTH * np.column_stack((np.cos(angles), np.sin(angles))), 0)))
    centers = 0.5 * (joints[:-1] + joints[1:])
    coupling = [sum(-MASS * (centers[i] - joints[j])[1] for i in range(j, 3)) for j in range(3)]
    return np.array(coupling), np.array([[-(joints[3] - o)[1], (joints[3] - o)[0]] for o in joints[:3]]).T


def trep_speed(q: np.ndarray) -> np.ndarray:
    """Speed (...,) of TREP's tool at joint velocities of norm 1 along the reactionless direction."""
    one, both = q[..., 0], q.sum(axis=-1)
    h = np.stack((FIRST * np.sin(one) + SECOND * np.sin(both), SECOND * np.sin(both)), axis=-1)
    a, b = np.moveaxis(np.stack((-h[..., 1], h[..., 0]), axis=-1) / np.linalg.norm(h, axis=-1)[..., None], -1, 0)
    x = -0.1 * np.sin(one) * a - 0.1 * np.sin(both) * (a + b)
    return np.hypot(x, 0.1 * np.cos(one) * a + 0.1 * np.cos(both) * (a + b))


def test_speeds_and_the_best_direction_are_those_found_by_trying_all_directions(planar_3r):
    """Of the planar arm, in closed form: joint velocities all round the plane that its base does not feel."""
    found = mapped(planar_3r, 600)
    turns = np.linspace(0.0, np.pi, 20_001)
    assert found.freedom == 2 and found.axes == (True, True, False)
    for place in range(0, len(found.index), 25):
        coupling, jacobian = planar_forms(found.posture[place])
        first = np.cross(coupling, [0.3, -0.5, 0.7])
        second = np.cross(coupling, first)
        plane = np.column_stack((first / np.linalg.norm(first), second / np.linalg.norm(second)))
        ways = jacobian @ plane @ np.stack((np.cos(turns), np.sin(turns)))
        speeds = np.linalg.norm(ways, axis=0)
        assert np.isclose(found.least_speed[place], speeds.min(), rtol=1e-5, atol=1e-4)
        assert np.isclose(found.largest_speed[place], speeds.max(), rtol=1e-5)
        best = ways[:, speeds.argmax()] / speeds.max()
        assert abs(best @ found.best_direction[place, :2]) > 1.0 - 1e-3 and found.best_direction[place, 2] == 0.0


def test_the_one_free_direction_of_trep_is_as_fast_as_the_closed_form(trep):
    found = mapped(trep, 800)
    assert found.freedom == 1
    assert np.allclose(found.least_speed, trep_speed(found.posture), rtol=1e-9)
    assert np.array_equal(found.least_speed, found.largest_speed)


def test_no_place_is_much_worse_than_an_exhaustive_search_finds_and_none_is_better(trep):
    found = mapped(trep, 6000, voxel=0.04, least_margin=0.0, least_conditioning=0.0)
    angles = np.linspace(-np.pi, np.pi, 1201)
    grid = np.stack(np.meshgrid(angles, angles), axis=-1)[1:-1, 1:-1]
    one, both = grid[..., 0], grid.sum(axis=-1)
    tool = 0.1 * np.stack((np.cos(one) + np.cos(both), np.sin(one) + np.sin(both)), axis=-1)
    cells = np.rint(tool / 0.04).astype(int) + 10
    best = np.zeros((21, 21))
    np.maximum.at(best, (cells[..., 0], cells[..., 1]), trep_speed(grid))
    there = best[tuple((found.index[:, :2] + 10).T)]
    assert len(found.index) >= 0.97 * (best > 0.0).sum()
    assert (found.least_speed < 1.03 * there).all(), "finer than the search's grid by that"
    assert np.mean(found.least_speed > 0.9 * there) > 0.9


def test_variations_find_better_places_than_chance_does():
    motions = boom_motions()
    model, selection = motions.model, motions.selection
    found = map_conditioning(model, selection, ConditioningMapConfig(2000, voxel=0.2, least_conditioning=0.0))
    best: dict[tuple[int, ...], float] = {}
    for q in np.random.default_rng(0).uniform(model.lower, model.upper, (2000, 7)):
        space = motions.at(q)
        cube = tuple(np.rint(space.tool / 0.2).astype(int).tolist())
        best[cube] = max(best.get(cube, 0.0), float(space.tool_sigma[-1]))
    mine = dict(zip(map(tuple, found.index.tolist()), found.least_speed, strict=True))
    both = best.keys() & mine.keys()
    assert len(both) > 0.8 * len(best)
    assert sum(mine[cube] for cube in both) > 1.15 * sum(best[cube] for cube in both)
    for place in (0, len(found.index) // 2):
        sigma = motions.at(found.posture[place]).tool_sigma
        assert np.allclose(sigma[[0, -1]], [found.largest_speed[place], found.least_speed[place]], rtol=1e-9)


def test_every_place_is_there_once_with_its_tool_inside_and_its_joints_within_their_limits():
    motions = boom_motions()
    model = motions.model
    found = map_conditioning(model, motions.selection, ConditioningMapConfig(800, least_margin=0.1))
    assert len(np.unique(found.index, axis=0)) == len(found.index) and found.voxel == 0.1
    assert np.abs(found.tool_position - found.voxel * found.index).max() <= 0.5 * found.voxel + 1e-12
    for place in range(0, len(found.index), 40):
        assert np.allclose(motions.tool(found.posture[place])[0], found.tool_position[place], atol=1e-12)
    margin = np.minimum(found.posture - model.lower, model.upper - found.posture) / (model.upper - model.lower)
    assert margin.min() >= 0.5 * 0.1 - 1e-12
    assert found.joint_names == model.joint_names and found.selection == ("mode 1", "mode 2", "mode 3")


def test_singular_postures_come_last_and_only_where_there_is_no_other(trep):
    strict, loose = mapped(trep, 1500, least_conditioning=0.3), mapped(trep, 1500, least_conditioning=0.0)
    assert loose.regular.all() and 0.1 < strict.regular.mean() < 0.9
    first = strict.regular.sum()
    assert strict.regular[:first].all() and (np.diff(strict.least_speed[:first]) <= 0.0).all()
    assert (np.diff(strict.conditioning[first:]) <= 0.0).all()
    good = {tuple(cube) for cube in strict.index[:first].tolist()}
    known = [tuple(cube) in good for cube in loose.index[loose.conditioning >= 0.3].tolist()]
    assert np.mean(known) > 0.9, "where a map that does not ask found a regular posture by chance"


def test_the_best_places_are_apart_and_the_same_at_every_call(planar_3r):
    found, again = mapped(planar_3r, 400), mapped(planar_3r, 400)
    assert np.array_equal(found.posture, again.posture)
    best = found.best(5, apart=4)
    assert len(best) == 5 and best[0] == 0 and (np.diff(found.least_speed[best]) <= 0.0).all()
    gaps = np.abs(found.index[best][:, None] - found.index[best][None]).max(axis=-1)
    assert gaps[~np.eye(5, dtype=bool)].min() >= 4
    assert len(found.best(10_000, apart=1)) == len(found.index)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"postures": 0}, r"postures must lie in \[1, inf\], got 0"),
        ({"voxel": -0.1}, r"voxel must lie in \[0.0, inf\]"),
        ({"axes": (False, False, False)}, "one of them true"),
        ({"least_margin": 1.0}, "least_margin"),
        ({"least_conditioning": float("nan")}, "least_conditioning"),
    ],
)
def test_settings_without_meaning_are_refused(options, said):
    with pytest.raises(ConfigError, match=said):
        ConditioningMapConfig(**options)


def test_an_axis_along_which_the_tool_does_not_move_is_refused(planar_3r):
    with pytest.raises(ConfigError, match="does not move along z of 'base_ft'"):
        mapped(planar_3r, 10, axes=(True, True, True))
