"""Arms in namespaces under the real launch and launch_ros; skipped, visibly, where those are not installed."""

from __future__ import annotations

import os
import re
import shlex
import signal
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from geometry_msgs.msg import PoseStamped, WrenchStamped
from launched import FILES, PATIENCE, ROOT
from live import LiveGraph
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from flexarm.msg import SimulationStatus
from flexarm_nodes.messages.conversions import stamp_to_nanoseconds

pytest.importorskip("launch_ros", reason="launch_ros is not installed (it is not on PyPI)")

from launch.launch_description_sources import PythonLaunchDescriptionSource

from launch import LaunchContext

PAGE = (ROOT / "docs" / "launch.md").read_text(encoding="utf-8")
GLOBAL = {"/diagnostics", "/parameter_events", "/rosout"}
ENDS = {"left": (3.0, 250.0), "right": (2.0, 500.0)}  # [s], [Hz]
BRINGUP = """
from launch import LaunchDescription
from launch.actions import GroupAction, IncludeLaunchDescription, SetLaunchConfiguration
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import PushRosNamespace


def arm(namespace):
    source = PythonLaunchDescriptionSource("ROOT/launch/bringup.launch.py")
    given = {"scenario": "ROOT/config/planar_3r/scenarios/real_time.yaml", "rviz": "true", "robot_arguments": ""}
    given |= {"controllers_file": "ROOT/config/planar_3r/controllers.yaml", "parameters_file": "PARAMETERS"}
    others = {"plant": "true", "mode": "fast", "duration": "x"}  # of the user
    own = [SetLaunchConfiguration(name, value) for name, value in others.items()]
    included = IncludeLaunchDescription(source, launch_arguments=given.items())
    return GroupAction([PushRosNamespace(namespace), *own, included])


def generate_launch_description():
    return LaunchDescription([arm("left"), arm("right")])
"""


@pytest.fixture
def block(tmp_path) -> Callable[[str], Path]:
    """A launch file of the page, whose first line is a comment with its name."""

    def write(name: str) -> Path:
        (text,) = re.findall(rf"```python\n(# {re.escape(name)}\n.*?)```", PAGE, re.DOTALL)
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        return file

    return write


def ended(graph: LiveGraph, namespace: str) -> bool:
    duration, rate = ENDS[namespace]
    return any(status.tick + 1 == duration * rate for status in graph.received[f"{namespace}/simulation_status"])


def stamps(messages: list[Any]) -> list[int]:
    return [stamp_to_nanoseconds(message.header.stamp) for message in messages]


def test_two_arms_of_the_page_run_to_their_ends_and_neither_hears_the_other(launch, graph, block):
    for namespace in ENDS:
        graph.listen(f"{namespace}/joint_states", JointState)
        graph.listen(f"{namespace}/simulation_status", SimulationStatus)
        graph.listen(f"{namespace}/clock", Clock)
        graph.listen(f"{namespace}/base_wrench", WrenchStamped)
        graph.listen(f"{namespace}/ground_truth/tool_pose", PoseStamped)
    run = launch(block("two_arms.launch.py"))
    graph.until(lambda: run.runs and all(map(lambda one: ended(graph, one), ENDS)), "the end of both", PATIENCE)
    found = graph.node.get_topic_names_and_types()
    assert {topic for topic, _ in found if not topic.startswith(("/left/", "/right/"))} == GLOBAL
    assert run.interrupt() == 0
    for namespace, joints in (("left", {"base_x", "joint1"}), ("right", {"shoulder_yaw", "tool_roll"})):
        states = graph.received[f"{namespace}/joint_states"]
        assert all(joints <= set(state.name) for state in states)
        assert stamps(states) == sorted(stamps(states))  # of one clock; a state that waits for its answer is repeated
        duration, rate = ENDS[namespace]
        last = graph.received[f"{namespace}/simulation_status"][-1]
        assert last.tick + 1 == duration * rate  # each tick was answered, once
        assert (last.lockstep_timeouts, last.refused_commands, last.missed_commands) == (0, 0, 0)
        assert (
            max(abs(last - first) for first, last in zip(states[0].position, states[-1].position, strict=True)) > 0.02
        )
        frame = graph.received[f"{namespace}/ground_truth/tool_pose"][-1].header.frame_id
        assert frame == f"{namespace}/world"
        assert graph.received[f"{namespace}/base_wrench"][-1].header.frame_id.startswith(f"{namespace}/")
        times = [message.clock.sec + message.clock.nanosec * 1e-9 for message in graph.received[f"{namespace}/clock"]]
        assert times == sorted(times) and duration - 0.02 < times[-1] <= duration
    names = {status.name for array in graph.received["/diagnostics"] for status in array.status}
    assert {f"{one}/{node}" for one in ENDS for node in ("simulated_plant", "hardware_gate")} <= names
    said = run.said
    assert said.count("process has finished cleanly") == 8
    assert not any(word in said for word in ("[WARN]", "[ERROR]", "Traceback")), said


def test_a_launch_file_of_the_user_has_its_own_arguments_and_remappings(launch, graph, block):
    graph.listen("/floor/wrench", WrenchStamped)
    graph.listen("/cell/arm/joint_states", JointState)
    run = launch(block("cell.launch.py"))
    graph.wait_for_diagnostic("cell/hardware_gate", "running")
    graph.until(lambda: len(graph.received["/floor/wrench"]) > 10, "the remapped wrench")
    assert len(graph.received["/cell/arm/joint_states"]) > 10
    topics = {topic for topic, _ in graph.node.get_topic_names_and_types()}
    assert not {"/joint_states", "/cell/joint_states", "/base_wrench", "/cell/base_wrench"} & topics
    assert run.interrupt() == 0, run.said


def called(said: str, name: str, namespace: str = "") -> list[list[str]]:
    """Command lines of a stand-in, of those in a namespace."""
    lines = [shlex.split(line.partition("STUB ")[2]) for line in said.splitlines() if f"STUB {name} " in line]
    return [line for line in lines if any(word.startswith(f"__ns:=/{namespace}") for word in line)]


def parameter_files(line: list[str]) -> dict[str, Any]:
    """Contents of the parameter files of a command line, by node name."""
    files = [Path(after) for word, after in pairwise(line) if word in ("--params-file", "--param-file")]
    content: dict[str, Any] = {}
    for file in files:
        for name, value in yaml.safe_load(file.read_text()).items():
            content.setdefault(name, {}).update(value["ros__parameters"])
    return content


def test_two_arms_under_ros2_control_have_controller_managers_controllers_and_frames_of_their_own(
    launch, graph, stubs, tmp_path
):
    parameters = tmp_path / "parameters.yaml"
    parameters.write_text("/left/hardware_gate: {ros__parameters: {max_acceleration: [3.0]}}")
    file = tmp_path / "two.launch.py"
    file.write_text(BRINGUP.replace("ROOT", str(ROOT)).replace("PARAMETERS", str(parameters)))
    run = launch(file, prefix=stubs)
    run.wait_for(lambda: run.said.count("all stages are active") == 2)
    logged = "".join(file.read_text() for file in tmp_path.glob("ros/**/*.log"))
    assert "simulated_plant" not in run.said  # arguments of the user with such names mean nothing here
    for namespace in ("left", "right"):
        spawned = called(run.said, "spawner", namespace)
        assert [line[line.index("-c") + 1] for line in spawned] == [f"/{namespace}/controller_manager"] * 3
        assert ["--inactive" in line for line in spawned] == [False, True, False]
        (manager,) = called(run.said, "ros2_control_node", namespace)
        for line in (*spawned, manager):
            content = parameter_files(line)
            assert "/**/controller_manager" in content and all(name.startswith("/**") for name in content)
            assert content["/**/base_ft_sensor_broadcaster"]["frame_id"] == f"{namespace}/base_ft"
        (publisher,) = called(run.said, "robot_state_publisher", namespace)
        assert parameter_files(publisher)["/**"]["frame_prefix"] == f"{namespace}/"
        rviz, *_ = called(logged, "rviz2", namespace)
        assert rviz[rviz.index("-f") + 1] == f"{namespace}/world"
        displays = yaml.safe_load(Path(rviz[rviz.index("-d") + 1]).read_text())["Visualization Manager"]["Displays"]
        assert [one["TF Prefix"] for one in displays if one["Class"].endswith("/RobotModel")] == [namespace]
    gates = {}
    for namespace in ("left", "right"):
        graph.graph.wait_for_node(f"/{namespace}/hardware_gate", PATIENCE)
        gates[namespace] = values_of(graph, f"/{namespace}/hardware_gate", ["controller_manager", "max_acceleration"])
    assert gates["left"] == ["/left/controller_manager", [3.0]]
    assert gates["right"][0] == "/right/controller_manager" and gates["right"][1] != [3.0]
    os.kill(run.pid("hardware_gate"), signal.SIGKILL)
    assert run.ended() == 1
    (unspawner,) = (
        shlex.split(line.partition("STUB ")[2]) for line in run.said.splitlines() if "STUB unspawner" in line
    )
    (namespace,) = (word.partition("__ns:=/")[2] for word in unspawner if word.startswith("__ns:="))
    assert unspawner[unspawner.index("-c") + 1] == f"/{namespace}/controller_manager"


def test_the_simulated_plant_behind_ros2_control_and_its_clock_are_in_the_namespace(launch, graph, stubs, tmp_path):
    graph.listen("/left/plant/joint_states", JointState)
    file = tmp_path / "one.launch.py"
    one = BRINGUP.replace(', arm("right")', "").replace('"rviz": "true"', '"rviz": "false", "hardware": "topic"')
    file.write_text(one.replace("ROOT", str(ROOT)).replace("PARAMETERS", ""))
    run = launch(file, prefix=stubs)
    run.wait_until_it_says("all stages are active")
    graph.until(lambda: graph.received["/left/plant/joint_states"], "states of the plant")
    (manager,) = called(run.said, "ros2_control_node", "left")
    assert "/clock:=clock" in manager and parameter_files(manager)["/**"]["use_sim_time"] is True
    assert graph.node.count_publishers("/left/clock") == 1 and graph.node.count_subscribers("/left/clock") > 0
    assert graph.node.count_publishers("/clock") == graph.node.count_subscribers("/clock") == 0
    assert graph.node.count_subscribers("/left/plant/joint_commands") == 1
    assert run.interrupt() == 0


def test_an_arm_in_gazebo_has_a_model_sensors_frames_and_controllers_of_its_namespace(
    launch, graph, stubs, gz, tmp_path
):
    gz("ground", "left_arm_7r", "left_surroundings")
    controllers = tmp_path / "controllers.yaml"
    own = (ROOT / "config/arm_7r/controllers.yaml").read_text()
    controllers.write_text(own.replace("/**/", ""))  # as of the user: names that hold in the root namespace only
    file = tmp_path / "gazebo.launch.py"
    given = {"scenario": "ROOT/config/arm_7r/scenarios/behaviors.yaml", "controllers_file": str(controllers)}
    given["gravity"] = "0 0 -1.62"
    included = re.sub(r"given = .*\n.*given \|= .*", f"given = {given}", BRINGUP).replace(', arm("right")', "")
    file.write_text(included.replace("bringup.launch.py", "gazebo.launch.py").replace("ROOT", str(ROOT)))
    run = launch(file, prefix=stubs)
    run.wait_until_it_says("forward_position_controller is inactive until the gate takes it")
    run.wait_until_it_says("all stages are active")
    (world,) = (line.split()[-1] for line in run.said.splitlines() if "STUB gz sim" in line)
    assert ElementTree.parse(world).findtext("world/gravity").split() == ["0.0", "0.0", "-1.62"]
    created = {line[line.index("-name") + 1]: line for line in called(run.said, "create", "left")}
    assert set(created) == {"left_arm_7r", "left_surroundings"}
    of_arm = created["left_arm_7r"]
    (model,) = ElementTree.parse(of_arm[of_arm.index("-file") + 1]).getroot()
    assert model.get("name") == "left_arm_7r"
    sensors = {sensor.findtext("topic"): sensor.findtext("gz_frame_id") for sensor in model.iter("sensor")}
    assert sensors["left/base_wrench"] == "left/base_link" and all(name.startswith("left/") for name in sensors)
    assert all(frame.startswith("left/") for frame in sensors.values())
    (plugin,) = (tag for tag in model.iter("plugin") if "gz_ros2_control" in tag.get("filename"))
    assert plugin.findtext("ros/namespace") == "/left"
    (bridge,) = called(run.said, "parameter_bridge", "left")
    bridged = {word.partition("@")[0] for word in bridge if "@" in word}
    assert bridged == {f"/{topic}" for topic in sensors}  # the clock comes from a system in Gazebo, at the control rate
    spawned = called(run.said, "spawner", "left")
    assert [line[line.index("-c") + 1] for line in spawned] == ["/left/controller_manager"] * len(spawned)
    assert "forward_position_controller" in spawned[-1] and "--inactive" in spawned[-1]
    of_gazebo, of_manager = (yaml.safe_load(Path(tag.text).read_text()) for tag in plugin.findall("parameters"))
    assert of_manager["/left/controller_manager"]["ros__parameters"] == {"update_rate": 500, "use_sim_time": True}
    wanted = yaml.safe_load(controllers.read_text())
    assert {f"/**/{name}" for name in wanted} == set(of_gazebo) == set(parameter_files(spawned[0])) - {"/**"}
    assert of_gazebo["/**/base_ft_sensor_broadcaster"]["ros__parameters"]["frame_id"] == "left/base_link"
    assert parameter_files(spawned[0])["/**/base_ft_sensor_broadcaster"]["frame_id"] == "left/base_link"
    (publisher,) = called(run.said, "robot_state_publisher", "left")
    described = parameter_files(publisher)["/**"]
    assert described["frame_prefix"] == "left/" and "initial_value" in described["robot_description"]
    assert described["use_sim_time"] is True and "/clock:=clock" not in publisher
    assert run.interrupt() == 0, run.said
    assert not Path(plugin.findtext("parameters")).exists()


@pytest.mark.parametrize(
    "file",
    ["simulation.launch.py", "bringup.launch.py", "stages.launch.py", "visualize.launch.py", "gazebo.launch.py"],
)
def test_arguments_do_not_remain_for_what_is_included_next(file, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")
    context = LaunchContext()
    given = {"scenario": "scenarios/real_time.yaml", "controllers_file": "controllers.yaml"}
    context.launch_configurations.update({name: f"{ROOT}/config/planar_3r/{path}" for name, path in given.items()})
    context.launch_configurations["of_the_user"] = "x"
    before = dict(context.launch_configurations)
    description = PythonLaunchDescriptionSource(str(FILES[file])).get_launch_description(context)
    for entity in description.entities:
        entity.visit(context)
    assert context.launch_configurations == before


def values_of(graph: LiveGraph, node: str, names: list[str]) -> list[Any]:
    """Values of parameters of a node."""
    from rcl_interfaces.srv import GetParameters
    from rclpy.parameter import parameter_value_to_python

    client = graph.node.create_client(GetParameters, f"{node}/get_parameters")
    graph.until(client.service_is_ready, f"parameters of {node}")
    future = client.call_async(GetParameters.Request(names=names))
    graph.until(future.done, f"parameters of {node}")
    values = [parameter_value_to_python(value) for value in future.result().values]
    return [list(value) if not isinstance(value, str) else value for value in values]
