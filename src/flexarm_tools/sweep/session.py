"""Implementation of `flexarm sweep`: run the missing runs, store the results, print the summary."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from flexarm_core.errors import ConfigError
from flexarm_tools.process.end_request import EndRequest
from flexarm_tools.process.exit_status import EXIT_FAILED, EXIT_INTERRUPTED
from flexarm_tools.run.in_process import ProcessRun
from flexarm_tools.sweep.optimization import Optimization
from flexarm_tools.sweep.page import write_sweep_page
from flexarm_tools.sweep.ray_engine import run_ray
from flexarm_tools.sweep.results import TABLE, Results, read_rows
from flexarm_tools.sweep.row import HOLDS, Row
from flexarm_tools.sweep.shares import share_figures
from flexarm_tools.sweep.summary import summary
from flexarm_tools.sweep.sweep import Sweep
from flexarm_tools.sweep.sweep_file import load_sweep
from flexarm_tools.sweep.workers import run_local

Engine = Callable[[Sweep, Sequence[int], int, Callable[[], bool]], Iterator[Row]]
ENGINES: dict[str, Engine] = {"local": run_local, "ray": run_ray}
SHOWN, WRITTEN = 0.2, 10.0  # [s] between two updates of the progress: on a terminal, in a log


def sweep_file(path: Path, out: Path | None, workers: int, engine: str, fresh: bool) -> int:
    """Run a sweep, or its remaining runs.

    Args:
        path: sweep file.
        out: folder for the results; None: ``flexarm_sweep/NAME``.
        workers: number of processes, 0: one for each core.
        engine: where runs are run, one of ENGINES.
        fresh: whether to delete earlier results.

    Returns:
        Exit status: 0 if every goal of the sweep is met.

    Raises:
        ConfigError: the file is wrong, or the folder holds other results.
    """
    sweep, folder = load_sweep(path), results_folder(path, out)
    rows, ended = run_sweep(sweep, folder, workers, engine, fresh)
    print("\n".join(summary(sweep, rows)))
    if rows:
        print(f"  {folder / TABLE}, {_page(folder, sweep, rows)}", flush=True)
    if ended:
        print(f"flexarm: interrupted by {ended}; the same command goes on", file=sys.stderr)
        return EXIT_INTERRUPTED
    return 0 if all(figure.holds for figure in share_figures(sweep, rows)) else EXIT_FAILED


def show_sweep(path: Path, out: Path | None) -> int:
    """Print the summary of the runs so far, and write their page; return 0 if they meet every goal of the sweep."""
    sweep = load_sweep(path)
    folder = results_folder(path, out)
    rows = read_rows(folder, sweep)
    print("\n".join(summary(sweep, rows)))
    if rows:
        print(f"  {_page(folder, sweep, rows)}")
    return 0 if all(figure.holds for figure in share_figures(sweep, rows)) else EXIT_FAILED


def _page(folder: Path, sweep: Sweep, rows: Mapping[int, Row]) -> str:
    """Write the page of the runs so far; return where, or why not: results of others may be read only."""
    try:
        return str(write_sweep_page(folder, sweep, rows))
    except OSError as error:
        return f"no page: {error}"


def played_sweep(path: Path) -> Sweep:
    """Return a sweep any run of which can be played, of an optimization those that have been run."""
    sweep = load_sweep(path)
    if isinstance(sweep, Optimization):
        sweep.recall(read_rows(results_folder(path, None), sweep))
    return sweep


def results_folder(path: Path, out: Path | None) -> Path:
    """Return the folder of the results of a sweep file."""
    return out or Path("flexarm_sweep") / path.stem


def run_sweep(
    sweep: Sweep, folder: Path, workers: int = 0, engine: str = "local", fresh: bool = False
) -> tuple[dict[int, Row], str]:
    """Run the missing runs, and store them in a folder.

    Returns:
        All rows by number of the run, and the name of the signal that ended the command, if one did.

    Raises:
        ConfigError: the scenario cannot be run in one process, or the folder holds other results.
    """
    if engine not in ENGINES:
        raise ConfigError(f"there is no engine '{engine}'; engines: {', '.join(ENGINES)}")
    with EndRequest() as end, Results(folder, sweep, fresh) as results:
        if len(results.rows) < sweep.count:
            ProcessRun(sweep.scenario_with({}))  # refuses what needs nodes, and loads what all runs need
            progress = _Count(sweep.count, len(results.rows))
            for left in sweep.batches(results.rows):
                team = workers or len(os.sched_getaffinity(0))
                for row in ENGINES[engine](sweep, left, team, lambda: bool(end.made)):
                    results.add(row)
                    progress.show(row)
            progress.end()
        return dict(results.rows), end.made


class _Count:
    """Shows the progress: runs a second and time left."""

    def __init__(self, total: int, before: int) -> None:
        self._total, self._before = total, before
        self._done, self._held = before, 0
        self._begin = self._shown = time.monotonic()
        self._terminal = sys.stdout.isatty()

    def show(self, row: Row) -> None:
        """Count a run."""
        self._done += 1
        self._held += row.outcome == HOLDS
        if time.monotonic() - self._shown > (SHOWN if self._terminal else WRITTEN):
            self._print("\r" if self._terminal else "", "" if self._terminal else "\n")

    def end(self) -> None:
        """Show the last state."""
        self._print("\r" if self._terminal else "", "\n")

    def _print(self, begin: str, end: str) -> None:
        self._shown = time.monotonic()
        done = self._done - self._before
        speed = done / max(self._shown - self._begin, 1e-9)
        left = (self._total - self._done) / speed if done else float("nan")
        held = f"{self._held} of {done} hold" if done else "none yet"
        text = f"  {self._done} / {self._total} runs, {speed:.3g} a second, {_duration(left)} left, {held}"
        print(f"{begin}{text:<70}".rstrip(" "), end=end, flush=True)


def _duration(seconds: float) -> str:
    if not seconds < 3600.0:
        return f"{seconds / 3600.0:.1f} h"
    return f"{seconds:.0f} s" if seconds < 120.0 else f"{seconds / 60.0:.0f} min"
