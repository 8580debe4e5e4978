"""Node behavior_impedance_controller: DECIDE stage, behaviors and the tool wrench -> tool and joint references.

Each joint state results in one Cartesian and one joint reference with its stamp (core: behavior_impedance). Behaviors
are set by parameters, by behavior sets on a topic, and by a service; they change between two samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import JointState

from flexarm.msg import CartesianReference
from flexarm_core.behavior_impedance.path_stream import stream_followers
from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState
from flexarm_nodes.behavior_impedance.output import BehaviorOutput
from flexarm_nodes.behavior_impedance.parameters import BEHAVIOR_PARAMETERS, declare_behaviors
from flexarm_nodes.behavior_impedance.requests import BehaviorRequests
from flexarm_nodes.behavior_impedance.setup import BehaviorSetup
from flexarm_nodes.messages.conversions import (
    JointStateSelector,
    cartesian_reference_from_message,
    stamp_to_nanoseconds,
)
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode, run
from flexarm_nodes.node.companions import Companions


class BehaviorImpedanceNode(ArmNode):
    """Reads joint states, tool wrenches and behaviors; publishes references that respect all limits.

    A joint state is processed when the wrench of the same stamp has arrived (and the reference, if a behavior follows a
    reference stream), when the next joint state arrives, or after ``sensor_wait``, whichever is first.
    """

    PARAMETERS = BEHAVIOR_PARAMETERS
    MASSLESS = True

    def __init__(self) -> None:
        """Create topics and services; the wrench topic depends on the robot and is created later."""
        super().__init__("behavior_impedance_controller")
        self._output = BehaviorOutput(self)
        for message_type, topic, callback in (
            (JointState, topics.JOINT_STATES, self._on_joint_state),
            (CartesianReference, topics.PATH_REFERENCE, self._on_reference),
        ):
            self.hear(message_type, topic, callback)
        self._setup: BehaviorSetup | None = None
        self._state: ArmState | None = None  # state of the newest joint state
        self._requests = BehaviorRequests(
            self, self._output.refuse, lambda: None if self._state is None else self._state.stamp
        )
        self._wrench_subscription: Any = None
        self._timer: Any = None

    # Lifecycle --------------------------------------------------------------------------------------------------------

    def build(self, values: dict[str, Any], model: ArmModel) -> None:
        """Build the behaviors from parameters; the settings of each behavior are declared here, as its kind defines."""
        declare_behaviors(self.table, values)
        self._values = values = self.table.values()
        self._setup = self._requests.setup = setup = BehaviorSetup(values, model)
        self._companions = Companions(self._expected)
        self._model = model
        self._select = JointStateSelector(model.joint_names)
        self._select_elastic = JointStateSelector(model.elastic_joint_names)
        self._output.bind(model, setup.stage)
        self._output.change(values)
        self._listen(setup.wrenches.sensor)
        self.start()

    def _listen(self, sensor: str) -> None:
        """Subscribe to the sensor's topic, and create the timer that limits the wait for it."""
        if self._wrench_subscription is not None:
            self.destroy_subscription(self._wrench_subscription)
        if self._timer is not None:
            self.destroy_timer(self._timer)
        self._wrench_subscription = self._timer = None
        if sensor:
            self._wrench_subscription = self.hear(WrenchStamped, topics.wrench_topic(sensor), self._on_wrench)
        if self._values["sensor_wait"] > 0.0:
            steady = Clock(clock_type=ClockType.STEADY_TIME)
            waited = self.guarded(self._on_waited)
            self._timer = self.create_timer(self._values["sensor_wait"], lambda: waited(None), clock=steady)
            self._timer.cancel()

    def _expected(self) -> tuple[str, ...]:
        """Return the names of the messages that a joint state waits for."""
        setup = self._setup
        assert setup is not None
        if self._values["sensor_wait"] <= 0.0:
            return ()
        streams = (topics.PATH_REFERENCE,) if any(True for _ in stream_followers(setup.controller)) else ()
        return (*streams, setup.wrenches.sensor) if setup.wrenches.sensor else streams

    def start(self) -> None:
        """Wait for the first joint state; all behaviors are reset, including those added by behavior sets."""
        if self._setup is not None:
            self._setup.stage.reset()
            self._companions.reset()
        self._state = None
        self._waiting = False  # whether the newest joint state is still unprocessed
        self._early: CartesianReference | None = None  # received before the first joint state
        self._output.reset()

    def stop(self) -> None:
        """Discard the waiting joint state; the gate stops the arm when references cease."""
        self._waiting = False
        if self._timer is not None:
            self._timer.cancel()

    def change(self, values: dict[str, Any]) -> None:
        """Apply live parameters at the next sample; an invalid change is rejected as a whole."""
        assert self._setup is not None
        self._setup.change(values)
        self._output.change(values)
        self._values = values

    # Samples ----------------------------------------------------------------------------------------------------------

    def _on_joint_state(self, message: JointState) -> None:
        position, velocity = self._select(message)
        stamp, newest = stamp_to_nanoseconds(message.header.stamp), self._state
        if newest is not None and stamp <= newest.stamp:
            if newest.stamp - stamp > 1_000_000_000:
                raise InputError("time went back: activate the node anew after a reset of the clock")
            self._output.repeat(stamp)
            return
        if self._waiting:
            self._answer()
        elastic = self._model.elastic_joint_names
        still = np.zeros(len(elastic))
        measured = elastic and set(elastic) <= set(message.name)
        deflection = self._select_elastic(message)[0] if measured else still
        self._state, self._waiting = ArmState(stamp, position, velocity, deflection, still), True
        early, self._early = self._early, None
        if early is not None:
            self._on_reference(early)
        self._answer_if_complete()
        if self._waiting:
            self._timer.reset()

    def _answer_if_complete(self) -> None:
        if self._waiting and self._state is not None and self._companions.complete(self._state.stamp):
            self._answer()

    def _on_waited(self, _: None) -> None:
        self._timer.cancel()
        if self._waiting:
            self._answer()

    def _answer(self) -> None:
        """Process one sample: the waiting joint state."""
        state, setup = self._state, self._setup
        assert state is not None and setup is not None
        self._waiting = False
        if self._timer is not None:
            self._timer.cancel()
        self._companions.answer(state.stamp)
        stage = setup.stage
        tool, joints = stage.answer(state)
        if stage.defect:
            self.get_logger().error(stage.defect)
        for remark in stage.remarks:
            self._output.refuse(state.stamp, remark)
        self._output.publish(tool, joints)

    # Other inputs -----------------------------------------------------------------------------------------------------

    def _on_wrench(self, message: WrenchStamped) -> None:
        assert self._setup is not None
        wrenches = self._setup.wrenches
        try:
            wrenches.take_message(message)
        except InputError as error:
            self._output.refuse(0 if self._state is None else self._state.stamp, str(error))
        self._companions.came(wrenches.sensor, stamp_to_nanoseconds(message.header.stamp))
        self._answer_if_complete()

    def _on_reference(self, message: CartesianReference) -> None:
        assert self._setup is not None
        if self._state is None:
            self._early = message  # the generator may have received the first joint state earlier
            return
        try:
            reference = cartesian_reference_from_message(message, self._model.tool_frame)
            self._setup.stage.follow(reference, self._state)
        except InputError as error:
            self._output.refuse(self._state.stamp, str(error))
        self._companions.came(topics.PATH_REFERENCE, stamp_to_nanoseconds(message.header.stamp))
        self._answer_if_complete()


def main() -> None:
    """Entry point."""
    run(BehaviorImpedanceNode)
