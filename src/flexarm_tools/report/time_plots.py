"""Curves of a run over time, used by most of its plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexarm_core.types import Array
from flexarm_tools.recording.recording import Recording
from flexarm_tools.report.svg_plot import SERIES, SvgPlot, axis_scale, series_color, within_reason

TIME = "time [s]"
LETTER = 0.016  # width of a letter of a phase's name, as part of the width of a plot


@dataclass(frozen=True, slots=True)
class Marker:
    """A mark in the plots of a run, for a push, an event or a phase."""

    number: int  # shown in the plots; 0 for a phase, whose name is shown
    begin: float  # start time [s]
    end: float  # end time [s], equal to `begin` for an instant
    text: str  # description, shown once below the plots


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot for the page."""

    title: str  # heading
    svg: str  # the plot as SVG
    legend: tuple[tuple[int, str, bool], ...] = ()  # color number (from 1), label and whether dashed, for each curve


def time_plot(
    title: str,
    time: Array,
    curves: dict[str, Array],
    unit: str,
    markers: Sequence[Marker],
    dashed: dict[str, Array] | None = None,
) -> Plot | None:
    """Plot curves over time; return None if there are no values, or all are zero.

    Args:
        title: heading.
        time: (T,) [s].
        curves: (T,) by name.
        unit: unit of all curves.
        markers: markers of the run.
        dashed: second curves with the same names, in the same colors.
    """
    second = known_curves(dashed or {})
    known = known_curves(curves)
    peak = max((float(np.nanmax(np.abs(curve))) for curve in (*known.values(), *second.values())), default=0.0)
    if peak == 0.0:
        return None
    factor, shown = axis_scale(peak, unit)
    plot = SvgPlot(TIME, f"[{shown}]" if shown else "")
    legend = []
    for index, name in enumerate(curves):
        if name in known:
            plot.line(time, factor * known[name], series_color(index))
            legend.append((index % SERIES + 1, name, False))
        if name in second:
            plot.line(time, factor * second[name], series_color(index), 1.2, dashed=True)
    plot.axes.set_xlim(float(time[0]), float(time[-1]))
    mark(plot, markers)
    return Plot(title, plot.svg(f"{title} over time"), tuple(legend))


def known_curves(curves: dict[str, Array]) -> dict[str, Array]:
    """Return the curves with drawable values; other values are NaN."""
    drawn = {name: within_reason(curve) for name, curve in curves.items()}
    return {name: curve for name, curve in drawn.items() if np.isfinite(curve).any()}


def logarithmic_plot(
    title: str, label: str, words: str, recording: Recording, curves: dict[str, Array], markers: Sequence[Marker]
) -> Plot | None:
    """Plot positive curves by name over time on a logarithmic scale; return None if there are no values.

    A curve without a name is not in the legend.
    """
    curves = {name: curve for name, curve in curves.items() if (np.isfinite(curve) & (curve > 0.0)).any()}
    if not curves:
        return None
    plot = SvgPlot(TIME, label)
    for index, curve in enumerate(curves.values()):
        plot.line(recording.time, np.where(curve > 0.0, curve, np.nan), series_color(index))
    plot.logarithmic(curves.values())
    plot.axes.set_xlim(float(recording.time[0]), float(recording.time[-1]))
    mark(plot, markers)
    legend = tuple((index + 1, name, False) for index, name in enumerate(curves) if name)
    return Plot(title, plot.svg(f"{words} over time, logarithmic"), legend)


def mark(plot: SvgPlot, markers: Sequence[Marker]) -> None:
    """Mark the phases, pushes and events of the run in a plot."""
    begin, end = plot.axes.get_xlim()
    free, above = begin, 10.0 if any(marker.number for marker in markers) else 2.0
    for marker in markers:
        if marker.number == 0:
            place = max(marker.begin, begin)
            known = free <= place < end
            plot.phase(place, marker.text if known else "", above)  # a name that would cover the last one is left out
            free = place + LETTER * (end - begin) * (len(marker.text) + 1) if known else free
        elif marker.end > marker.begin:
            plot.span(marker.begin, marker.end, str(marker.number))
        else:
            plot.instant(marker.begin, str(marker.number))
