"""Engine ``local``: runs of a sweep in processes of this machine, each of which keeps its loaded modules."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess

from flexarm_tools.process.processes import end_with_parent
from flexarm_tools.sweep.row import Row, crashed_row, plan_run, run_row
from flexarm_tools.sweep.sweep import Sweep

TRIES = 3  # of a run whose process ends
LOOK = 0.2  # [s] between two looks whether to end


class _Worker:
    """A process that runs what it is told, one run at a time; a fork, so that everything is loaded already."""

    def __init__(self, sweep: Sweep) -> None:
        context = multiprocessing.get_context("fork")
        self.connection, theirs = context.Pipe()
        self.run = -1  # number of the run in flight
        self._process: ForkProcess = context.Process(target=_serve, args=(sweep, theirs, os.getpid()), daemon=True)
        self._process.start()
        theirs.close()

    def give(self, number: int) -> None:
        """Let the process run a run."""
        self.run = number
        self.connection.send(number)

    def take(self) -> Row | None:
        """Return the row that has arrived; None if the process has ended."""
        try:
            row: Row = self.connection.recv()
        except (EOFError, ConnectionResetError):
            return None
        return row

    def end(self) -> str:
        """End the process at once, and return how it ended."""
        self._process.kill()
        self._process.join()
        self.connection.close()
        code = self._process.exitcode or 0
        return f"by {signal.Signals(-code).name}" if code < 0 else f"with status {code}"

    def ended(self) -> str:
        """Return how a process has ended by itself."""
        self._process.join()
        return self.end()


def run_local(sweep: Sweep, numbers: Iterable[int], workers: int, ends: Callable[[], bool]) -> Iterator[Row]:
    """Run runs in processes, and yield their rows as they come.

    A run whose process ends (killed, out of memory) is given to another one, three times at most.

    Args:
        sweep: sweep to run.
        numbers: numbers of the runs.
        workers: number of processes.
        ends: whether to end now; runs in flight are given up.
    """
    pending, tries = deque(numbers), Counter[int]()
    team = [_Worker(sweep) for _ in range(min(workers, len(pending)))]
    try:
        for worker in team:
            worker.give(pending.popleft())
        while busy := {worker.connection: worker for worker in team if worker.run >= 0}:
            for connection in wait(list(busy), LOOK):
                assert isinstance(connection, Connection)
                worker = busy[connection]
                number, row = worker.run, worker.take()
                if row is None:
                    how = worker.ended()
                    tries[number] += 1
                    if tries[number] < TRIES:
                        pending.appendleft(number)
                    else:
                        row = crashed_row(plan_run(sweep, number).row, f"its process ended {how}, {TRIES} times")
                    team[team.index(worker)] = worker = _Worker(sweep)
                worker.run = -1
                if pending:
                    worker.give(pending.popleft())
                if row is not None:
                    yield row
            if ends():
                return
    finally:
        for worker in team:
            worker.end()


def _serve(sweep: Sweep, connection: Connection, parent: int) -> None:
    """Run what is told until the other end is closed."""
    if not end_with_parent(parent):
        return
    while True:
        try:
            run = connection.recv()
        except EOFError:
            return
        connection.send(run_row(sweep, run))
