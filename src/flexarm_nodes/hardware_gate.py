"""Node hardware_gate: the only writer to ros2_control's command topics (core: hardware_gate)."""

from __future__ import annotations

from typing import Any

from sensor_msgs.msg import JointState

from flexarm.msg import FlexibleState, JointReference
from flexarm_core.errors import InputError
from flexarm_core.hardware_gate.gate import COMMAND_MODES
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array
from flexarm_nodes import topics
from flexarm_nodes.arm_node import ArmNode, run
from flexarm_nodes.arm_state_reader import BASE_STATE_SOURCES, NO_BASE_STATE, ArmStateReader
from flexarm_nodes.conversions import joint_reference_from_message, stamp_to_nanoseconds
from flexarm_nodes.gate_output import GateOutput
from flexarm_nodes.gate_parameters import hardware_gate
from flexarm_nodes.parameters import Parameter

SILENCE_CHECK_PERIOD = 0.01  # [s] wall time between two looks at the age of the newest state


class HardwareGateNode(ArmNode):
    """Joint references and measured states in, commands within every limit out."""

    PARAMETERS = (
        Parameter(
            "command_mode",
            "string",
            "effort",
            "interface that is commanded; live only with a controller_manager",
            choices=COMMAND_MODES,
            live=True,
        ),
        Parameter(
            "controller_manager",
            "string",
            "",
            "name of the controller manager that is to have the command controller active; empty: not asked",
        ),
        Parameter("joints", "string[]", [""], "order of the command controller's joints; empty: as described"),
        Parameter("rate", "double", 1000.0, "nominal rate of commands", "Hz", 1.0, 1e5),
        Parameter("lockstep", "bool", False, "each state is answered by exactly one command"),
        Parameter("reference_timeout", "double", 0.08, "age of the joint reference at which a stop begins", "s", 1e-4),
        Parameter("state_timeout", "double", 0.08, "age of the joint state at which a stop begins", "s", 1e-4),
        Parameter("recovery_samples", "int", 5, "good references in a row that end a stop", "", 1),
        Parameter("hold_frequency", "double", 20.0, "bandwidth of braking and holding in a stop", "rad/s", 0.1),
        Parameter(
            "max_acceleration",
            "double[]",
            [20.0],
            "acceleration limit and deceleration of a stop, one for all or one a joint",
            "rad/s^2 | m/s^2",
        ),
        Parameter("max_effort_rate", "double[]", [0.0], "one for all or one a joint, 0 = no limit", "N*m/s | N/s"),
        Parameter(
            "max_friction",
            "double[]",
            [0.0],
            "that a reference may say of its effort, one for all or one a joint, 0 = as much as the motor gives",
            "N*m | N",
        ),
        Parameter(
            "base_state_source",
            "string",
            "joint_states",
            "where x_b comes from; none: efforts are judged as over a base at rest",
            choices=(*BASE_STATE_SOURCES, NO_BASE_STATE),
        ),
    )

    def __init__(self) -> None:
        """Create the node's inputs; where commands go depends on the mode."""
        super().__init__("hardware_gate")
        for message_type, topic, callback in (
            (JointState, topics.JOINT_STATES, self._on_joint_state),
            (JointReference, topics.JOINT_REFERENCE, self._on_joint_reference),
        ):
            self.hear(message_type, topic, callback)
        self._output = GateOutput(self, self._report)
        self._silence = self.create_timer(SILENCE_CHECK_PERIOD, lambda: self.guarded(self._on_silence)(None))

    def build(self, values: dict[str, Any], model: ArmModel) -> None:
        """Parameters -> gate."""
        self._model = model
        self._reader = ArmStateReader(model, values["base_state_source"])
        self.hear_base_state(values["base_state_source"], self._on_flexible_state)
        self._gate = hardware_gate(values, model)
        self._output.open(self._gate, values)

    def change(self, values: dict[str, Any]) -> None:
        """Command by another mode, once its controller is active."""
        self._output.change_mode(values["command_mode"])

    def start(self) -> None:
        """Wait for the first reference, and for the controller that takes commands."""
        self._gate.reset()
        self._stamp = 0
        self._output.start()

    def stop(self) -> None:
        """Send what holds the arm without control: gravity effort, or no velocity."""
        self._output.stop()

    def _on_joint_state(self, message: JointState) -> None:
        self._take(self._reader.joint_state, message)

    def _on_flexible_state(self, message: FlexibleState) -> None:
        self._take(self._reader.flexible_state, message)

    def _take(self, read: Any, message: JointState | FlexibleState) -> None:
        self._stamp = stamp = stamp_to_nanoseconds(message.header.stamp)
        try:
            state: ArmState | None = read(message)
            if state is not None:
                self._refuse_old(stamp)
                self._publish(self._gate.on_state(state))
        except InputError as error:
            self._publish(self._gate.on_unusable_state(stamp, str(error)))
        self._report()

    def _on_joint_reference(self, message: JointReference) -> None:
        try:
            self._publish(self._gate.on_reference(joint_reference_from_message(message, self._model.joint_names)))
        except InputError as error:
            self._publish(self._gate.on_unusable_reference(str(error)))
        self._report()

    def _on_silence(self, _: None) -> None:
        self._publish(self._gate.on_silence(self._age(), SILENCE_CHECK_PERIOD))
        self._report()

    def _age(self) -> float:
        """Age of the newest state [s], in the node's clock: simulation time where use_sim_time is set."""
        return (self.get_clock().now().nanoseconds - self._stamp) * 1e-9

    def _refuse_old(self, stamp: int) -> None:
        age = self._age()
        if age > self._gate.config.state_timeout:
            hint = "; is use_sim_time set as it should be?" if age > 3600.0 else ""
            raise InputError(f"joint state is {age:.3f} s old when it arrives{hint}")

    def _publish(self, command: Array | None) -> None:
        self._output.send(command, self._stamp)

    def _report(self) -> None:
        self._output.report(self._stamp)


def main() -> None:
    """Entry point."""
    run(HardwareGateNode)
