"""Plots of the page, and the reduction of long signals before they are sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import viser
import viser.uplot

from flexarm_core.types import Array
from flexarm_tools.report.svg_plot import within_reason

COLORS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2")
NOW = "#555555"
BUCKETS = 300  # buckets of a long signal; each keeps its smallest and largest value
HEIGHT = 185  # [px]
LEAST_SPAN = 1e-6  # smallest range of an axis


@dataclass(frozen=True, slots=True)
class PlotSpec:
    """Specification of a plot."""

    title: str  # title
    unit: str  # unit of the values
    labels: tuple[str, ...]  # (c) labels of the curves


def envelope(time: Array, values: Array) -> tuple[Array, Array]:
    """Reduce signals (T, c) over (T,) to at most ``2 BUCKETS`` rows with all peaks: smallest and largest alternate."""
    if len(time) <= 2 * BUCKETS:
        return time, values
    edges = np.linspace(0, len(time), BUCKETS + 1).astype(int)
    rows = np.empty((2 * BUCKETS, values.shape[1]))
    for i, (begin, end) in enumerate(pairwise(edges)):
        part = values[begin:end]
        low, high = np.min(part, axis=0), np.max(part, axis=0)  # NaN if there is one: a gap
        falls = part[0] > part[-1]
        rows[2 * i], rows[2 * i + 1] = np.where(falls, high, low), np.where(falls, low, high)
    middles = (edges[:-1] + edges[1:]) // 2
    return np.column_stack((time[edges[:-1]], time[middles])).ravel(), rows


class PlotColumn:
    """Stacked plots with the same time axis."""

    def __init__(
        self,
        gui: viser.GuiApi,
        specs: Sequence[PlotSpec],
        container: viser.GuiTabHandle,
        span: tuple[float, float],
    ) -> None:
        """Add empty plots to a tab of the page.

        Args:
            gui: GUI of the page.
            specs: specifications of the plots.
            container: the tab.
            span: ends of the time axis [s]; fixed, because a change resets the user's zoom in the browser.
        """
        self._span = span
        self._plots: dict[str, viser.GuiUplotHandle] = {}
        self._data: dict[str, tuple[Array, Array]] = {}
        self._counts = {spec.title: len(spec.labels) for spec in specs}
        with container:
            for spec in specs:
                series = [viser.uplot.Series(label="t")]
                series += [
                    viser.uplot.Series(label=label, stroke=COLORS[i % len(COLORS)], width=1.5, points={"show": False})
                    for i, label in enumerate(spec.labels)
                ]
                series.append(viser.uplot.Series(label="now", stroke=NOW, width=1.0, points={"show": False}))
                empty = tuple(np.zeros(1) for _ in series)
                self._plots[spec.title] = gui.add_uplot(
                    empty,
                    tuple(series),
                    title=f"{spec.title} [{spec.unit}]" if spec.unit else spec.title,
                    scales=self._scales(-1.0, 1.0),
                    legend=viser.uplot.Legend(show=len(spec.labels) > 1, live=False),
                    axes=(viser.uplot.Axis(), viser.uplot.Axis(size=58)),
                    padding=(10, 16, 0, 0),
                    height=HEIGHT + 22 * (len(spec.labels) > 1) * (1 + len(spec.labels) // 5),
                )

    def remove(self) -> None:
        """Remove the plots from the page."""
        for plot in self._plots.values():
            plot.remove()
        self._plots.clear()

    def set(self, title: str, time: Array, values: Array) -> None:
        """Show curves (T, c) over (T,) in one plot."""
        if len(time):
            self._data[title] = envelope(time, within_reason(values))
            self.mark(float("nan"))

    def mark(self, now: float) -> None:
        """Draw a line at an instant [s] in every plot; NaN for no line."""
        for title, (time, values) in self._data.items():
            line = np.full(len(time), np.nan)
            low, high = _range(values)
            if np.isfinite(now) and len(time) > 1:
                i = int(np.clip(np.searchsorted(time, now), 1, len(time) - 1))
                line[i - 1], line[i] = low, high
            plot = self._plots[title]
            # explicit, because uPlot finds no range if a curve begins with NaN
            scales = self._scales(low, high)
            if plot.scales != scales:
                plot.scales = scales
            plot.data = (time, *values.T, line)

    def _scales(self, low: float, high: float) -> dict[str, viser.uplot.Scale]:
        return {"x": viser.uplot.Scale(time=False, range=self._span), "y": viser.uplot.Scale(range=(low, high))}


def _range(values: Array) -> tuple[float, float]:
    """Return rounded ends of an axis around all finite values: each change makes the browser rebuild the plot."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return -1.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    span = max(high - low, 1e-3 * max(abs(low), abs(high)), LEAST_SPAN)
    step = 10.0 ** np.floor(np.log10(span)) / 2.0
    return float(step * (np.floor(low / step) - 0.2)), float(step * (np.ceil(high / step) + 0.2))
