"""What a plant reports: the truth of a perfect one, and the faults of its sensors and of its joint list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flexarm_sim.drives import DriveConfig
from flexarm_sim.measurement import JointListFault
from flexarm_sim.sensors import SensorConfig, SensorSuiteConfig

START = (1.0, -1.0, -1.0)


def test_a_perfect_plant_measures_the_truth(planar: Any) -> None:
    plant = planar()
    for tick in range(20):
        measurement, state = plant.measure(), plant.state()
        assert measurement.joints.names == ("joint1", "joint2", "joint3")
        assert measurement.elastic.names == ("base_x",)
        assert np.array_equal(measurement.joints.position, state.position)
        assert np.array_equal(measurement.joints.velocity, state.velocity)
        assert np.array_equal(measurement.joints.effort, state.effort)
        assert np.array_equal(measurement.elastic.position, state.deflection)
        assert np.array_equal(measurement.elastic.velocity, state.deflection_rate)
        assert measurement.elastic.effort is None
        assert np.array_equal(measurement.wrenches["base_ft_sensor"], state.wrenches["base_ft_sensor"])
        assert state.time == pytest.approx(plant.stamp * 1e-9, abs=1e-12)
        plant.advance([1.0, -0.5, 0.1 * tick])


def test_noise_of_one_sensor_does_not_depend_on_the_others(planar: Any) -> None:
    noisy = SensorConfig(noise=1.0)
    alone = planar(sensors=SensorSuiteConfig(joint_position=noisy))
    among = planar(sensors=SensorSuiteConfig(noisy, noisy, noisy, noisy, noisy, {"base_ft_sensor": noisy}))
    for _ in range(10):
        assert np.array_equal(alone.advance().joints.position, among.advance().joints.position)


def test_sensor_faults_do_not_touch_the_truth(planar: Any) -> None:
    broken = SensorConfig(noise=1.0, nan_intervals=((0.0, 1.0),), dropout=0.5)
    good, bad = planar(), planar(sensors=SensorSuiteConfig(broken, broken, broken, broken, broken))
    for _ in range(20):
        good.advance([1.0, 2.0, 3.0])
        bad.advance([1.0, 2.0, 3.0])
    assert np.array_equal(good.state().position, bad.state().position)


@pytest.mark.parametrize("signal", ["joint_position", "joint_velocity", "joint_effort"])
def test_a_joint_signal_that_drops_out_takes_the_joint_reading_with_it(planar: Any, signal: str) -> None:
    suite: Any = {signal: SensorConfig(dropout_intervals=((0.002, 0.004),))}
    plant = planar(sensors=SensorSuiteConfig(**suite))
    seen = [plant.measure()] + [plant.advance() for _ in range(5)]
    assert [m.joints is None for m in seen] == [False, False, True, True, False, False]
    assert all(m.elastic is not None and m.wrenches["base_ft_sensor"] is not None for m in seen)


def test_deflection_and_wrench_sensors_drop_out_alone(planar: Any) -> None:
    always = SensorConfig(dropout=1.0)
    measurement = planar(sensors=SensorSuiteConfig(deflection_rate=always)).measure()
    assert measurement.elastic is None
    assert measurement.joints is not None
    measurement = planar(sensors=SensorSuiteConfig(wrenches={"base_ft_sensor": always})).measure()
    assert measurement.wrenches == {"base_ft_sensor": None}


def test_the_wrench_sensor_sees_the_weight_of_a_held_arm_at_once(planar: Any) -> None:
    wrench = planar(drive=DriveConfig("position")).measure().wrenches["base_ft_sensor"]
    assert wrench[2] == pytest.approx(-30 * 9.81, rel=1e-9)


def test_joints_can_be_listed_in_another_order_and_left_out(planar: Any) -> None:
    faults = (
        JointListFault(("joint3", "joint1", "joint2", "base_x"), 0.001, 0.002),
        JointListFault(("joint2",), 0.002),
    )
    plant = planar(joint_list_faults=faults)
    first, second, third = plant.measure(), plant.advance([1.0, 2.0, 3.0]), plant.advance()
    assert first.joints.names == ("joint1", "joint2", "joint3")
    assert second.joints.names == ("joint3", "joint1", "joint2")
    assert second.elastic.names == ("base_x",)
    assert np.allclose(second.joints.position, [START[2], START[0], START[1]], atol=1e-4)
    assert np.array_equal(second.joints.effort, [3.0, 1.0, 2.0])
    assert third.joints.names == ("joint2",)
    assert third.joints.position.shape == (1,)
    assert third.elastic is None
