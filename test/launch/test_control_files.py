"""Files that others read: backends of the ros2_control macro, controllers of every robot, displays of RViz."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import yaml

from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_nodes.node import topics

ROOT = Path(__file__).resolve().parents[2]
ROBOTS = sorted(path.name.removesuffix(".urdf.xacro") for path in (ROOT / "urdf").glob("*.urdf.xacro"))
PLUGINS = {
    "mock": "mock_components/GenericSystem",
    "gazebo": "gz_ros2_control/GazeboSimSystem",
    "mujoco": "mujoco_ros2_control/MujocoSystemInterface",
    "topic": "joint_state_topic_hardware_interface/JointStateTopicSystem",
    "my_driver/Arm": "my_driver/Arm",
}
XYZ = ("x", "y", "z")
INTERFACES = {
    f"{kind}.{axis}" for kind in ("force", "torque", "angular_velocity", "linear_acceleration") for axis in XYZ
}
INTERFACES |= {f"orientation.{axis}" for axis in (*XYZ, "w")}


def control(robot: str, **arguments: str) -> ElementTree.Element:
    """Tag ``<ros2_control>`` of a robot."""
    text = load_robot_description(ROOT / "urdf" / f"{robot}.urdf.xacro", arguments)
    return ElementTree.fromstring(text).find("ros2_control")


def hardware_parameters(tag: ElementTree.Element) -> dict[str, str]:
    return {param.get("name"): param.text for param in tag.iterfind("hardware/param")}


@pytest.mark.parametrize(
    ("robot", "hardware"),
    [*((robot, "my_driver/Arm") for robot in ROBOTS), *(("boom_7r", name) for name in PLUGINS if "/" not in name)],
)
def test_every_robot_takes_every_backend_and_stays_the_same_arm(robot, hardware):
    text = load_robot_description(ROOT / "urdf" / f"{robot}.urdf.xacro", {"hardware": hardware})
    assert ElementTree.fromstring(text).findtext("ros2_control/hardware/plugin") == PLUGINS[hardware]
    usual = parse_robot_description(load_robot_description(ROOT / "urdf" / f"{robot}.urdf.xacro"))
    here = parse_robot_description(text)
    assert (here.actuated, here.elastic, here.imus) == (usual.actuated, usual.elastic, usual.imus)


@pytest.mark.parametrize(("hardware", "there"), [(name, name != "my_driver/Arm") for name in PLUGINS])
def test_elastic_joints_are_state_only_in_a_simulation_and_unknown_to_a_driver(hardware, there):
    tags = {joint.get("name"): joint for joint in control("planar_3r", hardware=hardware).findall("joint")}
    assert ("base_x" in tags) is there
    if there:
        assert tags["base_x"].find("command_interface") is None
    asked = control("planar_3r", hardware=hardware, elastic_joint_states=str(not there).lower())
    assert ("base_x" in [joint.get("name") for joint in asked.findall("joint")]) is not there


def test_a_driver_gets_its_parameters_as_text_or_from_a_file(tmp_path):
    file = tmp_path / "driver.yaml"
    file.write_text("robot_ip: 10.0.0.2\nport: 30001\n")
    wanted = {"robot_ip": "10.0.0.2", "port": "30001"}
    for given in ("robot_ip=10.0.0.2; port=30001", str(file)):
        assert hardware_parameters(control("arm_7r", hardware="d/Arm", hardware_parameters=given)) == wanted


def test_the_mock_takes_effort_controllers_unless_it_is_to_move_joints_by_itself():
    assert hardware_parameters(control("arm_7r"))["calculate_dynamics"] == "false"
    assert hardware_parameters(control("arm_7r", calculate_dynamics="true"))["calculate_dynamics"] == "true"


@pytest.mark.parametrize("hardware", ["mock", "my_driver/Arm"])
def test_sensors_of_the_mock_begin_at_zero_and_those_of_an_arm_at_what_it_measures(hardware):
    for sensor in control("boom_7r", hardware=hardware).findall("sensor"):
        values = {one.get("name"): one.findtext("param[@name='initial_value']") for one in sensor}
        values = {name: value for name, value in values.items() if name in INTERFACES}
        upright = {"orientation.w": "1"}
        assert values and values == {name: (upright.get(name, "0") if hardware == "mock" else None) for name in values}


def test_the_topic_backend_does_not_listen_to_its_own_broadcaster():
    parameters = hardware_parameters(control("arm_7r", hardware="topic"))
    assert parameters["joint_states_topic"] == "plant/joint_states"  # in the namespace, and not joint_states
    assert parameters["trigger_joint_command_threshold"] == "-1"


def test_gazebo_is_the_controller_manager_and_nothing_else_is_added_elsewhere():
    for hardware in PLUGINS:
        path = ROOT / "urdf" / "arm_7r.urdf.xacro"
        text = load_robot_description(path, {"hardware": hardware, "controllers_file": "/c.yaml"})
        plugin = ElementTree.fromstring(text).find("gazebo/plugin")
        assert (plugin is not None) is (hardware == "gazebo")
        if plugin is not None:
            assert plugin.get("name") == "gz_ros2_control::GazeboSimROS2ControlPlugin"
            assert plugin.findtext("parameters") == "/c.yaml" and plugin.find("ros") is None
            left = load_robot_description(path, {"hardware": hardware, "namespace": "/left"})
            assert ElementTree.fromstring(left).findtext("gazebo/plugin/ros/namespace") == "/left"


@pytest.mark.parametrize("robot", ROBOTS)
def test_controllers_command_the_joints_of_the_robot_in_its_order_and_broadcast_its_sensors(robot):
    description = parse_robot_description(load_robot_description(ROOT / "urdf" / f"{robot}.urdf.xacro"))
    text = (ROOT / "config" / robot / "controllers.yaml").read_text()
    assert all(name.startswith("/**/") for name in yaml.safe_load(text))  # in whatever namespace
    content = {name.removeprefix("/**/"): value for name, value in yaml.safe_load(text).items()}
    manager = content["controller_manager"]["ros__parameters"]
    for mode in ("effort", "velocity", "position"):
        assert topics.command_topic(mode) == f"forward_{mode}_controller/commands"
        parameters = content[f"forward_{mode}_controller"]["ros__parameters"]
        assert parameters == {"joints": list(description.actuated), "interface_name": mode}
    assert content["joint_trajectory_controller"]["ros__parameters"]["joints"] == list(description.actuated)
    sensors = description.force_torque_sensors | description.imus
    broadcasters = {name for name in manager if name.endswith("_broadcaster")} - {"joint_state_broadcaster"}
    assert broadcasters == {f"{name}_broadcaster" for name in sensors}
    for name, sensor in sensors.items():
        assert content[f"{name}_broadcaster"]["ros__parameters"] == {"sensor_name": name, "frame_id": sensor.frame}
        wrench = name in description.force_torque_sensors
        rule = f"~/wrench:={topics.wrench_topic(name)}" if wrench else f"~/imu:={topics.imu_topic(name)}"
        assert manager[f"{name}_broadcaster"]["node_options_args"] == ["--ros-args", "-r", rule]
    assert set(content) - {"controller_manager"} <= set(manager)


def test_rviz_shows_topics_that_are_published_with_a_quality_that_fits():
    shown = yaml.safe_load((ROOT / "config/rviz/flexarm.rviz").read_text())["Visualization Manager"]["Displays"]
    by_topic = {}
    for display in shown:
        topic = display.get("Topic") or display.get("Description Topic")
        if topic:
            by_topic[topic["Value"]] = topic["Durability Policy"]
    nodes = {"behavior_impedance_controller", "rns_vibration_controller", "reactionless_path_controller"}
    nodes |= {"base_wrench_torque_estimator", "state_markers"}
    assert {f"{name}/markers" for name in nodes} <= set(by_topic)
    latched = {topic for topic, durability in by_topic.items() if durability == "Transient Local"}
    assert latched == {
        "robot_description",
        "rns_vibration_controller/markers",
        "reactionless_path_controller/markers",
    }
    assert {"base_wrench", "tool_wrench"} <= set(by_topic)
    assert not any(topic.startswith("/") for topic in by_topic)  # those of the namespace


def test_launch_files_have_names_that_are_unique_in_the_whole_share_folder():
    found = [path.name for folder in ("launch", "config", "urdf") for path in (ROOT / folder).rglob("*.launch.*")]
    assert len(found) == len(set(found))
