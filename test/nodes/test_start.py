"""An interrupt while a node is still being imported ends it quietly; nothing moves yet."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from flexarm_tools.graph.packages import AmentPackages


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("executable", ["hardware_gate", "simulated_plant"])
def test_an_interrupted_import_leaves_no_traceback(executable, number):
    share = AmentPackages().share("flexarm")
    assert share is not None
    process = subprocess.Popen(
        [share.parents[1] / "lib" / "flexarm" / executable],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    libraries, deadline = Path(f"/proc/{process.pid}/maps"), time.monotonic() + 60.0
    while "numpy" not in libraries.read_text():  # it has begun, and needs a second more
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.005)
    process.send_signal(number)
    said, _ = process.communicate(timeout=60.0)
    assert (process.returncode, said) == (0, b"")
