"""Node reference_generator: DECIDE stage, computes a tool or joint reference for every joint state (core: path)."""

from __future__ import annotations

from typing import Any

from sensor_msgs.msg import JointState

from flexarm.msg import CartesianReference, FlexibleState, JointReference
from flexarm_core.path.input_shaping import SHAPERS
from flexarm_core.path.joint_move import TIME_LAWS
from flexarm_core.pipeline.reference_stage import JointMotion, ToolMotion
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState
from flexarm_nodes.messages.conversions import (
    JointStateSelector,
    cartesian_reference_to_message,
    joint_reference_to_message,
    stamp_to_nanoseconds,
)
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode, run
from flexarm_nodes.node.arm_state_reader import BASE_STATE_SOURCES, ArmStateReader
from flexarm_nodes.node.diagnostics import OK
from flexarm_nodes.node.parameters import Parameter
from flexarm_nodes.references.parameters import reference_motion

SPACES = ("tool", "joints", "path", "plan")


class ReferenceGenerator(ArmNode):
    """Reads measured states; publishes a reference with the same stamp.

    The motion begins at the first measured tool pose or joint position.
    """

    PARAMETERS = (
        Parameter("space", "string", "tool",
            "motion to generate: tool along a line (tool), joint displacement (joints), tool along a waypoint file"
            " (path), or joints along a stored plan (plan)", choices=SPACES),
        Parameter("frame", "string", "",
            "frame of tool references (spaces tool and path), root or base link; empty: that of the waypoint file,"
            " or the base link"),
        Parameter("displacement", "double[]", [0.0, 0.0, 0.0],
            "displacement of the tool along a straight line (space tool), in the axes of the reference frame", "m"),
        Parameter("start", "double", 0.0, "time between the first joint state and the start of the motion", "s", 0.0),
        Parameter("duration", "double", 4.0,
            "duration of the motion, one way, including the input shaper (spaces tool and joints)", "s", 1e-3),
        Parameter("returns", "bool", False,
            "move back and forth, each way in the same time, without end unless repetitions sets one; false: move"
            " once"),
        Parameter("repetitions", "int", 0,
            "number of back-and-forth cycles before the joints rest (space joints with returns); 0: without end",
            "", 0),
        Parameter("axes", "bool[]", [True, True, True, True, True, True],
            "tool axes x y z rx ry rz that the reference specifies (spaces tool and path)"),
        Parameter("base_state_source", "string", "joint_states",
            "source of the base deflection for tool references (spaces tool and path): joint states, or the flexible"
            " state of the estimator", choices=BASE_STATE_SOURCES),
        Parameter("waypoint_file", "string", "",
            "waypoint file of space path: package:// or file:// URI, or absolute path"),
        Parameter("plan_file", "string", "",
            "stored joint plan of space plan: package:// or file:// URI, or absolute path"),
        Parameter("start_tolerance", "double", 0.05,
            "largest accepted distance of a joint from the start of the stored plan (space plan)", "rad | m", 1e-9),
        Parameter("max_linear_velocity", "double", 0.25,
            "largest linear velocity of the tool along the waypoint path (space path)", "m/s", 1e-6),
        Parameter("max_linear_acceleration", "double", 1.0,
            "largest linear acceleration of the tool along the waypoint path (space path)", "m/s^2", 1e-6),
        Parameter("max_angular_velocity", "double", 1.0,
            "largest angular velocity of the tool along the waypoint path (space path)", "rad/s", 1e-6),
        Parameter("max_angular_acceleration", "double", 4.0,
            "largest angular acceleration of the tool along the waypoint path (space path)", "rad/s^2", 1e-6),
        Parameter("joint_displacement", "double[]", [],
            "displacement of each actuated joint from its first measured position (space joints)", "rad | m"),
        Parameter("time_law", "string", "fifth_order",
            "time law of the joint motion (space joints): polynomial of fifth or seventh order, or constant speed"
            " with blends", choices=TIME_LAWS),
        Parameter("blend_time", "double", 0.1,
            "time to reach and to leave the constant speed of time law constant_speed (space joints)", "s", 0.0),
        Parameter("shaper", "string", "none",
            "input shaper of the time law (spaces tool and joints): zero vibration (zv), zero vibration and"
            " derivative (zvd), or none", choices=SHAPERS),
        Parameter("shaper_frequency", "double[]", [],
            "natural frequency of each vibration mode that the input shaper suppresses (spaces tool and joints)",
            "Hz", 0.0),
        Parameter("shaper_damping_ratio", "double[]", [0.0],
            "damping ratio of the vibration modes that the input shaper suppresses; one for all modes or one per mode",
            "", 0.0, 0.99),
    )  # fmt: skip

    def __init__(self) -> None:
        """Create the node's topics."""
        super().__init__("reference_generator")
        self._reference = self.create_publisher(CartesianReference, topics.CARTESIAN_REFERENCE, topics.EVERY_SAMPLE)
        self._desired = self.create_publisher(JointReference, topics.DESIRED_JOINT_REFERENCE, topics.EVERY_SAMPLE)
        self.hear(JointState, topics.JOINT_STATES, self._on_joint_state)

    def build(self, values: dict[str, Any], model: ArmModel) -> None:
        """Build the motion from parameters: line or path of the tool, or motion or plan of the joints."""
        self._model = model
        self._reader = ArmStateReader(model, values["base_state_source"])
        self.hear_base_state(values["base_state_source"], self._on_flexible_state)
        self._select = JointStateSelector(model.joint_names)
        self._path: ToolMotion | None = None
        self._move: JointMotion | None = None
        motion = reference_motion(values, model)
        if isinstance(motion, JointMotion):
            self._move = motion
        else:
            self._path = motion

    def start(self) -> None:
        """Restart the motion from the beginning."""
        for motion in (self._path, self._move):
            if motion is not None:
                motion.reset()

    def _on_joint_state(self, message: JointState) -> None:
        if self._move is not None:
            self._answer_with_joints(self._move, message)
        elif self._path is not None:
            self._answer_with_tool(self._path, self._reader.joint_state(message))

    def _on_flexible_state(self, message: FlexibleState) -> None:
        if self._path is not None:
            self._answer_with_tool(self._path, self._reader.flexible_state(message))

    def _answer_with_tool(self, path: ToolMotion, state: ArmState | None) -> None:
        """Process one sample: state -> tool reference."""
        if state is None:
            return
        if not path.begun:
            tool = self._model.tool_kinematics(state, path.config.frame)
            path.begin(state.stamp, tool.position, tool.rotation)
        reference = path.update(state.stamp)
        self._reference.publish(cartesian_reference_to_message(reference, self._model.tool_frame))
        self.diagnostics.report(OK, "generating", state.stamp)

    def _answer_with_joints(self, move: JointMotion, message: JointState) -> None:
        """Process one sample: joint state -> joint reference; the base deflection is not needed."""
        position, _ = self._select(message)
        stamp = stamp_to_nanoseconds(message.header.stamp)
        if not move.begun:
            move.begin(stamp, position)
        self._desired.publish(joint_reference_to_message(move.update(stamp), self._model.joint_names))
        self.diagnostics.report(OK, "generating", stamp)


def main() -> None:
    """Entry point."""
    run(ReferenceGenerator)
