"""Synchronizer: holds a joint state until the readings and references of its stamp have arrived."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from rclpy.clock import Clock, ClockType

from flexarm.msg import JointReference
from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.slope import counted
from flexarm_core.types import FlexibleSample
from flexarm_nodes.messages.conversions import joint_reference_from_message
from flexarm_nodes.messages.dynamic_states import INTERFACES, DynamicStates
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode
from flexarm_nodes.node.built_stage import BuiltStage
from flexarm_nodes.node.diagnostics import OK
from flexarm_nodes.node.input.readings import Readings
from flexarm_nodes.node.input.references import SET_BACK, References

try:
    from tf2_msgs.msg import TFMessage
except ImportError:  # an environment that was made before: frames are those of the robot and of wrench_frames
    TFMessage = None


class Synchronizer:
    """Completes joint states by the rules of ``references``.

    A joint state is processed when every sensor has delivered its reading of the same stamp, and other nodes their
    references, when the next joint state arrives, or after the longest wait, whichever is first: the order of messages
    on different topics is not guaranteed.

    Attributes:
        readings: newest readings.
        references: newest references.
        patient: whether references that a stage needs are waited for until the next joint state, however long.
    """

    def __init__(
        self,
        node: ArmNode,
        process: Callable[[FlexibleSample], None],
        refuse: Callable[[str, str], None],
        restart: Callable[[float], None],
        warn: Callable[[str], None],
    ) -> None:
        """Feed a node.

        Args:
            node: the node.
            process: called with each complete sample.
            refuse: called with the name of a stage, empty for a sensor, and the reason why an input was rejected.
            restart: called before the first joint state after the clock was set back, with the step [s]; resets this.
            warn: called with the reason why a joint state is ignored that is out of order.
        """
        self._node, self._process, self._refuse, self._restart, self._warn = node, process, refuse, restart, warn
        self.references = References(node, refuse, self._go_on)
        self._subscriptions: list[Any] = []
        self._moving_frames = False  # whether /tf is heard
        self._timer: Any = None
        self._idle: bytes | None = None  # newest joint state that arrived while inactive
        self._newest: int | None = None  # stamp of the newest joint state [ns]
        self._late = 0.0  # delay of the rates of the base in flexible states of other nodes [s]
        self._pending: FlexibleSample | None = None
        self._sample: FlexibleSample | None = None  # the same with its readings, if it was observed
        self._overdue = False  # it has waited for the longest time

    def open(
        self,
        readings: Readings,
        model: ArmModel,
        wait: float,
        stages: Sequence[tuple[BuiltStage, Mapping[str, str]]],
        timeout: Callable[[str], float],
        *,
        patient: bool,
        before: bool = False,
        observe: Callable[[FlexibleSample], None] | None = None,
    ) -> None:
        """Subscribe to the sensors of these readings, and to references.

        Args:
            readings: keeps the readings.
            model: arm model.
            wait: longest wait [s]; 0: none.
            stages: as of :meth:`References.open`.
            timeout: as of :meth:`References.open`.
            patient: as in the class.
            before: whether to subscribe to the joint references that answer the samples, too.
            observe: called with each sample as soon as its readings are there, before it is processed.
        """
        node, self.readings, self._pending, self._wait = self._node, readings, None, wait
        self.patient, self._observe = patient, observe
        self._stages, self._lag, self._late = [built.stage for built, _ in stages], (0.0, 0.0), 0.0
        for subscription in self._subscriptions:
            node.destroy_subscription(subscription)
        self._moving_frames = False
        self._subscriptions = [
            node.hear(kind, topic, self._on_reading(kind, sensor), raw=True)
            for topic, kind, sensor in readings.subscriptions()
            if not (node.dynamic and sensor[0] in INTERFACES)
        ]
        sensors = model.description.force_torque_sensors, model.description.imus
        self._homes = {name: sensor.frame for some in sensors for name, sensor in some.items()}
        node.take_sensors = self._take_dynamic
        if readings.wants_frames and TFMessage is not None:
            take = partial(self._take_frames, node.reader(TFMessage))
            heard = node.hear(TFMessage, topics.TF_STATIC, take, topics.FRAMES, idle=take, raw=True)
            self._subscriptions.append(heard)
        if before:

            def on_reference(message: Any) -> None:
                readings.take_reference(joint_reference_from_message(message, model.joint_names))
                self._go_on()

            self._subscriptions.append(node.hear(JointReference, topics.JOINT_REFERENCE, on_reference))
        self.references.open(stages, model, timeout)
        if self._timer is not None:
            node.destroy_timer(self._timer)
        waited = node.guarded(lambda _: self._on_waited())
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(wait or 1.0, lambda: waited(None), clock=steady)
        self._timer.cancel()

    @property
    def stamp(self) -> int | None:
        """Stamp of the waiting joint state [ns]."""
        return None if self._pending is None else self._pending.stamp

    def reset(self) -> None:
        """Discard what waits, every reading and every reference."""
        self.drop()
        self._newest = None
        self.readings.reset()
        self.references.reset()

    def drop(self) -> None:
        """Discard the waiting joint state."""
        self._pending = self._sample = None
        self._timer.cancel()

    def on_idle(self, raw: bytes) -> None:
        """Keep a joint state that arrives while the node is inactive: it shows where the arm is."""
        if not self._node.is_foreign(raw):
            self._idle = raw

    def prepare(self, stages: Iterable[BuiltStage]) -> None:
        """Let stages check gains at the present posture before the node becomes active; raise FlexarmError if bad."""
        raw, self._idle = self._idle, None
        self._count_delay()
        if raw is None:
            return
        try:
            position = self.readings.joints(raw).position
        except InputError:
            return  # an unusable joint state is reported when the node is active
        for built in stages:
            if built.prepare is not None:
                built.prepare(position)

    def admit(self, stamp: int) -> bool:
        """Process a waiting joint state, or begin a new run, before one of this stamp [ns]; False: out of order."""
        back = 0.0 if self._newest is None else (self._newest - stamp) * 1e-9
        if 0.0 < back <= SET_BACK:
            self._warn(f"joint state is {back:.3f} s older than the newest: ignored")
            return False
        if back > 0.0:
            self._restart(back)
        else:
            self.flush()
        self._newest = stamp
        self.references.begin(stamp)
        return True

    def put(self, joints: FlexibleSample) -> None:
        """Let a joint state wait for the readings and references of its stamp."""
        self._count_delay()
        self._pending, self._sample, self._overdue = joints, None, self._wait <= 0.0
        self._go_on()
        if self._pending is joints:
            self._timer.reset()

    def _count_delay(self) -> None:
        """Let the stages count the delays of velocities and rates that are those of differentiated positions."""
        lag = self._node.velocity_delay, max((self._late, *(stage.base_delay for stage in self._stages)))
        if lag != self._lag:
            self._lag = lag
            for stage in self._stages:
                stage.lag(*lag)

    def flush(self) -> None:
        """Process the waiting joint state, if there is one, with what has arrived for its stamp."""
        self._go_on(now=True)

    def _go_on(self, *, now: bool = False) -> None:
        """Observe and process the waiting joint state as far as all is there; ``now``: whatever is there."""
        joints = self._pending
        if joints is None or not (now or self._overdue or self.readings.complete(joints.stamp)):
            return
        if self._observe is not None and self._sample is None:
            self._pending = None  # what cannot be observed is not processed
            self._sample = self.readings.sample(joints)
            self._observe(self._sample)
            self._pending = joints
        references = self.references
        if now or references.complete(joints.stamp) or (self._overdue and not self._lacks(joints.stamp)):
            sample = self.readings.sample(joints) if self._sample is None else self._sample
            self.drop()
            self._process(sample)

    def take(self, stamp: int) -> dict[str, Any]:
        """Return fields of the tick of a sample, as :meth:`References.take`."""
        given = self.references.take(stamp, self.readings.tolerance)
        if "flexible" in given:
            self._late = counted(given["flexible"].rate_delay, self._late)
            self._count_delay()
        return given

    def _lacks(self, stamp: int) -> list[str]:
        return self.references.lacks(stamp) if self.patient else []

    def _on_reading(self, kind: Any, sensor: tuple[str, str]) -> Callable[[bytes], None]:
        """Return the callback of a sensor; a rejected reading is no longer waited for."""
        read = self._node.reader(kind)

        def on_reading(raw: bytes) -> None:
            try:
                self.readings.take_raw(sensor, raw, read)
            except InputError as error:
                self._refuse("", str(error))
                self._hear_moving_frames()
            self._go_on()

        return on_reading

    def _take_dynamic(self, states: DynamicStates) -> None:
        """Take the readings of dynamic_joint_states."""
        for kind, name in self.readings.sensors:
            if states.has(kind, name):
                try:
                    self.readings.take((kind, name), states.reading(kind, name, self._homes[name]))
                except InputError as error:
                    self._refuse("", str(error))
                    self._hear_moving_frames()

    def _take_frames(self, read: Callable[[bytes], Any], raw: bytes, *, fixed: bool = True) -> None:
        """Take frames; those that are fixed come once, mostly while the node is inactive."""
        try:
            self.readings.take_frames(read(raw), fixed=fixed)
        except InputError as error:
            self._refuse("", str(error))

    def _hear_moving_frames(self) -> None:
        """Subscribe to /tf once a wrench has come in a frame that nothing else tells."""
        if TFMessage is None or self._moving_frames or not self.readings.wants_moving_frames:
            return
        self._moving_frames = True
        take = partial(self._take_frames, self._node.reader(TFMessage), fixed=False)
        heard = self._node.hear(TFMessage, topics.TF, take, topics.MOVING_FRAMES, raw=True)
        self._subscriptions.append(heard)

    def _on_waited(self) -> None:
        self._timer.cancel()
        self._overdue = True
        self._go_on()
        if self._pending is not None and (missing := self._lacks(self._pending.stamp)):
            said = f"waits for references of other nodes: {', '.join(missing)}"
            self._node.diagnostics.report(OK, said, self._pending.stamp)
