"""Fixtures for tests with launch files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from launched import Launched
from live import LiveGraph, own_domain

STUB = """#!/usr/bin/env python3
import signal, sys, time
print("STUB", sys.argv[0].rsplit("/", 1)[-1], *sys.argv[1:], flush=True)
def end(*_):
    sys.exit(0)
signal.signal(signal.SIGINT, end)
while STAYS:
    time.sleep(0.1)
"""


@pytest.fixture
def launch(tmp_path) -> Iterator[Callable[..., Launched]]:
    begun: list[Launched] = []

    def begin(file: str | Path, *arguments: str, prefix: str = "") -> Launched:
        begun.append(Launched(tmp_path, file, *arguments, prefix=prefix))
        return begun[-1]

    with own_domain():
        try:
            yield begin
        finally:
            for each in begun:
                each.end()


@pytest.fixture
def graph(launch, tmp_path) -> Iterator[LiveGraph]:
    begun = LiveGraph(tmp_path)
    try:
        yield begun
    finally:
        begun.close()


@pytest.fixture
def stubs(tmp_path) -> str:
    """Prefix with stand-ins for what is not on PyPI, for AMENT_PREFIX_PATH: they say how they were called."""
    names = {
        "robot_state_publisher": {"robot_state_publisher": True},
        "rviz2": {"rviz2": True},
        "controller_manager": {"ros2_control_node": True, "spawner": False, "unspawner": False},
    }
    prefix = tmp_path / "stubs"
    for package, executables in names.items():
        index = prefix / "share/ament_index/resource_index/packages"
        index.mkdir(parents=True, exist_ok=True)
        (index / package).touch()
        folder = prefix / "lib" / package
        folder.mkdir(parents=True)
        for executable, stays in executables.items():
            (folder / executable).write_text(STUB.replace("STAYS", str(stays)))
            (folder / executable).chmod(0o755)
    return f"{prefix}:"
