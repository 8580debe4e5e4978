"""Fixtures for tests with launch files."""

from __future__ import annotations

import os
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
GAZEBO = """#!/bin/sh
case "$1" in
sim) echo STUB gz "$@"; trap 'exit 0' INT TERM; while true; do sleep 0.1; done;;
service) echo STUB gz "$@" >> SAID; echo data: true;;
model) cat << END
Available models:
MODELS
END
;;
esac
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
        "ros_gz_sim": {"create": False},
        "ros_gz_bridge": {"parameter_bridge": True},
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


@pytest.fixture
def gz(tmp_path, monkeypatch) -> Callable[..., Path]:
    """Stands for the program `gz`, with these models in its world; returns the file that holds requests to services."""

    def listing(*models: str) -> Path:
        program, said = tmp_path / "bin" / "gz", tmp_path / "services"
        program.parent.mkdir(exist_ok=True)
        lines = "\n".join(f"    - {model}" for model in models)
        program.write_text(GAZEBO.replace("MODELS", lines).replace("SAID", str(said)))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        return said

    return listing
