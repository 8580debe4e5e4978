"""GoalServer: an action server without a goal thread; a goal ends when the node calls finish() with a result."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node

from flexarm_core.errors import FlexarmError, InputError
from flexarm_nodes.node.bounded_requests import TOO_LARGE, SetAside, bound_action, is_too_large


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
        check: Callable[[Any], None],
        refuse: Callable[[str], None],
        on_accepted: Callable[[ServerGoalHandle], None],
        set_aside: SetAside | None = None,
    ) -> None:
        """Offer an action on a node.

        Args:
            node: node that offers the action.
            action: action type.
            name: action name.
            check: raises FlexarmError to reject a goal.
            refuse: called with the reason why a goal was rejected: the client only learns that it was.
            on_accepted: begins an accepted goal; every cancel request is accepted and is visible in the goal handle.
            set_aside: takes lists out of goals before they are converted, see bounded_requests.
        """

        def ask(goal: Any) -> GoalResponse:
            try:
                if self._too_large:
                    raise InputError(TOO_LARGE)
                check(goal)
            except FlexarmError as error:
                node.get_logger().warning(f"goal rejected: {error}")
                refuse(f"goal rejected: {error}")
            except Exception:
                node.get_logger().error(traceback.format_exc())
            else:
                return GoalResponse.ACCEPT
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
        self._action_type, self._too_large = bound_action(action, set_aside), False

    async def _execute_goal_request(self, request_header_and_message: Any) -> None:
        self._too_large = is_too_large(request_header_and_message[1])
        await super()._execute_goal_request(request_header_and_message)

    def notify_execute(self, goal_handle: ServerGoalHandle, execute_callback: Any) -> None:
        """Run a callback that returns the result; do nothing when a goal only begins."""
        if execute_callback is not None:
            super().notify_execute(goal_handle, execute_callback)

    def finish(self, handle: ServerGoalHandle, result: Any, *, canceled: bool = False) -> None:
        """Set the result of a goal; its error code decides whether the goal succeeded, was canceled or aborted.

        An action without a code for it says ``canceled``.
        """
        if canceled or result.error_code == getattr(result, "CANCELED", None):
            handle.canceled()
        elif result.error_code == result.SUCCESSFUL:
            handle.succeed()
        else:
            handle.abort()
        self.notify_execute(handle, lambda _: result)
