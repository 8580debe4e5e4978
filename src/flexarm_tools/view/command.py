"""`flexarm view`: command line arguments, and the loop that updates the page."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from flexarm_core.errors import FlexarmError, InputError

RATE = 30.0  # [Hz] largest update rate of the page
HELP = "show a running graph or recorded runs in a browser"


class View(Protocol):
    """Content of the page."""

    def step(self) -> None:
        """Update the page."""


def add_view_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `flexarm view`, except the xacro arguments, which are common to several commands."""
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
    parser.add_argument("--namespace", default="", metavar="NAME", help="of the arm in the live graph (default: none)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at; 0.0.0.0: for other machines too")
    parser.add_argument("--port", type=int, default=8080, help="of the page (default: 8080)")


def run_view(options: argparse.Namespace, ended: threading.Event | None = None) -> None:
    """Show the page until SIGINT, SIGTERM, or until ``ended`` is set.

    Args:
        options: arguments of ``add_view_arguments``, and ``arguments`` for xacro.
        ended: event with which another thread can end the view.

    Raises:
        InputError: viser is not installed, the recording does not exist, or the port is in use.
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
        from flexarm_nodes.node.transport import avoid_shared_memory, stay_on_this_machine

        stay_on_this_machine()
        avoid_shared_memory()
        from flexarm_tools.view.live_view import LiveView

        namespace = checked_namespace(options.namespace)

        def make(page: ViewPage) -> View:
            return LiveView(page, namespace)

    page = ViewPage(options.host, options.port)
    try:
        view = make(page)
        print(f"flexarm view: {page.address}  (Ctrl-C ends it)", flush=True)
        _follow(view, page.say, ended or _signalled())
    finally:
        page.close()


def checked_namespace(text: str) -> str:
    """Return an absolute namespace, empty for the root.

    Raises:
        InputError: it is no namespace of ROS 2.
    """
    from rclpy.exceptions import InvalidNamespaceException
    from rclpy.validate_namespace import validate_namespace

    name = f"/{text.strip('/')}"
    try:
        validate_namespace(name)
    except InvalidNamespaceException as error:
        raise InputError(f"--namespace {text}: {str(error).splitlines()[0]}") from error
    return name.rstrip("/")


def _follow(view: View, say: Callable[[str], None], ended: threading.Event) -> None:
    """Update the page until the end. Errors in data of a graph or file do not end it: they are shown as messages."""
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
    """Return an event that is set by SIGINT and SIGTERM."""
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    return ended
