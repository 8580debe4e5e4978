"""BaseWrenchController: computes motor efforts that compensate friction from joint reference and estimate."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from flexarm_core.base_wrench.position_loop import PositionLoop, PositionLoopConfig
from flexarm_core.base_wrench.torque_loop import TorqueLoop, TorqueLoopConfig
from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, BaseWrenchEstimate, JointReference, all_finite

LONGEST_GAP = 0.1  # longest time between two samples; after a longer gap the torque loop is reset [s]


@dataclass(frozen=True, slots=True)
class BaseWrenchControllerConfig:
    """Settings of both loops.

    Attributes:
        position_loop: settings of the position loop, which is used if the reference has no effort.
        torque_loop: settings of the inner torque loop.
    """

    position_loop: PositionLoopConfig = field(default_factory=PositionLoopConfig)
    torque_loop: TorqueLoopConfig = field(default_factory=TorqueLoopConfig)


class BaseWrenchController:
    """Position loop -> desired torque -> torque loop -> motor effort (patent 003, abstract; MATHS.md section 4)."""

    def __init__(self, model: ArmModel, config: BaseWrenchControllerConfig) -> None:
        """Bind the controller to an arm."""
        self.model = model
        self._position = PositionLoop(model, config.position_loop)
        self._torque = TorqueLoop(model.effort_limit, config.torque_loop)
        self.reset()

    @property
    def config(self) -> BaseWrenchControllerConfig:
        """Settings; new settings take effect at the next sample, without a jump of the efforts."""
        return BaseWrenchControllerConfig(self._position.config, self._torque.config)

    @config.setter
    def config(self, config: BaseWrenchControllerConfig) -> None:
        self._position.config, self._torque.config = config.position_loop, config.torque_loop

    @property
    def weight(self) -> float:
        """Fraction of the correction of the torque loop that is applied, 0 to 1."""
        return self._torque.weight

    def reset(self) -> None:
        """Discard earlier samples."""
        self._position.reset()
        self._torque.reset()
        self._stamp: int | None = None

    def update(
        self,
        state: ArmState,
        reference: JointReference,
        estimate: BaseWrenchEstimate,
        gravity_change: Array | None = None,
    ) -> JointReference:
        """Compute the motor efforts for one sample.

        Args:
            state: measured state, with the filtered velocities of the estimator.
            reference: reference with the same stamp. Its effort is the desired torque at the links; if it has no
                effort, the position loop follows its position.
            estimate: estimate with the same stamp.
            gravity_change: (n,) calibrated gravity efforts minus those of the robot description, added to the output of
                the position loop; None: zero [N*m | N].

        Returns:
            The reference with the motor effort and, as ``friction``, the part of it that compensates friction.

        Raises:
            InputError: input is missing or invalid; the controller is then unchanged.
        """
        for what, stamp in (("reference", reference.stamp), ("estimate", estimate.stamp)):
            if stamp != state.stamp:
                raise InputError(f"{what} is of {stamp * 1e-9:.6f} s, the state of {state.stamp * 1e-9:.6f} s")
        self.model.check_state(state)
        if estimate.friction.shape != (self.model.n,):
            raise InputError(f"estimate: friction has shape {estimate.friction.shape}, expected ({self.model.n},)")
        desired = self._desired(state, reference, gravity_change)
        dt = self._torque.config.period if self._stamp is None else (state.stamp - self._stamp) * 1e-9
        if not 0.0 < dt <= LONGEST_GAP:
            self._torque.reset()
            dt = self._torque.config.period
        self._stamp = state.stamp
        beyond = None
        if estimate.valid and (all_finite(estimate.friction) or not np.isnan(estimate.friction).all()):
            # the desired effort already contains the viscous damping of the model
            beyond = estimate.friction - self.model.D_m * state.velocity
        friction = self._torque.update(beyond, dt)
        effort = self._position.saturated(desired + friction)
        return JointReference(
            state.stamp, reference.position, reference.velocity, reference.acceleration, effort, friction
        )

    def _desired(self, state: ArmState, reference: JointReference, gravity_change: Array | None) -> Array:
        if reference.effort is None:
            desired = self._position.update(state, reference)
            return desired if gravity_change is None else desired + gravity_change
        if reference.effort.shape != (self.model.n,) or not all_finite(reference.effort):
            raise InputError(f"joint reference: effort is {reference.effort}, expected {self.model.n} finite numbers")
        return reference.effort
