"""Writes a page from parameter tables: `python -m flexarm_nodes.docs.parameters FILE [STAGE...]`.

Without stages it is docs/parameters.md with the nodes of the suite; with them, a page on stages of other packages.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from flexarm_core.behavior_impedance.registry import OWN
from flexarm_nodes.base_wrench.torque_estimator import BaseWrenchTorqueEstimator
from flexarm_nodes.behavior_impedance.controller import BehaviorImpedanceNode
from flexarm_nodes.behavior_impedance.parameters import kind_row, setting_rows
from flexarm_nodes.control_loop.loop import ControlLoop
from flexarm_nodes.flexible_dynamics.controller import FlexibleDynamicsController
from flexarm_nodes.flexible_dynamics.estimator import FlexibleDynamicsEstimator
from flexarm_nodes.hardware_gate.gate import HardwareGateNode
from flexarm_nodes.ik_redundancy.solver import IkRedundancySolver
from flexarm_nodes.markers.state import StateMarkers
from flexarm_nodes.node.parameters import ARM_PARAMETERS, Parameter
from flexarm_nodes.node.stage_kind import added_stages
from flexarm_nodes.plant.plant import SimulatedPlant
from flexarm_nodes.reaction_null_space.reactionless_path_controller import ReactionlessPathController
from flexarm_nodes.reaction_null_space.vibration_controller import RnsVibrationController
from flexarm_nodes.references.generator import ReferenceGenerator

TABLES = {
    "every node": ARM_PARAMETERS,
    "simulated_plant": SimulatedPlant.PARAMETERS,
    "reference_generator": ReferenceGenerator.PARAMETERS,
    "behavior_impedance_controller": BehaviorImpedanceNode.PARAMETERS,
    "behaviors": (kind_row("<name>"),),
    **{f"behaviors of kind {kind.KIND}": setting_rows("<name>", kind) for kind in OWN},
    "ik_redundancy_solver": IkRedundancySolver.PARAMETERS,
    "rns_vibration_controller": RnsVibrationController.PARAMETERS,
    "reactionless_path_controller": ReactionlessPathController.PARAMETERS,
    "flexible_dynamics_estimator": FlexibleDynamicsEstimator.PARAMETERS,
    "flexible_dynamics_controller": FlexibleDynamicsController.PARAMETERS,
    "base_wrench_torque_estimator": BaseWrenchTorqueEstimator.PARAMETERS,
    "hardware_gate": HardwareGateNode.PARAMETERS,
    "state_markers": StateMarkers.PARAMETERS,
    "control_loop (beside those of its stages, under their names)": ControlLoop.PARAMETERS,
}
HEAD = """# Parameters

Made from the nodes' parameter tables by `python -m flexarm_nodes.docs.parameters docs/parameters.md`; a test holds both
equal. *Live* parameters may change while the node is active and take effect with the next sample; the others are read
when the node is configured.
"""


def markdown(tables: Mapping[str, tuple[Parameter, ...]] = TABLES, head: str = HEAD) -> str:
    """Return the page for parameter tables by node."""
    parts = [head]
    for name, rows in tables.items():
        parts.append(f"## {name}\n\n| parameter | type | default | unit | range | live | meaning |\n{'|---' * 7}|")
        parts += [_row(row) for row in rows]
        parts.append("")
    return "\n".join(parts)


def _row(row: Parameter) -> str:
    allowed = ", ".join(row.choices)
    if row.lower is not None or row.upper is not None:
        allowed = (
            f"{'-inf' if row.lower is None else f'{row.lower:g}'} to {'inf' if row.upper is None else f'{row.upper:g}'}"
        )
    default = f"`{row.default}`" if row.default != "" else ""
    unit, meaning = row.unit.replace("|", "or"), row.description.replace("|", "\\|")
    return f"| `{row.name}` | {row.kind} | {default} | {unit} | {allowed} | {'yes' if row.live else ''} | {meaning} |"


if __name__ == "__main__":
    added = {name: added_stages().kinds[name].parameters for name in sys.argv[2:]}
    page = markdown(added, "# Parameters\n") if added else markdown()
    Path(sys.argv[1]).write_text(page, encoding="utf-8")
