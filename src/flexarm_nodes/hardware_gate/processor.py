"""ProcessorWaits: how long the threads of a process waited for a processor."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path


class ProcessorWaits:
    """Reads from Linux (``schedstat``) for how long threads that could run did not; elsewhere nothing is known."""

    def __init__(self, processes: Iterable[int | str] = ("self",)) -> None:
        """Watch the threads that exist now in processes with these IDs; ``self``: this process."""
        self._files: list[int] = []
        for process in processes:
            with contextlib.suppress(OSError):
                for task in Path(f"/proc/{process}/task").iterdir():
                    self._files.append(os.open(task / "schedstat", os.O_RDONLY))
        self._waited = [_read(file) for file in self._files]

    def close(self) -> None:
        """Watch no more."""
        for file in self._files:
            os.close(file)
        self._files, self._waited = [], []

    def look(self) -> float:
        """Return the longest time [s] for which any thread waited since the last look."""
        before, self._waited = self._waited, [_read(file) for file in self._files]
        return max((now - then for then, now in zip(before, self._waited, strict=True)), default=0.0)


def _read(file: int) -> float:
    """Return for how long a thread has waited so far [s]; 0 if it has ended."""
    try:
        return int(os.pread(file, 80, 0).split()[1]) * 1e-9
    except (OSError, IndexError, ValueError):
        return 0.0
