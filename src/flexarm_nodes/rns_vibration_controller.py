"""Node rns_vibration_controller: ACT stage that leaves the base quiet, or damps it (core: reaction_null_space)."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sensor_msgs.msg import JointState

from flexarm.msg import BaseReaction, CartesianReference, FlexibleState, JointReference
from flexarm_core.errors import InputError
from flexarm_core.reaction_null_space.vibration_controller import (
    LAWS,
    TASKS,
    VibrationController,
    VibrationControllerConfig,
)
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState
from flexarm_core.types import CartesianReference as CartesianReferenceRecord
from flexarm_nodes import topics
from flexarm_nodes.arm_node import ArmNode, run
from flexarm_nodes.arm_state_reader import BASE_STATE_SOURCES, ArmStateReader
from flexarm_nodes.conversions import (
    base_reaction_to_message,
    cartesian_reference_from_message,
    joint_reference_to_message,
    stamp_to_nanoseconds,
)
from flexarm_nodes.diagnostics import OK, WARN
from flexarm_nodes.parameters import Parameter


class RnsVibrationController(ArmNode):
    """Measured state and tool reference in, joint reference (acceleration, effort) and base reaction out."""

    PARAMETERS = (
        Parameter("law", "string", "reactionless", "acceleration law", choices=LAWS, live=True),
        Parameter("task", "string", "tool_path", "what moves the tool", choices=TASKS, live=True),
        Parameter("position_gain", "double", 400.0, "tool gain G_p", "1/s^2", 0.0, live=True),
        Parameter("velocity_gain", "double", 200.0, "tool gain G_d", "1/s", 0.0, live=True),
        Parameter("vibration_damping", "bool", True, "base feedback G_b in force", live=True),
        Parameter(
            "damping_ratio", "double", 0.7, "damping ratio of the base from which G_b is chosen", "", 0.0, live=True
        ),
        Parameter("vibration_gain", "double", 0.0, "literal g_b; 0 = by damping_ratio", "1/s", 0.0, live=True),
        Parameter("joint_damping", "double", 1.0, "joint damping G_m", "1/s", 0.0, live=True),
        Parameter(
            "coupling_threshold",
            "double",
            0.01,
            "sigma(H_bm) / sqrt(tr H_b tr H_m) below which it is damped",
            "",
            1e-6,
            0.999,
            live=True,
        ),
        Parameter(
            "tool_threshold", "double", 0.02, "sigma(Jbar) / |J| below which it is damped", "", 1e-6, 0.999, live=True
        ),
        Parameter("base_state_source", "string", "joint_states", "where x_b comes from", choices=BASE_STATE_SOURCES),
        Parameter(
            "reference_timeout", "double", 0.08, "age at which the tool reference is refused", "s", 1e-4, live=True
        ),
    )

    def __init__(self) -> None:
        """Create the node's topics."""
        super().__init__("rns_vibration_controller")
        self._joint_reference = self.create_publisher(JointReference, topics.JOINT_REFERENCE, topics.CONTROL)
        self._base_reaction = self.create_publisher(BaseReaction, topics.BASE_REACTION, topics.CONTROL)
        for message_type, topic, callback in (
            (JointState, topics.JOINT_STATES, self._on_joint_state),
            (FlexibleState, topics.FLEXIBLE_STATE, self._on_flexible_state),
            (CartesianReference, topics.CARTESIAN_REFERENCE, self._on_cartesian_reference),
        ):
            self.create_subscription(message_type, topic, self.guarded(callback), topics.NEWEST)

    def build(self, values: dict[str, Any], model: ArmModel) -> None:
        """Parameters -> controller."""
        self._model = model
        self._controller = VibrationController(model, self._config(values))
        self._reader = ArmStateReader(model, values["base_state_source"])
        self._timeout = values["reference_timeout"]
        self.start()

    def start(self) -> None:
        """Forget earlier samples."""
        self._controller.reset()
        self._state: ArmState | None = None
        self._reference: CartesianReferenceRecord | None = None

    def change(self, values: dict[str, Any]) -> None:
        """Live parameters take effect with the next sample."""
        self._controller.config = self._config(values)
        self._timeout = values["reference_timeout"]

    @staticmethod
    def _config(values: dict[str, Any]) -> VibrationControllerConfig:
        return VibrationControllerConfig(**{f.name: values[f.name] for f in fields(VibrationControllerConfig)})

    def _on_joint_state(self, message: JointState) -> None:
        self._take(self._reader.joint_state(message))

    def _on_flexible_state(self, message: FlexibleState) -> None:
        self._take(self._reader.flexible_state(message))

    def _on_cartesian_reference(self, message: CartesianReference) -> None:
        stamp = stamp_to_nanoseconds(message.header.stamp)
        self._reference = cartesian_reference_from_message(message, self._model.tool_frame)
        if self._state is not None and stamp <= self._state.stamp:
            self._answer(self._state)

    def _take(self, state: ArmState | None) -> None:
        if state is None:
            return
        self._state = state
        if self._controller.config.task == "none" or (
            self._reference is not None and self._reference.stamp >= state.stamp
        ):
            self._answer(state)

    def _answer(self, state: ArmState) -> None:
        """One sample: state and reference -> joint reference."""
        reference = self._reference if self._controller.config.task == "tool_path" else None
        if reference is not None and (state.stamp - reference.stamp) * 1e-9 > self._timeout:
            age = (state.stamp - reference.stamp) * 1e-9
            raise InputError(f"tool reference is {age:.3f} s old, at most {self._timeout} s are accepted")
        joints, reaction = self._controller.update(state, reference)
        self._joint_reference.publish(joint_reference_to_message(joints, self._model.joint_names))
        self._base_reaction.publish(
            base_reaction_to_message(reaction, self._model.base_frame, self._model.elastic_joint_names)
        )
        if reaction.damping > 0.0:
            self.diagnostics.report(WARN, "near-singular: the inverse is damped", state.stamp)
        else:
            self.diagnostics.report(OK, "controlling", state.stamp)


def main() -> None:
    """Entry point."""
    run(RnsVibrationController)
