"""Action follow_joint_trajectory and topic joint_trajectory, as joint_trajectory_controller has them.

control_msgs is imported when the node configures: the other nodes do without it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rclpy.action.server import ServerGoalHandle
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.joint_trajectory.follower import End, Goal
from flexarm_core.pipeline.trajectory_stage import TrajectoryStage
from flexarm_core.types import Array
from flexarm_nodes.messages.conversions import doubles, nanoseconds_to_stamp
from flexarm_nodes.messages.trajectory_points import points_from_message, set_points_aside
from flexarm_nodes.node import topics
from flexarm_nodes.node.bounded_requests import TOO_LARGE, bound_message, is_too_large
from flexarm_nodes.node.diagnostics import WARN
from flexarm_nodes.node.goal_server import GoalServer
from flexarm_nodes.node.interfaces import Interfaces

MOST_BYTES = 20_000_000  # of a trajectory on the topic
WATCH_PERIOD = 0.05  # [s] at which the age of the newest sample is checked while a goal is followed


class TrajectoryInterfaces(Interfaces):
    """Takes trajectories for a stage; publishes feedback and results."""

    def __init__(self, stage: TrajectoryStage, values: Any) -> None:
        """Take trajectories for this stage, with the node's parameters."""
        self._stage, self.values = stage, values
        self._handle: ServerGoalHandle | None = None
        self._checked: tuple[Any, Goal] | None = None  # the goal message that was checked last

    def open(self) -> None:
        """Create action and subscription."""
        try:
            from control_msgs.action import FollowJointTrajectory
        except ImportError as error:
            raise ConfigError(f"control_msgs is not installed ({error}): install it, or run `make setup`") from error
        self._action: Any = FollowJointTrajectory
        self._stage.heard, self._next = self._publish_feedback, 0
        self._server = GoalServer(
            self.node, FollowJointTrajectory, self.name(topics.FOLLOW_JOINT_TRAJECTORY), self._check, self.refuse,
            self._on_accepted, set_points_aside,
        )  # fmt: skip
        self._topic = self.node.hear(
            JointTrajectory, self.name(topics.FOLLOWED_TRAJECTORY), self._on_trajectory, topics.CONTROL, raw=True,
            most=MOST_BYTES,
        )  # fmt: skip
        watch = self.node.guarded(self._on_watch)
        self._timer = self.node.create_timer(WATCH_PERIOD, lambda: watch(None))

    def close(self) -> None:
        """Withdraw them."""
        self._server.destroy()
        self.node.destroy_subscription(self._topic)
        self.node.destroy_timer(self._timer)

    def end(self) -> None:
        """End the goal; the gate stops the arm when references cease."""
        self._stage.follower.end(End.INVALID_GOAL, "the node was deactivated")

    # Goals ------------------------------------------------------------------------------------------------------------

    def _check(self, goal: Any) -> None:
        """Raise FlexarmError to reject a goal."""
        if not self.node.active:
            raise InputError("the node is not active")
        beside = goal.multi_dof_trajectory
        several = [
            *beside.joint_names,
            *(t.joint_name for t in (*goal.component_path_tolerance, *goal.component_goal_tolerance)),
        ]
        if several or len(beside.points):
            which = f"'{several[0]}' of several degrees of freedom" if several else "points of multi_dof_trajectory"
            raise InputError(f"the goal has {which}: the arm has none; send joints in trajectory alone")
        path, end = ([(t.name, t.position, t.velocity, t.acceleration) for t in given]
                     for given in (goal.path_tolerance, goal.goal_tolerance))  # fmt: skip
        extra = goal.goal_time_tolerance.sec + goal.goal_time_tolerance.nanosec * 1e-9
        points = points_from_message(goal.trajectory)
        found, remark = self._stage.follower.goal(points, lambda code, reason: None, path, end, extra)
        if remark:
            self.node.get_logger().warning(remark)
            self.node.diagnostics.report(WARN, remark, 0)
        self._checked = goal, found

    def _on_accepted(self, handle: ServerGoalHandle) -> None:
        assert self._checked is not None and self._checked[0] is handle.request
        goal, self._checked = self._checked[1], None
        self._heard = self.node.get_clock().now()

        def ended(code: End, reason: str) -> None:
            result = self._action.Result(error_code=min(int(code), 0), error_string=reason)
            if self._handle is handle:
                self._handle = None
            self._server.finish(handle, result, canceled=code is End.CANCELED)

        def canceled() -> bool:
            return bool(handle.is_cancel_requested)

        self._stage.follower.follow(replace(goal, ended=ended, canceled=canceled))
        self._handle, self._next = handle, 0

    def _on_trajectory(self, raw: bytes) -> None:
        """Follow a trajectory of which nobody wants to know the end."""
        message = deserialize_message(raw, bound_message(JointTrajectory, set_points_aside))
        if is_too_large(message):
            raise InputError(TOO_LARGE)
        follower = self._stage.follower
        try:
            goal, _ = follower.goal(points_from_message(message), lambda code, reason: None)
        except InputError as error:  # the next sample is well: said like this, it stays for a while
            self.refuse(f"trajectory: {error}")
            return
        follower.follow(goal)

    def _on_watch(self, _: None) -> None:
        """End the goal if joint states have ceased."""
        if self._handle is not None:
            age = (self.node.get_clock().now() - self._heard).nanoseconds * 1e-9
            if age > self._stage.follower.config.state_timeout:
                self._stage.follower.end(End.INVALID_GOAL, f"no usable joint state for {age:.3f} s")

    def _publish_feedback(self) -> None:
        """Publish feedback on the goal, if it is time; called after every sample."""
        if self._handle is None:
            return
        self._heard = self.node.get_clock().now()
        progress = self._stage.follower.progress
        if progress is None or progress.stamp < self._next:
            return
        self._next = progress.stamp + round(1e9 / self.values["action_monitor_rate"])
        feedback = self._action.Feedback(joint_names=list(self._stage.follower.joint_names))
        feedback.header.stamp = nanoseconds_to_stamp(progress.stamp)
        feedback.desired = _point(progress.since, *progress.desired)
        feedback.actual = _point(progress.since, *progress.actual)
        feedback.error = _point(progress.since, *progress.error)
        self._handle.publish_feedback(feedback)


def _point(since: int, position: Array, velocity: Array, acceleration: Array | None = None) -> JointTrajectoryPoint:
    point = JointTrajectoryPoint(positions=doubles(position), velocities=doubles(velocity))
    if acceleration is not None:
        point.accelerations = doubles(acceleration)
    point.time_from_start.sec, point.time_from_start.nanosec = divmod(since, 1_000_000_000)
    return point
