"""Page of a sweep: shares and goals, how each figure is distributed, what it depends on, and its worst runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexarm_core.types import Array
from flexarm_tools.metrics.all import METRICS
from flexarm_tools.metrics.figures import FigureSpec
from flexarm_tools.report.figures_table import figures_section, inline, verdict
from flexarm_tools.report.report import write_page
from flexarm_tools.report.svg_plot import INK, SvgPlot, series_color
from flexarm_tools.sweep.row import HOLDS, Row
from flexarm_tools.sweep.shares import share_figures
from flexarm_tools.sweep.summary import FEWEST, correlations, outcome_shares, reasons, worst_runs
from flexarm_tools.sweep.sweep import Sweep

PAGE = "index.html"
BINS = 24
LARGEST, EQUAL = 1e9, 1e-9  # size of what is drawn, and relative difference below which values are equal
DOTS = 1500  # largest number of runs in a plot with a dot each
GOOD, BAD = 1, 0  # series of runs
PLAIN, WRONG = series_color(GOOD), series_color(BAD)
WIDE = 100.0  # ratio of the largest to the smallest value from which an axis is logarithmic


def write_sweep_page(folder: Path, sweep: Sweep, rows: Mapping[int, Row]) -> Path:
    """Write the page of the runs so far.

    Args:
        folder: folder of the results.
        sweep: the finished sweep.
        rows: rows by number of the run; at least one.

    Returns:
        The page.
    """
    ordered = [rows[number] for number in sorted(rows)]
    shares = share_figures(sweep, rows)
    top = f'<div class="top"><h1>{escape(sweep.title)}</h1>{verdict(shares)}</div>'
    lead = f"{len(rows)} of {sweep.count} runs of {sweep.path.name}. "
    lead += "Vary: " + ", ".join(f"{one.name} ({one.key})" for one in sweep.variables) + "."
    body = [f'<header>{top}<p class="lede">{escape(lead)}</p></header>', _outcomes(ordered), *figures_section(shares)]
    for spec in sweep.figures:
        body += _figure(sweep, spec, ordered)
    body += _reasons(sweep, ordered)
    path = folder / PAGE
    write_page(path, sweep.title, body)
    return path


def _outcomes(rows: Sequence[Row]) -> str:
    lines = [
        f"<tr><td>{outcome}</td><td>{count}</td><td>{count / len(rows):.4f}</td><td>{low:.4f} to {high:.4f}</td></tr>"
        for outcome, count, low, high in outcome_shares(rows)
    ]
    head = "<tr><th>Outcome</th><th>Runs</th><th>Share</th><th>95 % confidence</th></tr>"
    return f'<h2 id="outcomes">Outcomes</h2><div class="card"><table>{head}{"".join(lines)}</table></div>'


def _figure(sweep: Sweep, spec: FigureSpec, rows: Sequence[Row]) -> list[str]:
    """Return the section of a figure."""
    goal = f", goal `{spec.goal.text}`" if spec.goal else ""
    parts = [
        f'<h2 id="{escape(spec.name)}">{escape(spec.name)}</h2>',
        f'<p class="lede">{inline(METRICS[spec.metric].meaning + goal)}</p>',
    ]
    known = [row for row in rows if math.isfinite(row.figures[spec.name])]
    if not known:
        return [*parts, "<p>No run gave a value.</p>"]
    drawn = [row for row in known if abs(row.figures[spec.name]) < LARGEST]
    values = np.array([row.figures[spec.name] for row in drawn])
    good = np.array(
        [
            spec.goal.holds(value) if spec.goal else row.outcome == HOLDS
            for value, row in zip(values, drawn, strict=True)
        ],
        dtype=bool,
    )
    if not drawn or np.ptp(values) <= EQUAL * np.abs(values).max():
        return [
            *parts,
            f"<p>{_shown(known[0].figures[spec.name])} in all runs.</p>" if drawn else "",
            _worst(sweep, spec, known),
        ]
    plots = [_plotted("Distribution", _keys(spec, good), _histogram(spec, values, good))]
    found = correlations(sweep, drawn, spec.name) if len(drawn) >= FEWEST else []
    if found:
        plots.append(_plotted("Rank correlation with what varies", "", _bars(found)))
    for name, rho in found[:2]:
        inputs = np.array([row.inputs[name] for row in drawn], dtype=float)
        plots.append(
            _plotted(f"Over {name}", f'<span class="none">{rho:+.2f}</span>', _dots(spec, name, inputs, values, good))
        )
    return [*parts, f'<div class="plots">{"".join(plots)}</div>', _worst(sweep, spec, known)]


def _plotted(title: str, note: str, svg: str) -> str:
    return f'<figure class="card"><figcaption><strong>{escape(title)}</strong>{note}</figcaption>{svg}</figure>'


def _keys(spec: FigureSpec, good: NDArray[np.bool_]) -> str:
    """Return what the colors mean, if there are two."""
    if good.all():
        return ""
    words = ("meets the goal", "misses it") if spec.goal else ("the run holds", "it does not")
    pairs = zip((GOOD, BAD), words, strict=True)
    keys = (f'<span class="key" style="--color:var(--series-{i + 1})">{word}</span>' for i, word in pairs)
    return "".join(keys)


def _histogram(spec: FigureSpec, values: Array, good: NDArray[np.bool_]) -> str:
    plot = SvgPlot(spec.name, "runs")
    edges = np.histogram_bin_edges(values, BINS)
    if _is_wide(values):
        plot.axes.set_xscale("log")
        edges = np.geomspace(values.min(), values.max(), BINS + 1)
    parts = [values[good], values[~good]]
    plot.axes.hist(parts, bins=list(edges), stacked=True, color=[PLAIN, WRONG])
    if spec.goal and edges[0] <= spec.goal.bound <= edges[-1]:
        plot.axes.axvline(spec.goal.bound, color=INK, linewidth=1.1, linestyle=(0, (2, 2)))
    return plot.svg(f"distribution of {spec.name}: {good.sum()} runs as wanted, {(~good).sum()} not")


def _bars(found: Sequence[tuple[str, float]]) -> str:
    plot = SvgPlot("rank correlation (Spearman)", "")
    names, heights = [name for name, _ in found], [rho for _, rho in found]
    plot.axes.barh(range(len(found)), heights, color=PLAIN, height=0.6)
    plot.axes.set_yticks(range(len(found)), names)
    plot.axes.set_xlim(-1.0, 1.0)
    plot.axes.invert_yaxis()
    return plot.svg(", ".join(f"{name} {rho:+.2f}" for name, rho in found))


def _dots(spec: FigureSpec, name: str, inputs: Array, values: Array, good: NDArray[np.bool_]) -> str:
    plot, chosen = SvgPlot(name, spec.name), slice(None, None, math.ceil(len(values) / DOTS))
    if _is_wide(inputs):
        plot.axes.set_xscale("log")
    if _is_wide(values):
        plot.axes.set_yscale("log")
    for color, which in ((PLAIN, good), (WRONG, ~good)):
        plot.axes.plot(
            inputs[which][chosen], values[which][chosen], color=color, marker="o", markersize=2.6, linestyle="none",
            markeredgewidth=0.0, alpha=0.8,
        )  # fmt: skip
    plot.axes.margins(x=0.03, y=0.06)
    plot.axes.autoscale()
    return plot.svg(f"{spec.name} over {name}")


def _is_wide(values: Array) -> bool:
    return bool(values.min() > 0.0 and values.max() > WIDE * values.min())


def _worst(sweep: Sweep, spec: FigureSpec, rows: Sequence[Row]) -> str:
    names = [one.name for one in sweep.variables]
    head = "".join(f"<th>{escape(name)}</th>" for name in ("Worst runs", spec.name, *names, "Play it"))
    lines = []
    for row in worst_runs(spec, rows):
        inputs = (row.inputs[name] for name in names)
        cells = [str(row.run), _shown(row.figures[spec.name]), *map(_shown, inputs)]
        told = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        lines.append(f"<tr>{told}<td><code>{escape(_command(sweep, row.run))}</code></td></tr>")
    return f'<div class="card wide"><table><tr>{head}</tr>{"".join(lines)}</table></div>'


def _reasons(sweep: Sweep, rows: Sequence[Row]) -> list[str]:
    found = reasons(rows)
    if not found:
        return []
    lines = []
    for reason, of in found:
        played = escape(_command(sweep, of[0].run))
        lines.append(f"<tr><td>{len(of)}</td><td>{escape(reason)}</td><td><code>{played}</code></td></tr>")
    head = "<tr><th>Runs</th><th>Reason</th><th>Play one</th></tr>"
    return [
        '<h2 id="reasons">Why runs do not hold</h2>',
        f'<div class="card wide"><table>{head}{"".join(lines)}</table></div>',
    ]


def _command(sweep: Sweep, run: int) -> str:
    return f"flexarm run --of {sweep.path} {run}"


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
