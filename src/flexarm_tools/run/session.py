"""Implementation of `flexarm run` and `flexarm demo`: run a file, evaluate it, write metrics.json and report.html."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from flexarm_core.errors import ConfigError, FlexarmError
from flexarm_tools.metrics.figures import Figure, compute_figures, write_figures
from flexarm_tools.process.domain import TakenDomainError
from flexarm_tools.process.end_request import EndRequest, InterruptedRunError
from flexarm_tools.process.exit_status import EXIT_BUSY, EXIT_FAILED, EXIT_INTERRUPTED
from flexarm_tools.process.progress import Progress, Quiet
from flexarm_tools.recording.recording import load_recording
from flexarm_tools.report.report import Run, write_run_report, write_study_report
from flexarm_tools.run.beside import Beside
from flexarm_tools.run.composition import compose_simulation, in_one_process
from flexarm_tools.run.in_process import run_in_process
from flexarm_tools.run.parameter_file import write_parameter_file
from flexarm_tools.run.provenance import provenance
from flexarm_tools.run.runner import run_scenario
from flexarm_tools.scenario.expected import first_words, too_busy
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import Scenario
from flexarm_tools.scenario.study import Study, compute_study_figures, is_study, is_sweep, load_study

NODES, PROCESS, FIRST = "nodes", "process", "first"


def run_file(path: Path, mode: str, report: Path | None, mcap: bool = False, engine: str = NODES) -> int:
    """Run a scenario or study file and report on it.

    Args:
        path: the file.
        mode: ``lockstep`` or ``real_time``; empty: the mode given in the file.
        report: folder for metrics.json, report.html, recordings and logs; None: ``flexarm_report/NAME``.
        mcap: whether to also record every topic of each run to ``recordings/NAME.mcap``.
        engine: ``nodes``: as ROS nodes; ``process``: in this process, in lockstep, without a middleware; ``first``: the
            first run of a study as nodes, the others in this process if they can.

    Returns:
        Exit status.

    Raises:
        FlexarmError: the file is wrong, or a single run could not be run.
    """
    folder = report or Path("flexarm_report") / path.stem
    if is_sweep(path):
        raise ConfigError(
            f"'{path}' varies a scenario: flexarm sweep {path}; one of its runs: flexarm run --of {path} 0"
        )
    if is_study(path):
        return _run_study(path, mode, folder, mcap, engine)
    return run_loaded(path.stem, load_scenario(path), mode, folder, mcap, engine)


def run_loaded(name: str, scenario: Scenario, mode: str, folder: Path, mcap: bool, engine: str) -> int:
    """Run one scenario and report on it, as :func:`run_file` does.

    Raises:
        FlexarmError: it could not be run.
    """
    _make(folder)
    run = _run(name, scenario, mode, folder, mcap, engine)
    origin = provenance([run.scenario])
    write_run_report(folder / "report.html", run, origin)
    return _conclude(folder, run.figures, {name: run.unexpected}, origin)


def _run_study(path: Path, mode: str, folder: Path, mcap: bool, engine: str) -> int:
    study = load_study(path)
    _make(folder)
    print(f"{study.title}: {len(study.scenarios)} runs", flush=True)
    found: dict[str, Run] = {}
    unexpected: dict[str, tuple[str, ...]] = {}
    origin = provenance(study.scenarios.values())

    def here(name: str) -> None:
        try:
            used = _engine_of(engine, name == first or mcap)
            found[name] = _run(name, study.scenarios[name], mode, folder, mcap, used)
            unexpected[name] = found[name].unexpected
        except FlexarmError as error:  # continue with the other runs; the figures of this run are missing and fail
            if isinstance(error, TakenDomainError):  # so it would be for each run
                raise
            print(f"  {name}: {error}", file=sys.stderr, flush=True)
            unexpected[name] = (str(error).splitlines()[0],)
            if not found and isinstance(error, InterruptedRunError):
                raise

    def come(ends: Callable[[], bool] | None = None) -> None:
        for name, (said, figures) in beside.results(ends):
            print(said, end="", flush=True)
            scenario = replace(study.scenarios[name], mode=mode or study.scenarios[name].mode)
            scenario = replace(scenario, expected=in_one_process(scenario).expected)
            recording = load_recording(folder / "recordings" / f"{name}.npz")
            found[name] = Run(name, scenario, recording, figures)
            unexpected[name] = found[name].unexpected

    first, *others = study.scenarios
    with Beside(partial(_in_another, study, mode, folder), others, _processes(study, mode, mcap, engine)) as beside:
        here(first)
        if first in found and others and not _interrupted(unexpected):  # something to look at while the others run
            write_run_report(folder / "report.html", found[first], origin)
            print(f"    {folder / 'report.html'} shows it; the others follow", flush=True)
        while not _interrupted(unexpected) and (name := beside.take()) is not None:
            here(name)
            beside.known(name)
            come()
        if not _interrupted(unexpected):
            with EndRequest() as end:
                come(lambda: bool(end.made))
            for name in beside.rest():
                if end.made:
                    unexpected[name] = (f"interrupted by {end.made}",)
                else:  # it needs nodes, or its process has ended
                    here(name)
    runs = [found[name] for name in study.scenarios if name in found]
    figures = compute_study_figures(study, {run.name: run.figures for run in runs})
    write_study_report(folder / "report.html", study, runs, figures, origin)
    return _conclude(folder, figures, unexpected, origin)


def _processes(study: Study, mode: str, mcap: bool, engine: str) -> int:
    """Return in how many other processes scenarios of a study run: none, where they could disturb real time."""
    lockstep = all((mode or scenario.mode) == "lockstep" for scenario in study.scenarios.values())
    alone = engine == NODES or mcap or not lockstep
    return 0 if alone else len(os.sched_getaffinity(0)) - 1


def _make(folder: Path) -> None:
    """Make the folder of a report: where that is not possible, before the run and not after it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"folder '{folder}' for the report cannot be made ({error.strerror}): choose another one with --report"
        ) from error


def _engine_of(engine: str, with_nodes: bool) -> str:
    return (NODES if with_nodes else FIRST) if engine == FIRST else engine


def _in_another(study: Study, mode: str, folder: Path, name: str) -> tuple[str, tuple[Figure, ...]] | None:
    """Run a scenario of a study in a process beside; return what is printed, and figures; None: it cannot."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            run = _run(name, study.scenarios[name], mode, folder, False, PROCESS, Quiet(study.scenarios[name].title))
    except FlexarmError:  # it is run again here, which says what is wrong
        return None
    return said.getvalue(), run.figures


def _run(
    name: str, scenario: Scenario, mode: str, folder: Path, mcap: bool, engine: str, progress: Progress | None = None
) -> Run:
    scenario = replace(scenario, mode=mode or scenario.mode)
    progress = progress or Progress(scenario.title)
    listened = folder / "recordings" / f"{name}.mcap" if mcap else None
    started = in_one_process(scenario) if scenario.composed or engine == PROCESS else scenario
    if engine == NODES:
        recording = run_scenario(started, progress, folder / "logs" / name, listened)
    elif mcap:
        raise ConfigError("a run in one process has no topics to record: --engine nodes")
    else:
        try:
            with EndRequest() as end:
                recording = run_in_process(scenario, progress, lambda: f"interrupted by {end.made}" if end.made else "")
            kept = folder / "logs" / name  # `flexarm view` takes robot and surroundings from there
            kept.mkdir(parents=True, exist_ok=True)
            for node in compose_simulation(scenario).nodes:
                write_parameter_file(node, kept)
        except ConfigError:
            if engine == PROCESS:
                raise
            recording = run_scenario(started, progress, folder / "logs" / name)
    progress.end(f"{recording.ticks} ticks")
    for line in first_words(recording, started.expected.errors):
        print(f"    {line}", flush=True)
    recording.save(folder / "recordings" / f"{name}.npz")
    figures = compute_figures(scenario.figures, recording)
    if busy := too_busy(recording):
        print(f"    {busy}; its real time is not judged", flush=True)
        figures = tuple(
            replace(figure, goal=None, judged=False, details=figure.details | {"busy": busy}) for figure in figures
        )
    return Run(name, replace(scenario, expected=started.expected), recording, figures)


def _interrupted(unexpected: Mapping[str, Iterable[str]]) -> bool:
    return any("interrupted by" in text for texts in unexpected.values() for text in texts)


def _conclude(
    folder: Path, figures: tuple[Figure, ...], unexpected: Mapping[str, Iterable[str]], origin: Mapping[str, str]
) -> int:
    """Print the results; a goal that is met in a run with unexpected events is marked void instead of ok."""
    texts = [f"{name}: {text}" for name, events in unexpected.items() for text in events]
    holds = write_figures(folder / "metrics.json", figures, texts, origin)
    good = "void" if texts else "ok  "
    width = max((len(figure.name) for figure in figures), default=0)
    for figure in figures:
        goal = f"  goal {figure.goal.text}" if figure.goal else ""
        mark = "busy" if not figure.judged else "FAIL" if not figure.holds else good if figure.goal else "    "
        print(f"  {mark} {figure.name:<{width}}  {figure.shown}{goal}")
    for text in texts:
        print(f"  FAIL {text}")
    goals = [figure for figure in figures if figure.judged and figure.goal]
    if goals and holds and not texts:
        print(f"  {'all ' if len(goals) > 1 else ''}{len(goals)} goal{'s hold' if len(goals) > 1 else ' holds'}")
    print(f"  {folder / 'metrics.json'}\n  {folder / 'report.html'}", flush=True)
    if _interrupted(unexpected):
        return EXIT_INTERRUPTED
    if not holds or texts:
        return EXIT_FAILED
    return 0 if all(figure.judged for figure in figures) else EXIT_BUSY
