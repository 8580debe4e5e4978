"""Action calibrate_tool_wrench of behavior_impedance_controller: weighs the tool in poses that others move it to."""

from __future__ import annotations

from typing import Any

from rclpy.action.server import ServerGoalHandle

from flexarm.action import CalibrateToolWrench
from flexarm_core.behavior_impedance.wrench.tool_calibration import ToolCalibration, ToolWeighing, ToolWeighingConfig
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.pipeline.behavior_stage import BehaviorStage
from flexarm_nodes.node import topics
from flexarm_nodes.node.diagnostics import ERROR
from flexarm_nodes.node.goal_server import GoalServer
from flexarm_nodes.node.interfaces import Interfaces

Result = CalibrateToolWrench.Result
PERIOD = 0.05  # [s] at which the weighing is looked at
PATIENCE = 300.0  # [s] default of the timeout


class ToolWrenchCalibration:
    """Accepts goals; the stage weighs the tool while one is active."""

    def __init__(self, host: Interfaces, stage: BehaviorStage) -> None:
        """Offer the action for a stage."""
        self._node, self._stage = host.node, stage
        refuse = lambda reason: host.node.diagnostics.report(ERROR, reason, 0)  # noqa: E731
        name = host.name(topics.CALIBRATE_TOOL_WRENCH)
        self._server = GoalServer(host.node, CalibrateToolWrench, name, self._check, refuse, self._on_accepted)
        look = host.node.guarded(lambda _: self._look())
        self._timer = host.node.create_timer(PERIOD, lambda: look(None))
        self._handle: ServerGoalHandle | None = None

    def close(self) -> None:
        """Withdraw the action."""
        self._server.destroy()
        self._node.destroy_timer(self._timer)

    def _check(self, _: CalibrateToolWrench.Goal) -> None:
        if self._handle is not None:
            raise InputError("another calibration runs; cancel it first")
        if not self._node.active:
            raise InputError("the node is not active")
        if not self._stage.wrenches.sensor:
            raise InputError("there is no force/torque sensor at the tool")

    def _on_accepted(self, handle: ServerGoalHandle) -> None:
        self._handle, goal = handle, handle.request
        given = {
            name: value
            for name in ("pose_count", "samples", "settle_time", "min_angle")
            if (value := getattr(goal, name))
        }
        try:
            self._weighing = ToolWeighing(ToolWeighingConfig(**given))
            self._timeout = goal.timeout or PATIENCE
            if not self._timeout > 0.0:
                raise ConfigError(f"timeout must be > 0 s, got {goal.timeout}")
        except ConfigError as error:
            self._finish(Result.INVALID_GOAL, str(error))
            return
        self._stage.weighing = self._weighing
        self._fed, self._since = (-1, ""), self._node.get_clock().now()

    def _look(self) -> None:
        """Publish what has changed, and end the goal if it is done, canceled or waits for too long."""
        if self._handle is None:
            return
        weighing, now = self._weighing, self._node.get_clock().now()
        count = len(weighing.wrench)
        if count > self._fed[0]:
            self._since = now
        if (count, weighing.phase) != self._fed:
            self._fed = count, weighing.phase
            self._handle.publish_feedback(
                CalibrateToolWrench.Feedback(pose=count, pose_count=weighing.config.pose_count, phase=weighing.phase)
            )
        if self._handle.is_cancel_requested:
            self._finish(Result.CANCELED, f"canceled after {count} poses")
        elif weighing.done:
            self._solve()
        elif (waited := (now - self._since).nanoseconds * 1e-9) > self._timeout:
            self._finish(
                Result.STALE, f"no further pose for {waited:.3g} s; {count} were weighed, then: {weighing.phase}"
            )

    def _solve(self) -> None:
        assert self._handle is not None
        try:
            found = self._stage.wrenches.calibrated(self._weighing, apply=self._handle.request.apply)
        except InputError as error:
            self._finish(Result.POOR_DATA, str(error))
            return
        result = Result(
            wrench_bias=found.bias.tolist(),
            tool_mass=found.mass,
            tool_center_of_mass=found.center_of_mass.tolist(),
            parameters=parameters_text(found),
            pose_count=found.poses,
            condition_number=found.condition_number,
            residual_force=found.residual_force,
            residual_torque=found.residual_torque,
        )
        said = (
            f"{found.mass:.4g} kg at {[round(x, 4) for x in found.center_of_mass.tolist()]} m; {found.poses} poses,"
            f" residual {found.residual_force:.3g} N and {found.residual_torque:.3g} N*m, condition number"
            f" {found.condition_number:.3g}"
        )
        self._finish(Result.SUCCESSFUL, said, result)

    def end(self) -> None:
        """End the goal, if there is one."""
        if self._handle is not None:
            self._finish(Result.DEACTIVATED, "the node was deactivated")

    def _finish(self, code: int, message: str, result: Any = None) -> None:
        handle, self._handle, self._stage.weighing = self._handle, None, None
        result = Result() if result is None else result
        result.error_code, result.message = code, message
        self._server.finish(handle, result)


def parameters_text(found: ToolCalibration) -> str:
    """Return a calibration as parameters in YAML."""
    bias, center = (", ".join(f"{x:.6f}" for x in values) for values in (found.bias, found.center_of_mass))
    return f"wrench_bias: [{bias}]\ntool_mass: {found.mass:.6f}\ntool_center_of_mass: [{center}]\n"
