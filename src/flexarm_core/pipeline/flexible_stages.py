"""FlexibleEstimatorStage and FlexibleControlStage: pipeline stages for flexible arms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.flexible_dynamics.control.controller import FlexibleController, FlexibleControllerConfig
from flexarm_core.flexible_dynamics.estimation.estimator import FlexibleEstimator
from flexarm_core.path.joint_trajectory import JointTrajectory
from flexarm_core.pipeline.stage import Stage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.types import ArmState, Array, FlexibleSample, JointReference, all_finite


def confirmed_friction(reference: JointReference, effort: Array) -> Array:
    """Return the part (n,) of the friction given in a reference that the measured effort (n,) confirms [N*m | N].

    If the measured effort is smaller than that of the reference, the gate has limited the difference. The drives did
    not compensate this part of the friction; to subtract it from the effort would give a torque that does not exist.
    The result lies between 0 and the friction given.
    """
    given = reference.friction
    if given is None:
        return np.zeros_like(effort)
    passed = given if reference.effort is None else given - (reference.effort - effort)
    return np.minimum(np.maximum(passed, np.minimum(given, 0.0)), np.maximum(given, 0.0))


class FlexibleEstimatorStage(Stage):
    """Estimates the flexible state from a sample."""

    name = "flexible_dynamics_estimator"

    def __init__(self, estimator: FlexibleEstimator, *, subtract_friction: bool = False) -> None:
        """Bind the stage to an estimator.

        estimator: state estimator.
        subtract_friction: whether to subtract the friction in the previous joint reference from the efforts, as far as
            they contain it.
        """
        self.estimator, self._subtracts = estimator, subtract_friction

    @property
    def needs(self) -> frozenset[str]:
        """The estimate needs the sample only."""
        return frozenset()

    def reset(self) -> None:
        """Forget earlier samples."""
        self.estimator.reset()

    def update(self, tick: Tick) -> None:
        """Process one sample.

        Raises:
            InputError: an effort is unknown, or the sample is not usable.
        """
        sample, effort = tick.sample, tick.sample.effort
        if not all_finite(effort):
            raise InputError(f"joint efforts are {effort}; the estimate needs the effort that acted")
        if self._subtracts and tick.before is not None:
            effort = effort - confirmed_friction(tick.before, effort)
        tick.flexible = self.estimator.update(sample, effort)

    def after(self) -> None:
        """Prepare the next estimate."""
        self.estimator.prepare()


class FlexibleControlStage(Stage):
    """Computes joint efforts from a joint reference and the flexible state.

    Attributes:
        controller: controller of the arm.
        samples: whether the stage samples the joint trajectory that it follows; else it takes joint references.
        newest: newest measurements, None before any.
    """

    name = "flexible_dynamics_controller"

    def __init__(self, controller: FlexibleController, *, samples: bool = False) -> None:
        """Bind the stage to a controller."""
        self.controller, self.samples = controller, samples
        self._looked, self._refused = False, ""
        self._given, self._lag = controller.asked, 0.0
        self.reset()

    @property
    def needs(self) -> frozenset[str]:
        """The joint reference unless a trajectory is sampled, the flexible state unless the law is ``joint_pd``."""
        flexible = () if self.controller.config.law == "joint_pd" else ("flexible",)
        return frozenset(flexible if self.samples else ("joints", *flexible))

    def change(self, config: FlexibleControllerConfig) -> None:
        """Use other settings from the next sample on.

        Raises:
            ConfigError: the gains are not stable; nothing has changed then.
        """
        self.controller.configure(self._late(config))
        self._given = config
        if self._refused:
            self._looked, self._refused = False, ""

    def lag(self, delay: float, base: float = 0.0) -> None:
        """Check the gains for measurements that are late by ``delay`` and ``base`` [s], too."""
        self._lag = max(delay, base) if "flexible" in self.needs else delay
        try:
            self.controller.configure(self._late(self._given))
            self._looked, self._refused = False, ""
        except ConfigError as error:
            self._looked, self._refused = True, str(error)

    def _late(self, config: FlexibleControllerConfig) -> FlexibleControllerConfig:
        conditions = config.conditions
        return replace(config, conditions=replace(conditions, delay=conditions.delay + self._lag))

    def reset(self) -> None:
        """Forget earlier samples and the trajectory."""
        self.controller.reset()
        self.newest: FlexibleSample | None = None
        self._trajectory: JointTrajectory | None = None

    def follow(self, trajectory: JointTrajectory, start: int) -> None:
        """Follow a trajectory that begins at a stamp [ns]; before any, the first measured position is held."""
        self._trajectory, self._start = trajectory, start

    def _wanted(self, tick: Tick) -> JointReference | None:
        joints = tick.take_joints()
        if not self.samples:
            return joints
        if self._trajectory is None:
            position = tick.sample.position
            self.follow(JointTrajectory(position, [0.0], position[None]), tick.stamp)
        assert self._trajectory is not None
        return self._trajectory.sample(tick.stamp, (tick.stamp - self._start) * 1e-9)

    def update(self, tick: Tick) -> None:
        """Process one sample; do nothing if the joint reference, or the flexible state that the law needs, is missing.

        The first sample checks the gains at the measured posture, unless they were checked near it before.

        Raises:
            InputError: the input is not usable, or the gains are not stable at the first posture.
        """
        wanted, sample = self._wanted(tick), tick.sample
        self.newest = sample
        if not self._looked:
            self._looked = True
            try:
                self.controller.prepare(sample.position)
            except ConfigError as error:
                self._refused = str(error)
        if self._refused:
            raise InputError(self._refused)
        bends = "flexible" in self.needs
        bent = tick.flexible if bends else None
        if wanted is None or (bends and bent is None):
            return
        none = np.zeros(len(self.controller.model.elastic))
        joints = ArmState(sample.stamp, sample.position, sample.velocity, none, none)
        tick.give_joints(self.name, self.controller.update(joints, bent, wanted))
