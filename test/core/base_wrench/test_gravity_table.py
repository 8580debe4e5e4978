"""The table of the gravity wrench: exact for rigid links, as MuJoCo has it, refused where it is not determined."""

from __future__ import annotations

from itertools import product

import mujoco
import numpy as np
import pytest
import weighed_robots

from flexarm_core.base_wrench.estimator import BaseWrenchEstimator, BaseWrenchEstimatorConfig
from flexarm_core.base_wrench.gravity_table import GravityTable
from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import BaseWrenchSample
from flexarm_sim.mujoco.model import build_model

ROBOTS = ("arm_7r", "panda", "vertical_3r", "slider")


def dynamics_of(name: str) -> SensorDynamics:
    try:
        return SensorDynamics(weighed_robots.bodies(name))
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


def norms(wrenches):
    return np.array([np.linalg.norm(wrenches[:, part], axis=1).max() for part in (slice(0, 3), slice(3, 6))])


@pytest.mark.parametrize("name", ROBOTS)
def test_a_table_gives_what_the_true_robot_weighs_within_its_stated_error_and_that_is_rounding(name):
    dynamics = dynamics_of(name)
    table = GravityTable.from_model(dynamics)
    truth = weighed_robots.Weighed(weighed_robots.urdf(name), name)
    positions = np.random.default_rng(11).uniform(-9.0, 9.0, (300, dynamics.bodies.n))
    found = np.array([table.wrench(q) - truth.wrench(q) for q in positions])
    assert (norms(found) <= table.error).all()
    assert (table.error < 1e-9).all()


def test_a_table_gives_what_the_sensor_in_mujoco_says():
    description = weighed_robots.description("arm_7r")
    table = GravityTable.from_model(dynamics_of("arm_7r"))
    model = build_model(description)
    data = mujoco.MjData(model)
    for q in np.random.default_rng(3).uniform(-2.5, 2.5, (20, 7)):
        for name, value in zip(description.actuated, q, strict=True):
            data.joint(name).qpos[0] = value
        data.qvel[:], data.qacc[:] = 0.0, 0.0
        mujoco.mj_inverse(model, data)
        measured = [data.sensor(f"{kind}/{weighed_robots.SENSOR}").data for kind in ("force", "torque")]
        # MuJoCo reports what the base exerts on the robot
        assert table.wrench(q) == pytest.approx(-np.concatenate(measured), abs=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_part_that_depends_on_the_posture_is_what_the_true_robots_weight_changes_by(name):
    dynamics = dynamics_of(name)
    whole = GravityTable.from_model(dynamics)
    part, truth = whole.posture_dependent(), weighed_robots.Weighed(weighed_robots.urdf(name), name)
    positions = np.random.default_rng(4).uniform(-3.0, 3.0, (100, dynamics.bodies.n))
    changes = [part.wrench(q) - part.wrench(positions[0]) for q in positions]
    assert np.allclose(changes, [truth.wrench(q) - truth.wrench(positions[0]) for q in positions], atol=1e-9)
    assert np.allclose([part.wrench(q)[:3] for q in positions], 0.0, atol=1e-9), "the force is constant"
    assert np.allclose([part.wrench(q) + whole.constant() for q in positions], [whole.wrench(q) for q in positions])


def test_the_constant_part_is_the_mean_of_the_true_robots_weight_over_all_turns():
    table = GravityTable.from_model(dynamics_of("vertical_3r"))
    truth = weighed_robots.Weighed(weighed_robots.urdf("vertical_3r"), "vertical_3r")
    turns = 0.3 + 0.5 * np.pi * np.arange(4)
    weights = [truth.wrench(np.array(q)) for q in product(turns, repeat=3)]
    assert table.constant() == pytest.approx(np.mean(weights, axis=0), abs=1e-9)


@pytest.mark.parametrize("name", ["arm_7r", "vertical_3r", "slider"])
def test_with_it_torques_are_right_although_the_weight_of_what_does_not_move_is_unknown(name):
    dynamics = dynamics_of(name)
    truth, whole = weighed_robots.Weighed(weighed_robots.urdf(name), name), GravityTable.from_model(dynamics)
    model, part = ArmModel(weighed_robots.description(name)), whole.posture_dependent()
    unknown = np.array([3.0, -2.0, -400.0, 20.0, -30.0, 5.0])  # bias and a cabinet on the base
    positions, n = np.random.default_rng(5).uniform(-1.0, 1.0, (20, model.n)), model.n
    errors = {}
    for table, bias in ((part, unknown + truth.wrench(positions[0]) - part.wrench(positions[0])), (whole, 0 * unknown)):
        config = BaseWrenchEstimatorConfig(wrench_bias=tuple(bias), joint_acceleration="none", velocity_bandwidth=0.0)
        estimator, worst, none = BaseWrenchEstimator(model, dynamics, config, table), 0.0, np.zeros(model.m)
        for k, q in enumerate(positions):
            reading = truth.wrench(q) + unknown
            sample = BaseWrenchSample(k + 1, q, np.zeros(n), np.zeros(n), reading, none, none, none)
            found = estimator.update(sample)
            worst = max(worst, float(np.abs(found.torque).max()), float(np.abs(found.residual_wrench).max()))
        errors[table] = worst
    assert errors[part] < 1e-8, "at rest no torque accelerates the links"
    assert errors[whole] > 1.0, "without it the unknown weight looks like torque"


def test_a_joint_whose_position_changes_nothing_takes_no_room():
    table = GravityTable.from_model(dynamics_of("arm_7r"))
    assert table.counts.tolist() == [3, 3, 3, 3, 3, 3, 1]  # the tool is symmetric about its own axis
    assert len(table.values) == 3**6


def test_a_table_forgets_neither_its_numbers_nor_of_what_it_is(tmp_path):
    table = GravityTable.from_model(dynamics_of("slider"))
    table.save(tmp_path / "gravity.npz")
    again = GravityTable.load(tmp_path / "gravity.npz", table.joint_names, table.sensor)
    q = np.array([0.3, -1.0, 2.0])
    assert np.array_equal(again.wrench(q), table.wrench(q)) and np.array_equal(again.error, table.error)
    with pytest.raises(ConfigError, match="is of the joints .*joint1.*, the robot has .*other"):
        GravityTable.load(tmp_path / "gravity.npz", ("other", "joint2", "joint3"), table.sensor)
    with pytest.raises(ConfigError, match="of the sensor 'base_ft_sensor', not of 'another'"):
        GravityTable.load(tmp_path / "gravity.npz", table.joint_names, "another")


def test_a_file_that_is_no_table_is_refused(tmp_path):
    table = GravityTable.from_model(dynamics_of("slider"))
    path = tmp_path / "gravity.npz"
    with pytest.raises(ConfigError, match="cannot be read"):
        GravityTable.load(path, table.joint_names, table.sensor)
    path.write_bytes(b"no archive")
    with pytest.raises(ConfigError, match="cannot be read"):
        GravityTable.load(path, table.joint_names, table.sensor)
    table.save(path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ConfigError, match="cannot be read"):
        GravityTable.load(path, table.joint_names, table.sensor)
    np.savez(path, values=table.values)
    with pytest.raises(ConfigError, match="lacks joint_names, sensor, counts, ends, error"):
        GravityTable.load(path, table.joint_names, table.sensor)
    good = {"joint_names": np.array(table.joint_names), "sensor": np.array(table.sensor), "counts": table.counts}
    good |= {"ends": table.ends, "error": table.error, "values": table.values[:-1]}
    np.savez(path, **good)
    with pytest.raises(ConfigError, match="needs finite values of shape"):
        GravityTable.load(path, table.joint_names, table.sensor)


def test_a_base_that_tilts_has_no_table_and_one_that_only_slides_has(planar_3r_text):
    with pytest.raises(ConfigError, match="for a base that stands still, this one moves at: tilt"):
        GravityTable.from_model(dynamics_of("tilting_3r"))
    sliding = SensorDynamics(build_sensed_bodies(parse_robot_description(planar_3r_text)))
    table = GravityTable.from_model(sliding)
    q = np.array([0.4, -0.7, 1.1])
    assert table.wrench(q) == pytest.approx(sliding.gravity_wrench(np.append(q, 0.2)), abs=1e-9)


def test_a_table_too_large_to_hold_is_refused():
    with pytest.raises(ConfigError, match="a table over 13 joints would have 1.59e.06 entries"):
        GravityTable.from_model(dynamics_of("long_13r"))


def samples(name, count, seed, noise=0.0):
    rng = np.random.default_rng(seed)
    truth = weighed_robots.Weighed(weighed_robots.urdf(name), name)
    positions = rng.uniform(-1.0, 1.0, (count, 3)) * [0.4 if name == "slider" else 3.0, 3.0, 3.0]
    wrenches = np.array([truth.wrench(q) for q in positions])
    return positions, wrenches + noise * rng.normal(size=(count, 6)) * np.repeat((1.0, 0.1), 3)


KINDS = {"vertical_3r": ("revolute",) * 3, "slider": ("prismatic", "revolute", "revolute")}
JOINTS = ("joint1", "joint2", "joint3")


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_table_of_samples_holds_their_bias_and_errs_less_than_it_states(name):
    bias = np.array([1.0, -2.0, 3.0, 0.1, 0.2, -0.3])
    positions, wrenches = samples(name, 120, 1, noise=0.1)
    table = GravityTable.from_samples(positions, wrenches + bias, KINDS[name], JOINTS, "base_ft_sensor")
    unseen, true = samples(name, 200, 2)
    found = norms(np.array([table.wrench(q) for q in unseen]) - true - bias)
    assert (found <= table.error).all()
    assert (table.error < [0.6, 0.06]).all()  # noise of a sample: 0.1 N and 0.01 N*m a component


def test_the_stated_error_of_samples_holds_what_rigid_links_do_not_explain():
    positions, wrenches = samples("vertical_3r", 120, 1)
    wrenches[:, 3] += 0.2 * np.sin(3.0 * positions[:, 0])  # a cable, say
    table = GravityTable.from_samples(positions, wrenches, KINDS["vertical_3r"], JOINTS, "base_ft_sensor")
    assert 0.2 < table.error[1] < 0.6


def test_samples_that_do_not_determine_a_table_are_refused_and_the_joints_are_named():
    positions, wrenches = samples("vertical_3r", 60, 4)
    make = GravityTable.from_samples
    with pytest.raises(InputError, match="a table of 27 entries needs more than 27 samples, got 20"):
        make(positions[:20], wrenches[:20], KINDS["vertical_3r"], JOINTS, "s")
    stuck = positions.copy()
    stuck[:, 1] = np.where(np.arange(60) % 2, 0.5, -0.5)
    with pytest.raises(InputError, match="joint 'joint2' takes too few different positions: condition number"):
        make(stuck, wrenches, KINDS["vertical_3r"], JOINTS, "s")
    tied = positions.copy()
    tied[:, 2] = tied[:, 0]
    with pytest.raises(InputError, match="condition number .* vary independently of one another: joint1, joint3"):
        make(tied, wrenches, KINDS["vertical_3r"], JOINTS, "s")
    with pytest.raises(InputError, match="must be finite"):
        make(positions * np.nan, wrenches, KINDS["vertical_3r"], JOINTS, "s")
    with pytest.raises(InputError, match="must be positions"):
        make(positions, wrenches[:, :3], KINDS["vertical_3r"], JOINTS, "s")
    with pytest.raises(ConfigError, match="kinds must be 3 of none, prismatic, revolute"):
        make(positions, wrenches, ("ball",) * 3, JOINTS, "s")


def test_a_sample_without_which_the_table_would_not_be_determined_leaves_the_error_open():
    positions, wrenches = samples("slider", 40, 5)
    positions[:, 0] = 0.1
    positions[0, 0] = -0.1
    kinds = ("prismatic", "none", "none")
    table = GravityTable.from_samples(positions, wrenches, kinds, JOINTS, "s")
    assert np.isinf(table.error).all()
