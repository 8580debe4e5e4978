"""BaseWrenchController: computes motor efforts that compensate friction from joint reference and estimate."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple, NoReturn

import numpy as np

from flexarm_core.base_wrench.position_loop import PositionLoop, PositionLoopConfig
from flexarm_core.base_wrench.torque_loop import TorqueLoop, TorqueLoopConfig, compensate, view_loop
from flexarm_core.compiled import kernel, pack, views
from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, BaseWrenchEstimate, JointReference

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


class Constants(NamedTuple):
    """Of the arm."""

    m: int  # number of elastic joints
    viscous: Annotated[Array, "n"]  # viscous damping


class Inputs(NamedTuple):
    """Of a sample."""

    desired: Annotated[Array, "n"]  # effort [N*m | N]
    friction: Annotated[Array, "n"]  # measured, NaN where it is not known [N*m | N]
    velocity: Annotated[Array, "n"]
    # only checked
    position: Annotated[Array, "n"]
    deflection: Annotated[Array, "m"]
    rate: Annotated[Array, "m"]


class Outputs(NamedTuple):
    """Results of a sample."""

    effort: Annotated[Array, "n"]  # of the motors [N*m | N]
    correction: Annotated[Array, "n"]  # part of it that compensates friction [N*m | N]


view_constants, view_inputs, view_outputs = views(Constants, "n"), views(Inputs, "n", "m"), views(Outputs, "n")


class BaseWrenchController:
    """Position loop -> desired torque -> torque loop -> motor effort (US 5,767,648, abstract)."""

    def __init__(self, model: ArmModel, config: BaseWrenchControllerConfig) -> None:
        """Bind the controller to an arm."""
        self.model = model
        self._position = PositionLoop(model, config.position_loop)
        self._torque = TorqueLoop(model.effort_limit, config.torque_loop)
        self._constants, self._shape = pack(Constants(model.m, model.D_m)), (model.n,)
        self._inputs = np.empty(view_inputs.size(model.n, model.m))
        self._shapes = (*3 * (self._shape,), *2 * ((model.m,),))
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
        stamp, friction = state.stamp, estimate.friction
        if reference.stamp != stamp or estimate.stamp != stamp or friction.shape != self._shape:
            self._refuse(state, reference, estimate)
        desired = reference.effort
        if desired is None:
            desired = self._position.update(state, reference)
            desired = desired if gravity_change is None else desired + gravity_change
        period = self._torque.config.period
        dt = period if self._stamp is None else (stamp - self._stamp) * 1e-9
        q, v, x, rate = state.position, state.velocity, state.deflection, state.deflection_rate
        out, wrong = np.empty((2, self.model.n)), True
        if (desired.shape, v.shape, q.shape, x.shape, rate.shape) == self._shapes:
            np.concatenate(Inputs(desired, friction, v, q, x, rate), out=self._inputs)
            wrong = control(self._constants, self._torque.memory, self._inputs, dt, estimate.valid, out)
        if wrong:
            self._refuse(state, reference, estimate)
        self._stamp = stamp
        effort, correction = out
        self._position.saturated(effort)
        return JointReference(stamp, reference.position, reference.velocity, reference.acceleration, effort, correction)

    def _refuse(self, state: ArmState, reference: JointReference, estimate: BaseWrenchEstimate) -> NoReturn:
        """Raise InputError: say what is wrong with the input."""
        n = self.model.n
        for what, stamp in (("reference", reference.stamp), ("estimate", estimate.stamp)):
            if stamp != state.stamp:
                raise InputError(f"{what} is of {stamp * 1e-9:.6f} s, the state of {state.stamp * 1e-9:.6f} s")
        self.model.check_state(state)
        if estimate.friction.shape != (n,):
            raise InputError(f"estimate: friction has shape {estimate.friction.shape}, expected ({n},)")
        raise InputError(f"joint reference: effort is {reference.effort}, expected {n} finite numbers")


@kernel
def control(constants: Array, loop: Array, inputs: Array, dt: float, valid: bool, out: Array) -> bool:
    """Add the correction of the torque loop to the desired effort; return whether an input is not finite.

    Args:
        constants: see :class:`Constants`.
        loop: see ``torque_loop.Loop``; changed in place.
        inputs: see :class:`Inputs`; changed in place.
        dt: time since the last sample; the loop restarts unless 0 < ``dt`` <= LONGEST_GAP [s].
        valid: whether the friction was measured; joints with NaN are not known.
        out: (2, n) gets what :class:`Outputs` says.
    """
    n, known = out.shape[1], False
    c, y = view_constants(constants, n), view_outputs(out, n)
    u = view_inputs(inputs, n, c.m)
    for i in range(inputs.shape[0]):
        if not (math.isfinite(inputs[i]) or n <= i < 2 * n):
            return True
    for i in range(n):
        known = known or not math.isnan(u.friction[i])
    if not 0.0 < dt <= LONGEST_GAP:
        s = view_loop(loop, n)
        dt, s.weight[0], s.begun[0] = s.settings.period, 0.0, 0.0
        for i in range(n):
            s.friction[i] = 0.0
    for i in range(n):  # the desired effort already contains the viscous damping of the model
        u.friction[i] -= c.viscous[i] * u.velocity[i]
    compensate(loop, u.friction, valid and known, dt, y.correction)
    for i in range(n):
        y.effort[i] = u.desired[i] + y.correction[i]
    return False
