"""Beside: the scenarios of a study in other processes of this machine, beside those that run here."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any

from flexarm_tools.process.processes import end_with_parent

LOOK = 0.2  # [s] between two looks whether to end


class Beside:
    """Runs named tasks, one after the other in each of several processes; its creator takes tasks as well.

    Use it as a context: at its end the processes are ended. The task of a killed process is not lost: :meth:`rest`
    returns it, and also tasks with the result None.
    """

    def __init__(self, run: Callable[[str], Any], names: Sequence[str], processes: int) -> None:
        """Start the processes: forks, so that everything is loaded already.

        Args:
            run: runs what is named in one of the processes; its result is sent here.
            names: what is run, in this order.
            processes: number of processes; 0: all is left to :meth:`take`.
        """
        context = multiprocessing.get_context("fork")
        self._run, self._names = run, tuple(names)
        self._next = context.Value("i", 0)  # place of the name that is taken next
        self._open: set[str] = set(names)  # names whose results are not known here
        self._team: dict[Connection, Any] = {}
        for _ in range(min(processes, len(names))):
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=self._serve, args=(theirs, os.getpid()), daemon=True)
            process.start()
            theirs.close()
            self._team[ours] = process

    def __enter__(self) -> Beside:
        """Return it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the processes."""
        for connection, process in self._team.items():
            process.kill()
            process.join()
            connection.close()

    def take(self) -> str | None:
        """Return the next name, which is to be run here; None: all are taken."""
        with self._next.get_lock():
            place = self._next.value
            self._next.value = place + 1
        return self._names[place] if place < len(self._names) else None

    def known(self, name: str) -> None:
        """Note that something was run here."""
        self._open.discard(name)

    def results(self, ends: Callable[[], bool] | None = None) -> Iterator[tuple[str, Any]]:
        """Yield names and results that have come, except None.

        Args:
            ends: wait until all have come, no process is left, or this is so; None: do not wait.
        """
        while self._team and (ends is None or not ends()):
            ready = wait(list(self._team), 0.0 if ends is None else LOOK)
            for connection in ready:
                assert isinstance(connection, Connection)
                try:
                    name, result = connection.recv()
                except (EOFError, ConnectionResetError):  # it has done its part, or was killed
                    self._team.pop(connection).join()
                    connection.close()
                    continue
                if result is not None:
                    self._open.discard(name)
                    yield name, result
            if not ready and ends is None:
                return

    def rest(self) -> Iterator[str]:
        """Yield the names without results, in their order."""
        yield from (name for name in self._names if name in self._open)

    def _serve(self, connection: Connection, parent: int) -> None:
        if not end_with_parent(parent):
            return
        while (name := self.take()) is not None:
            connection.send((name, self._run(name)))
