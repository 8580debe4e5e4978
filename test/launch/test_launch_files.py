"""The launch files under the real launch and launch_ros; skipped, visibly, where those are not installed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from live import own_domain

pytest.importorskip("launch_ros", reason="launch_ros is not installed (it is not on PyPI)")

from launch.launch_description_sources import PythonLaunchDescriptionSource

from launch import LaunchContext

ROOT = Path(__file__).resolve().parents[2]
FILES = {path.name: path for path in sorted((ROOT / "launch").glob("*.launch.py"))}
PLAIN = ROOT / "config/planar_3r/scenarios/real_time.yaml"
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
STUB = """#!/usr/bin/env python3
import signal, sys, time
print("STUB", sys.argv[0].rsplit("/", 1)[-1], *sys.argv[1:], flush=True)
def end(*_):
    sys.exit(0)
signal.signal(signal.SIGINT, end)
while STAYS:
    time.sleep(0.1)
"""


class Launched:
    """A launch file in a process of its own."""

    def __init__(self, folder: Path, file: str, *arguments: str, prefix: str = "") -> None:
        self._log = folder / "launch.log"
        environment = os.environ | {"ROS_LOG_DIR": str(folder / "ros"), "PYTHONUNBUFFERED": "1"}
        environment["AMENT_PREFIX_PATH"] = prefix + environment["AMENT_PREFIX_PATH"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", SERVE, str(FILES[file]), *arguments],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            )

    @property
    def said(self) -> str:
        return self._log.read_text(errors="replace")

    def wait_for(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline and self._process.poll() is None, self.said
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
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


@pytest.fixture
def launch(tmp_path) -> Iterator[Callable[..., Launched]]:
    begun: list[Launched] = []

    def begin(file: str, *arguments: str, prefix: str = "") -> Launched:
        begun.append(Launched(tmp_path, file, *arguments, prefix=prefix))
        return begun[-1]

    with own_domain():
        try:
            yield begin
        finally:
            for each in begun:
                each.end()


@pytest.fixture
def stubs(tmp_path) -> str:
    """Prefix with stand-ins for what is not on PyPI, for AMENT_PREFIX_PATH: they say how they were called."""
    names = {
        "robot_state_publisher": {"robot_state_publisher": True},
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


@pytest.mark.parametrize("file", FILES)
def test_every_argument_is_explained(file):
    description = PythonLaunchDescriptionSource(str(FILES[file])).get_launch_description(LaunchContext())
    arguments = description.get_launch_arguments()
    assert {"scenario", "robot", "robot_arguments"} <= {argument.name for argument in arguments}
    assert all(argument.description and argument.default_value is not None for argument in arguments)


def test_a_simulation_comes_up_in_order_runs_and_ends_cleanly_when_interrupted(launch):
    run = launch("simulation.launch.py", f"scenario:={PLAIN}")
    run.wait_until_it_says("the simulation runs to 60 s")
    run.wait_until_it_says("hardware_gate]: running")
    assert run.interrupt() == 0
    said = run.said
    assert "simulated_plant -> reference_generator -> rns_vibration_controller -> hardware_gate" in said
    assert said.count("process has finished cleanly") == 4 and "Traceback" not in said


def test_when_a_stage_dies_the_gate_stops_the_arm_before_all_ends(launch):
    run = launch("simulation.launch.py", f"scenario:={PLAIN}", "stop_time:=1.0")
    run.wait_until_it_says("hardware_gate]: running")
    os.kill(run.pid("rns_vibration_controller"), signal.SIGKILL)
    assert run.ended() == 1
    said = run.said
    assert "node 'rns_vibration_controller' died with exit code -9; the gate stops the arm" in said
    assert said.rindex("controlled stop: no joint reference") < said.rindex("sending signal 'SIGINT'")
    assert said.count("process has finished cleanly") == 3


def test_stages_that_cannot_lead_the_arm_are_not_started(launch):
    run = launch("simulation.launch.py", "robot:=planar_3r", "stages:=reference_generator hardware_gate")
    assert run.ended() == 1
    assert "needs JointReference on 'joint_reference'" in run.said and "process started" not in run.said


def test_before_an_arm_broadcasters_come_first_then_controllers_then_stages(launch, stubs):
    controllers = ROOT / "config/planar_3r/controllers.yaml"
    run = launch("bringup.launch.py", f"scenario:={PLAIN}", f"controllers_file:={controllers}", prefix=stubs)
    run.wait_until_it_says("all stages are active")
    spawned = [line.partition("STUB ")[2] for line in run.said.splitlines() if "STUB spawner" in line]
    assert [line.split(" -c ")[0] for line in spawned] == [
        "spawner joint_state_broadcaster base_ft_sensor_broadcaster",
        "spawner forward_velocity_controller forward_position_controller joint_trajectory_controller",
        "spawner forward_effort_controller",
    ]
    assert ["--inactive" in line for line in spawned] == [False, True, False]
    os.kill(run.pid("hardware_gate"), signal.SIGKILL)
    assert run.ended() == 1
    assert "STUB unspawner forward_effort_controller -c /controller_manager" in run.said


def test_a_spawner_that_fails_ends_all_and_no_stage_is_started(launch, stubs):
    spawner = Path(stubs.rstrip(":")) / "lib/controller_manager/spawner"
    spawner.write_text("#!/bin/sh\nexit 1\n")
    controllers = ROOT / "config/planar_3r/controllers.yaml"
    run = launch("bringup.launch.py", f"scenario:={PLAIN}", f"controllers_file:={controllers}", prefix=stubs)
    assert run.ended() == 1
    assert "spawning the broadcasters (joint_state_broadcaster" in run.said and "hardware_gate-" not in run.said
