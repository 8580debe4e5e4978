"""BehaviorInterfaces: behaviors of one arm built from parameters, with their services, topics and status."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexarm_core.behavior_impedance.avoidance.arm_shape import build_arm_shape
from flexarm_core.behavior_impedance.behavior import Arm
from flexarm_core.behavior_impedance.config import ImpedanceConfig
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.behavior_impedance.warm_up import load_compiled
from flexarm_core.behavior_impedance.wrench.external_wrench import ExternalWrench
from flexarm_core.errors import FlexarmError
from flexarm_core.file_folder import FileFolder
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.pipeline.behavior_stage import BehaviorStage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_nodes.behavior_impedance.calibration import ToolWrenchCalibration
from flexarm_nodes.behavior_impedance.parameters import mapping_config, measured_map, tool_wrench
from flexarm_nodes.behavior_impedance.report import BehaviorReport
from flexarm_nodes.behavior_impedance.requests import BehaviorRequests
from flexarm_nodes.behavior_impedance.sets import BehaviorSets
from flexarm_nodes.ik_redundancy.parameters import motion_limits
from flexarm_nodes.node.built_stage import Status
from flexarm_nodes.node.interfaces import Interfaces
from flexarm_nodes.node.parameters import record_of


class BehaviorInterfaces(Interfaces):
    """Owns the objects that parameters, behavior sets and samples act on.

    Attributes:
        controller: impedance controller.
        sets: set of active behaviors.
        stage: stage that processes samples.
        report: topics that report on it.
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
        arm = Arm(chain, shape, motion_limits(values, chain), values["length_scale"], FileFolder(values["file_folder"]))
        self.controller = BehaviorImpedanceController(arm, record_of(ImpedanceConfig, values), mapping_config(values))
        self.sets = BehaviorSets(self.controller, values)
        sensor, tool = tool_wrench(values, model.description, chain)
        self.stage = BehaviorStage(
            model,
            self.controller,
            self.sets,
            ExternalWrench(sensor, tool, model, np.array(values["gravity"])),
            leads=values["output"] == "joints",
            state_timeout=values["state_timeout"],
            measured_map=measured_map(values, arm),
        )
        self.report = BehaviorReport(self.stage)
        self._take(values)
        load_compiled(arm)

    @property
    def waits(self) -> bool:
        """Whether behavior sets wait for their sample."""
        return self.sets.waits

    def open(self) -> None:
        """Create the subscriptions, services and actions of the behaviors."""
        self._requests = BehaviorRequests(self, self.stage, self.sets)
        self._calibration = ToolWrenchCalibration(self, self.stage)

    def close(self) -> None:
        """Destroy them."""
        self._requests.close()
        self._calibration.close()

    def end(self) -> None:
        """End a calibration of the sensor."""
        self._calibration.end()

    def status(self, tick: Tick) -> Status:
        """Return the status for the newest sample; a defect of a behavior is logged."""
        if self.stage.defect:
            self.node.get_logger().error(self.stage.defect)
        return self.report.judge()

    def change(self, values: dict[str, Any]) -> None:
        """Apply changed parameters, all or none.

        Raises:
            FlexarmError: a change is not possible.
        """
        controller = self.controller
        law, mapping = controller.config, controller.solver.config
        try:
            if record_of(ImpedanceConfig, values) != law:
                controller.set_config(record_of(ImpedanceConfig, values))
            if mapping_config(values) != mapping:
                controller.solver.set_config(mapping_config(values))
            self.sets.change(values)
        except FlexarmError:
            if controller.config != law:
                controller.set_config(law)
            if controller.solver.config != mapping:
                controller.solver.set_config(mapping)
            raise
        self._take(values)

    def _take(self, values: dict[str, Any]) -> None:
        self.stage.wrenches.timeout = values["wrench_timeout"]
        self.stage.deviation.tolerance = values["deviation_tolerance"]
        self.report.change(values)
