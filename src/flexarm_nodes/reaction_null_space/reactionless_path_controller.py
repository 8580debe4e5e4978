"""Node reactionless_path_controller: ACT stage for velocity-controlled arms; follows a reactionless path or a posture.

Core: ``reaction_null_space.velocity_law`` and ``path_motion``.
"""

from __future__ import annotations

from typing import Any

from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray

from flexarm.msg import BaseReaction, FlexibleState, JointReference
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState
from flexarm_core.types import BaseReaction as BaseReactionRecord
from flexarm_nodes.messages.conversions import base_reaction_to_message, joint_reference_to_message
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode, run
from flexarm_nodes.node.arm_state_reader import ArmStateReader
from flexarm_nodes.node.diagnostics import OK, WARN
from flexarm_nodes.reaction_null_space.reactionless_markers import path_markers
from flexarm_nodes.reaction_null_space.reactionless_parameters import (
    REACTIONLESS_PARAMETERS,
    law_config,
    reactionless_stage,
    shown_paths,
)


class ReactionlessPathController(ArmNode):
    """Reads measured states; publishes joint velocities that damp the base and keep the arm on its path or posture."""

    PARAMETERS = REACTIONLESS_PARAMETERS

    def __init__(self) -> None:
        """Create the node's topics."""
        super().__init__("reactionless_path_controller")
        self._joint_reference = self.create_publisher(JointReference, topics.JOINT_REFERENCE, topics.EVERY_SAMPLE)
        self._desired = self.create_publisher(JointReference, topics.DESIRED_JOINT_REFERENCE, topics.EVERY_SAMPLE)
        self._base_reaction = self.create_publisher(BaseReaction, topics.BASE_REACTION, topics.EVERY_SAMPLE)
        self._markers = self.create_publisher(MarkerArray, topics.MARKERS, topics.LATCHED)
        self.hear(JointState, topics.JOINT_STATES, self._on_joint_state)

    def build(self, values: dict[str, Any], model: ArmModel) -> None:
        """Build the law from parameters, and the path if it is already known."""
        self._model = model
        self._reader = ArmStateReader(model, values["base_state_source"])
        self.hear_base_state(values["base_state_source"], self._on_flexible_state)
        self._others = shown_paths(values, model)
        self._stage = reactionless_stage(values, model)
        self.start()

    def start(self) -> None:
        """Restart at the next sample."""
        self._stage.reset()
        self._show()

    def change(self, values: dict[str, Any]) -> None:
        """Apply live parameters at the next sample."""
        self._stage.change(law_config(values))

    def _show(self) -> None:
        self._shown = self._stage.path
        self._markers.publish(path_markers(self._shown, self._others, self._model.base_frame))

    def _on_joint_state(self, message: JointState) -> None:
        self._take(self._reader.joint_state(message))

    def _on_flexible_state(self, message: FlexibleState) -> None:
        self._take(self._reader.flexible_state(message))

    def _take(self, state: ArmState | None) -> None:
        """Process one sample: state -> joint reference."""
        if state is None:
            return
        stage, names = self._stage, self._model.joint_names
        command, reaction = stage.answer(state)
        assert stage.wanted is not None  # set by answer()
        self._joint_reference.publish(joint_reference_to_message(command, names))
        self._desired.publish(joint_reference_to_message(stage.wanted, names))
        self._report(reaction)
        if stage.path is not self._shown:
            self._show()

    def _report(self, reaction: BaseReactionRecord) -> None:
        stage, stamp = self._stage, reaction.stamp
        self._base_reaction.publish(
            base_reaction_to_message(reaction, self._model.base_frame, self._model.elastic_joint_names)
        )
        values = {"sigma_min": f"{reaction.coupling_singular_values[-1]:.3g}"}
        values |= {} if stage.along is None else {"s": f"{stage.along.s:.4f}"}
        if reaction.damping > 0.0:
            self.diagnostics.report(WARN, "near-singular: the inverse is damped", stamp, values)
        elif stage.finished:
            self.diagnostics.report(OK, "at the end of the path", stamp, values)
        else:
            self.diagnostics.report(OK, "controlling", stamp, values)


def main() -> None:
    """Entry point."""
    run(ReactionlessPathController)
