"""Loaded arms on random paths: what the vibration controller does within the joints' limits, against the plain law."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from loaded_arms import LoadedArm, random_arms, selection_of

from flexarm_core.errors import ConfigError
from flexarm_core.path.line import LinePath, LinePathConfig
from flexarm_core.reaction_null_space.stability.linear_law import ToolTask
from flexarm_core.reaction_null_space.stability.stability import Margin, check_gains
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.controller import VibrationController
from flexarm_core.reaction_null_space.vibration.motion_guard import joint_limits
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array
from flexarm_sim.backend import PlantDivergedError
from flexarm_sim.backends import make_backend
from flexarm_sim.plant import Plant, PlantConfig
from flexarm_sim.pushes import Push

PERIOD = 0.002  # [s]
POSITION = (True, True, True, False, False, False)
AFTER = 12.0  # [s] after the end of the path, at most: the run ends where the arm has been at rest for a while
REST = 0.01  # share of velocity limits that counts as rest
REST_TIME = 0.5  # [s]
ROOM = 1e-3  # [rad] beyond a position limit that counts as within
FAST = 1.01  # of a velocity limit that counts as within


@dataclass(frozen=True, slots=True)
class Case:
    """An arm, its path and the settings of its controller.

    Attributes:
        arm: that moves.
        path: of its tool, after ``begin`` [s].
        config: of the controller.
        push: of the base, if any.
    """

    arm: LoadedArm
    path: LinePathConfig
    config: VibrationControllerConfig
    push: tuple[Push, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happened.

    Attributes:
        energy: largest of the base, about where its load would let it rest [J].
        speed: largest joint velocity over its limit.
        beyond: farthest beyond a position limit [rad].
        effort: largest effort asked for over its limit.
        last_speed: largest over limit at the end; the run ends early where the arm rests for a while.
        reached: distance of the tool from the end of its path [m].
        lag: of the path's clock at the end [s].
        reason: why the law gave up.
    """

    energy: float
    speed: float
    beyond: float
    effort: float
    last_speed: float
    reached: float
    lag: float
    reason: str

    @property
    def within_limits(self) -> bool:
        """Whether no joint was ever beyond its limits."""
        return self.speed <= FAST and self.beyond <= ROOM

    @property
    def rests(self) -> bool:
        """Whether the arm rests in the end."""
        return self.last_speed <= REST


def random_case(rng: np.random.Generator) -> Case:
    """The next one for which gains are not refused at the start."""
    for arm in random_arms(rng):
        model = ArmModel(arm.text, gravity=arm.gravity)
        selection = selection_of(model, 3)
        along = rng.normal(size=3)
        along *= rng.uniform(0.05, 0.4) / np.linalg.norm(along)
        frame = (model.base_frame, model.world_frame)[rng.integers(2)]
        path = LinePathConfig(frame, tuple(along), 0.3, rng.uniform(1.0, 3.0), POSITION)
        config = VibrationControllerConfig(
            position_gain=100.0, velocity_gain=20.0, damping_ratio=float(rng.uniform(0.1, 0.7)),
        )  # fmt: skip
        if selection is None:
            continue
        try:
            check(model, arm.posture, config, selection, path)
        except ConfigError:
            continue
        return Case(arm, path, config)
    raise AssertionError


def check(
    model: ArmModel, posture: Array, config: VibrationControllerConfig, selection: BaseSelection, path: LinePathConfig
) -> None:
    """Raise ConfigError for gains that are refused at a posture."""
    task = ToolTask(path.frame, POSITION)
    margin = Margin() if config.realization == "joint_servo" else Margin(effort=1.0, stiffness=1.0)
    check_gains(model, posture, config, selection, Sampling(PERIOD), task, margin)


def plain(case: Case) -> Case:
    """The same path under the plain law."""
    return replace(case, config=replace(case.config, law="resolved_acceleration"))


def run(case: Case, bounded: bool = True, period: float = PERIOD, after: float = AFTER) -> Outcome:
    """Let the controller lead the arm in MuJoCo from rest, until some seconds after the end of its path.

    Args:
        case: arm, path and settings.
        bounded: whether the law knows of limits.
        period: of the controller [s].
        after: longest time after the end of the path [s].
    """
    arm = case.arm
    model = ArmModel(arm.text, gravity=arm.gravity)
    real = ArmModel(arm.carries, gravity=arm.gravity)
    still, none = np.zeros(model.n), np.zeros(model.m)
    rest = deflected(real, arm.posture, none)
    limits = joint_limits(model.lower, model.upper, model.velocity_limit, model.effort_limit)
    controller = VibrationController(model, case.config, selection_of(model, 3), limits if bounded else None)
    backend = make_backend("mujoco", real.description, gravity=arm.gravity, max_step=1e-3)
    plant = Plant(
        real.description, backend,
        PlantConfig(round(period * 1e9), tuple(arm.posture), initial_deflection=tuple(rest), pushes=case.push),
    )  # fmt: skip
    path = LinePath(case.path)
    sample, first = plant.measure(), ArmState(0, arm.posture, still, rest, none)
    tool = model.tool_kinematics(first, case.path.frame)
    path.begin(0, tool.position, tool.rotation)
    steps = round((case.path.start + case.path.duration + after) / period)
    energy = speed = beyond = effort = last = resting = 0.0
    reached = np.inf
    for k in range(steps):
        assert sample.joints is not None and sample.elastic is not None
        state = ArmState(
            sample.stamp, sample.joints.position, sample.joints.velocity, sample.elastic.position,
            sample.elastic.velocity,
        )  # fmt: skip
        wanted = path.update(sample.stamp)
        command, _ = controller.update(state, wanted)
        if k % 5 == 0:
            energy = max(energy, base_energy(real, state))
        fast = float((np.abs(state.velocity) / limits[2]).max())
        speed = max(speed, fast)
        beyond = max(beyond, float(np.maximum(state.position - limits[1], limits[0] - state.position).max()))
        assert command.effort is not None
        effort = max(effort, float((np.abs(command.effort) / limits[3]).max()))
        last, resting = fast, resting + period if fast <= REST else 0.0
        try:
            sample = plant.advance(np.clip(command.effort, -limits[3], limits[3]) if bounded else command.effort)
        except PlantDivergedError:
            energy = speed = last = np.inf
            break
        if not np.isfinite(state.velocity).all() or fast > 1e3:
            energy = speed = last = np.inf
            break
        guard = controller.guard
        done = guard is None or bool(guard.reason) or guard.clock.lag == 0.0
        if resting > REST_TIME and done and k * period > case.path.start + case.path.duration:
            break
    if np.isfinite(last):
        reached = float(np.linalg.norm(wanted.position - model.tool_kinematics(state, case.path.frame).position))
    guard = controller.guard
    lag, reason = (0.0, "") if guard is None else (guard.clock.lag, guard.reason)
    return Outcome(energy, speed, beyond, effort, last, reached, lag, reason)


def deflected(model: ArmModel, posture: Array, start: Array) -> Array:
    """Deflection (m,) at which the springs bear the weight of a resting arm."""
    still, x = np.zeros(model.n), start.copy()
    for _ in range(20):
        x = -np.linalg.solve(model.K_b, model.weight(ArmState(0, posture, still, x, np.zeros(model.m))))
    return x


def base_energy(model: ArmModel, state: ArmState) -> float:
    """Kinetic and elastic energy of the base, about where its springs would bear the arm's weight [J]."""
    x = -np.linalg.solve(model.K_b, model.weight(state))
    away, rate = state.deflection - x, state.deflection_rate
    H = model.blocks(state).H_b
    return float(0.5 * away @ model.K_b @ away + 0.5 * rate @ H @ rate)
