"""BaseWrenchStage: joint torques from a force/torque sensor under the base, and efforts that compensate friction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from flexarm_core.base_wrench.controller import BaseWrenchController
from flexarm_core.base_wrench.estimator import BaseWrenchEstimator
from flexarm_core.base_wrench.motion_filter import MotionFilter
from flexarm_core.pipeline.tick import Tick, base_needs
from flexarm_core.types import ArmState, Array, BaseWrenchEstimate, BaseWrenchSample, JointReference, all_finite


class BaseWrenchStage:
    """Estimates joint torques from a sample, and controls the motors so that the referenced effort acts on the links.

    Attributes:
        estimator: torque estimator; may be replaced by one with other gravity parameters.
        controller: torque controller; None: estimation only.
        state: position, filtered velocity and base motion of the newest estimate; None before any.
        newest: newest estimate; None before any.
        weight: weight of the torque loop's correction when that estimate was made; 0 without control.
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
        self._base = MotionFilter([False] * self._elastic, 0.0, base_bandwidth)
        self.reset()

    @property
    def needs(self) -> frozenset[str]:
        """The joint reference if torques are controlled, and the motion of the base."""
        return base_needs(self._motion) | (frozenset() if self.controller is None else {"joints"})

    def reset(self) -> None:
        """Forget earlier samples."""
        self.estimator.reset()
        self._base.reset()
        if self.controller is not None:
            self.controller.reset()
        self.state: ArmState | None = None
        self.newest: BaseWrenchEstimate | None = None
        self.weight = 0.0
        none = np.zeros(self._elastic)
        self._last_base = none, none, none
        self._commanded: tuple[int, Array] | None = None  # stamp and effort of the last answer
        self._last: int | None = None  # stamp of the previous sample

    def update(self, tick: Tick) -> None:
        """Process one sample; without a joint reference, only estimate.

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
        assert answer.effort is not None and self.controller is not None  # a torque controller always gives efforts
        self._commanded = stamp, answer.effort
        tick.give_joints(self.name, answer)

    def estimate(self, sample: BaseWrenchSample, left_out: Sequence[str] = ()) -> BaseWrenchEstimate:
        """Return the estimate for a sample; ``left_out`` are ``name: reason`` of its missing readings.

        Raises:
            InputError: the sample is not usable.
        """
        estimate = self.estimator.update(sample)
        self.weight = 0.0 if self.controller is None else self.controller.weight
        self.newest = replace(estimate, left_out=tuple(left_out)) if left_out else estimate
        self.state = ArmState(
            sample.stamp, sample.position, self.estimator.velocity, sample.deflection, sample.deflection_rate
        )
        return self.newest

    def answer(self, reference: JointReference) -> JointReference:
        """Return motor efforts for a reference that has the stamp of the newest estimate.

        Raises:
            InputError: the reference is not usable.
        """
        assert self.state is not None and self.newest is not None and self.controller is not None
        return self.controller.update(self.state, reference, self.newest, self.estimator.gravity_change)

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
