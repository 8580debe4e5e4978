"""The stages and the plant of a scenario in this process, as control_loop and simulated_plant build them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flexarm_core.pipeline.pipeline import Pipeline
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.hardware_gate.gate import HardwareGateNode
from flexarm_nodes.hardware_gate.parameters import gate_stage
from flexarm_nodes.node.built_stage import BuiltStage
from flexarm_nodes.node.parameters import ARM_PARAMETERS, Parameter, row_values
from flexarm_nodes.plant.parameters import PLANT_PARAMETERS, build_plant
from flexarm_nodes.registry import GATE, stage_kinds
from flexarm_sim.plant import Plant
from flexarm_tools.run.composition import compose_simulation
from flexarm_tools.scenario.scenario import Scenario


class Table:
    """A parameter table without a node, for the rows that depend on other parameters."""

    def __init__(self, rows: tuple[Parameter, ...], given: dict[str, Any]) -> None:
        self.rows, self._given = rows, given

    def declare(self, rows: Any) -> None:
        known = {row.name for row in self.rows}
        self.rows = (*self.rows, *(row for row in rows if row.name not in known))

    def remove(self, names: Any) -> None:
        self.rows = tuple(row for row in self.rows if row.name not in names)

    def give(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Change parameters; returns all of them."""
        self._given |= values
        return self.values()

    def values(self) -> dict[str, Any]:
        return row_values(self.rows, {name: _plain(value) for name, value in self._given.items()})


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def built_pipeline(scenario: Scenario) -> tuple[Pipeline, list[BuiltStage], ArmModel]:
    """The pipeline of a scenario whose stages are nodes of their own, and its stages as they are built."""
    pipeline, built, model = changeable_pipeline(scenario)
    return pipeline, [one for one, _ in built.values()], model


def changeable_pipeline(scenario: Scenario) -> tuple[Pipeline, dict[str, tuple[BuiltStage, Table]], ArmModel]:
    """The same, with the table of the parameters of each stage, by its name."""
    nodes = {node.name: dict(node.parameters) for node in compose_simulation(scenario).nodes[1:]}
    given = nodes[GATE]
    gate = Table((*ARM_PARAMETERS, *HardwareGateNode.PARAMETERS), given).values()
    model = ArmModel(scenario.robot.description, gate["tool_frame"], tuple(gate["gravity"]))
    known = stage_kinds()
    built: dict[str, tuple[BuiltStage, Table]] = {}
    for name, parameters in nodes.items():
        if name != GATE:
            table = Table((*ARM_PARAMETERS, *known[name].parameters), parameters)
            known[name].later_rows(table, table.values())  # type: ignore[arg-type]
            built[name] = known[name].built(table.values(), model), table
    return Pipeline([one.stage for one, _ in built.values()], gate_stage(gate, model)), built, model


def built_plant(scenario: Scenario, known: RobotDescription) -> Plant:
    """The plant of a scenario."""
    given = compose_simulation(scenario).nodes[0].parameters
    values = Table((*ARM_PARAMETERS, *PLANT_PARAMETERS), dict(given)).values()
    return build_plant(values, known)
