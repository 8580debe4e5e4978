"""Provenance: versions, commit, date, seed and machine of a run, for metrics.json and the report."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from flexarm_tools.scenario.scenario import Scenario

SEED = "seed"  # parameter of the plant
PACKAGES = ("numpy", "numba", "mujoco")


def provenance(scenarios: Iterable[Scenario]) -> dict[str, str]:
    """Return the origin of results, by name; unknown entries are omitted.

    Args:
        scenarios: scenarios of the runs, for their seeds.
    """
    seeds = sorted({str(scenario.plant.get(SEED, 0)) for scenario in scenarios})
    found = {
        "flexarm": _version("flexarm"),
        "commit": _commit(Path(__file__).resolve().parents[3]),
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "seed": ", ".join(seeds),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}",
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
        "ros": " ".join(filter(None, (os.environ.get("ROS_DISTRO", ""), _named(_version("rclpy"), "rclpy")))),
    }
    return {name: text for name, text in found.items() if text}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _named(number: str, package: str) -> str:
    return f"{package} {number}" if number else ""


def _commit(source: Path) -> str:
    """Return the commit of the source tree that runs, with ``+`` if files differ from it; empty outside of a clone."""
    if not (source / ".git").exists():  # installed: a repository around it is another project
        return ""
    command = ["git", "-C", str(source), "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
