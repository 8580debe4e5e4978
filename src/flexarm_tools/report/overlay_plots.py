"""Superimposed curves of several runs, used for comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexarm_core.types import Array
from flexarm_tools.recording.recording import Recording
from flexarm_tools.report.svg_plot import SERIES, SvgPlot, axis_scale, engineering, series_color, within_reason
from flexarm_tools.report.time_plots import TIME, Marker, Plot, mark
from flexarm_tools.scenario.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Compared:
    """Runs that are drawn over each other."""

    names: Sequence[str]  # shown names
    scenarios: Sequence[Scenario]  # scenarios of the runs
    recordings: Sequence[Recording]  # recordings of the runs
    colors: Sequence[int]  # color number of each run, from 0

    @property
    def phases(self) -> tuple[Marker, ...]:
        """Phases of the runs, empty if they have different ones."""
        same = len({scenario.phases for scenario in self.scenarios}) == 1
        return tuple(Marker(0, each.start, each.start, each.name) for each in self.scenarios[0].phases if same)


def linear_and_logarithmic(
    title: str,
    unit: str,
    runs: Compared,
    curves: Sequence[Array],
    sizes: Sequence[Array],
    decades: float = 7.0,
) -> list[Plot]:
    """Plot one curve per run, and their magnitudes with a logarithmic ordinate.

    Args:
        title: heading.
        unit: unit of all curves.
        runs: the runs.
        curves: (T,) one per run.
        sizes: (T,) magnitudes of the curves.
        decades: largest range of the logarithmic ordinate.
    """
    recordings, colors = runs.recordings, runs.colors
    label = title.lower() if curves is sizes else f"size of the {title.lower()}"
    logarithmic = SvgPlot(TIME, f"{label} [{engineering(1.0, unit)[1]}]", 4.8, 2.5)
    for i in _largest_first(curves):
        logarithmic.line(recordings[i].time, np.where(sizes[i] > 0.0, sizes[i], np.nan), series_color(colors[i]))
    logarithmic.logarithmic(list(sizes), decades=decades)
    _limit(logarithmic, recordings)
    mark(logarithmic, runs.phases)
    text = f"{label.capitalize()} of {', '.join(runs.names)}, logarithmic"
    return [
        overlay(title, title.lower(), unit, runs, curves),
        Plot("The same, logarithmic", logarithmic.svg(text), _legend(runs.names, colors)),
    ]


def overlay(
    title: str,
    label: str,
    unit: str,
    runs: Compared,
    curves: Sequence[Array],
    dashed: Sequence[Array] = (),
    shown: tuple[float, float] | None = None,
) -> Plot:
    """Plot one curve per run.

    Args:
        title: heading.
        label: label of the ordinate.
        unit: unit of all curves.
        runs: the runs.
        curves: (T,) one per run.
        dashed: second curves, one per run, in the same colors; empty: none.
        shown: start and end of the time axis [s]; None: the whole run.
    """
    recordings, colors = runs.recordings, runs.colors
    curves, dashed = [within_reason(curve) for curve in curves], [within_reason(curve) for curve in dashed]
    peak = max((float(np.nanmax(np.abs(curve), initial=0.0)) for curve in (*curves, *dashed)), default=0.0)
    factor, prefixed = axis_scale(peak, unit)
    plot = SvgPlot(TIME, f"{label} [{prefixed}]", 4.8, 2.5)
    for i in _largest_first(curves):
        plot.line(recordings[i].time, factor * curves[i], series_color(colors[i]))
    for i, curve in enumerate(dashed):
        plot.line(recordings[i].time, factor * curve, series_color(colors[i]), 1.2, dashed=True)
    if shown is None:
        _limit(plot, recordings)
    else:
        plot.axes.set_xlim(*shown)
    mark(plot, runs.phases)
    return Plot(title, plot.svg(f"{title} of {', '.join(runs.names)} over time"), _legend(runs.names, colors))


def _largest_first(curves: Sequence[Array]) -> list[int]:
    """Return the curve indices with the largest curve first, so that it does not cover the others."""
    return sorted(range(len(curves)), key=lambda i: -float(np.nanmax(np.abs(within_reason(curves[i])), initial=0.0)))


def _limit(plot: SvgPlot, recordings: Sequence[Recording]) -> None:
    begin, end = (min(float(r.time[0]) for r in recordings), max(float(r.time[-1]) for r in recordings))
    plot.axes.set_xlim(begin, end)


def _legend(names: Sequence[str], colors: Sequence[int]) -> tuple[tuple[int, str, bool], ...]:
    return tuple((color % SERIES + 1, name, False) for name, color in zip(names, colors, strict=True))
