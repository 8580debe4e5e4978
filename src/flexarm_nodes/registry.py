"""The nodes of the suite by executable: the only list. A node is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flexarm_nodes.node.arm_node import ArmNode

STAGES = {  # in the usual order; where their node classes are within flexarm_nodes
    "flexible_dynamics_estimator": "flexible_dynamics.estimator:FlexibleDynamicsEstimator",
    "reference_generator": "references.generator:ReferenceGenerator",
    "behavior_impedance_controller": "behavior_impedance.controller:BehaviorImpedanceNode",
    "ik_redundancy_solver": "ik_redundancy.solver:IkRedundancySolver",
    "reactionless_path_controller": "reaction_null_space.reactionless_path_controller:ReactionlessPathController",
    "rns_vibration_controller": "reaction_null_space.vibration_controller:RnsVibrationController",
    "flexible_dynamics_controller": "flexible_dynamics.controller:FlexibleDynamicsController",
    "base_wrench_torque_estimator": "base_wrench.torque_estimator:BaseWrenchTorqueEstimator",
    "hardware_gate": "hardware_gate.gate:HardwareGateNode",
}
NODES = STAGES | {
    "control_loop": "control_loop.loop:ControlLoop",
    "simulated_plant": "plant.plant:SimulatedPlant",
    "state_markers": "markers.state:StateMarkers",
}


def node_class(name: str) -> type[ArmNode]:
    """Return the class of a node by its executable."""
    module, _, found = NODES[name].partition(":")
    loaded: type[ArmNode] = getattr(import_module(f"flexarm_nodes.{module}"), found)
    return loaded
