"""The nodes of the suite by executable: the only list. A node is imported at its first use.

A package adds a stage with an entry point of the group ``flexarm.stages``. The name of the entry point is that of the
stage and of its executable, and its object is the StageKind::

    [options.entry_points]
    flexarm.stages =
        notch_filter = my_package.notch_filter:NOTCH_FILTER
    console_scripts =
        notch_filter = flexarm_nodes.start:notch_filter
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # start.py looks here before anything heavy is imported
    from flexarm_core.robot.description import RobotDescription
    from flexarm_nodes.node.arm_node import ArmNode
    from flexarm_nodes.node.parameters import Parameter
    from flexarm_nodes.node.ports import Ports
    from flexarm_nodes.node.stage.kind import StageKind

GROUP = "flexarm.stages"
GATE, CONTROL_LOOP = "hardware_gate", "control_loop"
STAGES = {  # in the usual order; where their kinds are within flexarm_nodes, and the node class of the gate
    "flexible_dynamics_estimator": "flexible_dynamics.estimator:KIND",
    "base_odometry": "base_odometry.stage:KIND",
    "reference_generator": "references.stage:KIND",
    "joint_trajectory_follower": "joint_trajectory.stage:KIND",
    "behavior_impedance_controller": "behavior_impedance.stage:KIND",
    "ik_redundancy_solver": "ik_redundancy.stage:KIND",
    "reactionless_path_controller": "reaction_null_space.reactionless_path_controller:KIND",
    "rns_vibration_controller": "reaction_null_space.vibration_controller:KIND",
    "flexible_dynamics_controller": "flexible_dynamics.controller:KIND",
    "base_wrench_torque_estimator": "base_wrench.stage:KIND",
    GATE: "hardware_gate.gate:HardwareGateNode",
}
NODES = STAGES | {  # and the classes of the other nodes
    "control_loop": "control_loop.loop:ControlLoop",
    "simulated_plant": "plant.plant:SimulatedPlant",
    "state_markers": "markers.state:StateMarkers",
}


def find(name: str) -> StageKind | type[ArmNode] | None:
    """Return the kind of a stage, of the suite or added, or the class of another node; None: it is unknown."""
    if name not in NODES:
        return added_stages()[0].get(name)
    module, _, found = NODES[name].partition(":")
    loaded: StageKind | type[ArmNode] = getattr(import_module(f"flexarm_nodes.{module}"), found)
    return loaded


def node_maker(name: str) -> Callable[[], ArmNode]:
    """Return what creates a node, imported."""
    from flexarm_core.errors import ConfigError
    from flexarm_nodes.node.stage.kind import StageKind
    from flexarm_nodes.node.stage.node import StageNode

    found = find(name)
    if found is None:
        raise ConfigError("; ".join(added_stages()[1]) or f"there is no stage '{name}'")
    return partial(StageNode, found) if isinstance(found, StageKind) else found


def parameters_of(name: str) -> tuple[Parameter, ...]:
    """Return the parameter table of a node, empty for one that is unknown."""
    from flexarm_nodes.node.stage.kind import StageKind

    found = find(name)
    if found is None:
        return ()
    return found.parameters if isinstance(found, StageKind) else found.PARAMETERS


def ports_of(name: str, values: Mapping[str, Any], description: RobotDescription, tool: str) -> Ports | None:
    """Return the topics that a node uses with parameters, for a robot and its tool link; None: it is unknown.

    Args:
        name: executable.
        values: parameters by name; missing ones have their defaults.
        description: robot as described to the node.
        tool: tool link; empty: the default of the description.

    Raises:
        FlexarmError: an added stage rejects its parameters.
    """
    from flexarm_nodes.node.stage.kind import StageKind

    found = find(name)
    if found is None or isinstance(found, StageKind):
        return None if found is None else found.ports(values, description, tool)
    return found.ports({row.name: row.default for row in found.PARAMETERS} | dict(values), description, tool)


def stage_kinds() -> dict[str, StageKind]:
    """Return the stages of the suite but the gate, in their usual order, then those that other packages add."""
    from flexarm_nodes.node.stage.kind import StageKind

    found = {name: kind for name in STAGES if isinstance(kind := find(name), StageKind)}
    return found | added_stages()[0]


@cache
def added_stages() -> tuple[dict[str, StageKind], tuple[str, ...]]:
    """Return the stages that other packages add, by name, and which entry points cannot be used, with the reasons.

    One that cannot be loaded does not harm the others.
    """
    from flexarm_nodes.node.parameters import row_values
    from flexarm_nodes.node.stage.kind import StageKind

    kinds: dict[str, StageKind] = {}
    faults = []
    for point in entry_points(group=GROUP):
        where = f"stage '{point.name}' of {point.value}"
        try:
            loaded = point.load()
            if isinstance(loaded, StageKind):
                row_values(loaded.parameters, {})  # invalid defaults would keep every control_loop from starting
        except Exception as error:  # importing an external module may raise anything
            faults.append(f"{where} cannot be loaded: {type(error).__name__}: {error}")
            continue
        if not isinstance(loaded, StageKind):
            faults.append(f"{where} is no flexarm StageKind")
        elif point.name in NODES:
            faults.append(f"{where} has the name of a node of flexarm")
        elif loaded.name != point.name:
            faults.append(f"{where} is named '{loaded.name}'")
        elif kinds.setdefault(point.name, loaded) is not loaded:
            faults.append(f"{where} has the name of another one")
    return kinds, tuple(faults)
