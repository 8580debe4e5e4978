"""Node hardware_gate: the only writer to ros2_control's command topics (core: hardware_gate)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from flexarm.msg import FlexibleState, JointReference
from flexarm_core.errors import InputError
from flexarm_core.hardware_gate.config import COMMAND_MODES, HardwareGateConfig
from flexarm_core.hardware_gate.supervisor import SupervisorConfig
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import DRIVE_TERMS, RobotDescription
from flexarm_core.robot.drive_terms import NO_TERM, effort_lack
from flexarm_core.types import ArmState, Array
from flexarm_nodes.hardware_gate.output import GateOutput
from flexarm_nodes.hardware_gate.parameters import hardware_gate
from flexarm_nodes.messages.conversions import joint_reference_from_message, stamp_to_nanoseconds
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode
from flexarm_nodes.node.built_stage import Values
from flexarm_nodes.node.input.arm_state_reader import BASE_STATE_SOURCES, NO_BASE_STATE, ArmStateReader
from flexarm_nodes.node.parameters import Parameter, rows
from flexarm_nodes.node.ports import JOINTS, STATES, Input, Output, Ports, Role, Use, base_state_input


class HardwareGateNode(ArmNode):
    """Reads joint references and measured states; publishes commands that respect every limit."""

    KEEPS_LIMITS = LIMITS_BY_RATE = True
    PARAMETERS = (
        Parameter("command_mode", "string", COMMAND_MODES[0],
            "ros2_control command interface in use; changes while active require the parameter controller_manager",
            choices=COMMAND_MODES, live=True),
        *rows(HardwareGateConfig, without=("command_mode", "period", "base_measured", "fallback")),
        Parameter("controller_manager", "string", "",
            "name of the controller manager that must have the command controller active; empty: not checked"),
        Parameter("joints", "string[]", [""],
            "joint order of the command controller; empty: order of the robot description"),
        Parameter("rate", "double", 1000.0, "nominal rate at which commands are published", "Hz", 1.0, 1e5),
        Parameter("max_velocity", "double[]", [0.0],
            "velocity limit below that of the robot description, as for a first motion; one for all joints or one per"
            " joint; 0: that of the robot description", "rad/s | m/s"),
        Parameter("max_acceleration", "double[]", [0.0],
            "acceleration limit and deceleration of a stop; one for all joints or one per joint; 0: 10 times the"
            " velocity limit in a second, at most 20", "rad/s^2 | m/s^2"),
        Parameter("max_jerk", "double[]", [0.0],
            "largest rate of change of the acceleration of velocity and position commands, stops included; one for all"
            " joints or one per joint; 0: no limit; in effort mode use max_effort_rate",
            "rad/s^3 | m/s^3"),
        Parameter("max_effort_rate", "double[]", [0.0],
            "largest rate of change of the effort; one for all joints or one per joint; 0: no limit", "N*m/s | N/s"),
        Parameter("max_friction", "double[]", [0.0],
            "largest friction compensation accepted in a reference; one for all joints or one per joint; 0: 1.5"
            " times the friction of the robot description", "N*m | N"),
        Parameter("max_following_error", "double[]", [0.0],
            "deviation of measured from commanded position at which position and velocity mode stop; one for all"
            " joints or one per joint; 0: travel of 0.15 s at the velocity limit", "rad | m"),
        Parameter("drive_adds", "string[]", [""],
            "efforts that the drives add to effort commands by themselves, and that the gate therefore subtracts:"
            " gravity, coriolis, friction, or none; empty: as the robot description says",
            choices=("", NO_TERM, *DRIVE_TERMS)),
        Parameter("allow_unlimited", "bool", False,
            "accept joints without a velocity or effort limit in the robot description"),
        *rows(SupervisorConfig),
        Parameter("fallback_controller", "string", "",
            "controller to which the controller manager gives the drives when the gate cannot brake the arm; empty:"
            " none"),
        Parameter("base_state_source", "string", "joint_states",
            "source of the base deflection: joint states, flexible state of the estimator, or none (efforts judged"
            " as on a base at rest)", choices=(*BASE_STATE_SOURCES, NO_BASE_STATE)),
    )  # fmt: skip

    @staticmethod
    def ports(values: Values, description: RobotDescription, tool: str) -> Ports:
        """Return the topics that the node uses with these parameters."""
        mode = values["command_mode"]
        wanted = Input(topics.JOINT_REFERENCE, JOINTS, Use.NEEDED, f"command_mode '{mode}'", (frozenset({mode}),))
        return Ports(
            (STATES, base_state_input(values), wanted),
            (
                Output(topics.command_topic(mode), "Float64MultiArray", Role.LEADS),
                Output(topics.COMMANDED_REFERENCE, JOINTS),
            ),
        )

    def __init__(self) -> None:
        """Create the node's inputs; the command topic depends on the mode."""
        super().__init__("hardware_gate")
        for message_type, topic, callback in (
            (JointState, topics.JOINT_STATES, self._on_joint_state),
            (JointReference, topics.JOINT_REFERENCE, self._on_joint_reference),
        ):
            self.hear(message_type, topic, callback)
        self._output = GateOutput(self, self._report)

    def build(self, values: dict[str, Any], model: ArmModel) -> None:
        """Build the gate from parameters."""
        self._model = model
        self._reader = ArmStateReader(model, values["base_state_source"])
        self.hear_base_state(values["base_state_source"], self._on_flexible_state)
        self._gate, self._lack = hardware_gate(values, model), effort_lack(model)
        self._output.open(self._gate, values)

    def change(self, values: dict[str, Any]) -> None:
        """Change the command mode once the controller of the new mode is active."""
        self._output.change_mode(values["command_mode"])

    def start(self) -> None:
        """Wait for the first reference and for the controller that takes the commands."""
        self._gate.reset()
        self._stamp = 0
        self._settled = False
        self._output.start()

    def brake(self) -> None:
        """Brake the arm to rest with the joint states that still arrive."""
        self._output.brake(lambda: self.take_waiting(topics.JOINT_STATES))

    def flush(self) -> None:
        """Wait for a short time until the drives have the last command."""
        self._output.flush()

    def destroy_node(self) -> None:
        """End the watchdog first."""
        self._output.close()
        super().destroy_node()

    def stop(self) -> None:
        """Send the command that holds the arm without control: gravity effort, or zero velocity."""
        self._output.stop()

    def _on_joint_state(self, message: JointState) -> None:
        self._take(self._reader.joint_state, message)

    def _on_flexible_state(self, message: FlexibleState) -> None:
        self._take(self._reader.flexible_state, message)

    def _take(self, read: Any, message: JointState | FlexibleState) -> None:
        stamp = stamp_to_nanoseconds(message.header.stamp)
        age = None if self._gate.config.lockstep else self.age_of(stamp)
        with self._output.lock:
            self._stamp = stamp
            self._gate.lag(self.velocity_delay)
            self._output.check_lateness(age)
            try:
                state: ArmState | None = read(message)
                if state is not None:
                    measured = isinstance(message, JointState) and len(message.effort) == len(message.name)
                    if measured and self._gate.weighs_efforts:
                        efforts = dict(zip(message.name, message.effort, strict=True))
                        known = [efforts.get(name, np.nan) for name in self._model.joint_names]
                        self._gate.on_effort(state, self._whole(state, np.array(known)))
                    self._publish(self._gate.on_state(state, age))
            except InputError as error:
                self._publish(self._gate.on_unusable_state(stamp, str(error)))
            self._report()

    def _whole(self, state: ArmState, effort: Array) -> Array:
        """Return measured efforts (n,) with what they lack."""
        return effort if self._lack is None else effort + self._lack.added(state.position, state.velocity)

    def _on_joint_reference(self, message: JointReference) -> None:
        with self._output.lock:
            try:
                self._publish(self._gate.on_reference(joint_reference_from_message(message, self._model.joint_names)))
            except InputError as error:
                self._publish(self._gate.on_unusable_reference(str(error)))
            self._report()

    def _publish(self, command: Array | None) -> None:
        self._output.send(command, self._stamp)
        if self._settled:
            self.tidiness.tidy()
        elif command is not None:  # all that a sample takes is loaded
            self._settled = True
            self.tidiness.begin()

    def _report(self) -> None:
        self._output.report(self._stamp)
