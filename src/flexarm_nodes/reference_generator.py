"""Node reference_generator: DECIDE stage, answers every joint state with a tool reference (core: path)."""

from __future__ import annotations

from typing import Any

from sensor_msgs.msg import JointState

from flexarm.msg import CartesianReference, FlexibleState
from flexarm_core.errors import ConfigError
from flexarm_core.path.line import LinePath, LinePathConfig
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState
from flexarm_nodes import topics
from flexarm_nodes.arm_node import ArmNode, run
from flexarm_nodes.arm_state_reader import BASE_STATE_SOURCES, ArmStateReader
from flexarm_nodes.conversions import cartesian_reference_to_message
from flexarm_nodes.diagnostics import OK
from flexarm_nodes.parameters import Parameter


class ReferenceGenerator(ArmNode):
    """Measured state in, tool reference with the same stamp out; the path begins at the first measured tool pose."""

    PARAMETERS = (
        Parameter("frame", "string", "", "frame of the reference: root link, or base link (empty)"),
        Parameter("displacement", "double[]", [0.0, 0.0, 0.0], "of the line, in that frame", "m"),
        Parameter("start", "double", 0.0, "time after the first sample at which the motion begins", "s", 0.0),
        Parameter("duration", "double", 4.0, "of the motion, fifth-order time law", "s", 1e-3),
        Parameter("returns", "bool", False, "go back and forth without end, each way in `duration`"),
        Parameter("axes", "bool[]", [True, True, True, True, True, True], "tracked axes x y z rx ry rz"),
        Parameter("base_state_source", "string", "joint_states", "where x_b comes from", choices=BASE_STATE_SOURCES),
    )

    def __init__(self) -> None:
        """Create the node's topics."""
        super().__init__("reference_generator")
        self._reference = self.create_publisher(CartesianReference, topics.CARTESIAN_REFERENCE, topics.CONTROL)
        self.create_subscription(JointState, topics.JOINT_STATES, self.guarded(self._on_joint_state), topics.NEWEST)
        self.create_subscription(
            FlexibleState, topics.FLEXIBLE_STATE, self.guarded(self._on_flexible_state), topics.NEWEST
        )

    def build(self, values: dict[str, Any], model: ArmModel) -> None:
        """Parameters -> path."""
        frame = values["frame"] or model.base_frame
        if frame not in (model.world_frame, model.base_frame):
            raise ConfigError(f"frame '{frame}' is not usable; valid: '{model.world_frame}', '{model.base_frame}'")
        self._model = model
        self._reader = ArmStateReader(model, values["base_state_source"])
        self._path = LinePath(
            LinePathConfig(
                frame=frame,
                displacement=tuple(values["displacement"]),
                start=values["start"],
                duration=values["duration"],
                axes=tuple(values["axes"]),
                returns=values["returns"],
            )
        )

    def start(self) -> None:
        """The path begins anew."""
        self._path.reset()

    def _on_joint_state(self, message: JointState) -> None:
        self._answer(self._reader.joint_state(message))

    def _on_flexible_state(self, message: FlexibleState) -> None:
        self._answer(self._reader.flexible_state(message))

    def _answer(self, state: ArmState | None) -> None:
        """One sample: state -> tool reference."""
        if state is None:
            return
        if not self._path.begun:
            tool = self._model.tool_kinematics(state, self._path.config.frame)
            self._path.begin(state.stamp, tool.position, tool.rotation)
        reference = self._path.update(state.stamp)
        self._reference.publish(cartesian_reference_to_message(reference, self._model.tool_frame))
        self.diagnostics.report(OK, "generating", state.stamp)


def main() -> None:
    """Entry point."""
    run(ReferenceGenerator)
