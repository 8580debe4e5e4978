"""What the arithmetic of a tick takes, without messages and with warm caches: the floor of control_loop.py."""

from __future__ import annotations

import gc
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "support"))

import numpy as np
from pipeline_run import sample_of
from scenario_pipeline import built_pipeline, built_plant

from flexarm_core.pipeline.flexible_stages import FlexibleEstimatorStage
from flexarm_tools.metrics.figures import Figure, parse_goal
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import Scenario

ROOT = Path(__file__).resolve().parents[1]
FLAGSHIP = ROOT / "config" / "boom_7r" / "scenarios" / "inspect_and_wipe.yaml"
TICKS, WARM = 1500, 300  # of the flagship's path in free space; ticks before the clock counts


def pipeline_times(scenario: Scenario, ticks: int = TICKS) -> dict[str, np.ndarray]:
    """CPU time of each tick [s], of ``tick``, state to command, and of ``after``.

    A run under the plant gives the samples, which a second one processes one right after the other.
    """
    pipeline, _, model = built_pipeline(scenario)
    plant = built_plant(scenario, model.description)
    samples = []
    for _ in range(ticks):
        samples.append(sample_of(plant.measure()))
        tick = pipeline.tick(samples[-1])
        pipeline.after()
        plant.advance(tick.command)
    pipeline.reset()
    times: dict[str, list[int]] = {"tick": [], "after": []}
    clock = time.thread_time_ns
    gc.collect()
    gc.freeze()
    gc.disable()
    for sample in samples:
        began = clock()
        pipeline.tick(sample)
        times["tick"].append(clock() - began)
        began = clock()
        pipeline.after()
        times["after"].append(clock() - began)
    gc.enable()
    return {name: 1e-9 * np.array(values[WARM:]) for name, values in times.items()}


def pipeline_us(scenario: Scenario, ticks: int = TICKS) -> Figure:
    """The same arithmetic called back to back, in the median."""
    times = pipeline_times(replace(scenario, events=(), pushes=()), ticks)
    details = {
        "p10": 1e6 * float(np.percentile(times["tick"], 10)),
        "p99": 1e6 * float(np.percentile(times["tick"], 99)),
        "after_p50": 1e6 * float(np.median(times["after"])),
    }
    value, goal = 1e6 * float(np.median(times["tick"])), parse_goal("<= 250")
    meaning = "the same stages called back to back without messages: state to command, CPU time, median"
    return Figure("pipeline_us", value, "us", goal, meaning, details=details)


def estimator_us(scenario: Scenario, ticks: int = TICKS) -> list[Figure]:
    """State to estimate, and what the estimator prepares when the command is out, on the samples of a run."""
    pipeline, _, model = built_pipeline(replace(scenario, events=(), pushes=()))
    plant = built_plant(scenario, model.description)
    estimator = next(stage for stage in pipeline.stages if isinstance(stage, FlexibleEstimatorStage)).estimator
    given, update = [], estimator.update
    estimator.update = lambda *arguments: (given.append(arguments), update(*arguments))[1]  # type: ignore[method-assign]
    for _ in range(ticks):
        tick = pipeline.tick(sample_of(plant.measure()))
        pipeline.after()
        plant.advance(tick.command)
    estimator.reset()
    clock = time.thread_time_ns
    updates, preparations = [], []
    gc.disable()
    for arguments in given:
        began = clock()
        update(*arguments)
        known = clock()
        estimator.prepare()
        updates.append(known - began)
        preparations.append(clock() - known)
    gc.enable()
    took = [1e-3 * np.array(each[WARM:]) for each in (updates, preparations)]
    details = [{"p99": float(np.percentile(each, 99)), "mean": float(each.mean())} for each in took]
    said = (
        ("estimator_us", parse_goal("<= 60"), "flagship: joint state taken to flexible state known, CPU time, median"),
        ("prepare_us", None, "flagship: what the estimator prepares when the command is out, CPU time, median"),
    )
    return [
        Figure(name, float(np.median(each)), "us", goal, meaning, details=detail)
        for (name, goal, meaning), each, detail in zip(said, took, details, strict=True)
    ]


if __name__ == "__main__":
    from table import run

    flagship = load_scenario(FLAGSHIP)
    sys.exit(run("tick_times", [lambda: estimator_us(flagship), lambda: [pipeline_us(flagship)]]))
