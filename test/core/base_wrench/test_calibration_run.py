"""The run through calibration poses: smooth and within limits, weighs only at rest, fails with a reason, comes back."""

from __future__ import annotations

import numpy as np
import pytest
import weighed_robots

from flexarm_core.base_wrench.calibration import calibrate
from flexarm_core.base_wrench.calibration_config import CalibrationConfig
from flexarm_core.base_wrench.calibration_poses import CalibrationPosesConfig, choose_calibration_poses
from flexarm_core.base_wrench.calibration_run import CalibrationRun, CalibrationRunConfig
from flexarm_core.errors import ConfigError, InputError

TICK = 2_000_000  # [ns]
FIRST = np.array([0.1, -0.2])
POSES = np.array([[0.5, 0.3], [-0.4, 0.3], [-0.4, 0.9]])
WRENCH = np.array([1.0, 2.0, 3.0, 0.4, 0.5, 0.6])
USUAL = {"velocity": (1.0, 0.5), "acceleration": (2.0, 4.0), "settle_time": 0.2, "samples": 10, "timeout": 2.0}


def begun(**changes) -> CalibrationRun:
    run = CalibrationRun(POSES, CalibrationRunConfig(**{**USUAL, **changes}))
    run.begin(0, FIRST)
    return run


def drive(run, wrench=lambda stamp: WRENCH, most=20_000, stamp=0, disturb=lambda stamp, position, velocity: None):
    """Let an arm follow the reference without delay until the run is done; returns stamps and references."""
    stamps, references, position, velocity = [], [], FIRST.copy(), np.zeros(2)
    for _ in range(most):
        stamp += TICK
        seen = position.copy(), velocity.copy()
        disturb(stamp, *seen)
        references.append(run.update(stamp, *seen, wrench(stamp)))
        stamps.append(stamp)
        position, velocity = references[-1].position, references[-1].velocity
        if run.done:
            return np.array(stamps), references
    raise AssertionError("the run does not come to its end")


def test_it_visits_all_poses_and_comes_back():
    run = begun()
    _, references = drive(run)
    assert np.array([pose.position for pose in run.poses]) == pytest.approx(POSES)
    assert all(pose.samples == 10 and np.allclose(pose.wrench, WRENCH) for pose in run.poses)
    assert references[-1].position == pytest.approx(FIRST)
    assert run.done and run.progress == 1.0
    after = run.update(10**12, FIRST, np.zeros(2))
    assert after.position == pytest.approx(FIRST) and np.all(after.velocity == 0.0)


def test_the_reference_is_smooth_and_within_the_limits():
    stamps, references = drive(begun())
    position, velocity, acceleration = (
        np.array([getattr(reference, name) for reference in references])
        for name in ("position", "velocity", "acceleration")
    )
    assert np.abs(velocity).max(axis=0) == pytest.approx([1.0, 0.5], rel=1e-3)  # as fast as allowed, and no faster
    assert (np.abs(velocity).max(axis=0) <= [1.0 + 1e-9, 0.5 + 1e-9]).all()
    assert (np.abs(acceleration).max(axis=0) <= [2.0 + 1e-9, 4.0 + 1e-9]).all()
    dt = np.diff(stamps)[:, None] * 1e-9
    assert np.diff(position, axis=0) / dt == pytest.approx((velocity[1:] + velocity[:-1]) / 2.0, abs=1e-3)
    assert np.diff(velocity, axis=0) / dt == pytest.approx((acceleration[1:] + acceleration[:-1]) / 2.0, abs=0.05)


def test_weak_joints_make_a_move_longer():
    _, references = drive(begun(acceleration=(0.5, 4.0)))
    acceleration = np.abs([reference.acceleration for reference in references]).max(axis=0)
    assert acceleration[0] == pytest.approx(0.5, rel=1e-3)
    assert acceleration[1] < 4.0


def test_it_waits_until_the_arm_rests_before_it_weighs():
    run, since, fastest = begun(), [], []

    def shake(stamp, position, velocity):
        """Half a second of ringing after each arrival."""
        if np.abs(velocity).max() > 0.0:
            since[:] = [stamp]
        ring = 0.05 * np.exp(-(stamp - (since or [0])[0]) / 1e8)
        velocity += ring
        fastest.append(ring)

    stamps, _ = drive(run, disturb=shake)
    assert all(pose.fastest <= 0.01 for pose in run.poses)
    quiet, _ = drive(begun())
    assert stamps[-1] > quiet[-1] + 3 * 100_000_000


def test_a_jerk_while_it_weighs_begins_the_average_anew():
    probe, weighed = begun(), []

    def watch(stamp, position, velocity):
        if probe.pose_index == 1 and not weighed:
            weighed.append(stamp - TICK)

    drive(probe, disturb=watch)
    jerk = weighed[0] - 4 * TICK  # half of the ten samples are in

    def disturb(stamp, position, velocity):
        if stamp == jerk:
            velocity += 0.5

    run = begun()
    drive(run, lambda stamp: WRENCH if stamp > jerk else WRENCH + 100.0, disturb=disturb)
    assert probe.poses[0].samples == run.poses[0].samples == 10
    assert run.poses[0].wrench == pytest.approx(WRENCH)


def test_mean_and_deviation_are_those_of_the_samples():
    rng, given = np.random.default_rng(1), []

    def wrench(stamp):
        given.append(WRENCH + rng.normal(size=6))
        return given[-1]

    run = CalibrationRun(FIRST[None], CalibrationRunConfig(**{**USUAL, "samples": 50}))
    run.begin(0, FIRST)
    drive(run, wrench)
    pose = run.poses[0]
    windows = [np.array(given[i : i + 50]) for i in range(len(given) - 49)]
    match = next(w for w in windows if np.allclose(w.mean(axis=0), pose.wrench, atol=1e-12))
    assert pose.deviation == pytest.approx(match.std(axis=0, ddof=1) / np.sqrt(50))


def test_wrenches_may_come_more_rarely_than_joint_states():
    run = begun()
    drive(run, lambda stamp: WRENCH if stamp % (5 * TICK) == 0 else None)
    assert [pose.samples for pose in run.poses] == [10, 10, 10]


def test_progress_and_pose_index_rise_to_the_end():
    run, seen = begun(), []
    drive(run, disturb=lambda *state: seen.append((run.pose_index, run.progress)))
    assert [index for index, _ in seen] == sorted(index for index, _ in seen)
    assert {index for index, _ in seen} == {0, 1, 2, 3}
    assert seen[0][1] == 0.0 and seen[-1][1] == 0.75


def test_without_wrenches_it_gives_up_and_says_so_until_it_begins_anew():
    run = begun()
    with pytest.raises(InputError, match="calibration pose 0, 2 s after arrival: 0 of 10 wrenches came at rest"):
        drive(run, lambda stamp: None)
    with pytest.raises(InputError, match="0 of 10 wrenches"):
        run.update(10**12, FIRST, np.zeros(2), WRENCH)
    run.begin(0, FIRST)
    drive(run)
    assert len(run.poses) == 3


def test_an_arm_that_does_not_settle_or_does_not_follow_is_given_up():
    def shake(stamp, position, velocity):
        velocity += 0.3

    def stay(stamp, position, velocity):
        position[:], velocity[:] = FIRST, 0.0

    with pytest.raises(
        InputError, match="a joint moves at 0.3 rad/s or m/s, rest is up to 0.01: the arm does not settle"
    ):
        drive(begun(), disturb=shake)
    with pytest.raises(InputError, match="a joint is 0.5 rad or m from where it was sent"):
        drive(begun(), disturb=stay)


def test_inputs_that_do_not_fit_are_refused_and_change_nothing():
    run = CalibrationRun(POSES, CalibrationRunConfig(**USUAL))
    assert not run.begun
    with pytest.raises(InputError, match="has not begun"):
        run.update(0, FIRST, np.zeros(2))
    with pytest.raises(InputError, match="position must be 2 finite numbers"):
        run.begin(0, np.zeros(3))
    run.begin(10, FIRST)
    for bad, message in (
        ((5, FIRST, np.zeros(2)), "stamps go back, from 10 to 5 ns"),
        ((20, FIRST * np.nan, np.zeros(2)), "position must be 2 finite numbers"),
        ((20, FIRST, np.zeros(1)), "velocity must be 2 finite numbers"),
        ((20, FIRST, np.zeros(2), WRENCH * np.inf), "wrench must be 6 finite numbers"),
    ):
        with pytest.raises(InputError, match=message):
            run.update(*bad)
    drive(run)
    assert run.done


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"velocity": (1.0,)}, "must be of as many joints"),
        ({"acceleration": (1.0, 0.0)}, "acceleration must be > 0 for every joint"),
        ({"samples": 1}, r"samples must lie in \[2, inf\]"),
        ({"settle_time": 2.0}, "settle_time must be below timeout 2 s"),
        ({"max_velocity": -1.0}, r"max_velocity must lie in \[1e-09, inf\]"),
    ],
)
def test_settings_without_meaning_are_refused(setting, message):
    with pytest.raises(ConfigError, match=message):
        CalibrationRunConfig(**{**USUAL, **setting})


@pytest.mark.parametrize("poses", [np.zeros((0, 2)), np.zeros((3, 3)), np.zeros(2), np.full((2, 2), np.nan)])
def test_poses_that_do_not_fit_are_refused(poses):
    with pytest.raises(ConfigError, match="calibration poses must be"):
        CalibrationRun(poses, CalibrationRunConfig(**USUAL))


def test_poses_run_and_solution_together_find_the_bias_of_an_arm_that_is_not_as_described():
    name = "vertical_3r"
    bodies, (lower, upper) = weighed_robots.bodies(name), weighed_robots.limits(name)
    truth = weighed_robots.Weighed(weighed_robots.altered(name, 3), name)
    first, rng = np.array([-0.8, 0.5, 0.2]), np.random.default_rng(4)
    bias = np.array([4.0, -3.0, 2.0, 0.3, -0.2, 0.1])
    chosen = choose_calibration_poses(
        bodies, first, lower, upper, lambda position: True, CalibrationPosesConfig(count=12)
    )
    run = CalibrationRun(chosen, CalibrationRunConfig((1.5,) * 3, (6.0,) * 3, settle_time=0.3, samples=100))
    run.begin(0, first)
    position, velocity, stamp = first.copy(), np.zeros(3), 0
    while not run.done:
        stamp += 4_000_000
        still = np.abs(velocity).max() < 0.01
        wrench = truth.wrench(position) + bias if still else np.full(6, 50.0)  # on the way it says something else
        wrench = wrench + np.repeat((0.1, 0.01), 3) * rng.normal(size=6)
        reference = run.update(stamp, position, velocity, wrench)
        # drives that follow with a lag of 20 ms
        velocity = (reference.position - position) / 0.02
        position = position + 0.004 * velocity
    result = calibrate(bodies, run.poses, CalibrationConfig(), lower=lower, upper=upper)
    assert np.linalg.norm((result.bias - bias)[:3]) < 0.05
    assert np.linalg.norm((result.bias - bias)[3:]) < 0.005
