"""ReferenceStage: a motion of the tool or of the joints that begins at the first sample."""

from __future__ import annotations

from flexarm_core.path.joint_move import JointMove
from flexarm_core.path.line import LinePath
from flexarm_core.path.trajectory_motion import TrajectoryMotion
from flexarm_core.path.waypoint_motion import WaypointMotion
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel

JointMotion = JointMove | TrajectoryMotion
ToolMotion = LinePath | WaypointMotion


class ReferenceStage:
    """Gives every tick a tool reference, or a joint reference."""

    name = "reference_generator"

    def __init__(self, model: ArmModel, motion: JointMotion | ToolMotion, source: str = "joint_states") -> None:
        """Lead an arm along a motion.

        Args:
            model: of the arm.
            motion: of its tool or of its joints.
            source: where a motion of the tool takes the base's deflection from, one of ``BASE_STATES``.
        """
        self.model, self.motion, self.source = model, motion, source

    def reset(self) -> None:
        """The motion begins anew."""
        self.motion.reset()

    def update(self, tick: Tick) -> None:
        """One sample of the motion.

        Raises:
            InputError: the base's deflection is not known, or the arm is too far from where the motion begins.
        """
        motion = self.motion
        if isinstance(motion, JointMotion):
            if not motion.begun:
                motion.begin(tick.stamp, tick.sample.position)
            tick.give_joints(self.name, motion.update(tick.stamp))
            return
        if not motion.begun:
            tool = self.model.tool_kinematics(tick.arm_state(self.source), motion.config.frame)
            motion.begin(tick.stamp, tool.position, tool.rotation)
        tick.give_tool(self.name, motion.update(tick.stamp))
