"""Base class of every node of the suite: parameters, robot description, lifecycle, diagnostics, main function."""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import math
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from types import FrameType
from typing import Any, NoReturn

import rclpy
from control_msgs.msg import DynamicJointState
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.event_handler import QoSMessageLostInfo, SubscriptionEventCallbacks
from rclpy.experimental import EventsExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from rclpy.task import Future
from std_msgs.msg import String

from flexarm.msg import FlexibleState, JointReference
from flexarm_core.errors import ConfigError, FlexarmError, InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.held_tags import place_held, taken_from_arm
from flexarm_core.robot.limits_not_kept import limits_not_kept
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_nodes.messages.cdr import message_reader
from flexarm_nodes.messages.differentiated import Differentiated
from flexarm_nodes.messages.dynamic_states import DynamicStates
from flexarm_nodes.messages.foreign_joints import ForeignJoints
from flexarm_nodes.messages.held_positions import HeldPositions
from flexarm_nodes.messages.joint_state_parts import JointStateParts
from flexarm_nodes.messages.state_rate import StateRate
from flexarm_nodes.node import topics
from flexarm_nodes.node.bounded_requests import bound_service
from flexarm_nodes.node.diagnostics import ERROR, OK, WARN, Diagnostics
from flexarm_nodes.node.frames import of_the_arm
from flexarm_nodes.node.parameters import ARM_PARAMETERS, Parameter, ParameterTable, described_arm
from flexarm_nodes.node.ports import Ports
from flexarm_nodes.node.real_time import TIDY_PERIOD, Tidiness, ask_for_priority
from flexarm_nodes.node.transport import avoid_shared_memory

PILE = 0.1  # [s] queueing delay of the executor above which joint states are dropped
SPIN = 0.2  # [s] period at which the main loop checks whether the node must end
CLOCK_LAG = 0.05  # [s] by which a stamp may be ahead of the clock before /clock is read at once
MOST_BYTES = 65536  # size of a message that is read: larger ones keep the executor for too long
LAST_WORDS = 3.5  # [s] longest wait until those who listen know why a node ends by itself
READ_WAIT = 2.0  # [s] longest wait at activation for the positions of joints that are read
TAKEN = 1e-4  # [rad | m] change of such a position since the last activation with which the node is built anew
ENDING = 30.0  # [s] after so long without success the end of the middleware is given up
DEFECT_PERIOD = 1.0  # [s] between two tracebacks in the log


class ArmNode(LifecycleNode):
    """A lifecycle node that knows the robot.

    A subclass sets its parameter table and overrides :meth:`build` (parameters -> core object) and, where needed,
    :meth:`start`, :meth:`stop` and :meth:`change`. Its message callbacks are wrapped by :meth:`guarded`, so that no
    message can end the process.

    Attributes:
        table: parameter table of this node.
        diagnostics: publisher of the node's status.
        active: whether the node is active and processes messages.
        frame_prefix: text in front of the names of links in headers, for TF.
        exit_code: exit code of the process; a nonzero value ends the process.
        ending: whether a signal has asked the process to end.
        configuring: whether the node is being configured, which may compile for minutes; nothing moves yet.
        tidiness: when garbage is collected while the node is active; a subclass that processes samples restarts it
            after the first output, and collects after each output.
        is_foreign: returns whether the bytes of a joint state are of others than this arm.
        dynamic: whether joint states and readings are those of dynamic_joint_states.
        take_sensors: called with the readings of such a message, before its joint state is processed.
        taken: time at which the newest message was received, on the clock of ``time.perf_counter`` [s].
        velocity_delay: age of the joint velocities [s], if they are those of differentiated positions; else 0.
        newest: quality of service of subscriptions for which only the newest message counts; a node that knows that it
            runs against the clock may choose ``topics.UNCONFIRMED``.
    """

    PARAMETERS: tuple[Parameter, ...] = ()
    MASSLESS = False  # whether a robot without masses is accepted: kinematics need no masses
    READS_JOINTS = True  # whether it may ask joint states where joints outside of the arm are
    LIMITS_BY_RATE = False  # whether it keeps limits by its parameter "rate"
    KEEPS_LIMITS = False  # whether it keeps the limits of the joints, and says which it does not keep

    def __init__(self, name: str) -> None:
        """Declare the parameters and wait for the robot description."""
        super().__init__(name)
        for service in self.services:  # parameters' and lifecycle's
            bound_service(service)
        self.table = ParameterTable(self, (*ARM_PARAMETERS, *self.PARAMETERS))
        self.diagnostics = Diagnostics(self)
        self.active = False
        self.frame_prefix = ""
        self.exit_code = 0
        self.ending = self.configuring = False
        self.taken, self._defect_at = 0.0, -DEFECT_PERIOD
        self.newest = topics.NEWEST
        self.tidiness = Tidiness()
        late, steady = 5.0 * TIDY_PERIOD, Clock(clock_type=ClockType.STEADY_TIME)  # where no sample comes
        self.create_timer(late, lambda: self.tidiness.tidy(late), clock=steady)
        # Registered first: this callback has to run before the clock's own callback.
        self.add_on_set_parameters_callback(self._refuse_other_clock)
        self._described = ""
        self.is_foreign: Callable[[bytes], bool] = lambda raw: False
        self._held_joints: HeldPositions | None = None
        self._state_rate = StateRate({})
        self._text, self._placed = "", dict[str, float]()  # description in use; where it has joints that are read
        self._new_parts: Callable[[], JointStateParts] | None = (
            None  # makes what joins joint states; None: nothing does
        )
        self._parts: dict[int, JointStateParts] = {}  # by subscription, as each gets all of them
        self._new_rates: Callable[[], Differentiated] | None = None  # makes what differentiates positions
        self._rates: dict[int, Differentiated] = {}  # by subscription
        self.velocity_delay = 0.0
        self.dynamic = bool(self.get_parameter("dynamic_joint_states").value)
        self.take_sensors: Callable[[DynamicStates], None] = lambda states: None
        self._base_state: Subscription | None = None
        self._sent_along: float | None = None  # when the task that measures the queueing delay was queued [s]
        self._came_through = 0.0  # when the last such task ran [s]
        self._spun = Future()  # ends a period of spinning
        self._description_subscription = self.create_subscription(
            String, topics.ROBOT_DESCRIPTION, self._on_robot_description, topics.LATCHED
        )

    @staticmethod
    def ports(values: Mapping[str, Any], description: RobotDescription, tool: str) -> Ports:
        """Return the topics that the node uses with these parameters, for a robot and its tool link (empty: usual)."""
        return Ports((), ())

    # Methods that a subclass overrides --------------------------------------------------------------------------------

    def build(self, values: dict[str, Any], model: ArmModel) -> None:
        """Make the core object from parameter values; raise FlexarmError to reject the configuration."""
        raise TypeError(f"{type(self).__name__} does not override build()")

    def check(self) -> None:
        """Check the known data before the node becomes active; raise FlexarmError to reject the activation."""

    def start(self) -> None:
        """Begin a run: discard the state that was kept from earlier samples."""

    def begun(self) -> None:
        """Act after the start of a run, for example log the active configuration."""

    def brake(self) -> None:
        """Bring the arm to rest before a run ends."""

    def stop(self) -> None:
        """End a run: leave the arm safe."""

    def change(self, values: dict[str, Any]) -> None:
        """Apply changed live parameters while the node is configured; raise FlexarmError to reject them."""

    def _forget_joint_states(self) -> None:
        self._parts.clear()
        self._rates.clear()
        self._state_rate.clear()
        self.diagnostics.doubt = ""
        if self._held_joints is not None:
            self._held_joints.reset()

    def state_rate(self, values: dict[str, Any]) -> StateRate:
        """Return what compares the rate of joint states with the parameters of the node."""
        return StateRate({"rate": values["rate"]} if "rate" in values else {}, "rate" if self.LIMITS_BY_RATE else "")

    def _tell_of_rates(self, rates: Differentiated) -> None:
        """Say that positions are differentiated, once for all subscriptions, and again if the delay is larger."""
        if rates.delay > self.velocity_delay:
            self.velocity_delay = rates.delay
            said = f"differentiated over {rates.samples} samples: delay {1e3 * rates.delay:.3g} ms"
            self.get_logger().info(f"joint states have no velocity; positions are {said}")

    # Lifecycle --------------------------------------------------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Read the parameters and the robot description, then build the core object."""
        self.configuring = True
        try:
            values = self.table.values()
            text = values["robot_description"] or self._described
            if not text:
                raise ConfigError(
                    "no robot description: set the robot_description parameter, or publish the robot_description topic"
                    " (robot_state_publisher does) before configuring"
                )
            self.frame_prefix = values["frame_prefix"].lstrip("/")  # no name in TF begins with a slash
            reads = [name for name in values["read_joints"] if name] if self.READS_JOINTS else []
            description = parse_robot_description(text, massless=self.MASSLESS, read=reads)
            model = described_arm(values, description)
            taken = taken_from_arm(text, description, reads, model.tool_frame) if reads else ()
            self.is_foreign = ForeignJoints((*model.joint_names, *model.elastic_joint_names))
            self._held_joints = HeldPositions(model, reads) if description.held else None
            self._text, self._placed = description.text, {name: description.held[name].position for name in reads}
            names = model.joint_names, model.elastic_joint_names
            self._new_parts = partial(JointStateParts, *names) if values["join_joint_states"] else None
            window = values["velocity_window"]
            self._new_rates = partial(Differentiated, model, window, self._tell_of_rates) if window > 0.0 else None
            self._forget_joint_states()
            self.velocity_delay = 0.0
            self.build(values, model)
            self._state_rate = self.state_rate(self.table.values())
        except FlexarmError as error:
            self.diagnostics.announce(ERROR, f"cannot configure: {error}")
            return TransitionCallbackReturn.FAILURE
        finally:
            self.configuring = False
        self.table.on_change(self.change)
        fixed = ", ".join(f"{name} at {position:g}" for name, position in description.outside.items())
        note = f"; not of the arm, read as fixed: {fixed}" if fixed else ""
        note += f"; read, and so not driven: {', '.join(taken)}" if taken else ""
        note += "".join(f"; {said}" for said in limits_not_kept(model)) if self.KEEPS_LIMITS else ""
        self.diagnostics.announce(OK, f"configured{note}", anew=True)
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start to process messages."""
        try:
            self._place_held()
            self.check()
        except FlexarmError as error:
            self.diagnostics.announce(ERROR, f"cannot activate: {error}")
            return TransitionCallbackReturn.FAILURE
        self.start()
        self.get_logger().info("active")  # the first log line takes rclpy long: it searches every module for its caller
        self.tidiness.begin()
        refused = ask_for_priority(self.table.values()["thread_priority"])
        self.take_waiting(topics.CLOCK)  # else a state that came meanwhile may seem to come from the future
        self.active = True
        self.diagnostics.announce(WARN if refused else OK, refused or "active", anew=True)
        self.begun()
        return super().on_activate(state)

    def _place_held(self) -> None:
        """Build the node anew where joints that are read are elsewhere than when it was built.

        Raises:
            ConfigError: nobody says where they are.
            FlexarmError: the configuration is not possible with them there.
        """
        held = self._held_joints
        if held is None or not held.reads:
            return
        ends = time.monotonic() + READ_WAIT
        self.take_waiting(topics.JOINT_STATES)
        while missing := [name for name in held.reads if name not in held.positions()]:
            if time.monotonic() > ends:
                raise ConfigError(
                    f"no joint state has said for {READ_WAIT:g} s where {', '.join(missing)} is, whose position is to"
                    " be read (read_joints)"
                )
            time.sleep(0.01)
            self.take_waiting(topics.JOINT_STATES)
        positions = held.positions()
        self.get_logger().info(f"joints read: {', '.join(f'{name} at {q:.4g}' for name, q in positions.items())}")
        if max(abs(positions[name] - self._placed.get(name, math.inf)) for name in held.reads) <= TAKEN:
            return
        self.configuring = True
        try:
            values, text = self.table.values(), place_held(self._text, positions)
            model = described_arm(values, parse_robot_description(text, massless=self.MASSLESS, read=held.reads))
            self._placed = {}  # what fails below is built anew at the next try
            self.build(values, model)
            held.take(model)
        finally:
            self.configuring = False
        self._placed = positions

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop processing messages and leave the arm safe."""
        self.leave()
        self._forget_joint_states()
        self.diagnostics.announce(OK, "inactive")
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Discard the configuration."""
        self.table.on_change(None)
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Leave the arm safe if it was moving."""
        self.leave()
        return super().on_shutdown(state)

    def spin_some(self, executor: EventsExecutor) -> None:
        """Process incoming messages for a period SPIN; spinning once per message costs as much as a small message."""
        self._spun = Future()
        executor.spin_until_future_complete(self._spun, timeout_sec=SPIN)

    def stop_spinning(self) -> None:
        """End the present period of spinning; a task of the executor."""
        self._spun.set_result(None)

    def destroy_node(self) -> None:
        """End the node, however it is led."""
        self.tidiness.end()
        super().destroy_node()
        self._state_machine.destroy_when_not_in_use()  # rclpy leaves it, and the DDS participant, to the end of Python

    def leave(self) -> None:
        """Brake the arm and end the run if the node is active; otherwise do nothing."""
        if self.active:
            try:
                self.brake()
            finally:
                self.active = False
                self.tidiness.end()
                self.stop()

    def flush(self) -> None:
        """Wait for a short time until the drives have the last command; a node that commands them overrides this.

        Messages may be lost if their publisher ends. Other last messages do not move the arm and are not waited for:
        an acknowledgment takes up to 3 s, the period in which Fast DDS asks for it. A node that ends by itself waits
        until its reason is known.
        """
        if self.exit_code:
            self.diagnostics.acknowledge(LAST_WORDS)

    def guarded(self, callback: Callable[[Any], None]) -> Callable[[Any], None]:
        """Wrap a message callback: it does nothing while inactive; an error is reported and never ends the process."""

        def call(message: Any) -> None:
            if not self.active:
                return
            try:
                callback(message)
            except FlexarmError as error:
                self.diagnostics.report(ERROR, str(error), 0)
            except Exception as error:  # a defect in this code must not let the arm fall
                self.diagnostics.report(ERROR, f"internal error: {type(error).__name__}: {error}", 0)
                self._log_defect()

        return call

    def _log_defect(self) -> None:
        """Log the traceback of the present exception, unless one was logged less than DEFECT_PERIOD ago."""
        now = time.monotonic()
        if now - self._defect_at >= DEFECT_PERIOD:
            self._defect_at = now
            self.get_logger().error(traceback.format_exc())

    def hand_over(self, work: Callable[..., None], *arguments: Any) -> None:
        """Let the executor's thread do some work, from any thread; a node that is ending has no executor: nothing.

        An error is logged: the events executor ends the process where one leaves a task (rclpy 7.1).
        """

        def do() -> None:
            try:
                work(*arguments)
            except Exception:
                self._log_defect()

        executor = self.executor
        if executor is not None:
            executor.create_task(do)

    def hear(
        self,
        kind: Any,
        topic: str,
        callback: Callable[[Any], None],
        quality: QoSProfile | None = None,
        lost: Callable[[int], None] | None = None,
        *,
        idle: Callable[[bytes], None] | None = None,
        raw: bool = False,
        most: int = MOST_BYTES,
    ) -> Subscription:
        """Subscribe to a topic through :meth:`guarded`; messages are not even deserialized while the node is inactive.

        Joint states without any joint of the arm are those of others, and ignored; those without velocities get those
        of their positions. They are parts of dynamic_joint_states if that is read. Joint states are dropped while the
        executor has a backlog (see PILE). Whenever messages are lost, ``lost`` is called with the total number of
        messages lost since the subscription was created. Messages of more than ``most`` bytes are refused unread. With
        ``raw`` the callback gets the bytes, and reads them itself, see :meth:`reader`. Without a quality of service it
        is ``newest``. While the node is inactive, ``idle`` gets the bytes.
        """
        read, states = (lambda given: given) if raw else self.reader(kind), topic == topics.JOINT_STATES
        if states and self.dynamic:
            kind, topic = DynamicJointState, topics.DYNAMIC_JOINT_STATES

        def take(given: bytes) -> None:
            self.taken = time.perf_counter()
            if len(given) > most:
                raise InputError(f"{topic}: a message of {len(given)} bytes is ignored, at most {most} are read")
            if not states:
                callback(read(given))
            elif (newest := self._newest_of_the_arm(subscription, given)) is not None and not self._piled_up():
                if self._held_joints is not None:
                    self._held_joints.lead()
                self._state_rate.lead()
                callback(read(newest))

        def tell(info: QoSMessageLostInfo) -> None:
            if lost is not None and info.total_count_change > 0:
                lost(info.total_count)

        events = SubscriptionEventCallbacks(message_lost=None if lost is None else self.guarded(tell))
        quality = self.newest if quality is None else quality
        quality, active = topics.shared(quality) if states else quality, self.guarded(take)

        def on_message(given: bytes) -> None:
            if states and not self.active:
                self._look_for_held(given)
            if idle is None or self.active:
                active(given)
            elif not states:
                idle(given)
            else:
                with contextlib.suppress(InputError):
                    newest = self._joined(subscription, given)
                    if newest is not None:
                        idle(newest)

        subscription = self.create_subscription(kind, topic, on_message, quality, event_callbacks=events, raw=True)
        return subscription

    def _newest_of_the_arm(self, subscription: Subscription, given: bytes) -> bytes | None:
        """Return the newest of a joint state and those that wait behind it, without those of others; None: all are."""
        newest = self._joined(subscription, given)
        with subscription.handle:
            while (taken := subscription.handle.take_message(subscription.msg_type, subscription.raw)) is not None:
                if len(taken[0]) <= MOST_BYTES and (one := self._joined(subscription, taken[0])) is not None:
                    newest = one
        return newest

    def _look_for_held(self, given: bytes) -> None:
        """Look in a joint state, while the node is inactive, for joints whose position is read."""
        if self._held_joints is not None and self._held_joints.reads and len(given) <= MOST_BYTES:
            with contextlib.suppress(InputError):
                self._held_joints.look(DynamicStates(given).joint_state() if self.dynamic else given)

    def _joined(self, subscription: Subscription, raw: bytes) -> bytes | None:
        """Return a joint state of the arm, or the one that this part completes; None: it is of others, or waits."""
        found = self._completed(subscription, raw)
        if self.active:
            if found is not None:
                self._state_rate.look(found)
            held = "" if self._held_joints is None else self._held_joints.doubt
            rate = self._state_rate.doubt
            self.diagnostics.doubt = "; ".join((held, rate)) if held and rate else held or rate
        return found

    def _completed(self, subscription: Subscription, raw: bytes) -> bytes | None:
        if self.dynamic:
            dynamic = DynamicStates(raw)
            if self.active:
                self.take_sensors(dynamic)
            raw = dynamic.joint_state()
        if self._held_joints is not None and self.active:
            self._held_joints.look(raw)
        if self.is_foreign(raw):
            return None
        key = id(subscription)
        if self._new_rates is not None:
            if (rates := self._rates.get(key)) is None:
                rates = self._rates[key] = self._new_rates()
            if (found := rates(raw)) is None:
                return None
            raw = found
        if self._new_parts is None:
            return raw
        if (parts := self._parts.get(key)) is None:
            parts = self._parts[key] = self._new_parts()
        return parts(raw)

    def reader(self, kind: Any) -> Callable[[bytes], Any]:
        """Return a function that deserializes messages of one type, with names of links as frames."""
        read = message_reader(kind)
        return lambda raw: of_the_arm(read(raw), self.frame_prefix)

    def take_waiting(self, topic: str) -> None:
        """Process messages of a topic that arrived while the executor could not run, for example in a transition."""
        self._come_through()  # the messages taken here leave no backlog in the executor
        self._read_waiting(topic)

    def _read_waiting(self, topic: str) -> None:
        if topic == topics.JOINT_STATES and self.dynamic:
            topic = topics.DYNAMIC_JOINT_STATES
        name = self.resolve_topic_name(topic)
        for subscription in self.subscriptions:
            if subscription.topic_name != name:
                continue
            with subscription.handle:
                while (taken := subscription.handle.take_message(subscription.msg_type, subscription.raw)) is not None:
                    subscription.callback(taken[0])

    def age_of(self, stamp: int) -> float:
        """Return the age [s] of a stamp [ns] on the node's clock, which is simulation time if use_sim_time is set.

        A stamp may seem to come from the future where the message of the clock waits behind that of the stamp.
        """
        age = (self.get_clock().now().nanoseconds - stamp) * 1e-9
        if age < -CLOCK_LAG:
            self._read_waiting(topics.CLOCK)
            age = (self.get_clock().now().nanoseconds - stamp) * 1e-9
        return age

    def _refuse_other_clock(self, parameters: list[Any]) -> SetParametersResult:
        """Reject a change of use_sim_time while the node is active: its stamps would mix two clocks."""
        other = any(one.name == "use_sim_time" for one in parameters) and self.active
        reason = "use_sim_time cannot change while the node is active: deactivate it first" if other else ""
        return SetParametersResult(successful=not other, reason=reason)

    def _piled_up(self) -> bool:
        """Return whether work that is queued in the executor now would wait longer than PILE.

        The executor queues one event for each message that arrives, although only the newest message is kept. If
        messages arrive faster than they are processed, events pile up without bound ahead of services and timers. A
        task that is queued with these events measures how long they wait.
        """
        now, executor = time.monotonic(), self.executor
        if self._sent_along is not None:
            return now - self._sent_along > PILE
        if executor is not None and now - self._came_through > PILE:
            self._sent_along = now
            executor.create_task(self._come_through)
        return False

    def _come_through(self) -> None:
        self._sent_along, self._came_through = None, time.monotonic()

    def lead(self, publisher: Any, leads: bool) -> Any:
        """Return the joint reference publisher if this node commands the joints, else None: gates count publishers."""
        if leads and publisher is None:
            return self.create_publisher(JointReference, topics.JOINT_REFERENCE, topics.EVERY_SAMPLE)
        if not leads and publisher is not None:
            self.destroy_publisher(publisher)
            return None
        return publisher

    def hear_base_state(self, source: str, callback: Callable[[FlexibleState], None]) -> None:
        """Subscribe to the estimated base deflection if ``source`` is that topic; drop any earlier subscription."""
        if self._base_state is not None:
            self.destroy_subscription(self._base_state)
        wanted = source == topics.FLEXIBLE_STATE
        self._base_state = self.hear(FlexibleState, topics.FLEXIBLE_STATE, callback) if wanted else None

    def _on_robot_description(self, message: String) -> None:
        self._described = message.data


def run(node_class: Callable[[], ArmNode]) -> NoReturn:
    """Run one node until SIGINT, SIGTERM or an exit code, leave the arm safe, and end the process.

    The events executor is the fastest executor here, but delivers nothing without a timeout (rclpy 7.1). The process
    ends without the end of Python, which takes a node 0.2 s of computation: node, DDS participant and log have ended
    before. Nodes that end together on a busy machine would be killed before they are through.

    Fast DDS 2.14 may wait for itself while a participant ends, if another one ends meanwhile, and computes and holds
    Python's lock. Such a process reports where it hangs, and ends after ENDING.
    """
    avoid_shared_memory()
    rclpy.init(signal_handler_options=rclpy.SignalHandlerOptions.NO)
    node = node_class()

    def end(number: int, frame: FrameType | None) -> None:
        if node.configuring:
            os._exit(0)  # compilation blocks the loop below until launch kills it
        node.ending = True

    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGTERM, end)
    executor = EventsExecutor()
    executor.add_node(node)
    _wake_on_signals(executor, node.stop_spinning)
    while rclpy.ok() and not node.ending and not node.exit_code:
        try:
            node.spin_some(executor)
        except (
            Exception
        ):  # rclpy raises on a lifecycle transition that is not possible now; no message may end the node
            node.get_logger().error(traceback.format_exc())
    gc.disable()
    node.leave()
    node.flush()
    faulthandler.dump_traceback_later(ENDING, exit=True)
    executor.shutdown()
    node.destroy_node()
    rclpy.try_shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(node.exit_code)


def _wake_on_signals(executor: EventsExecutor, task: Callable[[], None]) -> None:
    """Let the executor do a task at every signal: while it waits, no signal handler is called.

    It waits on CLOCK_REALTIME: where the system clock is set back, a signal would not be noticed for as long.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def wake() -> None:
        while os.read(reader, 1):
            executor.create_task(task)

    threading.Thread(target=wake, name="signals", daemon=True).start()
