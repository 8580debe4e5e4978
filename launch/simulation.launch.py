"""An arm in flexarm's own simulation: the plant, a chain of stages, and RViz where it is wanted.

`ros2 launch flexarm simulation.launch.py scenario:=my_scenario.yaml`, or a robot and its stages by name:
`robot:=arm_7r stages:="reference_generator rns_vibration_controller hardware_gate" parameters_file:=mine.yaml`.
"""

from pathlib import Path

from launch.actions import DeclareLaunchArgument, GroupAction, IncludeLaunchDescription
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration

from launch import LaunchDescription

HERE = Path(__file__).absolute().parent


def generate_launch_description() -> LaunchDescription:
    """Plant and stages, and what shows them."""
    shown = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(HERE / "visualize.launch.py")),
        launch_arguments={"use_sim_time": "true"}.items(),
    )
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "mode",
                default_value="",
                choices=["", "lockstep", "real_time"],
                description="lockstep: the plant waits for each command; empty: the scenario's, or real_time",
            ),
            DeclareLaunchArgument(
                "duration", default_value="0", description="of the simulation [s]; 0: the scenario's, or without end"
            ),
            DeclareLaunchArgument(
                "rviz",
                default_value="false",
                choices=["true", "false"],
                description="start robot_state_publisher and RViz too",
            ),
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(str(HERE / "stages.launch.py")),
                launch_arguments={"plant": "true", "use_sim_time": "true", "controller_manager": ""}.items(),
            ),
            GroupAction([shown], condition=IfCondition(LaunchConfiguration("rviz"))),
        ]
    )
