"""Build the stages of a pipeline from parameters; each stage uses the parameter table of its own node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flexarm_core.errors import ConfigError
from flexarm_core.pipeline.gate_stage import GateStage
from flexarm_core.robot.arm_model import ArmModel
from flexarm_nodes.base_wrench.parameters import BASE_WRENCH_PARAMETERS
from flexarm_nodes.base_wrench.stage import built_base_wrench
from flexarm_nodes.behavior_impedance.parameters import BEHAVIOR_PARAMETERS, declare_behaviors
from flexarm_nodes.behavior_impedance.setup import built_behaviors
from flexarm_nodes.flexible_dynamics.controller import FlexibleDynamicsController
from flexarm_nodes.flexible_dynamics.estimator import FlexibleDynamicsEstimator
from flexarm_nodes.flexible_dynamics.parameters import built_controller
from flexarm_nodes.flexible_dynamics.stages import built_estimator
from flexarm_nodes.hardware_gate.gate import HardwareGateNode
from flexarm_nodes.hardware_gate.parameters import hardware_gate
from flexarm_nodes.ik_redundancy.parameters import IK_PARAMETERS
from flexarm_nodes.ik_redundancy.setup import RedundancySetup, built_redundancy
from flexarm_nodes.node.built_stage import BuiltStage, Values
from flexarm_nodes.node.parameters import Parameter
from flexarm_nodes.node.stage_kind import added_stages
from flexarm_nodes.node.stage_table import StageTable
from flexarm_nodes.reaction_null_space.reactionless_parameters import REACTIONLESS_PARAMETERS, built_reactionless
from flexarm_nodes.reaction_null_space.vibration_controller import RnsVibrationController
from flexarm_nodes.reaction_null_space.vibration_parameters import built_vibration
from flexarm_nodes.references.generator import ReferenceGenerator
from flexarm_nodes.references.parameters import built_reference


def _flexible_controller(values: Values, model: ArmModel) -> BuiltStage:
    if values["reference"] != "desired_joint_reference":
        raise ConfigError("in a control_loop flexible_dynamics_controller.reference must be desired_joint_reference")
    return built_controller(values, model)


def _redundancy(values: Values, model: ArmModel) -> BuiltStage:
    if values["source"] != "stream" or values["output"] != "reference":
        raise ConfigError("in a control_loop ik_redundancy_solver.source must be stream, and its output reference")
    return built_redundancy(RedundancySetup(values, model), model)  # paths are planned in the stage's own node only


def build_gate(values: Values, model: ArmModel) -> GateStage:
    """Return the last stage before the hardware."""
    return GateStage(hardware_gate(values, model), values["base_state_source"])


Builder = tuple[tuple[Parameter, ...], Callable[[Values, ArmModel], BuiltStage]]  # parameter table, and what builds it
BUILDERS: dict[str, Builder] = {
    "flexible_dynamics_estimator": (FlexibleDynamicsEstimator.PARAMETERS, built_estimator),
    "reference_generator": (ReferenceGenerator.PARAMETERS, built_reference),
    "behavior_impedance_controller": (BEHAVIOR_PARAMETERS, built_behaviors),
    "ik_redundancy_solver": (IK_PARAMETERS, _redundancy),
    "reactionless_path_controller": (REACTIONLESS_PARAMETERS, built_reactionless),
    "rns_vibration_controller": (RnsVibrationController.PARAMETERS, built_vibration),
    "flexible_dynamics_controller": (FlexibleDynamicsController.PARAMETERS, _flexible_controller),
    "base_wrench_torque_estimator": (BASE_WRENCH_PARAMETERS, built_base_wrench),
}
GATE_PARAMETERS = HardwareGateNode.PARAMETERS
# For stages whose parameters depend on other parameters: declares the further rows from the present values.
LATER_ROWS: dict[str, Callable[[StageTable, dict[str, Any]], None]] = {
    "behavior_impedance_controller": declare_behaviors,
}


def builders() -> dict[str, Builder]:
    """Return BUILDERS and the stages that other packages add."""
    return {name: (kind.parameters, kind.built) for name, kind in added_stages().kinds.items()} | BUILDERS
