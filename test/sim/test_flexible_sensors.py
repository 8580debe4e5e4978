"""Strain gauges and IMUs of a plant: truth where nothing is wrong, and every fault of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from flexarm_core.errors import ConfigError
from flexarm_sim.backend import SensedState
from flexarm_sim.backends import BACKENDS, make_backend
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_sim.plant import Plant, PlantConfig
from flexarm_sim.sensors import SensorConfig, SensorSuiteConfig
from flexarm_sim.strain import StrainFault

GAUGES = ("root_y", "root_z", "middle_y")


@pytest.fixture
def swinging(beam_robot: Any) -> Callable[..., Plant]:
    """Make a plant of a beam that swings in its first two modes."""
    robot = beam_robot(beam='EIz="20" EIy="30" modes_y="1" modes_z="1"', tip=0.2)

    def make(**options: Any) -> Plant:
        backend = MujocoBackend(robot, segments=4, gravity=(0.0, 0.0, 0.0))
        return Plant(robot, backend, PlantConfig(**{"initial_modal_rate": (0.5, 0.3), **options}))

    return make


def run(plant: Plant, ticks: int) -> list[Any]:
    return [plant.measure()] + [plant.advance() for _ in range(ticks)]


def test_a_perfect_plant_measures_true_strain_and_motion(swinging: Any) -> None:
    plant = swinging()
    assert plant.modes == ("beam/bending_y_1", "beam/bending_z_1")
    assert np.allclose(plant.state().modal_rate, [0.5, 0.3], rtol=1e-6)
    for _ in range(10):
        measurement, state = plant.advance(), plant.state()
        assert measurement.strain.names == GAUGES
        assert np.array_equal(measurement.strain.strain, state.strain)
        assert np.abs(state.strain).min() > 0.0
        assert set(measurement.imus) == {"tip_imu", "ground_imu"}
        assert np.array_equal(measurement.imus["tip_imu"], state.imus["tip_imu"])


def test_the_initial_modes_are_those_asked_for(swinging: Any) -> None:
    plant = swinging(initial_modal_position=(1e-3, -2e-3))
    for _ in range(2):
        assert np.allclose(plant.state().modal_position, [1e-3, -2e-3], rtol=1e-4)
        plant.advance()
        plant.reset()


def test_an_arm_of_rigid_links_has_no_strain(planar: Any) -> None:
    measurement = planar().measure()
    assert measurement.strain is None
    assert measurement.imus == {}


@pytest.mark.parametrize("signal", ["strain", "imu"])
def test_every_imperfection_of_a_sensor_is_there(swinging: Any, signal: str) -> None:
    config = SensorConfig(
        noise=1e-6, delay=0.002, dropout_intervals=((0.003, 0.005),), frozen_intervals=((0.006, 0.008),),
        nan_intervals=((0.009, 0.010),),
    )  # fmt: skip
    suite = SensorSuiteConfig(strain=config) if signal == "strain" else SensorSuiteConfig(imus={"tip_imu": config})

    def readings(plant: Plant) -> list[Any]:
        seen = run(plant, 11)
        if signal == "imu":
            return [m.imus["tip_imu"] for m in seen]
        return [None if m.strain is None else m.strain.strain for m in seen]

    seen, true = readings(swinging(sensors=suite)), readings(swinging())
    assert [reading is None for reading in seen] == [tick in (3, 4) for tick in range(12)]
    assert np.array_equal(seen[5 + 1], seen[5]) and np.array_equal(seen[7], seen[5])
    assert np.isnan(seen[9]).all()
    for tick in (2, 5, 8, 10, 11):
        error = seen[tick] - true[tick - 2]
        assert 0.0 < np.abs(error).max() < 1e-5


def test_one_gauge_freezes_while_the_others_go_on(swinging: Any) -> None:
    plant, perfect = swinging(strain_faults=(StrainFault(("root_z",), "frozen", 0.003, 0.006),)), swinging()
    seen, true = ([m.strain.strain for m in run(p, 8)] for p in (plant, perfect))
    for tick in range(9):
        frozen = tick in (3, 4, 5)
        assert seen[tick][1] == true[2 if frozen else tick][1]
        assert np.array_equal(seen[tick][[0, 2]], true[tick][[0, 2]])
    plant.reset()
    assert all(np.array_equal(m.strain.strain, before) for m, before in zip(run(plant, 8), seen, strict=True))


def test_a_missing_gauge_is_left_out_and_a_broken_one_reads_nan(swinging: Any) -> None:
    faults = (StrainFault(("root_y",), "missing", 0.002, 0.004), StrainFault(("middle_y",), "nan", 0.003))
    seen = [m.strain for m in run(swinging(strain_faults=faults), 5)]
    assert [reading.names for reading in seen] == [GAUGES, GAUGES, GAUGES[1:], GAUGES[1:], GAUGES, GAUGES]
    assert [np.isnan(reading.strain).tolist() for reading in seen[3:]] == [[False, True], *2 * [[False, False, True]]]


def test_when_every_gauge_is_missing_there_is_no_reading(swinging: Any) -> None:
    plant = swinging(strain_faults=(StrainFault(GAUGES, "missing", 0.001, 0.002),))
    assert [m.strain is None for m in run(plant, 3)] == [False, True, False, False]


def test_faults_of_gauges_do_not_touch_the_truth_nor_the_noise_of_others(swinging: Any) -> None:
    noisy = SensorSuiteConfig(strain=SensorConfig(noise=1e-5))
    faults = (StrainFault(("root_y",), "nan"), StrainFault(("root_z",), "missing"))
    good, bad = swinging(sensors=noisy), swinging(sensors=noisy, strain_faults=faults)
    for one, other in zip(run(good, 10), run(bad, 10), strict=True):
        assert one.strain.strain[2] == other.strain.strain[1]
    assert np.array_equal(good.state().strain, bad.state().strain)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strain_faults": (StrainFault(("elbow",), "nan"),)}, "strain gauge 'elbow' does not exist; valid: root_y"),
        ({"sensors": SensorSuiteConfig(imus={"nose": SensorConfig()})}, "IMU 'nose' does not exist; valid: tip_imu"),
        ({"sensors": SensorSuiteConfig(strain=SensorConfig(noise=(1.0, 2.0)))}, "expected one or 3"),
    ],
)
def test_what_does_not_exist_is_refused(swinging: Any, options: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        swinging(**options)


def test_bad_faults_are_refused() -> None:
    with pytest.raises(ConfigError, match="strain fault 'loose' is unknown; kinds: frozen, missing, nan"):
        StrainFault(("a",), "loose")
    with pytest.raises(ConfigError, match="strain fault: .* is no interval"):
        StrainFault(("a",), "nan", 2.0, 1.0)


def test_backends_are_made_by_name(beam_robot: Any) -> None:
    backend = make_backend("mujoco", beam_robot(), segments=4)
    assert isinstance(backend, MujocoBackend)
    assert backend.strain_gauges == GAUGES
    with pytest.raises(ConfigError, match="backend 'bullet' is unknown; backends: mujoco, flexible_dynamics"):
        make_backend("bullet", beam_robot())


@pytest.mark.parametrize("name", BACKENDS)
def test_sensors_feel_a_part_of_the_truth(beam_robot: Any, name: str) -> None:
    robot = beam_robot(beam='EIz="20" EIy="30" modes_y="1" modes_z="1"', tip=0.2)
    backend, readings = make_backend(name, robot, segments=4), ("wrenches", "imus")
    backend.reset(modal_rate=(0.5, 0.3))
    strains = []
    for _ in range(3):
        sensed, state = backend.sensed(), backend.state()
        for part in (field.name for field in fields(SensedState)):
            felt, true = getattr(sensed, part), getattr(state, part)
            for one, other in zip(felt.values(), true.values(), strict=True) if part in readings else [(felt, true)]:
                assert np.array_equal(one, other)
        assert "tip_imu" in sensed.imus and sensed.imus.keys() == state.imus.keys()
        strains.append(sensed.strain)
        backend.step(np.ones(len(backend.joint_names)), 0.01)
    assert not strains[0].any() and strains[1].all() and not np.array_equal(strains[1], strains[2])
