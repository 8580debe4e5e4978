"""An arm in Gazebo under gz_ros2_control, with the same controllers and stages as on the real one.

`ros2 launch flexarm gazebo.launch.py robot:=boom_7r stages:="..." parameters_file:=mine.yaml`. Gazebo gets a model of
its own, with springs, sensors and links that bend, in the start and among the surfaces of the scenario
(docs/gazebo.md).
"""

import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit, OnShutdown
from launch.events.process import ProcessExited
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from flexarm_nodes.node.topics import imu_topic, wrench_topic
from flexarm_nodes.node.transport import avoid_shared_memory
from flexarm_tools.gazebo.files import write_gazebo_files
from flexarm_tools.graph.graph import GraphError
from flexarm_tools.run.launch_request import LaunchRequest, own_controllers_file, requested_scenario
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

HERE = Path(__file__).absolute().parent
WORLD = HERE.parent / "config" / "gazebo" / "flexarm.sdf"


def generate_launch_description() -> LaunchDescription:
    """Gazebo, the robot in it, the bridge, and what bringup.launch.py starts."""
    return LaunchDescription(
        [
            DeclareLaunchArgument("world", default_value=str(WORLD), description="SDF file of the world"),
            DeclareLaunchArgument(
                "headless", default_value="false", choices=["true", "false"], description="Gazebo without a window"
            ),
            *_arguments_of("bringup.launch.py"),
            OpaqueFunction(function=start_gazebo),
        ]
    )


def start_gazebo(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """The controller manager lives in Gazebo and begins with the robot: spawners wait for it."""
    avoid_shared_memory()
    said = context.launch_configurations
    said.update({"hardware": "gazebo", "start_controller_manager": "false", "use_sim_time": "true"})
    asked = ("scenario", "robot", "robot_arguments", "stages", "parameters_file", "rate")
    path = requested_scenario(LaunchRequest(**{name: said.get(name, "") for name in asked})).robot.path
    said["controllers_file"] = said["controllers_file"] or str(own_controllers_file(path))
    if path.suffix == ".xacro":
        given = f"hardware:=gazebo controllers_file:={said['controllers_file']}"
        said["robot_arguments"] = f"{given} {said.get('robot_arguments', '')}".strip()
    scenario = requested_scenario(LaunchRequest(**{name: said.get(name, "") for name in asked}))
    folder, world = Path(tempfile.mkdtemp(prefix="flexarm-gazebo-")), Path(said["world"])
    files = write_gazebo_files(scenario, world, world != WORLD, said["controllers_file"], folder)
    said["gazebo_description"] = str(files.description)
    robot = scenario.robot.description
    bridged = [
        "/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock",
        *(
            f"/{wrench_topic(name)}@geometry_msgs/msg/WrenchStamped[gz.msgs.Wrench"
            for name in robot.force_torque_sensors
        ),
        *(f"/{imu_topic(name)}@sensor_msgs/msg/Imu[gz.msgs.IMU" for name in robot.imus),
    ]
    simulator = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(
            PathJoinSubstitution([FindPackageShare("ros_gz_sim"), "launch", "gz_sim.launch.py"])
        ),
        launch_arguments={
            "gz_args": ["-r -s " if said["headless"] == "true" else "-r ", str(files.world)],
            "on_exit_shutdown": "true",
        }.items(),
    )

    return [
        simulator,
        Node(package="ros_gz_bridge", executable="parameter_bridge", arguments=bridged, output="both"),
        *(entity for name, file in files.models.items() for entity in _put_in(name, file)),
        RegisterEventHandler(OnShutdown(on_shutdown=lambda *_: shutil.rmtree(folder, ignore_errors=True))),
        IncludeLaunchDescription(PythonLaunchDescriptionSource(str(HERE / "bringup.launch.py"))),
    ]


def _put_in(name: str, file: Path) -> list[LaunchDescriptionEntity]:
    """Put a model into Gazebo, and look whether it arrived: `create` succeeds before Gazebo has read the model."""
    create = Node(
        package="ros_gz_sim",
        executable="create",
        arguments=["-file", str(file), "-name", name, "-allow_renaming", "false"],
        output="both",
    )
    look = ExecuteProcess(cmd=[sys.executable, "-m", "flexarm_tools.gazebo.arrival", name], output="both")

    def ended(
        event: ProcessExited, context: LaunchContext, then: list[LaunchDescriptionEntity]
    ) -> list[LaunchDescriptionEntity]:
        if event.returncode == 0 or context.is_shutdown:
            return [] if context.is_shutdown else then
        return [OpaqueFunction(function=_end_all, args=[f"'{name}' could not be put into Gazebo: see above"])]

    return [
        RegisterEventHandler(OnProcessExit(target_action=create, on_exit=partial(ended, then=[look]))),
        RegisterEventHandler(OnProcessExit(target_action=look, on_exit=partial(ended, then=[]))),
        create,
    ]


def _end_all(context: LaunchContext, reason: str) -> None:
    """End everything with an exit status that says that something was wrong."""
    if not context.is_shutdown:
        raise GraphError(reason)


def _arguments_of(file: str) -> list[DeclareLaunchArgument]:
    """Arguments of a launch file that is included only later, for `--show-args`, but for those that are fixed here."""
    fixed = ("hardware", "start_controller_manager", "use_sim_time")
    description = PythonLaunchDescriptionSource(str(HERE / file)).get_launch_description(LaunchContext())
    return [argument for argument in description.get_launch_arguments() if argument.name not in fixed]
