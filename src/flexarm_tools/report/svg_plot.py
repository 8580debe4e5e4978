"""A small matplotlib plot as inline SVG that uses the colors and font of the page, in light and dark mode."""

from __future__ import annotations

import html
import io
import itertools
import math
import re
import zlib
from collections.abc import Iterable
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from flexarm_core.types import Array

SERIES = 8  # number of colors that the page defines: --series-1 ... --series-8
COLUMNS = 420  # buckets of a decimated curve: about one per pixel
_STAND_INS = {"#010101": "var(--ink)", "#020202": "var(--muted)", "#030303": "var(--line)", "#040404": "var(--mark)"}
_STAND_INS |= {f"#0a000{i}": f"var(--series-{i})" for i in range(1, SERIES + 1)}
INK, MUTED, LINE, MARK = ("#010101", "#020202", "#030303", "#040404")
_PREFIXES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"))
_NANO = (1e-9, "n")  # of lengths and times; other units are not known with it
_LEAST = 0.01  # smallest number in front of a prefixed unit; what is smaller is a power of ten
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
PLOT_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "flexarm",
    "font.size": 9.5,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "text.color": INK,
}


def series_color(index: int) -> str:
    """Return the color of a curve, counted from 0; the colors repeat after the last."""
    return f"#0a000{index % SERIES + 1}"


def decimate(x: Array, y: Array, columns: int = COLUMNS) -> tuple[Array, Array]:
    """Decimate a curve without changing its appearance: keep first, smallest, largest and last sample of every bucket.

    Args:
        x: (T,) increasing.
        y: (T,) may contain NaN: these samples are dropped unless at the ends of a bucket.
        columns: number of buckets.

    Returns:
        The kept samples, in order: they include the extremes of every bucket.
    """
    if len(x) <= 4 * columns:
        return x, y
    keep: set[int] = set()
    edges = np.linspace(0, len(x), columns + 1).astype(int).tolist()
    unknown, finite = np.isnan(y), np.isfinite(y)
    low, high = np.where(unknown, np.inf, y), np.where(unknown, -np.inf, y)
    for begin, end in itertools.pairwise(edges):
        keep |= {begin, end - 1}
        if finite[begin:end].any():
            keep |= {begin + int(low[begin:end].argmin()), begin + int(high[begin:end].argmax())}
    chosen = np.array(sorted(keep))
    return x[chosen], y[chosen]


def within_reason(values: Array) -> Array:
    """Replace values too large to draw by NaN, so that a diverged run can still be reported."""
    with np.errstate(invalid="ignore"):
        kept: Array = np.where(np.abs(values) < 1e9, values, np.nan)
    return kept


def engineering(peak: float, unit: str) -> tuple[float, str]:
    """Return factor and prefixed unit for a peak value: 4.2e-6 m -> (1e6, ``µm``)."""
    shown = re.sub(r"sqrt\((\w+)\)", r"√\1", unit.replace("*", "·").replace("^2", "²"))
    if unit == "1":
        return 1.0, ""
    if unit == "sqrt(J)":  # a prefix would be in front of the root
        return 1.0, shown
    if (
        not np.isfinite(peak)
        or peak == 0.0
        or peak >= 0.1
        or not unit[0].isalpha()
        or " " in unit
        or unit.startswith("kg")
    ):
        return 1.0, shown
    prefixes = (*_PREFIXES, _NANO) if unit in ("m", "s") else _PREFIXES
    size, prefix = next((p for p in prefixes if peak >= 0.999999 * p[0]), prefixes[-1])
    return (1.0 / size, prefix + shown) if peak >= _LEAST * size else (1.0, shown)


def axis_scale(peak: float, unit: str) -> tuple[float, str]:
    """Return factor and unit for an axis with short tick labels: a power of ten if the unit takes no prefix."""
    factor, shown = engineering(peak, unit)
    if factor != 1.0 or not shown or not np.isfinite(peak) or not 0.0 < peak < 0.1:
        return factor, shown
    exponent = 3 * math.floor(math.log10(peak) / 3.0)
    return 10.0**-exponent, f"10{superscript(exponent)} {shown}"


def superscript(number: int) -> str:
    """Return a number in superscript characters, as ``⁻³``."""
    return str(number).translate(_SUPERSCRIPT)


class SvgPlot:
    """One pair of axes without a title; headings and legends are part of the page."""

    def __init__(self, xlabel: str, ylabel: str, width: float = 4.0, height: float = 2.35) -> None:
        """Create the plot.

        Args:
            xlabel: label with unit.
            ylabel: label with unit.
            width: width [inch].
            height: height [inch].
        """
        with matplotlib.rc_context(PLOT_STYLE):
            layout = ConstrainedLayoutEngine(w_pad=0.02, h_pad=0.02)
            self.figure = Figure(figsize=(width, height), layout=layout, facecolor="none")
            self._open(self.figure.add_subplot(facecolor="none"), xlabel, ylabel)

    @classmethod
    def on(cls, axes: Axes, xlabel: str, ylabel: str) -> SvgPlot:
        """Create a plot for one panel of an existing figure."""
        plot = cls.__new__(cls)
        plot.figure = axes.figure  # type: ignore[assignment]
        plot._open(axes, xlabel, ylabel)
        return plot

    def _open(self, axes: Axes, xlabel: str, ylabel: str) -> None:
        self.axes = axes
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        axes.grid(True)
        axes.set_axisbelow(True)
        axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        axes.margins(x=0.0, y=0.06)

    def line(self, x: Array, y: Array, color: str, width: float = 1.4, dashed: bool = False) -> None:
        """Draw a curve over increasing x, decimated."""
        x, y = decimate(x, within_reason(y))
        self.curve(x, y, color, width, dashed)

    def curve(self, x: Array, y: Array, color: str, width: float = 1.4, dashed: bool = False) -> None:
        """Draw a curve without decimation."""
        style = (0, (4, 2.5)) if dashed else "-"
        self.axes.plot(x, y, color=color, linewidth=width, linestyle=style, solid_joinstyle="round")

    def span(self, begin: float, end: float, label: str) -> None:
        """Shade an interval of x and put a small label above it."""
        self.axes.axvspan(begin, end, color=MARK, alpha=0.28, linewidth=0)
        self._label((begin + end) / 2, label)

    def instant(self, x: float, label: str) -> None:
        """Mark one value of x and put a small label above it."""
        self.axes.axvline(x, color=MARK, linewidth=1.1, linestyle=(0, (2, 2)))
        self._label(x, label)

    def phase(self, x: float, label: str, above: float) -> None:
        """Mark where a phase begins, with its name, this many points above the axes."""
        self.axes.axvline(x, color=LINE, linewidth=1.1)
        self.axes.annotate(
            label, (x, 1.0), (1, above), xycoords=("data", "axes fraction"), textcoords="offset points",
            ha="left", va="bottom", fontsize=7.5, color=MUTED, annotation_clip=False,
        )  # fmt: skip

    def _label(self, x: float, label: str) -> None:
        place = (x, 1.0)
        self.axes.annotate(
            label, place, (0, 2), xycoords=("data", "axes fraction"), textcoords="offset points",
            ha="center", va="bottom", fontsize=8, color=MARK, annotation_clip=False,
        )  # fmt: skip

    def logarithmic(self, values: Iterable[Array], decades: float = 6.0) -> None:
        """Make y logarithmic over the positive values, down to ``decades`` below the largest."""
        positive = np.concatenate([v[np.isfinite(v) & (v > 0.0)] for v in values] or [np.ones(1)])
        high = float(positive.max()) if positive.size else 1.0
        low = max(float(positive.min()) if positive.size else 0.1, high * 10.0**-decades)
        self.axes.set_yscale("log")
        bottom, top = low / 1.5, max(high * 2.0, low * 10.0)
        self.axes.set_ylim(bottom, top)
        steps = (1.0, 2.0, 5.0) if top < 100.0 * bottom else (1.0,)  # one power of ten alone is no scale
        self.axes.yaxis.set_major_locator(LogLocator(10.0, subs=steps, numticks=6))
        self.axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _logarithmic_label(value)))
        self.axes.yaxis.set_minor_formatter(NullFormatter())

    def svg(self, description: str) -> str:
        """Return the SVG text for a page.

        Args:
            description: text alternative for readers who cannot see the plot.
        """
        buffer = io.StringIO()
        with matplotlib.rc_context(PLOT_STYLE):
            canvas: Any = FigureCanvasSVG(self.figure)
            canvas.print_svg(buffer, metadata={"Date": None, "Creator": None})
        return _page_svg(buffer.getvalue(), description)


def _logarithmic_label(value: float) -> str:
    """Return the label of a power of ten, or of some of them.

    >>> _logarithmic_label(0.01), _logarithmic_label(20.0), _logarithmic_label(5e-4)
    ('10⁻²', '20', '5·10⁻⁴')
    """
    exponent = math.floor(np.log10(value) + 1e-9)
    factor = round(value / 10.0**exponent)
    if factor == 1:
        return f"10{superscript(exponent)}"
    return f"{value:g}" if -2 <= exponent <= 2 else f"{factor}·10{superscript(exponent)}"


def _page_svg(text: str, description: str) -> str:
    """Reduce matplotlib's SVG file to an element of the page: no header, no unused ids, page colors and font."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*|<!--.*?-->\s*|<style.*?</style>\s*", "", text, flags=re.DOTALL)
    prefix = f"p{zlib.crc32(text.encode()):08x}-"  # ids must be unique on a page
    used = set(re.findall(r"#([A-Za-z_][\w.-]*)", text))
    text = re.sub(r' id="([^"]+)"', lambda m: f' id="{prefix}{m[1]}"' if m[1] in used else "", text)
    text = re.sub(r'(url\(#|href="#)', rf"\g<1>{prefix}", text)
    text = re.sub(r"font: [^;\"]*?([\d.]+)px[^;\"]*", r"font-size: \1px", text)
    text = re.sub(r" ?font-family: [^;\"]*;?", "", text)
    text = re.sub(r"<g>\s*</g>|<g/>|<defs>\s*</defs>", "", text)
    text = re.sub(r' d="([^"]+)"', lambda m: f' d="{_round(m[1])}"', text)
    text = re.sub(r"-?\d+\.\d{3,}(?=[^<>]*>)", lambda m: f"{float(m[0]):.2f}", text)  # not the text in the plot
    for stand_in, color in _STAND_INS.items():
        text = text.replace(stand_in, color)
    opening = re.compile(r"<svg [^>]*?(viewBox=\"[^\"]+\")[^>]*>")
    text = opening.sub(lambda m: f'<svg {m[1]} role="img" aria-label="{html.escape(description)}">', text, count=1)
    return re.sub(r"\s*\n\s*", " ", text).strip()


def _round(path: str) -> str:
    """Round path data to one decimal (a tenth of a point)."""
    words = (f"{float(w):.1f}".removesuffix(".0") if w[0] in "-.0123456789" else w for w in path.split())
    return " ".join(words)
