"""VibrationStage: the vibration controller, which looks at its gains where the arm is first seen."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.pipeline.tick import Tick
from flexarm_core.reaction_null_space.linear_law import ToolTask
from flexarm_core.reaction_null_space.sampling import Sampling
from flexarm_core.reaction_null_space.stability import Margin, check_gains, postures_after_hits
from flexarm_core.reaction_null_space.vibration_controller import VibrationController, VibrationControllerConfig
from flexarm_core.types import ArmState, BaseReaction, CartesianReference, JointReference

POSTURES = ("first", "desired_joint_reference")


class VibrationStage:
    """Tool or joint reference, or none, -> joint reference and base reaction.

    Attributes:
        controller: that answers samples.
        sampling: for which gains are checked; None: they are not.
        source: where it takes the base's deflection from, one of ``BASE_STATES``.
        posture: where task ``tool_path`` takes the posture of its ``posture_gain`` from, one of ``POSTURES``.
    """

    name = "rns_vibration_controller"

    def __init__(
        self,
        controller: VibrationController,
        sampling: Sampling | None = None,
        source: str = "joint_states",
        posture: str = "first",
    ) -> None:
        """Bind the stage to a controller."""
        self.controller, self.sampling, self.source, self.posture = controller, sampling, source, posture
        self._looked_at: Hashable = None  # for which gains were found to be stable
        self.reset()

    @property
    def needs(self) -> tuple[bool, bool]:
        """Whether the task needs a tool reference, and whether it needs a joint reference."""
        config = self.controller.config
        if config.task != "tool_path":
            return False, config.task == "joint_path"
        return True, config.posture_gain > 0.0 and self.posture == "desired_joint_reference"

    def reset(self) -> None:
        """Forget earlier samples."""
        self.controller.reset()
        self._refused: str | None = None  # why the gains are, empty: they are not, None: not looked at yet
        self._seen: tuple[ArmState, CartesianReference | None] | None = None

    def change(self, config: VibrationControllerConfig) -> None:
        """Other settings from the next sample on.

        Raises:
            ConfigError: unstable where the arm is; nothing has changed then.
        """
        if config != self.controller.config and self._seen is not None and self.sampling is not None:
            self._check(config, *self._seen)
            self._refused = ""
        self.controller.config = config

    def update(self, tick: Tick) -> None:
        """One sample; without a reference that its task needs, nothing.

        Raises:
            InputError: the input is not usable, or the gains are not.
        """
        needs_tool, needs_joints = self.needs
        joints = tick.take_joints()
        tool, wanted = tick.tool if needs_tool else None, joints if needs_joints else None
        state = tick.arm_state(self.source)
        if (needs_tool and tool is None) or (needs_joints and wanted is None):
            return
        answer, tick.reaction = self.answer(state, tool, wanted)
        tick.give_joints(self.name, answer)

    def answer(
        self, state: ArmState, tool: CartesianReference | None, wanted: JointReference | None
    ) -> tuple[JointReference, BaseReaction]:
        """Answer of the controller, if its gains hold where the arm was first seen.

        Raises:
            InputError: the input is not usable, or the gains are not.
        """
        self._seen = state, tool
        if self._refused is None:
            self._refused = ""
            if self.sampling is not None:
                try:
                    self._check(self.controller.config, state, tool)
                except ConfigError as error:
                    self._refused = str(error)
        if self._refused:
            raise InputError(self._refused)
        return self.controller.update(state, tool, wanted)

    def _check(self, config: VibrationControllerConfig, state: ArmState, tool: CartesianReference | None) -> None:
        """Raise ConfigError for gains that are not safely stable where the arm is, or where a hit moves it to.

        Takes some 0.5 s.
        """
        assert self.sampling is not None
        looked_at = config, state.position.tobytes(), None if tool is None else (tool.frame, tool.axes.tobytes())
        if looked_at == self._looked_at:
            return
        frame, axes = ("", np.ones(6, dtype=bool)) if tool is None else (tool.frame, tool.axes)
        task = ToolTask(frame, tuple(bool(axis) for axis in axes))
        # computed torque stands and falls with the model: it is judged on just that
        margin = Margin() if config.realisation == "joint_servo" else Margin(effort=1.0, stiffness=1.0)
        model, selection, sampling = self.controller.model, self.controller.selection, self.sampling
        postures = postures_after_hits(model, state.position, config, selection, sampling, task)
        check_gains(model, postures, config, selection, sampling, task, margin)
        self._looked_at = looked_at
