"""The animation in a real browser: at every pixel the nearest is seen. Skipped where there is no Chromium."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from browser import CHROMIUM, Browser

from flexarm_tools.report.report import Run, write_run_report

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")

SURFACE = """plant:
  surfaces.names: [plate]
  surfaces.kinds: [box]
  surfaces.positions: [0.5, 0.0, 0.0]
  surfaces.rpys: [0.0, 0.4, 0.0]
  surfaces.half_extents: [0.3, 0.3, 0.005]
"""
LIGHT_FROM_ABOVE = 0.95  # of a face that looks straight at the eye
NO_WEBGL = (
    "HTMLCanvasElement.prototype.getContext = (old => function (kind, ...rest) {"
    """
  return kind === "webgl" ? null : old.call(this, kind, ...rest); })(HTMLCanvasElement.prototype.getContext);"""
)


@pytest.fixture
def page(load, record, tmp_path):
    """A report whose arm lies along x, through a plate that is above it up to x = 0.5 m and below it from there on."""
    run = Run("run", load(("plant:\n", SURFACE)), record(np.zeros_like, 1.0), ())
    write_run_report(tmp_path / "report.html", run)
    return tmp_path / "report.html"


@pytest.fixture
def opened(tmp_path):
    """Open a report, seen from above."""
    browsers = []

    def open_page(path, place="t=0&x=1&view=0,90"):
        browsers.append(Browser(tmp_path / f"profile_{len(browsers)}", f"{path.as_uri()}#{place}"))
        browsers[-1].wait(lambda: browsers[-1].value("document.querySelector('.clock')?.textContent"), "the player")
        return browsers[-1]

    yield open_page
    for browser in browsers:
        browser.close()


def color_at(browser, path, x, y):
    """Red, green and blue, 0 to 255, that are seen at a place of the root link's x-y plane."""
    text = path.read_text(encoding="utf-8")
    view = json.loads(re.search(r'id="animation-data">(.*?)</script>', text, re.DOTALL)[1])["robots"][0]["view"]
    script = f"""(() => {{
      const canvas = document.querySelector("canvas.stage"), context = canvas.getContext("2d");
      const ratio = canvas.width / canvas.clientWidth;
      const [width, height] = [canvas.clientWidth, canvas.clientHeight];
      const scale = 0.86 * Math.min(width / {view["size"][0]}, height / {view["size"][1]});
      const at = [width / 2 + scale * ({x} - {view["center"][0]}), height / 2 - scale * ({y} - {view["center"][1]})];
      return [...context.getImageData(Math.round(ratio * at[0]), Math.round(ratio * at[1]), 1, 1).data].slice(0, 3);
    }})()"""
    return np.array(browser.value(script), dtype=float)


def test_an_arm_that_runs_through_a_plate_is_hidden_on_one_side_only_and_shines_through_it(page, opened):
    browser = opened(page)
    arm = 255 * LIGHT_FROM_ABOVE * np.array([0.20, 0.42, 0.65])
    plate = color_at(browser, page, 0.35, 0.2)
    np.testing.assert_allclose(color_at(browser, page, 0.65, 0.0), arm, atol=3.0)
    np.testing.assert_allclose(color_at(browser, page, 0.35, 0.0), 0.65 * plate + 0.35 * arm, atol=4.0)
    assert browser.errors == []


def test_without_webgl_the_arm_is_drawn_all_the_same(page, opened):
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("<main>", f"<script>{NO_WEBGL}</script><main>", 1), encoding="utf-8")
    browser = opened(page)
    arm = 255 * LIGHT_FROM_ABOVE * np.array([0.20, 0.42, 0.65])
    np.testing.assert_allclose(color_at(browser, page, 0.65, 0.0), arm, atol=3.0)
    assert browser.errors == []


def test_a_report_asks_the_network_for_nothing(page, opened):
    browser = opened(page)
    assert browser.value("performance.getEntriesByType('resource').length") == 0


def test_the_trail_of_a_tool_is_not_exaggerated_with_the_base(load, record, tmp_path, opened):
    run = Run("run", load(), record(lambda t: 0.05 * np.sin(6.0 * t), 2.0), ())  # the tool rides on the base
    write_run_report(tmp_path / "report.html", run)
    color = "[0xd2, 0x69, 0x1e]"
    count = """(() => {
      const canvas = document.querySelector("canvas.stage"), { width, height } = canvas;
      const data = canvas.getContext("2d").getImageData(0, 0, width, height).data, color = COLOR;
      let found = 0;
      for (let i = 0; i < data.length; i += 4) found += color.every((c, k) => Math.abs(data[i + k] - c) < 24);
      return found; })()""".replace("COLOR", color)
    found = []
    for exaggeration in (1, 10):
        browser = opened(tmp_path / "report.html", f"t=1.5&x={exaggeration}&view=0,90")
        found.append(browser.value(count))
    assert abs(found[1] - found[0]) < 100  # a streak of a meter has 700 pixels
