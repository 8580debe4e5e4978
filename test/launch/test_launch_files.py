"""The launch files under the real launch and launch_ros; skipped, visibly, where those are not installed."""

from __future__ import annotations

import os
import signal
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from launched import FILES, ROOT

pytest.importorskip("launch_ros", reason="launch_ros is not installed (it is not on PyPI)")

from launch.launch_description_sources import PythonLaunchDescriptionSource

from launch import LaunchContext

PLAIN = ROOT / "config/planar_3r/scenarios/real_time.yaml"


@pytest.mark.parametrize("file", FILES)
def test_every_argument_is_explained(file):
    description = PythonLaunchDescriptionSource(str(FILES[file])).get_launch_description(LaunchContext())
    arguments = description.get_launch_arguments()
    assert {"scenario", "robot", "robot_arguments"} <= {argument.name for argument in arguments}
    assert all(argument.description and argument.default_value is not None for argument in arguments)


def test_a_simulation_comes_up_in_order_runs_and_ends_cleanly_when_interrupted(launch, graph):
    run = launch("simulation.launch.py", f"scenario:={PLAIN}")
    run.wait_until_it_says("the simulation runs to 60 s")
    graph.wait_for_diagnostic("hardware_gate", "running")
    graph.spin(1.0)
    assert not any(word in run.said for word in ("[WARN]", "[ERROR]")), run.said
    assert run.interrupt() == 0
    said = run.said
    assert "simulated_plant -> reference_generator -> rns_vibration_controller -> hardware_gate" in said
    assert said.count("process has finished cleanly") == 4 and "Traceback" not in said


def test_at_the_end_of_simulated_time_the_stages_go_inactive_and_nothing_is_wrong(launch, graph):
    run = launch("simulation.launch.py", f"scenario:={PLAIN}", "duration:=4")
    graph.wait_for_diagnostic("hardware_gate", "running")
    graph.wait_for_diagnostic("hardware_gate", "inactive")
    graph.spin(1.0)
    assert run.interrupt() == 0
    assert not any(word in run.said for word in ("[WARN]", "[ERROR]")), run.said


def test_when_a_stage_dies_the_gate_stops_the_arm_before_all_ends(launch, graph):
    run = launch("simulation.launch.py", f"scenario:={PLAIN}", "stop_time:=1.0")
    run.wait_until_it_says("the simulation runs")
    graph.wait_for_diagnostic("hardware_gate", "running")
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


def test_in_gazebo_the_robot_begins_as_in_the_scenario_and_is_held_until_the_gate_takes_it(launch, stubs, gz):
    services = gz("ground", "boom_7r")
    scenario = ROOT / "config/boom_7r/scenarios/push_damped.yaml"
    run = launch("gazebo.launch.py", f"scenario:={scenario}", "headless:=true", prefix=stubs)
    run.wait_until_it_says("forward_effort_controller is inactive until the gate takes it")
    said = run.said
    (simulator,) = [line for line in said.splitlines() if "STUB gz sim" in line]
    assert " -s " in simulator and " -r " not in simulator  # paused, until the robot is in it
    run.wait_for(services.exists)
    assert "/world/flexarm/control" in services.read_text() and "pause: false" in services.read_text()
    world = ElementTree.parse(simulator.split()[-1])
    assert world.findtext("world/gravity").split() == ["0.0", "0.0", "0.0"]
    words = next(line for line in said.splitlines() if "STUB create" in line).split("STUB create ")[1].split()
    assert words[words.index("-name") + 1] == "boom_7r"
    model = ElementTree.parse(words[words.index("-file") + 1])
    assert model.find("model/joint[@name='tool_roll']") is not None
    (published,) = [line for line in said.splitlines() if "STUB robot_state_publisher" in line]
    parameters = [Path(word) for word in published.split() if word.startswith("/") and Path(word).is_file()]
    assert any("initial_value" in path.read_text() for path in parameters)
    spawned = [line for line in said.splitlines() if "STUB spawner" in line]
    assert "forward_effort_controller" in spawned[-1] and "--inactive" in spawned[-1]
    assert run.interrupt() == 0
    assert not Path(words[words.index("-file") + 1]).exists()


def test_a_robot_that_gazebo_does_not_take_ends_all_with_the_reason(launch, stubs, gz):
    gz("ground")
    run = launch("gazebo.launch.py", f"scenario:={ROOT}/config/boom_7r/scenarios/push_damped.yaml", prefix=stubs)
    assert run.ended() == 1
    assert "Gazebo did not take model 'boom_7r' within 15 s" in run.said
    assert "models there: ground" in run.said


def test_a_gazebo_that_dies_ends_all_and_says_so(launch, stubs, gz):
    gz("ground", "boom_7r")
    scenario = ROOT / "config/boom_7r/scenarios/push_damped.yaml"
    run = launch("gazebo.launch.py", f"scenario:={scenario}", prefix=stubs)
    run.wait_until_it_says("forward_effort_controller is inactive until the gate takes it")
    os.kill(run.pid("gazebo"), signal.SIGKILL)
    assert run.ended() == 1
    assert "Gazebo died" in run.said
