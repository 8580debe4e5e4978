"""Which SROS 2 permissions each node needs: `python -m flexarm_nodes.docs.permissions FILE [--policy POLICY]`.

FILE is docs/permissions.md, made from the ports of the nodes, as they are with the parameters that they have by
default, on an arm with every sensor. POLICY is a policy file for `ros2 security create_permission`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from flexarm_core.hardware_gate.config import COMMAND_MODES
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.uri import resolve_uri
from flexarm_nodes.node import topics
from flexarm_nodes.node.ports import Ports, merged
from flexarm_nodes.registry import NODES, parameters_of, ports_of

LIFECYCLE = ("change_state", "get_state", "get_available_states", "get_available_transitions", "get_transition_graph")
PARAMETERS = (
    *("describe_parameters", "get_parameters", "get_parameter_types", "list_parameters", "set_parameters"),
    "set_parameters_atomically",
)
TYPES = ("get_type_description",)
OWN: dict[str, tuple[str, ...]] = {  # services beside those that every node has
    "hardware_gate": (topics.RESET_GATE,),
    "control_loop": (topics.RESET_GATE,),
    "ik_redundancy_solver": (topics.SOLVE_IK,),
    "behavior_impedance_controller": (topics.SET_BEHAVIORS, topics.ZERO_WRENCH),
    "base_wrench_torque_estimator": (topics.ZERO_WRENCH,),
    "simulated_plant": (topics.ADVANCE_SIMULATION, topics.GO_ON, topics.APPLY_PUSH),
}
ACTIONS: dict[str, tuple[str, ...]] = {
    "joint_trajectory_follower": (topics.FOLLOW_JOINT_TRAJECTORY,),
    "ik_redundancy_solver": (topics.FOLLOW_CARTESIAN_PATH,),
    "behavior_impedance_controller": (topics.CALIBRATE_TOOL_WRENCH,),
    "base_wrench_torque_estimator": (topics.CALIBRATE_BASE_WRENCH,),
}
ARM = "package://flexarm/urdf/boom_7r.urdf.xacro"  # has every kind of sensor
SIMULATED = "simulated_plant"
OPERATOR = "operator"
BROADCASTERS = "ros2_control"
EVERY_PUBLISHES = ("diagnostics", "rosout", "parameter_events", "~/transition_event")
EVERY_SUBSCRIBES = ("clock", topics.ROBOT_DESCRIPTION, *(topic.lstrip("/") for topic in (topics.TF, topics.TF_STATIC)))


@dataclass(frozen=True, slots=True)
class Permissions:
    """Permissions of a node; names before remapping, ``~/`` stands for the node's own name.

    Attributes:
        publishes: topics.
        subscribes: topics.
        serves: services that it offers.
        calls: services that it calls.
        acts: actions that it offers.
        asks: actions that it sends goals to.
    """

    publishes: tuple[str, ...] = ()
    subscribes: tuple[str, ...] = ()
    serves: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    acts: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()


def permissions(executable: str, ports: Ports) -> Permissions:
    """Return the permissions of a node of the suite with these ports."""
    gate = executable in ("hardware_gate", "control_loop")
    manager = ("controller_manager/list_controllers", "controller_manager/switch_controller") if gate else ()
    outputs = {output.topic.lstrip("/") for output in ports.outputs} | set(EVERY_PUBLISHES)
    inputs = {port.topic.lstrip("/") for port in ports.inputs} | set(EVERY_SUBSCRIBES)
    return Permissions(
        publishes=tuple(sorted(outputs)),
        subscribes=tuple(sorted(inputs | ({"controller_manager/activity"} if gate else set()))),
        serves=(*OWN.get(executable, ()), *(f"~/{name}" for name in (*LIFECYCLE, *PARAMETERS, *TYPES))),
        calls=manager,
        acts=ACTIONS.get(executable, ()),
    )


def table(description: RobotDescription) -> dict[str, Permissions]:
    """Return the permissions of every node of the suite beside those of a simulation, of ros2_control and an operator.

    The control loop has those of its stages, with the gate's; the operator alone changes states and parameters.
    """
    found = {}
    for name in NODES:
        if name in (SIMULATED, "control_loop"):
            continue
        moded = "command_mode" in {row.name for row in parameters_of(name)}
        given = [{"command_mode": mode} for mode in COMMAND_MODES] if moded else [{}]
        found[name] = permissions(name, merged(filter(None, (ports_of(name, one, description, "") for one in given))))
    sensors = {topic for name, one in found.items() for topic in one.subscribes if topic.endswith(("_wrench", "_imu"))}
    found[BROADCASTERS] = Permissions(
        publishes=tuple(sorted({topics.JOINT_STATES, "controller_manager/activity", *sensors})),
        subscribes=tuple(topics.command_topic(mode) for mode in COMMAND_MODES),
        serves=found["hardware_gate"].calls,
    )
    own = [f"{name}/{service.removeprefix('~/')}" for name, one in found.items() for service in one.serves
           if name != BROADCASTERS]  # fmt: skip
    goals = [f"{name}/{action.removeprefix('~/')}" if action.startswith("~/") else action
             for name, one in found.items() for action in one.acts]  # fmt: skip
    found[OPERATOR] = Permissions(
        publishes=(topics.BEHAVIOR_SET, topics.TWIST_COMMAND), calls=tuple(own), asks=tuple(goals)
    )
    return found


def markdown(rows: Mapping[str, Permissions]) -> str:
    """Return the page."""
    parts = [HEAD]
    for name, one in rows.items():
        shown = {
            "publishes": [topic for topic in one.publishes if topic not in EVERY_PUBLISHES],
            "subscribes to": [topic for topic in one.subscribes if topic not in EVERY_SUBSCRIBES],
            "offers": [service for service in one.serves if not _is_every(service)] + list(one.acts),
            "calls": [*one.calls, *one.asks] if name != OPERATOR else [*_short(one.calls), *one.asks],
        }
        cells = (", ".join(f"`{item}`" for item in items) for items in shown.values())
        parts.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join([*parts, ""])


def _is_every(service: str) -> bool:
    return service.removeprefix("~/") in (*LIFECYCLE, *PARAMETERS, *TYPES)


def _short(calls: tuple[str, ...]) -> list[str]:
    """Return the services of an operator, those that every node has only once."""
    every = [f"*/{name}" for name in (*LIFECYCLE, *PARAMETERS, *TYPES)]
    return [call for call in calls if f"*/{call.rpartition('/')[2]}" not in every] + every


def policy(rows: Mapping[str, Permissions]) -> str:
    """Return a policy file of SROS 2, with an enclave for each node; everything that is not in it is denied."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<policy version="0.2.0">', "  <enclaves>"]
    for name, one in rows.items():
        lines += [f'    <enclave path="/{name}">', "      <profiles>", f'        <profile ns="/" node="{name}">']
        for kind, item, verb, names in (
            ("topics", "topic", "publish", one.publishes),
            ("topics", "topic", "subscribe", one.subscribes),
            ("services", "service", "reply", one.serves),
            ("services", "service", "request", one.calls),
            ("actions", "action", "execute", one.acts),
            ("actions", "action", "call", one.asks),
        ):
            if names:
                lines.append(f"          <{kind} {verb}={quoteattr('ALLOW')}>")
                lines += [f"            <{item}>{each}</{item}>" for each in names]
                lines.append(f"          </{kind}>")
        lines += ["        </profile>", "      </profiles>", "    </enclave>"]
    return "\n".join([*lines, "  </enclaves>", "</policy>", ""])


HEAD = f"""# Permissions

This page lists the [SROS 2](https://docs.ros.org/en/jazzy/Concepts/Intermediate/About-Security.html) permissions that
each node needs. `python -m flexarm_nodes.docs.permissions docs/permissions.md` generates it from the topics, services
and actions that the nodes declare. With `--policy FILE` this command also writes a policy file that denies everything
else. A test compares the table with running nodes. The table has the names before remapping, relative to the namespace;
replace them by the remapped names of your scenario.

In addition to the names in its row, every node publishes
{", ".join(f"`{name}`" for name in EVERY_PUBLISHES)}, subscribes to
{", ".join(f"`{name}`" for name in EVERY_SUBSCRIBES)} and offers its own
{", ".join(f"`~/{name}`" for name in (*LIFECYCLE, *PARAMETERS, *TYPES))}.

Three rules decide who can move the arm: only the gate publishes commands, only ros2_control's broadcasters publish
joint states, and only an operator changes states and parameters and resets the gate. Tools that start a run
(`flexarm run`, launch files) are operators; viewers and recorders only need to subscribe. A `control_loop` needs the
permissions of its stages and of the gate.

| node | publishes | subscribes to | offers | calls |
|---|---|---|---|---|"""


def main() -> None:
    """Write the page, and with ``--policy`` the policy."""
    rows = table(parse_robot_description(load_robot_description(resolve_uri(ARM))))
    Path(sys.argv[1]).write_text(markdown(rows), encoding="utf-8")
    if sys.argv[2:3] == ["--policy"]:
        Path(sys.argv[3]).write_text(policy(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
