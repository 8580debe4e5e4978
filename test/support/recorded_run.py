"""A scenario run in this process, without ROS, and recorded as the recorder does: for the metrics of its figures."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from pipeline_run import sample_of
from scenario_pipeline import built_plant, changeable_pipeline

from flexarm_core.hardware_gate.state_machine import GateState
from flexarm_core.pipeline.tick import Tick
from flexarm_core.types import Array
from flexarm_nodes.node.diagnostics import ERROR
from flexarm_sim.backend import PlantState
from flexarm_tools.recording.recording import Recording
from flexarm_tools.scenario.scenario import Scenario

LAW = "rns_vibration_controller"


def recorded(scenario: Scenario, late: int = 0, until: float | None = None) -> tuple[Recording, tuple[str, ...]]:
    """Run a scenario, and return what was recorded, and what stages and gate said that makes a run fail.

    Args:
        scenario: its pushes, and events that set parameters, happen at their time.
        late: samples that every command is late.
        until: end [s]; None: that of the scenario.

    Raises:
        PlantDivergedError: the plant diverged.
    """
    pipeline, built, model = changeable_pipeline(scenario)
    plant, rows, said = built_plant(scenario, model.description), defaultdict(list), {}
    waiting, events, frames = [None] * late, sorted(scenario.events, key=lambda event: event.at), set()
    for _ in range(scenario.ticks if until is None else round(until * scenario.rate)):
        while events and events[0].at <= plant.stamp * 1e-9 + 1e-9:
            event = events.pop(0)
            stage, table = built[event.node]
            stage.change(table.give(event.parameters))
        tick = pipeline.tick(sample_of(plant.measure()))
        pipeline.after()
        for name, value in row(tick, plant.state(), model.n, model.m).items():
            rows[name].append(value)
        rows["behaviors_held"].append(float(any(getattr(one.stage, "trouble", "") for one, _ in built.values())))
        if tick.tool is not None:
            frames.add(tick.tool.frame)
        said |= dict.fromkeys(f"{name}: {reason}" for name, reason in tick.refused.items())
        for name, (stage, _) in built.items():
            level, text, _ = stage.judge(tick)
            if level == ERROR:
                said[f"{name}: {text.split(':')[0]}"] = None
        status = pipeline.gate.gate.status
        if status.state is not GateState.RUNNING and status.reason:
            said[f"gate: {status.reason}"] = None
        waiting.append(tick.command)
        plant.advance(waiting.pop(0))
    (frame,) = frames
    known: dict[str, Any] = {name: np.array(values) for name, values in rows.items()}
    return (
        Recording.blank(
            scenario.true_robot.description,
            known.pop("time"),
            np.nan,
            reference_frame=frame,
            reference_axes=np.arange(6) < 3,
            **known,
        ),
        tuple(said),
    )


def row(tick: Tick, truth: PlantState, n: int, m: int) -> dict[str, Array | float]:
    """What a tick adds to the recording."""
    bent, tool, joints, reaction = tick.flexible, tick.tool, tick.given.get(LAW), tick.reaction
    unknown = np.full(m, np.nan)
    return {
        "time": tick.stamp * 1e-9,
        "position": truth.position,
        "velocity": truth.velocity,
        "effort": truth.effort,
        "deflection": truth.deflection,
        "deflection_rate": truth.deflection_rate,
        "modal_position": truth.modal_position,
        "modal_rate": truth.modal_rate,
        "estimated_deflection": unknown if bent is None else bent.deflection,
        "estimated_deflection_rate": unknown if bent is None else bent.deflection_rate,
        "tool_position": truth.tool_position_in_world,
        "tool_position_in_base": truth.tool_position_in_base,
        "reference_position": np.full(3, np.nan) if tool is None else tool.position,
        "contact_wrench": sum(truth.contacts.values(), np.zeros(6)),
        "desired_position": np.full(n, np.nan) if joints is None or joints.position is None else joints.position,
        "smallest_restricted_singular_value": np.nan
        if reaction is None
        else reaction.smallest_restricted_singular_value,
    }
