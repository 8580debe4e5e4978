"""Report: a self-contained HTML file for a run or a study, without references to the network or other files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from flexarm_tools.metrics.figures import Figure
from flexarm_tools.recording.recording import Recording
from flexarm_tools.report.animation import motion_data, push_data, robot_data
from flexarm_tools.report.camera import choose_view
from flexarm_tools.report.comparison_plots import comparison_plots
from flexarm_tools.report.figures_table import figures_section, figures_table, verdict
from flexarm_tools.report.headline import Sentence, headline
from flexarm_tools.report.null_space_plots import null_space_panels
from flexarm_tools.report.overlay_plots import Compared
from flexarm_tools.report.plots import run_markers, run_plots
from flexarm_tools.report.reactionless_plots import family_plot, reactionless, reactionless_panels
from flexarm_tools.report.solids import further_solids, simplified
from flexarm_tools.report.svg_plot import SERIES
from flexarm_tools.report.time_plots import Plot
from flexarm_tools.scenario.scenario import Scenario
from flexarm_tools.scenario.study import Comparison, Study
from flexarm_tools.scenario.surroundings import surrounded

SCRIPTS = ("kinematics.js", "solids.js", "stage.js", "player.js")
EXAGGERATIONS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
SHOWN_DEFLECTION = 0.15  # largest drawn base motion relative to the width of the picture
MOST_TRIANGLES = 6000  # of the meshes of a robot: some 150 kB
NAMED = 3  # meshes that cannot be loaded, by name
LOGGED = 200  # largest number of events shown for a run


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run."""

    name: str  # short name, unique in a study
    scenario: Scenario  # scenario of the run
    recording: Recording  # recording of the run
    figures: tuple[Figure, ...]  # figures computed from the recording

    @property
    def unexpected(self) -> tuple[str, ...]:
        """Descriptions of the events that the scenario does not expect."""
        return self.scenario.expected.beyond(self.recording)


def write_run_report(path: Path, run: Run, provenance: Mapping[str, str] = MappingProxyType({})) -> None:
    """Write the report of one run.

    Args:
        path: file to write.
        run: finished run.
        provenance: where the results come from, by name.
    """
    scenario = run.scenario
    head = _heading(scenario.title, scenario.description, run.figures, len(run.unexpected))
    body = [head, _animation([run], [run.name])]
    body += [*figures_section(run.figures, bool(run.unexpected)), *_families([run]), '<h2 id="run">Run</h2>']
    body.append(f'<div class="run card">{_run_body(run, with_figures=False)}</div>')
    body.append(_provenance(provenance))
    write_page(path, scenario.title, body)


def write_study_report(
    path: Path,
    study: Study,
    runs: Sequence[Run],
    figures: Sequence[Figure],
    provenance: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write the report of a study.

    Args:
        path: file to write.
        study: the study.
        runs: finished runs, in the order of the study.
        figures: figures of the study.
        provenance: where the results come from, by name.
    """
    runs = [_called(run, study) for run in runs]
    study = replace(study, scenarios={**study.scenarios, **{run.name: run.scenario for run in runs}})
    first = [name for name in study.comparisons[0].runs if name in {run.name for run in runs}]
    texts = [f"{run.name}: {text}" for run in runs for text in run.unexpected]
    unexpected = len(texts)
    said = headline(study, {run.name: run.figures for run in runs}, texts)
    body = [_heading(study.title, study.description, figures, unexpected, said), _animation(runs, first[:2])]
    body += [*figures_section(figures, unexpected > 0), *_families(runs)]
    if runs:
        body.append('<h2 id="comparisons">Comparisons</h2>')
        body += [_comparison(comparison, runs) for comparison in study.comparisons]
        body.append('<h2 id="runs">Runs</h2>')
    for run in runs:
        head = f'<strong>{escape(run.scenario.title)}</strong><span class="name">{escape(run.name)}</span>'
        summary = f"<summary>{head}{verdict(run.figures, len(run.unexpected))}</summary>"
        body.append(
            f'<details class="run" id="run-{escape(run.name)}">{summary}{_run_body(run, with_figures=True)}</details>'
        )
    finished = {run.name for run in runs}
    for name, scenario in study.scenarios.items():
        if name not in finished:
            head = f'<strong>{escape(scenario.title)}</strong> <span class="name">{escape(name)}</span>'
            body.append(f'<p class="card lost">{head} <span class="verdict bad">did not come to its end</span></p>')
    body.append(_provenance(provenance))
    write_page(path, study.title, body)


def write_page(path: Path, title: str, body: Sequence[str]) -> None:
    """Write a self-contained page in the style of the report."""
    assets = files("flexarm_tools") / "assets"
    style = (assets / "report.css").read_text(encoding="utf-8")
    script = "".join((assets / name).read_text(encoding="utf-8") for name in SCRIPTS)
    page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)} · flexarm</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<main>
{chr(10).join(body)}
<footer>Written by flexarm. SI units; spatial vectors linear first.</footer>
</main>
<script>"use strict";
(() => {{
{script}}})();
</script>
</body>
</html>
"""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")


def _heading(
    title: str, description: str, figures: Sequence[Figure], unexpected: int, said: Sequence[Sentence] = ()
) -> str:
    top = f'<div class="top"><h1>{escape(title)}</h1>{verdict(figures, unexpected)}</div>'
    return f'<header>{top}{_headline(said)}<p class="lede">{escape(description)}</p></header>'


def _called(run: Run, study: Study) -> Run:
    """Return the run, called by its name where its title is that of the study: ``all_on`` is "All on"."""
    if run.scenario.title != study.title:
        return run
    return replace(run, scenario=replace(run.scenario, title=run.name.replace("_", " ").capitalize()))


def _headline(sentences: Sequence[Sentence]) -> str:
    items = (f'<li class="{"worse" if each.bad else "said"}">{escape(each.text)}</li>' for each in sentences)
    return f'<ul class="headline">{"".join(items)}</ul>' if sentences else ""


def _plots(plots: Sequence[Plot], wide: bool = False) -> str:
    figures = []
    for plot in plots:
        keys = "".join(
            f'<span class="key{" dashed" * dashed}" style="--color: var(--series-{color})">{escape(label)}</span>'
            for color, label, dashed in plot.legend
        )
        kind = ' class="card"' if wide else ""
        caption = f"<figcaption><strong>{escape(plot.title)}</strong>{keys}</figcaption>"
        figures.append(f"<figure{kind}>{caption}{plot.svg}</figure>")
    return f'<div class="plots{" wide" if wide else ""}">{"".join(figures)}</div>'


def _comparison(comparison: Comparison, runs: Sequence[Run]) -> str:
    chosen = [(i, run) for i, run in enumerate(runs) if run.name in comparison.runs]
    if not chosen:
        return ""
    names = [run.scenario.title for _, run in chosen]
    scenarios, recordings = [run.scenario for _, run in chosen], [run.recording for _, run in chosen]
    plots = comparison_plots(Compared(names, scenarios, recordings, [i for i, _ in chosen]))
    found = (panels(names, scenarios, recordings) for panels in (reactionless_panels, null_space_panels))
    first = "".join(_plots([plot], wide=True) for plot in found if plot is not None)
    return f"<section><h3>{escape(comparison.title)}</h3>{first}{_plots(plots, wide=True)}</section>"


def _families(runs: Sequence[Run]) -> list[str]:
    """Return the reactionless paths of the first robot that moves along them."""
    plots = (family_plot(run.scenario) for run in runs if reactionless(run.scenario))
    plot = next((plot for plot in plots if plot is not None), None)
    return [] if plot is None else ['<h2 id="paths">Reactionless paths</h2>', _plots([plot], wide=True)]


def _run_body(run: Run, with_figures: bool) -> str:
    recording, scenario = run.recording, run.scenario
    parts = [f"<p>{escape(scenario.description)}</p>" if with_figures and scenario.description else "", _facts(run)]
    markers = [marker for marker in run_markers(scenario) if marker.number]
    if markers:
        items = (f"<li><b>{m.number}</b>{m.begin:g} s: {escape(m.text)}</li>" for m in markers)
        parts.append(f'<ul class="markers">{"".join(items)}</ul>')
    if with_figures:
        parts.append(figures_table(run.figures, bool(run.unexpected)))
    parts.append(_plots(run_plots(scenario, recording)))
    if recording.events:
        shown = recording.events[:LOGGED]
        rows = "".join(
            f"<tr><td>{e.time:.3f} s</td><td>{escape(e.level)}</td><td class='name'>{escape(e.source)}</td>"
            f"<td>{escape(e.message)}</td></tr>"
            for e in shown
        )
        more = f" (the first {LOGGED} of {len(recording.events)})" if len(recording.events) > LOGGED else ""
        parts.append(
            f'<details class="source log"><summary>What happened{more}</summary><table>{rows}</table></details>'
        )
    name = escape(scenario.path.name)
    source = f"<pre>{escape(scenario.source)}</pre>"
    parts.append(f'<details class="source"><summary>Scenario file {name}</summary>{source}</details>')
    return f'<div class="inside">{"".join(parts)}</div>'


def _provenance(provenance: Mapping[str, str]) -> str:
    items = (f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in provenance.items())
    return f'<h2 id="provenance">Provenance</h2><dl class="facts">{"".join(items)}</dl>' if provenance else ""


def _facts(run: Run) -> str:
    recording, scenario = run.recording, run.scenario
    robot = scenario.robot.description
    count = len(robot.elastic)
    base = f"{count} elastic joint{'s' if count > 1 else ''}" if count else "a rigid base"
    if count and len(robot.free) == count:
        base = "a base that floats freely"
    modes = f", {len(recording.modes)} modes" if recording.modes else ""
    facts: list[tuple[str, str, bool]] = [
        ("Robot", f"{robot.name}, {len(robot.actuated)} joints on {base}{modes}", False),
        ("Mode", scenario.mode.replace("_", " "), False),
        ("Rate", f"{scenario.rate:g} Hz", False),
        ("Duration", f"{scenario.duration:g} s, {recording.ticks} ticks", False),
    ]
    if scenario.plant_robot is not None:
        arguments = (f"{name} {value}" for name, value in scenario.plant_robot.arguments.items())
        facts.append(("Plant", ", ".join((scenario.plant_robot.description.name, *arguments)), False))
    if np.isfinite(recording.natural_period):
        facts.append(("Natural period", f"{recording.natural_period:.3g} s", False))
    counts = {
        "Watchdog stops": recording.watchdog_stops,
        "Gate trips": recording.trips,
        "Lockstep time-outs": recording.lockstep_timeouts,
        "Lost samples": recording.lost_samples,
    }
    facts += [(name, str(count), True) for name, count in counts.items() if count]
    facts += [("Node died", name, True) for name in recording.node_deaths]
    facts += [("Not expected", text, True) for text in run.unexpected]
    items = (
        f'<div class="{"alarm" if alarm else "fact"}"><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>'
        for name, text, alarm in facts
    )
    return f'<dl class="facts">{"".join(items)}</dl>'


def _animation(runs: Sequence[Run], shown: Sequence[str]) -> str:
    """Return the player and its data; the script creates the display."""
    if not runs:
        return ""
    texts = list(dict.fromkeys(run.scenario.true_robot.description.text for run in runs))
    exaggeration = _exaggeration(runs)
    robots = [_robot(text, runs, exaggeration) for text in texts]
    data = {
        "robots": robots,
        "runs": [
            {
                "name": run.name,
                "title": run.scenario.title,
                "color": i % SERIES + 1,
                "robot": texts.index(run.scenario.true_robot.description.text),
                "markers": [[marker.begin, marker.end] for marker in run_markers(run.scenario) if marker.number],
                "phases": [[phase.start, phase.name] for phase in run.scenario.phases],
                "pushes": push_data(run.scenario),
                "motion": motion_data(run.recording),
            }
            for i, run in enumerate(runs)
        ],
        "shown": list(shown) or [runs[0].name],
        "exaggeration": exaggeration,
    }
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    hint = "Drag a view to turn it. Dashed: the reference"
    if any(run.recording.elastic_names for run in runs):
        hint += ", and the base at rest. Numbers and curves are as measured, whatever the drawing exaggerates"
    return (
        '<section aria-label="Animation"><div class="player" data-source="animation-data"></div>'
        f'<p class="hint">{hint}.</p>{_missing(robots)}<noscript><p>The animation needs JavaScript.</p></noscript>'
        f'<script type="application/json" id="animation-data">{text}</script></section>'
    )


def _missing(robots: Sequence[Mapping[str, Any]]) -> str:
    """Return a line on what is drawn otherwise than described; empty if nothing is."""
    meshes: dict[str, list[str]] = {}  # by the reason
    for text in dict.fromkeys(text for robot in robots for text in robot["missing"]):
        mesh, _, reason = text.partition(" is not shown: ")
        meshes.setdefault(reason, []).append(mesh)
    if not meshes:
        return ""
    parts = []
    for reason, those in meshes.items():
        more = f" and {len(those) - NAMED} more" if len(those) > NAMED else ""
        parts.append(f"{reason} ({', '.join(those[:NAMED])}{more})")
    if len(parts) > NAMED:
        parts = [*parts[:NAMED], f"and {len(parts) - NAMED} more"]
    return f'<p class="hint missing">Drawn by rods or collision shapes: {escape("; ".join(parts))}.</p>'


def _robot(text: str, runs: Sequence[Run], exaggeration: float) -> dict[str, Any]:
    those = [run for run in runs if run.scenario.true_robot.description.text == text]
    description, missing = surrounded(those[0].scenario), list[str]()
    robot = those[0].scenario.true_robot
    solids = simplified(further_solids(robot.description, missing.append, robot.path), MOST_TRIANGLES)
    view = choose_view(description, [run.recording for run in those], solids, robot.tool_frame, exaggeration)
    return {
        "missing": missing,
        "tree": robot_data(description, robot.tool_frame, solids),
        "view": {
            "azimuth": view.azimuth,
            "elevation": view.elevation,
            "center": view.center.tolist(),
            "size": view.size.tolist(),
            "radius": view.radius,
            "floor": view.floor,
        },
    }


def _exaggeration(runs: Sequence[Run]) -> int:
    """Return the factor by which the base motion is exaggerated to be visible: 1, 2, 5, ..."""
    first = runs[0].scenario
    same = [
        run.recording for run in runs if run.scenario.true_robot.description.text == first.true_robot.description.text
    ]
    width = float(choose_view(surrounded(first), same).size[0])
    peak = 0.0
    for run in runs:
        size = run.recording.base_motion
        lever = 0.5 * width if "rad" in run.recording.elastic_units else 1.0
        peak = max(peak, float(np.nanmax(size, initial=0.0)) * lever)
    fitting = [factor for factor in EXAGGERATIONS if factor * peak <= SHOWN_DEFLECTION * width]
    return fitting[-1] if peak > 0.0 and fitting else 1
