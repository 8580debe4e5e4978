"""An arm in Gazebo under gz_ros2_control, with the same controllers and stages as on the real one.

`ros2 launch flexarm gazebo.launch.py robot:=boom_7r stages:="..." parameters_file:=mine.yaml`. Gazebo gets a model of
its own, with springs, sensors and links that bend, in the start and among the surfaces of the scenario
(docs/gazebo.md).
"""

import shutil
import sys
import tempfile
from dataclasses import replace
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
from flexarm_tools.gazebo.names import CONTROLLER_MANAGER, GazeboNames
from flexarm_tools.run.launch_request import LaunchRequest, own_controllers_file, requested_scenario
from flexarm_tools.run.launch_scope import LaunchScope, arguments_of, end_all, included, scoped_description
from flexarm_tools.run.parameter_file import read_parameter_file, write_for_namespace
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

HERE = Path(__file__).absolute().parent
BRINGUP = HERE / "bringup.launch.py"
GIVEN = {"hardware": "gazebo", "start_controller_manager": "false", "use_sim_time": "true"}
DESCRIPTION = "gazebo_description"
UPDATE_RATE = 100.0  # [Hz] of a controller manager that has none given
WORLD = HERE.parent / "config" / "gazebo" / "flexarm.sdf"


def generate_launch_description() -> LaunchDescription:
    """Gazebo, the robot in it, the bridge, and what bringup.launch.py starts."""
    return scoped_description(_arguments(), start_gazebo)


def start_gazebo(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """The controller manager lives in Gazebo and begins with the robot: spawners wait for it."""
    avoid_shared_memory()
    scope = LaunchScope(context)
    said = {argument.name: context.launch_configurations[argument.name] for argument in _arguments()} | GIVEN
    asked = ("scenario", "robot", "robot_arguments", "tool_frame", "stages", "parameters_file", "rate", "gravity")
    request = LaunchRequest(**{name: said[name] for name in asked}, namespace=scope.namespace)
    path = requested_scenario(request).robot.path
    names = GazeboNames(scope.namespace, scope.frame_prefix(said["frame_prefix"]))
    said["controllers_file"] = said["controllers_file"] or str(own_controllers_file(path))
    folder, world = Path(tempfile.mkdtemp(prefix="flexarm-gazebo-")), Path(said["world"])
    controllers = Path(said["controllers_file"])  # as the spawners' one, which bringup.launch.py writes
    if scope.namespace:
        controllers = write_for_namespace(controllers, folder, names.frame_prefix)
    if path.suffix == ".xacro":
        given = f"hardware:=gazebo controllers_file:={controllers}"
        request = replace(request, robot_arguments=f"{given} {said['robot_arguments']}".strip())
    scenario = requested_scenario(request)
    if not (said["scenario"] or float(said["rate"] or 0.0) > 0.0):  # as bringup.launch.py has it
        settings = read_parameter_file(controllers, [CONTROLLER_MANAGER], scope.namespace)[CONTROLLER_MANAGER]
        scenario = replace(scenario, rate=float(settings.get("update_rate", UPDATE_RATE)))
    files = write_gazebo_files(scenario, world, world != WORLD, str(controllers), folder, names)
    said[DESCRIPTION] = str(files.description)
    robot = scenario.robot.description
    bridged = [  # not Gazebo's clock, which has a message for every step: the model brings a slower one along
        *(
            f"/{names.topic(wrench_topic(name))}@geometry_msgs/msg/WrenchStamped[gz.msgs.Wrench"
            for name in robot.force_torque_sensors
        ),
        *(f"/{names.topic(imu_topic(name))}@sensor_msgs/msg/Imu[gz.msgs.IMU" for name in robot.imus),
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
        *(
            [Node(package="ros_gz_bridge", executable="parameter_bridge", arguments=bridged, output="both")]
            if bridged
            else []
        ),
        *(entity for name, file in files.models.items() for entity in _put_in(name, file, scope)),
        RegisterEventHandler(OnShutdown(on_shutdown=lambda *_: shutil.rmtree(folder, ignore_errors=True))),
        included(BRINGUP, said),
    ]


def _put_in(name: str, file: Path, scope: LaunchScope) -> list[LaunchDescriptionEntity]:
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
        return [OpaqueFunction(function=end_all, args=[f"'{name}' could not be put into Gazebo: see above"])]

    return [
        RegisterEventHandler(OnProcessExit(target_action=create, on_exit=partial(ended, then=[scope.later([look])]))),
        RegisterEventHandler(OnProcessExit(target_action=look, on_exit=partial(ended, then=[]))),
        create,
    ]


def _arguments() -> list[DeclareLaunchArgument]:
    return [
        DeclareLaunchArgument("world", default_value=str(WORLD), description="SDF file of the world"),
        DeclareLaunchArgument(
            "headless", default_value="false", choices=["true", "false"], description="Gazebo without a window"
        ),
        *arguments_of(BRINGUP, DESCRIPTION, *GIVEN),
    ]
