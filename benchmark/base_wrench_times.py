"""Time of one estimate for seven joints, beside Pinocchio's RNEA called from Python and the same formulas in NumPy."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator

import numpy as np
import pinocchio
from base_wrench_station import BEGIN, NONE, SENSOR, arm_model, urdf

from flexarm_core.base_wrench.controller import BaseWrenchController, BaseWrenchControllerConfig
from flexarm_core.base_wrench.estimator import BaseWrenchEstimator, BaseWrenchEstimatorConfig
from flexarm_core.base_wrench.gravity_table import GravityTable
from flexarm_core.base_wrench.sensed_bodies import (
    AXIS,
    CENTER,
    INERTIA,
    MASS,
    ROTATION,
    TRANSLATION,
    WEIGHT,
    SensedBodies,
    build_sensed_bodies,
)
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.types import ArmState, Array, BaseWrenchSample, JointReference
from flexarm_tools.metrics.figures import Figure, parse_goal

STEP_NS = 2_000_000
ROUNDS, CALLS = 30, 200


def numpy_torques(
    bodies: SensedBodies, position: Array, velocity: Array, acceleration: Array, wrench: Array, gravity: Array
) -> Array:
    """Joint torques (n,) of an arm on a level sensor at its root, all joints revolute: the formulas, body by body."""
    R, p, w, dw, a = np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    axes, points, inboard = [], [], []
    weight, inertial = np.zeros(6), np.zeros(6)
    for i, row in enumerate(bodies.links[1:]):
        axis = row[AXIS:MASS]
        K = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
        turn = np.eye(3) + np.sin(position[i]) * K + (1.0 - np.cos(position[i])) * (K @ K)
        r = R @ row[TRANSLATION:AXIS]
        p, a = p + r, a + np.cross(dw, r) + np.cross(w, np.cross(w, r))
        R = R @ row[ROTATION:TRANSLATION].reshape(3, 3) @ turn
        z = R @ axis
        dw = dw + z * acceleration[i] + np.cross(w, z) * velocity[i]
        w = w + z * velocity[i]
        axes.append(z), points.append(p), inboard.append(inertial.copy())
        c, mass = R @ row[CENTER:INERTIA], row[MASS]
        about = R @ row[INERTIA:WEIGHT].reshape(3, 3) @ R.T
        force = mass * (a + np.cross(dw, c) + np.cross(w, np.cross(w, c)))
        moment = about @ dw + np.cross(w, about @ w) + np.cross(p + c, force)
        inertial += np.concatenate((force, moment))
        weight += np.concatenate((mass * gravity, np.cross(p + c, mass * gravity)))
    dynamic = wrench - weight
    torques = np.empty(len(axes))
    for i, (z, o, before) in enumerate(zip(axes, points, inboard, strict=True)):
        total = dynamic + before
        torques[i] = -z @ (total[3:] - np.cross(o, total[:3]))
    return torques


def update_times() -> Iterator[Figure]:
    """In turns, each call timed alone; a turn begins with a twentieth untimed, and the first turn warms up."""
    model, bodies = arm_model(), build_sensed_bodies(arm_model().description, SENSOR)
    dynamics, gravity = SensorDynamics(bodies), np.array([0.0, 0.0, -9.81])
    rng = np.random.default_rng(2)
    velocity, acceleration = rng.uniform(-1.0, 1.0, (2, 7))
    wrench, effort = dynamics.gravity_wrench(BEGIN) + rng.normal(size=6), rng.normal(size=7)
    theirs = dynamics.torques(BEGIN, velocity, acceleration, wrench).torque
    agreement = float(np.abs(numpy_torques(bodies, BEGIN, velocity, acceleration, wrench, gravity) - theirs).max())
    estimator = BaseWrenchEstimator(model, dynamics, BaseWrenchEstimatorConfig())
    by_table = BaseWrenchEstimator(
        model, SensorDynamics(bodies), BaseWrenchEstimatorConfig(), GravityTable.from_model(dynamics)
    )
    staged = BaseWrenchEstimator(model, SensorDynamics(bodies), BaseWrenchEstimatorConfig())
    controller = BaseWrenchController(model, BaseWrenchControllerConfig())
    pin = pinocchio.buildModelFromXML(urdf())
    data, stamp = pin.createData(), [0]

    def sample() -> BaseWrenchSample:
        stamp[0] += STEP_NS
        return BaseWrenchSample(stamp[0], BEGIN, velocity, effort, wrench)

    def stage(given: BaseWrenchSample) -> None:
        estimate = staged.update(given)
        state = ArmState(given.stamp, BEGIN, staged.velocity, NONE, NONE)
        wanted = JointReference(given.stamp, BEGIN, velocity, acceleration)
        controller.update(state, wanted, estimate, staged.gravity_change)

    calls: dict[str, Callable[[BaseWrenchSample], object]] = {
        "update": estimator.update,
        "update_with_table": by_table.update,
        "stage": stage,
        "newton_euler": lambda given: dynamics.torques(BEGIN, velocity, acceleration, wrench),
        "pinocchio_rnea": lambda given: pinocchio.rnea(pin, data, BEGIN, velocity, acceleration),
        "numpy": lambda given: numpy_torques(bodies, BEGIN, velocity, acceleration, wrench, gravity),
    }
    times = _measure(calls, sample)
    row = times.pop("update")
    details = {"p99_us": float(np.percentile(row, 99)), "least_us": float(row.min())}
    details |= {f"{name}_us": float(np.median(values)) for name, values in times.items()}
    yield Figure(
        "update_time_7", float(np.median(row)), "us", parse_goal("<= 12"), "median of an estimate, 7 joints",
        details=details | {"numpy_disagrees_by_Nm": agreement},
    )  # fmt: skip


def _measure(
    calls: dict[str, Callable[[BaseWrenchSample], object]], sample: Callable[[], BaseWrenchSample]
) -> dict[str, Array]:
    """Times of single calls, without that of the clock [us]."""
    times: dict[str, list[int]] = {name: [] for name in calls}
    clock = time.perf_counter_ns
    gc.disable()
    nothing = float(np.median([-clock() + clock() for _ in range(2000)]))
    for turn in range(ROUNDS):
        for name, call in calls.items():
            count = CALLS // 10 if name == "numpy" else CALLS
            for index in range(count + CALLS // 20):
                given = sample()
                began = clock()
                call(given)
                spent = clock() - began
                if turn and index >= CALLS // 20:
                    times[name].append(spent)
        gc.collect()
    gc.enable()
    return {name: (np.array(row) - nothing) * 1e-3 for name, row in times.items()}
