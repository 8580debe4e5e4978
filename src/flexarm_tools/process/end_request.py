"""EndRequest: Ctrl-C and SIGTERM as a wish to end that a loop sees, so that it can end in good order."""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType
from typing import Any

from flexarm_tools.process.exit_status import EXIT_INTERRUPTED

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class EndRequest:
    """Context in which these signals set ``made`` instead of ending the process; for the main thread.

    Who presses Ctrl-C a second time cannot wait: the process ends at once, and its child processes by themselves.

    Attributes:
        made: name of the first signal that came, empty before.
    """

    def __init__(self) -> None:
        """Nobody has asked yet."""
        self.made = ""
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> EndRequest:
        """Take the signals over."""
        self._before = {number: signal.signal(number, self._ask) for number in SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the signals back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.made and number == signal.SIGINT:
            os._exit(EXIT_INTERRUPTED)
        self.made = self.made or signal.Signals(number).name
