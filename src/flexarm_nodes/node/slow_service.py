"""A service that is answered by a worker thread, while the executor processes other messages."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from flexarm_nodes.node.arm_node import ArmNode


def create_slow_service(node: ArmNode, kind: Any, name: str, worker: Executor, answer: Callable[[Any], Any]) -> Any:
    """Offer a service on a node.

    The events executor sends what a callback returns at once, and does not wait for coroutines (rclpy 7.1).

    Args:
        node: node that offers the service.
        kind: service type; its response has a field ``message``.
        name: service name.
        worker: runs ``answer``.
        answer: returns the response to a request.
    """

    def begin(request: Any, _: Any) -> Future[Any]:
        return worker.submit(answer, request)

    service = node.create_service(kind, name, begin)
    send = service.send_response

    def reply(job: Future[Any], header: Any) -> None:
        try:
            response = job.result()
        except Exception as error:  # a defect in this code must not leave the client without an answer
            node.get_logger().error("".join(traceback.format_exception(error)))
            response = kind.Response(message=f"internal error: {type(error).__name__}: {error}")
        send(response, header)

    def send_later(job: Future[Any], header: Any) -> None:
        def hand_over(done: Future[Any]) -> None:
            executor = node.executor
            if executor is not None and not done.cancelled():  # a node that is ending has no executor
                executor.create_task(reply, done, header)

        job.add_done_callback(hand_over)

    service.send_response = send_later
    return service
