"""Playback of a precomputed joint trajectory; the arm must be at its first point."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.path.joint_trajectory import JointTrajectory
from flexarm_core.settings import Settings, setting
from flexarm_core.turns import Turns
from flexarm_core.types import Array, JointReference


@dataclass(frozen=True, slots=True)
class TrajectoryMotionConfig(Settings):
    """Settings of the playback."""

    # fmt: off
    start: float = setting(0.0, "time after the first sample at which the motion begins", "s", 0.0)
    start_tolerance: float = setting(0.05,
        "largest accepted distance of a joint from the start of the stored plan (space plan)", "rad | m", 1e-9)
    returns: bool = setting(False, "whether the trajectory is repeated without end, alternately backward and forward")
    # fmt: on


class TrajectoryMotion:
    """Joint reference along a trajectory from rest to rest; the arm must be at its first point."""

    def __init__(
        self, trajectory: JointTrajectory, turns: Turns, joint_names: tuple[str, ...], config: TrajectoryMotionConfig
    ) -> None:
        """Set up the motion of joints (n) with these names; :meth:`begin` starts it."""
        self.config = config
        self._trajectory, self._turns, self._names = trajectory, turns, joint_names
        position = trajectory.sample(0, 0.0).position
        assert position is not None  # a trajectory has positions
        self._stored: Array = position
        self.reset()

    def reset(self) -> None:
        """Discard the start time; :meth:`begin` starts the motion again."""
        self._begin: int | None = None
        self._first = self._stored

    @property
    def begun(self) -> bool:
        """Whether the motion has begun."""
        return self._begin is not None

    def begin(self, stamp: int, position: Array) -> None:
        """Start the motion at this stamp [ns], with the joints at ``position`` (n,) [rad | m].

        Raises:
            ConfigError: trajectory and position have different numbers of joints.
            InputError: a joint is too far from the first point of the trajectory; the reference would jump.
        """
        if np.shape(position) != self._stored.shape:
            count = len(self._stored)
            raise ConfigError(f"the trajectory is one of {count} joints, the position has shape {np.shape(position)}")
        self._first = self._turns.near(self._stored, position)
        distance = np.abs(position - self._first)
        worst = int(distance.argmax())
        if not distance[worst] <= self.config.start_tolerance:
            raise InputError(
                f"joint '{self._names[worst]}' is {distance[worst]:.3g} from where the trajectory begins,"
                f" {np.round(self._first, 4).tolist()}: at most {self.config.start_tolerance:g} is accepted"
            )
        self._begin = stamp

    def update(self, stamp: int) -> JointReference:
        """Return the reference at a stamp [ns].

        The trajectory is not shifted to the position of the arm, which may differ by ``start_tolerance``, but for whole
        turns of endless joints.

        Raises:
            ConfigError: the motion has not begun.
        """
        if self._begin is None:
            raise ConfigError("the motion has not begun: call begin() with the first position")
        time = (stamp - self._begin) * 1e-9 - self.config.start
        if time <= 0.0:
            still = np.zeros(len(self._first))
            return JointReference(stamp, self._first.copy(), still, still.copy())
        if self.config.returns:
            turns, time = divmod(time, self._trajectory.duration)
            if int(turns) % 2 == 1:
                there = self._trajectory.sample(stamp, self._trajectory.duration - time)
                assert there.velocity is not None  # every sample has a velocity
                return self._in_turn(replace(there, velocity=-there.velocity))
        return self._in_turn(self._trajectory.sample(stamp, time))

    def _in_turn(self, reference: JointReference) -> JointReference:
        """Return a sample of the trajectory in the turns in which the motion began."""
        turned = self._first - self._stored
        if reference.position is None or not turned.any():
            return reference
        return replace(reference, position=reference.position + turned)
