"""Wiring table: topics that each node of the suite reads and writes, depending on its parameters and the robot.

A test starts the nodes and compares the table with their actual subscriptions and publishers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from flexarm_core.behavior_impedance.wrench.tool_wrench import tool_sensors
from flexarm_core.flexible_dynamics.deflected_arm import DeflectedArm
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.base_wrench.parameters import BASE_MOTIONS
from flexarm_nodes.behavior_impedance.parameters import NO_SENSOR
from flexarm_nodes.control_loop.loop import USUAL
from flexarm_nodes.docs.parameters import TABLES
from flexarm_nodes.node import topics
from flexarm_nodes.node.parameters import ARM_PARAMETERS, Parameter, row_values
from flexarm_nodes.node.stage_kind import STAGES, StageKind, added_stages
from flexarm_nodes.node.stage_node import STREAMS
from flexarm_tools.scenario.scenario import NodeSpec
from flexarm_tools.wiring.ports import Input, Output, Ports, Role, Use

JOINTS, TOOL = "JointReference", "CartesianReference"
PLANT, GATE, CONTROL_LOOP = "simulated_plant", "hardware_gate", "control_loop"
DRAWN = "behavior_impedance_controller"  # the stage whose markers a control loop publishes


Values = Mapping[str, Any]
MOTION = frozenset({"position", "velocity", "acceleration"})
BY_POSITION = (frozenset({"position"}),)
STATES = Input(topics.JOINT_STATES, "JointState")


def node_ports(
    executable: str, parameters: Values, description: RobotDescription, tool_frame: str = ""
) -> Ports | None:
    """Return the ports of a node of the suite or of an added stage, None for an executable that is neither.

    Args:
        executable: executable of the package ``flexarm``.
        parameters: by name, nested names joined with dots; missing parameters have their defaults.
        description: robot as described to the node.
        tool_frame: tool link; empty: the default of the description.

    Raises:
        RobotDescriptionError: the robot does not have the tool link, or no chain of joints leads to the tool.
    """
    if executable == CONTROL_LOOP:
        return _control_loop(parameters, description, tool_frame)
    if executable not in _NODES:
        kind = added_stages().kinds.get(executable)
        return None if kind is None else _added(kind, parameters, description, tool_frame)
    values = {row.name: row.default for row in TABLES[executable]} | dict(parameters)
    return _NODES[executable](values, description, tool_frame)


def spec_ports(spec: NodeSpec, parameters: Values, description: RobotDescription, tool_frame: str = "") -> Ports | None:
    """Return :func:`node_ports` of a node with other parameters, None for executables of unknown packages."""
    kind = added_stages().kinds.get(spec.executable)
    if spec.package != "flexarm" and (kind is None or kind.package != spec.package):
        return None
    return node_ports(spec.executable, parameters, description, tool_frame)


def stage_packages() -> dict[str, str]:
    """Return the package of each stage by its executable: those of the suite in their order, then the added ones."""
    return dict.fromkeys(STAGES, "flexarm") | {name: kind.package for name, kind in added_stages().kinds.items()}


def rows_of(executable: str) -> tuple[Parameter, ...]:
    """Return the parameter table of a node, empty for an executable that is unknown."""
    kind = added_stages().kinds.get(executable)
    return TABLES.get(executable, ()) if kind is None else kind.parameters


def ros2_control_ports(description: RobotDescription, command_mode: str) -> Ports:
    """Return the ports that replace the plant's on a real arm: broadcasters and the forward command controller."""
    return Ports((_commands(command_mode),), (Output(topics.JOINT_STATES, "JointState"), *_sensors(description)))


def _reference_generator(values: Values, description: RobotDescription, tool: str) -> Ports:
    joints = values["space"] in ("joints", "plan")
    led, other = (Role.SILENT, Role.LEADS) if joints else (Role.LEADS, Role.SILENT)
    state = _base_state(values)
    return Ports(
        (STATES, replace(state, use=Use.IGNORED, because=f"space '{values['space']}'") if joints else state),
        (
            Output(topics.CARTESIAN_REFERENCE, TOOL, led),
            Output(topics.DESIRED_JOINT_REFERENCE, JOINTS, other, MOTION),
        ),
    )


def _behaviors(values: Values, description: RobotDescription, tool: str) -> Ports:
    streams = any(
        values.get(f"{name}.kind") == "path" and values.get(f"{name}.source") == "stream"
        for name in values["behaviors"]
    )
    sensor = values["wrench_sensor"]
    if not sensor:
        found = tool_sensors(description, build_chain(description, description.tool_frame(tool)))
        sensor = found[0] if len(found) == 1 else NO_SENSOR
    wrench = () if sensor == NO_SENSOR else (Input(topics.wrench_topic(sensor), "WrenchStamped"),)
    joints = values["output"] == "joints"
    return Ports(
        (
            STATES,
            Input(topics.BEHAVIOR_SET, "BehaviorSet", Use.HEARD),
            Input(topics.TWIST_COMMAND, "TwistStamped", Use.HEARD),
            Input(
                topics.PATH_REFERENCE,
                TOOL,
                Use.NEEDED if streams else Use.IGNORED,
                f"{'a' if streams else 'no'} behavior of kind path with source 'stream'",
            ),
            *wrench,
        ),
        (
            Output(topics.JOINT_REFERENCE, JOINTS, Role.LEADS if joints else Role.SILENT, MOTION),
            Output(topics.CARTESIAN_REFERENCE, TOOL, Role.REPORTS if joints else Role.LEADS),
            Output(topics.SET_POINT, TOOL),
            Output(topics.BEHAVIOR_STATUS, "BehaviorStatus"),
            _MARKERS,
        ),
    )


def _redundancy(values: Values, description: RobotDescription, tool: str) -> Ports:
    leads = values["output"] == "reference"
    use = Use.NEEDED if values["source"] == "stream" else Use.HEARD
    because = f"source '{values['source']}'" if leads else "output 'trajectory'"
    return Ports(
        (STATES, Input(topics.CARTESIAN_REFERENCE, TOOL, use if leads else Use.IGNORED, because)),
        (
            Output(topics.JOINT_REFERENCE, JOINTS, Role.LEADS if leads else Role.SILENT, MOTION),
            Output(topics.REDUNDANCY_STATE, "RedundancyState"),
            Output(topics.CONTROLLER_TRAJECTORY, "JointTrajectory", Role.SILENT if leads else Role.LEADS),
        ),
    )


def _vibration(values: Values, description: RobotDescription, tool: str) -> Ports:
    task, because = values["task"], f"task '{values['task']}'"
    led = task == "tool_path" and values["posture_gain"] > 0.0 and values["posture"] == "desired_joint_reference"
    gives = frozenset({"acceleration", "effort"})
    return Ports(
        (
            STATES,
            _base_state(values),
            Input(topics.CARTESIAN_REFERENCE, TOOL, _needed(task == "tool_path"), because),
            Input(topics.DESIRED_JOINT_REFERENCE, JOINTS, _needed(task == "joint_path" or led), because, BY_POSITION),
        ),
        (
            Output(
                topics.JOINT_REFERENCE,
                JOINTS,
                Role.LEADS,
                MOTION | gives if values["realization"] == "joint_servo" else gives,
            ),
            Output(topics.BASE_REACTION, "BaseReaction"),
            _MARKERS,
        ),
    )


def _reactionless(values: Values, description: RobotDescription, tool: str) -> Ports:
    return Ports(
        (STATES, _base_state(values)),
        (
            Output(topics.JOINT_REFERENCE, JOINTS, Role.LEADS, frozenset({"position", "velocity"})),
            Output(topics.DESIRED_JOINT_REFERENCE, JOINTS),
            Output(topics.BASE_REACTION, "BaseReaction"),
            _MARKERS,
        ),
    )


def _flexible_estimator(values: Values, description: RobotDescription, tool: str) -> Ports:
    inputs = [STATES]
    for name in description.force_torque_sensors:
        if name == values["contact_sensor"]:
            inputs.append(Input(topics.wrench_topic(name), "WrenchStamped", because="contact_sensor"))
        elif values["correct"] and values["use_wrench"]:
            inputs.append(Input(topics.wrench_topic(name), "WrenchStamped", because="use_wrench"))
    if values["correct"] and values["use_imu"]:
        inputs += [Input(topics.imu_topic(name), "Imu", because="use_imu") for name in description.imus]
    if values["correct"] and values["use_strain"] and description.strain_gauges:
        inputs.append(Input(topics.STRAIN, "StrainState", because="use_strain"))
    if values["subtract_friction"]:
        inputs.append(Input(topics.JOINT_REFERENCE, JOINTS, Use.FEEDBACK, "subtract_friction"))
    return Ports(tuple(inputs), (Output(topics.FLEXIBLE_STATE, "FlexibleState"),))


def _flexible_controller(values: Values, description: RobotDescription, tool: str) -> Ports:
    law, source = values["law"], f"reference '{values['reference']}'"
    sampled = values["reference"] == "desired_joint_reference"
    wanted = (frozenset({"acceleration"}),) if law == "accelerations" else BY_POSITION
    return Ports(
        (
            STATES,
            Input(topics.FLEXIBLE_STATE, "FlexibleState", _needed(law != "joint_pd"), f"law '{law}'"),
            Input(topics.DESIRED_JOINT_REFERENCE, JOINTS, _needed(sampled), source, wanted),
            Input(topics.JOINT_TRAJECTORY, "JointTrajectory", Use.IGNORED if sampled else Use.HEARD, source),
        ),
        (Output(topics.JOINT_REFERENCE, JOINTS, Role.LEADS, MOTION | {"effort"}),),
    )


def _base_wrench(values: Values, description: RobotDescription, tool: str) -> Ports:
    control, motion = values["control"], values["base_motion"]
    inputs = [
        STATES,
        Input(
            topics.DESIRED_JOINT_REFERENCE,
            JOINTS,
            _needed(control),
            f"control {str(control).lower()}",
            (frozenset({"effort"}), frozenset({"position"})),
        ),
        Input(topics.wrench_topic(values["sensor"]), "WrenchStamped", because=f"sensor '{values['sensor']}'"),
    ]
    if motion == BASE_MOTIONS[2]:
        inputs.append(Input(topics.FLEXIBLE_STATE, "FlexibleState", because=f"base_motion '{motion}'"))
    gives, role = frozenset({"effort", "friction"}), Role.LEADS if control else Role.SILENT
    return Ports(
        tuple(inputs),
        (
            Output(topics.BASE_WRENCH_ESTIMATE, "BaseWrenchEstimate"),
            Output(topics.JOINT_REFERENCE, JOINTS, role, gives, passes=True),
            _MARKERS,
        ),
    )


def _gate(values: Values, description: RobotDescription, tool: str) -> Ports:
    mode = values["command_mode"]
    wanted = Input(topics.JOINT_REFERENCE, JOINTS, Use.NEEDED, f"command_mode '{mode}'", (frozenset({mode}),))
    return Ports(
        (STATES, _base_state(values), wanted),
        (
            Output(topics.command_topic(mode), "Float64MultiArray", Role.LEADS),
            Output(topics.COMMANDED_REFERENCE, JOINTS),
        ),
    )


def _state_markers(values: Values, description: RobotDescription, tool: str) -> Ports:
    sensor = DeflectedArm(description, tool).base_sensor
    wrench = [Input(topics.wrench_topic(sensor), "WrenchStamped", Use.HEARD)] if sensor else []
    return Ports(
        (
            STATES,
            Input(topics.FLEXIBLE_STATE, "FlexibleState", Use.HEARD),
            Input(topics.TRUE_FLEXIBLE_STATE, "FlexibleState", Use.HEARD),
            Input(topics.CARTESIAN_REFERENCE, TOOL, Use.IGNORED, "it is only drawn"),
            Input(topics.BASE_REACTION, "BaseReaction", Use.HEARD),
            *wrench,
        ),
        (_MARKERS,),
    )


def _plant(values: Values, description: RobotDescription, tool: str) -> Ports:
    outputs = [
        Output(topics.CLOCK, "Clock"),
        Output(topics.JOINT_STATES, "JointState"),
        Output(topics.SIMULATION_STATUS, "SimulationStatus"),
        Output(topics.TRUE_JOINT_STATES, "JointState"),
        Output(topics.TRUE_TOOL_POSE, "PoseStamped"),
        Output(topics.TRUE_TOOL_POSE_IN_BASE, "PoseStamped"),
        *_sensors(description),
    ]
    if description.flexible_links or description.elastic:
        outputs.append(Output(topics.TRUE_FLEXIBLE_STATE, "FlexibleState"))
    if values["surfaces.names"]:
        outputs.append(Output(topics.TRUE_CONTACT_WRENCH, "WrenchStamped"))
    if any(value for name, value in values.items() if name.startswith("friction.")):
        outputs.append(Output(topics.TRUE_JOINT_FRICTION, "JointState"))
    by_joints = Input(topics.JOINT_COMMANDS, "JointState", because="command_source 'joint_commands'")
    commands = by_joints if values["command_source"] == "joint_commands" else _commands(values["command_mode"])
    return Ports((commands,), tuple(outputs))


def _added(kind: StageKind, parameters: Values, description: RobotDescription, tool: str) -> Ports:
    """Return the ports of a stage of another package, as the built stage declares them."""
    values = row_values((*ARM_PARAMETERS, *kind.parameters), parameters)
    built = kind.built(values, ArmModel(description, tool, tuple(values["gravity"])))
    inputs = [Input(STREAMS[name][1], STREAMS[name][0].__name__) for name in kind.reads if name in built.stage.needs]
    named = {"wrench": (topics.wrench_topic, "WrenchStamped"), "imu": (topics.imu_topic, "Imu")}
    for sensor, name in built.sensors:
        topic, message = named.get(sensor, (lambda _: topics.STRAIN, "StrainState"))
        inputs.append(Input(topic(name), message))
    if getattr(built.stage, "source", "") == topics.FLEXIBLE_STATE and "flexible" not in kind.reads:
        inputs.append(Input(topics.FLEXIBLE_STATE, "FlexibleState"))
    if built.before:
        inputs.append(Input(topics.JOINT_REFERENCE, JOINTS, Use.FEEDBACK))
    outputs = []
    for out in built.outputs:
        leads = Role.LEADS if out.kind.__name__ in (JOINTS, TOOL) else Role.REPORTS
        outputs.append(Output(out.topic, out.kind.__name__, leads, kind.gives, passes=out.kind.__name__ == JOINTS))
    return Ports((STATES, *inputs), tuple(outputs))


def _control_loop(parameters: Values, description: RobotDescription, tool: str) -> Ports:
    """Return the ports of stages in one process: references between stages are published for information only."""
    stages = parameters.get("stages", USUAL)
    ports: dict[str, Ports] = {}
    for name in stages:
        own = {key.removeprefix(f"{name}."): value for key, value in parameters.items() if key.startswith(f"{name}.")}
        known = node_ports(name, own, description, tool)
        if known is not None:
            ports[name] = known
    last = {  # stage that keeps the topic name of a reference: the last that writes it
        output.topic: name
        for name, each in ports.items()
        for output in each.outputs
        if output.kind in (JOINTS, TOOL) and output.role is not Role.SILENT
    }
    inputs: dict[str, Input] = {}
    outputs: list[Output] = []
    given: set[str] = set()  # kinds of references and estimates from the previous stages
    for name, each in ports.items():
        for port in each.inputs:
            if port.kind in given or port.use in (Use.IGNORED, Use.FEEDBACK):
                continue
            between = port.kind in (JOINTS, TOOL, "FlexibleState")
            topic = f"~/{port.topic}" if between else port.topic  # other nodes do not publish on topics between stages
            inputs[topic] = replace(port, topic=topic, because=f"stage {name}: {port.because}")
        for output in each.outputs:
            drawn = output == _MARKERS
            if output.role is Role.SILENT or (drawn and name != DRAWN):
                continue
            inner = drawn or last.get(output.topic, name) != name
            topic = f"{name}/{output.topic.removeprefix('~/')}" if inner else output.topic
            outputs.append(replace(output, topic=topic, role=output.role if name == GATE else Role.REPORTS))
            given |= {output.kind} if output.kind in (JOINTS, TOOL, "FlexibleState") else set()
    return Ports(tuple(inputs.values()), tuple(outputs))


_NODES: dict[str, Callable[[Values, RobotDescription, str], Ports]] = {
    PLANT: _plant,
    "reference_generator": _reference_generator,
    "behavior_impedance_controller": _behaviors,
    "ik_redundancy_solver": _redundancy,
    "rns_vibration_controller": _vibration,
    "reactionless_path_controller": _reactionless,
    "flexible_dynamics_estimator": _flexible_estimator,
    "flexible_dynamics_controller": _flexible_controller,
    "base_wrench_torque_estimator": _base_wrench,
    GATE: _gate,
    "state_markers": _state_markers,
}
_MARKERS = Output(topics.MARKERS, "MarkerArray")


def _needed(used: bool) -> Use:
    return Use.NEEDED if used else Use.IGNORED


def _base_state(values: Values) -> Input:
    source = values["base_state_source"]
    return Input(
        topics.FLEXIBLE_STATE, "FlexibleState", _needed(source == "flexible_state"), f"base_state_source '{source}'"
    )


def _commands(mode: str) -> Input:
    return Input(topics.command_topic(mode), "Float64MultiArray", because=f"command_mode '{mode}'")


def _sensors(description: RobotDescription) -> list[Output]:
    return [
        *(Output(topics.wrench_topic(name), "WrenchStamped") for name in description.force_torque_sensors),
        *(Output(topics.imu_topic(name), "Imu") for name in description.imus),
        *([Output(topics.STRAIN, "StrainState")] if description.strain_gauges else []),
    ]


def writers_of(topic: str) -> tuple[str, ...]:
    """Return the executables of the suite that can publish a topic with suitable parameters, without sensors."""
    named = {
        topics.CARTESIAN_REFERENCE: ("reference_generator", "behavior_impedance_controller"),
        topics.PATH_REFERENCE: ("reference_generator",),
        topics.DESIRED_JOINT_REFERENCE: ("reference_generator",),
        topics.JOINT_REFERENCE: STAGES[2:-1],
        topics.FLEXIBLE_STATE: ("flexible_dynamics_estimator",),
        topics.JOINT_STATES: (PLANT,),
    }
    gate = (GATE,) if topic.endswith("/commands") else ()
    return named.get(topic, gate)
