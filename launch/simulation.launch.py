"""An arm in flexarm's own simulation: the plant, a chain of stages, and RViz where it is wanted.

`ros2 launch flexarm simulation.launch.py scenario:=my_scenario.yaml`, or a robot and its stages by name:
`robot:=arm_7r stages:="reference_generator rns_vibration_controller hardware_gate" parameters_file:=mine.yaml`.
In a namespace each arm has a clock of its own, `clock` in that namespace.
"""

from pathlib import Path

from launch.actions import DeclareLaunchArgument

from flexarm_tools.run.launch_scope import arguments_of, included, scoped_description
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

HERE = Path(__file__).absolute().parent
STAGES, VISUALIZE = HERE / "stages.launch.py", HERE / "visualize.launch.py"
GIVEN = {
    "plant": "true",
    "use_sim_time": "true",
    "own_clock": "true",
    "controller_manager": "",
    "gazebo_description": "",
}


def generate_launch_description() -> LaunchDescription:
    """Plant and stages, and what shows them."""
    return scoped_description(_arguments(), start_simulation)


def start_simulation(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Include what was asked for, with what was said."""
    said = {argument.name: context.launch_configurations[argument.name] for argument in _arguments()} | GIVEN
    shown = [included(VISUALIZE, said)] if said["rviz"] == "true" else []
    return [included(STAGES, said), *shown]


def _arguments() -> list[DeclareLaunchArgument]:
    rviz = DeclareLaunchArgument(
        "rviz",
        default_value="false",
        choices=["true", "false"],
        description="start robot_state_publisher and RViz too",
    )
    stages = arguments_of(STAGES, *GIVEN)
    return [rviz, *stages, *arguments_of(VISUALIZE, *GIVEN, "rviz", *(argument.name for argument in stages))]
