"""Node processes: started, monitored and ended so that no process or shared memory remains, however a run ends."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from flexarm_core.errors import ConfigError, FlexarmError
from flexarm_tools.graph.packages import AmentPackages

SHARED_MEMORY = Path("/dev/shm")
PR_SET_PDEATHSIG = 1
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")  # clock ticks per second, as used in /proc


class NodeDiedError(FlexarmError):
    """A node process ended without being asked to."""


def end_with_parent(parent: int) -> bool:
    """Let this fork ignore Ctrl-C, on which its parent decides, and end with it; return whether it still runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all processes
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    return os.getppid() == parent


def start_process(path: Path, arguments: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Start an executable in its own session; it ends with this process, and its output goes to a file."""
    libc = ctypes.CDLL(None)  # loaded before the fork: only async-signal-safe calls may follow it
    parent = os.getpid()

    def die_with_parent() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)

    with log.open("wb") as file:
        return subprocess.Popen(
            [str(path), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # only the runner receives Ctrl-C, and ends its nodes in order
            preexec_fn=die_with_parent,
        )


class NodeProcess:
    """One node in its own process; it ends with the runner, even if the runner is killed."""

    def __init__(self, name: str, package: str, executable: str, arguments: list[str], log: Path) -> None:
        """Start ``lib/PACKAGE/EXECUTABLE``.

        Args:
            name: node name.
            package: ROS package.
            executable: executable of the package.
            arguments: command line arguments.
            log: file that receives stdout and stderr.

        Raises:
            ConfigError: the package or the executable does not exist.
        """
        share = AmentPackages().share(package)
        path = share.parents[1] / "lib" / package / executable if share else None
        if path is None or not path.is_file():
            known = AmentPackages().executables(package)
            raise ConfigError(f"package '{package}' has no executable '{executable}'; it has {', '.join(known or ())}")
        self.name, self.package, self.log = name, package, log
        self.asked_to_end = False
        self._process = start_process(path, arguments, log)
        self._segments: set[str] = set()

    @property
    def process_id(self) -> int:
        """Process ID."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self._process.poll() is None

    @property
    def died(self) -> bool:
        """Whether the process ended without being asked to."""
        return not self.asked_to_end and not self.alive

    @property
    def exit_code(self) -> int | None:
        """Exit code, negative for a signal; None while the process is running."""
        return self._process.poll()

    def last_words(self, lines: int = 12) -> str:
        """Return the last lines of the log."""
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.is_file() else ""
        return "\n".join(text.rstrip().splitlines()[-lines:])

    def work(self) -> tuple[bool, float]:
        """Return whether the main thread runs or waits for a core or disk now, and the CPU time used so far [s]."""
        try:
            text = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/stat").read_text(errors="replace")
        except OSError:  # it has ended
            return False, 0.0
        state, *numbers = text.rpartition(")")[2].split()
        return state in "RD", (int(numbers[10]) + int(numbers[11])) / CLOCK_TICKS

    def note_shared_memory(self) -> None:
        """Note the Fast DDS segments that the process uses, to remove them if it is killed or crashes."""
        with contextlib.suppress(OSError):
            self._segments |= _mapped_segments(self._process.pid)

    def kill(self) -> None:
        """Kill the process deliberately."""
        self.note_shared_memory()
        self.asked_to_end = True
        self._process.kill()
        self._process.wait()

    def signal(self, number: int) -> None:
        """Send a signal that asks the process to end."""
        self.asked_to_end = self.asked_to_end or self.alive
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    def wait(self, deadline: float) -> bool:
        """Wait for the process to end, until a time of the monotonic clock; return whether it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, deadline - time.monotonic()))
        return not self.alive

    def clean_up(self) -> None:
        """Remove the segments left in /dev/shm after an abnormal end, unless another process uses them."""
        if not self._segments or self.exit_code == 0:
            return
        used = set().union(*(_quietly_mapped(int(p.name)) for p in Path("/proc").iterdir() if p.name.isdigit()))
        for name in self._segments - used:
            for left in (name, f"{name}_el", f"sem.{name}_mutex"):
                with contextlib.suppress(OSError):
                    (SHARED_MEMORY / left).unlink()


def end_all(processes: Iterable[NodeProcess], patience: float = 5.0) -> None:
    """End every process: interrupt, then terminate, then kill; remove shared memory left after abnormal ends."""
    processes = list(processes)
    for process in processes:
        process.note_shared_memory()
    for number, share in ((signal.SIGINT, 0.6), (signal.SIGTERM, 0.3), (signal.SIGKILL, 0.1)):
        alive = [process for process in processes if process.alive]
        for process in alive:
            process.signal(number)
        deadline = time.monotonic() + share * patience
        for process in alive:
            process.wait(deadline)
    for process in processes:
        process.clean_up()


def _mapped_segments(pid: int) -> set[str]:
    lines = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    paths = (line.partition("/dev/shm/")[2].split(" ")[0] for line in lines if "/dev/shm/fastrtps_" in line)
    return {path.removesuffix("_el") for path in paths}


def _quietly_mapped(pid: int) -> set[str]:
    try:
        return _mapped_segments(pid)
    except OSError:  # it has ended, or belongs to another user
        return set()
