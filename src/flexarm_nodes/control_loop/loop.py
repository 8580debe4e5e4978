"""Node control_loop: any stages of one arm in one process, in the order of a pipeline (core: pipeline).

It publishes on the same topics as the separate nodes, so that recorder and viewer work unchanged. The parameters of a
stage are those of its own node, prefixed with its name: ``rns_vibration_controller.law``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sensor_msgs.msg import JointState

from flexarm.msg import FlexibleState
from flexarm_core.errors import ConfigError, FlexarmError, InputError
from flexarm_core.pipeline.pipeline import Pipeline
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array, FlexibleSample
from flexarm_nodes.hardware_gate.gate import HardwareGateNode
from flexarm_nodes.hardware_gate.output import GateOutput
from flexarm_nodes.hardware_gate.parameters import gate_stage
from flexarm_nodes.messages.cdr import stamp_of
from flexarm_nodes.messages.state_rate import StateRate
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode
from flexarm_nodes.node.built_stage import BuiltStage
from flexarm_nodes.node.diagnostics import ERROR, OK, WARN, Diagnostics
from flexarm_nodes.node.input.readings import FLEXIBLE, Readings
from flexarm_nodes.node.input.references import RESTARTED
from flexarm_nodes.node.input.synchronizer import Synchronizer
from flexarm_nodes.node.output.publications import Publications
from flexarm_nodes.node.parameters import Parameter
from flexarm_nodes.node.prefixed_table import PrefixedTable
from flexarm_nodes.node.tick_times import TickTimes
from flexarm_nodes.registry import GATE, STAGES, added_stages, stage_kinds

USUAL = ["reference_generator", "rns_vibration_controller", GATE]
ANSWER_ARRIVES = 0.1  # [s] by then a command has arrived; shorter than the interval of repeated states
LOOK = 0.05  # [s] between two looks at the status of the stages, where nothing seems to have changed
REHEARSED = 3  # ticks of the rehearsal
CATCHES_UP = 0.1  # [s] after a long rehearsal, by when the middleware has delivered what came during it
SHOWN_AFTER = 200  # ticks between two updates of the reported tick times


class ControlLoop(ArmNode):
    """Reads joint states, sensors and references; publishes commands and the output of every stage.

    Readings, and references of other nodes, are waited for by the rules of ``references``.
    """

    KEEPS_LIMITS = True
    PARAMETERS = (
        Parameter("stages", "string[]", USUAL,
            f"stages in order of execution, {GATE} last; available: {', '.join(STAGES)}"),
        Parameter("sensor_wait", "double", 0.005,
            "longest wall time that a joint state waits for readings and references of its stamp", "s", 1e-4),
    )  # fmt: skip

    def __init__(self) -> None:
        """Declare the parameters of every stage; the topics depend on the selected stages."""
        tables = {name: kind.parameters for name, kind in stage_kinds().items()}  # imported before others see this node
        super().__init__("control_loop")
        for name, rows in {**tables, GATE: HardwareGateNode.PARAMETERS}.items():
            self._table_of(name).declare(rows)
        self._states: Any = None  # the subscription
        self._commands = GateOutput(self, lambda: self._report())
        self._inputs = Synchronizer(self, self._update, self._refuse, self._restart, self._warn)
        self._output: Publications | None = None
        self._said: dict[str, Diagnostics] = {}  # status of each stage
        self._times, self._times_shown = TickTimes(), {"ticks": "0"}

    # Lifecycle --------------------------------------------------------------------------------------------------------

    def build(self, values: dict[str, Any], model: ArmModel) -> None:
        """Build each stage from its parameters, with the parameter table of its own node."""
        names, known = values["stages"], stage_kinds()
        if not names or names[-1] != GATE or any(name not in known for name in names[:-1]):
            raise ConfigError(
                f"stages are {', '.join(names) or 'none'}; expected {GATE} as the last, before it any of"
                f" {', '.join(known)}{''.join(f'; {fault}' for fault in added_stages()[1])}"
            )
        self.newest = topics.NEWEST  # what stages subscribe to themselves are requests
        for name in names[:-1]:
            known[name].later_rows(self._table_of(name), self._of(name, values))
        values = self.table.values()
        self._built: dict[str, BuiltStage] = {}
        for name in names[:-1]:
            self._built[name] = known[name].built(self._of(name, values), model)
        stages, gate_values = [built.stage for built in self._built.values()], self._of(GATE, values)
        if self._output is not None:
            self._output.close()
        for told in self._said.values():
            told.close()
        self._said = {name: Diagnostics(self, name, self.diagnostics) for name in self._built}
        self._output = Publications(self, list(self._built.values()), self._refuse, self.try_again)
        own = ArmModel(model.description, model.tool_frame, model.gravity)  # a model has memory, and the gate a thread
        self._pipeline = Pipeline(stages, gate_stage(gate_values, own))
        self._model = model
        self._lockstep = gate_values["lockstep"]
        self.newest = topics.NEWEST if self._lockstep else topics.UNCONFIRMED
        self._commands.open(self._pipeline.gate.gate, gate_values)
        self._note_timeouts(values)
        self._inputs.open(
            Readings(model, self._sensors(), frames=values["wrench_frames"], prefix=self.frame_prefix),
            model,
            values["sensor_wait"],
            [(built, known[name].hears) for name, built in self._built.items()],
            lambda name: self._timeouts[name],
            patient=self._lockstep,
        )
        if self._states is not None:
            self.destroy_subscription(self._states)
        idle = self._inputs.on_idle
        self._states = self.hear(JointState, topics.JOINT_STATES, self._on_joint_state, raw=True, idle=idle)
        self._forget()

    def state_rate(self, values: dict[str, Any]) -> StateRate:
        """Return what compares the rate of joint states with the parameters of the stages."""
        rates = {f"{stage}.rate": self._of(stage, values).get("rate") for stage in values["stages"]}
        return StateRate({name: rate for name, rate in rates.items() if rate is not None}, f"{GATE}.rate")

    def _table_of(self, stage: str) -> PrefixedTable:
        return PrefixedTable(self.table, stage)

    def _of(self, stage: str, values: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters of a stage as its own node would have them."""
        return self._table_of(stage).own(values)

    def _sensors(self) -> list[tuple[str, str]]:
        """Return the sensors of all stages; the motion of the base is one of them unless a stage estimates it."""
        every = self._built.values()
        sensors = [sensor for built in every for sensor in built.sensors if sensor != FLEXIBLE]
        if any(output.kind is FlexibleState for built in every for output in built.outputs):
            return sensors
        sources = [self._pipeline.gate.source, *(stage.source for stage in self._pipeline.stages)]
        needed = topics.FLEXIBLE_STATE in sources or any(FLEXIBLE in built.sensors for built in every)
        return [*sensors, *([FLEXIBLE] if needed else ())]

    def _note_timeouts(self, values: dict[str, Any]) -> None:
        self._timeouts = {name: self._of(name, values).get("reference_timeout", 0.0) for name in self._built}

    def check(self) -> None:
        """Check the gains of all stages at the present posture."""
        self._inputs.prepare(self._built.values())

    def start(self) -> None:
        """Discard earlier samples, and wait for the controller that takes the commands."""
        self._forget()
        self._commands.start()

    def begun(self) -> None:
        """Log the active configuration."""
        for built in self._built.values():
            built.interfaces.begin()

    def _forget(self) -> None:
        self._pipeline.reset()
        self._pipeline.refuses_compilation = False
        self._inputs.reset()
        self._times.reset()
        self._shown_at = 0  # number of ticks at which the reported tick times are updated
        self._seen: tuple[Any, ...] = ()  # what a tick has said when it was reported last
        self._told = 0.0  # when that was [s]
        self._rehearsed = False
        self._begins = 0.0  # before this, states are not processed: they may have waited for a rehearsal to end [s]
        self._sent = 0.0  # when the newest command was sent [s]
        self._came = 0.0  # when the waiting joint state arrived [s]
        self._answered: int | None = None  # stamp of the newest processed sample [ns]
        self._command: Array | None = None  # command for that sample
        self._mode = ""  # command mode of that command
        self._stamp = 0  # stamp of the newest joint state [ns]
        self._age: float | None = None  # age of the waiting joint state when it arrived [s]
        self._ending = False
        self._held: FlexibleSample | None = None  # sample that waits for a stage

    def brake(self) -> None:
        """Brake the arm to rest with the joint states that still arrive; no other stage sees them."""
        self._inputs.flush()
        self._ending = True
        self._commands.brake(lambda: self.take_waiting(topics.JOINT_STATES))

    def stop(self) -> None:
        """Send the command that holds the arm without control: gravity effort, or zero velocity."""
        self._inputs.drop()
        for built in self._built.values():
            built.interfaces.end()
        for told in self._said.values():
            told.announce(OK, "inactive")
        self._commands.stop()
        self.get_logger().info(self._times.summary())

    def change(self, values: dict[str, Any]) -> None:
        """Apply live parameters at the next sample; where one stage rejects its own, none has changed."""
        mode, before = values[f"{GATE}.command_mode"], self.table.values()
        self._commands.check_mode(mode)
        changed: list[str] = []
        try:
            for name, built in self._built.items():
                built.change(self._of(name, values))
                changed.append(name)
        except FlexarmError:
            for name in changed:
                self._built[name].change(self._of(name, before))
            raise
        self._note_timeouts(values)
        self._commands.change_mode(mode)  # last: nothing that a stage rejects interrupts the gate

    # Samples ----------------------------------------------------------------------------------------------------------

    def _on_joint_state(self, raw: bytes) -> None:
        came, stamp = self.taken, stamp_of(raw)
        if stamp == self._answered:
            # The plant repeats a state whose command seems to be lost. Commands have no stamp: a second command that is
            # sent while the first is still on its way would be taken as the command for the next state.
            if came - self._sent > ANSWER_ARRIVES and self._mode == self._pipeline.gate.gate.config.command_mode:
                with self._commands.lock:
                    self._send(self._command)
                self._sent = came
            return
        if stamp == self._inputs.stamp:
            return  # the same repeated state, but it still waits for its sensors
        if not self._inputs.admit(stamp):
            return
        if came < self._begins:
            return  # it may have waited for a rehearsal: the next one would seem to have jumped ahead
        self._stamp = stamp
        self._pipeline.gate.lag(self.velocity_delay)
        age = None if self._lockstep else self.age_of(stamp)
        try:
            sample = self._inputs.readings.joints(raw)
            self._pipeline.gate.gate.check_age(age)
        except InputError as error:
            with self._commands.lock:
                self._send(self._pipeline.refuse(stamp, str(error)))
            self._report()
            return
        if self._ending:
            with self._commands.lock:
                self._send(self._pipeline.brake(sample, age))
            return
        self._came, self._age = came, age
        self._inputs.put(sample)

    def _restart(self, back: float) -> None:
        """Let the stages begin anew: the clock was set back by so much [s]; the gate stops for it itself."""
        self._pipeline.reset_stages()
        self._inputs.reset()
        self._held = None
        for told in self._said.values():
            told.report(WARN, RESTARTED.format(back), 0)

    def _update(self, sample: FlexibleSample) -> None:
        """Process a joint state with the readings that arrived for its stamp."""
        if not self._rehearsed and self._rehearse(sample):
            return
        self._held = sample if any(built.interfaces.delays for built in self._built.values()) else None
        if self._held is not None:
            return
        flexible = self._inputs.readings.flexible(sample.stamp)
        given = self._inputs.take(sample.stamp)
        tick: Tick = self._pipeline.lead(sample, self._age, **({"flexible": flexible} | given))
        with self._commands.lock:
            self._commands.check_lateness(self._age)
            self._pipeline.answer(tick)
            self._answered, self._command = tick.stamp, tick.command
            self._mode = self._pipeline.gate.gate.config.command_mode
            self._send(tick.command)
        self._sent = time.perf_counter()
        self._times.add((self._sent if tick.command is None else self._commands.sent) - self._came)
        assert self._output is not None
        self._output.publish(tick)
        self._tell(tick)
        for name, error in self._pipeline.after().items():
            self._refuse(name, error)
        self.tidiness.tidy()

    def _tell(self, tick: Tick) -> None:
        """Report what the stages say of a sample; against the clock only where it seems to be new, or every LOOK."""
        seen, now = (tick.refused, tick.remarks, self._pipeline.gate.gate.status), time.monotonic()
        if not self._lockstep and seen == self._seen and now - self._told < LOOK:
            return
        self._seen, self._told = seen, now
        remarks = []
        for name, built in self._built.items():
            refused = tick.refused.get(name, "")
            level, text, values = (ERROR, refused, {}) if refused else built.judge(tick)
            self._said[name].report(level, text, tick.stamp, values)
            if level != OK:
                remarks.append(f"{name}: {text}")
        self._report(remarks)

    def try_again(self) -> None:
        """Process the sample that waited for a stage."""
        if self._held is not None:
            self.guarded(self._update)(self._held)

    def _rehearse(self, sample: FlexibleSample) -> bool:
        """Run a first tick without publishing it: gains are checked, and everything that is loaded lazily gets loaded.

        Returns:
            Whether this took so long that the sample is out of date: longer than the state timeout, not in lockstep.
        """
        self._rehearsed = True
        if any(built.interfaces.waits for built in self._built.values()):
            return False  # requests made before the first sample must not be discarded with the rehearsal
        with self._commands.lock:  # the watchdog must not act on what the gate believes meanwhile
            self._run_rehearsal(sample)
        self._pipeline.refuses_compilation = not self._inputs.patient
        self.tidiness.begin()
        self.take_waiting(topics.CLOCK)  # else the next state seems to come from the future
        took = time.perf_counter() - self._came
        self._came = time.perf_counter()
        if self._lockstep or took <= self._pipeline.gate.gate.config.state_timeout:
            return False
        self._begins = self._came + CATCHES_UP
        return True

    def _run_rehearsal(self, sample: FlexibleSample) -> None:
        period, given = round(self._pipeline.gate.gate.config.period * 1e9), self._inputs.references.newest()
        try:
            for later in range(REHEARSED):  # what the first sample does not load, one with a history does
                tick: Tick = self._pipeline.tick(replace(sample, stamp=sample.stamp + later * period), **given)
                self._pipeline.after()
            assert self._output is not None
            self._output.prepare(tick)
        finally:  # the run must not begin where the rehearsal ended
            self._pipeline.reset()

    def flush(self) -> None:
        """Wait for a short time until the drives have the last command."""
        self._commands.flush()

    def destroy_node(self) -> None:
        """End the watchdog first."""
        self._commands.close()
        super().destroy_node()

    def _send(self, command: Array | None) -> None:
        self._commands.send(command, self._stamp)

    def _refuse(self, stage: str, reason: str) -> None:
        """Report why an input of a stage was rejected, empty for a sensor, or what it failed in after a sample."""
        if stage in self._said:
            self._said[stage].report(ERROR, reason, self._stamp)
        else:
            self._commands.report(self._stamp, reason)  # beside what the gate says

    def _warn(self, reason: str) -> None:
        self._report([reason])

    def _report(self, remarks: Sequence[str] = ()) -> None:
        """Report the status of the gate, and as a warning what the stages say in their own statuses."""
        if self._times.count >= self._shown_at:
            self._times_shown, self._shown_at = self._times.values(), self._times.count + SHOWN_AFTER
        self._commands.report(self._stamp, "", "; ".join(remarks), self._times_shown)
