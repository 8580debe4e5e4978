"""StageNode: a node that runs one pipeline stage for every joint state."""

from __future__ import annotations

from typing import Any

from sensor_msgs.msg import JointState

from flexarm_core.pipeline.stage import finish
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import FlexibleSample
from flexarm_nodes.messages.cdr import stamp_of
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode
from flexarm_nodes.node.diagnostics import ERROR, WARN
from flexarm_nodes.node.input.readings import Readings
from flexarm_nodes.node.input.references import RESTARTED
from flexarm_nodes.node.input.synchronizer import Synchronizer
from flexarm_nodes.node.output.publications import Publications
from flexarm_nodes.node.stage.kind import StageKind

COMPLAINT = 1_000_000_000  # [ns] time for which a rejection stays in the diagnostics


class StageNode(ArmNode):
    """Runs a stage: passes each joint state with the inputs that the stage needs to it, and publishes its outputs.

    A joint state is processed when its required inputs have arrived with its stamp, or when the next joint state
    arrives, by the rules of ``references``. The result of a stage's ``observe`` (see Stage) is published at once.

    Attributes:
        kind: kind of the stage.
        sample: newest measurements, None before the first.
        stage: the stage.
        model: the arm.
    """

    def __init__(self, kind: StageKind) -> None:
        """Subscribe to joint states; sensors and references depend on the parameters."""
        self.kind, self.PARAMETERS, self.MASSLESS = kind, kind.parameters, kind.massless
        super().__init__(kind.name)
        self._outputs: Publications | None = None
        self._inputs = Synchronizer(
            self,
            self._process,
            lambda _, reason: self.refuse(reason),
            self._restart,
            lambda reason: self.refuse(reason, WARN),
        )
        idle = self._inputs.on_idle
        self.hear(JointState, topics.JOINT_STATES, self._on_joint_state, raw=True, idle=idle)

    # Lifecycle --------------------------------------------------------------------------------------------------------

    def build(self, values: dict[str, Any], model: ArmModel) -> None:
        """Build the stage, its publishers, and the subscription of the base state."""
        self.kind.later_rows(self.table, values)
        values = self.table.values()
        self.built = built = self.kind.built(values, model)
        self.stage: Any = built.stage
        self.model = model
        hears = self.kind.hears
        if built.stage.source == topics.FLEXIBLE_STATE:
            hears["flexible"] = topics.FLEXIBLE_STATE
        self._timeout: float = values.get("reference_timeout", 0.0)
        self._inputs.open(
            Readings(
                model,
                built.sensors,
                built.required,
                before=built.before,
                frames=values["wrench_frames"],
                prefix=self.frame_prefix,
            ),
            model,
            values.get("sensor_wait", 1.0),
            [(built, hears)],
            lambda _: self._timeout,
            patient=True,
            before=built.before,
            observe=self._observe if built.stage.observes else None,
        )
        if self._outputs is not None:
            self._outputs.close()
        self._outputs = Publications(self, [built], lambda _, reason: self.refuse(reason), self.try_again, alone=True)
        self.start()

    def check(self) -> None:
        """Check the gains at the present posture."""
        self._inputs.prepare([self.built])

    def start(self) -> None:
        """Discard earlier samples."""
        self.stage.reset()
        self._inputs.reset()
        self.sample: FlexibleSample | None = None
        self._refusal: tuple[int, bytes, str] | None = None  # stamp, level and reason of the newest rejection
        self._observed: Tick | None = None  # newest observed tick
        self._tick: Tick | None = None  # newest processed tick
        self._held: FlexibleSample | None = None  # sample that waits for the stage
        self._settled = False

    def begun(self) -> None:
        """Log what is in use."""
        self.built.interfaces.begin()

    def stop(self) -> None:
        """End motions of actions; the gate stops the arm when references cease."""
        self.built.interfaces.end()

    def change(self, values: dict[str, Any]) -> None:
        """Apply live parameters at the next sample."""
        self.built.change(values)
        self._timeout = values.get("reference_timeout", 0.0)

    # Samples ----------------------------------------------------------------------------------------------------------

    def _on_joint_state(self, raw: bytes) -> None:
        stamp = stamp_of(raw)
        done = [tick for tick in (self._observed, self._tick) if tick is not None and tick.stamp == stamp]
        for tick in done:
            self._publish(tick)
        if not done and stamp != self._inputs.stamp and self._inputs.admit(stamp):  # a repeated state may still wait
            self._inputs.put(self._inputs.readings.joints(raw))

    def _restart(self, back: float) -> None:
        """Begin anew: the clock was set back by so much [s]."""
        self.start()
        self.diagnostics.report(WARN, RESTARTED.format(back), 0)

    def _observe(self, sample: FlexibleSample) -> None:
        """Let the stage observe a joint state with the readings of its stamp."""
        tick = self._tick_of(sample)
        self.stage.observe(tick)
        if self._tick is not None:
            tick.remarks |= self._tick.remarks  # the status is that of observed ticks
        self.sample, self._observed = sample, tick
        self._publish(tick)
        self._report(tick)

    def _tick_of(self, sample: FlexibleSample, **given: Any) -> Tick:
        readings = self._inputs.readings
        given = {"flexible": readings.flexible(sample.stamp)} | given
        tick = Tick(sample, self.model.m, before=readings.before(sample.stamp), **given)
        tick.bring_near(self.model.turns)
        return tick

    def try_again(self) -> None:
        """Process the sample that waited for the stage."""
        if self._held is not None:
            self.guarded(self._process)(self._held)

    def _process(self, sample: FlexibleSample) -> None:
        """Process a joint state with the readings and references that arrived for its stamp."""
        self.sample = sample
        self._held = sample if self.built.interfaces.delays else None
        if self._held is not None:
            return
        tick = self._tick_of(sample, **self._inputs.take(sample.stamp))
        self.stage.update(tick)
        self._tick = tick
        self._publish(tick)
        if tick.refused:
            self.refuse("; ".join(tick.refused.values()))
        if not self.stage.observes:
            self._report(tick)
        for error in finish([self.stage]).values():
            self.refuse(error)
        if self._settled:
            self.tidiness.tidy()
        else:  # all that a sample takes is loaded
            self._settled = True
            self.tidiness.begin()

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
