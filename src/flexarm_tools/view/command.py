"""`flexarm view`: what the command line says, and the loop that keeps the page up to date."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from flexarm_core.errors import FlexarmError, InputError

RATE = 30.0  # [Hz] at which the page is brought up to date at most
HELP = "show a running graph or recorded runs in a browser"


class View(Protocol):
    """What is shown on the page."""

    def step(self) -> None:
        """Bring the page up to date."""


def add_view_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `flexarm view`; xacro arguments are added by who adds them for every command."""
    parser.add_argument(
        "run",
        nargs="?",
        default="",
        metavar="RUN.npz|DIR",
        help="recording or report folder (default: live graph)",
    )
    parser.add_argument(
        "--robot",
        default="",
        metavar="ROBOT.urdf|.xacro",
        help="that was recorded (default: kept beside it)",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at; 0.0.0.0: for other machines too")
    parser.add_argument("--port", type=int, default=8080, help="of the page (default: 8080)")


def run_view(options: argparse.Namespace, ended: threading.Event | None = None) -> None:
    """Show it until SIGINT, SIGTERM, or until ``ended`` is set.

    Args:
        options: of ``add_view_arguments``, and ``arguments`` for xacro.
        ended: ends it from another thread.

    Raises:
        InputError: viser is not there, no such recording, or a port that is in use.
    """
    try:
        from flexarm_tools.view.page import ViewPage
    except ModuleNotFoundError as error:
        raise InputError(f"`flexarm view` needs the Python package viser (pip install viser): {error}") from error
    make: Callable[[ViewPage], View]
    if options.run:
        from flexarm_tools.view.run_files import find_runs
        from flexarm_tools.view.run_view import RunView

        runs = find_runs(Path(options.run))
        robot = Path(options.robot) if options.robot else None

        def make(page: ViewPage) -> View:
            return RunView(page, runs, robot, dict(options.arguments))
    else:
        if not any(name in os.environ for name in ("ROS_LOCALHOST_ONLY", "ROS_AUTOMATIC_DISCOVERY_RANGE")):
            os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"  # as `flexarm run` does
        from flexarm_tools.view.live_view import LiveView

        make = LiveView
    page = ViewPage(options.host, options.port)
    try:
        view = make(page)
        print(f"flexarm view: {page.address}  (Ctrl-C ends it)", flush=True)
        _follow(view, page.say, ended or _signalled())
    finally:
        page.close()


def _follow(view: View, say: Callable[[str], None], ended: threading.Event) -> None:
    """Step until the end. Nothing that a graph or a file says ends the page: it gets a message there."""
    while not ended.is_set():
        began = time.monotonic()
        try:
            view.step()
        except FlexarmError as error:
            say(str(error))
        except Exception as error:
            say(f"internal error: {type(error).__name__}: {error}")
            print(traceback.format_exc(), file=sys.stderr, flush=True)
            ended.wait(1.0)
        ended.wait(max(0.002, 1.0 / RATE - (time.monotonic() - began)))
    close = getattr(view, "close", None)
    if close is not None:
        close()


def _signalled() -> threading.Event:
    """Event that SIGINT and SIGTERM set."""
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    return ended
