"""The stages of an arm as lifecycle nodes: composed, checked, brought up in order and watched.

Included by simulation.launch.py and bringup.launch.py; of use alone where ros2_control runs already. They give, beside
the arguments: `plant` (true: start the simulated plant too), its `mode` and `duration`, `use_sim_time`, and
`controller_manager` (name of the one whom the gate asks for its command controller, and at which that is deactivated
should the gate die; empty: none runs).
"""

import shutil
import tempfile
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
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import LifecycleNode, Node
from launch_ros.event_handlers import OnStateTransition
from launch_ros.events.lifecycle import ChangeState
from launch_ros.ros_adapters import get_ros_node
from lifecycle_msgs.msg import Transition

from flexarm.srv import AdvanceSimulation
from flexarm_nodes.node.topics import command_controller
from flexarm_nodes.node.transport import avoid_shared_memory
from flexarm_tools.graph.graph import GraphError
from flexarm_tools.run.composition import Composition, compose_simulation, compose_stages, write_parameter_file
from flexarm_tools.run.launch_request import LaunchRequest, requested_scenario
from flexarm_tools.scenario.scenario import PLANT, NodeSpec
from flexarm_tools.wiring.table import CONTROL_LOOP, GATE, stage_packages
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

STEPS = (
    (Transition.TRANSITION_CONFIGURE, "configuring", "inactive", "unconfigured"),
    (Transition.TRANSITION_ACTIVATE, "activating", "active", "inactive"),
)
ANSWER_WITHIN = 4.0  # [s] of the plant
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
    return LaunchDescription(
        [
            *(DeclareLaunchArgument(name, default_value=d, description=text) for name, (d, text) in REQUEST.items()),
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
            DeclareLaunchArgument("log_level", default_value="info", description="of the nodes"),
            OpaqueFunction(function=start_stages),
        ]
    )


def start_stages(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Compose what was asked for, and start it."""
    avoid_shared_memory()
    said = {name: _said(context, name) for name in REQUEST}
    scenario = requested_scenario(LaunchRequest(**said, mode=_fixed(context, "mode")))
    simulated = _fixed(context, "plant") == "true"
    by_clock = _fixed(context, "use_sim_time") == "true"
    composition = compose_simulation(scenario) if simulated else compose_stages(scenario, by_clock)
    folder = Path(tempfile.mkdtemp(prefix="flexarm-launch-"))
    level = _said(context, "log_level")
    manager = _fixed(context, "controller_manager")
    nodes = {node.name: _lifecycle_node(_managed(node, manager), folder, level) for node in composition.nodes}
    bring_up, begin = _bring_up(list(reversed(nodes.values())), _when_active(context, simulated, scenario.duration))
    left_out = f", but not its {len(scenario.events)} events" if scenario.events else ""
    return [
        LogInfo(msg=f"flexarm: {' -> '.join(nodes)}{left_out}"),
        *(RegisterEventHandler(each) for each in bring_up),
        *(RegisterEventHandler(_when_it_dies(context, name, nodes, composition)) for name in nodes),
        *nodes.values(),
        begin,
        RegisterEventHandler(OnShutdown(on_shutdown=lambda *_: shutil.rmtree(folder, ignore_errors=True))),
    ]


def end_all(context: LaunchContext, reason: str) -> None:
    """End everything with an exit status that says that something was wrong."""
    if not context.is_shutdown:
        raise GraphError(reason)


def _managed(node: NodeSpec, manager: str) -> NodeSpec:
    """The node, told of the controller manager where it has the gate."""
    names = {GATE: "controller_manager", CONTROL_LOOP: f"{GATE}.controller_manager"}
    if not manager or node.executable not in names:
        return node
    return replace(node, parameters={names[node.executable]: manager} | node.parameters)


def _lifecycle_node(node: NodeSpec, folder: Path, level: str) -> LifecycleNode:
    return LifecycleNode(
        package=node.package,
        executable=node.executable,
        name=node.name,
        namespace="",
        parameters=[str(write_parameter_file(node, folder))],
        remappings=list(node.remappings.items()),
        ros_arguments=["--log-level", level],
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


def _when_active(context: LaunchContext, simulated: bool, duration: float) -> list[LaunchDescriptionEntity]:
    """What comes once every node is active: simulated time begins to run."""
    if not simulated:
        return [LogInfo(msg="flexarm: all stages are active")]
    until = float(_fixed(context, "duration") or 0.0) or duration
    return [
        LogInfo(msg=f"flexarm: all nodes are active; the simulation runs {f'to {until:g} s' if until < 1e9 else 'on'}"),
        OpaqueFunction(function=_advance, args=[until]),
    ]


def _advance(context: LaunchContext, until: float) -> None:
    """Let the plant run; asked again where the answer is lost to late discovery."""
    node = get_ros_node(context)
    client = node.create_client(AdvanceSimulation, f"/{PLANT}/advance")

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
                return
        node.get_logger().error(f"{client.srv_name} does not answer: the simulation stands still")

    context.add_completion_future(context.asyncio_loop.run_in_executor(None, ask))


def _when_it_dies(
    context: LaunchContext, name: str, nodes: dict[str, LifecycleNode], composition: Composition
) -> OnProcessExit:
    """What an operator wants when a node dies: no restart, which would move the arm again without being asked.

    The gate misses what a dead stage does not send, stops the arm and holds it; the stages beside it go inactive, and
    after the stop time all end. Where the gate dies nobody commands: its command controller is deactivated.
    """
    executables = {node.name: node.executable for node in composition.nodes}
    stop_time, hold = float(_said(context, "stop_time")), _said(context, "on_death") == "hold"
    manager = _fixed(context, "controller_manager")

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
                unspawner,
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


def _said(context: LaunchContext, name: str) -> str:
    return LaunchConfiguration(name).perform(context)


def _fixed(context: LaunchContext, name: str) -> str:
    """What the including launch file says, empty where none includes this one."""
    return str(context.launch_configurations.get(name, ""))
