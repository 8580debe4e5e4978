"""TrajectoryStage: joint trajectories of a planner to joint references."""

from __future__ import annotations

from collections.abc import Callable

from flexarm_core.joint_trajectory.follower import TrajectoryFollower
from flexarm_core.pipeline.stage import Stage
from flexarm_core.pipeline.tick import Tick


class TrajectoryStage(Stage):
    """Gives every tick the joint reference of the trajectory that is followed, or holds the joints.

    Attributes:
        follower: follows trajectories.
        heard: called after every sample.
    """

    name = "joint_trajectory_follower"

    def __init__(self, follower: TrajectoryFollower) -> None:
        """Give the references of a follower."""
        self.follower = follower
        self.heard: Callable[[], None] = lambda: None

    def reset(self) -> None:
        """End a trajectory; begin where the joints are at the next sample."""
        self.follower.reset()

    def update(self, tick: Tick) -> None:
        """Give the reference of one sample."""
        sample, follower = tick.sample, self.follower
        tick.take_joints()
        tick.give_joints(self.name, follower.update(tick.stamp, sample.position, sample.velocity))
        if follower.remark:
            tick.remarks[self.name] = follower.remark

    def after(self) -> None:
        """Let feedback be sent."""
        self.heard()
