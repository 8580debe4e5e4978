"""Habits of a tick in real time: after the rehearsal nothing is compiled, and its memory does not grow."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pipeline_run import sample_of
from scenario_pipeline import built_pipeline, built_plant
from tick_habits import compiled, grown

from flexarm_core.pipeline.pipeline import Pipeline
from flexarm_sim.plant import Plant
from flexarm_tools.scenario.file import load_scenario

CONFIG = Path(__file__).resolve().parents[3] / "config"
SCENARIOS = {
    "flagship": "boom_7r/scenarios/inspect_and_wipe.yaml",  # every stage but those below
    "planar": "planar_3r/scenarios/combined.yaml",
    "trep": "trep/scenarios/fig11_fast.yaml",
    "servo": "boom_7r/scenarios/pd.yaml",
}
REHEARSED = 3  # ticks, as control_loop does
GROWTH = 1000  # blocks of memory that 2000 ticks may add: what is kept of every tick would be 2000 or more


def rehearsed(name: str) -> tuple[Pipeline, Plant, list]:
    """Pipeline and plant of a scenario after the rehearsal of a control loop."""
    scenario = load_scenario(CONFIG / SCENARIOS[name])
    pipeline, built, model = built_pipeline(scenario)
    plant = built_plant(scenario, model.description)
    sample, period = sample_of(plant.measure()), round(1e9 / scenario.rate)
    for tick in range(REHEARSED):
        pipeline.tick(replace(sample, stamp=sample.stamp + tick * period))
        pipeline.after()
    pipeline.reset()
    plant.advance(pipeline.tick(sample).command)
    pipeline.after()
    return pipeline, plant, built


def run(pipeline: Pipeline, plant: Plant, built: list, count: int) -> None:
    """Ticks as in a control loop."""
    for _ in range(count):
        tick = pipeline.tick(sample_of(plant.measure()))
        assert tick.command is not None and not tick.refused
        pipeline.after()
        for one in built:
            one.judge(tick)
        plant.advance(tick.command)


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_tick_compiles_or_loads_a_kernel(name):
    pipeline, plant, built = rehearsed(name)
    with compiled() as kernels:
        run(pipeline, plant, built, 300)
    assert kernels == []


@pytest.mark.parametrize("name", ["planar", "servo"])
def test_what_ticks_allocate_is_freed_without_a_collection_of_garbage(name):
    pipeline, plant, built = rehearsed(name)
    run(pipeline, plant, built, 600)  # what is filled once is filled
    assert grown(lambda: run(pipeline, plant, built, 2000)) < GROWTH
