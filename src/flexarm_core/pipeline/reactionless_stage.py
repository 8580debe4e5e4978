"""ReactionlessStage: joint velocities that damp the base and keep the arm on a reactionless path or at a posture."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from flexarm_core.errors import ConfigError, FlexarmError, InputError
from flexarm_core.pipeline.stage import Stage
from flexarm_core.pipeline.tick import Tick, base_needs
from flexarm_core.reaction_null_space.reactionless.path import ReactionlessPath
from flexarm_core.reaction_null_space.reactionless.path_motion import PathMotion, PathMotionConfig
from flexarm_core.reaction_null_space.reactionless.trace import trace
from flexarm_core.reaction_null_space.reactionless.velocity_law import (
    Along,
    VelocityLaw,
    VelocityLawConfig,
    commanded_reaction,
)
from flexarm_core.reaction_null_space.stability.velocity_law_poles import check_velocity_gains
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.settings import Settings, setting
from flexarm_core.types import ArmState, Array, BaseReaction, JointReference

CHECKED = 16  # number of postures on a path at which gains are checked


@dataclass(frozen=True, slots=True)
class ReactionlessTask(Settings):
    """Motion of the arm in addition to damping its base, and the loop for which gains are checked.

    Attributes:
        motion: motion along a path; None: hold a posture.
        path: reactionless path to follow; None: the one through the first measured posture.
        posture: (n,) joint positions to hold, None: the first measured ones [rad | m].
    """

    # fmt: off
    motion: PathMotionConfig | None = None
    path: ReactionlessPath | None = None
    posture: Array | None = None
    longest_path: float = setting(50.0,
        "length in each direction at which tracing of a reactionless path ends", "rad | m", 1e-3)
    start_tolerance: float = setting(0.05,
        "largest accepted distance of the arm from the start of the path", "rad | m", 1e-9)
    rate: float = setting(1000.0, "nominal sampling rate for which gains are checked", "Hz", 1.0, 1e5)
    delay: float = setting(0.0, "delay from measurement to command for which gains are checked", "s", 0.0, 0.1)
    drive_bandwidth: float = setting(200.0,
        "bandwidth of the first-order lag of the drives for which gains are checked", "rad/s", 1e-3)
    # fmt: on


class ReactionlessStage(Stage):
    """Computes joint velocities and the base reaction from the state.

    Attributes:
        law: velocity law.
        source: source of the base deflection, one of ``BASE_STATES``.
        path: path to follow, None: a posture is held, or the path is not traced yet.
        wanted: desired motion at the last sample, without base damping; None before any.
        along: position on the path at that sample, None if there is no path.
    """

    name = "reactionless_path_controller"

    def __init__(
        self, model: ArmModel, config: VelocityLawConfig, task: ReactionlessTask, source: str = "joint_states"
    ) -> None:
        """Set up the law for a task.

        Raises:
            ConfigError: the gains are unstable on the path or at the posture, if these are known.
            FlexarmError: the path does not allow the motion.
        """
        self._model, self._task, self.source = model, task, source
        self._lag, self._refused = 0.0, ""  # [s]; why the gains are rejected
        if task.motion is not None and task.path is not None:
            PathMotion(task.path, task.motion)  # rejects a wrong motion now instead of at the first sample
        self.law = VelocityLaw(model, self._own(config))
        self.reset()
        if self._checked:
            self._check(self.law.config)

    def reset(self) -> None:
        """Restart at the next sample."""
        task = self._task
        self.law.reset()
        self.path: ReactionlessPath | None = task.path
        self.wanted: JointReference | None = None
        self.along: Along | None = None
        self._begun: int | None = None
        self._motion: PathMotion | None = None
        self._time = 0.0
        self._last: tuple[int, Array] | None = None
        held = [] if task.posture is None else [task.posture]
        self._checked: list[Array] = held if self.path is None else _spread(self.path)

    @property
    def needs(self) -> frozenset[str]:
        """The law needs no reference."""
        return base_needs(self.source)

    @property
    def finished(self) -> bool:
        """Whether the motion has reached its end."""
        return self._motion is not None and self._motion.finished(self._time)

    def change(self, config: VelocityLawConfig) -> None:
        """Use other gains from the next sample on.

        Raises:
            ConfigError: the gains are unstable where the arm moves; nothing has changed then.
        """
        config = self._own(config)
        self._check(config)
        self._refused = ""
        self.law.config = config

    def lag(self, delay: float, base: float = 0.0) -> None:
        """Check the gains for measurements that are late by ``delay`` and ``base`` [s], too."""
        self._lag, self._refused = max(delay, base) if self.source == "flexible_state" else delay, ""
        try:
            if self._checked:
                self._check(self.law.config)
        except ConfigError as error:
            self._refused = str(error)

    def update(self, tick: Tick) -> None:
        """Process one sample.

        Raises:
            InputError: the sample is not usable, or the arm cannot start from its present posture.
        """
        tick.take_joints()
        if self._refused:
            raise InputError(self._refused)
        try:
            self._answer(tick, tick.arm_state(self.source))
        except InputError:
            raise
        except FlexarmError as error:  # no path through this posture, or gains that are unstable there
            raise InputError(str(error)) from error

    def _answer(self, tick: Tick, state: ArmState) -> None:
        if self._begun is None:
            self._begin(state)
            self._begun = state.stamp
        self._time = (state.stamp - self._begun) * 1e-9
        self.along = along = None if self._motion is None else self._motion.at(self._time)
        command = self.law.update(state, along)
        self.wanted = self._wanted(command, along)
        tick.reaction = self._reaction(state, command)
        tick.give_joints(self.name, command)

    def _own(self, config: VelocityLawConfig) -> VelocityLawConfig:
        """Return the settings with the base selection for which the path was traced."""
        path = self._task.path
        return config if path is None else replace(config, selection=path.field.selection)

    def _check(self, config: VelocityLawConfig) -> None:
        task = self._task
        delay = math.ceil((task.delay + self._lag) * task.rate - 1e-6)
        bandwidth, period = task.drive_bandwidth, 1.0 / task.rate
        check_velocity_gains(self._model, self._checked, config, drive_bandwidth=bandwidth, period=period, delay=delay)

    def _begin(self, state: ArmState) -> None:
        """Set up the motion, or the posture to hold, at the first sample."""
        task = self._task
        self._model.check_state(state)
        if task.motion is None:
            held = state.position if task.posture is None else task.posture
            self._checked = [held]
            self._check(self.law.config)
            self.law.hold(held)
            return
        if self.path is None:
            selection = self.law.config.selection
            path = trace(self._model, state.position, selection, length=task.longest_path)
            self._checked = _spread(path)
            self._check(self.law.config)
            self.path = path
        path = self.path
        motion = PathMotion(path, task.motion, path.nearest(state.position)[0])
        distance = float(np.linalg.norm(path.field.difference(path.position(motion.begin), state.position)))
        if distance > task.start_tolerance:
            raise InputError(
                f"the arm is {distance:.3g} from where the path begins, {path.position(motion.begin)}: at most"
                f" {task.start_tolerance:g} are accepted"
            )
        self.law.follow(path)
        self._motion = motion

    def _wanted(self, command: JointReference, along: Along | None) -> JointReference:
        if self.path is None or along is None:
            still = np.zeros(self._model.n)
            return JointReference(command.stamp, command.position, still, still)
        motion = self.path.read(along.s, along.rate, along.acceleration)
        assert command.position is not None  # the law gives one
        position = self._model.turns.near(motion.position, command.position)
        return JointReference(command.stamp, position, motion.velocity, motion.acceleration)

    def _reaction(self, state: ArmState, command: JointReference) -> BaseReaction:
        coupling, velocity = self.law.coupling, command.velocity
        assert coupling is not None and velocity is not None  # available after an update of the law
        acceleration = np.zeros(self._model.n)
        if self._last is not None and state.stamp > self._last[0]:
            acceleration = (velocity - self._last[1]) / ((state.stamp - self._last[0]) * 1e-9)
        self._last = (state.stamp, velocity)
        return commanded_reaction(self._model, state, acceleration, coupling, self.law.config.vibration_gain > 0.0)


def _spread(path: ReactionlessPath) -> list[Array]:
    """Return CHECKED equally spaced postures on a path."""
    return [path.position(s) for s in np.linspace(path.start, path.end, CHECKED)]
