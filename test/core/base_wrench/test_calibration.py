"""Calibration: bias and gravity of robots that are not as described, weighed by Pinocchio with a sensor's noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import weighed_robots

from flexarm_core.base_wrench.calibration import calibrate
from flexarm_core.base_wrench.calibration_config import CalibrationConfig
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.base_wrench.static_pose import StaticPose
from flexarm_core.errors import ConfigError, InputError

NOISE = np.repeat((0.1, 0.01), 3)  # of a sample [N, N*m]
SAMPLES, POSES = 200, 24
BIAS = np.array([3.0, -2.0, 5.0, 0.4, -0.3, 0.2])


def bodies_of(name):
    try:
        return weighed_robots.bodies(name)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


def positions_of(name, count, seed):
    lower, upper = weighed_robots.limits(name)
    return np.random.default_rng(seed).uniform(lower, upper, (count, len(lower)))


def weigh(truth, positions, seed=0, noise=NOISE, tilts=None):
    """What an average of the sensor's samples says at positions (k, n)."""
    rng = np.random.default_rng(seed)
    poses = []
    for i, q in enumerate(positions):
        bent = np.zeros(0) if tilts is None else tilts[i]
        mean = truth.wrench(np.append(q, bent)) + BIAS + noise / np.sqrt(SAMPLES) * rng.normal(size=6)
        poses.append(StaticPose(q, mean, noise / np.sqrt(SAMPLES), SAMPLES, 0.001, bent))
    return poses


def run(name, poses, **settings):
    lower, upper = weighed_robots.limits(name)
    return calibrate(bodies_of(name), poses, CalibrationConfig(**settings), lower=lower, upper=upper)


@pytest.fixture(name="planar")
def planar_poses():
    truth = weighed_robots.Weighed(weighed_robots.altered("vertical_3r", 1), "vertical_3r")
    return weigh(truth, positions_of("vertical_3r", 20, 1))


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", weighed_robots.NAMES)
def test_bias_and_gravity_are_found_of_an_arm_whose_masses_and_centers_are_off_by_10_percent(name, seed):
    bodies = bodies_of(name)
    truth = weighed_robots.Weighed(weighed_robots.altered(name, seed), name)
    result = run(name, weigh(truth, positions_of(name, POSES, seed), seed))
    off = result.bias - BIAS
    assert np.linalg.norm(off[:3]) < 0.05
    assert np.linalg.norm(off[3:]) < 0.005
    calibrated = SensorDynamics(bodies.with_gravity_parameters(result.gravity_parameters))
    described = SensorDynamics(bodies)
    unseen = positions_of(name, 200, 100 + seed)
    true = np.array([truth.wrench(q) for q in unseen])
    # largest change of the gravity wrench from pose to pose: on a level base the force is constant
    force, torque = (
        np.linalg.norm(true[:, :3], axis=1).max(),
        np.linalg.norm((true - true.mean(0))[:, 3:], axis=1).max(),
    )
    error, before = (np.array([d.gravity_wrench(q) for q in unseen]) - true for d in (calibrated, described))
    assert np.linalg.norm(before[:, 3:], axis=1).max() > 0.01 * torque
    assert np.linalg.norm(error[:, 3:], axis=1).max() < 0.01 * torque
    assert np.linalg.norm(error[:, :3], axis=1).max() < 0.01 * force
    together = error + off
    assert np.linalg.norm(together[:, :3], axis=1).max() < result.prediction_error[0]
    assert np.linalg.norm(together[:, 3:], axis=1).max() < result.prediction_error[1]
    assert result.condition_number < 100.0


def test_exact_data_give_exact_results():
    truth = weighed_robots.Weighed(weighed_robots.altered("arm_7r", 4), "arm_7r")
    result = run("arm_7r", weigh(truth, positions_of("arm_7r", POSES, 4), noise=np.zeros(6)))
    assert result.bias == pytest.approx(BIAS, abs=1e-9)
    assert max(result.residual_force, result.residual_torque) < 1e-9
    assert result.rank == 14


def test_the_stated_deviation_of_the_bias_is_what_repeated_calibrations_scatter_by():
    truth = weighed_robots.Weighed(weighed_robots.altered("vertical_3r", 5), "vertical_3r")
    positions = 0.3 * positions_of("vertical_3r", 12, 5)  # so near that bias and gravity are hard to tell apart
    results = [run("vertical_3r", weigh(truth, positions, seed)) for seed in range(60)]
    scatter = np.std([result.bias for result in results], axis=0)
    stated = np.mean([result.bias_deviation for result in results], axis=0)
    assert stated[3:].max() > 2.0 * (NOISE / np.sqrt(SAMPLES * len(positions)))[3]  # more than the mean's noise
    assert scatter == pytest.approx(stated, rel=0.35)  # 60 repetitions: 9 % on each, six of them


def test_what_poses_do_not_tell_keeps_its_described_value():
    bodies = bodies_of("vertical_3r")
    truth = weighed_robots.Weighed(weighed_robots.urdf("vertical_3r"), "vertical_3r")
    result = run("vertical_3r", weigh(truth, positions_of("vertical_3r", 20, 1), noise=np.zeros(6)))
    assert result.gravity_parameters == pytest.approx(bodies.gravity_parameters(), abs=1e-9)
    assert result.gravity_parameters[:, 0].sum() == pytest.approx(bodies.gravity_parameters()[:, 0].sum())


def test_an_arm_that_slides_is_weighed_together_with_its_bias():
    """The center of what only slides is a constant moment: gravity and bias are right together."""
    name = "slider"
    truth = weighed_robots.Weighed(weighed_robots.altered(name, 6), name)
    result = run(name, weigh(truth, positions_of(name, 20, 6)))
    calibrated = SensorDynamics(bodies_of(name).with_gravity_parameters(result.gravity_parameters))
    for q in positions_of(name, 50, 7):
        error = calibrated.gravity_wrench(q) + result.bias - truth.wrench(q) - BIAS
        assert np.linalg.norm(error[3:]) < result.prediction_error[1] < 0.01


def test_a_base_that_tilts_under_the_arm_is_weighed_where_it_stands():
    name = "tilting_3r"
    truth = weighed_robots.Weighed(weighed_robots.altered(name, 8), name)
    rng = np.random.default_rng(8)
    poses = weigh(truth, positions_of(name, POSES, 8), tilts=rng.uniform(-0.1, 0.1, (POSES, 1)))
    result = run(name, poses, max_condition=1000.0)
    calibrated = SensorDynamics(bodies_of(name).with_gravity_parameters(result.gravity_parameters))
    for q, tilt in zip(positions_of(name, 50, 9), rng.uniform(-0.1, 0.1, 50), strict=True):
        error = calibrated.gravity_wrench(np.append(q, tilt)) + result.bias - truth.wrench(np.append(q, tilt)) - BIAS
        assert np.linalg.norm(error[3:]) < 0.02
        assert np.linalg.norm(error[:3]) < 0.1
    with pytest.raises(InputError, match="deflection must be 1 finite numbers"):
        run(name, [replace(pose, deflection=np.zeros(0)) for pose in poses])


def test_the_bias_alone_needs_few_poses_and_a_description_that_is_right():
    truth = weighed_robots.Weighed(weighed_robots.urdf("arm_7r"), "arm_7r")
    result = run("arm_7r", weigh(truth, positions_of("arm_7r", 4, 1)), model="bias")
    assert np.linalg.norm((result.bias - BIAS)[:3]) < 0.05 and np.linalg.norm((result.bias - BIAS)[3:]) < 0.005
    assert np.array_equal(result.gravity_parameters, bodies_of("arm_7r").gravity_parameters())
    assert result.rank == 0
    other = weighed_robots.Weighed(weighed_robots.altered("arm_7r", 1), "arm_7r")
    with pytest.raises(InputError, match=r"residual of .* N\*m.*calibrate the masses too \(model: bias_and_gravity\)"):
        run("arm_7r", weigh(other, positions_of("arm_7r", 4, 1)), model="bias")


def test_too_few_poses_are_refused(planar):
    with pytest.raises(InputError, match="3 static poses are too few: give at least 4"):
        run("vertical_3r", planar[:3])
    with pytest.raises(InputError, match="8 static poses are too few for 6 gravity parameters .* at least 9"):
        run("vertical_3r", planar[:8])


def test_poses_that_are_too_alike_are_refused():
    truth = weighed_robots.Weighed(weighed_robots.urdf("vertical_3r"), "vertical_3r")
    spread = positions_of("vertical_3r", 20, 1)
    with pytest.raises(InputError, match="too alike: condition number .*, allowed are 100; least .* spread the joints"):
        run("vertical_3r", weigh(truth, 0.3 + 0.02 * spread))
    spread[:, 1] = -0.4
    with pytest.raises(InputError, match="tell 4 of 6 gravity parameters apart, not the .*: add poses"):
        run("vertical_3r", weigh(truth, spread))


def test_an_arm_that_moved_or_was_touched_is_refused(planar):
    planar[3] = replace(planar[3], fastest=0.2)
    with pytest.raises(InputError, match="pose 3: a joint moved at 0.2 .*let the arm settle"):
        run("vertical_3r", planar)
    planar[3] = replace(planar[3], fastest=0.0, wrench=planar[3].wrench + [0.0, 0.0, 2.0, 0.0, 0.0, 0.0])
    with pytest.raises(InputError, match="pose 3 leaves a residual of 1.9 N, allowed are 0.5: something touched"):
        run("vertical_3r", planar)


def test_a_payload_that_comes_on_half_way_is_refused():
    text = weighed_robots.urdf("vertical_3r")
    truth, heavy = (weighed_robots.Weighed(said, "vertical_3r") for said in (text, text.replace('"3.0"', '"4.0"')))
    positions = positions_of("vertical_3r", 20, 1)
    poses = weigh(truth, positions[:10]) + weigh(heavy, positions[10:])
    with pytest.raises(InputError, match=r"residual of .* N, allowed are 0.5: .*another payload than described"):
        run("vertical_3r", poses)


@pytest.mark.parametrize("name", ["position", "wrench", "deviation"])
def test_poses_of_wrong_shape_or_not_finite_are_refused(planar, name):
    good = getattr(planar[2], name)
    for bad in (good * np.nan, good[:-1]):
        planar[2] = replace(planar[2], **{name: bad})
        with pytest.raises(InputError, match=f"pose 2: {name} must be {len(good)} finite numbers"):
            run("vertical_3r", planar)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"model": "all"}, "model must be one of bias, bias_and_gravity; got 'all'"),
        ({"max_condition": 1.0}, r"max_condition must lie in \[1.000000001, inf\], got 1.0"),
        ({"min_poses": 0}, r"min_poses must lie in \[1, inf\], got 0"),
        ({"max_velocity": 0.0}, r"max_velocity must lie in \[1e-09, inf\], got 0.0"),
        ({"torque_noise": float("nan")}, r"torque_noise must be finite and lie in \[1e-09, inf\], got nan"),
    ],
)
def test_settings_without_meaning_are_refused(setting, message):
    with pytest.raises(ConfigError, match=message):
        CalibrationConfig(**setting)
