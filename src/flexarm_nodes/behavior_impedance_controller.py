"""Node behavior_impedance_controller: DECIDE stage, behaviours and the tool wrench -> tool and joint references.

Each joint state gets one Cartesian and one joint reference with its stamp (core: behavior_impedance). Behaviours come
by parameters, by behaviour sets on a topic, and by a service; they change between two samples.
"""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np
from geometry_msgs.msg import TwistStamped, WrenchStamped
from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from flexarm.msg import BehaviorSet, CartesianReference
from flexarm.srv import SetBehaviors
from flexarm_core.behavior_impedance.arm_shape import build_arm_shape
from flexarm_core.behavior_impedance.behavior import Arm
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.behavior_impedance.warm_up import load_compiled
from flexarm_core.errors import ConfigError, FlexarmError, InputError
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.base_link import BaseLink
from flexarm_core.types import Array
from flexarm_nodes import topics
from flexarm_nodes.arm_node import ArmNode, run
from flexarm_nodes.behavior_conversions import change_from_message
from flexarm_nodes.behavior_output import BehaviorOutput
from flexarm_nodes.behavior_parameters import (
    BEHAVIOR_PARAMETERS,
    declare_behaviors,
    impedance_config,
    mapping_config,
    tool_wrench,
)
from flexarm_nodes.behavior_sets import BehaviorSets
from flexarm_nodes.behavior_streams import give_reference, give_twist, stream_followers
from flexarm_nodes.companions import Companions
from flexarm_nodes.conversions import JointStateSelector, stamp_to_nanoseconds
from flexarm_nodes.ik_parameters import motion_limits
from flexarm_nodes.joint_deviation import JointDeviation
from flexarm_nodes.wrench_input import WrenchInput


class BehaviorImpedanceNode(ArmNode):
    """Joint states, tool wrenches and behaviours in, references within all limits out.

    A joint state is answered when the wrench of its stamp has come (and the reference, where a path follows a stream),
    when the next joint state comes, or after ``sensor_wait``, whichever is first.
    """

    PARAMETERS = BEHAVIOR_PARAMETERS
    MASSLESS = True

    def __init__(self) -> None:
        """Create topics and services; the wrench's topic depends on the robot."""
        super().__init__("behavior_impedance_controller")
        self._output = BehaviorOutput(self)
        for message_type, topic, callback, quality in (
            (JointState, topics.JOINT_STATES, self._on_joint_state, topics.NEWEST),
            (BehaviorSet, topics.BEHAVIOR_SET, self._on_set, topics.CHANGES),
            (TwistStamped, topics.TWIST_COMMAND, self._on_twist, topics.NEWEST),
            (CartesianReference, topics.PATH_REFERENCE, self._on_reference, topics.NEWEST),
        ):
            self.create_subscription(message_type, topic, self.guarded(callback), quality)
        self._controller: BehaviorImpedanceController | None = None
        self._wrench_subscription: Any = None
        self._timer: Any = None
        self.create_service(SetBehaviors, topics.SET_BEHAVIORS, self._on_set_service)
        self.create_service(Trigger, topics.ZERO_WRENCH, self._on_zero)

    # Life -------------------------------------------------------------------------------------------------------------

    def build(self, values: dict[str, Any], model: ArmModel) -> None:
        """Parameters -> controller; behaviours' parameters are declared here, by their kinds."""
        declare_behaviors(self.table, values["behaviors"])
        values = self.table.values()
        chain = build_chain(model.description, model.tool_frame)
        shape = build_arm_shape(model.description, chain, values["link_radius"])
        arm = Arm(chain, shape, motion_limits(values, chain), values["length_scale"])
        controller = BehaviorImpedanceController(arm, impedance_config(values), mapping_config(values))
        self._sets = BehaviorSets(controller, values)
        sensor, tool = tool_wrench(values, model.description, chain)
        self._wrenches = WrenchInput(sensor, tool, model, np.array(values["gravity"]))
        self._companions = Companions(self._expected)
        self._model, self._base = model, BaseLink(model)
        self._select = JointStateSelector(model.joint_names)
        self._select_elastic = JointStateSelector(model.elastic_joint_names)
        self._place = np.array([model.joint_names.index(name) for name in chain.joint_names])
        self._controller, self._values = controller, values
        self._deviation = JointDeviation(chain.joint_names)
        self._output.bind(model, controller, values["output"] == "joints", sensor)
        self._take_rates(values)
        load_compiled(arm)
        self._listen(sensor)
        self.start()

    def _listen(self, sensor: str) -> None:
        """To the sensor's topic, and to the time that a joint state waits for it."""
        if self._wrench_subscription is not None:
            self.destroy_subscription(self._wrench_subscription)
        if self._timer is not None:
            self.destroy_timer(self._timer)
        self._wrench_subscription = self._timer = None
        if sensor:
            callback, topic = self.guarded(self._on_wrench), topics.wrench_topic(sensor)
            self._wrench_subscription = self.create_subscription(WrenchStamped, topic, callback, topics.NEWEST)
        if self._values["sensor_wait"] > 0.0:
            steady = Clock(clock_type=ClockType.STEADY_TIME)
            waited = self.guarded(self._on_waited)
            self._timer = self.create_timer(self._values["sensor_wait"], lambda: waited(None), clock=steady)
            self._timer.cancel()

    def _expected(self) -> tuple[str, ...]:
        """What a joint state waits for."""
        assert self._controller is not None
        if self._values["sensor_wait"] <= 0.0:
            return ()
        streams = (topics.PATH_REFERENCE,) if any(True for _ in stream_followers(self._controller)) else ()
        return (*streams, self._wrenches.sensor) if self._wrenches.sensor else streams

    def start(self) -> None:
        """Wait for the first joint state; behaviours begin anew, those that sets have brought too."""
        if self._controller is not None:
            self._controller.reset()
            self._sets.begin()
            self._wrenches.reset()
            self._companions.reset()
        self._stamp: int | None = None  # of the newest joint state
        self._waiting = False  # whether it is not answered yet
        self._time = 0  # stamp of what the controller holds [ns]
        self._early: CartesianReference | None = None  # that came before the first joint state
        self._output.reset()

    def stop(self) -> None:
        """Leave what waits unanswered; the gate stops the arm when references cease."""
        self._waiting = False
        if self._timer is not None:
            self._timer.cancel()

    def change(self, values: dict[str, Any]) -> None:
        """Live parameters take effect with the next sample; a change that cannot be had leaves all as it was."""
        controller = self._controller
        assert controller is not None
        law, mapping = controller.config, controller.solver.config
        try:
            if impedance_config(values) != law:
                controller.set_config(impedance_config(values))
            if mapping_config(values) != mapping:
                controller.solver.set_config(mapping_config(values))
            self._sets.change(values)
        except FlexarmError:
            if controller.config != law:
                controller.set_config(law)
            if controller.solver.config != mapping:
                controller.solver.set_config(mapping)
            raise
        self._take_rates(values)
        self._values = values

    def _take_rates(self, values: dict[str, Any]) -> None:
        self._wrenches.timeout = values["wrench_timeout"]
        self._deviation.tolerance = values["deviation_tolerance"]
        self._output.change(values)

    # Samples ----------------------------------------------------------------------------------------------------------

    def _on_joint_state(self, message: JointState) -> None:
        position, velocity = self._select(message)
        stamp = stamp_to_nanoseconds(message.header.stamp)
        if self._stamp is not None and stamp <= self._stamp:
            if self._stamp - stamp > 1_000_000_000:
                raise InputError("time went back: activate the node anew after a reset of the clock")
            self._output.repeat(stamp)
            return
        if self._waiting:
            self._answer()
        elastic = self._model.elastic_joint_names
        measured = elastic and set(elastic) <= set(message.name)
        self._deflection = self._select_elastic(message)[0] if measured else np.zeros(len(elastic))
        self._stamp, self._measured, self._velocity, self._waiting = stamp, position, velocity, True
        early, self._early = self._early, None
        if early is not None:
            self._on_reference(early)
        self._answer_if_complete()
        if self._waiting:
            self._timer.reset()

    def _answer_if_complete(self) -> None:
        if self._waiting and self._stamp is not None and self._companions.complete(self._stamp):
            self._answer()

    def _on_waited(self, _: None) -> None:
        self._timer.cancel()
        if self._waiting:
            self._answer()

    def _answer(self) -> None:
        """One sample: the answer to the joint state that waits."""
        controller, stamp, output = self._controller, self._stamp, self._output
        assert controller is not None and stamp is not None
        self._waiting = False
        if self._timer is not None:
            self._timer.cancel()
        self._companions.answer(stamp)
        gap = None if output.answered < 0 else (stamp - output.answered) * 1e-9
        if gap is None or gap > self._values["state_timeout"]:
            self._begin(stamp, gap)
        for reason in self._sets.due(stamp):
            output.refuse(stamp, f"behaviour set refused: {reason}")
        measured = self._measured[self._place]
        wrench, trouble = self._wrenches.external(stamp, measured, self._deflection), ""
        if stamp > self._time:
            trouble = self._deviation.check(measured, controller.solver.position)
            trouble = self._update(stamp, wrench, trouble)
        self._time = stamp
        output.publish(stamp, wrench, trouble)

    def _update(self, stamp: int, wrench: Array | None, trouble: str) -> str:
        """One sample of the law, or of coming to rest for ``trouble``; what trouble there was."""
        assert self._controller is not None
        solver, dt = self._controller.solver, (stamp - self._time) * 1e-9
        before = solver.position, solver.velocity, solver.acceleration
        try:
            self._controller.update(stamp, dt, wrench, trouble)
        except Exception as error:  # whatever a behaviour of another package does, the arm must not fall
            self.get_logger().error(traceback.format_exc())
            solver.position, solver.velocity, solver.acceleration = before
            trouble = f"a sample could not be computed: {type(error).__name__}: {error}"
            self._controller.update(stamp, dt, None, trouble)
        return trouble

    def _begin(self, stamp: int, gap: float | None) -> None:
        """Set out from where the arm is."""
        assert self._controller is not None
        if gap is not None:
            self._sets.renew()
            self._output.refuse(stamp, f"no joint state for {gap:.3f} s: set out anew from where the arm is")
        self._output.hold(self._measured)
        self._controller.begin(self._measured[self._place], self._velocity[self._place])
        self._deviation.reset()
        self._time = stamp

    # Other inputs -----------------------------------------------------------------------------------------------------

    def _on_wrench(self, message: WrenchStamped) -> None:
        try:
            self._wrenches.take(message)
        except InputError as error:
            self._output.refuse(self._stamp or 0, str(error))
        self._companions.came(self._wrenches.sensor, stamp_to_nanoseconds(message.header.stamp))
        self._answer_if_complete()

    def _on_reference(self, message: CartesianReference) -> None:
        assert self._controller is not None
        if self._stamp is None:
            self._early = message  # the generator may have heard of the first joint state sooner
            return
        try:
            give_reference(message, self._controller, self._base, self._deflection, self._stamp)
        except InputError as error:
            self._output.refuse(self._stamp, str(error))
        self._companions.came(topics.PATH_REFERENCE, stamp_to_nanoseconds(message.header.stamp))
        self._answer_if_complete()

    def _on_twist(self, message: TwistStamped) -> None:
        assert self._controller is not None
        if self._stamp is None:
            return  # nothing moves yet
        try:
            give_twist(message, self._controller, self._stamp)
        except InputError as error:
            self._output.refuse(self._stamp, str(error))

    def _on_set(self, message: BehaviorSet) -> None:
        try:
            self._sets.take(change_from_message(message), self._output.answered)
        except FlexarmError as error:
            self._output.refuse(self._stamp or 0, f"behaviour set refused: {error}")

    # Services ---------------------------------------------------------------------------------------------------------

    def _on_set_service(self, request: SetBehaviors.Request, response: SetBehaviors.Response) -> SetBehaviors.Response:
        try:
            if self._controller is None:
                raise ConfigError("the node is not configured")
            response.message = self._sets.take(change_from_message(request.set), self._output.answered)
            response.success = True
        except FlexarmError as error:
            response.message = str(error)
        return response

    def _on_zero(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if not self.active or self._controller is None or self._stamp is None:
            response.message = "no joint state has come yet" if self.active else "the node is not active"
            return response
        speed = max(np.abs(self._velocity).max(), np.abs(self._controller.solver.velocity).max())
        return self._wrenches.answer_zero(
            response, self._stamp, self._measured[self._place], self._deflection, float(speed)
        )


def main() -> None:
    """Entry point."""
    run(BehaviorImpedanceNode)
