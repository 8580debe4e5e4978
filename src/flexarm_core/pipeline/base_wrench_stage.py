"""BaseWrenchStage: joint torques from the sensor under the base, and motor efforts that make up for friction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from flexarm_core.base_wrench.controller import BaseWrenchController
from flexarm_core.base_wrench.estimator import BaseWrenchEstimator
from flexarm_core.base_wrench.motion_filter import MotionFilter
from flexarm_core.pipeline.tick import Tick
from flexarm_core.types import ArmState, Array, BaseWrenchEstimate, BaseWrenchSample, JointReference, all_finite


class BaseWrenchStage:
    """Sample -> estimate; joint reference -> joint reference whose effort arrives at the links.

    Attributes:
        estimator: that is asked; may be replaced by one of other gravity parameters.
        controller: that answers references; None: it is only observed.
        state: (position, filtered velocity, base) of the newest estimate; None before any.
        newest: estimate; None before any.
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
            estimator: of the arm.
            controller: of the arm; None: references pass by it.
            sensor: whose wrench is read.
            base_motion: where that of the base comes from, ``none``, ``joint_states`` or ``flexible_state``.
            base_bandwidth: of its accelerations, ``joint_states`` only [rad/s].
            measured_effort: whether efforts are measured, and commanded ones count only where they are not.
        """
        self.estimator, self.controller, self.sensor = estimator, controller, sensor
        self._motion, self._measured_effort = base_motion, measured_effort
        self._elastic = estimator.model.m
        self._base = MotionFilter([False] * self._elastic, 0.0, base_bandwidth)
        self.reset()

    def reset(self) -> None:
        """Forget earlier samples."""
        self.estimator.reset()
        self._base.reset()
        if self.controller is not None:
            self.controller.reset()
        self.state: ArmState | None = None
        self.newest: BaseWrenchEstimate | None = None
        none = np.zeros(self._elastic)
        self._last_base = none, none, none
        self._commanded: tuple[int, Array] | None = None  # stamp and effort of the last answer
        self._last: int | None = None  # stamp of the sample before

    def update(self, tick: Tick) -> None:
        """One sample; without a joint reference, the estimate alone.

        Raises:
            InputError: the input is not usable.
        """
        wanted = tick.take_joints() if self.controller is not None else None
        stamp, left_out = tick.stamp, []
        wrench = tick.sample.wrenches.get(self.sensor)
        if wrench is None:
            left_out.append(f"{self.sensor}: missing")
        effort, base = self._effort(tick), self._base_motion(tick)
        if base is None:
            left_out.append("flexible_state: missing")
            base = self._last_base
        self._last_base, self._last = base, stamp
        position, velocity = tick.sample.position, tick.sample.velocity
        read = BaseWrenchSample(stamp, position, velocity, effort, None if left_out else wrench, *base)
        tick.estimate = self.estimate(read, left_out)
        if wanted is None:
            return
        answer = self.answer(wanted)
        assert answer.effort is not None and self.controller is not None  # which is what it is for
        self._commanded = stamp, answer.effort
        tick.give_joints(self.name, answer)

    def estimate(self, sample: BaseWrenchSample, left_out: Sequence[str] = ()) -> BaseWrenchEstimate:
        """Estimate of a sample; ``left_out`` are ``name: reason`` of the readings that it lacks.

        Raises:
            InputError: it is not usable.
        """
        estimate = self.estimator.update(sample)
        self.newest = replace(estimate, left_out=tuple(left_out)) if left_out else estimate
        self.state = ArmState(
            sample.stamp, sample.position, self.estimator.velocity, sample.deflection, sample.deflection_rate
        )
        return self.newest

    def answer(self, reference: JointReference) -> JointReference:
        """Motor efforts that answer a reference of the newest estimate's stamp.

        Raises:
            InputError: the reference is not usable.
        """
        assert self.state is not None and self.newest is not None and self.controller is not None
        return self.controller.update(self.state, reference, self.newest, self.estimator.gravity_change)

    def _effort(self, tick: Tick) -> Array | None:
        """Effort (n,) that acted until this sample; None where that of a joint is not known."""
        effort = tick.sample.effort if self._measured_effort else np.full(len(tick.sample.position), np.nan)
        if all_finite(effort):
            return effort
        if self._commanded is not None and self._commanded[0] == self._last:
            limit = self.estimator.model.effort_limit
            effort = np.where(np.isfinite(effort), effort, np.clip(self._commanded[1], -limit, limit))
        return effort if all_finite(effort) else None

    def _base_motion(self, tick: Tick) -> tuple[Array, Array, Array] | None:
        """Deflection, its rate and acceleration (m,); None where the estimate that they come from is missing."""
        if self._motion == "joint_states":
            state = tick.arm_state("joint_states")
            return state.deflection, *self._base.update(tick.stamp, state.deflection, state.deflection_rate)
        if self._motion == "none":
            return self._last_base
        bent = tick.flexible
        return None if bent is None else (bent.deflection, bent.deflection_rate, bent.deflection_acceleration)
