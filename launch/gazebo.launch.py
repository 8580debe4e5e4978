"""An arm in Gazebo under gz_ros2_control, with the same controllers and stages as on the real one.

`ros2 launch flexarm gazebo.launch.py robot:=boom_7r stages:="..." parameters_file:=mine.yaml`. Springs of a flexible
base and the sensors are added to the robot on the way; links that bend are rigid in Gazebo.
"""

from pathlib import Path

from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    IncludeLaunchDescription,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.events.process import ProcessExited
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from flexarm_nodes.node.topics import CLOCK, imu_topic, wrench_topic
from flexarm_nodes.node.transport import avoid_shared_memory
from flexarm_tools.run.launch_request import LaunchRequest, requested_robot
from flexarm_tools.run.launch_scope import LaunchScope, arguments_of, included, scoped_description
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

HERE = Path(__file__).absolute().parent
BRINGUP = HERE / "bringup.launch.py"
GIVEN = {"hardware": "gazebo", "start_controller_manager": "false", "use_sim_time": "true"}
WORLD = HERE.parent / "config" / "gazebo" / "flexarm.sdf"


def generate_launch_description() -> LaunchDescription:
    """Gazebo, the robot in it, the bridge, and what bringup.launch.py starts."""
    return scoped_description(_arguments(), start_gazebo)


def start_gazebo(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """The controller manager lives in Gazebo and begins with the robot: spawners wait for it."""
    avoid_shared_memory()
    said = {argument.name: context.launch_configurations[argument.name] for argument in _arguments()} | GIVEN
    request = LaunchRequest(**{name: said.get(name, "") for name in ("scenario", "robot", "robot_arguments")})
    robot, scope = requested_robot(request).description, LaunchScope(context)
    name = "_".join([*scope.namespace.split("/"), robot.name]).strip("_")
    create = Node(
        package="ros_gz_sim",
        executable="create",
        arguments=["-topic", "robot_description", "-name", name, "-allow_renaming", "false"],
        output="both",
    )
    kinds = {
        wrench_topic(each): "geometry_msgs/msg/WrenchStamped[gz.msgs.Wrench" for each in robot.force_torque_sensors
    }
    kinds |= {imu_topic(each): "sensor_msgs/msg/Imu[gz.msgs.IMU" for each in robot.imus}
    bridge = Node(
        package="ros_gz_bridge",
        executable="parameter_bridge",
        arguments=[f"{CLOCK}@rosgraph_msgs/msg/Clock[gz.msgs.Clock", *(f"/{t}@{kind}" for t, kind in kinds.items())],
        remappings=[(f"/{topic}", topic) for topic in kinds],  # into the namespace; the clock is everybody's
        output="both",
    )
    simulator = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(
            PathJoinSubstitution([FindPackageShare("ros_gz_sim"), "launch", "gz_sim.launch.py"])
        ),
        launch_arguments={
            "gz_args": ["-r -s " if said["headless"] == "true" else "-r ", said["world"]],
            "on_exit_shutdown": "true",
        }.items(),
    )

    def created(event: ProcessExited, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        if event.returncode == 0 or context.is_shutdown:
            return []
        return [
            EmitEvent(event=Shutdown(reason=f"the robot could not be put into Gazebo (exit code {event.returncode})"))
        ]

    return [
        simulator,
        bridge,
        RegisterEventHandler(OnProcessExit(target_action=create, on_exit=created)),
        create,
        included(BRINGUP, said),
    ]


def _arguments() -> list[DeclareLaunchArgument]:
    return [
        DeclareLaunchArgument("world", default_value=str(WORLD), description="SDF file of the world"),
        DeclareLaunchArgument(
            "headless", default_value="false", choices=["true", "false"], description="Gazebo without a window"
        ),
        *arguments_of(BRINGUP, *GIVEN),
    ]
