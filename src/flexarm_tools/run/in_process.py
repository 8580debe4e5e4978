"""Run a scenario in this process: plant, stages and gate as in ``control_loop``, in lockstep, without a middleware.

Every message that a recording is made of is made by the functions that the nodes use, so that the recording of a run is
that of the same scenario with its stages in one node, bit for bit.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from flexarm_core.errors import ConfigError, FlexarmError, InputError
from flexarm_core.hardware_gate.gate import HardwareGate
from flexarm_core.pipeline.gate_stage import GateStage
from flexarm_core.pipeline.pipeline import Pipeline
from flexarm_core.pipeline.stage import Stage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.slope import LEAST_SPAN
from flexarm_core.types import Array, FlexibleSample
from flexarm_nodes.control_loop.loop import ControlLoop
from flexarm_nodes.hardware_gate.gate import HardwareGateNode
from flexarm_nodes.hardware_gate.output import gate_words
from flexarm_nodes.hardware_gate.parameters import gate_stage
from flexarm_nodes.messages.cdr import message_reader
from flexarm_nodes.messages.conversions import joint_numbers, joint_readings_form, wrench_form
from flexarm_nodes.messages.differentiated import Differentiated
from flexarm_nodes.messages.flexible import imu_form, strain_form
from flexarm_nodes.messages.form import Form, FormWriter
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import BuiltStage
from flexarm_nodes.node.diagnostics import ERROR, OK, WARN
from flexarm_nodes.node.given_table import GivenTable
from flexarm_nodes.node.input.readings import FLEXIBLE, READERS, Readings
from flexarm_nodes.node.output.publications import output_topics
from flexarm_nodes.node.parameters import ARM_PARAMETERS, described_arm
from flexarm_nodes.node.prefixed_table import PrefixedTable
from flexarm_nodes.plant.ground_truth import true_outputs
from flexarm_nodes.plant.parameters import (
    PLANT_PARAMETERS,
    build_plant,
    plant_description,
    plant_friction,
    plant_surfaces,
)
from flexarm_nodes.registry import CONTROL_LOOP, GATE, stage_kinds
from flexarm_sim.measurement import Measurement
from flexarm_sim.plant import Plant
from flexarm_tools.process.progress import Progress
from flexarm_tools.recording.message_blocks import MOST, FormBlocks
from flexarm_tools.recording.message_rows import MessageRows
from flexarm_tools.recording.recording import Recording, RunEvent
from flexarm_tools.run.compile_beside import compile_beside
from flexarm_tools.run.composition import compose_simulation, in_one_process
from flexarm_tools.run.parameter_file import plain_value
from flexarm_tools.run.runner import natural_period
from flexarm_tools.scenario.scenario import PLANT, EventSpec, NodeSpec, Scenario

reader_of = cache(message_reader)
LEVELS = {OK: "info", WARN: "warn", ERROR: "error"}
REPEAT_AFTER = 0.5  # [s] simulation time in which a status that only changes its text is told once
SHOWN = 50  # ticks between two updates of the progress


def run_in_process(scenario: Scenario, progress: Progress, interrupted: Callable[[], str] = str) -> Recording:
    """Run a scenario in this process and return its recording.

    Args:
        scenario: what to run.
        progress: shows the progress of the run.
        interrupted: returns why the run must end now; empty if it goes on.

    Raises:
        FlexarmError: the run is not possible so, with the way that is; or it could not be completed.
    """
    return ProcessRun(scenario).run(lambda _: interrupted(), progress.show)


class _Loop:
    """Stages and gate, as the node control_loop builds them from its parameters."""

    def __init__(self, node: NodeSpec) -> None:
        known = stage_kinds()
        self._given = {name: _plain(value) for name, value in node.parameters.items()}
        rows = {**{name: one.parameters for name, one in known.items()}, GATE: HardwareGateNode.PARAMETERS}
        self.table = GivenTable((*ARM_PARAMETERS, *ControlLoop.PARAMETERS), self._given)
        for name, own in rows.items():
            PrefixedTable(self.table, name).declare(own)
        values = self.table.values()
        self.mode = values[f"{GATE}.command_mode"]
        self.model = _arm(values)
        with compile_beside(self._gate):
            names = values["stages"][:-1]
            for name in names:
                known[name].later_rows(PrefixedTable(self.table, name), self._of(name, values))
            values = self.table.values()
            self.built: dict[str, BuiltStage] = {
                name: known[name].built(self._of(name, values), self.model) for name in names
            }
        self.pipeline = Pipeline([one.stage for one in self.built.values()], self._gate())
        sensors = [sensor for one in self.built.values() for sensor in one.sensors if sensor != FLEXIBLE]
        self.readings = Readings(self.model, sensors, frames=values["wrench_frames"])
        self.rates = Differentiated(self.model, values["velocity_window"], self._count_delay)

    def _count_delay(self, rates: Differentiated) -> None:
        for one in self.built.values():
            one.stage.lag(rates.delay)
        self.pipeline.gate.lag(rates.delay)

    def _gate(self) -> GateStage:
        own_model = ArmModel(self.model.description, self.model.tool_frame, self.model.gravity)
        return gate_stage(self._of(GATE, self.table.values()), own_model)

    def _of(self, stage: str, values: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters of a stage as its own node would have them."""
        return PrefixedTable(self.table, stage).own(values)

    def change(self, given: Mapping[str, Any]) -> None:
        """Change live parameters.

        Raises:
            ConfigError: a stage rejects them, or they cannot change in a run.
        """
        values = self.table.changed(given)
        if values[f"{GATE}.command_mode"] != self.mode:
            raise ConfigError("command_mode changes only with a controller_manager")
        for name, built in self.built.items():
            built.change(self._of(name, values))
        self.table.keep(given)


class _Plant:
    """Plant, and the messages that its node publishes."""

    def __init__(self, node: NodeSpec) -> None:
        self.table = GivenTable(
            (*ARM_PARAMETERS, *PLANT_PARAMETERS), {k: _plain(v) for k, v in node.parameters.items()}
        )
        values = self.table.values()
        model = _arm(values)
        self.plant, self.rates = build_plant(values, model.description), values["sensors.joint_velocity.reported"]
        description = plant_description(values, model.description)
        self.frames = {name: sensor.frame for name, sensor in description.force_torque_sensors.items()}
        self.imus = {name: sensor.frame for name, sensor in description.imus.items()}
        self._rubs = plant_friction(values, len(self.plant.joint_names)) is not None
        frames = (model.world_frame, model.base_frame)
        self.true = true_outputs(self.plant, frames, touches=bool(plant_surfaces(values)), friction=self._rubs)

    def sensors(self, said: Measurement) -> list[tuple[tuple[str, str], str, Form]]:
        """Return (kind, name), topic and message of every reading except the joint state."""
        found: list[tuple[tuple[str, str], str, Form]] = []
        for name, wrench in said.wrenches.items():
            if wrench is not None:
                form = wrench_form(said.stamp, self.frames[name], wrench)
                found.append((("wrench", name), topics.wrench_topic(name), form))
        for name, reading in said.imus.items():
            if reading is not None:
                form = imu_form(said.stamp, self.imus[name], reading)
                found.append((("imu", name), topics.imu_topic(name), form))
        if said.strain is not None:
            found.append((("strain", ""), topics.STRAIN, strain_form(said.stamp, said.strain)))
        return found

    def change(self, given: Mapping[str, Any]) -> None:
        """Change surfaces and friction, as the node of the plant does."""
        values = self.table.changed(given)
        friction = plant_friction(values, len(self.plant.joint_names))
        if self._rubs != (friction is not None):
            raise ConfigError("joint friction comes and goes only while the node is not configured: begin with zeros")
        self.plant.change_surfaces(plant_surfaces(values))
        if friction:
            self.plant.change_friction(friction)
        self.table.keep(given)


@dataclass(slots=True)
class _Told:
    """What a source has told last."""

    status: tuple[bytes, str] = (OK, "started")
    at: float = -np.inf  # [s]


class ProcessRun:
    """A run of a scenario in this process.

    Attributes:
        model: the robot as the stages know it.
    """

    def __init__(self, scenario: Scenario) -> None:
        """Build plant, stages and gate.

        Raises:
            ConfigError: a node would refuse its parameters, or the run needs nodes.
        """
        if scenario.mode != "lockstep":
            raise ConfigError("a run in one process is in lockstep: --lockstep, or --engine nodes")
        self._scenario = scenario
        one = in_one_process(scenario)
        for event in one.events:
            if event.node not in (PLANT, CONTROL_LOOP) or not event.parameters:
                raise ConfigError(f"the event at {event.at:g} s needs node '{event.node}': --engine nodes")
        nodes = {node.name: node for node in compose_simulation(one).nodes}
        others = [name for name in nodes if name not in (PLANT, CONTROL_LOOP)]
        if others:
            raise ConfigError(f"node {', '.join(others)} needs a process of its own: --engine nodes")
        self._loop = _Loop(nodes[CONTROL_LOOP])
        self._plant = _Plant(nodes[PLANT])
        self._pending = list(one.events)
        robot = scenario.true_robot
        self._model = ArmModel(robot.description, robot.tool_frame, scenario.gravity)
        sensors = list(self._model.description.force_torque_sensors)
        self._rows = MessageRows(self._model, topics.wrench_topic(sensors[0]) if sensors else "")
        self._known = self._rows.columns(scenario.ticks)
        self._events: list[RunEvent] = []
        self._told: dict[str, _Told] = defaultdict(_Told)
        self._unanswered = 0
        self._blocks = {topic: FormBlocks(partial(fill, self._known)) for topic, fill in self._rows.fills.items()}
        takers: dict[str, Callable[[int, Any], None]] = {topic: blocks.add for topic, blocks in self._blocks.items()}
        takers |= {topic: partial(fill, self._known) for topic, fill in self._rows.texts.items()}
        names, mapped = output_topics(list(self._loop.built.values())), nodes[CONTROL_LOOP].remappings
        self._outputs: list[tuple[Callable[[int, Any], None], Callable[[Tick], Any]]] = []
        self._later: list[tuple[Callable[[int, Any], None], Callable[[Tick], Any]]] = []  # of outputs that can wait
        for name, built in self._loop.built.items():
            for out in built.outputs:
                topic = names[name, out.topic]
                if (topic := mapped.get(topic, topic)) in takers:
                    (self._later if out.later else self._outputs).append((takers[topic], out.brief or out.make))
        self._writers: dict[str, FormWriter] = defaultdict(FormWriter)  # by topic
        self._named: list[tuple[str, ...]] | None = None  # of the newest joint state, if it was usable
        self._taken: dict[str, Form] = {}  # by topic, the newest form that was read as a message and was usable
        self._first = self._plant.plant.state()
        self._traces: list[tuple[int, Any]] = []  # of true states by row, which are not recorded yet
        self._ticks: list[tuple[int, Tick]] = []  # by row, of which these outputs are not recorded yet
        self._tick: Tick | None = None
        self._natural: float | None = None  # natural period [s], once it is known
        self.model = self._loop.model

    @property
    def gate(self) -> HardwareGate:
        """The gate."""
        return self._loop.pipeline.gate.gate

    @property
    def plant(self) -> Plant:
        """The plant, which holds each command until the next sample."""
        return self._plant.plant

    @property
    def stages(self) -> dict[str, Stage]:
        """Stages by name, without the gate."""
        return {name: built.stage for name, built in self._loop.built.items()}

    @property
    def parameters(self) -> dict[str, Any]:
        """Present parameters of all stages, each with the name of its stage as a prefix."""
        return self._loop.table.values()

    def change(self, given: Mapping[str, Any]) -> None:
        """Change live parameters of stages from the next tick on.

        Raises:
            ConfigError: a stage rejects them, or they cannot change in a run.
        """
        self._loop.change(given)

    def measure(self, row: int) -> Measurement:
        """Apply the events of a tick that are not applied yet, and return the sensor readings."""
        self._apply_events(row)
        return self.plant.measure()

    def answer(self, row: int) -> Array | None:
        """Return the command for the present sample of the plant, after events; None: nothing answers it.

        :meth:`run` does this for every sample, in order. Who does it instead advances the plant as well.
        """
        said = self.measure(row)
        self._tick = None
        command = self._answer(row, said)
        expected = self._plant.rates or said.stamp >= LEAST_SPAN  # one position gives no velocity
        self._unanswered += command is None and said.joints is not None and expected
        return command

    def record(self, row: int) -> None:
        """Record the true state of the plant at a tick."""
        self._traces.append((row, self.plant.trace()))
        if len(self._traces) == MOST:
            self._store()

    def _store(self) -> None:
        """Write the true states that are not in the recording yet."""
        if self._traces:
            rows, traces = map(list, zip(*self._traces, strict=True))
            stamp, states = self.plant.stamp, self.plant.traced(traces)
            for topic, (_, make) in self._plant.true.items():
                self._blocks[topic].add_many(rows, make(stamp, self._first), make(stamp, states))
            self._traces.clear()

    def _make_later(self) -> None:
        """Record the outputs that can wait: one right after the other, their code stays in the caches."""
        for take, make in self._later:
            for row, tick in self._ticks:
                if (made := make(tick)) is not None:
                    take(row, made)
        self._ticks.clear()

    def run(self, watch: Callable[[Tick | None], str], show: Callable[[float, float], None] | None = None) -> Recording:
        """Run to the end and return the recording.

        Args:
            watch: called after each sample with its tick, None if there was no usable joint state; a text ends the run.
            show: called now and then with time and end of the run [s].

        Raises:
            FlexarmError: the run could not be completed, and is too short for a recording.
        """
        scenario, ended, row, frozen = self._scenario, "", 0, gc.get_freeze_count()
        if not frozen:  # what is loaded is not looked through again and again
            gc.freeze()
        try:
            for row in range(scenario.ticks):
                command = self.answer(row)
                self.record(row)
                if ended := watch(self._tick):
                    break
                self.plant.advance(command)
                if show is not None and row % SHOWN == SHOWN - 1:
                    show((row + 1) / scenario.rate, scenario.duration)
            else:
                row = scenario.ticks
        except FlexarmError as error:
            ended = str(error).splitlines()[0]
            if row < 2:
                raise
        finally:
            if not frozen:
                gc.unfreeze()
        if ended:
            self._events.append(RunEvent(row / scenario.rate, "runner", "error", ended))
            if row < 2:
                raise FlexarmError(ended)
        return self.recording(0, row, ended)

    def _answer(self, row: int, said: Measurement) -> Array | None:
        """Return the command for a measurement; None: the joint state is missing, or nothing answers it."""
        if said.joints is None and said.elastic is None:
            return None
        readings, pipeline = self._loop.readings, self._loop.pipeline
        for sensor, topic, form in self._plant.sensors(said):
            if topic in self._blocks:
                self._blocks[topic].add(row, form)
            if sensor in readings.sensors:
                try:
                    if (last := self._taken.get(topic)) is not None and form.alike(last):
                        numbers = [np.asarray(form.numbers[field], float) for field in READERS[sensor[0]].fields]
                        readings.take_numbers(sensor, said.stamp, numbers)
                    else:
                        readings.take_raw(sensor, self._writers[topic].write(form), reader_of(form.kind))
                        self._taken[topic] = form
                except InputError as error:
                    self._tell(CONTROL_LOOP, ERROR, str(error), said.stamp)
        try:
            joints = self._joints(said)
            if joints is None:
                return None
        except InputError as error:
            command = pipeline.refuse(said.stamp, str(error))
            self._tell(CONTROL_LOOP, *gate_words(pipeline.gate.gate.status, topics.RESET_GATE), said.stamp)
            return command
        self._tick = tick = pipeline.tick(readings.sample(joints))
        for take, make in self._outputs:
            if (made := make(tick)) is not None:
                take(row, made)
        self._ticks.append((row, tick))
        if len(self._ticks) == MOST:
            self._make_later()
        self._tell_of(tick)
        for name, failed in pipeline.after().items():
            self._tell(name, ERROR, failed, said.stamp)
        return tick.command

    def _joints(self, said: Measurement) -> FlexibleSample | None:
        """Return the sample of the joint state of a measurement; None: positions give no velocity yet.

        Raises:
            InputError: it is not usable.
        """
        readings, there = self._loop.readings, [one for one in (said.joints, said.elastic) if one is not None]
        names = [one.names for one in there]
        if names == self._named and (sample := readings.joint_numbers(said.stamp, joint_numbers(there))) is not None:
            return sample
        self._named = None
        if not self._plant.rates:
            form = joint_readings_form(said.stamp, there, rates=False)
            raw = self._loop.rates(self._writers[topics.JOINT_STATES].write(form))
            return None if raw is None else readings.joints(raw)
        joints = readings.joints(self._writers[topics.JOINT_STATES].write(joint_readings_form(said.stamp, there)))
        self._named = names
        return joints

    def _apply_events(self, row: int) -> None:
        while self._pending and round(self._pending[0].at * self._scenario.rate) <= row:
            event = self._pending.pop(0)
            self._change(event)
            change = ", ".join(f"{key} = {plain_value(value)}" for key, value in event.parameters.items())
            self._events.append(RunEvent(event.at, event.node, "info", change))

    def _change(self, event: EventSpec) -> None:
        given = {key: plain_value(value) for key, value in event.parameters.items()}
        (self._plant if event.node == PLANT else self._loop).change(given)

    def _tell_of(self, tick: Tick) -> None:
        """Tell what the stages and the gate say of a sample."""
        remarks = []
        for name, built in self._loop.built.items():
            refused = tick.refused.get(name, "")
            level, text = (ERROR, refused) if refused else built.judge(tick)[:2]
            self._tell(name, level, text, tick.stamp)
            if level != OK:
                remarks.append(f"{name}: {text}")
        status = self.gate.status
        level, text = gate_words(status, topics.RESET_GATE, warning="; ".join(remarks) or self.gate.doubt)
        self._tell(CONTROL_LOOP, level, text, tick.stamp)

    def _tell(self, source: str, level: bytes, text: str, stamp: int) -> None:
        told, now = self._told[source], stamp * 1e-9
        if (level, text) == told.status or (level == told.status[0] != OK and now - told.at < REPEAT_AFTER):
            return
        told.status, told.at = (level, text), now
        self._events.append(RunEvent(now, source, LEVELS[level], text))

    def recording(self, first: int, end: int, ended: str = "") -> Recording:
        """Return the recording of some ticks.

        Args:
            first: first tick.
            end: tick after the last one, at least two after the first.
            ended: why the run ended early; empty: it did not.
        """
        self._store()
        self._make_later()
        for blocks in self._blocks.values():
            blocks.end()
        period, status = 1.0 / self._scenario.rate, self.gate.status
        whole = len(self._known["position"])
        cut = {
            name: value[first:end] if isinstance(value, np.ndarray) and value.shape[:1] == (whole,) else value
            for name, value in self._known.items()
        }
        if self._natural is None:
            self._natural = natural_period(self._scenario, self._model)
        return Recording.blank(
            self._model.description,
            np.arange(first, end, dtype=float) * period,
            self._natural,
            events=tuple(sorted(self._events, key=lambda event: event.time)),
            watchdog_stops=status.stops,
            trips=status.trips,
            lockstep_timeouts=self._unanswered,
            ended_early=ended,
            **cut,
        )


def _arm(values: Mapping[str, Any]) -> ArmModel:
    return described_arm(values, parse_robot_description(values["robot_description"]))


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
