"""Dry run: run a scenario in this process, with plant and stages as in its nodes, and report why it failed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import FlexarmError
from flexarm_core.hardware_gate.state_machine import GateState
from flexarm_core.pipeline.tick import Tick
from flexarm_tools.metrics.figures import Figure, compute_figures
from flexarm_tools.run.in_process import ProcessRun
from flexarm_tools.scenario.scenario import Scenario

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
        scenario: scenario with stages that a ``control_loop`` can contain.
    """
    try:
        run = ProcessRun(scenario)
    except FlexarmError as error:
        return DryRun(str(error))
    try:
        recording = run.run(lambda tick: _unsafe(tick, run))
    except FlexarmError as error:
        return DryRun(f"at 0.00 s {error}")
    if recording.ended_early:
        return DryRun(f"at {recording.ticks / scenario.rate:.2f} s {recording.ended_early}")
    if run.gate.status.state is not GateState.RUNNING:
        return DryRun("the gate never had a reference")
    figures = compute_figures(scenario.figures, recording)
    missed = [figure for figure in figures if figure.goal is not None and not figure.holds]
    reason = "; ".join(f"{f.name} is {f.shown}, goal {f.goal.text}" for f in missed if f.goal is not None)
    return DryRun(reason, figures)


def _unsafe(tick: Tick | None, run: ProcessRun) -> str:
    """Describe in words what is wrong with a tick; empty if nothing is."""
    status, model = run.gate.status, run.model
    if tick is None:
        return "the plant gave no joint state"
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
