"""The table of wiring says what the nodes really listen to and advertise."""

from __future__ import annotations

from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import rclpy
from live import own_domain
from rclpy.context import Context
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter

from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_nodes.node.ports import Role, Use
from flexarm_nodes.registry import NODES, node_maker
from flexarm_tools.wiring.table import node_ports
from flexarm_tools.wiring.wiring import full_name

ROOT = Path(__file__).resolve().parents[2]
ARM, BOOM, BENDING = (ROOT / "urdf" / f"{name}.urdf.xacro" for name in ("arm_7r", "boom_7r", "flexible_2r"))
# of every node, whatever it does
COMMON = ("robot_description", "tf_static", "diagnostics", "rosout", "parameter_events")
STREAM = {"behaviors": ["follow"], "follow.kind": "path", "follow.source": "stream"}
SURFACE = {
    "surfaces.names": ["wall"],
    "surfaces.kinds": ["plane"],
    "surfaces.positions": [1.0, 0.0, 0.0],
    "surfaces.rpys": [0.0, -1.57, 0.0],
    "surfaces.stiffnesses": [1e4],
    "surfaces.dampings": [10.0],
    "surfaces.frictions": [0.3],
    "friction.viscous": [1.0],
}
MOVE = {"space": "joints", "joint_displacement": [0.0] * 7}
LOOP = {
    "stages": [
        *("reference_generator", "rns_vibration_controller", "base_wrench_torque_estimator"),
        "hardware_gate",
    ]
}
BENT_LOOP = {
    "stages": ["flexible_dynamics_estimator", "reference_generator", "flexible_dynamics_controller", "hardware_gate"],
    "reference_generator.space": "joints",
    "reference_generator.joint_displacement": [0.0, 0.0],
}
WHOLE_LOOP = {
    "stages": [
        *("flexible_dynamics_estimator", "reference_generator", "behavior_impedance_controller"),
        *("rns_vibration_controller", "flexible_dynamics_controller", "base_wrench_torque_estimator"),
        "hardware_gate",
    ],
    **{f"behavior_impedance_controller.{name}": value for name, value in STREAM.items()},
}
CASES: list[tuple[str, Path, dict[str, Any]]] = [
    ("reference_generator", BOOM, {"base_state_source": "flexible_state"}),
    ("reference_generator", ARM, MOVE),
    ("joint_trajectory_follower", ARM, {}),
    ("behavior_impedance_controller", ARM, STREAM),
    ("behavior_impedance_controller", BOOM, {"output": "tool"}),
    ("behavior_impedance_controller", ARM, {"wrench_sensor": "none"}),
    ("ik_redundancy_solver", ARM, {"output": "trajectory"}),
    ("rns_vibration_controller", BOOM, {"task": "joint_path"}),
    ("rns_vibration_controller", BOOM, {"base_state_source": "flexible_state"}),
    ("reactionless_path_controller", BOOM, {"vibration_gain": 0.0, "momentum_gain": 0.0, "path_gain": 1.0}),
    ("flexible_dynamics_estimator", BOOM, {"use_wrench": True, "subtract_friction": True}),
    ("base_odometry", BOOM, {}),
    ("flexible_dynamics_estimator", BENDING, {"use_imu": True}),
    ("flexible_dynamics_estimator", BENDING, {"correct": False, "use_wrench": True}),
    ("flexible_dynamics_controller", BENDING, {"reference": "joint_trajectory"}),
    ("base_wrench_torque_estimator", ARM, {"control": False}),
    ("base_wrench_torque_estimator", BOOM, {"base_motion": "flexible_state"}),
    ("hardware_gate", BOOM, {"command_mode": "velocity", "base_state_source": "none"}),
    ("control_loop", BOOM, LOOP),
    ("control_loop", BENDING, BENT_LOOP),
    ("control_loop", BOOM, WHOLE_LOOP),
    ("control_loop", BOOM, {"stages": ["reactionless_path_controller", "hardware_gate"]}),
    ("state_markers", BOOM, {}),
    ("state_markers", BENDING, {}),
    ("simulated_plant", ARM, SURFACE),
    ("simulated_plant", BENDING, {"command_mode": "position", "segments": 4}),
]


@pytest.fixture(scope="module")
def context() -> Iterator[Context]:
    """ROS in this process, on a domain of its own."""
    with own_domain():
        rclpy.init(signal_handler_options=rclpy.SignalHandlerOptions.NO)
        yield rclpy.get_default_context()
        rclpy.try_shutdown()


def test_the_executables_are_the_nodes_of_the_suite():
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    lines = setup["options.entry_points"]["console_scripts"].split("\n")
    pairs = [[word.strip() for word in line.split("=")] for line in lines if "flexarm_nodes." in line]
    assert pairs == [[name, f"flexarm_nodes.start:{name}"] for name in NODES]


@pytest.mark.parametrize(("executable", "robot", "parameters"), CASES, ids=lambda case: getattr(case, "stem", None))
def test_a_node_has_the_topics_that_the_table_gives_it(context, executable, robot, parameters):
    text = load_robot_description(robot)
    node = node_maker(executable)()
    try:
        given = {"robot_description": text, **parameters}
        # as a parameter file would: settings of behaviors are declared when the node is configured
        node._parameter_overrides |= {name: Parameter(name, value=value) for name, value in given.items()}
        node.set_parameters([Parameter(name, value=value) for name, value in given.items() if node.has_parameter(name)])
        assert node.trigger_configure() is TransitionCallbackReturn.SUCCESS
        ports = node_ports(executable, parameters, parse_robot_description(text))
        assert ports is not None
        for real, table in ((node.subscriptions, ports.inputs), (node.publishers, ports.outputs)):
            there = {(port.topic_name.removeprefix("/"), port.msg_type.__name__) for port in real}
            told = {(full_name(port.topic, executable), port.kind): port for port in table}
            used = {
                name
                for name, port in told.items()
                if getattr(port, "use", None) is not Use.IGNORED and getattr(port, "role", None) is not Role.SILENT
            }
            assert used <= {(topic, kind) for topic, kind in there if topic not in COMMON} <= set(told)
    finally:
        node.destroy_node()


def test_every_node_of_the_suite_is_in_the_table_and_among_the_cases():
    arm = parse_robot_description(load_robot_description(ARM))
    for executable in NODES:
        assert node_ports(executable, {}, arm) is not None, f"{executable}: put it into registry.py"
        assert any(executable == case for case, *_ in CASES)
