"""Handling of compilations by numba: they are reported to the user, and rejected within a tick.

numba compiles a kernel for the types of its arguments at the first call with them, which takes up to a minute, and
keeps the machine code in a folder (:func:`where_kept`). Later processes load it from there in milliseconds. Other
compilations are reported on stderr, because otherwise a user could not see why a program does not respond.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any, TextIO

import numba.core.event

from flexarm_core.errors import FlexarmError

SILENT = 1.0  # [s] shorter compilations are not reported
EVERY = 10.0  # [s] between lines where they are not written over each other
ALL_AT_ONCE = "python -m flexarm_sim.warm"

_thread = threading.local()


class CompilationError(FlexarmError):
    """A kernel would have been compiled inside a tick; the message names it and the types of the arguments."""


class NoCompilation:
    """Context in which this thread may not compile: a tick, which must not be blocked for seconds.

    A kernel that has no machine code for the types of its arguments raises :class:`CompilationError`. The usual reason
    is an array that is read-only or not contiguous: to numba these are types of their own.
    """

    def __enter__(self) -> None:
        """Refuse compilation in this thread."""
        _thread.refuses = True

    def __exit__(self, *_: object) -> None:
        """Allow compilation again."""
        _thread.refuses = False


no_compilation = NoCompilation()


class Progress(numba.core.event.Listener):
    """Says on stderr what numba compiles: one line at a terminal, else a line every ten seconds.

    Attributes:
        kernels: the kernels of the imported modules.
        compiled: how many functions were compiled.
        total: number of kernels that are to be compiled; None: not known.
        shared: whether other processes compile, too.
    """

    def __init__(self) -> None:
        self.kernels: list[Any] = []
        self.compiled = 0
        self._done: set[int] = set()  # kernels: one may be compiled for several types of arguments
        self.total: int | None = None
        self.shared = False
        self._depth, self._began, self._said, self._spent = 0, 0.0, -EVERY, 0.0
        self._introduced = False
        self._alarm: threading.Timer | None = None  # for a function that takes long, and no other within it

    def on_start(self, event: Any) -> None:
        """Refuse the compilation of a function, or say that it begins; callees are compiled within their caller."""
        self._depth += 1  # numba ends what it began, even if this raises
        if self._depth == 1:
            self._began = time.perf_counter()
        function = event.data["dispatcher"].py_func
        if getattr(_thread, "refuses", False):
            types = ", ".join(map(str, event.data["args"]))
            raise CompilationError(
                f"{function.__module__}.{function.__qualname__} is not compiled for the types of these arguments, and"
                f" a tick cannot wait for it: {types}. Arrays must be writable and contiguous, as the rehearsal's are;"
                f" `{ALL_AT_ONCE}` compiles all that is usual"
            )
        if str(function.__module__).startswith("flexarm"):  # others may use numba in this process
            self._say(function)
            if self._depth == 1:
                self._alarm = threading.Timer(SILENT, self._say, (function,))
                self._alarm.daemon = True
                self._alarm.start()

    def on_end(self, event: Any) -> None:
        """Count the function."""
        self._depth -= 1
        self.compiled += 1
        self._done.add(id(event.data["dispatcher"]))
        if self._depth == 0:
            if self._alarm is not None:
                self._alarm.cancel()
            self._spent += time.perf_counter() - self._began
            if self._introduced and sys.stderr.isatty():
                _write(sys.stderr, "\r\x1b[K")

    @property
    def count(self) -> int:
        """Number of kernels that were compiled; if other processes compile too, those that are kept now."""
        if self.total is None or not self.shared:
            return len(self._done) if self.total is None else min(len(self._done), self.total)
        return self.total - sum(not kernel._cache.is_kept() for kernel in self.kernels)

    def announce(self) -> None:
        """Say where the kernels are kept, once."""
        self._introduced = True
        kept = where_kept(self.kernels)
        if not kept:
            kept = "not kept, as no folder for them can be written: set NUMBA_CACHE_DIR to one that can"
        elif self.total is None:
            kept = f"once, kept in {kept}; all ahead of use: {ALL_AT_ONCE}"
        else:
            kept = f"once, kept in {kept}"
        _write(sys.stderr, f"flexarm: compiling ({kept})\n")

    def _say(self, function: Any) -> None:
        now = time.perf_counter()
        spent = self._spent + now - self._began
        if sys.stderr is None or spent < SILENT:
            return
        if not self._introduced:
            self.announce()
        count = f"{self.compiled}" if self.total is None else f"{self.count} of {self.total}"
        line = f"flexarm: compiled {count} in {spent:.0f} s: {function.__name__} ..."
        if sys.stderr.isatty():
            _write(sys.stderr, f"\r\x1b[K{line[:78]}")
        elif now - self._said >= EVERY:
            self._said = now
            _write(sys.stderr, f"{line}\n")


def where_kept(kernels: list[Any]) -> str:
    """Return the folder that has the machine code of all kernels in it; empty: it is not kept."""
    folders = {kernel.stats.cache_path for kernel in kernels}
    return "" if None in folders or not folders else os.path.commonpath(folders)


def _write(stream: TextIO, text: str) -> None:
    """Write to a stream that may be closed: what is said about compilation must not make it fail."""
    try:
        stream.write(text)
        stream.flush()
    except (OSError, ValueError):
        pass


progress = Progress()
numba.core.event.register("numba:compile", progress)
