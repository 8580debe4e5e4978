"""BaseWrenchStage: the stage of one arm built from parameters, for the node and for a control loop."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from flexarm_core.base_wrench.controller import BaseWrenchController
from flexarm_core.base_wrench.estimator import BaseWrenchEstimator
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.errors import InputError
from flexarm_core.pipeline.base_wrench_stage import BaseWrenchStage as CoreStage
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, BaseWrenchEstimate, BaseWrenchSample, JointReference
from flexarm_nodes.base_wrench.inputs import StampedSample
from flexarm_nodes.base_wrench.parameters import (
    calibration_config,
    calibration_run_config,
    controller_config,
    estimator_config,
    gravity_table,
    sensed_bodies,
)

CALIBRATED = ("wrench_bias", "gravity_links", "gravity_masses", "gravity_first_moments")
REST = 1e-2  # [rad/s | m/s] velocity below which a joint counts as at rest
KEPT = 200  # number of samples at rest that are averaged


class BaseWrenchZero:
    """Averages the residual wrench, which the model does not explain, while the arm is at rest without contact."""

    def __init__(self) -> None:
        """Start without samples."""
        self.reset()

    def reset(self) -> None:
        """Discard earlier samples."""
        self._residuals: deque[Array] = deque(maxlen=KEPT)
        self._why_not = "no joint state has come yet"

    def take(self, estimate: BaseWrenchEstimate, velocity: Array) -> None:
        """Take an estimate and the joint velocities (n,) at its stamp [rad/s | m/s]."""
        speed = float(np.abs(velocity).max())
        if not estimate.valid:
            self._why_not = f"there is no valid reading: {', '.join(estimate.left_out)}"
        elif speed > REST:
            self._why_not = f"the arm moves at {speed:.3f} rad/s or m/s; it must be at rest, below {REST}"
        elif estimate.contact:
            self._why_not = "something touches the arm, or the bias is too large to tell it from a contact: calibrate"
        else:
            self._why_not = ""
            self._residuals.append(estimate.residual_wrench)
            return
        self._residuals.clear()

    def residual(self) -> Array:
        """Return the mean residual wrench (6,) since the arm is at rest, robot on base, sensor frame [N, N*m].

        Raises:
            InputError: the arm is not at rest, there is a contact, or there is no reading.
        """
        if self._why_not:
            raise InputError(self._why_not)
        mean: Array = np.mean(self._residuals, axis=0)
        return mean


class BaseWrenchStage:
    """Processing of one sample, without messages.

    Attributes:
        model: arm model.
        controller: computes motor efforts for references.
        core: stage of a pipeline; its estimator is replaced when a calibration is applied.
        table: gravity table; None: gravity is computed from the model.
        zero: residual wrench at rest, since the last change of the estimator.
    """

    def __init__(self, values: dict[str, Any], model: ArmModel) -> None:
        """Build estimator and controller; two dummy samples load the compiled code.

        Raises:
            FlexarmError: a parameter is invalid for this arm.
        """
        self.model, self.table = model, gravity_table(values, model)
        self.controller = BaseWrenchController(model, controller_config(values))
        estimator = self._build_estimator(values)
        self.core = CoreStage(
            estimator,
            self.controller,
            estimator.bodies.sensor,
            base_motion=values["base_motion"],
            base_bandwidth=values["acceleration_bandwidth"],
            measured_effort=values["effort_source"] == "joint_states",
        )
        self.zero = BaseWrenchZero()
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
        """Apply changed parameters, all or none; a new bias or new masses restart the estimator.

        Raises:
            FlexarmError: an invalid value.
        """
        config = controller_config(values)
        calibration_config(values, "bias")
        calibration_run_config(values, self.model)
        if any(values[name] != self._values[name] for name in CALIBRATED):
            self.core.estimator = self._build_estimator(values)
            self.zero.reset()
        self.controller.config, self._values = config, values

    def reset(self) -> None:
        """Discard earlier samples."""
        self.core.reset()
        self.zero.reset()
        self._wrench: Array | None = None

    @property
    def estimator(self) -> BaseWrenchEstimator:
        """Present estimator."""
        return self.core.estimator

    @property
    def state(self) -> ArmState | None:
        """(position, filtered velocity, base) of the newest estimate; None before the first."""
        return self.core.state

    @property
    def estimate(self) -> BaseWrenchEstimate | None:
        """Newest estimate; None before the first."""
        return self.core.newest

    @property
    def sign(self) -> float:
        """1 if the sensor measures the wrench of the robot on its base, -1 for the base on the robot."""
        return 1.0 if self._values["wrench_convention"] == "robot_on_base" else -1.0

    @property
    def raw_wrench(self) -> Array | None:
        """Newest wrench (6,) of the robot on its base, including the sensor's bias; None if it is not valid."""
        if self._wrench is None or self.estimate is None or not self.estimate.valid:
            return None
        return self.sign * self._wrench

    def update(self, stamped: StampedSample) -> BaseWrenchEstimate:
        """Return the estimate of a sample.

        Raises:
            InputError: the sample is not usable.
        """
        self._wrench = stamped.sample.wrench
        estimate = self.core.estimate(stamped.sample, stamped.left_out)
        self.zero.take(estimate, self.estimator.velocity)
        return estimate

    def bias_at_rest(self) -> Array:
        """Return the sensor's bias (6,) with which the mean residual wrench at rest would be zero [N, N*m].

        Raises:
            InputError: as of :meth:`BaseWrenchZero.residual`.
        """
        return self.estimator.bias + self.sign * self.zero.residual()

    def control(self, reference: JointReference) -> JointReference:
        """Return the motor efforts for a reference with the stamp of the newest estimate.

        Raises:
            InputError: the reference is not usable.
        """
        return self.core.answer(reference)
