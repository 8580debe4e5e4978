"""Several small plots in one figure, arranged in rows and columns, as inline SVG."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import matplotlib
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from flexarm_tools.report.svg_plot import INK, PLOT_STYLE, SvgPlot

LETTERS = 90  # letters of a heading that fit into the width of a figure


class SvgPanels:
    """Rows and columns of plots.

    Attributes:
        panels: plots by row and column, initially without labels.
    """

    def __init__(self, columns: int, heights: Sequence[float], width: float = 9.6) -> None:
        """Create the figure.

        Args:
            columns: number of columns.
            heights: heights of the rows [inch].
            width: total width of the columns [inch].
        """
        with matplotlib.rc_context(PLOT_STYLE):
            layout = ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.03)
            figure = Figure(figsize=(width, sum(heights)), layout=layout, facecolor="none")
            grid = figure.add_gridspec(len(heights), columns, height_ratios=heights)
            axes = [
                [figure.add_subplot(grid[i, j], facecolor="none") for j in range(columns)] for i in range(len(heights))
            ]
            self.panels = [[SvgPlot.on(each, "", "") for each in row] for row in axes]

    def name(self, row: int, column: int, title: str) -> None:
        """Put a heading over a panel, above its markers."""
        axes = self.panels[row][column].axes
        lines = textwrap.fill(title, LETTERS // len(self.panels[row]))
        axes.set_title(lines, fontsize=10, color=INK, loc="left", fontweight="bold", pad=13.0)

    def level(self, row: int) -> None:
        """Give all panels of a row the same ordinate range, with tick labels only on the first."""
        first, *others = (plot.axes for plot in self.panels[row])
        low, high = zip(*(plot.axes.get_ylim() for plot in self.panels[row]), strict=True)
        first.set_ylim(min(low), max(high))
        for axes in others:
            axes.set_ylim(min(low), max(high))
            axes.set_ylabel("")
            axes.tick_params(labelleft=False)

    def svg(self, description: str) -> str:
        """Return the SVG text for a page.

        Args:
            description: text alternative for readers who cannot see the plot.
        """
        return self.panels[0][0].svg(description)
