"""Progress display of a run on one line."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable


class Progress:
    """Updates its line on a terminal; otherwise prints a line after each quarter of the run."""

    def __init__(self, title: str) -> None:
        """Start the display with a title."""
        self._title = title
        self._begin = time.monotonic()
        self._shown = 0.0
        self._quarter = 0
        self._terminal = sys.stdout.isatty()

    def show(self, now: float, end: float) -> None:
        """Show the simulation time ``now`` of the run length ``end`` [s]."""
        wall = time.monotonic()
        if self._terminal and (wall - self._shown > 0.1 or now >= end):
            self._shown = wall
            bar = "#" * round(24 * now / end)
            print(f"\r  {self._title:<28} [{bar:<24}] {now:7.2f} / {end:g} s", end="", flush=True)
        quarter = int(4.0 * now / end)
        if not self._terminal and quarter > self._quarter:
            self._quarter = quarter
            print(f"  {self._title}: {now:.2f} / {end:g} s", flush=True)

    def say(self, lines: Iterable[str]) -> None:
        """Print lines below the progress line."""
        for line in lines:
            print(f"{chr(10) if self._terminal and self._shown else ''}    {line}", flush=True)
            self._shown = 0.0

    def end(self, result: str) -> None:
        """Complete the progress line."""
        wall = time.monotonic() - self._begin
        print(
            f"{chr(13) if self._terminal else ''}  {self._title:<28} {result} in {wall:.0f} s{' ' * 40}".rstrip(),
            flush=True,
        )


class Quiet(Progress):
    """Shows the end of a run only."""

    def show(self, now: float, end: float) -> None:
        """Show nothing."""
