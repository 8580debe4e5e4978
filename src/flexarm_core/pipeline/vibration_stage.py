"""VibrationStage: runs the vibration controller and checks its gains, before the first sample if possible."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from flexarm_core.errors import ConfigError, FlexarmError, InputError
from flexarm_core.pipeline.path_watch import PathWatch
from flexarm_core.pipeline.stage import Stage
from flexarm_core.pipeline.tick import Tick, base_needs
from flexarm_core.reaction_null_space.stability.linear_law import ToolTask
from flexarm_core.reaction_null_space.stability.stability import Margin, check_gains, postures_after_hits
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.controller import VibrationController
from flexarm_core.reaction_null_space.vibration.load_observer import fastest
from flexarm_core.reaction_null_space.vibration.motion_guard import WATCHED
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.reaction_null_space.vibration.wash_out import WashOut
from flexarm_core.types import ArmState, Array, CartesianReference, JointReference

POSTURES = ("first", "desired_joint_reference")
NEAR = 0.1  # [rad | m] distance from a checked posture within which gains are not checked again
INTERVALS = 25  # number of sampling intervals after which the actual rate is known
SLOW = 1.5  # ratio to the configured period above which the gains were checked for a wrong rate
NO_MARGIN = Margin(1.0, 1.0, 1.0)


def check_axes(tool: CartesianReference | ToolTask, joints: int, selected: int) -> None:
    """Reject a task with more tracked axes than the arm has reactionless degrees of freedom.

    Args:
        tool: tool reference or tool task.
        joints: number of joints, n.
        selected: number of base motions that must not be excited, k.

    Raises:
        ConfigError: more than n - k axes are tracked.
    """
    tracked, free = int(np.count_nonzero(tool.axes)), joints - selected
    if tracked > free:
        raise ConfigError(
            f"{tracked} axes of the tool are tracked where {free} motions are free: {joints} joints less {selected}"
            " motions of the base that are kept quiet; track fewer axes, or select fewer motions of the base"
        )


class VibrationStage(Stage):
    """Computes a joint reference and the base reaction from a tool reference, a joint reference, or neither.

    Attributes:
        controller: vibration controller.
        sampling: sampling for which the gains are checked; None: they are not checked.
        source: source of the base deflection, one of ``BASE_STATES``.
        posture: source of the posture for ``posture_gain`` of task ``tool_path``, one of ``POSTURES``.
        task: frame and axes of the tool references, if known before the first one.
    """

    name = "rns_vibration_controller"
    _loaded: ClassVar[bool] = False  # whether this process has checked gains before

    def __init__(
        self,
        controller: VibrationController,
        sampling: Sampling | None = None,
        source: str = "joint_states",
        posture: str = "first",
        task: ToolTask | None = None,
        start: Array | None = None,
    ) -> None:
        """Bind the stage to a controller.

        Args:
            controller: vibration controller.
            sampling: as in the class.
            source: as in the class.
            posture: as in the class.
            task: as in the class.
            start: (n,) initial joint positions, at which gains are checked now; None: unknown.

        Raises:
            ConfigError: the gains are not stable at ``start``, or more axes are tracked than are free.
        """
        self.controller, self.sampling, self.source, self.posture, self.task = (
            controller, sampling, source, posture, task,
        )  # fmt: skip
        self._sampled = sampling
        if controller.guard is not None and sampling is not None:
            controller.guard.watched = min(WATCHED, fastest(sampling))
        self._wash_out = WashOut(controller.model)
        self._watch = PathWatch(controller.model, source == "flexible_state")
        self._looked_at: tuple[VibrationControllerConfig, ToolTask, Array] | None = None  # where the gains are stable
        # inputs that a sample waits for, after the settings that they were found for
        self._needs: tuple[VibrationControllerConfig | None, tuple[str, str], frozenset[str]] = (
            None, ("", ""), frozenset(),
        )  # fmt: skip
        self.reset()
        if self._quiet and task is not None:
            check_axes(task, controller.model.n, controller.selection.count)
        self.prepare(start)

    @property
    def remark(self) -> str:
        """Remark on the last sample for the operator."""
        said = "" if self.controller.guard is None else self.controller.guard.remark
        return "; ".join(filter(None, (self._watch.off, said)))

    @property
    def modes(self) -> tuple[str, ...]:
        """Names of the modes that flexible states must give."""
        return self._watch.modes

    @property
    def off_path(self) -> bool:
        """Whether the measured tool is off its path by more than ``path_tolerance``."""
        return bool(self._watch.off)

    @property
    def gave_up(self) -> bool:
        """Whether the controller gave up and holds the arm at rest."""
        return self.controller.guard is not None and bool(self.controller.guard.reason)

    @property
    def _quiet(self) -> bool:
        """Whether the tool must move in the reaction null space of the base."""
        return self.controller.config.task == "tool_path" and self.controller.config.law != "resolved_acceleration"

    def prepare(self, position: Array | None) -> None:
        """Check the gains before the first sample, so that it is answered without delay.

        Args:
            position: (n,) joint positions; None: unknown, then only the code of the check is loaded.

        Raises:
            ConfigError: the gains are not stable there.
        """
        self._load_code()
        if self.sampling is None:
            return
        model, config = self.controller.model, self.controller.config
        known = position is not None and (self.task is not None or config.task != "tool_path")
        still, none = np.zeros(model.n), np.zeros(model.m)
        try:
            if position is not None and known:
                self._check(config, ArmState(0, position, still, none, none), None)
            elif not VibrationStage._loaded:
                middle = 0.5 * (np.maximum(model.lower, -np.pi) + np.minimum(model.upper, np.pi))
                self._check_at(middle, config, self.task or ToolTask(), NO_MARGIN)
                VibrationStage._loaded = True
        except FlexarmError as error:
            if known:
                raise ConfigError(str(error)) from error

    @property
    def needs(self) -> frozenset[str]:
        """The references that the task needs, and the deflection of the base."""
        config = self.controller.config
        for_config, for_base, needs = self._needs
        if for_config is not config or for_base != (self.source, self.posture):
            needs = base_needs(self.source)
            if config.task == "tool_path":
                led = config.posture_gain > 0.0 and self.posture == "desired_joint_reference"
                needs |= {"tool", "joints"} if led else {"tool"}
            elif config.task == "joint_path":
                needs |= {"joints"}
            self._needs = config, (self.source, self.posture), needs
        return needs

    def reset(self) -> None:
        """Forget earlier samples."""
        self.controller.reset()
        self._wash_out.reset()
        self._watch.reset()
        self._refused: str | None = None  # why the gains are rejected; empty: they are not; None: not checked yet
        self._seen: tuple[ArmState, CartesianReference | None] | None = None
        self._stamps: list[int] = []  # stamps of the first samples [ns]

    def lag(self, delay: float, base: float = 0.0) -> None:
        """Check the gains at the next sample for measurements that are late by ``delay`` and ``base`` [s], too."""
        if self._sampled is not None:
            known, later = self._sampled, max(delay, base) if self.source == "flexible_state" else delay
            of_base = known.delay if known.base_delay is None else known.base_delay
            self.sampling = replace(known, delay=known.delay + delay, base_delay=of_base + later)
            self._looked_at = self._refused = None

    def change(self, config: VibrationControllerConfig) -> None:
        """Use other settings from the next sample on.

        Raises:
            ConfigError: the gains are unstable at the present posture; nothing has changed then.
        """
        if config != self.controller.config and self._seen is not None and self.sampling is not None:
            self._check(config, *self._seen)
            self._refused = ""
        self.controller.config = config

    def update(self, tick: Tick) -> None:
        """Process one sample; do nothing if a reference that the task needs is missing.

        Raises:
            InputError: the input is not usable, or the gains are rejected.
        """
        needs, joints = self.needs, tick.take_joints()
        tool, wanted = tick.tool if "tool" in needs else None, joints if "joints" in needs else None
        state = tick.arm_state(self.source)
        if ("tool" in needs and tool is None) or ("joints" in needs and wanted is None):
            return
        self._seen = state, tool
        if self._refused is None:
            self._refused = ""
            try:
                if self._quiet and tool is not None:
                    check_axes(tool, self.controller.model.n, self.controller.selection.count)
                if self.sampling is not None:
                    self._check(self.controller.config, state, tool)
            except ConfigError as error:
                self._refused = str(error)
        if self.sampling is not None and not self._refused and len(self._stamps) <= INTERVALS:
            self._refused = self._contradiction(state.stamp, self.sampling.period)
        if self._refused:
            raise InputError(self._refused)
        if self.source == "flexible_state":  # a measured rate does not last
            state = self._wash_out.clean(state)
        if tool is not None:
            config = self.controller.config
            tool = self._watch.take(tick.flexible, state, tool, config.path_tolerance, config.bending_bandwidth)
        answer, tick.reaction = self.controller.update(state, tool, wanted)
        tick.give_joints(self.name, answer)
        if self.remark:
            tick.remarks[self.name] = self.remark

    def _load_code(self) -> None:
        """Process samples whose results are discarded, so that compiled code is loaded before the first real one."""
        controller, model = self.controller, self.controller.model
        middle = 0.5 * (np.maximum(model.lower, -np.pi) + np.minimum(model.upper, np.pi))
        still, none, twist = np.zeros(model.n), np.zeros(model.m), np.zeros(6)
        for stamp in (0, 1_000_000, 2_000_000):
            state = ArmState(stamp, middle, still, none, none)
            tool = model.tool_kinematics(state, model.base_frame)
            axes = np.ones(6, dtype=bool)
            wanted = CartesianReference(stamp, model.base_frame, tool.position, tool.rotation, twist, twist, axes)
            controller.update(state, wanted, JointReference(stamp, middle, still, still))
            if controller.guard is not None:
                controller.guard.clock.rate = 0.5  # late from now on
                if stamp:
                    controller.guard.give_up("a rehearsal")
        controller.reset()

    def _contradiction(self, stamp: int, period: float) -> str:
        """Return an error if samples are slower than the gains were checked for; empty if not, or not yet known."""
        self._stamps.append(stamp)
        if len(self._stamps) <= INTERVALS:
            return ""
        real = float(np.median(np.diff(self._stamps))) * 1e-9
        if real <= SLOW * period:
            return ""
        return f"samples come at {1.0 / real:.4g} Hz, gains were checked for {1.0 / period:.4g} Hz: set rate"

    def _check(self, config: VibrationControllerConfig, state: ArmState, tool: CartesianReference | None) -> None:
        """Raise ConfigError if gains lack stability margin at this posture, or where a disturbance may move the arm.

        This takes some 0.3 s.
        """
        assert self.sampling is not None
        if config.load_bandwidth > fastest(self.sampling):
            raise ConfigError(
                f"load_bandwidth is {config.load_bandwidth:g} rad/s, at most {fastest(self.sampling):.3g} rad/s with"
                f" {self.sampling}"
            )
        task = self.task or ToolTask()
        if tool is not None:
            frame = "" if tool.frame == self.controller.model.base_frame else tool.frame
            task = ToolTask(frame, tuple(bool(axis) for axis in tool.axes))
        before = self._looked_at
        if before is not None and before[:2] == (config, task) and np.abs(state.position - before[2]).max() <= NEAR:
            return
        # computed torque relies on the model of the arm: it is checked without margins for errors of effort
        margin = Margin() if config.realization == "joint_servo" else Margin(effort=1.0)
        self._check_at(state.position, config, task, margin)
        self._looked_at = config, task, state.position

    def _check_at(self, position: Array, config: VibrationControllerConfig, task: ToolTask, margin: Margin) -> None:
        """Raise ConfigError if gains lack a margin at joint positions (n,), or where a disturbance may move the arm."""
        assert self.sampling is not None
        model, selection, sampling = self.controller.model, self.controller.selection, self.sampling
        postures = postures_after_hits(model, position, config, selection, sampling, task)
        check_gains(model, postures, config, selection, sampling, task, margin)
