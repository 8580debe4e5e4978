"""FlexibleEstimator on random arms whose sensors read garbage for half a second: bounded, said, and forgotten after."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flexible_loop import NOISE
from pipeline_run import sample_of
from random_arms import random_arm
from random_flexible_arms import flexible_arm
from sensed_robots import on_sensor

from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.flexible_dynamics.estimation.estimator import FARTHEST, FlexibleEstimator, largest_energy
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import Array, FlexibleSample, FlexibleState
from flexarm_sim.flexible_backend import FlexibleBackend
from flexarm_sim.plant import Plant, PlantConfig
from flexarm_sim.pushes import Push

URDF = Path(__file__).resolve().parents[3] / "urdf"
AXES = [f"{kind}.{axis}" for kind in ("linear_acceleration", "angular_velocity") for axis in "xyz"]
IMU = f"""<ros2_control name="tool" type="sensor"><sensor name="tool_imu"><param name="frame_id">tool0</param>
{"".join(f'<state_interface name="{axis}"/>' for axis in AXES)}</sensor></ros2_control></robot>"""
ON_A_BASE, BENT = (6, 8, 9), (1, 3, 5)  # kinds of random_arm, seeds of flexible_arm
WEIGHT = (0.0, 0.0, -9.81)
BEGIN, END, DURATION = 0.3, 0.8, 1.8  # [s] of the garbage and of all


def arm(kind: str, seed: int) -> tuple[str, tuple[float, float, float]]:
    """URDF text of a drawn arm on a force/torque sensor, with an IMU at its tool, and gravity."""
    text, gravity = (random_arm(seed)[1], WEIGHT) if kind == "base" else _bent(seed)
    return on_sensor(text).replace("</robot>", IMU), gravity


def _bent(seed: int) -> tuple[str, tuple[float, float, float]]:
    drawn = flexible_arm(seed)
    return drawn.urdf(), drawn.gravity


def flat(state: FlexibleState) -> Array:
    return np.concatenate((state.deflection, state.modal_position, state.deflection_rate, state.modal_rate))


def farthest_of(model: FlexibleModel, config: EstimatorConfig) -> Array:
    """Largest estimate (2N,) that is no divergence: as an uncorrected one is uncertain that may hold its energy."""
    energy = largest_energy(model, model.mass_matrix(np.zeros(model.size)), config.push_force)
    uncorrected = FlexibleEstimator(model, EstimatorConfig(correct=False, initial_energy=energy))
    still = np.zeros(len(model.actuated))
    return FARTHEST * np.sqrt(uncorrected.update(FlexibleSample(0, still, still, still)).covariance_diagonal)


def spoiled(sample: FlexibleSample, draw: np.random.Generator) -> FlexibleSample:
    """A third of what the sample says multiplied by up to 1e5, with either sign."""

    def some(value: Array) -> Array:
        wild = float(np.exp(draw.uniform(-3.0, 12.0)) * draw.choice((-1.0, 1.0)))
        return value * (wild if draw.random() < 0.3 else 1.0)

    changed: dict[str, Any] = {name: some(getattr(sample, name)) for name in ("position", "velocity", "effort")}
    for kind in ("strain", "wrenches", "imus"):
        changed[kind] = {name: some(reading) for name, reading in getattr(sample, kind).items()}
    if sample.deflection is not None and sample.deflection_rate is not None:
        changed |= {"deflection": some(sample.deflection), "deflection_rate": some(sample.deflection_rate)}
    return replace(sample, **changed)


@pytest.mark.parametrize(("kind", "seed"), [("base", s) for s in ON_A_BASE] + [("bent", s) for s in BENT])
def test_garbage_neither_runs_away_in_silence_nor_is_remembered(kind: str, seed: int) -> None:
    draw = np.random.default_rng(seed)
    text, gravity = arm(kind, seed)
    description = parse_robot_description(text)
    period = float(draw.choice((1e-3, 2e-3, 4e-3)))
    backend = FlexibleBackend(description, gravity=gravity, max_step=1e-4)
    n = len(backend.joint_names)
    start, speed = draw.uniform(-0.5, 0.5, n), draw.uniform(1.0, 4.0, n)
    config = PlantConfig(round(1e9 * period), tuple(start), sensors=NOISE, seed=seed)
    plant = Plant(description, backend, config)
    settings = EstimatorConfig(use_wrench=True, use_imu=bool(draw.random() < 0.5))
    estimator = FlexibleEstimator(FlexibleModel(description, gravity=gravity), settings)
    plant.advance(backend.gravity_effort())
    farthest = farthest_of(FlexibleModel(description, gravity=gravity), settings)
    said, largest, errors = 0, 0.0, []
    for _ in range(round(DURATION / period)):
        sample, state = sample_of(plant.measure()), plant.state()
        wild = BEGIN <= state.time < END
        estimate = estimator.update(spoiled(sample, draw) if wild else sample)
        estimator.prepare()
        assert np.isfinite(estimate.modal_acceleration).all() and np.isfinite(estimate.covariance_diagonal).all()
        assert (np.abs(flat(estimate)) <= farthest).all()
        diverged = any("diverged" in reason for reason in estimate.left_out)
        assert not diverged or BEGIN <= state.time < END + settings.gate_patience * period
        said += diverged
        truth = np.concatenate((state.deflection, state.modal_position))
        errors.append(np.abs(flat(estimate)[: len(truth)] - truth).max())
        largest = max(largest, np.abs(truth).max())
        inertia, bias = backend.joint_dynamics()
        wanted = start + 0.1 * np.sin(speed * state.time)
        plant.advance(inertia @ (200.0 * (wanted - state.position) - 20.0 * state.velocity) + bias)
    assert said > 0
    assert np.mean(errors[-round(0.3 / period) :]) < 0.05 * largest


@pytest.mark.parametrize("push", [0.0, 300.0])
def test_a_base_that_swings_far_is_no_divergence(push: float) -> None:
    """Stretched along the motion of its base, as at zero, this arm cannot excite it; bent, it deflects it by 0.3 m."""
    description = parse_robot_description(load_robot_description(URDF / "planar_3r.urdf.xacro", {}))
    none = (0.0, 0.0, 0.0)
    backend = FlexibleBackend(description, gravity=none, max_step=1e-3)
    start, swing = np.array([0.8, -1.2, 1.0]), np.array([0.6, 0.0, 0.0])
    pushes = (Push("base_link", 0.5, 0.1, (push, 0.0, 0.0)),) if push else ()
    plant = Plant(description, backend, PlantConfig(2_000_000, tuple(start), sensors=NOISE, pushes=pushes))
    estimator, largest = FlexibleEstimator(FlexibleModel(description, gravity=none)), 0.0
    plant.advance(np.zeros(3))
    for _ in range(1000):
        state = plant.state()
        estimate = estimator.update(sample_of(plant.measure()))
        assert not any("diverged" in reason for reason in estimate.left_out)
        inertia, bias = backend.joint_dynamics()
        turn = 0.0 if push else min(1.0, state.time)
        wanted, rate = start + turn * np.sin(2.0 * state.time) * swing, turn * 2.0 * np.cos(2.0 * state.time) * swing
        plant.advance(inertia @ (100.0 * (wanted - state.position) + 20.0 * (rate - state.velocity)) + bias)
        largest = max(largest, float(np.abs(state.deflection).max()))
        assert np.abs(estimate.deflection - state.deflection).max() < 1e-3
    assert largest > 0.15
