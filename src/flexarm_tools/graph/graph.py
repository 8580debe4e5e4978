"""Runner's access to the ROS graph: lifecycle transitions, parameters and simulation time.

Names of nodes are those of the namespace of the own node, or full names.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import rclpy
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.client import Client
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from flexarm.srv import AdvanceSimulation
from flexarm_core.errors import FlexarmError

TRANSITIONS = {
    "configure": Transition.TRANSITION_CONFIGURE,
    "activate": Transition.TRANSITION_ACTIVATE,
    "deactivate": Transition.TRANSITION_DEACTIVATE,
    "cleanup": Transition.TRANSITION_CLEANUP,
}
STATES = {
    "configure": State.PRIMARY_STATE_INACTIVE,
    "activate": State.PRIMARY_STATE_ACTIVE,
    "deactivate": State.PRIMARY_STATE_INACTIVE,
    "cleanup": State.PRIMARY_STATE_UNCONFIGURED,
    "shutdown": State.PRIMARY_STATE_FINALIZED,
}
SHUTDOWNS = {
    State.PRIMARY_STATE_UNCONFIGURED: Transition.TRANSITION_UNCONFIGURED_SHUTDOWN,
    State.PRIMARY_STATE_INACTIVE: Transition.TRANSITION_INACTIVE_SHUTDOWN,
    State.PRIMARY_STATE_ACTIVE: Transition.TRANSITION_ACTIVE_SHUTDOWN,
}
ANSWER_WITHIN = 4.0  # [s] then the request is resent: an answer may be lost during discovery
PATIENCE = 120.0  # [s] wall time, long enough for a busy machine


class GraphError(FlexarmError):
    """A node did not execute a request."""


class Graph:
    """Calls services of nodes and waits for the answers while the callbacks of the runner are handled."""

    def __init__(self, node: Node, executor: Executor, check: Callable[[], None]) -> None:
        """Use this node and executor; ``check`` is called while waiting and may raise an error."""
        self._node, self._executor, self._check = node, executor, check
        self._clients: dict[str, Client] = {}

    def spin_until(self, condition: Callable[[], bool], timeout: float, what: str) -> None:
        """Handle callbacks until a condition is true.

        Raises:
            GraphError: the condition was not true within the timeout [s].
        """
        deadline = time.monotonic() + timeout
        while not condition():
            self._check()
            if time.monotonic() > deadline:
                raise GraphError(f"{what} did not happen within {timeout:g} s")
            self._executor.spin_once(timeout_sec=0.02)

    def wait_for_node(self, name: str, timeout: float) -> None:
        """Wait until the services of a lifecycle node are available."""
        client = self._client(ChangeState, f"{name}/change_state")
        self.spin_until(client.service_is_ready, timeout, f"start of node '{name}'")

    def transition(self, name: str, transition: str, timeout: float = PATIENCE) -> None:
        """Request a lifecycle transition of a node.

        Raises:
            GraphError: the node rejected it, or did not complete it in time.
        """
        goal, deadline = STATES[transition], time.monotonic() + timeout
        while time.monotonic() < deadline:
            state = self.call(GetState, f"{name}/get_state", GetState.Request(), timeout).current_state.id
            if state == goal:
                return
            request = ChangeState.Request()
            request.transition.id = SHUTDOWNS.get(state, 0) if transition == "shutdown" else TRANSITIONS[transition]
            # The request is sent only once: if its answer is lost, the state shows whether it was executed.
            answer = self._ask(ChangeState, f"{name}/change_state", request, ANSWER_WITHIN)
            if answer is not None and not answer.success:
                raise GraphError(f"node '{name}' refused to {transition}")
        raise GraphError(f"node '{name}' did not {transition} within {timeout:g} s")

    def set_parameters(self, name: str, values: dict[str, Any], timeout: float = PATIENCE) -> None:
        """Set parameters of a node, all or none.

        Raises:
            GraphError: the node rejected them (the message gives the reason), or did not answer.
        """
        parameters = [Parameter(key, value=value).to_parameter_msg() for key, value in values.items()]
        request = SetParametersAtomically.Request(parameters=parameters)
        answer = self.call(SetParametersAtomically, f"{name}/set_parameters_atomically", request, timeout)
        if not answer.result.successful:
            raise GraphError(f"node '{name}' refused {values}: {answer.result.reason}")

    def advance(self, plant: str, until: float, timeout: float = PATIENCE) -> None:
        """Advance the plant to a simulation time [s].

        Raises:
            GraphError: the plant rejected the request, or did not answer.
        """
        answer = self.call(AdvanceSimulation, f"{plant}/advance", AdvanceSimulation.Request(until=until), timeout)
        if not answer.success:
            raise GraphError(f"node '{plant}' refused to run: {answer.message}")

    def go_on(self, plant: str) -> None:
        """Let the plant continue without the command that it is waiting for.

        Raises:
            GraphError: the plant is not waiting for a command, or did not answer.
        """
        answer = self.call(Trigger, f"{plant}/go_on", Trigger.Request())
        if not answer.success:
            raise GraphError(f"node '{plant}' does not go on: {answer.message}")

    def call(self, service: Any, name: str, request: Any, timeout: float = PATIENCE) -> Any:
        """Call an idempotent service; repeat the request if no answer arrives.

        Raises:
            GraphError: no answer arrived within the timeout [s].
        """
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            answer = self._ask(service, name, request, ANSWER_WITHIN)
            if answer is not None:
                return answer
            self._node.destroy_client(self._clients.pop(name))  # a new one is discovered anew
        raise GraphError(f"answer of {name} did not come within {timeout:g} s")

    def _ask(self, service: Any, name: str, request: Any, patience: float) -> Any:
        """Call a service once; return None if no answer arrives, e.g. before the server has discovered this client."""
        client = self._client(service, name)
        self.spin_until(client.service_is_ready, 10.0 * patience, f"service {name}")
        future = client.call_async(request)
        deadline = time.monotonic() + patience
        while not future.done() and time.monotonic() < deadline:
            self._check()
            self._executor.spin_once(timeout_sec=0.02)
        return future.result() if future.done() else None

    def _client(self, service: Any, name: str) -> Client:
        if name not in self._clients:
            self._clients[name] = self._node.create_client(service, name)
        return self._clients[name]


def running_nodes(node: Node, executor: Executor, patience: float = 0.5) -> set[str]:
    """Return the names of the nodes of this node's namespace that are discovered within the given time [s]."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and rclpy.ok():
        executor.spin_once(timeout_sec=0.05)
    found = node.get_node_names_and_namespaces()
    return {name for name, space in found if space == node.get_namespace() and name != node.get_name()}
