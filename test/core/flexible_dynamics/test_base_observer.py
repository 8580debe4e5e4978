"""FlexibleEstimator on an elastic base that nothing measures but what feels its motion, against another engine."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from filter_probe import FilterProbe

from flexarm_core.errors import ConfigError
from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.flexible_dynamics.estimation.estimator import FlexibleEstimator
from flexarm_core.flexible_dynamics.estimation.filter import correct, prepare
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import Array, FlexibleSample, FlexibleState
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_sim.plant import Plant, PlantConfig
from flexarm_sim.pushes import Push
from flexarm_sim.sensors import SensorConfig, SensorSuiteConfig

URDF = Path(__file__).resolve().parents[3] / "urdf"
START = np.array([0.476, 1.311, -1.378, -1.555, -0.054, -1.214, 0.716])
TICK = 2_000_000  # [ns]
DOWN = (0.0, 0.0, -9.81)
QUIET = {"effort_noise": 0.003, "base_noise": 1e-3, "initial_energy": 1e-6, "use_deflection": False}
QUIET |= {"force_noise": 0.5, "torque_noise": 0.1, "acceleration_noise": 0.1, "gyro_noise": 0.005}
SENSORS = {
    "IMU": {"use_imu": True},
    "force/torque sensor": {"use_wrench": True},
    "both": {"use_imu": True, "use_wrench": True},
    "strain": {"use_deflection": True},
}
CART = """
<robot name="cart">
  <link name="ground"/>
  <joint name="spring" type="prismatic">
    <parent link="ground"/><child link="cart"/><axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="9" velocity="9"/>
  </joint>
  <link name="cart">
    <inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <joint name="turn" type="continuous"><parent link="cart"/><child link="table"/><axis xyz="0 0 1"/></joint>
  <link name="table">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <ros2_control name="cart" type="system">
    <joint name="turn"><command_interface name="effort"/></joint>
    <sensor name="cart_imu"><state_interface name="angular_velocity.x"/><param name="frame_id">cart</param></sensor>
  </ros2_control>
  <flexibility><elastic_joint name="spring" stiffness="300" damping="0.3"/></flexibility>
</robot>"""


@cache
def robot(name: str = "boom_7r", **arguments: str) -> RobotDescription:
    return parse_robot_description(load_robot_description(URDF / f"{name}.urdf.xacro", arguments))


@cache
def pushed_boom(
    link: str = "base_link",
    error: str = "0",
    gravity: tuple[float, float, float] = (0.0, 0.0, 0.0),
    force: float = 100.0,
    shape: str = "rectangle",
) -> tuple[list[FlexibleSample], Array, Array]:
    """Readings, true deflections (T, 6) and rates of 0.5 s at 500 Hz: joints held softly, a link pushed for 0.1 s."""
    noise = {"base_imu": np.repeat((0.02, 1e-3), 3), "base_ft_sensor": np.repeat((0.1, 0.01), 3)}
    plant_robot = robot(inertia_error=error)
    plant = Plant(
        plant_robot,
        MujocoBackend(plant_robot, gravity=gravity),
        PlantConfig(
            period_ns=TICK,
            initial_position=tuple(START),
            initial_deflection=tuple(sag(gravity)),
            pushes=(Push(link, 0.1, 0.1, (0.0, force, force), shape=shape),),
            sensors=SensorSuiteConfig(
                joint_position=SensorConfig(resolution=6e-6),
                joint_velocity=SensorConfig(noise=1e-4),
                deflection=SensorConfig(noise=1e-5),
                wrenches={"base_ft_sensor": SensorConfig(noise=tuple(noise["base_ft_sensor"]))},
                imus={"base_imu": SensorConfig(noise=tuple(noise["base_imu"]))},
            ),
        ),
    )
    hold = weight(gravity)
    model, x = FlexibleModel(robot()), np.zeros(13)
    x[model.actuated] = START
    inertia = np.diag(model.mass_matrix(x))[model.actuated]
    samples, true, rates = [], [], []
    reading = plant.measure()
    while plant.stamp < 500_000_000:
        joints, elastic = reading.joints, reading.elastic
        assert joints is not None and joints.effort is not None and elastic is not None
        samples.append(
            FlexibleSample(
                reading.stamp,
                joints.position,
                joints.velocity,
                joints.effort,
                elastic.position,
                None,
                wrenches={name: value for name, value in reading.wrenches.items() if value is not None},
                imus={name: value for name, value in reading.imus.items() if value is not None},
            )
        )
        truth = plant.state()
        true.append(truth.deflection)
        rates.append(truth.deflection_rate)
        reading = plant.advance(hold - inertia * (100.0 * (joints.position - START) + 20.0 * joints.velocity))
    return samples, np.array(true), np.array(rates)


def sag(gravity: tuple[float, float, float]) -> Array:
    """(6,) what the weight of the arm bends the boom by."""
    model, x = FlexibleModel(robot(), gravity=gravity), np.zeros(13)
    stiffness = np.diag(model.stiffness_matrix())[model.elastic]
    x[model.actuated] = START
    for _ in range(20):
        x[model.elastic] -= model.inverse_dynamics(x, np.zeros(13), np.zeros(13))[model.elastic] / stiffness
    return np.asarray(x[model.elastic])


def weight(gravity: tuple[float, float, float]) -> Array:
    """(7,) efforts that hold the arm."""
    model, x = FlexibleModel(robot(), gravity=gravity), np.zeros(13)
    x[model.actuated], x[model.elastic] = START, sag(gravity)
    return np.asarray(model.inverse_dynamics(x, np.zeros(13), np.zeros(13))[model.actuated])


def observe(
    samples: list[FlexibleSample], gravity: tuple[float, float, float] = (0.0, 0.0, 0.0), **config: object
) -> tuple[Array, Array, list[FlexibleState]]:
    """Estimated deflections (T, 6) and rates, and all estimates."""
    settings: dict[str, object] = QUIET | config
    estimator = FlexibleEstimator(FlexibleModel(robot(), gravity=gravity), EstimatorConfig(**settings))  # type: ignore[arg-type]
    states = [estimator.update(sample) for sample in samples]
    return np.array([s.deflection for s in states]), np.array([s.deflection_rate for s in states]), states


def relative(estimate: Array, truth: Array, weights: Array) -> float:
    """RMS of the error over that of the truth, each direction with its weight."""
    return float(np.linalg.norm((estimate - truth) * weights) / np.linalg.norm(truth * weights))


def energy() -> Array:
    """(6,) roots of the stiffnesses."""
    return np.sqrt([joint.stiffness for joint in robot().elastic])


SOFT = np.array([0.0, 1.0, 1.0, 0.3, 0.0, 0.0])  # y, z and rx; of rx in a distance of 0.3 m


@pytest.mark.parametrize("sensor", SENSORS)
def test_each_sensor_alone_says_how_the_pushed_base_swings(sensor: str) -> None:
    samples, true, rates = pushed_boom()
    deflection, rate, states = observe(samples, **SENSORS[sensor])
    assert relative(deflection, true, energy()) < 0.06
    assert relative(rate, rates, SOFT) < 0.06
    assert not any("outlier" in reason for s in states[120:] for reason in s.left_out)


def test_where_no_push_is_looked_for_it_is_taken_for_an_outlier() -> None:
    samples, true, _ = pushed_boom()
    deflection, _, states = observe(samples, push_force=0.0, push_torque=0.0, use_imu=True)
    assert any("outlier" in reason for s in states for reason in s.left_out)
    assert relative(deflection, true, energy()) > 0.2


@pytest.mark.parametrize("sensor", ["IMU", "both"])
def test_a_push_on_the_boom_itself_is_seen_by_what_an_imu_is_part_of(sensor: str) -> None:
    samples, true, rates = pushed_boom("boom_tip")
    deflection, rate, _ = observe(samples, **SENSORS[sensor])
    assert relative(deflection, true, energy()) < 0.06
    assert relative(rate, rates, SOFT) < 0.06


@pytest.mark.parametrize("force", [10.0, 30.0])
def test_a_push_that_begins_softly_is_not_taken_for_a_deflection(force: float) -> None:
    """No single reading is beyond ``push_gate``: efforts of joints with friction may be the cause of any of them."""
    samples, true, _ = pushed_boom("boom_tip", force=force, shape="half_sine")
    trusted = {**SENSORS["both"], "effort_noise": 3.0, "drift_force": 3.0}
    deflection, _, _ = observe(samples, **trusted, base_noise=3e-3, acceleration_noise=0.05)
    assert relative(deflection, true, energy()) < 0.2


@pytest.mark.parametrize("scale", ["0.5", "1.5"])
def test_a_stiffness_of_a_link_that_the_model_has_wrong_is_a_load_and_not_an_acceleration(scale: str) -> None:
    """The readings of an arm at rest under its weight, on a stiff base."""
    true = FlexibleModel(robot(flexible_forearm="true", forearm_scale=scale), gravity=DOWN)
    known = FlexibleModel(robot(flexible_forearm="true"), gravity=DOWN)
    x, still = np.zeros(true.size), np.zeros(true.size)
    x[true.actuated] = START
    K = np.diag(true.stiffness_matrix())[true.unmeasured]
    for _ in range(50):
        x[true.unmeasured] -= true.inverse_dynamics(x, still, still)[true.unmeasured] / K
    base = true.frame_motion(true.description.imus["base_imu"].frame, x, still)
    sample = FlexibleSample(
        0,
        START,
        np.zeros(7),
        true.inverse_dynamics(x, still, still)[true.actuated],
        strain=dict(zip(true.description.strain_gauges, true.strain_map @ x[true.modal], strict=True)),
        wrenches=true.sensor_wrenches(x, still, still),
        imus={"base_imu": np.concatenate((-base.rotation.T @ DOWN, np.zeros(3)))},
    )
    found = {}
    for drift in (0.0, 10.0):
        config = EstimatorConfig(
            **SENSORS["both"], use_deflection=False, effort_noise=3.0, drift_modal=drift, force_noise=0.5,
            torque_noise=0.1, acceleration_noise=0.05, gyro_noise=0.005,
        )  # fmt: skip
        estimator, noise = FlexibleEstimator(known, config), np.random.default_rng(1)
        for tick in range(500):
            strain = {name: value + noise.normal(0.0, 2e-7) for name, value in sample.strain.items()}
            state = estimator.update(replace(sample, stamp=tick * TICK, strain=strain))
        found[drift] = state
    assert np.abs(found[10.0].deflection_acceleration).max() < 0.02
    assert np.abs(found[10.0].modal_position - x[true.modal]).max() < 0.05 * np.abs(x[true.modal]).max()
    assert np.abs(found[10.0].deflection - x[true.elastic]).max() < 2e-4
    assert np.abs(found[0.0].deflection_acceleration).max() > 0.2


@pytest.mark.parametrize("sensor", ["IMU", "force/torque sensor"])
def test_ten_percent_of_unknown_inertia_is_borne(sensor: str) -> None:
    samples, true, rates = pushed_boom(error="0.1")
    deflection, rate, _ = observe(samples, **SENSORS[sensor])
    assert relative(deflection, true, energy()) < 0.15
    assert relative(rate, rates, SOFT) < 0.15


def test_under_gravity_the_estimate_begins_with_what_weight_bends_and_keeps_to_it() -> None:
    samples, true, rates = pushed_boom(gravity=DOWN)
    deflection, rate, _ = observe(samples, DOWN, **SENSORS["both"])
    assert abs(true[0][2]) > 0.04
    assert np.allclose(deflection[0], true[0], atol=2e-4)
    assert relative(deflection - true[0], true - true[0], energy()) < 0.06
    assert relative(rate, rates, SOFT) < 0.06


@pytest.mark.parametrize("seed", range(4))
def test_weight_that_the_model_has_wrong_is_a_load_and_not_a_rate(seed: int) -> None:
    """An arm at rest, held by its motors in a posture at random, heavier or lighter than told: in MuJoCo."""
    draw = np.random.default_rng(seed)
    heavy, start = robot(inertia_error=str(draw.choice([-0.1, 0.03, 0.1]))), START + draw.uniform(-0.5, 0.5, 7)
    config = PlantConfig(period_ns=TICK, initial_position=tuple(start))
    plant, samples, true = Plant(heavy, MujocoBackend(heavy, gravity=DOWN), config), [], np.zeros(6)
    model, x = FlexibleModel(heavy, gravity=DOWN), np.zeros(13)
    x[model.actuated], x[model.elastic] = start, plant.state().deflection
    hold = model.inverse_dynamics(x, np.zeros(13), np.zeros(13))[model.actuated]
    inertia = np.diag(model.mass_matrix(x))[model.actuated]
    for _ in range(500):
        reading, true = plant.measure(), plant.state().deflection
        assert reading.joints is not None and reading.joints.effort is not None
        samples.append(
            FlexibleSample(
                reading.stamp,
                reading.joints.position,
                reading.joints.velocity,
                reading.joints.effort,
                wrenches={name: value for name, value in reading.wrenches.items() if value is not None},
                imus={name: value for name, value in reading.imus.items() if value is not None},
            )
        )
        joints = reading.joints
        plant.advance(hold - inertia * (100.0 * (joints.position - start) + 20.0 * joints.velocity))
    settings: dict[str, object] = {"effort_noise": 3.0, "initial_energy": 0.0, **SENSORS["both"]}
    deflection, rate, _ = observe(samples, DOWN, **settings)
    assert np.abs(rate[-250:] * SOFT).max() < 5e-4
    assert relative(deflection[-250:], true[None].repeat(250, 0), energy()) < 0.01
    without = {"drift_force": 0.0, "drift_torque": 0.0, "push_force": 0.0, "push_torque": 0.0}
    _, unknown, _ = observe(samples, DOWN, **settings, **without)
    assert np.abs(unknown[-250:] * SOFT).max() > 5.0 * np.abs(rate[-250:] * SOFT).max()


def test_a_lasting_contact_that_the_sensor_at_the_tool_feels_is_not_taken_for_a_motion_of_the_base() -> None:
    samples, true, rates = pushed_boom("tool0")
    known, rate, states = observe(samples, use_wrench=True, effort_noise=3.0, contact_sensor="tool_ft_sensor")
    assert not any(s.left_out for s in states)
    assert relative(known, true, energy()) < 5e-3
    assert relative(rate, rates, SOFT) < 1e-2
    unknown, rate_unknown, _ = observe(samples, use_wrench=True, effort_noise=3.0)
    assert relative(unknown, true, energy()) > 5.0 * relative(known, true, energy())
    assert relative(rate_unknown, rates, SOFT) > 5.0 * relative(rate, rates, SOFT)


def test_a_contact_sensor_that_does_not_read_is_said_and_one_that_does_not_exist_is_refused() -> None:
    samples, *_ = pushed_boom("tool0")
    silent = [replace(sample, wrenches={}) for sample in samples[:3]]
    *_, states = observe(silent, contact_sensor="tool_ft_sensor")
    assert all("tool_ft_sensor: missing" in state.left_out for state in states)
    with pytest.raises(ConfigError, match="base_ft_sensor, tool_ft_sensor"):
        observe(samples, contact_sensor="wrist")


def test_nothing_is_compiled_anew_where_readings_are_missing_or_refused() -> None:
    samples, *_ = pushed_boom("tool0")
    estimator = FlexibleEstimator(FlexibleModel(robot()), EstimatorConfig(use_wrench=True, use_imu=True, gate=1.0))
    kernels = (prepare, correct)
    estimator.update(samples[0])
    estimator.update(samples[1])
    known = [len(kernel.signatures) for kernel in kernels]
    for k, sample in enumerate(samples[2:8]):
        wild = [{name: reading + 1e4 for name, reading in each.items()} for each in (sample.wrenches, sample.imus)]
        state = estimator.update(replace(sample, wrenches={} if k % 2 else wild[0], imus={} if k // 2 % 2 else wild[1]))
        assert len(state.left_out) >= len(sample.wrenches) + len(sample.imus)
    assert [len(kernel.signatures) for kernel in kernels] == known


@pytest.mark.parametrize("name", ["boom_7r", "flexible_3r", "flexible_2r"])
def test_an_imu_reads_the_motion_of_its_frame(name: str) -> None:
    """The compiled reading against the frame's motion in the inertial frame, on rigid links and on those that bend."""
    model, other = (FlexibleModel(robot(name), gravity=DOWN) for _ in range(2))
    imu, frame = next((imu, sensor.frame) for imu, sensor in model.description.imus.items())
    draw = np.random.default_rng(4)
    config = EstimatorConfig(use_strain=False, use_deflection=False, use_imu=True, gate=1e9)
    probe = FilterProbe(model, config)
    for _ in range(20):
        x, v = 0.3 * draw.normal(size=model.size), draw.normal(size=model.size)
        effort = np.zeros(len(model.hinge_names))
        effort[model.actuated] = draw.normal(size=len(model.actuated))
        state = probe.at(x, v, effort[model.actuated], imus={imu: np.zeros(6)})
        motion = other.frame_motion(frame, x, v, other.forward_dynamics(x, v, effort))
        force = motion.rotation.T @ (motion.acceleration[:3] - np.array(DOWN))
        expected = np.concatenate((force, motion.rotation.T @ motion.velocity[3:]))
        assert np.allclose(-state.innovation, expected, rtol=1e-9, atol=1e-8 * np.abs(expected).max())


def test_errors_are_as_large_as_said_where_the_reading_shows_what_pushes() -> None:
    """A cart shaken by white forces: error and innovation over their deviations have mean square 1."""
    draw, t, density, noise = np.random.default_rng(2), 2e-3, 0.3, 0.02
    model = FlexibleModel(CART, gravity=(0.0, 0.0, 0.0))
    config = EstimatorConfig(
        effort_noise=0.0, base_noise=density, acceleration_noise=noise, use_deflection=False, use_imu=True,
        push_force=0.0, push_torque=0.0, drift_force=0.0, drift_torque=0.0,
    )  # fmt: skip
    estimator, k, c, m = FlexibleEstimator(model, config), 300.0, 0.3, 3.0
    y, yd, errors, innovations, rates = 0.0, 0.0, [], [], []
    for tick in range(1000):
        w = density / np.sqrt(t) * draw.normal() if tick else 0.0
        if tick:  # the trapezoidal rule
            a = (m * w - k * (y + 0.5 * t * yd) - c * yd) / (m + 0.5 * t * c + 0.25 * t * t * k)
            a += w - m * w / (m + 0.5 * t * c + 0.25 * t * t * k)  # the density is that of the mean acceleration
            y, yd = y + t * yd + 0.5 * t * t * a, yd + t * a
        force = w * (m + 0.5 * t * c + 0.25 * t * t * k) / m
        reading = np.zeros(6)
        reading[0] = (-k * y - c * yd) / m + force + noise * draw.normal()
        sample = FlexibleSample(tick * TICK, np.zeros(1), np.zeros(1), np.zeros(1), imus={"cart_imu": reading})
        state = estimator.update(sample)
        assert not state.left_out
        error = np.array([state.deflection[0] - y, state.deflection_rate[0] - yd])
        errors.append(error**2 / state.covariance_diagonal)
        rates.append((error[1], yd))
        innovations.append(state.innovation[0] ** 2 / state.innovation_variance[0])
    assert np.mean(innovations[200:]) == pytest.approx(1.0, abs=0.1)
    assert 0.4 < np.mean(errors[200:]) < 2.0
    wrong, true = np.linalg.norm(rates[200:], axis=0)
    assert wrong < 0.1 * true  # half of it, if a filter takes the reading's share of the force for noise
