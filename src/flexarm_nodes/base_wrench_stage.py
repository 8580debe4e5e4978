"""BaseWrenchStage: estimator and controller of one arm as parameters ask for them, and what they made of a sample."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from flexarm_core.base_wrench.controller import BaseWrenchController
from flexarm_core.base_wrench.estimator import BaseWrenchEstimator
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, BaseWrenchEstimate, BaseWrenchSample, JointReference
from flexarm_nodes.base_wrench_inputs import StampedSample
from flexarm_nodes.base_wrench_parameters import (
    calibration_config,
    calibration_run_config,
    controller_config,
    estimator_config,
    gravity_table,
    sensed_bodies,
)

CALIBRATED = ("wrench_bias", "gravity_links", "gravity_masses", "gravity_first_moments")


class BaseWrenchStage:
    """One tick of the node without its messages.

    Attributes:
        model: of the arm.
        controller: that answers references.
        estimator: replaced by a new one when a calibration is taken.
        table: that is looked up in; None: gravity comes from the model.
        state: (position, filtered velocity, base) of the newest estimate; None before any.
        estimate: the newest; None before any.
    """

    def __init__(self, values: dict[str, Any], model: ArmModel) -> None:
        """Build both; two dummy samples load the compiled code.

        Raises:
            FlexarmError: a parameter has no meaning for this arm.
        """
        self.model, self.table = model, gravity_table(values, model)
        self.controller = BaseWrenchController(model, controller_config(values))
        self.estimator = self._build_estimator(values)
        self._values = values
        self.change(values)
        still, none = np.zeros(model.n), np.zeros(model.m)
        for stamp in (0, 1_000_000):
            self.update(StampedSample(BaseWrenchSample(stamp, still, still, still, np.zeros(6), none, none, none), ()))
            self.control(JointReference(stamp, still))
        self.reset()

    def _build_estimator(self, values: dict[str, Any]) -> BaseWrenchEstimator:
        gravity = (values["gravity"][0], values["gravity"][1], values["gravity"][2])
        dynamics = SensorDynamics(sensed_bodies(values, self.model), gravity)
        return BaseWrenchEstimator(self.model, dynamics, estimator_config(values), self.table)

    def change(self, values: dict[str, Any]) -> None:
        """Take changed parameters, all or none; a new bias or other masses begin the estimator anew.

        Raises:
            FlexarmError: one has no meaning.
        """
        config = controller_config(values)
        calibration_config(values, "bias")
        calibration_run_config(values, self.model)
        if any(values[name] != self._values[name] for name in CALIBRATED):
            self.estimator = self._build_estimator(values)
        self.controller.config, self._values = config, values

    def reset(self) -> None:
        """Forget earlier samples."""
        self.estimator.reset()
        self.controller.reset()
        self.state: ArmState | None = None
        self.estimate: BaseWrenchEstimate | None = None
        self._wrench: Array | None = None

    @property
    def sign(self) -> float:
        """1 where the sensor reads the wrench of the robot on its base, -1 for the base on the robot."""
        return 1.0 if self._values["wrench_convention"] == "robot_on_base" else -1.0

    @property
    def raw_wrench(self) -> Array | None:
        """Newest wrench (6,) of the robot on its base with the sensor's bias; None: there is none to believe."""
        if self._wrench is None or self.estimate is None or not self.estimate.valid:
            return None
        return self.sign * self._wrench

    def update(self, stamped: StampedSample) -> BaseWrenchEstimate:
        """Estimate of a sample.

        Raises:
            InputError: it is not usable.
        """
        sample = stamped.sample
        estimate = self.estimator.update(sample)
        if stamped.left_out:
            estimate = replace(estimate, left_out=stamped.left_out)
        self.state = ArmState(
            sample.stamp, sample.position, self.estimator.velocity, sample.deflection, sample.deflection_rate
        )
        self._wrench, self.estimate = sample.wrench, estimate
        return estimate

    def control(self, reference: JointReference) -> JointReference:
        """Motor efforts that answer a reference of the newest estimate's stamp.

        Raises:
            InputError: the reference is not usable.
        """
        assert self.state is not None and self.estimate is not None
        return self.controller.update(self.state, reference, self.estimate, self.estimator.gravity_change)
