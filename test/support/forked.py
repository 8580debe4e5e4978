"""Nodes and commands forked from a process that has imported all nodes and loaded all kernels: starts outlast tests.

A forked node is a process of its own, and begins where its executable does, in :mod:`flexarm_nodes.start`. So does a
forked :class:`Command`, in :mod:`flexarm_tools.cli`; its nodes are forked, too. Whatever reads its environment while it
is imported gets a new Python: packages of others, another middleware, a preloaded library. So do launch files, and
the tests of the start itself.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import faulthandler
import gc
import importlib
import inspect
import json
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from flexarm_nodes import start
from flexarm_nodes.registry import NODES
from flexarm_tools.process import processes

PR_SET_CHILD_SUBREAPER = 36
LATE = ("FASTDDS_", "FASTRTPS_", "PYTEST_", "ROS_")  # how variables begin that a node reads when it is made
MOST = 1 << 20  # [bytes] of a request
Origin = tuple[socket.socket, dict[str, str]]  # a line to a process that forks, and what that may have read
origins: dict[int, Origin] = {}  # by the process that asks
start_anew = processes.start_process


class Forked(subprocess.Popen):
    """A process that another one has forked, and that is ours since."""

    def _execute_child(self, process_id: int, *_: object) -> None:
        self.pid, self._child_created = process_id, True


class Command(subprocess.Popen):
    """A `flexarm` command, given by its arguments; in a session of its own."""

    def _execute_child(self, arguments: Any, executable: Any, *given: Any) -> None:
        _, _, _, folder, values, _, _, _, *pipes = given[:14]
        values = dict(os.environ if values is None else values)
        line, known = origin()
        if environment(values) != known:
            python = [sys.executable, "-m", "flexarm_tools.cli", *arguments]
            super()._execute_child(python, executable, *given)
            return
        ends = (pipes[0], pipes[3], pipes[5])
        streams = [usual if end == -1 else end for usual, end in enumerate(ends)]
        request = {"arguments": list(arguments), "folder": os.path.abspath(folder or "."), "values": values}
        self.pid, self._child_created = asked(line, request, streams), True
        self._close_pipe_fds(*pipes)


def flexarm(*arguments: object, timeout: float = 120.0, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a forked command, and return what it said."""
    words = [str(argument) for argument in arguments]
    with Command(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options) as process:
        try:
            said = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(words, process.returncode, *said)


def environment(values: dict[str, str]) -> dict[str, str]:
    """What a node or a command may read while it is imported; each of them sees to one thread itself."""
    return {"OPENBLAS_NUM_THREADS": "1"} | {name: value for name, value in values.items() if not name.startswith(LATE)}


def origin() -> Origin:
    """A line to the process that forks for this one."""
    if os.getpid() not in origins:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # the parent of those whose parent ends
            subprocess.Popen([sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()])
        origins[os.getpid()] = ours, environment(dict(os.environ))
    return origins[os.getpid()]


def asked(line: socket.socket, request: dict[str, Any], streams: list[int]) -> int:
    """Ask for a process; returns its number."""
    socket.send_fds(line, [json.dumps(request).encode()], streams)
    return int(line.recv(16))


def start_process(path: Path, arguments: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Start an executable, forked if it is a node of flexarm that finds the environment of its origin."""
    line, known = origin()
    if path.name not in NODES or path.parent.name != "flexarm" or environment(dict(os.environ)) != known:
        return start_anew(path, arguments, log)
    request = {"path": str(path), "arguments": arguments, "log": str(log), "values": dict(os.environ)}
    return Forked(asked(line, request, []))


def load() -> None:
    """Load what nodes and commands need."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from flexarm_sim.warm import PARTS, compile_plant

    for place in NODES.values():
        with contextlib.suppress(ImportError):  # the node will say so
            importlib.import_module(f"flexarm_nodes.{place.partition(':')[0]}")
    for part in (*PARTS.values(), compile_plant):
        part()
    for module in ("cli", "run.session", "run.in_process", "run.runner", "sweep.session"):
        importlib.import_module(f"flexarm_tools.{module}")
    for package in ("lifecycle_msgs.msg", "lifecycle_msgs.srv", "rcl_interfaces.msg", "rcl_interfaces.srv"):
        importlib.import_module(package)  # of every node
    for name, module in list(sys.modules.items()):
        if name.endswith((".msg", ".srv", ".action")):
            for kind in vars(module).values():
                if isinstance(kind, type) and hasattr(type(kind), "__import_type_support__"):
                    type(kind).__import_type_support__()
    inspect.getmodule(sys._getframe())  # it looks for the files of all modules, where a logger first says something
    gc.collect()
    gc.freeze()


def serve(line: socket.socket, caller: int) -> NoReturn:
    """Fork a process for each request, for as long as there is somebody who asks."""
    while True:
        text, streams, _, _ = socket.recv_fds(line, MOST, 3)
        if not text:
            os._exit(0)
        request = json.loads(text)
        reader, writer = os.pipe()
        between = os.fork()
        if not between:
            if made := os.fork():
                os.write(writer, str(made).encode())
                os._exit(0)
            for number in (line.fileno(), reader, writer):
                os.close(number)
            begin: Callable[..., NoReturn] = become if "log" in request else command
            begin(caller, *(() if "log" in request else (streams,)), **request)
        os.waitpid(between, 0)  # then it is a child of the caller
        line.sendall(os.read(reader, 16))
        for number in (reader, writer, *streams):
            os.close(number)


def give_nodes(values: dict[str, str]) -> None:
    """Let nodes of this process be forked from what is loaded here."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    this = os.getpid()
    if not os.fork():
        ours.close()
        for number in range(3):  # who reads what the command says waits for nobody else
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        serve(theirs, this)
    theirs.close()
    origins[this] = ours, environment(values)
    processes.start_process = start_process


def command(caller: int, streams: list[int], arguments: list[str], folder: str, values: dict[str, str]) -> NoReturn:
    """Be this command from now on."""
    while os.getppid() != caller:
        time.sleep(0.001)
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    if arguments[:1] != ["sweep"]:  # which has no nodes, and no other children than those that tests kill
        give_nodes(values)
    os.environ.clear()
    os.environ.update(values)
    os.chdir(folder)
    sys.argv = ["flexarm", *arguments]
    sys.stdin, sys.stdout, sys.stderr = (open(number, mode) for number, mode in enumerate("rww"))  # noqa: SIM115
    sys.stderr.reconfigure(line_buffering=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    status: Any = 0
    try:
        from flexarm_tools import cli

        cli.main()
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
        status = 1
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(status if isinstance(status, int) else int(status is not None))


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
    load()
    serve(socket.socket(fileno=int(sys.argv[1])), os.getppid())
