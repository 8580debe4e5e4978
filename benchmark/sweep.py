"""Sweeps over many runs: speed-up of two workers, cost of the engine, and what a killed command loses: `sweep.py`."""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `flexarm sweep` has it

import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "support"))

import table
from sweeps import SCENARIO, SWEEP, write_sweep

from flexarm_tools.metrics.figures import Figure, compute_figures, parse_goal
from flexarm_tools.run.in_process import ProcessRun
from flexarm_tools.sweep.results import LINES, TABLE, read_rows
from flexarm_tools.sweep.row import run_row
from flexarm_tools.sweep.session import run_sweep
from flexarm_tools.sweep.sweep_file import Sweep, load_sweep
from flexarm_tools.sweep.workers import run_local

RUNS = 16
DURATION = "0.5"  # [s] of a run
TIMES = 3  # of which the best counts


def study(folder: Path, duration: str = DURATION) -> Sweep:
    """The sweep that is timed."""
    scenario = SCENARIO.replace("duration: 0.05", f"duration: {duration}")
    return load_sweep(write_sweep(folder, ("samples: 6", f"samples: {RUNS}"), text=SWEEP, scenario=scenario))


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall time and CPU time of this process and its ended children [s]."""
    begin, wall = os.times(), time.perf_counter()
    work()
    end, wall = os.times(), time.perf_counter() - wall
    return wall, sum(end[:4]) - sum(begin[:4])


def speed() -> Iterator[Figure]:
    """Two workers beside one, and one beside a plain loop, in turns."""
    with tempfile.TemporaryDirectory() as name:
        sweep = study(Path(name))
        scenarios = [sweep.scenario(number) for number in range(RUNS)]
        run_row(sweep, 0)  # loads what all runs need

        def loop() -> None:
            for one in scenarios:
                compute_figures(one.figures, ProcessRun(one).run(lambda _: ""))

        found: dict[int, list[tuple[float, float]]] = {0: [], 1: [], 2: []}
        for _ in range(TIMES):
            found[0].append(timed(loop))
            for workers in (1, 2):
                found[workers].append(timed(lambda: list(run_local(sweep, range(RUNS), workers, lambda: False))))  # noqa: B023
    wall = {workers: min(one[0] for one in times) for workers, times in found.items()}
    work = {workers: min(one[1] for one in times) for workers, times in found.items()}
    details = {f"runs_a_second_{workers}": RUNS / wall[workers] for workers in (1, 2)}
    details["runs_a_core_hour"] = 3600.0 * RUNS / work[1]
    meaning = f"wall time of {RUNS} runs of planar_3r over {DURATION} s by one worker, over that by two"
    yield Figure("sweep_speedup_2", wall[1] / wall[2], "", parse_goal(">= 1.8"), meaning, details=details)
    meaning = "CPU time that a run costs more than in a plain loop over scenarios that are read already"
    overhead = (work[1] - work[0]) / RUNS * 1e3
    yield Figure("engine_overhead_ms", overhead, "ms", parse_goal("<= 20"), meaning)


def resumed() -> Iterator[Figure]:
    """Kill the command half way, and let the same one go on."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sweep = study(folder, "0.2")
        run_sweep(sweep, folder / "whole", 1)
        command = [sys.executable, "-m", "flexarm_tools.cli", "sweep", "study.yaml", "--workers", "2"]
        lines = folder / "flexarm_sweep" / "study" / LINES
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL) as process:
            while not lines.exists() or lines.read_bytes().count(b"\n") < RUNS // 2:
                time.sleep(0.01)
            seen = lines.read_bytes().count(b"\n")
            process.send_signal(signal.SIGKILL)
        lost = max(seen - len(read_rows(lines.parent, sweep)), 0)
        done = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL)
        missing = RUNS - len(read_rows(lines.parent, sweep))
        equal = (lines.parent / TABLE).read_bytes() == (folder / "whole" / TABLE).read_bytes()
        shutil.rmtree(lines.parent)
    details = {"runs_at_the_kill": seen, "exit_status": done.returncode}
    meaning = "whether the table of two workers that were killed half way is that of one, to the last bit"
    yield Figure("resumed_equal", float(equal), "", parse_goal("== 1"), meaning, details=details)
    yield Figure("runs_lost", float(lost + missing), "", parse_goal("== 0"), "finished runs that the kill has lost")


if __name__ == "__main__":
    sys.exit(table.run("sweep", [speed, resumed]))
