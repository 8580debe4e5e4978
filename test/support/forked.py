"""Node processes forked from one that has imported all nodes and loaded all kernels: starting takes longer than a test.

A forked node is a process of its own, and begins where its executable does, in :mod:`flexarm_nodes.start`. Whatever
reads its environment while it is imported gets a new Python: packages of others, another middleware, a preloaded
library. So do runs by the command line, launch files, and the tests of the start itself.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import NoReturn

from flexarm_nodes import start
from flexarm_nodes.registry import NODES
from flexarm_tools.process import processes

PR_SET_CHILD_SUBREAPER = 36
LATE = ("FASTDDS_", "FASTRTPS_", "PYTEST_", "ROS_")  # how variables begin that a node reads when it is made
start_anew = processes.start_process


class Forked(subprocess.Popen):
    """A process that another one has forked, and that is ours since."""

    def _execute_child(self, process_id: int, *_: object) -> None:
        self.pid, self._child_created = process_id, True


def environment() -> dict[str, str]:
    """What a node may read while it is imported."""
    return {name: value for name, value in os.environ.items() if not name.startswith(LATE)}


@cache
def origin(process_id: int) -> tuple[socket.socket, dict[str, str]]:
    """A line to the process that forks, for this one, and what that may have read."""
    ours, theirs = socket.socketpair()
    with theirs:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # the parent of those whose parent ends
        subprocess.Popen([sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()])
    return ours, environment()


def start_process(path: Path, arguments: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Start an executable, forked if it is a node of flexarm that finds the environment of its origin."""
    line, known = origin(os.getpid())
    if path.name not in NODES or path.parent.name != "flexarm" or environment() != known:
        return start_anew(path, arguments, log)
    line.sendall(json.dumps([str(path), arguments, str(log), dict(os.environ)]).encode() + b"\n")
    return Forked(int(line.recv(16)))


def serve(line: socket.socket) -> NoReturn:
    """Fork a node for each request, for as long as there is somebody who asks."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from flexarm_sim.warm import PARTS, compile_plant

    for place in NODES.values():
        with contextlib.suppress(ImportError):  # the node will say so
            importlib.import_module(f"flexarm_nodes.{place.partition(':')[0]}")
    for load in (*PARTS.values(), compile_plant):
        load()
    gc.collect()
    gc.freeze()
    caller = os.getppid()
    for request in line.makefile():
        reader, writer = os.pipe()
        between = os.fork()
        if not between:
            if node := os.fork():
                os.write(writer, str(node).encode())
                os._exit(0)
            for number in (line.fileno(), reader, writer):
                os.close(number)
            become(caller, *json.loads(request))
        os.waitpid(between, 0)  # then the node is a child of the caller
        line.sendall(os.read(reader, 16))
        for number in (reader, writer):
            os.close(number)
    os._exit(0)


def become(caller: int, path: str, arguments: list[str], log: str, values: dict[str, str]) -> NoReturn:
    """Be this node from now on."""
    while os.getppid() != caller:
        time.sleep(0.001)
    ctypes.CDLL(None).prctl(processes.PR_SET_PDEATHSIG, signal.SIGTERM)
    os.setsid()
    os.environ.clear()
    os.environ.update(values)
    sys.argv = [path, *arguments]
    said = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number, stream in enumerate((os.open(os.devnull, os.O_RDONLY), said, said)):
        os.dup2(stream, number)
    faulthandler.register(signal.SIGUSR2)  # where every thread is, into the log
    getattr(start, Path(path).name)()
    os._exit(1)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
