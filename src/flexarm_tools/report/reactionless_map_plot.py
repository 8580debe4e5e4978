"""Plot of a ConditioningMap: slices of the workspace colored by the reactionless tool speed, and paths."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import BoundaryNorm, LinearSegmentedColormap
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from flexarm_core.reaction_null_space.reactionless.conditioning_map import ConditioningMap
from flexarm_core.reaction_null_space.reactionless.map import PathPicture
from flexarm_core.types import Array
from flexarm_tools.report.svg_panels import SvgPanels
from flexarm_tools.report.svg_plot import INK, MUTED, PLOT_STYLE, series_color

NAMES = ("x", "y", "z")
SLICES = ((0, 2, 1), (0, 1, 2))  # abscissa, ordinate and normal of the panels of a spatial workspace
# pale to dark: readable with any color vision, and in grayscale
COLORS = LinearSegmentedColormap.from_list(
    "speed", ("#fdf3c4", "#bfe3b4", "#66c2a8", "#2f97b0", "#245f9e", "#2b2c6b"), N=256
)
LEVELS = 8  # largest number of colors
CLASSES = ((0.0, 0.25), (0.4, 0.6), (0.7, 1.0))  # (conditioning relative to the best, opacity of the line)
MM = 1e3  # [mm/m]
WIDTHS = {1: 5.6, 2: 9.6}  # [inch] width of the picture by number of panels
HEIGHT, HEAD = 4.9, 0.5  # [inch] height of the picture, and of the title in it
LEGEND = "slowest tool speed without reaction\nat joint speeds of norm 1 rad/s [mm/s]"


def map_svg(found: ConditioningMap, place: Array, title: str, paths: Sequence[PathPicture] = ()) -> str:
    """Draw a map.

    Args:
        found: the map.
        place: (3,) point through which the slices are taken, in the base link's frame [m].
        title: title of the picture.
        paths: reactionless paths, drawn beside a planar workspace.

    Returns:
        Text of an SVG file with a light background.
    """
    layers = np.rint(place / found.voxel).astype(int)
    planes = SLICES if np.ptp(found.index, axis=0).all() else (_plane(found),)
    columns = len(planes) + bool(paths)
    panels = SvgPanels(columns, [HEIGHT], WIDTHS[columns])
    shown = [plot.axes for plot in panels.panels[0]]
    figure = panels.panels[0][0].figure
    layout = ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.03, rect=(0.0, 0.0, 1.0, 1.0 - HEAD / HEIGHT))
    figure.set_layout_engine(layout)
    norm = BoundaryNorm(MaxNLocator(LEVELS).tick_values(0.0, MM * float(found.least_speed.max())), COLORS.N)
    with matplotlib.rc_context(PLOT_STYLE):
        for column, (plane, axes) in enumerate(zip(planes, shown, strict=False)):
            colors = _slice(axes, found, plane, layers, norm)
            normal = plane[2]
            where = f" at {NAMES[normal]} = {found.voxel * layers[normal]:.3g} m" if len(planes) > 1 else ""
            panels.name(0, column, f"{NAMES[plane[0]]}-{NAMES[plane[1]]}{where}")
            _place(axes, found, plane, layers)
        if paths:
            _paths(shown[-1], paths, planes[0])
            panels.name(0, len(shown) - 1, "Paths: the paler, the worse conditioned")
        low, high = found.voxel * (found.index.min(axis=0) - 1.0), found.voxel * (found.index.max(axis=0) + 1.0)
        for axes, plane in zip(shown, (*planes, planes[0]), strict=False):
            axes.set_aspect("equal", adjustable="box")
            axes.set_xlim(low[plane[0]], high[plane[0]])
            axes.set_ylim(low[plane[1]], high[plane[1]])
        bar = figure.colorbar(colors, ax=shown, shrink=0.86, aspect=28, pad=0.02)
        bar.set_label(LEGEND, color=MUTED)
        bar.outline.set_visible(False)  # type: ignore[operator]
        figure.text(0.01, 1.0 - 0.2 / HEIGHT, title, fontsize=11.5, fontweight="bold", color=INK)
        notes = f"ring: best place, cross: base link, gray: conditioning below {100.0 * found.least_conditioning:.3g} %"
        figure.text(0.01, 1.0 - 0.4 / HEIGHT, notes, fontsize=9.0, color=MUTED)
    return _file(panels.svg(title), figure.get_size_inches())


def _plane(found: ConditioningMap) -> tuple[int, int, int]:
    """Return abscissa, ordinate and normal of a planar workspace."""
    normal = int(np.ptp(found.index, axis=0).argmin())
    first, second = (axis for axis in range(3) if axis != normal)
    return first, second, normal


def _slice(
    axes: Axes, found: ConditioningMap, plane: tuple[int, int, int], layers: Array, norm: BoundaryNorm
) -> PolyCollection:
    """Draw the cubes of one layer; those whose best posture is singular are gray."""
    first, second, normal = plane
    here = found.index[:, normal] == layers[normal]
    corners = 0.5 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    squares = found.voxel * (found.index[:, None, (first, second)] + corners)
    good, singular = here & found.regular, here & ~found.regular
    axes.add_collection(PolyCollection(squares[singular], facecolors=MUTED, alpha=0.35, linewidths=0.0))
    shown = PolyCollection(
        squares[good], array=MM * found.least_speed[good], cmap=COLORS, norm=norm, linewidths=0.3, edgecolors="face"
    )
    axes.add_collection(shown)
    axes.set_xlabel(f"{NAMES[first]} in {found.frame} [m]")
    axes.set_ylabel(f"{NAMES[second]} [m]")
    return shown


def _place(axes: Axes, found: ConditioningMap, plane: tuple[int, int, int], layers: Array) -> None:
    """Draw a ring at the best posture if its cube is in the slice, and a cross at the origin of the base link."""
    first, second, normal = plane
    for color, width in (("#ffffff", 3.2), (INK, 1.4)):
        axes.plot(0.0, 0.0, marker="+", markersize=9, color=color, markeredgewidth=width)
    if found.index[0, normal] == layers[normal]:
        x, y = found.tool_position[0, [first, second]]
        axes.plot(x, y, marker="o", markersize=9, markerfacecolor="none", markeredgecolor=series_color(0), mew=2.0)


def _paths(axes: Axes, paths: Sequence[PathPicture], plane: tuple[int, int, int]) -> None:
    best = max(float(path.conditioning.max()) for path in paths)
    for path in paths:
        for least, opacity in CLASSES:
            points = np.where((path.conditioning >= least * best)[:, None], path.tool_position, np.nan)
            axes.plot(points[:, plane[0]], points[:, plane[1]], color=series_color(1), alpha=opacity, linewidth=1.1)
    axes.set_xlabel(f"{NAMES[plane[0]]} [m]")
    axes.set_ylabel(f"{NAMES[plane[1]]} [m]")


def _file(text: str, inches: Array) -> str:
    """Convert a plot of the page to a separate file, with the light colors and the font of the page."""
    style = files("flexarm_tools").joinpath("assets/report.css").read_text(encoding="utf-8")
    light = style[: style.index("}")]
    colors = dict(re.findall(r"--([\w-]+): ([^;]+);", light))
    text = re.sub(r"var\(--([\w-]+)\)", lambda found: colors[found[1]], text)
    spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    size = f'width="{72.0 * inches[0]:.0f}pt" height="{72.0 * inches[1]:.0f}pt"'
    font = colors["sans"].replace('"', "'")
    head, body = text.split(">", 1)
    head = head.replace("<svg ", f'<svg {spaces} {size} font-family="{font}" ', 1)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{head}><rect width="100%" height="100%" fill="#ffffff"/>{body}\n'
