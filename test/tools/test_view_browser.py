"""The browser view in a real browser: it draws and plays without an error. Skipped where there is no Chromium."""

from __future__ import annotations

import argparse
import http.server
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed")

import viser
from browser import CHROMIUM, Browser

from flexarm_tools.view.command import add_view_arguments, run_view

ROOT = Path(__file__).resolve().parents[2]
PORT = 18431
PICTURES = os.environ.get("FLEXARM_TEST_PICTURES", "")  # folder, for who wants to look at them
PLAY = "[...document.querySelectorAll('button')].find(b => b.innerText == 'Play').click()"
INTRUDER = f"""<html><title>trying</title><script>
const socket = new WebSocket("ws://localhost:{PORT}/", ["viser-v{viser.__version__}"]);
socket.onopen = () => {{ document.title = "let in" }}; socket.onerror = () => {{ document.title = "refused" }};
</script><iframe src="http://localhost:{PORT}/"></iframe></html>"""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")


@pytest.fixture
def address(tmp_path, record, capsys) -> Iterator[str]:
    """Printed address of a page that shows a recorded run of 20 s."""
    recording = tmp_path / "run.npz"
    times = np.arange(20000) / 1000.0
    position = np.column_stack((0.5 * times, -0.4 * times, np.sin(times)))
    record(lambda t: 0.02 * np.sin(5.0 * t), 20.0, position=position).save(recording)
    parser = argparse.ArgumentParser()
    add_view_arguments(parser)
    robot = str(ROOT / "urdf" / "planar_3r.urdf.xacro")
    options = parser.parse_args([str(recording), "--robot", robot, "--port", str(PORT)])
    options.arguments = []
    ended = threading.Event()
    thread = threading.Thread(target=run_view, args=(options, ended))
    thread.start()
    said, deadline = "", time.monotonic() + 30.0
    while "token=" not in said:
        assert time.monotonic() < deadline, f"no address: {said}"
        time.sleep(0.05)
        said += capsys.readouterr().out
    yield next(word for word in said.split() if "token=" in word)
    ended.set()
    thread.join(20.0)


@pytest.fixture
def browser(tmp_path, address) -> Iterator[Browser]:
    """A browser that has opened it."""
    browser = Browser(tmp_path / "profile", address)
    yield browser
    browser.close()


@pytest.fixture
def other_page() -> Iterator[str]:
    """Address of a page from elsewhere, which tries to get a connection; its title tells what came of it."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(INTRUDER.encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_a_recorded_run_is_drawn_and_plays_in_a_browser(browser):
    def text() -> str:
        return str(browser.value("document.body.innerText"))

    browser.wait(lambda: "planar_3r, 20 s recorded" in text() and "Base deflection [mm]" in text(), "the page")
    browser.wait(lambda: browser.value("document.querySelectorAll('.uplot canvas').length") > 0, "a plot")
    middle = (slice(150, 600), slice(430, 830))
    browser.wait(lambda: float(np.ptp(browser.picture()[middle], axis=(0, 1)).max()) > 0.4, "the arm")
    before = browser.picture()[middle]
    browser.value(PLAY)
    browser.wait(lambda: "Pause" in text(), "playing")
    browser.wait(lambda: float(np.abs(browser.picture()[middle] - before).max()) > 0.3, "motion")
    assert browser.errors == []


def test_a_page_from_elsewhere_is_refused_and_without_the_token_nothing_changes(browser, other_page):
    def text() -> str:
        return str(browser.value("document.body.innerText"))

    browser.wait(lambda: "planar_3r, 20 s recorded" in text(), "the page, which leaves its cookie")
    browser.go(other_page)
    browser.wait(lambda: browser.value("document.title") in ("refused", "let in"), "an answer")
    assert browser.value("document.title") == "refused"
    browser.go(f"http://127.0.0.1:{PORT}/")  # another name: the browser has no cookie for it
    browser.wait(lambda: "planar_3r, 20 s recorded" in text() and "You may look" in text(), "the page without token")
    browser.value(PLAY)
    browser.wait(lambda: "Nothing was changed" in text(), "a refusal")
    assert "Pause" not in text()
    if PICTURES:
        matplotlib.image.imsave(Path(PICTURES) / "view_looking.png", browser.picture())
