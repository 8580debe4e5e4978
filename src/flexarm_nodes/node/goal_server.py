"""GoalServer: an action server whose goals live on the node's own callbacks, and end when their result is handed in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node


class GoalServer(ActionServer):
    """Goals begin when they are accepted; :meth:`finish` ends one.

    The usual callback that runs as long as its goal would need a thread, or, as a coroutine that waits, would keep the
    events executor busy without a pause (rclpy 7.1).
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
            node: that offers it.
            action: its type.
            name: under which it is offered.
            on_goal: accepts or rejects a goal.
            on_accepted: begins one; cancellations are accepted, and seen in the handle.
        """

        def accept(handle: ServerGoalHandle) -> None:
            handle.execute()
            on_accepted(handle)

        super().__init__(
            node,
            action,
            name,
            execute_callback=lambda handle: action.Result(),
            goal_callback=on_goal,
            handle_accepted_callback=accept,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
        )

    def notify_execute(self, goal_handle: ServerGoalHandle, execute_callback: Any) -> None:
        """Run a callback that hands in the result; nothing runs when a goal merely begins."""
        if execute_callback is not None:
            super().notify_execute(goal_handle, execute_callback)

    def finish(self, handle: ServerGoalHandle, result: Any) -> None:
        """Hand in the result of a goal; how it ends is said by its error code."""
        if result.error_code == result.SUCCESSFUL:
            handle.succeed()
        elif result.error_code == result.CANCELLED:
            handle.canceled()
        else:
            handle.abort()
        self.notify_execute(handle, lambda _: result)
