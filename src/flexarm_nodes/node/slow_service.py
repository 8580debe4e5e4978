"""SlowService: a service that is answered by a worker thread, while the executor processes other messages."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from flexarm_nodes.node.arm_node import ArmNode
from flexarm_nodes.node.bounded_requests import TOO_LARGE, bound_service, is_too_large

MOST_WAITING = 8  # requests that wait for an answer at a time
BUSY = f"{MOST_WAITING} requests wait for an answer already: ask again later"
WITHDRAWN = "the service was withdrawn before there was an answer: ask again"


class SlowService:
    """Offers a service on a node.

    The events executor sends the return value of a callback at once, and does not wait for coroutines (rclpy 7.1).
    """

    def __init__(self, node: ArmNode, kind: Any, name: str, worker: Executor, answer: Callable[[Any], Any]) -> None:
        """Offer the service.

        Args:
            node: node that offers the service.
            kind: service type; its response has a field ``message``.
            name: service name.
            worker: runs ``answer``.
            answer: returns the response to a request.
        """
        self._node, self._kind, self._worker, self._answer = node, kind, worker, answer
        self._waiting: dict[Future[Any], Any] = {}  # header of the request that each job answers
        self._service = node.create_service(kind, name, self._begin)
        bound_service(self._service)
        self._send, self._service.send_response = self._service.send_response, self._send_later

    def close(self) -> None:
        """Withdraw the service; pending requests are answered with that reason."""
        waiting, self._waiting = self._waiting, {}
        for job, header in waiting.items():
            job.cancel()
            self._send(self._kind.Response(message=WITHDRAWN), header)
        self._node.destroy_service(self._service)

    def _begin(self, request: Any, _: Any) -> Future[Any]:
        refusal = TOO_LARGE if is_too_large(request) else BUSY if len(self._waiting) >= MOST_WAITING else ""
        if not refusal:
            return self._worker.submit(self._answer, request)
        answered: Future[Any] = Future()
        answered.set_result(self._kind.Response(message=refusal))
        return answered

    def _send_later(self, job: Future[Any], header: Any) -> None:
        self._waiting[job] = header
        job.add_done_callback(lambda done: self._node.hand_over(self._reply, done))

    def _reply(self, job: Future[Any]) -> None:
        header = self._waiting.pop(job, None)
        if header is None:
            return  # withdrawn in the meantime
        try:
            response = job.result()
        except Exception as error:  # a defect in this code must not leave the client without an answer
            self._node.get_logger().error("".join(traceback.format_exception(error)))
            response = self._kind.Response(message=f"internal error: {type(error).__name__}: {error}")
        self._send(response, header)
