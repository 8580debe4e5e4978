"""Action calibrate of base_wrench_torque_estimator: one goal at a time, moves the arm through static poses."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import numpy as np
from rclpy.action.server import ServerGoalHandle

from flexarm.action import CalibrateBaseWrench
from flexarm_core.base_wrench.calibration import CalibrationResult
from flexarm_core.base_wrench.calibration_run import CalibrationRun
from flexarm_core.errors import ConfigError, FlexarmError, InputError
from flexarm_core.path.joint_stop import JointStop
from flexarm_core.types import ArmState, Array, JointReference
from flexarm_nodes.base_wrench.plan import CalibrationPlan
from flexarm_nodes.node import topics
from flexarm_nodes.node.diagnostics import ERROR
from flexarm_nodes.node.goal_server import GoalServer
from flexarm_nodes.node.interfaces import Interfaces
from flexarm_nodes.node.real_time import background_worker

Result = CalibrateBaseWrench.Result
PREPARING, LEADING, STOPPING, SOLVING = "preparing", "leading", "stopping", "solving"
WATCH_PERIOD = 0.05  # [s] period at which the age of the newest joint state is checked
Check = Callable[[], None]
Plan = Callable[[CalibrateBaseWrench.Goal], CalibrationPlan]
Take = Callable[[dict[str, Any]], None]
NEAR = 1e-9  # [rad | m] distance from a pose below which the reference has arrived


class BaseWrenchCalibration:
    """Accepts goals, moves the arm while one is active, and sets the result computed from the measured poses.

    Slow work, the choice of poses and the solution, is done in a thread while the arm is held.
    """

    def __init__(self, host: Interfaces, check: Check, plan: Plan, take: Take) -> None:
        """Offer the action on a node.

        Args:
            host: the interfaces of the stage, on their node.
            check: raises FlexarmError if the sensor cannot be calibrated now.
            plan: returns the plan for a goal; raises FlexarmError if the goal is not usable.
            take: sets parameters that a calibration found; raises FlexarmError if they are rejected.
        """
        self._node, self._check, self._plan_of, self._take = host.node, check, plan, take
        name = host.name(topics.CALIBRATE_BASE_WRENCH)
        refuse = lambda reason: host.node.diagnostics.report(ERROR, reason, 0)  # noqa: E731
        self._server = GoalServer(host.node, CalibrateBaseWrench, name, self._check_goal, refuse, self._on_accepted)
        self._worker = background_worker("calibration")
        watch = host.node.guarded(lambda _: self._watch_states())
        self._timer = host.node.create_timer(WATCH_PERIOD, lambda: watch(None))
        self._forget()

    def close(self) -> None:
        """Withdraw the action."""
        self._server.destroy()
        self._node.destroy_timer(self._timer)
        self._worker.shutdown(wait=False)

    def _forget(self) -> None:
        self._handle: ServerGoalHandle | None = None
        self._plan: CalibrationPlan | None = None
        self._phase = PREPARING
        self._job: Future[Any] | None = None
        self._run: CalibrationRun | None = None
        self._stop: JointStop | None = None
        self._reference: JointReference | None = None
        self._ending = (Result.SUCCESSFUL, "")
        self._arrived: int | None = None
        self._fed: tuple[int, str] | None = None
        self._stamp: int | None = None
        self._wrench_came: int | None = None

    @property
    def leads(self) -> bool:
        """Whether a calibration moves or holds the arm."""
        return self._handle is not None

    @property
    def doing(self) -> str:
        """Text about the running calibration; empty if there is none."""
        if self._handle is None:
            return ""
        if self._fed is None or self._phase != LEADING:
            return f"calibrating: {self._phase}"
        return f"calibrating: pose {self._fed[0]} of {len(self._goals)}, {self._fed[1]}"

    # Goals ------------------------------------------------------------------------------------------------------------

    def _check_goal(self, _: CalibrateBaseWrench.Goal) -> None:
        if self._handle is not None:
            raise InputError("another calibration runs; cancel it first")
        self._check()

    def _on_accepted(self, handle: ServerGoalHandle) -> None:
        self._handle, self._heard = handle, self._node.get_clock().now()
        try:
            self._plan = plan = self._plan_of(handle.request)
        except FlexarmError as error:
            self._finish(Result.INVALID_GOAL, str(error))
            return
        self._begin_job(plan.poses, self._on_poses)

    def _begin_job(self, work: Callable[[], Any], then: Callable[[Any], None]) -> None:
        """Run ``work`` in the thread, then call ``then`` with the result in the executor's thread."""
        job: Future[Any] = self._worker.submit(work)
        self._job = job
        job.add_done_callback(lambda done: self._node.hand_over(self._on_job, done, then))

    def _on_job(self, job: Future[Any], then: Callable[[Any], None]) -> None:
        if job is not self._job:
            return  # the goal has ended in the meantime
        self._job = None
        try:
            then(job.result())
        except ConfigError as error:
            self._finish(Result.INVALID_GOAL, str(error))
        except InputError as error:
            self._finish(Result.INVALID_GOAL if self._phase == PREPARING else Result.POOR_DATA, str(error))
        except Exception as error:  # a defect in this code must not end the node
            self._node.get_logger().error("".join(traceback.format_exception(error)))
            self._finish(Result.INTERNAL_ERROR, f"internal error: {type(error).__name__}: {error}")

    def _on_poses(self, poses: Array) -> None:
        assert self._plan is not None
        self._goals = poses
        self._run, self._phase = CalibrationRun(poses, self._plan.run), LEADING

    # Samples ----------------------------------------------------------------------------------------------------------

    def reference(self, state: ArmState, wrench: Array | None) -> JointReference | None:
        """Return the joint reference of the calibration for a sample; None: it has ended, or has no plan yet."""
        stamp = state.stamp
        if self._handle is None or self._plan is None:
            return None
        if self._stamp is not None and (stamp - self._stamp) * 1e-9 > self._plan.timeout:
            self.end(Result.STALE_STATE, f"no usable joint state for {(stamp - self._stamp) * 1e-9:.3f} s")
            return None
        self._stamp, self._heard = stamp, self._node.get_clock().now()
        if self._phase in (PREPARING, SOLVING) and self._handle.is_cancel_requested:
            self._finish(Result.CANCELED, "canceled")
            return None
        if self._wrench_came is None or wrench is not None:
            self._wrench_came = stamp
        if self._reference is None:
            still = np.zeros(len(state.position))
            self._reference = JointReference(stamp, state.position, still, still)
        if self._phase == LEADING:
            self._watch(stamp)
        reference = self._next(state, wrench)
        if self._handle is not None:
            self._reference = reference
        return reference

    def _next(self, state: ArmState, wrench: Array | None) -> JointReference:
        stamp = state.stamp
        held = self._reference
        assert held is not None and held.position is not None
        if self._stop is not None:
            reference = self._stop.update(stamp)
            if self._stop.done(stamp):
                self._finish(*self._ending)
            return reference
        if self._run is None or self._phase == SOLVING:
            return replace(held, stamp=stamp)
        if not self._run.begun:
            self._run.begin(stamp, held.position)
        try:
            reference = self._run.update(stamp, state.position, state.velocity, wrench, state.deflection)
        except InputError as error:
            return self._brake(Result.NOT_SETTLED, str(error)).update(stamp)
        self._publish_feedback(stamp, reference)
        if self._run.done:
            self._phase, poses, plan = SOLVING, tuple(self._run.poses), self._plan
            assert plan is not None
            self._begin_job(lambda: plan.solve(poses), self._on_solved)
        return reference

    def _watch(self, stamp: int) -> None:
        """Brake if the goal is canceled or no usable wrench arrives."""
        assert self._handle is not None and self._plan is not None and self._wrench_came is not None
        if self._handle.is_cancel_requested:
            self._brake(Result.CANCELED, "canceled")
        elif (stamp - self._wrench_came) * 1e-9 > self._plan.timeout:
            self._brake(Result.STALE_STATE, f"no usable wrench for {(stamp - self._wrench_came) * 1e-9:.3f} s")

    def _watch_states(self) -> None:
        """End the calibration if joint states have ceased."""
        age = 0.0 if self._plan is None else (self._node.get_clock().now() - self._heard).nanoseconds * 1e-9
        if self._plan is not None and age > self._plan.timeout:
            self.end(Result.STALE_STATE, f"no usable joint state for {age:.3f} s")

    def _brake(self, code: int, reason: str) -> JointStop:
        assert self._plan is not None and self._reference is not None
        self._phase, self._ending = STOPPING, (code, reason)
        self._stop = JointStop(self._reference, np.array(self._plan.run.acceleration))
        return self._stop

    def interrupt(self, reason: str) -> None:
        """End the goal, because the stage restarts; see Lead."""
        self.end(Result.STALE_STATE, reason)

    def end(self, code: int, reason: str) -> None:
        """End the goal, if there is one, at once: the arm gets no further references."""
        if self._handle is not None:
            self._finish(code, reason)

    def _publish_feedback(self, stamp: int, reference: JointReference) -> None:
        """Publish feedback when the pose or the phase has changed."""
        assert self._handle is not None and self._run is not None and self._plan is not None
        index, count = self._run.pose_index, len(self._goals)
        phase = "moving" if index < count else "returning"
        at = reference.position
        if index < count and at is not None and np.abs(at - self._goals[index]).max() <= NEAR:
            self._arrived = stamp if self._arrived is None else self._arrived
            settled = (stamp - self._arrived) * 1e-9 >= self._plan.run.settle_time
            phase = "measuring" if settled else "settling"
        else:
            self._arrived = None
        if self._fed != (min(index + 1, count), phase):
            self._fed = (min(index + 1, count), phase)
            self._handle.publish_feedback(
                CalibrateBaseWrench.Feedback(pose=self._fed[0], pose_count=count, phase=phase)
            )

    # Results ----------------------------------------------------------------------------------------------------------

    def _on_solved(self, found: CalibrationResult) -> None:
        assert self._plan is not None and self._handle is not None
        plan, goal, parameters = self._plan, self._handle.request, self._plan.parameters(found)
        result = Result(
            **{name: value for name, value in parameters.items() if name.startswith(("wrench_", "gravity_"))},
            pose_count=found.poses,
            rank=found.rank,
            condition_number=found.condition_number,
            residual_force=found.residual_force,
            residual_torque=found.residual_torque,
            message=(
                f"{found.poses} poses, residual {found.residual_force:.3g} N and {found.residual_torque:.3g} N*m,"
                f" condition number {found.condition_number:.3g}"
            ),
        )
        try:
            if goal.output_file:
                plan.write(found)
                result.output_file = goal.output_file
            if goal.apply:
                self._take(parameters)
        except FlexarmError as error:
            self._finish(Result.INVALID_GOAL, str(error), result)
        else:
            self._finish(Result.SUCCESSFUL, result.message, result)

    def _finish(self, code: int, message: str, result: Any = None) -> None:
        handle = self._handle
        assert handle is not None
        self._forget()
        result = Result() if result is None else result
        result.error_code, result.message = code, message
        self._server.finish(handle, result)
