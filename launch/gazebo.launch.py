"""An arm in Gazebo under gz_ros2_control, with the same controllers and stages as on the real one.

`ros2 launch flexarm gazebo.launch.py robot:=boom_7r stages:="..." parameters_file:=mine.yaml`. Gazebo gets a model of
its own, with springs, sensors and links that bend, in the start and among the surfaces of the scenario
(docs/gazebo.md).
"""

import math
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
)
from launch.event_handlers import OnProcessExit, OnShutdown
from launch.events.process import ProcessExited
from launch_ros.actions import Node

from flexarm_core.errors import ConfigError
from flexarm_nodes.node.topics import imu_topic, wrench_topic
from flexarm_nodes.node.transport import avoid_shared_memory, stay_among
from flexarm_tools.gazebo.files import gazebo_paths, write_gazebo_files
from flexarm_tools.gazebo.names import CONTROLLER_MANAGER, GazeboNames
from flexarm_tools.gazebo.world import read_world
from flexarm_tools.run.launch_request import LaunchRequest, own_controllers_file, requested_scenario
from flexarm_tools.run.launch_scope import LaunchScope, arguments_of, end_all, included, scoped_description
from flexarm_tools.run.parameter_file import read_parameter_file, write_for_namespace
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

HERE = Path(__file__).absolute().parent
BRINGUP = HERE / "bringup.launch.py"
GIVEN = {"hardware": "gazebo", "start_controller_manager": "false", "use_sim_time": "true"}
DESCRIPTION = "gazebo_description"
PLACE = ("-x", "-y", "-z", "-Y")  # options of `create`
UPDATE_RATE = 100.0  # [Hz] of a controller manager that has none given
WORLD = HERE.parent / "config" / "gazebo" / "flexarm.sdf"


def generate_launch_description() -> LaunchDescription:
    """Gazebo, the robot in it, the bridge, and what bringup.launch.py starts."""
    return scoped_description(_arguments(), start_gazebo)


def start_gazebo(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """The controller manager lives in Gazebo and begins with the robot: spawners wait for it."""
    stay_among(context.launch_configurations["network"])
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
    speed = _speed(said["real_time_factor"])
    starts = said["start_gazebo"] == "true"
    files = write_gazebo_files(
        scenario, world, world != WORLD, str(controllers), folder, names, real_time_factor=speed, clock=starts
    )
    said[DESCRIPTION] = str(files.description)
    robot = scenario.robot.description
    bridged = [  # not Gazebo's clock, which has a message for every step: the model brings a slower one along
        *(
            f"/{names.topic(wrench_topic(name))}@geometry_msgs/msg/WrenchStamped[gz.msgs.Wrench"
            for name in robot.force_torque_sensors
        ),
        *(f"/{names.topic(imu_topic(name))}@sensor_msgs/msg/Imu[gz.msgs.IMU" for name in robot.imus),
    ]
    gazebo = ExecuteProcess(  # paused, until the robot is in it
        cmd=["gz", "sim", *(["-s"] if said["headless"] == "true" else []), str(files.world)],
        name="gazebo",
        additional_env=gazebo_paths(os.environ),
        output="both",
    )
    return [
        *([RegisterEventHandler(OnProcessExit(target_action=gazebo, on_exit=_gazebo_ended)), gazebo] if starts else []),
        *(
            [Node(package="ros_gz_bridge", executable="parameter_bridge", arguments=bridged, output="both")]
            if bridged
            else []
        ),
        *_put_in(read_world(files.world.read_text()).name, files.models, _place(said["place"]), starts, scope),
        RegisterEventHandler(OnShutdown(on_shutdown=lambda *_: shutil.rmtree(folder, ignore_errors=True))),
        included(BRINGUP, said),
    ]


def _speed(text: str) -> float | None:
    try:
        speed = float(text) if text else None
    except ValueError:
        speed = math.nan
    if speed is not None and not 0.0 < speed < math.inf:
        raise ConfigError(f"real_time_factor: '{text}' is not a number above 0")
    return speed


def _gazebo_ended(event: ProcessExited, context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Closing its window ends all, too, but nothing was wrong then."""
    if context.is_shutdown:
        return []
    if event.returncode == 0:
        return [Shutdown(reason="Gazebo was closed")]
    return [OpaqueFunction(function=end_all, args=[f"Gazebo died (exit status {event.returncode})"])]


def _place(text: str) -> list[str]:
    """Options of `create` for where the root link is."""
    words = text.replace(",", " ").split()
    try:
        finite = all(math.isfinite(float(word)) for word in words)
    except ValueError:
        finite = False
    if len(words) != len(PLACE) or not finite:
        raise ConfigError(f"place: '{text}' is not four numbers: x y z [m] and the angle about z [rad]")
    return [word for pair in zip(PLACE, words, strict=True) for word in pair]


def _put_in(
    world: str, models: Mapping[str, Path], place: Sequence[str], starts: bool, scope: LaunchScope
) -> list[LaunchDescriptionEntity]:
    """Put models into Gazebo one after the other, let its world run, and look whether they arrived."""
    steps: list[ExecuteProcess] = [
        Node(
            package="ros_gz_sim",
            executable="create",
            arguments=["-world", world, "-file", str(file), "-name", name, *place],
            output="both",
        )
        for name, file in models.items()
    ]
    run = ["--run", world] if starts else []
    steps.append(
        ExecuteProcess(cmd=[sys.executable, "-m", "flexarm_tools.gazebo.arrival", *run, *models], output="both")
    )

    def ended(
        event: ProcessExited, context: LaunchContext, then: Sequence[ExecuteProcess]
    ) -> list[LaunchDescriptionEntity]:
        if event.returncode == 0 or context.is_shutdown:
            return [] if context.is_shutdown or not then else [scope.later(then)]
        return [OpaqueFunction(function=end_all, args=["the robot could not be put into Gazebo: see above"])]

    handlers = [
        RegisterEventHandler(OnProcessExit(target_action=step, on_exit=partial(ended, then=steps[i + 1 : i + 2])))
        for i, step in enumerate(steps)
    ]
    return [*handlers, steps[0]]


def _arguments() -> list[DeclareLaunchArgument]:
    return [
        DeclareLaunchArgument("world", default_value=str(WORLD), description="SDF file of the world"),
        DeclareLaunchArgument(
            "headless", default_value="false", choices=["true", "false"], description="Gazebo without a window"
        ),
        DeclareLaunchArgument(
            "start_gazebo",
            default_value="true",
            choices=["true", "false"],
            description="false: put the robot into a Gazebo that runs, with this world and a /clock",
        ),
        DeclareLaunchArgument(
            "place", default_value="0 0 0 0", description="of the root link: x y z [m] and the angle about z [rad]"
        ),
        DeclareLaunchArgument(
            "real_time_factor",
            default_value="",
            description="speed of Gazebo, less than 1 where nodes cannot keep pace; empty: that of the world",
        ),
        *arguments_of(BRINGUP, DESCRIPTION, *GIVEN),
    ]
