"""Runs in one process beside runs as nodes, sweeps of them and environments: `run_engines.py [--all]`.

`--all` compares the recordings of every scenario over half a second (20 min) and times the demo; otherwise of four.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the nodes have it

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import environments
import numpy as np
import sweep
import table

from flexarm_core.errors import ConfigError
from flexarm_tools.metrics.figures import Figure, parse_goal
from flexarm_tools.process.progress import Progress
from flexarm_tools.recording.recording import Recording
from flexarm_tools.run.composition import in_one_process
from flexarm_tools.run.in_process import run_in_process
from flexarm_tools.run.runner import run_scenario
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import Scenario
from flexarm_tools.sweep.results import TABLE
from flexarm_tools.sweep.session import run_sweep

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test" / "support"))
CONFIG = ROOT / "config"
FEW = ("planar_3r/combined", "flexible_2r/damped", "arm_6r/damped_least_squares", "boom_7r/inspect_and_wipe")
PLANAR = CONFIG / "planar_3r" / "scenarios" / "combined.yaml"
COMPARED = 0.5  # [s]


class Silent(Progress):
    """Shows nothing."""

    def show(self, now: float, end: float) -> None:
        """Show nothing."""


def files(everything: bool) -> Iterator[Path]:
    """The scenario files."""
    if everything:
        yield from sorted(CONFIG.glob("*/scenarios/*.yaml"))
    else:
        yield from (CONFIG / robot / "scenarios" / f"{name}.yaml" for robot, name in (one.split("/") for one in FEW))


def differences(first: Recording, second: Recording) -> list[str]:
    """Names of the fields that differ in a bit."""
    found = []
    for field in fields(first):
        one, other = getattr(first, field.name), getattr(second, field.name)
        if field.name in ("tick_latency", "events"):
            continue
        floats = isinstance(one, np.ndarray) and one.dtype.kind == "f"
        if not (np.array_equal(one, other, equal_nan=floats) or (one is not other and np.all(one != one))):
            found.append(field.name)
    return found


def equality(everything: bool) -> list[Figure]:
    """Recordings of both engines."""
    from live import own_domain

    equal, details = 0, {}
    for path in files(everything):
        name = f"{path.parents[1].name}/{path.stem}"
        scenario = load_scenario(path)
        duration = min(scenario.duration, round(COMPARED * scenario.rate) / scenario.rate)
        events = tuple(event for event in scenario.events if event.at < duration)
        scenario = replace(scenario, mode="lockstep", duration=duration, events=events)
        try:
            here = run_in_process(scenario, Silent(name))
        except ConfigError as error:
            details[name] = f"refused: {error}"
            continue
        with own_domain(), tempfile.TemporaryDirectory() as folder:
            there = run_scenario(in_one_process(scenario), Silent(name), Path(folder))
        found = differences(here, there)
        equal += not found
        if found:
            details[name] = ", ".join(found)
    total = sum(1 for _ in files(everything))
    meaning = f"scenarios of {total} whose recordings are equal to the bit"
    return [Figure("scenarios_equal", equal, "", parse_goal(f"== {total}"), meaning, details=details)]


def factor(name: str, scenario: Scenario, goal: str) -> Figure:
    """Simulated time per CPU time of a whole run, everything loaded."""
    run_in_process(replace(scenario, duration=0.1, events=(), figures=()), Silent(name))
    took, wall = time.process_time(), time.perf_counter()
    run_in_process(scenario, Silent(name))
    took, wall = time.process_time() - took, time.perf_counter() - wall
    details = {"cpu_seconds": took, "wall_seconds": wall, "us_per_tick": took / scenario.ticks * 1e6}
    meaning = "simulated time per CPU time, one core"
    return Figure(f"{name}_realtime_factor", scenario.duration / took, "", parse_goal(goal), meaning, details=details)


def speed() -> list[Figure]:
    """Speed of whole runs."""
    flagship = load_scenario(CONFIG / "boom_7r" / "scenarios" / "inspect_and_wipe.yaml")
    planar = load_scenario(PLANAR)
    return [factor("flagship", flagship, ">= 3"), factor("planar", planar, ">= 15")]


def nodes() -> list[Figure]:
    """Wall time of a run as nodes, as `flexarm run` starts them, over that in this process."""
    from live import own_domain

    scenario, took = load_scenario(PLANAR), {}
    began = time.perf_counter()
    run_in_process(scenario, Silent("process"))
    took["process_seconds"] = time.perf_counter() - began
    with own_domain(), tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        run_scenario(scenario, Silent("nodes"), Path(folder))
        took["nodes_seconds"] = time.perf_counter() - began
    meaning = f"wall time of {scenario.duration:g} s of planar_3r as nodes over that in one process"
    value = took["nodes_seconds"] / took["process_seconds"]
    return [Figure("process_speedup", value, "", parse_goal(">= 50"), meaning, details={**took})]


def ray() -> list[Figure]:
    """Table of a local Ray beside that of two processes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        study = sweep.study(folder, "0.1")
        for engine in ("local", "ray"):
            run_sweep(study, folder / engine, 2, engine)
        equal = (folder / "local" / TABLE).read_bytes() == (folder / "ray" / TABLE).read_bytes()
    meaning = "whether the table of a local Ray is that of two processes, to the last bit"
    return [Figure("ray_table_equal", float(equal), "", parse_goal("== 1"), meaning)]


def demo() -> list[Figure]:
    """`flexarm demo` in a tree that is built, and when its first run is over."""
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-m", "flexarm_tools.cli", "demo", "--report", name]
        began = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.DEVNULL)
        took = time.perf_counter() - began
        first = min(path.stat().st_mtime for path in (Path(name) / "recordings").glob("*.npz"))
        first = took - (time.time() - first)
    details = {"first_run_seconds": first, "exit_status": done.returncode}
    return [Figure("demo_seconds", took, "s", parse_goal("<= 90"), "wall time of `flexarm demo`", details=details)]


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true")
    everything = parser.parse_args().all
    measures = [speed, nodes, sweep.speed, sweep.resumed, ray, environments.one, *([demo] if everything else [])]
    return table.run("run_engines", [*measures, partial(equality, everything)])


if __name__ == "__main__":
    sys.exit(main())
