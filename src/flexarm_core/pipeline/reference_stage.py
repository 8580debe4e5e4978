"""ReferenceStage: a tool or joint motion that begins at the first sample, or follows velocities as they come."""

from __future__ import annotations

import numpy as np

from flexarm_core.errors import InputError
from flexarm_core.path.joint_move import JointMove
from flexarm_core.path.line import LinePath
from flexarm_core.path.trajectory_motion import TrajectoryMotion
from flexarm_core.path.velocity_commands import JointVelocityMotion, TwistMotion
from flexarm_core.path.waypoint_motion import WaypointMotion
from flexarm_core.pipeline.stage import Stage
from flexarm_core.pipeline.tick import Tick, base_needs
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array

JointMotion = JointMove | TrajectoryMotion | JointVelocityMotion
ToolMotion = LinePath | WaypointMotion | TwistMotion


class ReferenceStage(Stage):
    """Gives every tick a tool reference or a joint reference.

    Attributes:
        model: arm model.
        motion: motion of the tool or of the joints.
        answered: stamp of the newest sample [ns], -1 before any.
    """

    name = "reference_generator"

    def __init__(self, model: ArmModel, motion: JointMotion | ToolMotion, source: str = "joint_states") -> None:
        """Prepare the stage for a motion of an arm.

        Args:
            model: arm model.
            motion: motion of the tool or of the joints.
            source: source of the base deflection for a tool motion, one of ``BASE_STATES``.
        """
        self.model, self.motion = model, motion
        self.source, self.answered = "none" if isinstance(motion, JointMotion) else source, -1

    @property
    def needs(self) -> frozenset[str]:
        """A motion of the tool needs the deflection of the base."""
        return base_needs(self.source)

    def reset(self) -> None:
        """Restart the motion at the next sample."""
        self.motion.reset()
        self.answered = -1

    def update(self, tick: Tick) -> None:
        """Give the reference of one sample.

        Raises:
            InputError: the base deflection is unknown, or the arm is too far from the start of the motion or too near
                to a limit.
        """
        motion, self.answered = self.motion, tick.stamp
        if isinstance(motion, JointVelocityMotion):
            tick.give_joints(self.name, motion.update(tick.stamp, tick.sample.position))
            return
        if isinstance(motion, TwistMotion):
            tool = self.model.tool_kinematics(tick.arm_state(self.source), motion.config.frame)
            tick.give_tool(self.name, motion.update(tick.stamp, tool.position, tool.rotation))
            return
        if isinstance(motion, JointMotion):
            if not motion.begun:
                self._check_room(motion, tick.sample.position)
                motion.begin(tick.stamp, tick.sample.position)
            tick.give_joints(self.name, motion.update(tick.stamp))
            return
        if not motion.begun:
            tool = self.model.tool_kinematics(tick.arm_state(self.source), motion.config.frame)
            motion.begin(tick.stamp, tool.position, tool.rotation)
        tick.give_tool(self.name, motion.update(tick.stamp))

    def _check_room(self, motion: JointMotion, position: Array) -> None:
        """Raise InputError if a move from a position (n,) would end beyond a limit; the file of a plan is checked."""
        if not isinstance(motion, JointMove):
            return
        way, model = np.array(motion.config.displacement), self.model
        end, limit = position + way, np.where(way > 0.0, model.upper, model.lower)
        beyond = np.where(way > 0.0, end > limit, (way < 0.0) & (end < limit))
        if beyond.any():
            i = int(beyond.argmax())
            raise InputError(f"joint '{model.joint_names[i]}' would move to {end[i]:.4g}, its limit is {limit[i]:.4g}")
