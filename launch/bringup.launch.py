"""An arm under ros2_control: controller manager, controllers in order, then the stages with the gate.

`ros2 launch flexarm bringup.launch.py robot:=arm_7r hardware:=my_driver/Arm stages:="..." parameters_file:=mine.yaml`;
with `hardware:=mock` everything runs but the arm, with `hardware:=topic` flexarm's simulated plant is the arm.
"""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit, OnShutdown
from launch.events.matchers import matches_action
from launch.events.process import ProcessExited
from launch_ros.actions import LifecycleNode, Node
from launch_ros.event_handlers import OnStateTransition
from launch_ros.events.lifecycle import ChangeState
from lifecycle_msgs.msg import Transition

from flexarm_core.errors import ConfigError
from flexarm_nodes.node import topics
from flexarm_nodes.node.transport import avoid_shared_memory, stay_among
from flexarm_tools.run.composition import command_mode, compose_simulation
from flexarm_tools.run.launch_request import (
    ENDLESS,
    LaunchRequest,
    own_controllers_file,
    requested_scenario,
    xacro_arguments,
)
from flexarm_tools.run.launch_scope import ENDS_WITHIN, LaunchScope, arguments_of, end_all, included, scoped_description
from flexarm_tools.run.parameter_file import read_parameter_file, write_for_namespace, write_parameter_file
from flexarm_tools.scenario.scenario import Scenario
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

HERE = Path(__file__).absolute().parent
STAGES, VISUALIZE = HERE / "stages.launch.py", HERE / "visualize.launch.py"
GIVEN = ("plant", "mode", "duration", "own_clock")  # arguments of the stages that follow from these here
SIMULATED = ("gazebo", "mujoco")  # backends that publish /clock
HOLDING = "gazebo"  # backend that holds the joints while no controller is active
WITHOUT_WRENCHES = ("gazebo", "topic")  # backends that give wrenches and rates on topics of their own
WRENCHES = ("force_torque_sensor_broadcaster/", "imu_sensor_broadcaster/")
UPDATE_RATE = 100.0  # [Hz] of a controller manager that has none given
HARDWARE_TOPICS = (topics.JOINT_COMMANDS, topics.JOINT_STATES)  # that joint_state_topic_hardware_interface speaks
CONTROL_NODES = {"mujoco": "mujoco_ros2_control"}  # packages with a ros2_control_node of their own


def generate_launch_description() -> LaunchDescription:
    """Arguments, and what they ask for."""
    return scoped_description(_arguments(), start_control)


def start_control(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Robot description, controller manager, and the spawners one after the other; then the stages."""
    stay_among(context.launch_configurations["network"])
    avoid_shared_memory()
    scope = LaunchScope(context)
    said = {argument.name: context.launch_configurations[argument.name] for argument in _arguments()}
    asked = ("scenario", "robot", "robot_arguments", "tool_frame", "stages", "parameters_file", "rate", "gravity")
    scenario = requested_scenario(LaunchRequest(**{name: said[name] for name in asked}, namespace=scope.namespace))
    hardware, mode = said["hardware"], command_mode(scenario)
    if hardware == "gazebo" and said["start_controller_manager"] == "true":
        raise ConfigError("hardware 'gazebo' has its controller manager inside Gazebo: use gazebo.launch.py")
    path = Path(said["controllers_file"] or own_controllers_file(scenario.robot.path))
    if not path.is_file():
        raise ConfigError(f"controllers_file '{path}' does not exist: give the one of this robot")
    manager = scope.full_name(said["controller_manager"])
    settings = _manager_parameters(path, manager)
    folder = Path(tempfile.mkdtemp(prefix="flexarm-launch-"))
    simulated = hardware == "topic" and said["simulate"] == "true"
    by_clock = said["use_sim_time"] or str(simulated or hardware in SIMULATED).lower()
    asked_for = said["scenario"] or float(said["rate"]) > 0.0
    rate = scenario.rate if asked_for else float(settings.get("update_rate", UPDATE_RATE))
    given_topics = xacro_arguments(said["robot_arguments"])
    if scope.namespace:
        path = write_for_namespace(path, folder, scope.frame_prefix(said["frame_prefix"]))
    if scenario.robot.path.suffix == ".xacro":
        given = f"hardware:={hardware} controllers_file:={path}"
        if hardware == "gazebo" and scope.namespace:
            given += f" namespace:={scope.namespace}"
        if hardware == "mock":  # which refuses effort controllers where it moves joints by itself
            given += f" calculate_dynamics:={str(mode != 'effort').lower()}"
        said["robot_arguments"] = f"{given} {said['robot_arguments']}".strip()
    said |= {"use_sim_time": by_clock, "own_clock": str(simulated).lower(), "rate": str(rate)}
    said["controller_manager"] = manager
    control: list[LaunchDescriptionEntity] = []
    if said["start_controller_manager"] == "true":
        own_clock = simulated and bool(scope.namespace)  # its clock is /clock in the root
        control += _controller_manager(path, hardware, rate, by_clock == "true", own_clock)
    inactive = hardware == HOLDING  # until the gate takes it: else its joints are limp until the first command
    state = "inactive until the gate takes it" if inactive else "active"
    stages = [
        LogInfo(msg=f"flexarm: {topics.command_controller(mode)} is {state}"),
        included(STAGES, said),
    ]
    control += _spawned_in_order(_groups(path, settings, hardware, mode), manager, path, stages, scope)
    if simulated:
        control = _simulated_arm(scenario, rate, given_topics, [scope.later(control)], folder)
    ended = RegisterEventHandler(OnShutdown(on_shutdown=lambda *_: shutil.rmtree(folder, ignore_errors=True)))
    return [ended, included(VISUALIZE, said), *control]


def _arguments() -> list[DeclareLaunchArgument]:
    own = [
        DeclareLaunchArgument(
            "hardware",
            default_value="mock",
            description="mock, mujoco, topic, or the plugin of a driver (docs/ros2_control.md)",
        ),
        DeclareLaunchArgument(
            "controllers_file",
            default_value="",
            description="of ros2_control; empty: config/ROBOT/controllers.yaml",
        ),
        DeclareLaunchArgument(
            "controller_manager",
            default_value="controller_manager",
            description="name of the controller manager, by itself in the namespace",
        ),
        DeclareLaunchArgument(
            "start_controller_manager",
            default_value="true",
            choices=["true", "false"],
            description="false: one runs already, as a driver's launch file or Gazebo starts it",
        ),
        DeclareLaunchArgument(
            "simulate",
            default_value="true",
            choices=["true", "false"],
            description="with hardware:=topic: flexarm's simulated plant is the arm; false: somebody else is",
        ),
        DeclareLaunchArgument(
            "use_sim_time",
            default_value="",
            choices=["", "true", "false"],
            description="time comes from the clock; empty: with gazebo, mujoco and the simulated plant",
        ),
        DeclareLaunchArgument("rviz", default_value="false", choices=["true", "false"], description="start RViz too"),
    ]
    stages = arguments_of(STAGES, *GIVEN, *(argument.name for argument in own))
    known = [argument.name for argument in (*own, *stages)]
    return [*own, *stages, *arguments_of(VISUALIZE, *GIVEN, *known)]


def _simulated_arm(
    scenario: Scenario, rate: float, given: dict[str, str], then: list[LaunchDescriptionEntity], folder: Path
) -> list[LaunchDescriptionEntity]:
    """The simulated plant behind the topics of the hardware interface; what comes next needs its clock and its states.

    The plant stands still until the first command, so that the arm does not fall while controllers are spawned.
    """
    plant = compose_simulation(replace(scenario, mode="real_time", rate=rate)).nodes[0]
    led = {"command_source": "joint_commands", "clock_rate": rate, "run_until": ENDLESS}
    plant = replace(plant, parameters=plant.parameters | led)
    node = LifecycleNode(
        package=plant.package,
        executable=plant.executable,
        name=plant.name,
        namespace="",
        parameters=[str(write_parameter_file(plant, folder))],
        remappings=[
            *((topic, given.get(f"{topic}_topic", f"plant/{topic}")) for topic in HARDWARE_TOPICS),
            (topics.CLOCK, topics.CLOCK.lstrip("/")),
        ],
        sigterm_timeout=ENDS_WITHIN,
        output="both",
    )
    configure, activate = (
        EmitEvent(event=ChangeState(lifecycle_node_matcher=matches_action(node), transition_id=transition))
        for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE)
    )
    refused = OpaqueFunction(function=end_all, args=["the simulated plant cannot run: its message above says why"])
    died = OpaqueFunction(function=end_all, args=["the simulated plant died"])
    handlers = [
        OnStateTransition(
            target_lifecycle_node=node, start_state=begin, goal_state=end, entities=entities, handle_once=True
        )
        for begin, end, entities in (
            ("configuring", "inactive", [activate]),
            ("activating", "active", then),
            ("configuring", "unconfigured", [refused]),
            ("activating", "inactive", [refused]),
        )
    ]
    return [
        *(RegisterEventHandler(handler) for handler in handlers),
        RegisterEventHandler(OnProcessExit(target_action=node, on_exit=[died])),
        node,
        configure,
    ]


def _controller_manager(
    path: Path, hardware: str, rate: float, by_clock: bool, own_clock: bool
) -> list[LaunchDescriptionEntity]:
    node = Node(
        package=CONTROL_NODES.get(hardware, "controller_manager"),
        executable="ros2_control_node",
        parameters=[str(path), {"use_sim_time": by_clock, "update_rate": round(rate)}],
        remappings=[(topics.CLOCK, topics.CLOCK.lstrip("/"))] if own_clock else [],
        sigterm_timeout=ENDS_WITHIN,
        output="both",
    )
    end = OpaqueFunction(function=end_all, args=["the controller manager died"])
    return [node, RegisterEventHandler(OnProcessExit(target_action=node, on_exit=[end]))]


def _groups(path: Path, settings: dict[str, Any], hardware: str, mode: str) -> list[tuple[str, list[str], list[str]]]:
    """What is spawned together: what it is, names of controllers, options of the spawner.

    Broadcasters first: a gate that is activated later finds states. Controllers that command nothing yet are loaded, so
    that a change of mode has only to switch.
    """
    pairs = ((name.removesuffix(".type"), str(value)) for name, value in settings.items() if name.endswith(".type"))
    types = {name: kind for name, kind in pairs if "." not in name}
    command = topics.command_controller(mode)
    if command not in types:
        raise ConfigError(f"{path} has no {command}, which the gate commands; controllers: {', '.join(types)}")
    broadcasters = [name for name, kind in types.items() if "broadcaster" in kind]
    if hardware in WITHOUT_WRENCHES:
        broadcasters = [name for name in broadcasters if not types[name].startswith(WRENCHES)]
    waiting = [name for name, kind in types.items() if "broadcaster" not in kind and name != command]
    groups = [
        ("broadcasters", broadcasters, []),
        ("waiting controllers", waiting, ["--inactive"]),
        (mode, [command], ["--inactive"] if hardware == HOLDING else []),
    ]
    return [group for group in groups if group[1]]


def _manager_parameters(path: Path, manager: str) -> dict[str, Any]:
    namespace, _, name = manager.rpartition("/")
    return read_parameter_file(path, [name], namespace)[name]


def _spawned_in_order(
    groups: list[tuple[str, list[str], list[str]]],
    manager: str,
    path: Path,
    then: list[LaunchDescriptionEntity],
    scope: LaunchScope,
) -> list[LaunchDescriptionEntity]:
    """The first spawner, and handlers that start each next one when the one before it has done its work."""
    spawners = [
        Node(
            package="controller_manager",
            executable="spawner",
            arguments=[
                *names,
                "-c",
                manager,
                "--param-file",
                str(path),
                "--controller-manager-timeout",
                "60",
                *options,
            ],
            output="both",
        )
        for _, names, options in groups
    ]
    entities: list[LaunchDescriptionEntity] = []
    for place, (what, names, _) in enumerate(groups):
        following = [spawners[place + 1]] if place + 1 < len(spawners) else then

        def done(
            event: ProcessExited,
            context: LaunchContext,
            following: list[LaunchDescriptionEntity] = following,
            what: str = f"{what} ({', '.join(names)})",
        ) -> list[LaunchDescriptionEntity]:
            if event.returncode == 0 or context.is_shutdown:
                return [] if context.is_shutdown else [scope.later(following)]
            return [OpaqueFunction(function=end_all, args=[f"spawning the {what} failed"])]

        entities.append(RegisterEventHandler(OnProcessExit(target_action=spawners[place], on_exit=done)))
    return [*entities, spawners[0]]
