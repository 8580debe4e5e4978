"""What shows an arm: robot_state_publisher, state_markers, and RViz with flexarm's displays. Nothing here moves it."""

from pathlib import Path

from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from flexarm_tools.run.launch_request import LaunchRequest, requested_robot
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

SHARE = Path(__file__).absolute().parents[1]
RESPAWN_DELAY = 2.0  # [s]


def generate_launch_description() -> LaunchDescription:
    """Arguments, and what they ask for."""
    return LaunchDescription(
        [
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
                "use_sim_time", default_value="false", choices=["true", "false"], description="time comes from /clock"
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
            OpaqueFunction(function=show),
        ]
    )


def show(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Nodes that only look are started again when they end: nothing depends on them."""
    said = {name: LaunchConfiguration(name).perform(context) for name in ("scenario", "robot", "robot_arguments")}
    robot = requested_robot(LaunchRequest(**said))
    text = robot.description.text
    if given := context.launch_configurations.get("gazebo_description"):
        text = Path(given).read_text(encoding="utf-8")  # with the start that gz_ros2_control is to read
    clock = {"use_sim_time": LaunchConfiguration("use_sim_time").perform(context) == "true"}
    return [
        Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            parameters=[clock, {"robot_description": ParameterValue(text, value_type=str)}],
            output="both",
            respawn=True,
            respawn_delay=RESPAWN_DELAY,
        ),
        Node(
            package="flexarm",
            executable="state_markers",
            parameters=[
                clock,
                {
                    "robot_description": ParameterValue(text, value_type=str),
                    "tool_frame": robot.tool_frame,
                    "exaggeration": ParameterValue(LaunchConfiguration("exaggeration"), value_type=float),
                    "autostart": True,
                },
            ],
            output="both",
            respawn=True,
            respawn_delay=RESPAWN_DELAY,
        ),
        Node(
            package="joint_state_publisher_gui",
            executable="joint_state_publisher_gui",
            condition=IfCondition(LaunchConfiguration("sliders")),
        ),
        Node(
            package="rviz2",
            executable="rviz2",
            arguments=["-d", LaunchConfiguration("rviz_config"), "-f", robot.description.root],
            parameters=[clock],
            output="log",
            condition=IfCondition(LaunchConfiguration("rviz")),
        ),
    ]
