"""Node classes of the suite by executable."""

from __future__ import annotations

from flexarm_nodes.base_wrench.torque_estimator import BaseWrenchTorqueEstimator
from flexarm_nodes.behavior_impedance.controller import BehaviorImpedanceNode
from flexarm_nodes.control_loop.loop import ControlLoop
from flexarm_nodes.flexible_dynamics.controller import FlexibleDynamicsController
from flexarm_nodes.flexible_dynamics.estimator import FlexibleDynamicsEstimator
from flexarm_nodes.hardware_gate.gate import HardwareGateNode
from flexarm_nodes.ik_redundancy.solver import IkRedundancySolver
from flexarm_nodes.markers.state import StateMarkers
from flexarm_nodes.node.arm_node import ArmNode
from flexarm_nodes.plant.plant import SimulatedPlant
from flexarm_nodes.reaction_null_space.reactionless_path_controller import ReactionlessPathController
from flexarm_nodes.reaction_null_space.vibration_controller import RnsVibrationController
from flexarm_nodes.references.generator import ReferenceGenerator

NODES: dict[str, type[ArmNode]] = {
    "simulated_plant": SimulatedPlant,
    "reference_generator": ReferenceGenerator,
    "behavior_impedance_controller": BehaviorImpedanceNode,
    "ik_redundancy_solver": IkRedundancySolver,
    "rns_vibration_controller": RnsVibrationController,
    "reactionless_path_controller": ReactionlessPathController,
    "flexible_dynamics_estimator": FlexibleDynamicsEstimator,
    "flexible_dynamics_controller": FlexibleDynamicsController,
    "base_wrench_torque_estimator": BaseWrenchTorqueEstimator,
    "hardware_gate": HardwareGateNode,
    "state_markers": StateMarkers,
    "control_loop": ControlLoop,
}
