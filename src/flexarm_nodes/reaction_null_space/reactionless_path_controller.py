"""Node reactionless_path_controller: ACT stage for velocity-controlled arms; follows a reactionless path or a posture.

Core: ``reaction_null_space.velocity_law`` and ``path_motion``.
"""

from __future__ import annotations

from typing import Any

from visualization_msgs.msg import MarkerArray

from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import run
from flexarm_nodes.node.built_stage import BuiltStage, Values
from flexarm_nodes.node.diagnostics import OK
from flexarm_nodes.node.frames import in_tf
from flexarm_nodes.node.ports import JOINTS, MARKERS, STATES, Output, Ports, Role, base_state_input
from flexarm_nodes.node.stage_node import StageNode
from flexarm_nodes.reaction_null_space.reactionless_markers import path_markers
from flexarm_nodes.reaction_null_space.reactionless_parameters import (
    REACTIONLESS_PARAMETERS,
    built_reactionless,
    shown_paths,
)


class ReactionlessPathController(StageNode):
    """Reads measured states; publishes joint velocities that damp the base and keep the arm on its path or posture."""

    NAME = "reactionless_path_controller"
    PARAMETERS = REACTIONLESS_PARAMETERS

    @staticmethod
    def ports(values: Values, description: RobotDescription, tool: str) -> Ports:
        """Return the topics that the node uses with these parameters."""
        return Ports(
            (STATES, base_state_input(values)),
            (
                Output(topics.JOINT_REFERENCE, JOINTS, Role.LEADS, frozenset({"position", "velocity"})),
                Output(topics.DESIRED_JOINT_REFERENCE, JOINTS),
                Output(topics.BASE_REACTION, "BaseReaction"),
                MARKERS,
            ),
        )

    def __init__(self) -> None:
        """Create the markers."""
        super().__init__()
        self._markers = self.create_publisher(MarkerArray, topics.MARKERS, topics.LATCHED)

    def build_stage(self, values: dict[str, Any], model: ArmModel) -> BuiltStage:
        """Build the law from parameters, and the path if it is already known."""
        self._others = shown_paths(values, model)
        return built_reactionless(values, model)

    def start(self) -> None:
        """Restart at the next sample."""
        super().start()
        self._show()

    def after(self) -> None:
        """Show the path that was traced through the first posture."""
        if self.stage.path is not self._shown:
            self._show()

    def status(self, tick: Tick) -> tuple[bytes, str, dict[str, str]]:
        """Return the status with the position on the path, and whether its end is reached."""
        stage, (level, message, values) = self.stage, super().status(tick)
        if tick.reaction is not None:
            values["sigma_min"] = f"{tick.reaction.coupling_singular_values[-1]:.3g}"
        if stage.along is not None:
            values["s"] = f"{stage.along.s:.4f}"
        return level, "at the end of the path" if level == OK and stage.finished else message, values

    def _show(self) -> None:
        self._shown = self.stage.path
        markers = path_markers(self._shown, self._others, self.model.base_frame)
        self._markers.publish(in_tf(markers, self.frame_prefix))


def main() -> None:
    """Entry point."""
    run(ReactionlessPathController)
