"""A joint trajectory that was made beforehand, played from where the arm stands at its first posture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.path.joint_trajectory import JointTrajectory
from flexarm_core.types import Array, JointReference


@dataclass(frozen=True, slots=True)
class TrajectoryMotionConfig:
    """Settings of the playing.

    Attributes:
        start: time after the first sample at which the motion begins [s].
        start_tolerance: largest distance of any joint from where the trajectory begins [rad | m].
        returns: whether the joints go back on the same way, again and again, each way in the trajectory's time.
    """

    start: float = 0.0
    start_tolerance: float = 0.05
    returns: bool = False

    def __post_init__(self) -> None:
        """Raise ConfigError for values that have no meaning."""
        if not self.start >= 0.0 or not np.isfinite(self.start):
            raise ConfigError(f"start must be >= 0 s, got {self.start}")
        if not self.start_tolerance > 0.0 or not np.isfinite(self.start_tolerance):
            raise ConfigError(f"start_tolerance must be > 0 rad or m, got {self.start_tolerance}")


class TrajectoryMotion:
    """Joint reference along a trajectory from rest to rest; the arm must be where it begins."""

    def __init__(
        self, trajectory: JointTrajectory, joint_names: tuple[str, ...], config: TrajectoryMotionConfig
    ) -> None:
        """Set up a motion that has not begun, of the joints of these names (n,)."""
        self.config = config
        self._trajectory, self._names = trajectory, joint_names
        position = trajectory.sample(0, 0.0).position
        assert position is not None  # a trajectory has positions
        self._first: Array = position
        self.reset()

    def reset(self) -> None:
        """Forget when it began."""
        self._begin: int | None = None

    @property
    def begun(self) -> bool:
        """Whether the arm was where the trajectory begins."""
        return self._begin is not None

    def begin(self, stamp: int, position: Array) -> None:
        """Begin at this stamp [ns], with the joints at ``position`` (n,).

        Raises:
            ConfigError: the trajectory is one of another number of joints.
            InputError: a joint is not where the trajectory begins: the arm must not leap there.
        """
        if np.shape(position) != self._first.shape:
            count = len(self._first)
            raise ConfigError(f"the trajectory is one of {count} joints, the position has shape {np.shape(position)}")
        distance = np.abs(position - self._first)
        worst = int(distance.argmax())
        if not distance[worst] <= self.config.start_tolerance:
            raise InputError(
                f"joint '{self._names[worst]}' is {distance[worst]:.3g} from where the trajectory begins,"
                f" {np.round(self._first, 4).tolist()}: at most {self.config.start_tolerance:g} is accepted"
            )
        self._begin = stamp

    def update(self, stamp: int) -> JointReference:
        """Reference at a stamp [ns]: the trajectory itself, from its first posture on, wherever near it the arm began.

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
                assert there.velocity is not None  # as of every sample
                return JointReference(stamp, there.position, -there.velocity, there.acceleration)
        return self._trajectory.sample(stamp, time)
