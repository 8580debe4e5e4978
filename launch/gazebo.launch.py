"""An arm in Gazebo under gz_ros2_control, with the same controllers and stages as on the real one.

`ros2 launch flexarm gazebo.launch.py robot:=boom_7r stages:="..." parameters_file:=mine.yaml`. Springs of a flexible
base and the sensors are added to the robot on the way; links that bend are rigid in Gazebo.
"""

from pathlib import Path

from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.events.process import ProcessExited
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from flexarm_nodes.node.topics import imu_topic, wrench_topic
from flexarm_nodes.node.transport import avoid_shared_memory
from flexarm_tools.run.launch_request import LaunchRequest, requested_robot
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
    request = LaunchRequest(**{name: said.get(name, "") for name in ("scenario", "robot", "robot_arguments")})
    robot = requested_robot(request).description
    create = Node(
        package="ros_gz_sim",
        executable="create",
        arguments=["-topic", "robot_description", "-name", robot.name, "-allow_renaming", "false"],
        output="both",
    )
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
            "gz_args": ["-r -s " if said["headless"] == "true" else "-r ", LaunchConfiguration("world")],
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
        Node(package="ros_gz_bridge", executable="parameter_bridge", arguments=bridged, output="both"),
        RegisterEventHandler(OnProcessExit(target_action=create, on_exit=created)),
        create,
        IncludeLaunchDescription(PythonLaunchDescriptionSource(str(HERE / "bringup.launch.py"))),
    ]


def _arguments_of(file: str) -> list[DeclareLaunchArgument]:
    """Arguments of a launch file that is included only later, for `--show-args`, but for those that are fixed here."""
    fixed = ("hardware", "start_controller_manager", "use_sim_time")
    description = PythonLaunchDescriptionSource(str(HERE / file)).get_launch_description(LaunchContext())
    return [argument for argument in description.get_launch_arguments() if argument.name not in fixed]
