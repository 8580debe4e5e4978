"""bringup.launch.py under the real ros2_control; skipped, visibly, where that is not installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from launched import PATIENCE, ROOT, Launched, needs
from live import LiveGraph
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from flexarm.msg import SimulationStatus
from flexarm_nodes.messages.conversions import stamp_to_nanoseconds
from flexarm_nodes.node import topics

pytest.importorskip("launch_ros", reason="launch_ros is not installed (it is not on PyPI)")
services = pytest.importorskip("controller_manager_msgs.srv", reason="ros2_control is not installed")

GATE, MODES = "hardware_gate", ("effort", "velocity", "position")
NAMES = ["shoulder_yaw", "shoulder_pitch", "shoulder_roll", "elbow", "wrist_roll", "wrist_pitch", "tool_roll"]
MOTION = [0.2, 0.2, 0.2, -0.8, 0.2, 0.2, 0.2]  # [rad] the elbow begins outside its limits
PLAIN = ROOT / "config/planar_3r/scenarios/real_time.yaml"


@pytest.fixture
def graph(launch, tmp_path):
    needs("controller_manager", "forward_command_controller", "joint_state_broadcaster", "robot_state_publisher")
    begun = LiveGraph(tmp_path)
    try:
        yield begun
    finally:
        begun.close()


def controllers(folder: Path, joints: list[str]) -> str:
    """A file with what every installation of ros2_control has."""
    manager: dict[str, Any] = {"update_rate": 100}
    manager["joint_state_broadcaster"] = {"type": "joint_state_broadcaster/JointStateBroadcaster"}
    content: dict[str, Any] = {"controller_manager": {"ros__parameters": manager}}
    for mode in MODES:
        name = topics.command_controller(mode)
        manager[name] = {"type": "forward_command_controller/ForwardCommandController"}
        content[name] = {"ros__parameters": {"joints": list(joints), "interface_name": mode}}
    file = folder / "controllers.yaml"
    file.write_text(yaml.safe_dump(content))
    return f"controllers_file:={file}"


def parameters(folder: Path, **nodes: dict[str, Any]) -> str:
    file = folder / "parameters.yaml"
    file.write_text(yaml.safe_dump({name: {"ros__parameters": own} for name, own in nodes.items()}))
    return f"parameters_file:={file}"


def switch(graph: LiveGraph, **request: list[str]) -> None:
    """Activate and deactivate controllers, as an operator does beside the gate."""
    asked = services.SwitchController.Request(strictness=services.SwitchController.Request.STRICT, **request)
    client = graph.node.create_client(services.SwitchController, "/controller_manager/switch_controller")
    graph.until(client.service_is_ready, "switch_controller")
    future = client.call_async(asked)
    graph.until(future.done, "answer of switch_controller")
    assert future.result().ok, future.result().message


def wait_until_it_leads(graph: LiveGraph, run: Launched) -> None:
    """Within limits or at one of them: a late command on a crowded machine is led back to its reference by those."""

    def leads() -> bool:
        assert run.runs, run.said
        return any(message.startswith(("running", "limited")) for _, message in graph.said(GATE)[-1:])

    graph.until(leads, "a gate that leads", PATIENCE)


def commands(graph: LiveGraph, mode: str) -> list[Float64MultiArray]:
    return graph.received[topics.command_topic(mode)]


def test_the_gate_follows_its_controller_and_changes_the_mode_without_a_jump(launch, graph, tmp_path):
    for mode in MODES:
        graph.listen(topics.command_topic(mode), Float64MultiArray)
    graph.listen(topics.JOINT_STATES, JointState)
    patient = {"reference_timeout": 2.0, "state_timeout": 2.0, "recovery_samples": 1, "max_acceleration": [2.0]}
    moving = {"space": "joints", "joint_displacement": MOTION, "duration": 10.0, "returns": True}
    run = launch(
        "bringup.launch.py",
        "hardware:=mock",
        "robot:=arm_7r",
        "stages:=reference_generator hardware_gate",
        controllers(tmp_path, NAMES[::-1]),  # another order than the arm's
        parameters(tmp_path, reference_generator=moving, hardware_gate={"command_mode": "velocity", **patient}),
    )
    wait_until_it_leads(graph, run)

    switch(graph, deactivate_controllers=["forward_velocity_controller"])
    graph.wait_for_diagnostic(GATE, "controlled stop: forward_velocity_controller was deactivated")
    graph.settle()
    count = len(commands(graph, "velocity"))
    graph.spin(0.5)
    assert len(commands(graph, "velocity")) == count
    switch(graph, activate_controllers=["forward_velocity_controller"])
    wait_until_it_leads(graph, run)

    graph.graph.set_parameters(GATE, {"command_mode": "position"})
    graph.until(lambda: len(commands(graph, "position")) > 20, "commands of positions")
    first = commands(graph, "position")[0]
    placed = dict(zip(NAMES[::-1], first.data, strict=True))
    measured = [dict(zip(one.name, one.position, strict=True)) for one in graph.received[topics.JOINT_STATES]]
    nearest = min(max(abs(placed[name] - one[name]) for name in NAMES) for one in measured)
    assert nearest < 0.01
    steps = np.diff([one.data for one in commands(graph, "position")], axis=0)
    assert np.abs(np.diff(steps, axis=0)).max() < 2.0 * 0.01**2 * 1.01 + 1e-9  # max_acceleration over a period
    wait_until_it_leads(graph, run)
    assert run.interrupt() == 0, run.said
    assert "Traceback" not in run.said


def test_the_simulated_plant_is_an_arm_behind_ros2_control(launch, graph, tmp_path):
    needs("joint_state_topic_hardware_interface")
    graph.listen(topics.JOINT_STATES, JointState)
    graph.listen("plant/joint_states", JointState)
    graph.listen(topics.SIMULATION_STATUS, SimulationStatus)
    run = launch(
        "bringup.launch.py",
        "hardware:=topic",
        f"scenario:={PLAIN}",
        "rate:=100",
        controllers(tmp_path, ["joint1", "joint2", "joint3"]),
        parameters(tmp_path, hardware_gate={"reference_timeout": 2.0, "state_timeout": 2.0}),
    )
    wait_until_it_leads(graph, run)
    of_plant = graph.received["plant/joint_states"]
    start = list(of_plant[0].position)
    graph.until(
        lambda: max(np.abs(np.subtract(of_plant[-1].position, start))) > 0.05, "a motion of the plant", PATIENCE
    )
    ticks = {stamp_to_nanoseconds(message.header.stamp) for message in of_plant}
    broadcast = graph.received[topics.JOINT_STATES]
    assert set(broadcast[-1].name) == {"joint1", "joint2", "joint3", "base_x"}
    assert {stamp_to_nanoseconds(message.header.stamp) for message in broadcast[1:-5]} <= ticks
    assert graph.received[topics.SIMULATION_STATUS][-1].refused_commands == 0
    assert run.interrupt() == 0, run.said
    assert "Traceback" not in run.said
