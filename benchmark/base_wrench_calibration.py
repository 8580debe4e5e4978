"""Calibration of bias and gravity parameters on poses that the chooser chose, judged by Pinocchio on others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from base_wrench_station import BEGIN, NOISE
from weighed_robots import Weighed, altered, bodies, description, limits

from flexarm_core.base_wrench.calibration import CalibrationResult, calibrate
from flexarm_core.base_wrench.calibration_config import CalibrationConfig
from flexarm_core.base_wrench.calibration_poses import CalibrationPosesConfig, choose_calibration_poses
from flexarm_core.base_wrench.link_heights import LinkHeights
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.base_wrench.static_pose import StaticPose
from flexarm_core.types import Array
from flexarm_tools.metrics.figures import Figure, parse_goal

ROBOT = "arm_7r"
BIAS = np.array([20.0, -14.0, 9.0, 3.0, -2.0, 1.5])  # [N, N*m]
SAMPLES, ROBOTS, UNSEEN = 200, 5, 200  # at a pose; robots with errors of their own; poses of the judge
SHARE = 0.1  # error of each link's mass and center
LEAST_HEIGHT = 0.05  # [m]


def calibration() -> Iterator[Figure]:
    """Worst of several robots whose masses and centers are off, each in its own way, the total mass right."""
    weighed, low, high = bodies(ROBOT), *limits(ROBOT)
    safe = LinkHeights(description(ROBOT), weighed, LEAST_HEIGHT)
    poses = choose_calibration_poses(weighed, BEGIN, low, high, safe, CalibrationPosesConfig())
    rng = np.random.default_rng(11)
    unseen = _safe(rng, low, high, safe, UNSEEN)
    at_random = _safe(rng, low, high, safe, len(poses))
    found = {"chosen": [], "random": [], "bias_alone": []}
    before, condition, residual = [], 0.0, np.zeros(2)
    for seed in range(ROBOTS):
        true = Weighed(altered(ROBOT, seed, SHARE), ROBOT)
        expected = np.array([true.wrench(pose) for pose in unseen])
        before.append(_prediction_error(SensorDynamics(weighed), unseen, expected))
        for name, chosen in (("chosen", poses), ("random", at_random), ("bias_alone", poses)):
            alone = name == "bias_alone"
            config = CalibrationConfig(
                model="bias" if alone else "bias_and_gravity",
                max_residual_force=1e3 if alone else 0.5,
                max_residual_torque=1e3 if alone else 0.1,
            )
            result = calibrate(weighed, _weigh(true, chosen, rng), config, lower=low, upper=high)
            found[name].append(_errors(result, unseen, expected))
            if name == "chosen":
                condition = result.condition_number
                residual = np.maximum(residual, (result.residual_force, result.residual_torque))
    force, torque, predicted = np.max(found["chosen"], axis=0)
    others = {name: np.max(found[name], axis=0) for name in ("random", "bias_alone")}
    text = f"worst of {ROBOTS} robots, {len(poses)} poses"
    yield Figure(
        "calibration_bias_force", float(force), "N", parse_goal("<= 0.05"), f"error of the sensor's bias, {text}",
        details={"true_N": float(np.linalg.norm(BIAS[:3])), "random_poses": float(others["random"][0]),
                 "bias_alone": float(others["bias_alone"][0]), "residual_N": float(residual[0])},
    )  # fmt: skip
    yield Figure(
        "calibration_bias_torque", float(torque), "N*m", parse_goal("<= 0.005"), f"error of the sensor's bias, {text}",
        details={"true_Nm": float(np.linalg.norm(BIAS[3:])), "random_poses": float(others["random"][1]),
                 "bias_alone": float(others["bias_alone"][1]), "residual_Nm": float(residual[1])},
    )  # fmt: skip
    yield Figure(
        "calibration_prediction_error", float(predicted), "1", parse_goal("<= 0.01"),
        f"largest error of the gravity wrench at {UNSEEN} unseen poses over its root mean square",
        details={"before": float(max(before)), "random_poses": float(others["random"][2]),
                 "bias_alone": float(others["bias_alone"][2]), "condition_number": condition},
    )  # fmt: skip


def _safe(rng: np.random.Generator, low: Array, high: Array, safe: LinkHeights, count: int) -> Array:
    found: list[Array] = []
    while len(found) < count:
        pose = rng.uniform(low, high)
        if safe(pose):
            found.append(pose)
    return np.array(found)


def _weigh(true: Weighed, poses: Array, rng: np.random.Generator) -> list[StaticPose]:
    """Means of noisy readings at rest."""
    noise, weighings = np.array(NOISE), []
    for pose in poses:
        readings = true.wrench(pose) + BIAS + noise * rng.standard_normal((SAMPLES, 6))
        scatter = readings.std(axis=0, ddof=1) / np.sqrt(SAMPLES)
        weighings.append(StaticPose(pose, readings.mean(axis=0), scatter, SAMPLES))
    return weighings


def _errors(result: CalibrationResult, poses: Array, expected: Array) -> tuple[float, float, float]:
    """Error of the bias' force and torque, and of the prediction."""
    off = result.bias - BIAS
    calibrated = SensorDynamics(bodies(ROBOT).with_gravity_parameters(result.gravity_parameters))
    predicted = _prediction_error(calibrated, poses, expected)
    return float(np.linalg.norm(off[:3])), float(np.linalg.norm(off[3:])), predicted


def _prediction_error(dynamics: SensorDynamics, poses: Array, expected: Array) -> float:
    """Largest error of force or torque over its root mean square."""
    off = np.array([dynamics.gravity_wrench(pose) for pose in poses]) - expected
    return max(
        float(np.linalg.norm(off[:, part], axis=1).max() / np.sqrt(np.square(expected[:, part]).sum(axis=1).mean()))
        for part in (slice(0, 3), slice(3, 6))
    )
