"""Stages that a pipeline can contain, as their own nodes declare and build them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from flexarm_core.pipeline.gate_stage import GateStage
from flexarm_core.robot.arm_model import ArmModel
from flexarm_nodes.hardware_gate.gate import HardwareGateNode
from flexarm_nodes.hardware_gate.parameters import hardware_gate
from flexarm_nodes.node.built_stage import BuiltStage, Values
from flexarm_nodes.node.input.references import STREAMS
from flexarm_nodes.node.parameters import Parameter, ParameterTable
from flexarm_nodes.node.stage.kind import added_stages
from flexarm_nodes.node.stage.node import StageNode
from flexarm_nodes.node.stage.table import StageTable
from flexarm_nodes.registry import STAGES, node_class

GATE_PARAMETERS = HardwareGateNode.PARAMETERS


@dataclass(frozen=True, slots=True)
class StageBuilder:
    """What builds a stage.

    Attributes:
        parameters: parameter table.
        build: builds the stage from its parameters for an arm; raises FlexarmError to reject them.
        hears: topics of the references that the stage may need, by their names.
        later_rows: declares the parameters that depend on other parameters, from the present values.
    """

    parameters: tuple[Parameter, ...]
    build: Callable[[Values, ArmModel], BuiltStage]
    hears: Mapping[str, str]
    later_rows: Callable[[ParameterTable | StageTable, Values], None] = StageNode.later_rows


def builders() -> dict[str, StageBuilder]:
    """Return the stages of the suite, and those that other packages add, by name."""
    added = {
        name: StageBuilder(kind.parameters, kind.built, {one: STREAMS[one][1] for one in kind.reads})
        for name, kind in added_stages().kinds.items()
    }
    nodes = [node for node in map(node_class, STAGES) if issubclass(node, StageNode)]
    return added | {
        node.NAME: StageBuilder(
            node.PARAMETERS,
            node.build_stage,
            {one: STREAMS[one][1] for one in node.HEARS} | node.TOPICS,
            node.later_rows,
        )
        for node in nodes
    }


def build_gate(values: Values, model: ArmModel) -> GateStage:
    """Return the last stage before the hardware."""
    return GateStage(hardware_gate(values, model), values["base_state_source"])
