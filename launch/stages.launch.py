"""The stages of an arm as lifecycle nodes: composed, checked, brought up in order and watched.

Included by simulation.launch.py and bringup.launch.py; of use alone where ros2_control runs already.
"""

import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from threading import Event

from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    TimerAction,
)
from launch.event_handlers import OnProcessExit, OnShutdown
from launch.events.matchers import matches_action
from launch.events.process import ProcessExited
from launch_ros.actions import LifecycleNode, Node
from launch_ros.event_handlers import OnStateTransition
from launch_ros.events.lifecycle import ChangeState
from launch_ros.ros_adapters import get_ros_node
from lifecycle_msgs.msg import Transition

from flexarm.msg import SimulationStatus
from flexarm.srv import AdvanceSimulation
from flexarm_nodes.node.topics import CLOCK, SIMULATION_STATUS, command_controller
from flexarm_nodes.node.transport import avoid_shared_memory, stay_among
from flexarm_nodes.registry import GATE
from flexarm_tools.run.composition import Composition, compose_simulation, compose_stages
from flexarm_tools.run.launch_request import ENDLESS, LaunchRequest, requested_scenario
from flexarm_tools.run.launch_scope import AUTO, ENDS_WITHIN, LaunchScope, end_all, scoped_description
from flexarm_tools.run.parameter_file import write_parameter_file
from flexarm_tools.scenario.scenario import PLANT, NodeSpec, Scenario
from flexarm_tools.wiring.table import CONTROL_LOOP, stage_packages
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

STEPS = (
    (Transition.TRANSITION_CONFIGURE, "configuring", "inactive", "unconfigured"),
    (Transition.TRANSITION_ACTIVATE, "activating", "active", "inactive"),
)
ANSWER_WITHIN = 4.0  # [s] of the plant
HEARD_BEFORE = 2.0  # [s] the end of a simulation
SHUTDOWN_PERIOD = 0.2  # [s] between two looks whether all ends
REQUEST = {
    "scenario": ("", "scenario file: robot, stages and parameters come from it (docs/scenario.md)"),
    "robot": ("", "without a scenario: a robot of flexarm by name, a URDF or xacro file, or package://PACKAGE/PATH"),
    "robot_arguments": ("", "xacro arguments of the robot, NAME:=VALUE with spaces between"),
    "tool_frame": ("", "link that is the tool; empty: tool0, else the only tip link"),
    "stages": (
        "",
        "stages in order, with spaces between; with a scenario: those of its nodes that are to run, by name; else of: "
        + ", ".join(stage_packages()),
    ),
    "parameters_file": ("", "ROS 2 parameter file of the stages; counts before the scenario's parameters"),
    "rate": ("0", "control rate [Hz]; 0: the scenario's, or 500"),
    "gravity": ("", "three numbers in axes of the root link [m/s^2]; empty: the scenario's, or 0 0 -9.81"),
}


def generate_launch_description() -> LaunchDescription:
    """Arguments, and what they ask for."""
    return scoped_description(_arguments(), start_stages)


def start_stages(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Compose what was asked for, and start it."""
    stay_among(context.launch_configurations["network"])
    avoid_shared_memory()
    scope = LaunchScope(context)
    said = {argument.name: context.launch_configurations[argument.name] for argument in _arguments()}
    request = LaunchRequest(**{name: said[name] for name in REQUEST}, mode=said["mode"], namespace=scope.namespace)
    scenario = requested_scenario(request)
    simulated, by_clock = said["plant"] == "true", said["use_sim_time"] == "true"
    composition = compose_simulation(scenario) if simulated else compose_stages(scenario, by_clock)
    folder = Path(tempfile.mkdtemp(prefix="flexarm-launch-"))
    nodes = {node.name: _lifecycle_node(_completed(node, said, scope), folder, said) for node in composition.nodes}
    duration = float(said["duration"] or 0.0) or scenario.duration
    then: list[LaunchDescriptionEntity] = [LogInfo(msg="flexarm: all stages are active")]
    if simulated:
        then = _simulation(scope, nodes, replace(scenario, duration=duration))
    bring_up, begin = _bring_up(list(reversed(nodes.values())), then)
    left_out = f", but not its {len(scenario.events)} events" if scenario.events else ""
    return [
        LogInfo(msg=f"flexarm: {' -> '.join(nodes)}{left_out}"),
        *(RegisterEventHandler(each) for each in bring_up),
        *(RegisterEventHandler(_when_it_dies(scope, said, name, nodes, composition)) for name in nodes),
        *nodes.values(),
        begin,
        RegisterEventHandler(OnShutdown(on_shutdown=lambda *_: shutil.rmtree(folder, ignore_errors=True))),
    ]


def _arguments() -> list[DeclareLaunchArgument]:
    return [
        *(DeclareLaunchArgument(name, default_value=d, description=text) for name, (d, text) in REQUEST.items()),
        DeclareLaunchArgument(
            "plant",
            default_value="false",
            choices=["true", "false"],
            description="true: start the simulated plant too",
        ),
        DeclareLaunchArgument(
            "mode",
            default_value="",
            choices=["", "lockstep", "real_time"],
            description="of the plant; lockstep: it waits for each command; empty: the scenario's, or real_time",
        ),
        DeclareLaunchArgument(
            "duration", default_value="0", description="of the simulation [s]; 0: the scenario's, or without end"
        ),
        DeclareLaunchArgument(
            "use_sim_time", default_value="false", choices=["true", "false"], description="time comes from the clock"
        ),
        DeclareLaunchArgument(
            "own_clock",
            default_value="false",
            choices=["true", "false"],
            description="the clock is 'clock' in the namespace, that of a simulated plant; false: /clock",
        ),
        DeclareLaunchArgument(
            "controller_manager",
            default_value="",
            description="name of the one that the gate asks for its command controller; empty: none runs",
        ),
        DeclareLaunchArgument(
            "frame_prefix",
            default_value=AUTO,
            description="in front of the names of links in headers and TF; auto: the namespace, as 'left/'",
        ),
        DeclareLaunchArgument(
            "stop_time",
            default_value="2.0",
            description="time that the gate gets to stop and hold the arm after a stage died [s]",
        ),
        DeclareLaunchArgument(
            "on_death",
            default_value="shutdown",
            choices=["shutdown", "hold"],
            description="when a stage dies and the gate has stopped the arm: end all, or hold until Ctrl-C",
        ),
        DeclareLaunchArgument(
            "network",
            default_value="localhost",
            description="who may take part, unless the environment says it: localhost (this machine), open (whoever is"
            " on the network), or IPv4 addresses of machines, separated by commas",
        ),
        DeclareLaunchArgument("log_level", default_value="info", description="of the nodes"),
    ]


def _completed(node: NodeSpec, said: dict[str, str], scope: LaunchScope) -> NodeSpec:
    """The node with the prefix of frames, and with the controller manager if it contains the gate."""
    own = {"frame_prefix": prefix} if (prefix := scope.frame_prefix(said["frame_prefix"])) else {}
    names = {GATE: "controller_manager", CONTROL_LOOP: f"{GATE}.controller_manager"}
    if said["controller_manager"] and node.executable in names:
        own[names[node.executable]] = scope.full_name(said["controller_manager"])
    return replace(node, parameters=own | node.parameters)


def _lifecycle_node(node: NodeSpec, folder: Path, said: dict[str, str]) -> LifecycleNode:
    clock = [(CLOCK, CLOCK.lstrip("/"))] if said["own_clock"] == "true" else []
    return LifecycleNode(
        package=node.package,
        executable=node.executable,
        name=node.name,
        namespace="",
        parameters=[str(write_parameter_file(node, folder))],
        remappings=[*node.remappings.items(), *clock],
        ros_arguments=["--log-level", said["log_level"]],
        sigterm_timeout=ENDS_WITHIN,
        output="both",
    )


def _bring_up(
    nodes: list[LifecycleNode], then: list[LaunchDescriptionEntity]
) -> tuple[list[OnStateTransition], EmitEvent]:
    """Configure each node in order, then activate each: every transition that is done asks for the next.

    Returns:
        Handlers, and the request for the first transition.
    """
    steps = [(node, *step) for step in STEPS for node in nodes]
    handlers = []
    for place, (node, _, through, goal, back) in enumerate(steps):
        following = [_ask(*steps[place + 1][:2])] if place + 1 < len(steps) else then
        handlers.append(
            OnStateTransition(
                target_lifecycle_node=node,
                start_state=through,
                goal_state=goal,
                entities=following,
                handle_once=True,  # whoever deactivates and activates a node later does that alone
            )
        )
        refused = f"node '{node.node_executable}' stays {back}: its own message above, or on /diagnostics, says why"
        handlers.append(
            OnStateTransition(
                target_lifecycle_node=node,
                start_state=through,
                goal_state=back,
                entities=[OpaqueFunction(function=end_all, args=[refused])],
                handle_once=True,
            )
        )
    return handlers, _ask(*steps[0][:2])


def _ask(node: LifecycleNode, transition: int) -> EmitEvent:
    return EmitEvent(event=ChangeState(lifecycle_node_matcher=matches_action(node), transition_id=transition))


def _simulation(
    scope: LaunchScope, nodes: dict[str, LifecycleNode], scenario: Scenario
) -> list[LaunchDescriptionEntity]:
    """What comes once every node is active: simulated time begins to run."""
    until = f"to {scenario.duration:g} s" if scenario.duration < ENDLESS else "on"
    advanced = [LogInfo(msg=f"flexarm: all nodes are active; the simulation runs {until}")]
    ended: list[EmitEvent] = []
    if scenario.mode == "real_time":  # in lockstep nobody waits for states that do not come
        stages = [node for name, node in nodes.items() if name != PLANT]
        ended = [_ask(node, Transition.TRANSITION_DEACTIVATE) for node in stages]
    status = scope.full_name(SIMULATION_STATUS)
    return [*advanced, OpaqueFunction(function=_advance, args=[nodes[PLANT], status, scenario, ended])]


def _advance(
    context: LaunchContext, plant: LifecycleNode, status: str, scenario: Scenario, ended: list[EmitEvent]
) -> None:
    """Let the plant run; asked again where the answer is lost to late discovery.

    At the end of simulated time the stages go inactive: no states come any more, and the gate would trip.
    """
    node, until = get_ros_node(context), scenario.duration
    client = node.create_client(AdvanceSimulation, f"{plant.node_name}/advance")
    over = Event()

    def ask() -> None:
        for _ in range(10):
            if context.is_shutdown or not client.wait_for_service(ANSWER_WITHIN):
                continue
            answered, future = Event(), client.call_async(AdvanceSimulation.Request(until=until))
            future.add_done_callback(lambda _, answered=answered: answered.set())
            if answered.wait(ANSWER_WITHIN):
                answer = future.result()
                if not answer.success:
                    node.get_logger().error(f"{client.srv_name} refused: {answer.message}")
                elif ended and until < ENDLESS:
                    wait()
                return
        node.get_logger().error(f"{client.srv_name} does not answer: the simulation stands still")

    def wait() -> None:
        """Wait for the end; the status is not heard until shortly before it, as it comes with every tick."""
        near = time.monotonic() + until - HEARD_BEFORE
        while not context.is_shutdown and time.monotonic() < near:
            time.sleep(SHUTDOWN_PERIOD)
        if not context.is_shutdown:
            node.create_subscription(SimulationStatus, status, heard, 10)

    def heard(message: SimulationStatus) -> None:
        if message.tick + 1 >= round(until * scenario.rate) and not over.is_set():
            over.set()
            for action in ended:
                context.asyncio_loop.call_soon_threadsafe(context.emit_event_sync, action.event)

    context.add_completion_future(context.asyncio_loop.run_in_executor(None, ask))


def _when_it_dies(
    scope: LaunchScope, said: dict[str, str], name: str, nodes: dict[str, LifecycleNode], composition: Composition
) -> OnProcessExit:
    """What an operator wants when a node dies: no restart, which would move the arm again without being asked.

    The gate misses what a dead stage does not send, stops the arm and holds it; the stages beside it go inactive, and
    after the stop time all end. Where the gate dies nobody commands: its command controller is deactivated.
    """
    executables = {node.name: node.executable for node in composition.nodes}
    stop_time, hold = float(said["stop_time"]), said["on_death"] == "hold"
    manager = scope.full_name(said["controller_manager"]) if said["controller_manager"] else ""

    def died(event: ProcessExited, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        if context.is_shutdown:
            return []
        reason = f"node '{name}' died with exit code {event.returncode}"
        end = OpaqueFunction(function=end_all, args=[reason])
        if executables[name] == PLANT or (executables[name] == GATE and not manager):
            return [end]
        if executables[name] == GATE:
            controller = command_controller(composition.command_mode)
            unspawner = Node(
                package="controller_manager",
                executable="unspawner",
                arguments=[controller, "-c", manager],
                output="both",
            )
            return [
                LogInfo(msg=f"flexarm: {reason}: deactivating {controller}, then ending all"),
                RegisterEventHandler(OnProcessExit(target_action=unspawner, on_exit=[end])),
                scope.later([unspawner]),
            ]
        others = [
            _ask(node, Transition.TRANSITION_DEACTIVATE)
            for each, node in nodes.items()
            if each != name and executables[each] not in (PLANT, GATE)
        ]
        after = "holds it until Ctrl-C" if hold else f"all ends in {stop_time:g} s"
        later = [] if hold else [TimerAction(period=stop_time, actions=[end])]
        return [LogInfo(msg=f"flexarm: {reason}; the gate stops the arm, {after}"), *others, *later]

    return OnProcessExit(target_action=nodes[name], on_exit=died)
