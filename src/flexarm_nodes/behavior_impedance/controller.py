"""Node behavior_impedance_controller: DECIDE stage, behaviors and the tool wrench -> tool and joint references.

Behaviors are set by parameters, by behavior sets on a topic, and by a service; they change between two samples.
"""

from __future__ import annotations

from typing import Any, ClassVar

from flexarm_core.robot.arm_model import ArmModel
from flexarm_nodes.behavior_impedance.parameters import BEHAVIOR_PARAMETERS, declare_behaviors
from flexarm_nodes.behavior_impedance.setup import built_behaviors
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import run
from flexarm_nodes.node.built_stage import BuiltStage
from flexarm_nodes.node.stage_node import StageNode


class BehaviorImpedanceNode(StageNode):
    """Reads joint states, tool wrenches and behaviors; publishes references that respect all limits."""

    NAME = "behavior_impedance_controller"
    HEARS = ("tool",)
    TOPICS: ClassVar[dict[str, str]] = {"tool": topics.PATH_REFERENCE}
    PARAMETERS = BEHAVIOR_PARAMETERS
    MASSLESS = True

    def build_stage(self, values: dict[str, Any], model: ArmModel) -> BuiltStage:
        """Build the behaviors from parameters; the settings of each behavior are declared here, as its kind defines."""
        declare_behaviors(self.table, values)
        return built_behaviors(self.table.values(), model)


def main() -> None:
    """Entry point."""
    run(BehaviorImpedanceNode)
