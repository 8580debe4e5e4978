"""Fixtures shared by all tests."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import forked
import one_thread  # noqa: F401
import pytest
import xacro
from ament_index_python.packages import get_package_share_directory

from flexarm_core.robot import load
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_tools.process import processes

ROOT = Path(__file__).resolve().parents[1]
LIVE = ("launch", "nodes", "tools")  # folders whose tests wait for processes more than they compute
LONGEST = (  # files that take longest: one that begins last would keep a core alone
    "test_control_loop", "test_in_process", "test_faults", "test_path_planner", "test_faults_cases", "test_check",
    "test_learning", "test_runner", "test_sweep", "test_watchdog", "test_chain_gains", "test_doors", "test_docs_site",
    "test_drive_limits", "test_faults_sensors", "test_check_completion", "test_cli", "test_run_ends", "test_tutorials",
    "test_wrong_base", "test_added_stage", "test_faults_open_gate", "test_follow_cartesian_path",
    "test_joint_trajectory_follower", "test_gate", "test_ik_redundancy_solver", "test_control_loop_stages",
    "test_simulated_plant", "test_base_wrench_torque_estimator", "test_step", "test_busy", "test_sampled_model",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Take the longest files first, the others of both kinds in turns: what waits and what computes share the cores."""
    files = dict.fromkeys(item.path for item in items)
    place = {}
    for kind in (True, False):
        chosen = [file for file in files if (file.relative_to(ROOT / "test").parts[0] in LIVE) is kind]
        place |= {file: number / len(chosen) for number, file in enumerate(chosen)}
    place |= {file: LONGEST.index(file.stem) - len(LONGEST) for file in files if file.stem in LONGEST}
    items.sort(key=lambda item: place[item.path])


@pytest.fixture(scope="session", autouse=True)
def forked_nodes() -> Iterator[None]:
    """Nodes of this process are forked from one that has loaded them already."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "start_process", forked.start_process)
        yield


@pytest.fixture(scope="session", autouse=True)
def expanded_once() -> Iterator[None]:
    """The xacro files of this repository, which no test changes, are expanded once: each takes 30 to 90 ms."""
    own = {ROOT / "urdf", Path(get_package_share_directory("flexarm"), "urdf").resolve()}

    @cache
    def expanded(path: str, mappings: tuple[tuple[str, str], ...]) -> str:
        return xacro.process_file(path, mappings=dict(mappings)).toprettyxml(indent="  ")

    def process_file(path: str, mappings: dict[str, str]) -> object:
        if Path(path).resolve().parent not in own:
            return xacro.process_file(path, mappings=mappings)
        return SimpleNamespace(toprettyxml=lambda indent: expanded(path, tuple(sorted(mappings.items()))))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(load, "xacro", SimpleNamespace(process_file=process_file))
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
