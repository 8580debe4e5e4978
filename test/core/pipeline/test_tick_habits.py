"""Habits of a tick in real time: after the rehearsal nothing is compiled, and its memory does not grow."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from numba.core import event
from pipeline_run import sample_of
from scenario_pipeline import built_pipeline, built_plant

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
GROWTH = 200  # blocks of memory that may be added in all later ticks: caches that are filled once


class Compiled(event.Listener):
    """Keeps what is compiled, or loaded from the cache: both take a tick too long."""

    def __init__(self) -> None:
        self.kernels: list[str] = []

    def on_start(self, event: event.Event) -> None:
        """Keep its name."""
        self.kernels.append(str(event.data["dispatcher"].py_func.__qualname__))

    def on_end(self, event: event.Event) -> None:
        """Nothing."""


@contextmanager
def watched() -> Iterator[list[str]]:
    """The kernels that are compiled meanwhile."""
    listener = Compiled()
    with event.install_listener("numba:compile", listener):
        yield listener.kernels


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
    with watched() as kernels:
        run(pipeline, plant, built, 300)
    assert kernels == []


@pytest.mark.parametrize("name", ["flagship", "planar"])
def test_what_ticks_allocate_is_freed_without_a_collection_of_garbage(name):
    pipeline, plant, built = rehearsed(name)
    run(pipeline, plant, built, 300)
    gc.collect()
    gc.disable()
    try:
        before = sys.getallocatedblocks()
        run(pipeline, plant, built, 1000)
        grown = sys.getallocatedblocks() - before
    finally:
        gc.enable()
    assert grown < GROWTH
