"""StageNode: a node that runs one pipeline stage for every joint state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState

from flexarm.msg import CartesianReference, FlexibleState, JointReference
from flexarm_core.errors import FlexarmError, InputError
from flexarm_core.pipeline.stage import finish
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import FlexibleSample
from flexarm_nodes.messages.conversions import (
    cartesian_reference_from_message,
    joint_reference_from_message,
    stamp_to_nanoseconds,
)
from flexarm_nodes.messages.flexible import flexible_state_from_message
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode
from flexarm_nodes.node.built_stage import BuiltStage, Values
from flexarm_nodes.node.diagnostics import ERROR, WARN
from flexarm_nodes.node.parameters import ParameterTable
from flexarm_nodes.node.readings import Readings
from flexarm_nodes.node.stage_inputs import StageInputs
from flexarm_nodes.node.stage_outputs import StageOutputs
from flexarm_nodes.node.stage_table import StageTable

SET_BACK = 0.1  # [s] a joint state that is older than the newest by more shows that the clock was set back
COMPLAINT = 1_000_000_000  # [ns] time for which a rejection stays in the diagnostics
AHEAD = 0.1  # [s] a reference that is stamped further ahead of the joint state is not used for it
STREAMS: dict[str, tuple[Any, str, Callable[[Any, ArmModel, BuiltStage], Any]]] = {
    "tool": (CartesianReference, topics.CARTESIAN_REFERENCE,
        lambda message, model, built: cartesian_reference_from_message(message, model.tool_frame)),
    "joints": (JointReference, topics.DESIRED_JOINT_REFERENCE,
        lambda message, model, built: joint_reference_from_message(message, model.joint_names)),
    "flexible": (FlexibleState, topics.FLEXIBLE_STATE,
        lambda message, model, built: flexible_state_from_message(message, model.elastic_joint_names, built.modes)),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rejected:
    """What stands for a reference that cannot be read: its stamp [ns], and the reason."""

    stamp: int
    reason: str


class StageNode(ArmNode):
    """Runs a stage: a joint state, and what the stage needs with it, becomes what the stage gives.

    A joint state is processed when everything that it waits for has arrived with its stamp. A
    reference that arrives after a newer joint state is used for that one, if the node has a ``reference_timeout`` and
    the reference is no older; one that is stamped up to AHEAD later than the joint state is used. A flexible state must
    have the stamp of the joint state. A reference that the stage can do without (``BuiltStage.awaits``) is waited for
    as sensor readings are, at most ``sensor_wait``, and is given to the stage once. A joint state that is repeated gets
    the same answer again; one that is older than the newest is ignored, or begins a new run if the clock was set back.
    A reference that is older than the one in use is ignored. What a stage observes (see Stage) is published at once.

    Attributes:
        sample: newest measurements, None before the first.
        stage: the stage.
        model: the arm.

    A subclass sets ``NAME``, ``PARAMETERS`` and ``HEARS``, and overrides :meth:`build_stage`.
    """

    NAME = ""
    HEARS: tuple[str, ...] = ()  # names of the references that the stage may need or await, out of STREAMS
    TOPICS: ClassVar[dict[str, str]] = {}  # their topics, where they are not those of STREAMS
    INTEGRATES = False  # whether the stage carries a motion on: it answers a stamp once, and brakes on what is rejected
    CHECKS_GAINS = False  # whether the stage checks its gains where the arm is, before the node becomes active

    def __init__(self) -> None:
        """Subscribe to joint states and references."""
        super().__init__(self.NAME)
        self._idle: bytes | None = None  # newest joint state that arrived while inactive
        self._outputs: StageOutputs | None = None
        self._base_state: Any = None
        self._inputs = StageInputs(self, self._process, self.refuse)
        if self.CHECKS_GAINS:
            quality = topics.shared(topics.NEWEST)
            self.create_subscription(JointState, topics.JOINT_STATES, self._on_idle, quality, raw=True)
        self.hear(JointState, topics.JOINT_STATES, self._on_joint_state, raw=True)
        for name in self.HEARS:
            self._hear_stream(name)

    # Methods that a subclass overrides --------------------------------------------------------------------------------

    @staticmethod
    def build_stage(values: Values, model: ArmModel) -> BuiltStage:
        """Build the stage from parameters; raise FlexarmError to reject them."""
        raise TypeError("build_stage() is not overridden")

    @staticmethod
    def later_rows(table: ParameterTable | StageTable, values: Values) -> None:
        """Declare the parameters that depend on other parameters, from the present values."""

    # Lifecycle --------------------------------------------------------------------------------------------------------

    def build(self, values: dict[str, Any], model: ArmModel) -> None:
        """Build the stage, its publishers, and the subscription of the base state."""
        self.later_rows(self.table, values)
        values = self.table.values()
        self.built = built = self.build_stage(values, model)
        self.stage: Any = built.stage
        self._observes, self.model = hasattr(built.stage, "observe"), model
        source = getattr(built.stage, "source", "")
        readings = Readings(model, built.sensors, built.required, before=built.before, awaits=built.awaits)
        self._inputs.open(readings, model, values.get("sensor_wait", 1.0), before=built.before)
        if self._outputs is not None:
            self._outputs.close()
        self._outputs = StageOutputs(self, [built], lambda _, reason: self.refuse(reason), self.try_again, alone=True)
        self._timeout: float | None = values.get("reference_timeout")
        if self._base_state is not None:
            self.destroy_subscription(self._base_state)
        self._base_state = self._hear_stream("flexible") if source == topics.FLEXIBLE_STATE else None
        self.start()

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Check the gains where the arm is, before the first sample is processed."""
        raw, self._idle = self._idle, None
        try:
            if raw is not None and self.built.prepare is not None:
                self.built.prepare(self._inputs.readings.joints(raw).position)
        except InputError:
            pass  # an unusable joint state is reported when the node is active
        except FlexarmError as error:
            self.diagnostics.announce(ERROR, f"cannot activate: {error}")
            return TransitionCallbackReturn.FAILURE
        return super().on_activate(state)

    def start(self) -> None:
        """Discard earlier samples."""
        self.stage.reset()
        self._inputs.reset()
        self.sample: FlexibleSample | None = None
        self._newest: dict[str, Any] = {}  # newest inputs of STREAMS by name
        self._once: dict[str, Any] = {}  # awaited inputs that no tick has had
        self._refusal: tuple[int, bytes, str] | None = None  # stamp, level and reason of the newest rejection
        self._observed: Tick | None = None  # newest observed tick
        self._tick: Tick | None = None  # newest processed tick
        self._settled = False
        self._used: dict[str, Any] = {}  # inputs of that tick

    def stop(self) -> None:
        """End what leads the arm; the gate stops it when references cease."""
        self.built.setup.end()

    def change(self, values: dict[str, Any]) -> None:
        """Apply live parameters at the next sample."""
        self.built.change(values)
        self._timeout = values.get("reference_timeout")

    # Samples ----------------------------------------------------------------------------------------------------------

    def _hear_stream(self, name: str) -> Any:
        kind, usual, read = STREAMS[name]

        def on_message(message: Any) -> None:
            if name in self.built.awaits():
                try:
                    self._once[name] = read(message, self.model, self.built)
                except InputError as error:
                    self.refuse(str(error))
                self._inputs.came(name, stamp_to_nanoseconds(message.header.stamp))
                return
            if reason := getattr(self.stage, "refusal", ""):
                self.refuse(reason, WARN)
                return
            if name not in self.stage.needs:
                return
            try:
                value = read(message, self.model, self.built)
            except InputError as error:
                if not self.INTEGRATES or self.sample is None or name not in self._awaited(self.sample):
                    raise
                value = Rejected(stamp_to_nanoseconds(message.header.stamp), str(error))
            back = (self._used[name].stamp - value.stamp) * 1e-9 if name in self._used else 0.0
            if back > 0.0:
                raise InputError(f"reference is {back:.3f} s older than the one in use: ignored")
            self._newest[name] = value
            self._answer(value.stamp)

        return self.hear(kind, self.TOPICS.get(name, usual), on_message)

    def _on_idle(self, raw: bytes) -> None:
        if not (self.active or self.is_foreign(raw)):
            self._idle = raw

    def _on_joint_state(self, raw: bytes) -> None:
        joints, stamp = self._inputs.readings.joints(raw), self._inputs.stamp
        if joints.stamp == stamp:
            return  # a repeated state that still waits for its sensors
        newest = stamp if self.sample is None else max(stamp or 0, self.sample.stamp)
        if newest is not None and joints.stamp < newest:
            back = (newest - joints.stamp) * 1e-9
            if back <= SET_BACK:
                raise InputError(f"joint state is {back:.3f} s older than the newest: ignored")
            self.start()
            self.diagnostics.report(WARN, f"time went back by {back:.3f} s: restarted", joints.stamp)
        done = [tick for tick in (self._observed, self._tick) if tick is not None and tick.stamp == joints.stamp]
        for tick in done:
            self._publish(tick)
        if done:
            return
        self._inputs.flush()
        self._inputs.put(joints)

    def _process(self, sample: FlexibleSample) -> None:
        """Take a joint state with the readings of its stamp: observe it, and answer it if the references are there."""
        if not self._observes:
            self.sample = sample
            self._answer(sample.stamp)
            return
        tick = self._tick_of(sample)
        self.stage.observe(tick)
        self.sample, self._observed = sample, tick
        self._publish(tick)
        self._answer(sample.stamp)
        self._report(tick)

    def _tick_of(self, sample: FlexibleSample, **given: Any) -> Tick:
        readings = self._inputs.readings
        given = {"flexible": readings.flexible(sample.stamp)} | given
        tick = Tick(sample, self.model.m, before=readings.before(sample.stamp), **given)
        tick.bring_near(self.model.turns)
        return tick

    def try_again(self) -> None:
        """Process the newest joint state if it has waited for something else than a reference."""
        if self.sample is not None:
            self.guarded(self._answer)(self.sample.stamp)

    def _awaited(self, sample: FlexibleSample) -> frozenset[str]:
        """Return the names of the references that a sample waits for."""
        return self.built.waits_for(sample.stamp, self._newest["tool"].stamp if "tool" in self._newest else -1)

    def _answer(self, stamp: int) -> None:
        """Process the newest joint state if everything that it waits for has arrived with this stamp, or later."""
        sample = self.sample
        if sample is None or stamp > sample.stamp or self.built.setup.delays:
            return
        needs = self._awaited(sample)
        inputs: dict[str, Any] = {name: self._newest[name] for name in needs if name in self._newest}
        if len(inputs) < len(needs) or any(one.stamp < stamp for one in inputs.values()):
            return
        if "flexible" in needs and inputs["flexible"].stamp != sample.stamp:
            return
        ahead = max((one.stamp - sample.stamp for one in inputs.values()), default=0) * 1e-9
        if ahead > AHEAD:
            raise InputError(f"reference is stamped {ahead:.3f} s ahead of the joint state")
        age = max((sample.stamp - one.stamp for one in inputs.values()), default=sample.stamp - stamp) * 1e-9
        if age > 0.0 and self._timeout is None:
            return
        if self._timeout is not None and age > self._timeout:
            raise InputError(f"reference is {age:.3f} s old, at most {self._timeout} s are accepted")
        if self._tick is not None and self._tick.stamp == sample.stamp and (self.INTEGRATES or self._same(inputs)):
            if inputs and self._same(inputs):
                self._publish(self._tick)
            return
        rejected = {name: one.reason for name, one in inputs.items() if isinstance(one, Rejected)}
        usable = {name: one for name, one in inputs.items() if name not in rejected}
        once, self._once = self._once, {}
        tick = self._tick_of(sample, **usable, **once)
        if rejected:
            tick.refused[self.NAME] = "; ".join(rejected.values())
        self.stage.update(tick)
        self._tick, self._used = tick, inputs
        self._publish(tick)
        if tick.refused:
            self.refuse("; ".join(tick.refused.values()))
        if not self._observes:  # otherwise the status is that of the observed tick
            self._report(tick)
        for error in finish([self.stage]).values():
            self.refuse(error)
        if self._settled:
            self.tidiness.tidy()
        else:  # all that a sample takes is loaded
            self._settled = True
            self.tidiness.begin()

    def _same(self, inputs: dict[str, Any]) -> bool:
        """Return whether these inputs are those of the newest processed tick: then a reference was repeated."""
        return all(name in self._used and self._used[name].stamp == one.stamp for name, one in inputs.items())

    def refuse(self, reason: str, level: bytes = ERROR) -> None:
        """Report why an input was rejected; the report has priority over lower levels for a period COMPLAINT."""
        stamp = 0 if self.sample is None else self.sample.stamp
        if self._refusal is not None and level < self._refusal[1] and stamp - self._refusal[0] <= COMPLAINT:
            return
        self._refusal = stamp, level, reason
        self.diagnostics.report(level, reason, stamp)

    def _report(self, tick: Tick) -> None:
        level, message, values = self.built.judge(tick)
        if self._refusal is not None:
            stamp, refused, reason = self._refusal
            if level < refused and tick.stamp - stamp <= COMPLAINT:
                level, message = refused, reason
        self.diagnostics.report(level, message, tick.stamp, values)

    def _publish(self, tick: Tick) -> None:
        assert self._outputs is not None  # set by build()
        self._outputs.publish(tick)
