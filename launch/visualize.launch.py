"""What shows an arm: robot_state_publisher, state_markers, and RViz with flexarm's displays. Nothing here moves it."""

import shutil
import tempfile
from pathlib import Path

import yaml
from launch.actions import DeclareLaunchArgument, RegisterEventHandler
from launch.event_handlers import OnShutdown
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from flexarm_nodes.node.topics import CLOCK
from flexarm_tools.run.launch_request import LaunchRequest, requested_robot
from flexarm_tools.run.launch_scope import AUTO, LaunchScope, scoped_description
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

SHARE = Path(__file__).absolute().parents[1]
RESPAWN_DELAY = 2.0  # [s]
TF_RATE = 60.0  # [Hz] RViz draws 30 pictures a second; robot_state_publisher's default of 20 Hz is choppy


def generate_launch_description() -> LaunchDescription:
    """Arguments, and what they ask for."""
    return scoped_description(_arguments(), show)


def show(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Nodes that only look are started again when they end: nothing depends on them."""
    said = {argument.name: context.launch_configurations[argument.name] for argument in _arguments()}
    robot = requested_robot(LaunchRequest(**{name: said[name] for name in ("scenario", "robot", "robot_arguments")}))
    text = robot.description.text
    if said["gazebo_description"]:  # with the start that gz_ros2_control is to read
        text = Path(said["gazebo_description"]).read_text(encoding="utf-8")
    prefix = LaunchScope(context).frame_prefix(said["frame_prefix"])
    described = {
        "robot_description": ParameterValue(text, value_type=str),
        "frame_prefix": ParameterValue(prefix, value_type=str),
    }
    tf = {"publish_frequency": TF_RATE}
    clock = {"use_sim_time": said["use_sim_time"] == "true"}
    remappings = [(CLOCK, CLOCK.lstrip("/"))] if said["own_clock"] == "true" else []
    kept = {"output": "both", "respawn": True, "respawn_delay": RESPAWN_DELAY, "remappings": remappings}
    shown: list[LaunchDescriptionEntity] = [
        Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            parameters=[clock, described, tf],
            **kept,
        ),
        Node(
            package="flexarm",
            executable="state_markers",
            parameters=[
                clock,
                described,
                {"tool_frame": robot.tool_frame, "exaggeration": float(said["exaggeration"]), "autostart": True},
            ],
            **kept,
        ),
    ]
    if said["sliders"] == "true":
        shown.append(Node(package="joint_state_publisher_gui", executable="joint_state_publisher_gui"))
    if said["rviz"] == "true":
        config, ended = _config(Path(said["rviz_config"]), prefix)
        rviz = Node(
            package="rviz2",
            executable="rviz2",
            arguments=["-d", str(config), "-f", prefix + robot.description.root],
            parameters=[clock],
            remappings=remappings,
            output="log",
        )
        shown += [rviz, *ended]
    return shown


def _config(path: Path, prefix: str) -> tuple[Path, list[LaunchDescriptionEntity]]:
    """The displays, with the prefix of the frames where a robot model has none, and what removes this copy."""
    if not prefix:
        return path, []
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    for display in content["Visualization Manager"]["Displays"]:
        if display["Class"] == "rviz_default_plugins/RobotModel" and not display.get("TF Prefix"):
            display["TF Prefix"] = prefix.rstrip("/")
    folder = Path(tempfile.mkdtemp(prefix="flexarm-launch-"))
    target = folder / path.name
    target.write_text(yaml.safe_dump(content), encoding="utf-8")
    return target, [RegisterEventHandler(OnShutdown(on_shutdown=lambda *_: shutil.rmtree(folder, ignore_errors=True)))]


def _arguments() -> list[DeclareLaunchArgument]:
    return [
        DeclareLaunchArgument("scenario", default_value="", description="scenario file of the robot that is shown"),
        DeclareLaunchArgument(
            "robot",
            default_value="",
            description="without a scenario: a robot of flexarm by name, a URDF or xacro file, or package://PACKAGE/PATH",
        ),
        DeclareLaunchArgument(
            "robot_arguments", default_value="", description="xacro arguments, NAME:=VALUE with spaces between"
        ),
        DeclareLaunchArgument(
            "use_sim_time", default_value="false", choices=["true", "false"], description="time comes from the clock"
        ),
        DeclareLaunchArgument(
            "rviz_config",
            default_value=str(SHARE / "config" / "rviz" / "flexarm.rviz"),
            description="displays of RViz",
        ),
        DeclareLaunchArgument(
            "sliders",
            default_value="false",
            choices=["true", "false"],
            description="joint_state_publisher_gui: move the picture by hand, where nothing else runs",
        ),
        DeclareLaunchArgument(
            "rviz", default_value="true", choices=["true", "false"], description="false: only what RViz listens to"
        ),
        DeclareLaunchArgument(
            "exaggeration", default_value="10.0", description="times that deflection is drawn as large in RViz"
        ),
        DeclareLaunchArgument(
            "own_clock",
            default_value="false",
            choices=["true", "false"],
            description="the clock is 'clock' in the namespace, that of a simulated plant; false: /clock",
        ),
        DeclareLaunchArgument(
            "frame_prefix",
            default_value=AUTO,
            description="in front of the names of links in headers and TF; auto: the namespace, as 'left/'",
        ),
        DeclareLaunchArgument(
            "gazebo_description",
            default_value="",
            description="URDF file that is published in place of the robot's, as gazebo.launch.py writes it",
        ),
    ]
