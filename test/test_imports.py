"""The house: imports go one way, and ROS stays above the simulated plant."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src"
FLOORS = ("flexarm_core", "flexarm_sim", "flexarm_nodes", "flexarm_tools")
MOST = 25  # modules of a folder
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


def modules() -> dict[str, Path]:
    """Every module of the house by its dotted name."""
    return {".".join(path.relative_to(SOURCE).with_suffix("").parts): path for path in SOURCE.rglob("*.py")}


def rooms_between(house: dict[str, Path]) -> dict[str, set[str]]:
    """Rooms (folders) that each room imports from, but for the rooms it lies in, and those in it."""
    between: dict[str, set[str]] = {}
    for name, path in house.items():
        room = name.rpartition(".")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            for alias in node.names:
                target = f"{node.module}.{alias.name}"
                other = (target if target in house else node.module).rpartition(".")[0]
                if not f"{other}.".startswith(f"{room}.") and not f"{room}.".startswith(f"{other}."):
                    between.setdefault(room, set()).add(other)
    return between


def test_rooms_import_one_way():
    between = rooms_between(modules())
    assert len(between) > 30

    def reached(room: str, seen: set[str]) -> set[str]:
        for other in between.get(room, set()) - seen:
            seen.add(other)
            reached(other, seen)
        return seen

    both_ways = sorted(room for room in between if room in reached(room, set()))
    assert not both_ways, f"these rooms import each other: {', '.join(both_ways)}"


def test_no_room_has_more_modules_than_one_can_look_over():
    rooms: dict[str, int] = {}
    for name in modules():
        room = name.rpartition(".")[0]
        rooms[room] = rooms.get(room, 0) + (not name.endswith("__init__"))
    assert max(rooms.values()) <= MOST, sorted(rooms.items(), key=lambda one: -one[1])[:5]


@pytest.mark.parametrize("name", ["flexarm_core", "flexarm_sim"])
def test_core_and_plant_know_nothing_of_ros(name):
    for path in (SOURCE / name).rglob("*.py"):
        assert not set(imported(path)) & ROS, f"{path.relative_to(SOURCE)} imports ROS"


def test_there_are_no_other_packages():
    assert sorted(path.name for path in SOURCE.iterdir() if path.is_dir() and any(path.glob("*.py"))) == sorted(FLOORS)
