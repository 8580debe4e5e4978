"""A launch file in a process of its own, as an operator starts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from ament_index_python.packages import PackageNotFoundError, get_package_prefix

ROOT = Path(__file__).resolve().parents[2]
FILES = {path.name: path for path in sorted((ROOT / "launch").glob("*.launch.py"))}
PATIENCE = 120.0  # [s] wall time; a crowded machine starts five Python processes slowly
SERVE = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
arguments = [tuple(word.split(":=", 1)) for word in sys.argv[2:]]
service = LaunchService(noninteractive=True)
source = PythonLaunchDescriptionSource(sys.argv[1])
service.include_launch_description(LaunchDescription([IncludeLaunchDescription(source, launch_arguments=arguments)]))
sys.exit(service.run())
"""


def needs(*packages: str) -> None:
    """Skip the test, visibly, where a package is not installed."""
    for package in packages:
        try:
            get_package_prefix(package)
        except PackageNotFoundError:
            pytest.skip(f"{package} is not installed (it is not on PyPI)")


class Launched:
    """What a launch file started; ended by :meth:`end` at the latest."""

    def __init__(self, folder: Path, file: str | Path, *arguments: str, prefix: str = "") -> None:
        """Start it.

        Args:
            folder: for its log files.
            file: name of a launch file of flexarm, or a path.
            arguments: ``NAME:=VALUE``.
            prefix: put before AMENT_PREFIX_PATH.
        """
        self._log = folder / "launch.log"
        environment = os.environ | {"ROS_LOG_DIR": str(folder / "ros"), "PYTHONUNBUFFERED": "1"}
        environment["AMENT_PREFIX_PATH"] = prefix + environment["AMENT_PREFIX_PATH"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", SERVE, str(file if isinstance(file, Path) else FILES[file]), *arguments],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            )

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    @property
    def said(self) -> str:
        return self._log.read_text(errors="replace")

    def wait_for(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline and self.runs, self.said
            time.sleep(0.1)

    def wait_until_it_says(self, text: str) -> None:
        self.wait_for(lambda: text in self.said)

    def pid(self, executable: str) -> int:
        line = next(line for line in self.said.splitlines() if f"[{executable}-" in line and "started with pid" in line)
        return int(line.rpartition("[")[2].rstrip("]"))

    def interrupt(self) -> int:
        self._process.send_signal(signal.SIGINT)
        return self.ended()

    def ended(self) -> int:
        return self._process.wait(PATIENCE)

    def end(self) -> None:
        if self.runs:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
