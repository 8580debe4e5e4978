"""BaseWrenchStage: joint torques from a force/torque sensor under the base, and efforts that compensate friction."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from flexarm_core.base_wrench.controller import BaseWrenchController
from flexarm_core.base_wrench.estimator import BaseWrenchEstimator
from flexarm_core.base_wrench.motion_filter import MotionFilter
from flexarm_core.base_wrench.zero import BaseWrenchZero
from flexarm_core.errors import InputError
from flexarm_core.pipeline.stage import Stage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.types import ArmState, Array, BaseWrenchEstimate, BaseWrenchSample, JointReference, all_finite


class Lead(Protocol):
    """Commands the joints for a while; joint references that arrive are not used meanwhile."""

    @property
    def leads(self) -> bool:
        """Whether it does so now."""

    def reference(self, state: ArmState, wrench: Array | None) -> JointReference | None:
        """Return the reference at the stamp of a state, None: none yet, or it has just ended.

        ``wrench`` (6,): wrench of the robot on its base with the sensor's bias [N, N*m]; None: not valid.
        """

    def interrupt(self, reason: str) -> None:
        """End, because the stage restarts."""


class BaseWrenchStage(Stage):
    """Estimates joint torques from a sample, and controls the motors so that the referenced effort acts on the links.

    Attributes:
        estimator: torque estimator; may be replaced by one with other gravity parameters.
        controller: torque controller; None: estimation only.
        state: position, filtered velocity and base motion of the newest estimate; None before any.
        newest: newest estimate; None before any.
        weight: weight of the torque loop's correction when that estimate was made; 0 without control.
        zero: mean of the residual wrench while the arm rests.
        lead: may command the joints, as a calibration does; None: there is none.
    """

    name = "base_wrench_torque_estimator"

    def __init__(
        self,
        estimator: BaseWrenchEstimator,
        controller: BaseWrenchController | None,
        sensor: str,
        *,
        base_motion: str = "none",
        base_bandwidth: float = 0.0,
        measured_effort: bool = True,
    ) -> None:
        """Bind the stage to its core objects.

        Args:
            estimator: torque estimator of the arm.
            controller: torque controller of the arm; None: references pass unchanged.
            sensor: force/torque sensor under the base.
            base_motion: source of the base motion, ``none``, ``joint_states`` or ``flexible_state``.
            base_bandwidth: filter bandwidth of the base accelerations, ``joint_states`` only [rad/s].
            measured_effort: whether efforts are measured; commanded efforts replace missing ones.
        """
        self.estimator, self.controller, self.sensor = estimator, controller, sensor
        self._motion, self._measured_effort = base_motion, measured_effort
        self._elastic = estimator.model.m
        self.lead: Lead | None = None
        self.zero = BaseWrenchZero()
        self._base = MotionFilter([False] * self._elastic, 0.0, base_bandwidth)
        self.reset()

    @property
    def needs(self) -> frozenset[str]:
        """The joint reference, if torques are controlled and no lead commands the joints."""
        return frozenset() if self.controller is None or self.refusal else frozenset({"joints"})

    @property
    def refusal(self) -> str:
        """Why joint references are not used at present; empty: they are."""
        leads = self.lead is not None and self.lead.leads
        return "desired_joint_reference is ignored while the sensor is calibrated" if leads else ""

    @property
    def answered(self) -> int | None:
        """Stamp of the newest answer to a reference [ns], None before any."""
        return None if self._commanded is None else self._commanded[0]

    @property
    def reading(self) -> Array | None:
        """Wrench (6,) of the robot on its base with the bias, of the newest estimate; None: not valid [N, N*m]."""
        if self._reading is None or self.newest is None or not self.newest.valid:
            return None
        return self.estimator.sign * self._reading

    def reset(self) -> None:
        """Forget earlier samples; a lead of the joints ends."""
        if self.lead is not None:
            self.lead.interrupt("the clock was set back")
        self.zero.reset()
        self.estimator.reset()
        self._base.reset()
        if self.controller is not None:
            self.controller.reset()
        self.state: ArmState | None = None
        self.newest: BaseWrenchEstimate | None = None
        self._reading: Array | None = None  # of the sensor, with that estimate
        self.weight = 0.0
        none = np.zeros(self._elastic)
        self._last_base = none, none, none
        self._commanded: tuple[int, Array] | None = None  # stamp and effort of the last answer
        self._last: int | None = None  # stamp of the previous sample

    def observe(self, tick: Tick) -> None:
        """Estimate from a sample.

        Raises:
            InputError: the sample is not usable.
        """
        sample, left_out = tick.sample, []
        wrench, effort, base = sample.wrenches.get(self.sensor), self._effort(tick), self._base_motion(tick)
        if wrench is None:
            left_out.append(f"{self.sensor}: {sample.rejected.get(self.sensor, 'missing')}")
        if base is None:
            left_out.append(f"flexible_state: {sample.rejected.get('flexible_state', 'missing')}")
            base = self._last_base
        self._last_base, self._last = base, tick.stamp
        estimate = self.estimator.update(
            BaseWrenchSample(tick.stamp, sample.position, sample.velocity, effort, None if left_out else wrench, *base)
        )
        self.weight = 0.0 if self.controller is None else self.controller.weight
        tick.estimate = self.newest = replace(estimate, left_out=tuple(left_out)) if left_out else estimate
        self.state = ArmState(tick.stamp, sample.position, self.estimator.velocity, *base[:2])
        self._reading = wrench
        self.zero.take(self.newest, self.estimator.speed)

    def update(self, tick: Tick) -> None:
        """Compute motor efforts for the joint reference, if there is one, from the estimate of the sample.

        Raises:
            InputError: the reference is not usable, or there is no estimate of this sample.
        """
        wanted = None if self.controller is None else tick.take_joints()
        if self.lead is not None and self.lead.leads and self.state is not None:
            if wanted is not None:
                tick.remarks[self.name] = self.refusal
            led = self.lead.reference(self.state, self.reading)
            wanted = wanted if led is None else led  # with what led before, the arm goes on
        if wanted is None or self.controller is None:
            return
        if self.state is None or self.newest is None:
            raise InputError("there is no estimate yet")
        if wanted.stamp != tick.stamp:
            wanted = replace(wanted, stamp=tick.stamp)
        answer = self.controller.update(self.state, wanted, self.newest, self.estimator.gravity_change)
        assert answer.effort is not None  # a torque controller always gives efforts
        self._commanded = tick.stamp, answer.effort
        tick.give_joints(self.name, answer)

    def _effort(self, tick: Tick) -> Array | None:
        """Return the effort (n,) that acted until this sample; None if the effort of any joint is unknown."""
        effort = tick.sample.effort if self._measured_effort else np.full(len(tick.sample.position), np.nan)
        if all_finite(effort):
            return effort
        if self._commanded is not None and self._commanded[0] == self._last:
            limit = self.estimator.model.effort_limit
            effort = np.where(np.isfinite(effort), effort, np.clip(self._commanded[1], -limit, limit))
        return effort if all_finite(effort) else None

    def _base_motion(self, tick: Tick) -> tuple[Array, Array, Array] | None:
        """Return base deflection, rate and acceleration (m,); None if the flexible state they need is missing."""
        if self._motion == "joint_states":
            state = tick.arm_state("joint_states")
            return state.deflection, *self._base.update(tick.stamp, state.deflection, state.deflection_rate)
        if self._motion == "none":
            return self._last_base
        bent = tick.flexible
        return None if bent is None else (bent.deflection, bent.deflection_rate, bent.deflection_acceleration)
