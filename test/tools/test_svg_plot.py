"""Plots: thinning a curve out hides no peak, and the SVG fits into a page."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexarm_tools.report.figures_table import format_number
from flexarm_tools.report.svg_plot import SvgPlot, axis_scale, decimate, engineering, series_color


@settings(max_examples=40, deadline=None)
@given(st.integers(1000, 40000), st.integers(10, 300), st.integers(0, 2**32 - 1))
def test_thinning_out_keeps_every_local_peak_to_within_a_bucket(length, columns, seed):
    rng = np.random.default_rng(seed)
    x, y = np.arange(length, dtype=float), rng.standard_normal(length)
    thin_x, thin_y = decimate(x, y, columns)
    assert len(thin_x) <= 4 * columns or len(thin_x) == length
    assert (thin_x[0], thin_x[-1]) == (x[0], x[-1])
    np.testing.assert_array_equal(thin_y, y[thin_x.astype(int)])
    begin = rng.integers(0, length)
    end = min(length, begin + 2 * (length // columns + 1))  # at least one whole bucket lies in between
    inside = (thin_x >= begin - length // columns - 1) & (thin_x <= end + length // columns + 1)
    assert thin_y[inside].max() >= y[begin:end].max()
    assert thin_y[inside].min() <= y[begin:end].min()


def test_a_single_spike_among_forty_thousand_samples_stays():
    y = np.zeros(40000)
    y[23456] = 1.0
    assert decimate(np.arange(40000.0), y)[1].max() == 1.0


def test_holes_are_left_out_but_do_not_hide_their_neighbors():
    y = np.where(np.arange(40000) % 3 == 0, np.nan, 1.0)
    y[100] = 5.0
    assert np.nanmax(decimate(np.arange(40000.0), y)[1]) == 5.0
    assert np.isnan(decimate(np.arange(40000.0), np.full(40000, np.nan))[1]).all()


def plotted(description: str = "a & <b>") -> str:
    plot = SvgPlot("time [s]", "[mm]")
    x = np.linspace(0.0, 10.0, 20000)
    plot.line(x, np.sin(x), series_color(1))
    plot.span(1.0, 1.1, "1")
    plot.instant(3.0, "2")
    return plot.svg(description)


def test_a_plot_is_well_formed_small_and_takes_colors_and_font_from_the_page():
    text = plotted()
    root = ElementTree.fromstring(text)
    assert root.get("aria-label") == "a & <b>"
    assert len(text) < 20000
    assert "var(--series-2)" in text
    assert "var(--mark)" in text
    assert "#0" not in text.replace("url(#", "")
    assert "font-family" not in text


def test_the_same_plot_gives_the_same_text():
    assert plotted() == plotted()


def test_ids_of_different_plots_differ():
    first, second = plotted(), SvgPlot("x", "y").svg("empty")
    ids = [{element.get("id") for element in ElementTree.fromstring(text).iter()} - {None} for text in (first, second)]
    assert ids[0].isdisjoint(ids[1])


def test_a_logarithmic_plot_stands_what_is_not_positive():
    plot = SvgPlot("x", "y")
    plot.logarithmic([np.array([0.0, -1.0, np.nan])])
    plot.logarithmic([])
    y = np.array([0.0, 1e-20, 1e-3, np.inf])
    plot.line(np.arange(4.0), y, series_color(0))
    plot.logarithmic([y[:3]])
    assert "10⁻³" in plot.svg("")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (4.29e-6, "m", "4.29 µm"),
        (1e-5, "m", "10 µm"),
        (1e-3, "m", "1 mm"),
        (0.0464, "m", "46.4 mm"),
        (0.34, "m", "0.34 m"),
        (12.5, "N*m", "12.5 N·m"),
        (1.4e-3, "s", "1.4 ms"),
        (0.0, "m", "0 m"),
        (9.25e-5, "1", "9.25·10⁻⁵"),
        (1e-3, "1", "10⁻³"),
        (1.61, "1", "1.61"),
        (0.0, "1", "0"),
        (3e7, "1", "3·10⁷"),
        (4.29e-9, "m", "4.29 nm"),
        (6.872e-7, "rad", "0.687 µrad"),
        (6.872e-10, "rad", "6.87·10⁻¹⁰ rad"),
        (1e-15, "m", "10⁻¹⁵ m"),
    ],
)
def test_numbers_read_well(value, unit, text):
    assert format_number(value, unit) == text.replace(" ", "\u00a0")  # number and unit stay on one line


def test_a_unit_gets_the_prefix_of_the_peak():
    assert engineering(2e-4, "rad") == (pytest.approx(1e6), "µrad")
    assert engineering(7e-7, "rad") == (pytest.approx(1e6), "µrad")  # not nrad
    assert engineering(float("nan"), "m") == (1.0, "m")
    assert engineering(0.5, "m or rad") == (1.0, "m or rad")
    assert engineering(2e-4, "sqrt(J)") == (1.0, "√J")


def test_an_axis_whose_unit_takes_no_prefix_counts_in_powers_of_ten():
    assert axis_scale(2e-4, "m or rad") == (pytest.approx(1e6), "10⁻⁶ m or rad")
    assert axis_scale(0.02, "m or rad") == (pytest.approx(1e3), "10⁻³ m or rad")
    assert axis_scale(2e-4, "rad") == (pytest.approx(1e6), "µrad")
    assert axis_scale(2e-11, "rad") == (pytest.approx(1e12), "10⁻¹² rad")
    assert axis_scale(0.5, "m or rad") == (1.0, "m or rad")
    assert axis_scale(0.0, "m or rad") == (1.0, "m or rad")
    assert axis_scale(0.01, "1") == (1.0, "")
