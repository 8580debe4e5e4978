"""The estimate from exact data, and the look-up table, beside the model and Pinocchio."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from base_wrench_station import SENSOR, description
from robots import find
from sensed_robots import Reference, on_sensor, raft, slider_arm

from flexarm_core.base_wrench.estimator import CONVENTIONS, BaseWrenchEstimator, BaseWrenchEstimatorConfig
from flexarm_core.base_wrench.gravity_table import GravityTable
from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import BaseWrenchSample
from flexarm_tools.metrics.figures import Figure, parse_goal

STATES, POSES, CALLS = 1000, 1000, 3000
STEP, PAUSE = 2_000_000, 200_000_000  # [ns] between the two samples of a state; longer than the filter bridges
EXACT = 40.0 / (STEP * 1e-9)  # [rad/s] at which the filter takes the plain difference of two velocities
BIAS = (1.0, -2.0, 3.0, 0.1, 0.2, -0.3)  # [N, N*m]


def rnea_error() -> Iterator[Figure]:
    """The estimator whole: conventions, bias, velocities and accelerations that its filter makes of two samples.

    The judge is Pinocchio: efforts by RNEA of the robot, the sensor's wrench by RNEA of what it carries as a free body.
    """
    texts = {
        "planar_4r": on_sensor(
            find("planar_4r")[0], "0.05 0.02 0.1", "0.3 -0.4 0.7", "0.07 -0.03 0.12", "-0.2 0.5 0.1"
        ),
        "panda": on_sensor(find("panda")[0], "0 0.1 0", "0 0 1", "-0.02 0.04 0.05", "0 3 0"),
        "ur5": on_sensor(find("ur5")[0], "-0.3 0 0.4", "1.2 0.1 -0.6", "0.1 0.2 -0.05", "0.7 0 0.4"),
        "slider_arm": slider_arm(),
        "swinging_base": raft(),
    }
    errors = {f"{name}_{way}": _error(text, way) for name, text in texts.items() for way in CONVENTIONS}
    yield Figure(
        "rnea_error", max(errors.values()), "N*m", parse_goal("<= 1e-9"),
        f"largest error of a joint's torque against Pinocchio's RNEA, {STATES} random states each", details=errors,
    )  # fmt: skip


def _error(text: str, convention: str) -> float:
    judge = Reference(text)
    bodies = build_sensed_bodies(judge.description, SENSOR)
    n, sign = bodies.n, 1.0 if convention == "robot_on_base" else -1.0
    config = BaseWrenchEstimatorConfig(
        wrench_convention=convention, wrench_bias=BIAS, velocity_bandwidth=0.0, acceleration_bandwidth=EXACT
    )
    model = ArmModel(judge.description, judge.frame)
    estimator = BaseWrenchEstimator(model, SensorDynamics(bodies), config)
    rng, stamp, worst = np.random.default_rng(3), 0, 0.0
    for _ in range(STATES):
        truth = judge.random(rng)
        read = sign * truth.wrench + np.array(BIAS)
        base = [part[n:] for part in (truth.position, truth.velocity, truth.acceleration)]
        velocity, before = truth.velocity[:n], truth.velocity[:n] - truth.acceleration[:n] * STEP * 1e-9
        stamp += PAUSE
        estimator.update(BaseWrenchSample(stamp, truth.position[:n], before, None, read, *base))
        stamp += STEP
        estimate = estimator.update(BaseWrenchSample(stamp, truth.position[:n], velocity, None, read, *base))
        found = estimate.torque - (truth.effort - truth.gravity)[:n]
        weight = estimate.gravity - truth.gravity[:n]
        known = bodies.sensed
        worst = max(worst, float(np.abs(found[known]).max()), float(np.abs(weight[known]).max()))
    return worst


def look_up_table() -> Iterator[Figure]:
    """Gravity wrench of the seven-joint arm by table and by model."""
    dynamics = SensorDynamics(build_sensed_bodies(description(), SENSOR))
    table = GravityTable.from_model(dynamics)
    poses = np.random.default_rng(9).uniform(-np.pi, np.pi, (POSES, 7))
    found = np.array([table.wrench(pose) - dynamics.gravity_wrench(pose) for pose in poses])
    errors = [float(np.linalg.norm(found[:, part], axis=1).max()) for part in (slice(0, 3), slice(3, 6))]
    spent = {"table": [], "model": []}
    for _ in range(3):
        for name, of in (("table", table.wrench), ("model", dynamics.gravity_wrench)):
            for pose in poses:
                began = time.perf_counter_ns()
                of(pose)
                spent[name].append(time.perf_counter_ns() - began)
    yield Figure(
        "table_error_ratio", max(error / stated for error, stated in zip(errors, table.error, strict=True)), "1",
        parse_goal("<= 1"), f"error of the look-up table over the one that it states, {POSES} random poses",
        details={
            "force_N": errors[0], "stated_force_N": float(table.error[0]),
            "torque_Nm": errors[1], "stated_torque_Nm": float(table.error[1]),
            "entries": float(len(table.values)),
            "table_us": 1e-3 * float(np.median(spent["table"])), "model_us": 1e-3 * float(np.median(spent["model"])),
        },
    )  # fmt: skip
