"""Composition: every node of a run with all its parameters and remappings, ready for a runner or a launch file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flexarm_core.errors import ConfigError
from flexarm_nodes.flexible_dynamics.parameters import CHECKED
from flexarm_nodes.node.parameters import ARM_PARAMETERS
from flexarm_nodes.registry import CONTROL_LOOP, GATE, parameters_of
from flexarm_tools.scenario.scenario import PLANT, NodeSpec, Scenario
from flexarm_tools.wiring.chain import chained, wired_nodes
from flexarm_tools.wiring.table import node_ports, odometry_ports, ros2_control_ports, stage_packages
from flexarm_tools.wiring.wiring import check_wiring

LOCKSTEP_WAIT = 8.0  # [s] wall time to wait for a sensor: longer than resending a lost message takes
VIBRATION = "rns_vibration_controller"
BENDING, ESTIMATOR = "flexible_dynamics_controller", "flexible_dynamics_estimator"
TOOL_LEADERS = ("reference_generator", "behavior_impedance_controller")  # publish tool references
WATCHFUL = (GATE, "ik_redundancy_solver")  # nodes with a sample timeout on the clock, and a parameter ``lockstep``


@dataclass(frozen=True, slots=True)
class Composition:
    """The nodes to start.

    Attributes:
        nodes: in the order in which they process a sample, the plant first if there is one. They are brought up from
            the last to the first, so that subscribers are ready before publishers.
        command_mode: command mode of the gate: ``effort``, ``velocity`` or ``position``.
    """

    nodes: tuple[NodeSpec, ...]
    command_mode: str


def compose_simulation(scenario: Scenario) -> Composition:
    """Compose the simulated plant and the chained nodes of a scenario.

    Args:
        scenario: what to run.

    Raises:
        ConfigError: the nodes cannot control the arm; the message names every fault.
    """
    lockstep = scenario.mode == "lockstep"
    plant = NodeSpec("flexarm", PLANT, PLANT, _plant_parameters(scenario) | scenario.plant, {})
    nodes = tuple(_complete(node, scenario, True, lockstep) for node in scenario.nodes)
    return Composition((plant, *wired_nodes(replace(scenario, nodes=nodes))), command_mode(scenario))


def compose_stages(scenario: Scenario, use_sim_time: bool) -> Composition:
    """Compose the chained nodes of a scenario for an arm under ros2_control; settings of the plant are ignored.

    Args:
        scenario: robot, gravity, rate and nodes.
        use_sim_time: whether the nodes take their time from ``/clock``.

    Raises:
        ConfigError: the nodes cannot control the arm; the message names every fault.
    """
    robot, mode = scenario.robot, command_mode(scenario)
    complete = [_complete(node, scenario, use_sim_time, False) for node in scenario.nodes]
    nodes = chained(complete, robot.description, robot.tool_frame)
    around = {"ros2_control": ros2_control_ports(robot.description, mode), "odometry": odometry_ports(nodes)}
    faults = check_wiring(nodes, robot.description, robot.tool_frame, around=around)
    if faults:
        raise ConfigError("the stages cannot lead the arm:" + "".join(f"\n  {fault}" for fault in faults))
    return Composition(nodes, mode)


def select_stages(scenario: Scenario, names: Sequence[str]) -> Scenario:
    """Return the scenario with only the named nodes, in the order of the names.

    Events of the other nodes are removed.

    Raises:
        ConfigError: a name is not a node of the scenario, or is given twice.
    """
    nodes = {node.name: node for node in scenario.nodes}
    for name in names:
        if name not in nodes:
            raise ConfigError(f"stage '{name}' is not in {scenario.path.name}; its nodes: {', '.join(nodes)}")
    if len(set(names)) != len(names):
        raise ConfigError(f"a stage is given twice: {', '.join(names)}")
    events = tuple(event for event in scenario.events if event.node in (*names, PLANT))
    return replace(scenario, nodes=tuple(nodes[name] for name in names), events=events)


def in_one_process(scenario: Scenario) -> Scenario:
    """Return the scenario with all its stages in one node, ``control_loop``; other nodes keep their own processes.

    Parameters and events of a stage become those of the node, with the name of the stage as a prefix; those that every
    node has, of the arm, have none. The node uses the longest ``sensor_wait`` of its stages.

    Raises:
        ConfigError: two stages have the same executable, or have different parameters of the arm, or an event applies
            to a whole node (transition, kill).
    """
    packages = stage_packages()
    stages = [node for node in scenario.nodes if packages.get(node.executable) == node.package]
    by_name = {node.name: node.executable for node in stages}
    executables = sorted(by_name.values(), key=lambda executable: executable == GATE)  # the gate ends the chain
    if len(set(executables)) != len(executables):
        raise ConfigError(f"one process holds a stage once; the scenario has {', '.join(executables)}")
    parameters: dict[str, Any] = {"stages": executables}
    waits = [node.parameters["sensor_wait"] for node in stages if "sensor_wait" in node.parameters]
    parameters |= {"sensor_wait": max(waits)} if waits else {}
    of_arm = {row.name for row in ARM_PARAMETERS}
    for node in stages:
        for key, value in node.parameters.items():
            if parameters.setdefault(key if key in of_arm else f"{node.executable}.{key}", value) != value:
                raise ConfigError(f"one process has one {key}: stages give it {parameters[key]!r} and {value!r}")
    remappings = _of_one_process(stages, parameters, scenario)
    one = NodeSpec("flexarm", CONTROL_LOOP, CONTROL_LOOP, parameters, remappings)
    events = []
    for event in scenario.events:
        if event.node not in by_name:
            events.append(event)
            continue
        if event.transition or event.kill:
            raise ConfigError(f"the event at {event.at:g} s ends stage '{event.node}' alone: it needs its own process")
        changed = {f"{by_name[event.node]}.{key}": value for key, value in event.parameters.items()}
        events.append(replace(event, node=CONTROL_LOOP, parameters=changed))
    others = [node for node in scenario.nodes if node not in stages]
    said = {name: CONTROL_LOOP if stage == GATE else stage for name, stage in by_name.items()}  # on /diagnostics
    expected = replace(scenario.expected, errors=tuple(said.get(name, name) for name in scenario.expected.errors))
    return replace(scenario, nodes=(one, *others), events=tuple(events), expected=expected)


def stage_nodes(names: Sequence[str]) -> tuple[NodeSpec, ...]:
    """Return nodes of the suite by the names of their executables, with default parameters.

    Args:
        names: in the order in which the stages process a sample.

    Raises:
        ConfigError: there is no such executable, or one is given twice.
    """
    packages = stage_packages()
    for name in names:
        if name not in packages:
            raise ConfigError(f"there is no stage '{name}'; stages: {', '.join(packages)}")
    if len(set(names)) != len(names):
        raise ConfigError(f"a stage is given twice: {', '.join(names)}")
    return tuple(NodeSpec(packages[name], name, name, {}, {}) for name in names)


def command_mode(scenario: Scenario) -> str:
    """Return the command mode of the gate of a scenario: ``effort``, ``velocity`` or ``position``."""
    default = next(row.default for row in parameters_of(GATE) if row.name == "command_mode")
    gates = [node for node in scenario.nodes if node.executable == GATE]
    return str(gates[0].parameters.get("command_mode", default)) if gates else str(default)


def _of_one_process(stages: Sequence[NodeSpec], parameters: Mapping[str, Any], scenario: Scenario) -> dict[str, str]:
    """Return the remappings of stages in one process; remappings of references between stages have no effect there."""
    robot, found = scenario.robot, {}
    whole = node_ports(CONTROL_LOOP, parameters, robot.description, robot.tool_frame)
    assert whole is not None  # the table contains it
    read, written = ({port.topic for port in ports} for ports in (whole.inputs, whole.outputs))
    for node in stages:
        own = node_ports(node.executable, node.parameters, robot.description, robot.tool_frame)
        given = {output.topic for output in own.outputs} if own is not None else set()
        for old, new in node.remappings.items():
            inner = f"{node.executable}/{old}"
            if inner in written:
                found[inner] = new
            elif old in read or (old in given and old in written):
                found[old] = new
    return found


def _complete(node: NodeSpec, scenario: Scenario, use_sim_time: bool, lockstep: bool) -> NodeSpec:
    """Add to a node the parameters that the run defines; parameters given for the node itself take precedence."""
    parameters = _common_parameters(scenario)
    if scenario.robot.joint_limits is not None:
        parameters["joint_limits"] = scenario.robot.joint_limits.resolve().as_uri()
    if node.executable in WATCHFUL:
        parameters |= {"use_sim_time": use_sim_time, "lockstep": lockstep}
    if node.executable == VIBRATION:
        parameters |= _vibration_parameters(scenario)
    if node.executable == BENDING:
        parameters |= _bending_parameters(scenario)
    waits = node.executable == CONTROL_LOOP or any(row.name == "sensor_wait" for row in parameters_of(node.executable))
    if lockstep and waits:
        parameters["sensor_wait"] = LOCKSTEP_WAIT  # in lockstep the plant waits anyway
    if node.executable == CONTROL_LOOP:  # parameters of the stages in the loop
        parameters |= {"use_sim_time": use_sim_time} | {f"{name}.lockstep": lockstep for name in WATCHFUL}
        parameters |= {f"{VIBRATION}.{name}": value for name, value in _vibration_parameters(scenario).items()}
        parameters |= {f"{BENDING}.{name}": value for name, value in _bending_parameters(scenario).items()}
    parameters |= _timing(node, scenario, lockstep)
    return replace(node, parameters=parameters | node.parameters)


def _timing(node: NodeSpec, scenario: Scenario, lockstep: bool) -> dict[str, Any]:
    """Return rate and delay of the run for each stage with such a parameter: gains are checked for these values.

    Outside lockstep a command acts one period after its sample; the controller of a flexible arm must take this delay
    into account to be stable.

    Raises:
        ConfigError: a stage has another rate, or a shorter delay, than the run.
    """
    one, delay = node.executable == CONTROL_LOOP, _sensor_delay(scenario)
    own: Mapping[str, Any] = node.parameters
    stages = [str(name) for name in own.get("stages", ())] if one else [node.executable]
    parameters: dict[str, Any] = {}
    for stage in stages:
        has = {row.name for row in parameters_of(stage)}
        period = 1.0 / scenario.rate if stage == BENDING and not lockstep else 0.0
        for name, value in (("rate", scenario.rate), ("delay", delay + period)):
            key = f"{stage}.{name}" if one else name
            given = own.get(key, value)
            if name not in has:
                continue
            if name == "rate" and float(given) != value:
                raise ConfigError(
                    f"{stage}.rate is {given:g} Hz, but the run's rate is {value:g} Hz: leave it out there"
                )
            if name == "delay" and float(given) < value:
                raise ConfigError(
                    f"{stage}.delay is {given:g} s, but the delay of this run is {value:g} s: leave it out"
                )
            parameters[key] = value
    return parameters


def _sensor_delay(scenario: Scenario) -> float:
    """Return the delay of the plant's joint states [s]; 0 if no delay is given."""
    signals = ("joint_position", "joint_velocity", "deflection", "deflection_rate")
    delays = [scenario.plant.get(f"sensors.{signal}.delay", 0.0) for signal in signals]
    return max(float(delay) for delay in delays if isinstance(delay, (int, float)))


def _vibration_parameters(scenario: Scenario) -> dict[str, Any]:
    """Return what the vibration controller needs to check its gains at configuration: start position and tool axes."""
    parameters = _start_parameters(scenario)
    leaders = [node for node in scenario.nodes if node.executable in TOOL_LEADERS]
    if [node.executable for node in leaders] == ["reference_generator"]:
        given = leaders[0].parameters
        axes = given.get("axes")
        if given.get("space", "tool") in ("tool", "twist") and isinstance(axes, list):
            parameters |= {"axes": axes, "frame": given.get("frame", "")}
    return parameters


def _bending_parameters(scenario: Scenario) -> dict[str, Any]:
    """Return the start position and estimator parameters, with which the flexible-arm controller checks its gains."""
    parameters = _start_parameters(scenario)
    for node in scenario.nodes:
        if node.executable in (ESTIMATOR, CONTROL_LOOP):
            before = f"{ESTIMATOR}." if node.executable == CONTROL_LOOP else ""
            given = {name: node.parameters.get(before + name) for name in CHECKED}
            parameters |= {f"estimator.{name}": value for name, value in given.items() if value is not None}
    return parameters


def _start_parameters(scenario: Scenario) -> dict[str, Any]:
    start = scenario.plant.get("initial_position")
    return {"start_position": [float(value) for value in start]} if isinstance(start, list) else {}


def _common_parameters(scenario: Scenario) -> dict[str, Any]:
    robot = scenario.robot
    return {
        "robot_description": robot.description.text,
        "tool_frame": robot.tool_frame,
        "gravity": list(scenario.gravity),
    }


def _plant_parameters(scenario: Scenario) -> dict[str, Any]:
    parameters = _common_parameters(scenario) | {"rate": scenario.rate, "lockstep": scenario.mode == "lockstep"}
    if scenario.plant_robot is not None:
        parameters["plant_description"] = scenario.plant_robot.description.text
    if scenario.pushes:
        parameters |= {
            "pushes.links": [push.link for push in scenario.pushes],
            "pushes.starts": [push.start for push in scenario.pushes],
            "pushes.durations": [push.duration for push in scenario.pushes],
            "pushes.forces": [value for push in scenario.pushes for value in push.force],
            "pushes.torques": [value for push in scenario.pushes for value in push.torque],
            "pushes.shapes": [push.shape for push in scenario.pushes],
        }
    return parameters
