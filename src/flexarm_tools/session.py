"""What `flexarm run` and `flexarm demo` do: run a file, measure, write metrics.json and report.html."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from flexarm_core.errors import ConfigError, FlexarmError
from flexarm_tools.composition import in_one_process
from flexarm_tools.figures import Figure, compute_figures, write_figures
from flexarm_tools.packages import AmentPackages
from flexarm_tools.progress import Progress
from flexarm_tools.report import Run, write_run_report, write_study_report
from flexarm_tools.runner import InterruptedRunError, run_scenario
from flexarm_tools.scenario import Scenario
from flexarm_tools.scenario_file import load_scenario
from flexarm_tools.study import compute_study_figures, is_study, load_study

DEMO_FILES = "config/*/demo_{}.yaml"


def run_file(path: Path, mode: str, report: Path | None, mcap: bool = False) -> bool:
    """Run a scenario or study file and report on it.

    Args:
        path: the file.
        mode: ``lockstep`` or ``real_time``, empty for the file's own.
        report: folder for metrics.json, report.html, recordings and logs; None: ``flexarm_report/NAME``.
        mcap: whether every topic of each run is recorded to ``recordings/NAME.mcap`` as well.

    Returns:
        Whether every expectation holds and no node died.

    Raises:
        FlexarmError: the file is wrong, or a single run could not be run.
    """
    folder = report or Path("flexarm_report") / path.stem
    if is_study(path):
        return _run_study(path, mode, folder, mcap)
    scenario = load_scenario(path)
    run = _run(path.stem, scenario, mode, folder, mcap)
    write_run_report(folder / "report.html", run)
    return _conclude(folder, run.figures, not run.recording.node_deaths)


def demo_file(name: str) -> Path:
    """Study file of a demo.

    Raises:
        ConfigError: no such demo; the message lists those there are.
    """
    found = sorted(_share().glob(DEMO_FILES.format(name))) if name.isidentifier() else []
    if not found:
        raise ConfigError(f"there is no demo '{name}'; demos: {', '.join(list_demos())}")
    return found[0]


def list_demos() -> list[str]:
    """Names of all demos."""
    return sorted(path.stem.removeprefix("demo_") for path in _share().glob(DEMO_FILES.format("*")))


def _share() -> Path:
    share = AmentPackages().share("flexarm")
    if share is None:
        raise ConfigError("package flexarm is not in the sourced environment: source its install/setup.bash")
    return share


def _run_study(path: Path, mode: str, folder: Path, mcap: bool) -> bool:
    study = load_study(path)
    print(f"{study.title}: {len(study.scenarios)} runs", flush=True)
    runs, lived = [], True
    for name, scenario in study.scenarios.items():
        try:
            run = _run(name, scenario, mode, folder, mcap)
        except InterruptedRunError:
            raise
        except FlexarmError as error:  # the other runs are worth having; the figures of this one are missing and fail
            print(f"  {name}: {error}", file=sys.stderr, flush=True)
            lived = False
            continue
        lived = lived and not run.recording.node_deaths
        runs.append(run)
    figures = compute_study_figures(study, {run.name: run.figures for run in runs})
    write_study_report(folder / "report.html", study, runs, figures)
    return _conclude(folder, figures, lived)


def _run(name: str, scenario: Scenario, mode: str, folder: Path, mcap: bool) -> Run:
    scenario = replace(scenario, mode=mode or scenario.mode)
    progress = Progress(scenario.title)
    listened = folder / "recordings" / f"{name}.mcap" if mcap else None
    started = in_one_process(scenario) if scenario.composed else scenario
    recording = run_scenario(started, progress, folder / "logs" / name, listened)
    progress.end(f"{recording.ticks} ticks")
    for count, what in ((recording.lockstep_timeouts, "lockstep time-outs"), (recording.lost_samples, "lost samples")):
        if count:
            print(f"  warning: {count} {what}: the results of this run depend on the load of the machine", flush=True)
    recording.save(folder / "recordings" / f"{name}.npz")
    return Run(name, scenario, recording, compute_figures(scenario.figures, recording))


def _conclude(folder: Path, figures: tuple[Figure, ...], lived: bool) -> bool:
    holds = write_figures(folder / "metrics.json", figures)
    width = max((len(figure.name) for figure in figures), default=0)
    for figure in figures:
        goal = f"  goal {figure.goal.text}" if figure.goal else ""
        bound = {"at_least": ">= ", "at_most": "<= ", "": ""}[figure.bound]
        mark = "FAIL" if not figure.holds else "ok  " if figure.goal else "    "
        print(f"  {mark} {figure.name:<{width}}  {bound}{figure.value:.4g} {figure.unit}{goal}")
    if not lived:
        print("  FAIL a node died or a run did not come to its end")
    print(f"  {folder / 'metrics.json'}\n  {folder / 'report.html'}", flush=True)
    return holds and lived
