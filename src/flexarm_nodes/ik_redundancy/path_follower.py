"""Action follow_cartesian_path: one goal at a time, planned in a thread, then sampled at the stamps of joint states."""

from __future__ import annotations

import traceback
from concurrent.futures import Executor, Future
from dataclasses import replace
from typing import Any

import numpy as np
from rclpy.action.server import ServerGoalHandle
from trajectory_msgs.msg import JointTrajectory

from flexarm.action import FollowCartesianPath
from flexarm_core.errors import FlexarmError, InputError
from flexarm_core.ik_redundancy.path_planner import PathError
from flexarm_core.ik_redundancy.planned_path import PlannedPath
from flexarm_core.ik_redundancy.solver import RedundancyStatus
from flexarm_core.pipeline.redundancy_stage import FOLLOWING, HOLDING, PLANNING, STOPPING, PathSample
from flexarm_core.types import Array
from flexarm_nodes.ik_redundancy.resolution import Resolution
from flexarm_nodes.messages.conversions import doubles, nanoseconds_to_stamp
from flexarm_nodes.messages.path import check_goal, deviations, joint_trajectory_to_message
from flexarm_nodes.node import topics
from flexarm_nodes.node.diagnostics import ERROR
from flexarm_nodes.node.frames import of_the_arm
from flexarm_nodes.node.goal_server import GoalServer
from flexarm_nodes.node.interfaces import Interfaces

WATCH_PERIOD = 0.05  # [s] period at which the age of the newest sample is checked
Result = FollowCartesianPath.Result


class PathFollower:
    """Moves the arm by a redundancy stage: accepts goals, plans a path from the joints at rest, and samples it.

    Attributes:
        activity: HOLDING, PLANNING (from acceptance on), FOLLOWING or STOPPING.
    """

    def __init__(self, host: Interfaces, resolution: Resolution, worker: Executor) -> None:
        """Offer the action on a node, and lead a stage; paths are planned by the worker."""
        self._node, self._planned, self._worker = host.node, host.try_again, worker
        self._resolution, self._chain, resolution.stage.lead = resolution, resolution.chain, self
        name, refuse = topics.FOLLOW_CARTESIAN_PATH, lambda reason: host.node.diagnostics.report(ERROR, reason, 0)
        self._server = GoalServer(host.node, FollowCartesianPath, name, self._check, refuse, self._on_accepted)
        watch = host.node.guarded(self._on_watch)
        self._timer = host.node.create_timer(WATCH_PERIOD, lambda: watch(None))
        self._trajectories: Any = None
        if not resolution.stage.leads:
            self._trajectories = host.node.create_publisher(
                JointTrajectory, topics.CONTROLLER_TRAJECTORY, topics.CONTROL
            )
        self._rest: Array | None = None
        self._forget()

    def close(self) -> None:
        """Withdraw the action."""
        self._server.destroy()
        self._node.destroy_timer(self._timer)
        if self._trajectories is not None:
            self._node.destroy_publisher(self._trajectories)

    def _forget(self) -> None:
        self.activity = HOLDING
        self._handle: ServerGoalHandle | None = None
        self._job: Future[PlannedPath] | None = None
        self._path: PlannedPath | None = None
        self._reason = (Result.SUCCESSFUL, "")
        self._fraction, self._largest = 0.0, np.zeros(2)
        self._next_feedback = 0

    @property
    def delays(self) -> bool:
        """Whether samples have to wait until a path is planned: in lockstep."""
        return self._job is not None and self.activity == PLANNING and self._value("lockstep")

    def _value(self, name: str) -> Any:
        return self._resolution.values[name]

    # Goals ------------------------------------------------------------------------------------------------------------

    def _check(self, goal: FollowCartesianPath.Goal) -> None:
        if self._handle is not None:
            raise InputError("another goal is being followed; cancel it first")
        if not self._node.active:
            raise InputError("the node is not active")
        if self._resolution.stage.hindrance:
            raise InputError(self._resolution.stage.hindrance)
        check_goal(of_the_arm(goal, self._node.frame_prefix), self._resolution.base)

    def _on_accepted(self, handle: ServerGoalHandle) -> None:
        self._handle, self.activity = handle, PLANNING
        self._heard = self._node.get_clock().now()
        self._plan()

    def rest(self, stamp: int, position: Array | None) -> None:
        """Plan the path of a waiting goal from where the joints rest; see Lead."""
        self._begun, self._rest = stamp, position
        self._plan()

    def _plan(self) -> None:
        """Plan in the worker thread if a goal waits and the joints rest."""
        if self._handle is None or self._job is not None or self._rest is None:
            return
        if self._handle.is_cancel_requested:
            self._finish(Result.CANCELED, "canceled before the path began")
            return
        self._job = job = self._worker.submit(self._resolution.planner(self._rest), self._handle.request)
        job.add_done_callback(lambda done: self._node.hand_over(self._on_planned, done))

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
            self.activity, self._time, self._reason = FOLLOWING, 0.0, (Result.SUCCESSFUL, path.remark)
            self._reference = path.sample(0.0)[0]
            self._publish_trajectory(path, 0.0)
        self._heard = self._node.get_clock().now()
        self._planned()

    def _publish_trajectory(self, path: PlannedPath, start: float) -> None:
        """Publish a path from path time ``start`` [s] on, if a joint trajectory controller commands the arm."""
        if self._trajectories is not None:
            names, rate = self._chain.joint_names, self._value("trajectory_rate")
            message = joint_trajectory_to_message(path, names, self._begun, rate, start)
            for point in message.points:  # the controller measures in the turns in which the encoders report
                point.positions = doubles(self._resolution.stage.as_reported(np.array(point.positions)))
            self._trajectories.publish(message)

    # Following --------------------------------------------------------------------------------------------------------

    def sample(self, stamp: int, measured: Array) -> PathSample | None:
        """Return the joint reference at the stamp of a joint state, or None while no path is followed; see Lead."""
        if self._handle is None:
            return None
        self._heard = self._node.get_clock().now()
        if self._path is None:
            if self._job is not None and self._handle.is_cancel_requested:
                self._finish(Result.CANCELED, "canceled before the path began")
            return None
        self._rest, deviation = None, self._deviation(measured)
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
            self._next_feedback = stamp + round(1e9 / self._value("feedback_rate"))
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

    def interrupt(self, reason: str) -> None:
        """End the goal, because joint states had a gap or the motion restarts; see Lead."""
        self._rest = None
        self.end(Result.STALE_STATE, reason)

    def _on_watch(self, _: None) -> None:
        """End the path if joint states have ceased."""
        if self._handle is None or self.delays:
            return
        age = (self._node.get_clock().now() - self._heard).nanoseconds * 1e-9
        if age > self._value("state_timeout"):
            self.end(Result.STALE_STATE, f"no usable joint state for {age:.3f} s")

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
        return np.abs(self._chain.turns.difference(measured, self._reference))

    def _watch(self, deviation: Array) -> None:
        """Stop on the path if the goal is canceled or a joint exceeds the path tolerance."""
        assert self._handle is not None
        worst, most = int(np.argmax(deviation)), self._value("path_tolerance")
        if self._handle.is_cancel_requested:
            self._slow_down(Result.CANCELED, "canceled")
        elif deviation[worst] > most:
            joint = self._chain.joint_names[worst]
            reason = f"joint '{joint}' is {deviation[worst]:.3g} from its reference, path_tolerance is {most:g}"
            self._slow_down(Result.PATH_TOLERANCE, reason)

    def _slow_down(self, code: int, reason: str) -> None:
        assert self._path is not None
        self.activity, self._reason = STOPPING, (code, reason)
        self._path = self._path.stopped(self._time)
        self._publish_trajectory(self._path, self._time)

    def _publish_feedback(self, stamp: int, sample: PathSample, errors: Array, deviation: float) -> None:
        assert self._handle is not None
        feedback = FollowCartesianPath.Feedback(fraction=sample.fraction, joint_deviation=deviation)
        feedback.position_error, feedback.orientation_error = errors.tolist()
        for field, names in deviations(sample.status).items():
            setattr(feedback, field, list(names))
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
