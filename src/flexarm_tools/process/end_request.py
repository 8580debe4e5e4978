"""EndRequest: makes Ctrl-C and SIGTERM visible to a loop, which can then shut down in an orderly way."""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType
from typing import Any

from flexarm_core.errors import FlexarmError
from flexarm_tools.process.exit_status import EXIT_INTERRUPTED

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class InterruptedRunError(FlexarmError):
    """The user ended the run with Ctrl-C, or it received SIGTERM."""


class EndRequest:
    """Context in which these signals set ``made`` instead of ending the process; use it in the main thread.

    A second Ctrl-C ends the process immediately; its child processes then end on their own.

    Attributes:
        made: name of the first signal received, empty before.
    """

    def __init__(self) -> None:
        """Start without a request."""
        self.made = ""
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> EndRequest:
        """Install the signal handlers."""
        self._before = {number: signal.signal(number, self._ask) for number in SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restore the previous signal handlers."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.made and number == signal.SIGINT:
            os._exit(EXIT_INTERRUPTED)
        self.made = self.made or signal.Signals(number).name
