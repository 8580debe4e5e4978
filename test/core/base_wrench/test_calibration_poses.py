"""The choice of calibration poses: informative, safe along the whole way, and told where there is none."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import weighed_robots

from flexarm_core.base_wrench.calibration_poses import CalibrationPosesConfig, choose_calibration_poses
from flexarm_core.base_wrench.gravity_parameters import IdentifiableGravity
from flexarm_core.base_wrench.link_heights import LinkHeights
from flexarm_core.errors import ConfigError, InputError

BEGIN = {"arm_7r": np.array([0.0, 0.3, 0.0, -1.2, 0.0, 0.5, 0.0]), "vertical_3r": np.array([-0.8, 0.5, 0.2])}
LEAST = 0.15  # [m]


def safety(name, least=LEAST):
    return LinkHeights(weighed_robots.description(name), weighed_robots.bodies(name), least)


def choose(name, is_safe, begin=None, limits=None, **settings):
    begin = BEGIN[name] if begin is None else begin
    lower, upper = weighed_robots.limits(name) if limits is None else limits
    config = CalibrationPosesConfig(**{"count": 20, **settings})
    return choose_calibration_poses(weighed_robots.bodies(name), begin, lower, upper, is_safe, config)


@pytest.fixture(name="poses", scope="module")
def poses_of_arm_7r():
    return choose("arm_7r", safety("arm_7r"))


def test_poses_keep_a_margin_to_the_limits(poses):
    lower, upper = weighed_robots.limits("arm_7r")
    assert poses.shape == (20, 7)
    assert (poses >= lower + 0.1 * (upper - lower)).all() and (poses <= upper - 0.1 * (upper - lower)).all()


def test_every_pose_and_every_move_there_and_back_is_safe(poses):
    is_safe = safety("arm_7r", LEAST - 0.01)  # asked between the positions that were checked
    stations = np.vstack((BEGIN["arm_7r"], poses, BEGIN["arm_7r"]))
    for start, goal in pairwise(stations):
        assert all(is_safe(start + share * (goal - start)) for share in np.linspace(0.0, 1.0, 97))
    lower, upper = weighed_robots.limits("arm_7r")
    anywhere = np.random.default_rng(0).uniform(lower, upper, (100, 7))
    assert not all(is_safe(position) for position in anywhere)


def test_chosen_poses_tell_more_than_random_ones(poses):
    lower, upper = weighed_robots.limits("arm_7r")
    identifiable = IdentifiableGravity(weighed_robots.bodies("arm_7r"), lower=lower, upper=upper)
    rng = np.random.default_rng(3)
    random = [identifiable.information(rng.uniform(lower, upper, (20, 7))).condition_number for _ in range(20)]
    assert identifiable.information(poses).condition_number < np.median(random)


def test_the_way_through_all_poses_is_shorter_than_in_any_order(poses):
    def way(order):
        return np.abs(np.diff(np.vstack((BEGIN["arm_7r"], order)), axis=0)).max(axis=1).sum()

    rng = np.random.default_rng(1)
    assert way(poses) < 0.9 * min(way(rng.permutation(poses)) for _ in range(50))


def test_the_same_seed_gives_the_same_poses_and_another_one_others(poses):
    assert np.array_equal(choose("arm_7r", safety("arm_7r")), poses)
    assert not np.array_equal(choose("arm_7r", safety("arm_7r"), seed=1), poses)


def test_poses_stay_in_the_box_around_the_present_one():
    poses = choose("arm_7r", safety("arm_7r"), max_displacement=0.5)
    assert np.abs(poses - BEGIN["arm_7r"]).max() <= 0.5
    assert np.ptp(poses, axis=0).min() > 0.5


def test_poses_avoid_what_a_predicate_forbids_even_between_them():
    def is_safe(position):
        return abs(position[0] + 0.5) > 0.2 or position[2] > 0.0  # a wall with a gap

    begin = np.array([0.5, 0.4, 0.5])
    poses = choose("vertical_3r", is_safe, begin, step=0.02)
    stations = np.vstack((begin, poses, begin))
    for start, goal in pairwise(stations):
        inside = [share for share in np.linspace(0.0, 1.0, 301) if not is_safe(start + share * (goal - start))]
        assert len(inside) <= 5  # a corner between two checks
    assert poses[:, 0].min() < -0.7 and poses[:, 0].max() > 0.5


def test_joints_without_limits_move_half_a_turn_about_where_they_stand():
    endless = (np.full(3, -np.inf), np.full(3, np.inf))
    begin = np.array([10.0, 0.0, -4.0])
    poses = choose("vertical_3r", lambda position: True, begin, endless, margin=0.0)
    assert (np.abs(poses - begin) <= np.pi).all()
    assert np.abs(poses - begin).max() > 2.0


def test_what_cannot_be_done_is_said():
    with pytest.raises(InputError, match="where the arm stands is not safe: move it first"):
        choose("vertical_3r", lambda position: False)
    with pytest.raises(InputError, match="5 poses are too few for 6 gravity parameters: ask for at least 9"):
        choose("vertical_3r", lambda position: True, count=5)
    here = BEGIN["vertical_3r"]
    with pytest.raises(InputError, match="random poses only 0 are safe to reach, 20 are needed"):
        choose("vertical_3r", lambda position: np.abs(position - here).max() < 1e-3)
    with pytest.raises(InputError, match="tell too little apart: condition number .* move farther"):
        choose("vertical_3r", lambda position: True, max_displacement=0.01)
    with pytest.raises(InputError, match="joint 'joint1' stands at 2.4 .* not inside its limits less the margin"):
        choose("vertical_3r", lambda position: True, np.array([2.4, 0.0, 0.0]), max_displacement=0.1)
    with pytest.raises(InputError, match="3 finite joint positions"):
        choose("vertical_3r", lambda position: True, np.array([np.nan, 0.0, 0.0]))


def two_lobes(position):
    """Two wedges that meet where the arm stands: no straight move leads from one into the other."""
    first, second, _ = position - BEGIN["vertical_3r"]
    return first >= 2.0 * abs(second) - 1e-9 or second >= 2.0 * abs(first) - 1e-9


def test_poses_that_no_safe_move_reaches_are_replaced_by_others():
    poses = choose("vertical_3r", two_lobes, count=12)
    first, second, _ = (poses - BEGIN["vertical_3r"]).T
    far = np.maximum(np.abs(first), np.abs(second)) > 0.2  # nearer, the gap is narrower than a step of the check
    assert np.count_nonzero(far) > 6
    assert (first > second)[far].all() or (first < second)[far].all()  # all in one wedge


def test_where_no_others_are_left_that_is_said():
    with pytest.raises(InputError, match="no 12 poses are reached one from the other by safe straight moves"):
        choose("vertical_3r", two_lobes, count=12, candidates=12)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"count": 1}, r"count must lie in \[2, inf\]"),
        ({"candidates": 5}, "candidates must be at least count = 20"),
        ({"margin": 0.5}, r"margin must lie in \[0.0, 0.499\]"),
        ({"max_displacement": 0.0}, r"max_displacement must lie in \[1e-09, inf\]"),
        ({"step": float("nan")}, r"step must be finite and lie in \[1e-09, inf\]"),
        ({"max_condition": 0.5}, r"max_condition must lie in \[1.000000001, inf\]"),
    ],
)
def test_settings_without_meaning_are_refused(setting, message):
    with pytest.raises(ConfigError, match=message):
        CalibrationPosesConfig(**{"count": 20, **setting})
