"""The house: imports go one way, and ROS stays above the simulated plant."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src"
FLOORS = ("flexarm_core", "flexarm_sim", "flexarm_nodes", "flexarm_tools")
ROS = {
    "rclpy",
    "flexarm",
    "std_msgs",
    "sensor_msgs",
    "geometry_msgs",
    "diagnostic_msgs",
    "rcl_interfaces",
    "lifecycle_msgs",
}


def imported(path: Path) -> Iterator[str]:
    """Top-level packages that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            yield node.module.split(".")[0]


@pytest.mark.parametrize("floor", range(len(FLOORS)))
def test_imports_go_down_only(floor):
    files = sorted((SOURCE / FLOORS[floor]).rglob("*.py"))
    assert files
    for path in files:
        above = set(imported(path)) & set(FLOORS[floor + 1 :])
        assert not above, f"{path.relative_to(SOURCE)} imports {above}, which lies above it"


@pytest.mark.parametrize("name", ["flexarm_core", "flexarm_sim"])
def test_core_and_plant_know_nothing_of_ros(name):
    for path in (SOURCE / name).rglob("*.py"):
        assert not set(imported(path)) & ROS, f"{path.relative_to(SOURCE)} imports ROS"


def test_there_are_no_other_packages():
    assert sorted(path.name for path in SOURCE.iterdir() if path.is_dir() and any(path.glob("*.py"))) == sorted(FLOORS)
