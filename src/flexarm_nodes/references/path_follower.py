"""Action follow_cartesian_path: one goal at a time, planned in a thread, then sampled at the stamps of joint states."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from rclpy.action import GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node

from flexarm.action import FollowCartesianPath
from flexarm.msg import RedundancyState
from flexarm_core.errors import FlexarmError, InputError
from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.ik_redundancy.path_planner import PathError
from flexarm_core.ik_redundancy.planned_path import PlannedPath
from flexarm_core.ik_redundancy.solver import RedundancyStatus
from flexarm_core.types import Array
from flexarm_nodes.messages.conversions import nanoseconds_to_stamp
from flexarm_nodes.messages.path import fill_rows
from flexarm_nodes.node import topics
from flexarm_nodes.node.goal_server import GoalServer

Result = FollowCartesianPath.Result
IDLE, PLANNING = RedundancyState.HOLDING, RedundancyState.PLANNING
FOLLOWING, STOPPING = RedundancyState.FOLLOWING, RedundancyState.STOPPING


class PathHost(Protocol):
    """The node that uses a path follower."""

    def check_goal(self, goal: FollowCartesianPath.Goal) -> None:
        """Raise FlexarmError if the goal must be rejected."""

    def goal_rejected(self, reason: str) -> None:
        """Report why a goal was rejected."""

    def goal_accepted(self) -> None:
        """Handle that a goal waits: call :meth:`PathFollower.plan` as soon as the joints are at rest."""

    def path_changed(self, path: PlannedPath, begun: int, start: float) -> None:
        """Follow this path from path time ``start`` [s] on; the path began at the stamp ``begun`` [ns]."""

    def plan_settled(self) -> None:
        """Handle the end of planning: a path exists, or the goal has ended."""


@dataclass(frozen=True, slots=True)
class PathSample:
    """Reference of the chain's joints at one stamp of a path.

    Attributes:
        position: (n,) joint positions [rad | m].
        velocity: (n,) joint velocities [rad/s | m/s].
        acceleration: (n,) joint accelerations [rad/s^2 | m/s^2].
        status: status of the redundancy resolution.
        fraction: completed fraction of the path, 0 to 1.
        activity: FOLLOWING or STOPPING.
    """

    position: Array
    velocity: Array
    acceleration: Array
    status: RedundancyStatus
    fraction: float
    activity: int


class PathFollower:
    """Accepts goals, plans a path from the joints at rest, and returns the joint reference at each stamp.

    Attributes:
        activity: IDLE, PLANNING (from acceptance on), FOLLOWING or STOPPING.
        path_tolerance: deviation of a measured joint from its reference at which the path is aborted [rad | m].
        feedback_period: time between two feedback messages [ns].
    """

    def __init__(self, node: Node, host: PathHost) -> None:
        """Offer the action on a node."""
        self._node, self._host = node, host
        self._server = GoalServer(
            node, FollowCartesianPath, topics.FOLLOW_CARTESIAN_PATH, self._on_goal, self._on_accepted
        )
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="planner")
        self.path_tolerance, self.feedback_period = np.inf, 50_000_000
        self._forget()

    def _forget(self) -> None:
        self.activity = IDLE
        self._handle: ServerGoalHandle | None = None
        self._job: Future[PlannedPath] | None = None
        self._path: PlannedPath | None = None
        self._reason = (Result.SUCCESSFUL, "")
        self._fraction, self._largest = 0.0, np.zeros(2)
        self._next_feedback = 0

    @property
    def waiting(self) -> bool:
        """Whether an accepted goal waits for the joints to come to rest."""
        return self.activity == PLANNING and self._job is None

    @property
    def planning(self) -> bool:
        """Whether a path is being planned."""
        return self.activity == PLANNING and self._job is not None

    # Goals ------------------------------------------------------------------------------------------------------------

    def _on_goal(self, goal: FollowCartesianPath.Goal) -> GoalResponse:
        try:
            if self._handle is not None:
                raise InputError("another goal is being followed; cancel it first")
            self._host.check_goal(goal)
        except FlexarmError as error:
            self._host.goal_rejected(str(error))
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _on_accepted(self, handle: ServerGoalHandle) -> None:
        self._handle, self.activity = handle, PLANNING
        self._host.goal_accepted()

    def plan(self, stamp: int, chain: Chain, make: Callable[[FollowCartesianPath.Goal], PlannedPath]) -> None:
        """Plan the waiting goal's path in the worker thread.

        Args:
            stamp: stamp of the newest processed sample [ns]; the path begins after it.
            chain: kinematic chain of the joints.
            make: plans a goal; raises PathError, or another FlexarmError if the goal is invalid.
        """
        assert self._handle is not None
        self._stamp, self._chain = stamp, chain
        if self._handle.is_cancel_requested:
            self._finish(Result.CANCELED, "canceled before the path began")
            return
        self._job = job = self._worker.submit(make, self._handle.request)
        job.add_done_callback(self._hand_over)

    def _hand_over(self, job: Future[PlannedPath]) -> None:
        """Pass the result from the worker thread to the executor's thread; a node that is ending has no executor."""
        executor = self._node.executor
        if executor is not None:
            executor.create_task(self._on_planned, job)

    def _on_planned(self, job: Future[PlannedPath]) -> None:
        """Handle the planned path in the executor's thread."""
        if job is not self._job:
            return  # the goal has ended in the meantime
        try:
            self._path = path = job.result()
        except PathError as error:
            self._finish(Result.UNREACHABLE, str(error))
        except FlexarmError as error:
            self._finish(Result.INVALID_GOAL, str(error))
        except Exception as error:  # a defect in this code must not end the node
            self._node.get_logger().error("".join(traceback.format_exception(error)))
            self._finish(Result.INTERNAL_ERROR, f"internal error: {type(error).__name__}: {error}")
        else:
            self.activity, self._begun, self._time = FOLLOWING, self._stamp, 0.0
            self._reference = path.sample(0.0)[0]
            self._host.path_changed(path, self._begun, 0.0)
        self._host.plan_settled()

    # Following --------------------------------------------------------------------------------------------------------

    def sample(self, stamp: int, measured: Array) -> PathSample | None:
        """Return the joint reference at a stamp, or None while no path is followed.

        Args:
            stamp: stamp of the joint state [ns].
            measured: (n,) measured joint positions at that stamp [rad | m].
        """
        self._stamp = stamp
        if self._handle is None:
            return None
        if self._path is None:
            if self.planning and self._handle.is_cancel_requested:
                self._finish(Result.CANCELED, "canceled before the path began")
            return None
        deviation = self._deviation(measured)
        if self.activity == FOLLOWING:
            self._watch(deviation)
        path = self._path
        self._time = time = min((stamp - self._begun) * 1e-9, path.duration)
        position, velocity, acceleration = path.sample(time)
        self._reference, self._fraction = position, path.fraction(time)
        sample = PathSample(position, velocity, acceleration, self._status(time), self._fraction, self.activity)
        errors = np.linalg.norm((sample.status.position_error, sample.status.rotation_error), axis=1)
        self._largest = np.maximum(self._largest, errors)
        at_end = time >= path.duration
        if at_end or stamp >= self._next_feedback:
            self._next_feedback = stamp + self.feedback_period
            self._publish_feedback(stamp, sample, errors, float(deviation.max()))
        if at_end:
            self._finish(*self._reason)
        return sample

    def end(self, code: int, reason: str) -> None:
        """End the goal, if there is one, at once: no further samples are taken."""
        if self._handle is None:
            return
        if self.activity == FOLLOWING:
            self._slow_down(code, reason)
        self._finish(code, reason)

    def _status(self, time: float) -> RedundancyStatus:
        """Return the status of the redundancy resolution at a path time, with the errors of free axes set to zero."""
        assert self._path is not None and self._handle is not None
        status, axes = self._path.status(time), np.array(self._handle.request.axes, dtype=bool)
        return replace(
            status,
            position_error=np.where(axes[:3], status.position_error, 0.0),
            rotation_error=np.where(axes[3:], status.rotation_error, 0.0),
        )

    def _deviation(self, measured: Array) -> Array:
        deviation = np.abs(measured - self._reference)
        turns = np.array(self._chain.continuous)
        deviation[turns] = np.abs(np.remainder(deviation[turns] + np.pi, 2.0 * np.pi) - np.pi)
        return deviation

    def _watch(self, deviation: Array) -> None:
        """Stop on the path if the goal is canceled or a joint exceeds the path tolerance."""
        assert self._handle is not None
        worst = int(np.argmax(deviation))
        if self._handle.is_cancel_requested:
            self._slow_down(Result.CANCELED, "canceled")
        elif deviation[worst] > self.path_tolerance:
            joint, most = self._chain.joint_names[worst], self.path_tolerance
            reason = f"joint '{joint}' is {deviation[worst]:.3g} from its reference, path_tolerance is {most:g}"
            self._slow_down(Result.PATH_TOLERANCE, reason)

    def _slow_down(self, code: int, reason: str) -> None:
        assert self._path is not None
        self.activity, self._reason = STOPPING, (code, reason)
        self._path = self._path.stopped(self._time)
        self._host.path_changed(self._path, self._begun, self._time)

    def _publish_feedback(self, stamp: int, sample: PathSample, errors: Array, deviation: float) -> None:
        assert self._handle is not None
        feedback = FollowCartesianPath.Feedback(fraction=sample.fraction, joint_deviation=deviation)
        feedback.position_error, feedback.orientation_error = errors.tolist()
        fill_rows(feedback, sample.status)
        feedback.header.stamp, feedback.header.frame_id = nanoseconds_to_stamp(stamp), self._chain.base_frame
        self._handle.publish_feedback(feedback)

    def _finish(self, code: int, message: str) -> None:
        handle, position, orientation = self._handle, *self._largest.tolist()
        assert handle is not None
        result = Result(
            error_code=code,
            message=message,
            fraction=self._fraction,
            largest_position_error=position,
            largest_orientation_error=orientation,
        )
        self._forget()
        self._server.finish(handle, result)
