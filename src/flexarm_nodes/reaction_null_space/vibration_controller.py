"""Node rns_vibration_controller: ACT stage that avoids or damps base vibration (core: reaction_null_space).

Task ``tool_path`` processes references on ``cartesian_reference``; with ``posture: desired_joint_reference`` each
together with the joint reference of the same stamp. Task ``joint_path`` processes references on
``desired_joint_reference``. The other tasks need no reference and process every state.
"""

from __future__ import annotations

from typing import Any

from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray

from flexarm.msg import BaseReaction, CartesianReference, FlexibleState, JointReference
from flexarm_core.errors import InputError
from flexarm_core.pipeline.vibration_stage import POSTURES
from flexarm_core.reaction_null_space.reactionless.conditioning_map import ConditioningMapConfig, map_conditioning
from flexarm_core.reaction_null_space.vibration.config import LAWS, REALISATIONS, TASKS
from flexarm_core.reaction_null_space.vibration.sampling import DRIVES
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState
from flexarm_core.types import CartesianReference as CartesianReferenceRecord
from flexarm_core.types import JointReference as JointReferenceRecord
from flexarm_nodes.messages.conversions import (
    base_reaction_to_message,
    cartesian_reference_from_message,
    joint_reference_from_message,
    joint_reference_to_message,
)
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import run
from flexarm_nodes.node.arm_state_reader import BASE_STATE_SOURCES, NO_BASE_STATE, ArmStateReader
from flexarm_nodes.node.diagnostics import ERROR, OK, WARN
from flexarm_nodes.node.gain_checking_node import GainCheckingNode
from flexarm_nodes.node.parameters import Parameter
from flexarm_nodes.reaction_null_space.reactionless_markers import map_markers
from flexarm_nodes.reaction_null_space.vibration_parameters import vibration_config, vibration_stage

MAP_ROOM = 1.5  # conditioning required of the map's postures, as a multiple of the threshold at which damping begins


class RnsVibrationController(GainCheckingNode):
    """Reads measured states and tool references; publishes joint references (acceleration, effort), base reactions."""

    PARAMETERS = (
        Parameter("law", "string", "reactionless",
            "control law: reactionless (acceleration law), torque (torque law), or resolved_acceleration without"
            " base control", choices=LAWS, live=True),
        Parameter("task", "string", "tool_path",
            "task of the arm beside base control: follow tool references, follow joint references, hold the first"
            " posture, or none", choices=TASKS, live=True),
        Parameter("realisation", "string", "computed_torque",
            "how joint accelerations are realized: inverse dynamics (computed_torque), or a servo for each joint"
            " (joint_servo)", choices=REALISATIONS),
        Parameter("selection", "string[]", ["all"],
            "base motions that are kept quiet: all, auto (soft vibration modes), or names of elastic joints"),
        Parameter("position_gain", "double", 400.0,
            "position gain G_p of the tracked tool, of the joint reference or of the held posture",
            "1/s^2", 0.0, live=True),
        Parameter("velocity_gain", "double", 200.0,
            "velocity gain G_d of the tracked tool, of the joint reference or of the held posture",
            "1/s", 0.0, live=True),
        Parameter("posture_gain", "double", 0.0,
            "position gain of the joints toward a posture in motions that base and tool leave free (task tool_path);"
            " 0: damping only", "1/s^2", 0.0, live=True),
        Parameter("posture", "string", "first",
            "posture that posture_gain refers to: the first one measured, or that of the desired_joint_reference topic",
            choices=POSTURES),
        Parameter("servo_position_gain", "double", 900.0,
            "position gain of the servo of each joint (realisation joint_servo)", "1/s^2", 0.0, live=True),
        Parameter("servo_velocity_gain", "double", 60.0,
            "velocity gain of the servo of each joint (realisation joint_servo)", "1/s", 0.0, live=True),
        Parameter("vibration_damping", "bool", True,
            "damp vibrations of the base by feedback with gain G_b; false: no base feedback", live=True),
        Parameter("damping_ratio", "double", 0.7,
            "damping ratio of the base for which the feedback gain G_b is computed", "", 0.0, live=True),
        Parameter("vibration_gain", "double", 0.0,
            "fixed gain g_b of the base feedback; 0: computed from damping_ratio", "1/s", 0.0, live=True),
        Parameter("joint_damping", "double", 1.0,
            "joint damping gain G_m, applied to the joint velocities", "1/s", 0.0, live=True),
        Parameter("coupling_threshold", "double", 0.01,
            "relative singular value of the coupling inertia, sigma(H_bm) / sqrt(tr H_b tr H_m), below which its"
            " inverse is damped", "", 1e-6, 0.999, live=True),
        Parameter("tool_threshold", "double", 0.02,
            "relative singular value of the tool Jacobian in the reaction null space, sigma(Jbar) / |J|, below which"
            " its inverse is damped", "", 1e-6, 0.999, live=True),
        Parameter("base_state_source", "string", "joint_states",
            "source of the base deflection: joint states, flexible state of the estimator, or none (base assumed at"
            " rest)", choices=(*BASE_STATE_SOURCES, NO_BASE_STATE)),
        Parameter("load_bandwidth", "double", 0.0,
            "bandwidth at which an unknown constant load is estimated and compensated; 0: off, the tool sags",
            "rad/s", 0.0, 100.0, live=True),
        Parameter("longest_wait", "double", 2.0,
            "largest delay of the path due to joint limits before the law gives up", "s", 0.0, live=True),
        Parameter("largest_error", "double", 0.2,
            "position error of the tool at which the law gives up; 3 rad of orientation error count as 1 m",
            "m", 1e-6, live=True),
        Parameter("check_gains", "bool", True,
            "refuse gains with which the closed loop is unstable where the arm starts"),
        Parameter("start_position", "double[]", [],
            "joint positions at which gains are checked when configured; empty: checked at activation, where the arm"
            " is", "rad | m"),
        Parameter("axes", "bool[]", [],
            "tool axes x y z rx ry rz assumed to be tracked when gains are checked (task tool_path); empty: as in"
            " the first reference"),
        Parameter("frame", "string", "",
            "frame of tool references assumed when gains are checked (task tool_path): root link or base link;"
            " empty: base link"),
        Parameter("rate", "double", 1000.0, "nominal sampling rate for which gains are checked", "Hz", 10.0, 1e5),
        Parameter("delay", "double", 0.0,
            "delay from the sensors to the motors for which gains are checked", "s", 0.0, 1.0),
        Parameter("drive", "string", "effort",
            "type of command that the drives take, for which gains are checked: effort, velocity or position",
            choices=DRIVES),
        Parameter("drive_bandwidth", "double", 200.0,
            "bandwidth of velocity and position drives for which gains are checked", "rad/s", 1e-3),
        Parameter("reference_timeout", "double", 0.08,
            "largest accepted age of a reference, relative to the measured state", "s", 1e-4, live=True),
        Parameter("map_postures", "int", 0,
            "number of postures tried at configuration for the workspace map on ~/markers; 0: no map", "", 0, 20_000),
    )  # fmt: skip

    def __init__(self) -> None:
        """Create the node's topics."""
        super().__init__("rns_vibration_controller")
        self._joint_reference = self.create_publisher(JointReference, topics.JOINT_REFERENCE, topics.EVERY_SAMPLE)
        self._base_reaction = self.create_publisher(BaseReaction, topics.BASE_REACTION, topics.EVERY_SAMPLE)
        self._markers = self.create_publisher(MarkerArray, topics.MARKERS, topics.LATCHED)
        for message_type, topic, callback in (
            (JointState, topics.JOINT_STATES, self._on_joint_state),
            (CartesianReference, topics.CARTESIAN_REFERENCE, self._on_cartesian_reference),
            (JointReference, topics.DESIRED_JOINT_REFERENCE, self._on_desired),
        ):
            self.hear(message_type, topic, callback)

    def look_at_gains(self, message: JointState) -> None:
        """Check the gains at the measured state, once the base deflection is known too."""
        seen = self._reader.joint_state(message)
        if seen is not None:
            self._stage.prepare(seen.position)

    def build(self, values: dict[str, Any], model: ArmModel) -> None:
        """Build the controller from parameters."""
        self._model = model
        self._stage = vibration_stage(values, model)
        self._reader = ArmStateReader(model, values["base_state_source"])
        self.hear_base_state(values["base_state_source"], self._on_flexible_state)
        self._timeout = values["reference_timeout"]
        self._show(values["map_postures"], values["coupling_threshold"])
        self.start()

    def _show(self, postures: int, threshold: float) -> None:
        """Publish a map of where the tool can move without reaction on the base."""
        found = None
        if postures:
            config = ConditioningMapConfig(postures, least_conditioning=MAP_ROOM * threshold)
            found = map_conditioning(self._model, self._stage.controller.selection, config)
        self._markers.publish(map_markers(found, self._model.base_frame))

    def start(self) -> None:
        """Discard earlier samples."""
        self._stage.reset()
        self._state: ArmState | None = None
        self._tool: CartesianReferenceRecord | None = None
        self._joints: JointReferenceRecord | None = None

    def change(self, values: dict[str, Any]) -> None:
        """Apply live parameters at the next sample; unstable gains are rejected."""
        self._stage.change(vibration_config(values))
        self._timeout = values["reference_timeout"]

    def _on_joint_state(self, message: JointState) -> None:
        self._take(self._reader.joint_state(message))

    def _on_flexible_state(self, message: FlexibleState) -> None:
        self._take(self._reader.flexible_state(message))

    def _on_cartesian_reference(self, message: CartesianReference) -> None:
        if self._stage.needs[0]:
            self._tool = cartesian_reference_from_message(message, self._model.tool_frame)
            self._take_reference(self._tool.stamp)

    def _on_desired(self, message: JointReference) -> None:
        if self._stage.needs[1]:
            self._joints = joint_reference_from_message(message, self._model.joint_names)
            self._take_reference(self._joints.stamp)

    def _needed(self) -> list[CartesianReferenceRecord | JointReferenceRecord | None]:
        """Return the newest references that the task needs; those of an earlier task are ignored."""
        return [newest for needs, newest in zip(self._stage.needs, (self._tool, self._joints), strict=True) if needs]

    def _take_reference(self, stamp: int) -> None:
        state, needed = self._state, self._needed()
        if state is None or stamp > state.stamp or any(one is None for one in needed):
            return
        # A reference that arrives after its state triggers the answer; if two are needed, the later arrival does.
        if all(one is not None and one.stamp >= stamp for one in needed):
            self._answer(state)

    def _take(self, state: ArmState | None) -> None:
        if state is None:
            return
        self._state = state
        if all(one is not None and one.stamp >= state.stamp for one in self._needed()):
            self._answer(state)

    def _answer(self, state: ArmState) -> None:
        """Process one sample: state and references -> joint reference."""
        oldest = min((one.stamp for one in self._needed() if one is not None), default=state.stamp)
        if (state.stamp - oldest) * 1e-9 > self._timeout:
            age = (state.stamp - oldest) * 1e-9
            raise InputError(f"reference is {age:.3f} s old, at most {self._timeout} s are accepted")
        needs_tool, needs_joints = self._stage.needs
        tool, wanted = self._tool if needs_tool else None, self._joints if needs_joints else None
        joints, reaction = self._stage.answer(state, tool, wanted)
        self._joint_reference.publish(joint_reference_to_message(joints, self._model.joint_names))
        if self._base_reaction.get_subscription_count():
            frame, elastic = self._model.base_frame, self._model.elastic_joint_names
            self._base_reaction.publish(base_reaction_to_message(reaction, frame, elastic))
        if self._stage.gave_up:
            self.diagnostics.report(ERROR, self._stage.remark, state.stamp)
        elif self._stage.remark:
            self.diagnostics.report(WARN, self._stage.remark, state.stamp)
        elif reaction.damping > 0.0:
            self.diagnostics.report(WARN, "near-singular: the inverse is damped", state.stamp)
        else:
            self.diagnostics.report(OK, "controlling", state.stamp)


def main() -> None:
    """Entry point."""
    run(RnsVibrationController)
