"""gazebo.launch.py under a whole Gazebo with gz_ros2_control; skipped, visibly, where those are not installed."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest
from launched import ROOT, needs

pytest.importorskip("launch_ros", reason="launch_ros is not installed (it is not on PyPI)")
pytest.importorskip("controller_manager_msgs.srv", reason="ros2_control is not installed")

from gazebo_runs import CASES, observe

SPEED = 0.3  # real_time_factor on a crowded machine
SHORT = ("planar_3r", "arm_7r_wipe")


@pytest.fixture(autouse=True)
def _installed() -> None:
    needs("ros_gz_sim", "ros_gz_bridge", "gz_ros2_control", "forward_command_controller", "joint_state_broadcaster")


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.name, marks=[] if case.name in SHORT else pytest.mark.long) for case in CASES]
)
def test_a_scenario_holds_in_gazebo(case):
    seen = observe(case, True, SPEED)
    found = case.judge(seen)
    assert {name: value for name, value in found.items() if not value <= case.goals[name]} == {}, seen.said
    assert seen.stops() == 0.0, seen.said
    assert "Traceback" not in seen.said


def test_a_gazebo_that_is_killed_ends_the_launch_with_the_reason(launch, graph):
    run = launch(
        "gazebo.launch.py", f"scenario:={ROOT / 'config/planar_3r/scenarios/reactionless.yaml'}", "headless:=true",
        f"real_time_factor:={SPEED}",
    )  # fmt: skip
    graph.wait_for_diagnostic("hardware_gate", "running")
    servers = subprocess.run(["pgrep", "-f", "gz sim.*flexarm-gazebo-"], capture_output=True, text=True).stdout.split()
    for server in servers:
        os.kill(int(server), signal.SIGKILL)
    assert run.ended() == 1, run.said
    assert "Gazebo died" in run.said
