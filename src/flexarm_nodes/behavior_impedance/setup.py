"""BehaviorSetup: behaviors of one arm built from parameters, for the node and for a control loop."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexarm_core.behavior_impedance.avoidance.arm_shape import build_arm_shape
from flexarm_core.behavior_impedance.behavior import Arm
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.behavior_impedance.warm_up import load_compiled
from flexarm_core.errors import FlexarmError
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.pipeline.behavior_stage import BehaviorStage
from flexarm_core.robot.arm_model import ArmModel
from flexarm_nodes.behavior_impedance.parameters import impedance_config, mapping_config, tool_wrench
from flexarm_nodes.behavior_impedance.sets import BehaviorSets
from flexarm_nodes.ik_redundancy.parameters import motion_limits
from flexarm_nodes.node.wrench_input import WrenchInput


class BehaviorSetup:
    """Owns the objects that parameters, behavior sets and samples act on.

    Attributes:
        controller: impedance controller.
        sets: set of active behaviors.
        wrenches: external wrench of the tool.
        stage: stage that processes samples.
    """

    def __init__(self, values: dict[str, Any], model: ArmModel) -> None:
        """Build all objects, and load the compiled code.

        Args:
            values: parameters, including those of every behavior.
            model: arm model.

        Raises:
            FlexarmError: a parameter is invalid for this arm.
        """
        chain = build_chain(model.description, model.tool_frame)
        shape = build_arm_shape(model.description, chain, values["link_radius"])
        arm = Arm(chain, shape, motion_limits(values, chain), values["length_scale"])
        self.controller = BehaviorImpedanceController(arm, impedance_config(values), mapping_config(values))
        self.sets = BehaviorSets(self.controller, values)
        sensor, tool = tool_wrench(values, model.description, chain)
        self.wrenches = WrenchInput(sensor, tool, model, np.array(values["gravity"]))
        self.stage = BehaviorStage(
            model,
            self.controller,
            self.sets,
            self.wrenches,
            leads=values["output"] == "joints",
            state_timeout=values["state_timeout"],
        )
        self._take_limits(values)
        load_compiled(arm)

    def change(self, values: dict[str, Any]) -> None:
        """Apply changed parameters, all or none.

        Raises:
            FlexarmError: a change is not possible.
        """
        controller = self.controller
        law, mapping = controller.config, controller.solver.config
        try:
            if impedance_config(values) != law:
                controller.set_config(impedance_config(values))
            if mapping_config(values) != mapping:
                controller.solver.set_config(mapping_config(values))
            self.sets.change(values)
        except FlexarmError:
            if controller.config != law:
                controller.set_config(law)
            if controller.solver.config != mapping:
                controller.solver.set_config(mapping)
            raise
        self._take_limits(values)

    def _take_limits(self, values: dict[str, Any]) -> None:
        self.wrenches.timeout = values["wrench_timeout"]
        self.stage.deviation.tolerance = values["deviation_tolerance"]
