"""Study: several scenarios compared in one report, defined in a YAML file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from flexarm_core.errors import ConfigError
from flexarm_tools.graph.packages import AmentPackages, Packages, resolve
from flexarm_tools.metrics.figures import Figure, Goal, ratio
from flexarm_tools.scenario.file import read_goal, read_scenario
from flexarm_tools.scenario.scenario import Scenario
from flexarm_tools.scenario.tables import STUDY
from flexarm_tools.yaml_file.document import Document, Problem, raise_problems
from flexarm_tools.yaml_file.section import Section


@dataclass(frozen=True, slots=True)
class StudyFigureSpec:
    """A figure of a study: a figure of one run, or the ratio of two figures of the study."""

    name: str  # name in the study
    run: str  # name of the run that provides the figure; empty for a ratio
    figure: str  # name of the figure in that run
    ratio: tuple[str, ...]  # names of two figures of the study, numerator and denominator; empty for a figure of a run
    goal: Goal | None  # goal of the figure, or None: without a goal of its own, a figure of a run uses that run's goal


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs that are shown together."""

    title: str  # heading
    runs: tuple[str, ...]  # names of the runs


@dataclass(frozen=True, slots=True)
class Study:
    """Several runs and the figures computed from them."""

    path: Path  # study file
    title: str  # heading of the report
    description: str  # paragraph of the report
    scenarios: dict[str, Scenario]  # scenarios by name of the run, in order
    figures: tuple[StudyFigureSpec, ...]  # figures of the study
    comparisons: tuple[Comparison, ...]  # runs that are shown together, at least one entry


def is_study(path: str | Path) -> bool:
    """Return whether a file is a study rather than a scenario: it has the key ``runs``.

    Raises:
        ConfigError: the file cannot be read.
    """
    return _has_key(path, "runs")


def is_sweep(path: str | Path) -> bool:
    """Return whether a file is a sweep, of which `flexarm_tools.sweep` makes runs: by ``vary`` or ``optimize``.

    Raises:
        ConfigError: the file cannot be read.
    """
    return _has_key(path, "vary") or _has_key(path, "optimize")


def _has_key(path: str | Path, name: str) -> bool:
    root = Document(Path(path), "scenario").root
    return isinstance(root, yaml.MappingNode) and any(key.value == name for key, _ in root.value)


def load_study(path: str | Path, packages: Packages | None = None) -> Study:
    """Read and check a study file and the scenarios that it names.

    Args:
        path: the file.
        packages: locates ROS packages; by default in the sourced ROS 2 environment.

    Raises:
        ConfigError: a file has problems; the message lists those of all files, each with file, line and key.
    """
    document = Document(Path(path), "study")
    if document.root is None:
        raise_problems(document.problems, "study")
    assert document.root is not None  # without a root there is a problem
    root = Section(document, document.root, STUDY, "")
    scenarios, problems = _read_runs(root, packages or AmentPackages())
    names = tuple(root.text_mapping("runs"))
    specs = _read_figures(root, names, scenarios)
    comparisons = tuple(_read_comparison(section, names) for section in root.sections("comparisons"))
    title, description = root.text("title"), root.text("description")
    raise_problems([*document.problems, *problems], "study")
    return Study(
        path=document.path,
        title=title,
        description=description,
        scenarios=scenarios,
        figures=tuple(specs),
        comparisons=comparisons or (Comparison("All runs", names),),
    )


def _read_runs(root: Section, packages: Packages) -> tuple[dict[str, Scenario], list[Problem]]:
    scenarios: dict[str, Scenario] = {}
    problems: list[Problem] = []
    files = root.text_mapping("runs")
    if "runs" in root and not files:
        root.problem("runs", "a study needs at least one run")
    for name, uri in files.items():
        path, wrong = resolve(uri, root.document.path.parent, packages)
        if not uri:
            continue
        if wrong:
            root.problem("runs", f"{name}: {wrong}")
            continue
        try:
            document = Document(path, "scenario")
        except ConfigError as error:
            root.problem("runs", f"{name}: {error}")
            continue
        scenario = read_scenario(document, packages)
        problems += document.problems
        if scenario is not None:
            scenarios[name] = scenario
    return scenarios, problems


def _read_figures(root: Section, runs: tuple[str, ...], scenarios: Mapping[str, Scenario]) -> list[StudyFigureSpec]:
    sections = root.named_sections("figures")
    specs = []
    for name, section in sections.items():
        spec = StudyFigureSpec(
            name, section.text("run"), section.text("figure"), section.texts("ratio"), read_goal(section)
        )
        if ("ratio" in section) == ("run" in section or "figure" in section):
            section.problem("", "expected either 'run' and 'figure', or 'ratio' of two figures")
        elif "ratio" in section:
            taken = [other for other, figure in sections.items() if "run" in figure]
            for figure in spec.ratio:
                section.refuse_unknown("ratio", figure, taken, f"figure of a run '{figure}' does not exist")
            if len(spec.ratio) != 2:
                section.problem("ratio", f"expected two figures, got {len(spec.ratio)}")
        elif "run" not in section or "figure" not in section:
            section.problem("", "expected both 'run' and 'figure'")
        else:
            section.refuse_unknown("run", spec.run, runs, f"run '{spec.run}' does not exist")
            if spec.run in scenarios:
                known = [figure.name for figure in scenarios[spec.run].figures]
                wrong = f"figure of run '{spec.run}' '{spec.figure}' does not exist"
                section.refuse_unknown("figure", spec.figure, known, wrong)
        specs.append(spec)
    return specs


def _read_comparison(section: Section, runs: tuple[str, ...]) -> Comparison:
    comparison = Comparison(section.text("title"), section.texts("runs"))
    for name in comparison.runs:
        section.refuse_unknown("runs", name, runs, f"run '{name}' does not exist")
    return comparison


def compute_study_figures(study: Study, figures: Mapping[str, tuple[Figure, ...]]) -> tuple[Figure, ...]:
    """Compute the figures of a study, in the order of its file.

    A figure taken from a run keeps the goal of the run if the study gives none. A figure of a run that has a goal but
    is not part of the study is added as ``RUN.FIGURE``, so that no goal is lost. A figure missing because its run did
    not finish is NaN, which fails every goal.

    Args:
        study: the study.
        figures: figures of each run, by name of the run.
    """
    measured = {(run, figure.name): figure for run, found in figures.items() for figure in found}
    result: dict[str, Figure] = {}
    for spec in study.figures:
        if not spec.ratio:
            why = f"run '{spec.run}' gave no figure"
            missing = Figure(spec.figure, math.nan, "1", meaning=why, details={"reason": why})
            figure = measured.get((spec.run, spec.figure), missing)
            result[spec.name] = replace(
                figure, name=spec.name, goal=spec.goal or figure.goal if figure.judged else None
            )
    for spec in study.figures:
        if spec.ratio:
            above, below = (result[name] for name in spec.ratio)
            over = ratio(spec.name, above, below, spec.goal)
            result[spec.name] = replace(over, meaning=_ratio_in_words(study, spec, above, below))
    ordered = [result[spec.name] for spec in study.figures]
    taken = {(spec.run, spec.figure) for spec in study.figures}
    for (run, name), figure in measured.items():
        if figure.goal is not None and (run, name) not in taken:
            ordered.append(replace(figure, name=f"{run}.{name}"))
    return tuple(ordered)


def _ratio_in_words(study: Study, spec: StudyFigureSpec, above: Figure, below: Figure) -> str:
    """Return what a ratio compares: the meaning of its figures, and the titles of their runs where these differ."""
    runs = {each.name: each.run for each in study.figures}
    first, second = (f"“{study.scenarios[runs[name]].title}”" for name in spec.ratio)
    if above.meaning == below.meaning:
        return f"{above.meaning}: {first} / {second}"
    if first == second:
        return f"{above.meaning} / {below.meaning}"
    return f"{above.meaning} in {first} / {below.meaning} in {second}"
