"""GoalServer: an action server without a goal thread; a goal ends when the node calls finish() with a result."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node


class GoalServer(ActionServer):
    """Goals begin when they are accepted; :meth:`finish` ends a goal.

    A goal at which a callback fails is rejected or aborted: the events executor ends the process where an error leaves
    a task (rclpy 7.1).

    The usual execute callback, which runs as long as the goal, would need a thread; as a waiting coroutine it would
    keep the events executor busy without a pause (rclpy 7.1).
    """

    def __init__(
        self,
        node: Node,
        action: Any,
        name: str,
        on_goal: Callable[[Any], GoalResponse],
        on_accepted: Callable[[ServerGoalHandle], None],
    ) -> None:
        """Offer an action on a node.

        Args:
            node: node that offers the action.
            action: action type.
            name: action name.
            on_goal: accepts or rejects a goal.
            on_accepted: begins an accepted goal; every cancel request is accepted and is visible in the goal handle.
        """

        def ask(goal: Any) -> GoalResponse:
            try:
                return on_goal(goal)
            except Exception:
                node.get_logger().error(traceback.format_exc())
                return GoalResponse.REJECT

        def accept(handle: ServerGoalHandle) -> None:
            handle.execute()
            try:
                on_accepted(handle)
            except Exception:
                node.get_logger().error(traceback.format_exc())
                handle.abort()
                self.notify_execute(handle, lambda _: action.Result())

        super().__init__(
            node,
            action,
            name,
            execute_callback=lambda handle: action.Result(),
            goal_callback=ask,
            handle_accepted_callback=accept,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
        )

    def notify_execute(self, goal_handle: ServerGoalHandle, execute_callback: Any) -> None:
        """Run a callback that returns the result; do nothing when a goal only begins."""
        if execute_callback is not None:
            super().notify_execute(goal_handle, execute_callback)

    def finish(self, handle: ServerGoalHandle, result: Any) -> None:
        """Set the result of a goal; its error code decides whether the goal succeeded, was canceled or aborted."""
        if result.error_code == result.SUCCESSFUL:
            handle.succeed()
        elif result.error_code == result.CANCELED:
            handle.canceled()
        else:
            handle.abort()
        self.notify_execute(handle, lambda _: result)
