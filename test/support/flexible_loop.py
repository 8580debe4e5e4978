"""Estimator and controller of an arm that bends, in this process, around a chain of rigid pieces on MuJoCo."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from pipeline_run import sample_of

from flexarm_core.errors import ConfigError
from flexarm_core.flexible_dynamics.control.controller import FlexibleController, FlexibleControllerConfig
from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.flexible_dynamics.estimation.estimator import FlexibleEstimator
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.path.joint_move import JointMove, JointMoveConfig
from flexarm_core.robot.description import RobotDescription
from flexarm_core.types import ArmState, Array
from flexarm_sim.backend import PlantDivergedError
from flexarm_sim.drives import DriveConfig
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_sim.plant import Plant, PlantConfig
from flexarm_sim.pushes import Push
from flexarm_sim.sensors import SensorConfig, SensorSuiteConfig

NOISE = SensorSuiteConfig(
    joint_position=SensorConfig(noise=1e-5),
    joint_velocity=SensorConfig(noise=1e-3),
    strain=SensorConfig(noise=1e-6),
)
START = 0.2  # [s] before a slew


@dataclass(frozen=True, slots=True)
class FlexibleRun:
    """A run, a row a tick.

    Attributes:
        time: (T,) [s].
        position: (T, n) true joints.
        wanted: (T, n) reference.
        tool: (T, 3) true.
        effort: (T, n) asked for.
        weight: (T, n) of it what holds the weight of the true arm, bent as it is.
        limit: (n,) of the efforts.
        diverged: whether the arm left its limits for good.
    """

    time: Array
    position: Array
    wanted: Array
    tool: Array
    effort: Array
    weight: Array
    limit: Array
    diverged: bool

    def swing(self, after: float) -> float:
        """Largest distance of the tool from its mean position after a time [m]; inf where it diverged."""
        left = self.tool[self.time >= after]
        return np.inf if self.diverged else float(np.linalg.norm(left - left.mean(axis=0), axis=1).max())

    def effort_share(self, after: float = 0.0, before: float = np.inf) -> float:
        """Largest effort beyond the weight as a part of the limit."""
        counted = (self.time >= after) & (self.time <= before)
        return float((np.abs(self.effort - self.weight)[counted] / self.limit).max())

    @property
    def saturated(self) -> float:
        """Part of the ticks in which an effort was at its limit."""
        return float((np.abs(self.effort) >= 0.999 * self.limit).any(axis=1).mean())


def plant_of(
    description: RobotDescription,
    position: Array,
    gravity: tuple[float, float, float],
    rate: float,
    segments: int,
    pushes: tuple[Push, ...] = (),
    seed: int = 0,
) -> tuple[Plant, MujocoBackend]:
    """The plant in static equilibrium, with noise on encoders and gauges; and its dynamics."""
    step = 4e-4
    while True:
        try:
            backend = MujocoBackend(description, gravity=gravity, max_step=step, segments=segments)
            break
        except ConfigError:
            step *= 0.7
    config = PlantConfig(
        period_ns=round(1e9 / rate),
        initial_position=tuple(position),
        drive=DriveConfig(),
        sensors=NOISE,
        pushes=pushes,
        seed=seed,
    )
    return Plant(description, backend, config), backend


def run_flexible(
    told: RobotDescription,
    true: RobotDescription,
    position: Array,
    displacement: Array,
    duration: float,
    config: FlexibleControllerConfig,
    *,
    gravity: tuple[float, float, float] = (0.0, 0.0, 0.0),
    estimator: EstimatorConfig | None = None,
    rate: float = 1000.0,
    delay: int = 0,
    segments: int = 8,
    time: float = 3.0,
    pushes: tuple[Push, ...] = (),
) -> FlexibleRun:
    """A slew by ``displacement`` in ``duration`` after ``START``; commands come ``delay`` ticks late."""
    plant, backend = plant_of(true, position, gravity, rate, segments, pushes)
    model = FlexibleModel(told, gravity=gravity)
    observer = FlexibleEstimator(FlexibleModel(told, gravity=gravity), estimator)
    controller = FlexibleController(model, config)
    move = JointMove(JointMoveConfig(tuple(displacement), START, duration, time_law="seventh_order"))
    none = np.zeros(len(model.elastic))
    rows: list[tuple[Array, ...]] = []
    limit = np.array([told.joints[name].effort_limit for name in told.actuated])
    late: deque[Array] = deque(maxlen=delay + 1)
    times, diverged = [], False
    for _ in range(round(time * rate)):
        sample = sample_of(plant.measure())
        joints = ArmState(sample.stamp, sample.position, sample.velocity, none, none)
        if not move.begun:
            move.begin(sample.stamp, sample.position)
        wanted = move.update(sample.stamp)
        bent = observer.update(sample) if config.law != "joint_pd" else None
        answer = controller.update(joints, bent, wanted)
        state, weight = plant.state(), backend.gravity_effort()
        rows.append((state.position, wanted.position, state.tool_position_in_world, answer.effort, weight))
        times.append(sample.stamp * 1e-9)
        late.append(np.clip(answer.effort, -limit, limit))
        try:
            plant.advance(late[0] if len(late) > delay else weight)
        except PlantDivergedError:
            diverged = True
            break
        if np.abs(state.position - wanted.position).max() > 1.5:
            diverged = True
            break
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return FlexibleRun(np.array(times), *columns, limit, diverged)
