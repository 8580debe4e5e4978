"""Fixtures shared by all tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import forked
import one_thread  # noqa: F401
import pytest

from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_tools.process import processes

ROOT = Path(__file__).resolve().parents[1]
LIVE = ("launch", "nodes", "tools")  # folders whose tests wait for processes more than they compute


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Take files of both kinds in turns, so that what waits and what computes share the cores at all times."""
    files = dict.fromkeys(item.path for item in items)
    place = {}
    for kind in (True, False):
        chosen = [file for file in files if (file.relative_to(ROOT / "test").parts[0] in LIVE) is kind]
        place |= {file: number / len(chosen) for number, file in enumerate(chosen)}
    items.sort(key=lambda item: place[item.path])


@pytest.fixture(scope="session", autouse=True)
def forked_nodes() -> Iterator[None]:
    """Nodes of this process are forked from one that has loaded them already."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "start_process", forked.start_process)
        yield


@pytest.fixture(scope="session")
def planar_3r_text() -> str:
    """URDF of the planar 3R arm."""
    return load_robot_description(ROOT / "urdf" / "planar_3r.urdf.xacro")


@pytest.fixture(scope="session")
def trep_text() -> str:
    """URDF of TREP."""
    return load_robot_description(ROOT / "urdf" / "trep.urdf.xacro")


@pytest.fixture
def planar_3r(planar_3r_text: str) -> ArmModel:
    """Model of the planar 3R arm without gravity."""
    return ArmModel(planar_3r_text, gravity=(0.0, 0.0, 0.0))


@pytest.fixture
def trep(trep_text: str) -> ArmModel:
    """Model of TREP without gravity."""
    return ArmModel(trep_text, gravity=(0.0, 0.0, 0.0))
