"""Dry run: run a scenario in this process, with plant and stages as in its nodes, and report why it failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexarm_core.errors import ConfigError, FlexarmError
from flexarm_core.hardware_gate.state_machine import GateState
from flexarm_core.pipeline.pipeline import Pipeline
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, FlexibleSample
from flexarm_nodes.control_loop.stage_builders import GATE_PARAMETERS, build_gate, builders
from flexarm_nodes.node.parameters import ARM_PARAMETERS, Parameter, row_values
from flexarm_nodes.plant.parameters import PLANT_PARAMETERS, build_plant
from flexarm_sim.measurement import Measurement
from flexarm_sim.plant import Plant
from flexarm_tools.metrics.figures import Figure, compute_figures
from flexarm_tools.recording.recording import Recording
from flexarm_tools.run.composition import compose_simulation
from flexarm_tools.scenario.scenario import PLANT, NodeSpec, Scenario
from flexarm_tools.wiring.table import GATE

TOO_FAST = 1.01  # times the velocity limit: tolerance for sampling effects
EDGE = 1e-4  # [rad | m] tolerance of the position limits


@dataclass(frozen=True, slots=True)
class DryRun:
    """Result of a dry run."""

    failure: str  # why the scenario must not be run as it is; empty if it may be run
    figures: tuple[Figure, ...] = ()  # computed figures of the scenario; empty if the run did not reach its end


def dry_run(scenario: Scenario) -> DryRun:
    """Run a scenario without ROS, and evaluate it.

    It fails if a node would reject its parameters, a stage rejects its input, the gate stops the arm or has to enforce
    a limit, a joint or an elastic joint leaves its limits, the simulation diverges, or a figure misses its goal.

    Args:
        scenario: scenario without events, with stages that a ``control_loop`` can contain.
    """
    try:
        nodes = {node.executable: node for node in compose_simulation(scenario).nodes}
        model = ArmModel(scenario.robot.description, scenario.robot.tool_frame, scenario.gravity)
        pipeline, plant = _pipeline(nodes, model), _plant(nodes[PLANT], model)
    except FlexarmError as error:
        return DryRun(str(error))
    rows = _Rows(model)
    try:
        for _ in range(scenario.ticks):
            tick = pipeline.tick(_sample(plant.measure()))
            failure = _unsafe(tick, pipeline, model)
            if failure:
                return DryRun(f"at {tick.stamp * 1e-9:.2f} s {failure}")
            rows.add(tick, plant)
            plant.advance(tick.command)
    except FlexarmError as error:
        return DryRun(f"at {plant.stamp * 1e-9:.2f} s {error}")
    if pipeline.gate.gate.status.state is not GateState.RUNNING:
        return DryRun("the gate never had a reference")
    figures = compute_figures(scenario.figures, rows.recording(pipeline.gate.gate.status.stops))
    missed = [figure for figure in figures if figure.goal is not None and not figure.holds]
    reason = "; ".join(f"{f.name} is {f.value:.3g} {f.unit}, goal {f.goal.text}" for f in missed if f.goal is not None)
    return DryRun(reason, figures)


def _pipeline(nodes: Mapping[str, NodeSpec], model: ArmModel) -> Pipeline:
    stages, known = [], builders()
    for name, node in nodes.items():
        if name in (PLANT, GATE):
            continue
        if name not in known:
            raise ConfigError(f"'{name}' cannot run in this process; stages that can: {', '.join(known)}")
        stages.append(known[name].build(_values(known[name].parameters, node), model).stage)
    return Pipeline(stages, build_gate(_values(GATE_PARAMETERS, nodes[GATE]), model))


def _values(rows: tuple[Parameter, ...], node: NodeSpec) -> dict[str, Any]:
    return row_values((*ARM_PARAMETERS, *rows), node.parameters)


def _plant(node: NodeSpec, model: ArmModel) -> Plant:
    return build_plant(_values(PLANT_PARAMETERS, node), model.description)


def _sample(measurement: Measurement) -> FlexibleSample:
    """Convert a measurement into a sample for the stages.

    Raises:
        ConfigError: the joint state is incomplete: dry runs do not support sensor faults.
    """
    joints, elastic, strain = measurement.joints, measurement.elastic, measurement.strain
    if joints is None or joints.effort is None:
        raise ConfigError("the plant gave no joint state")
    return FlexibleSample(
        measurement.stamp,
        joints.position,
        joints.velocity,
        joints.effort,
        None if elastic is None else elastic.position,
        None if elastic is None else elastic.velocity,
        {} if strain is None else dict(zip(strain.names, strain.strain, strict=True)),
        {name: wrench for name, wrench in measurement.wrenches.items() if wrench is not None},
        {name: reading for name, reading in measurement.imus.items() if reading is not None},
    )


def _unsafe(tick: Tick, pipeline: Pipeline, model: ArmModel) -> str:
    """Describe in words what is wrong with a tick; empty if nothing is."""
    status = pipeline.gate.gate.status
    if tick.refused:
        return "; ".join(f"{name} refuses: {reason}" for name, reason in tick.refused.items())
    if status.stops:
        return f"hardware_gate stops the arm: {status.reason}"
    if status.limited:
        return f"hardware_gate holds the limit of {', '.join(status.limited)}"
    sample = tick.sample
    outside = (sample.position < model.lower - EDGE) | (sample.position > model.upper + EDGE)
    too_fast = np.abs(sample.velocity) > TOO_FAST * model.velocity_limit
    for joints, what in ((outside, "leaves its position limits"), (too_fast, "is faster than its limit")):
        if joints.any():
            return f"'{model.joint_names[int(np.argmax(joints))]}' {what}"
    if model.m and sample.deflection is not None:
        for name, bent in zip(model.elastic_joint_names, sample.deflection, strict=True):
            joint = model.description.joints[name]
            if not joint.lower <= bent <= joint.upper:
                return f"elastic joint '{name}' is at {bent:.3g}, outside [{joint.lower:.3g}, {joint.upper:.3g}]"
    return ""


class _Rows:
    """Collects a recording, one row per tick."""

    def __init__(self, model: ArmModel) -> None:
        self._model = model
        self._arrays: dict[str, list[Any]] = {}
        self._frame, self._axes = model.base_frame, np.zeros(6, dtype=bool)
        self._first: ArmState | None = None

    def add(self, tick: Tick, plant: Plant) -> None:
        truth, none3, none = plant.state(), np.full(3, np.nan), np.full(self._model.n, np.nan)
        wanted = next(iter(tick.given_tools.values()), None)
        asked = next(iter(tick.given.values()), None)
        if wanted is not None:
            self._frame, self._axes = wanted.frame, wanted.axes
        if self._first is None:
            self._first = ArmState(0, truth.position, truth.velocity, truth.deflection, truth.deflection_rate)
        row = {
            "time": tick.stamp * 1e-9,
            "position": truth.position,
            "velocity": truth.velocity,
            "effort": truth.effort,
            "deflection": truth.deflection,
            "deflection_rate": truth.deflection_rate,
            "desired_position": none if asked is None or asked.position is None else asked.position,
            "tool_position": truth.tool_position_in_world,
            "tool_position_in_base": truth.tool_position_in_base,
            "reference_position": none3 if wanted is None else wanted.position,
        }
        for name, value in row.items():
            self._arrays.setdefault(name, []).append(value)

    def recording(self, stops: int) -> Recording:
        arrays: dict[str, Any] = {name: np.array(values) for name, values in self._arrays.items()}
        assert self._first is not None  # a scenario has at least one tick
        period = self._model.longest_period(self._first) if self._model.m else np.nan
        return Recording.blank(
            self._model.description,
            arrays.pop("time"),
            period,
            reference_frame=self._frame,
            reference_axes=self._axes,
            watchdog_stops=stops,
            **arrays,
        )
