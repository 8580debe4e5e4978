"""The plant as a whole: clock, commands, sensors, pushes and faults together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.types import Array
from flexarm_sim.backend import Backend, PlantState
from flexarm_sim.drives import DriveConfig
from flexarm_sim.measurement import JointListFault, Measurement
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_sim.plant import Plant, PlantConfig
from flexarm_sim.pushes import Push
from flexarm_sim.sensors import SensorConfig, SensorSuiteConfig

START = (1.0, -1.0, -1.0)


class PointMass:
    """A mass of 2 kg on a frictionless line, solved by hand: a backend that knows nothing of MuJoCo."""

    joint_names = ("joint",)
    elastic_joint_names = ()
    modes = ()
    strain_gauges = ()

    def __init__(self) -> None:
        self.durations: list[float] = []
        self.reset()

    def reset(
        self,
        position: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        deflection: ArrayLike | None = None,
        deflection_rate: ArrayLike | None = None,
        effort: ArrayLike | None = None,
        modal_position: ArrayLike | None = None,
        modal_rate: ArrayLike | None = None,
        at_rest: bool = False,
    ) -> None:
        self.time = 0.0
        self.x = np.zeros(1) if position is None else np.array(position, dtype=float)
        self.v = np.zeros(1) if velocity is None else np.array(velocity, dtype=float)
        self.held = np.zeros(1) if effort is None else np.array(effort, dtype=float)
        self.push = np.zeros(6)

    def set_external_wrench(self, link: str, wrench_in_world: ArrayLike) -> None:
        self.push = np.array(wrench_in_world, dtype=float)

    def step(self, effort: ArrayLike, duration: float) -> None:
        self.durations.append(duration)
        self.held = np.array(effort, dtype=float)
        a = (self.held + self.push[1]) / 2.0
        self.x, self.v, self.time = (
            self.x + self.v * duration + 0.5 * a * duration**2, self.v + a * duration, self.time + duration,
        )  # fmt: skip

    def state(self) -> PlantState:
        none, a = np.zeros(0), (self.held + self.push[1]) / 2.0
        return PlantState(
            self.time, self.x.copy(), self.v.copy(), a, self.held.copy(), none, none, none, {},
            np.zeros(3), np.eye(3), np.zeros(3), np.eye(3), np.zeros(6),
        )  # fmt: skip

    def sensed(self) -> PlantState:
        return self.state()

    def joint_dynamics(self) -> tuple[Array, Array]:
        return np.array([[2.0]]), np.zeros(1)

    def gravity_effort(self) -> Array:
        return np.zeros(1)

    def base_frequency(self) -> float:
        return 0.0


def flat(measurement: Measurement) -> Array:
    """Every number of a measurement; a missing part is -1."""
    parts: list[Any] = [[measurement.stamp]]
    for reading in (measurement.joints, measurement.elastic):
        parts += [[-1.0]] if reading is None else [reading.position, reading.velocity]
        if reading is not None and reading.effort is not None:
            parts.append(reading.effort)
    parts += [[-1.0] if wrench is None else wrench for wrench in measurement.wrenches.values()]
    return np.concatenate(parts)


def test_any_backend_will_do(one_joint: Any) -> None:
    """The plant drives a point mass solved by hand as it drives MuJoCo."""
    backend: Backend = PointMass()
    plant = Plant(one_joint(kind="prismatic"), backend, PlantConfig(drive=DriveConfig("velocity", 50.0)))
    for _ in range(300):
        plant.advance([0.5])
    assert plant.state().velocity[0] == pytest.approx(0.5, rel=1e-4)


def test_the_clock_counts_whole_nanoseconds(planar: Any) -> None:
    plant = planar(period_ns=333_333)
    stamps = [plant.measure().stamp] + [plant.advance().stamp for _ in range(5)]
    assert stamps == [tick * 333_333 for tick in range(6)]
    assert plant.stamp == stamps[-1]
    assert all(isinstance(stamp, int) for stamp in stamps)


@settings(max_examples=50)
@given(period=st.integers(1, 20_000_000), step=st.floats(0.0005, 0.01))
def test_steps_of_a_tick_leave_no_gap_and_are_never_longer_than_asked(one_joint: Any, period: int, step: float) -> None:
    backend = PointMass()
    config = PlantConfig(period_ns=period, drive=DriveConfig("velocity", bandwidth=10.0, period=step))
    plant = Plant(one_joint(kind="prismatic"), backend, config)
    for tick in range(1, 4):
        plant.advance()
        assert plant.stamp == tick * period
        assert sum(backend.durations) == pytest.approx(tick * period * 1e-9, rel=1e-12)
    assert max(backend.durations) <= step + 1e-9


def test_measuring_twice_gives_the_same_and_advance_returns_it(planar: Any) -> None:
    plant = planar(sensors=SensorSuiteConfig(joint_position=SensorConfig(noise=0.1)))
    assert plant.measure() is plant.measure()
    returned = plant.advance()
    assert returned is plant.measure()


def test_two_runs_with_noise_dropouts_and_pushes_agree_to_the_last_bit(planar: Any) -> None:
    sensors = SensorSuiteConfig(
        joint_position=SensorConfig(noise=1e-3, resolution=1e-4, dropout=0.1),
        deflection=SensorConfig(noise=1e-4, delay=0.002),
        wrenches={"base_ft_sensor": SensorConfig(noise=0.5)},
    )
    options = {"sensors": sensors, "pushes": (Push("link2", 0.01, 0.02, (5.0, 3.0, 0.0)),), "seed": 3}

    def run(plant: Plant) -> list[Array]:
        return [flat(plant.measure())] + [flat(plant.advance([0.1, 0.2, -0.1])) for _ in range(60)]

    first, second = planar(**options), planar(**options)
    runs = [run(first), run(second)]
    first.reset()
    runs.append(run(first))
    for other in runs[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(runs[0], other, strict=True))


@pytest.mark.parametrize(("mode", "idle"), [("effort", (0, 0, 0)), ("velocity", (0, 0, 0)), ("position", START)])
def test_without_a_command_the_last_or_the_idle_one_stands(planar: Any, mode: str, idle: Any) -> None:
    drive = DriveConfig(mode, 50.0)
    silent, explicit = planar(drive=drive), planar(drive=drive)
    first = np.array(idle) + 0.1
    for command in (None, None, first, None, None):
        silent.advance(command)
    for command in (idle, idle, first, first, first):
        explicit.advance(command)
    assert np.array_equal(silent.state().position, explicit.state().position)
    assert np.array_equal(silent.state().effort, explicit.state().effort)


@pytest.mark.parametrize("command", [[1.0, 2.0], [1.0, np.nan, 0.0], [np.inf, 0.0, 0.0], 3.0, "go", [[1.0, 2.0, 3.0]]])
def test_a_bad_command_is_refused_and_leaves_the_plant_unchanged(planar: Any, command: Any) -> None:
    plant, other = planar(), planar()
    for each in (plant, other):
        each.advance([1.0, 1.0, 1.0])
    before = plant.measure()
    with pytest.raises(InputError, match="command"):
        plant.advance(command)
    assert plant.measure() is before
    assert plant.stamp == 1_000_000
    assert np.array_equal(flat(plant.advance()), flat(other.advance()))


@pytest.mark.parametrize("shape", ["rectangle", "half_sine"])
@pytest.mark.parametrize(("period_ns", "start", "duration"), [(1_000_000, 0.003, 0.02), (4_000_000, 0.0057, 0.0131)])
def test_a_push_moves_a_free_mass_by_exactly_its_impulse(
    one_joint: Any, shape: str, period_ns: int, start: float, duration: float
) -> None:
    robot = one_joint(kind="prismatic")
    pushes = (Push("link", start, duration, (1.0, 60.0, 2.0), shape=shape), Push("link", 0.01, 0.01, (0.0, 3.0, 0.0)))
    plant = Plant(robot, MujocoBackend(robot), PlantConfig(period_ns=period_ns, pushes=pushes))
    for _ in range(40_000_000 // period_ns):
        plant.advance([0.0])
    impulse = 60.0 * duration * (1.0 if shape == "rectangle" else 2.0 / np.pi) + 3.0 * 0.01
    assert plant.state().velocity[0] == pytest.approx(impulse / 3.0, rel=1e-12)
    assert plant.state().acceleration[0] == 0.0


def test_a_push_that_nobody_planned_delivers_its_impulse_too_and_is_forgotten_by_a_reset(one_joint: Any) -> None:
    robot = one_joint(kind="prismatic")
    plant = Plant(robot, MujocoBackend(robot), PlantConfig(pushes=(Push("link", 0.0, 0.002, (0.0, 6.0, 0.0)),)))
    for _ in range(10):
        plant.advance([0.0])
    planned = plant.state().velocity[0]
    plant.push(Push("link", 0.010, 0.005, (0.0, 60.0, 0.0), shape="half_sine"))
    for _ in range(10):
        plant.advance([0.0])
    assert plant.state().velocity[0] - planned == pytest.approx(2.0 / np.pi * 60.0 * 0.005 / 3.0, rel=1e-9)
    with pytest.raises(ConfigError, match="pushed link 'nose' does not exist; valid: ground, link, tip"):
        plant.push(Push("nose", 0.1, 0.1))
    with pytest.raises(ConfigError, match="before the present 0.02 s"):
        plant.push(Push("link", 0.019, 0.1))
    plant.reset()
    for _ in range(30):
        plant.advance([0.0])
    assert plant.state().velocity[0] == pytest.approx(planned, rel=1e-12)


def test_a_push_shows_from_the_stamp_at_which_it_starts(one_joint: Any) -> None:
    robot = one_joint(kind="prismatic")
    push = Push("link", 0.002, 0.003, (0.0, 6.0, 0.0))
    plant = Plant(robot, MujocoBackend(robot), PlantConfig(pushes=(push,)))
    accelerations = [plant.state().acceleration[0]]
    for _ in range(6):
        plant.advance([0.0])
        accelerations.append(plant.state().acceleration[0])
    assert accelerations == pytest.approx([0, 0, 2, 2, 2, 0, 0])


def test_initial_conditions_are_taken_and_restored(planar: Any) -> None:
    plant = planar(initial_velocity=(0.1, 0.2, 0.3), initial_deflection=(0.05,), initial_deflection_rate=(-0.2,))
    start = flat(plant.measure())
    assert np.allclose(start[1:7], [*START, 0.1, 0.2, 0.3])
    assert np.allclose(start[10:12], [0.05, -0.2])
    plant.advance([1.0, 1.0, 1.0])
    plant.reset()
    assert np.array_equal(flat(plant.measure()), start)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"pushes": (Push("boom", 0.0, 1.0),)}, ConfigError, "pushed link 'boom' does not exist; valid: world"),
        (
            {"sensors": SensorSuiteConfig(wrenches={"wrist": SensorConfig()})},
            ConfigError,
            "wrench sensor 'wrist' does not exist; valid: base_ft_sensor",
        ),
        ({"joint_list_faults": (JointListFault(("joint9",)),)}, ConfigError, "'joint9' does not exist"),
        ({"initial_position": (1.0,)}, InputError, r"position has shape \(1,\)"),
        ({"sensors": SensorSuiteConfig(deflection=SensorConfig(delay=0.0005))}, ConfigError, "whole number of ticks"),
    ],
)
def test_what_the_robot_does_not_have_is_refused(planar: Any, options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        planar(**options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PlantConfig(period_ns=0), "period_ns is 0"),
        (lambda: PlantConfig(period_ns=0.001), "period_ns is 0.001"),  # type: ignore[arg-type]
        (lambda: PlantConfig(seed=-1), "seed is -1"),
        (lambda: JointListFault(("joint1", "joint1")), "names a joint twice"),
        (lambda: JointListFault(("joint1",), 2.0, 1.0), "is no interval"),
    ],
)
def test_impossible_configurations_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()
