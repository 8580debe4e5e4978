"""ControllerSwitch: finds the ros2_control controller that takes an arm's commands, and activates it.

Requests to the controller manager are asynchronous and never made within a tick. The controller manager publishes
every change of a controller's state on ``~/activity``; if it does not have that topic, it is polled every POLL_PERIOD.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from builtin_interfaces.msg import Duration
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from flexarm_nodes.node import topics

try:
    from controller_manager_msgs.srv import ListControllers, SwitchController
except ImportError:  # flexarm also runs without ros2_control
    ListControllers = SwitchController = None
try:
    from controller_manager_msgs.msg import ControllerManagerActivity
except ImportError:
    ControllerManagerActivity = None

AVAILABLE = ListControllers is not None  # whether the services of a controller manager can be called
POLL_PERIOD = 0.1  # [s] wall time between two requests
SELDOM = 1.0  # [s] wall time between two requests while changes are received on ~/activity
PATIENCE = 5.0  # [s] wall time after which a request times out
RETRY_AFTER = 1.0  # [s] wall time from a rejected request to the next one
SWITCH_TIMEOUT = 2  # [s] time that the controller manager gives the drives to change their mode
TAKES_ARRAYS = (  # controller types that take std_msgs/Float64MultiArray on ~/commands
    "forward_command_controller/ForwardCommandController",
    "effort_controllers/JointGroupEffortController",
    "velocity_controllers/JointGroupVelocityController",
    "position_controllers/JointGroupPositionController",
)


@dataclass(frozen=True, slots=True)
class CommandController:
    """A controller that passes commands to the drives.

    Attributes:
        name: controller name.
        joints: (n) joint names in the order of its commands.
        active: whether the controller is active now.
    """

    name: str
    joints: tuple[str, ...]
    active: bool


def command_controller(listed: Iterable[Any], joints: Iterable[str], mode: str) -> CommandController | None:
    """Return the controller that takes commands of a mode for all joints of an arm.

    If there are several, return the active one, else the one with the usual name, else the first.

    Args:
        listed: controllers, each a controller_manager_msgs/ControllerState.
        joints: joint names of the arm, in any order.
        mode: ``effort``, ``velocity`` or ``position``.

    Returns:
        The controller, or None if none is configured.
    """
    wanted = {f"{joint}/{mode}" for joint in joints}
    found = [
        CommandController(
            one.name,
            tuple(name.removesuffix(f"/{mode}") for name in one.required_command_interfaces),
            one.state == "active",
        )
        for one in listed
        if one.type in TAKES_ARRAYS and set(one.required_command_interfaces) == wanted
    ]
    usual = topics.command_controller(mode)
    return min(found, key=lambda one: (not one.active, one.name != usual), default=None)


def in_the_way(listed: Iterable[Any], joints: Iterable[str], name: str) -> list[str]:
    """Return other active controllers that claim joints of the arm in any mode: they must be deactivated."""
    arm = set(joints)
    return [
        one.name
        for one in listed
        if one.state == "active"
        and one.name != name
        and arm & {interface.rpartition("/")[0] for interface in one.claimed_interfaces}
    ]


class ControllerSwitch:
    """Activates the controller of a mode on request, then only tracks whether it stays active.

    Attributes:
        controller: controller found for the mode; None before.
        trouble: why it is not active yet; empty if nothing is wrong.
    """

    def __init__(
        self, node: Node, manager: str, joints: Sequence[str], on_change: Callable[[CommandController], None]
    ) -> None:
        """Create the clients of a controller manager.

        Args:
            node: node that sends the requests.
            manager: name of the controller manager.
            joints: joint names of the arm.
            on_change: called when the controller is found, activated or deactivated.
        """
        self._node, self._joints, self._on_change = node, tuple(joints), on_change
        self._list = node.create_client(ListControllers, f"{manager}/list_controllers")
        self._switch = node.create_client(SwitchController, f"{manager}/switch_controller")
        self._manager, self._activity = manager, None
        if ControllerManagerActivity is not None:
            self._activity = node.create_subscription(
                ControllerManagerActivity, f"{manager}/activity", self._on_activity, topics.LATCHED
            )
        self._timer = node.create_timer(POLL_PERIOD, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._future: Any = None
        self._client: Any = None
        self._asked_at = self._heard_at = 0.0
        self.end()

    def begin(self, mode: str) -> None:
        """Find the controller of a mode and activate it; other controllers of the arm's joints are deactivated."""
        self.end()
        self._mode, self._wanted = mode, True
        self.trouble = f"no controller of {mode} is active yet"

    def fall_back(self, name: str) -> None:
        """Switch the drives to another controller until :meth:`begin` is called; retry until this succeeds.

        The first request does not wait for the timer, because the arm is not braked in the meantime.
        """
        self._forget()
        self._wanted, self._fallback = False, name
        self.trouble = f"{name} is not active yet"
        self._not_before = 0.0
        self._ask_for_fallback()

    def end(self) -> None:
        """Send no more requests; the controller keeps its state."""
        self._forget()
        self._mode, self._wanted, self._fallback = "", False, ""
        self._not_before = self._heard_at = 0.0
        self.controller: CommandController | None = None
        self.trouble = ""

    def close(self) -> None:
        """Destroy clients, subscription and timer."""
        self.end()
        self._node.destroy_timer(self._timer)
        for client in (self._list, self._switch):
            self._node.destroy_client(client)
        if self._activity is not None:
            self._node.destroy_subscription(self._activity)

    def _look(self) -> None:
        now = time.monotonic()
        if self._future is not None and now - self._asked_at > PATIENCE:
            self._forget()
            self.trouble = f"{self._manager} does not answer"
        settled = bool(self._heard_at) and not self._wanted
        rested = now - self._asked_at >= (SELDOM if settled else 0.0) and now >= self._not_before
        if self._fallback and self._future is None and now >= self._not_before:
            self._ask_for_fallback()
        elif self._mode and self._future is None and rested:
            self._ask(self._list, ListControllers.Request(), self._on_list)

    def _ask_for_fallback(self) -> None:
        own = [] if self.controller is None else [self.controller.name]
        request = SwitchController.Request(
            activate_controllers=[self._fallback],
            deactivate_controllers=own,
            strictness=SwitchController.Request.STRICT,
            activate_asap=True,
            timeout=Duration(sec=SWITCH_TIMEOUT),
        )
        self._ask(self._switch, request, self._on_fallen)

    def _on_fallen(self, answer: Any) -> None:
        if answer.ok:
            self.trouble, self._fallback = f"{self._fallback} has the drives", ""
            return
        self.trouble = f"{self._manager} did not activate {self._fallback}: {answer.message or 'no reason given'}"
        self._not_before = time.monotonic() + RETRY_AFTER

    def _ask(self, client: Any, request: Any, on_answer: Callable[[Any], None]) -> None:
        if not client.service_is_ready():
            self.trouble = f"{self._manager} is not there"
            return
        self._asked_at, self._client, self._future = time.monotonic(), client, client.call_async(request)

        def done(future: Any) -> None:
            if future is self._future:  # else the request was dropped
                self._future = None
                on_answer(future.result())

        self._future.add_done_callback(done)

    def _forget(self) -> None:
        """Drop the pending request."""
        future, self._future = self._future, None
        if future is not None:
            self._client.remove_pending_request(future)

    def _on_list(self, answer: Any) -> None:
        found = command_controller(answer.controller, self._joints, self._mode)
        if found is None:
            self.trouble = f"{self._manager} has no configured controller of {self._mode} for exactly the arm's joints"
            self._lose()
            return
        if self.controller is not None and self.controller.name == found.name and self._heard_at > self._asked_at:
            found = replace(found, active=self.controller.active)  # ~/activity was newer
        self._take(found)
        if self._wanted:
            others = in_the_way(answer.controller, self._joints, found.name)
            request = SwitchController.Request(
                activate_controllers=[found.name],
                deactivate_controllers=others,
                strictness=SwitchController.Request.STRICT,
                timeout=Duration(sec=SWITCH_TIMEOUT),
            )
            self.trouble = f"{found.name} is not active yet"
            self._ask(self._switch, request, self._on_switched)

    def _on_switched(self, answer: Any) -> None:
        if not answer.ok:
            name = "" if self.controller is None else self.controller.name
            self.trouble = f"{self._manager} did not activate {name}: {answer.message or 'no reason given'}"
            self._not_before = time.monotonic() + RETRY_AFTER
            return
        self._ask(self._list, ListControllers.Request(), self._on_list)  # confirm that the controller is active

    def _on_activity(self, message: Any) -> None:
        self._heard_at = time.monotonic()
        if self.controller is not None:
            name = self.controller.name
            active = any(one.name == name and one.state.label == "active" for one in message.controllers)
            self._take(replace(self.controller, active=active))

    def _lose(self) -> None:
        """Mark the controller as inactive because it no longer exists."""
        if self.controller is not None:
            self._take(replace(self.controller, active=False))

    def _take(self, found: CommandController) -> None:
        before, self.controller = self.controller, found
        if found.active:
            self._wanted, self.trouble = False, ""
        elif before is not None and before.active:
            self.trouble = f"{found.name} was deactivated"
        if found != before:
            self._on_change(found)
