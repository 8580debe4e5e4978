"""TrajectoryStage: joint trajectories of a planner to joint references."""

from __future__ import annotations

from collections.abc import Callable

from flexarm_core.entrance import number
from flexarm_core.joint_trajectory.follower import TrajectoryFollower
from flexarm_core.joint_trajectory.points import Points
from flexarm_core.pipeline.stage import Stage
from flexarm_core.pipeline.tick import Tick


class TrajectoryStage(Stage):
    """Gives every tick the joint reference of the trajectory that is followed, or holds the joints.

    Attributes:
        follower: follows trajectories.
        heard: called after every sample.
    """

    name = "joint_trajectory_follower"

    def __init__(self, follower: TrajectoryFollower, first: Points | None = None, start: float = 0.0) -> None:
        """Give the references of a follower.

        Args:
            follower: follows trajectories.
            first: trajectory that is followed without a goal; None: none.
            start: time after the first sample at which it begins [s].
        """
        self.follower, self._first, self._start = follower, first, round(number("start", start, 0.0, 1e9) * 1e9)
        self.heard: Callable[[], None] = lambda: None
        self.reset()

    def reset(self) -> None:
        """End a trajectory; begin where the joints are at the next sample."""
        self.follower.reset()
        self._begins: int | None = None

    def update(self, tick: Tick) -> None:
        """Give the reference of one sample.

        Raises:
            InputError: the first trajectory is rejected.
        """
        sample, follower = tick.sample, self.follower
        tick.take_joints()
        tick.give_joints(self.name, follower.update(tick.stamp, sample.position, sample.velocity))
        if self._begins is None:
            self._begins = tick.stamp + self._start
        if self._first is not None and tick.stamp >= self._begins >= 0:
            self._begins = -1
            goal, _ = follower.goal(self._first, lambda code, reason: None)
            follower.follow(goal)
        if follower.remark:
            tick.remarks[self.name] = follower.remark

    def after(self) -> None:
        """Let feedback be sent."""
        self.heard()
