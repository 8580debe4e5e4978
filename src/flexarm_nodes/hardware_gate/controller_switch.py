"""ControllerSwitch: which controller of ros2_control takes an arm's commands, and how it comes to be active.

The controller manager is asked without waiting for its answers, never within a tick. Whether the controller is active
is heard on ``~/activity``, which the controller manager sends at every change; one that does not have that topic is
asked every POLL_PERIOD.
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
except ImportError:  # flexarm runs where there is no ros2_control
    ListControllers = SwitchController = None
try:
    from controller_manager_msgs.msg import ControllerManagerActivity
except ImportError:
    ControllerManagerActivity = None

AVAILABLE = ListControllers is not None  # whether controller managers can be asked here
POLL_PERIOD = 0.1  # [s] wall time between two questions
SELDOM = 1.0  # [s] the same where changes are heard of anyway
PATIENCE = 5.0  # [s] wall time after which an answer is waited for no longer
RETRY_AFTER = 1.0  # [s] wall time from a refusal to the next request
SWITCH_TIMEOUT = 2  # [s] that the controller manager gives the drives to change their mode
TAKES_ARRAYS = (  # types that take std_msgs/Float64MultiArray on ~/commands
    "forward_command_controller/ForwardCommandController",
    "effort_controllers/JointGroupEffortController",
    "velocity_controllers/JointGroupVelocityController",
    "position_controllers/JointGroupPositionController",
)


@dataclass(frozen=True, slots=True)
class CommandController:
    """A controller that passes commands on to the drives.

    Attributes:
        name: of the controller.
        joints: (n) in the order of its commands.
        active: whether it passes them on now.
    """

    name: str
    joints: tuple[str, ...]
    active: bool


def command_controller(listed: Iterable[Any], joints: Iterable[str], mode: str) -> CommandController | None:
    """The controller that takes commands of a mode for all joints of an arm.

    Of several the active one, else the one with the usual name, else the first.

    Args:
        listed: of type controller_manager_msgs/ControllerState.
        joints: of the arm, in any order.
        mode: ``effort``, ``velocity`` or ``position``.

    Returns:
        The controller, or None where none is configured.
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
    """Other active controllers that command joints of the arm, in whatever mode: they must make room."""
    arm = set(joints)
    return [
        one.name
        for one in listed
        if one.state == "active"
        and one.name != name
        and arm & {interface.rpartition("/")[0] for interface in one.claimed_interfaces}
    ]


class ControllerSwitch:
    """Makes the controller of a mode active when it is told to, then only follows what others do with it.

    Attributes:
        controller: that was found for the mode, None before.
        trouble: why it is not active yet, empty where nothing is wrong.
    """

    def __init__(
        self, node: Node, manager: str, joints: Sequence[str], on_change: Callable[[CommandController], None]
    ) -> None:
        """Ask a controller manager.

        Args:
            node: that asks.
            manager: name of the controller manager.
            joints: of the arm.
            on_change: called when the controller is found, becomes active, or is no longer active.
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
        """Find the controller of a mode and make it active, in place of whatever commands the arm's joints."""
        self.end()
        self._mode, self._wanted = mode, True
        self.trouble = f"no controller of {mode} is active yet"

    def fall_back(self, name: str) -> None:
        """Give the drives to another controller, until :meth:`begin` asks for them again; asked for until it is so.

        This does not wait for the timer: nobody brakes the arm meanwhile.
        """
        self._forget()
        self._wanted, self._fallback = False, name
        self.trouble = f"{name} is not active yet"
        self._not_before = 0.0
        self._ask_for_fallback()

    def end(self) -> None:
        """Ask and tell nothing more; the controller stays as it is."""
        self._forget()
        self._mode, self._wanted, self._fallback = "", False, ""
        self._not_before = self._heard_at = 0.0
        self.controller: CommandController | None = None
        self.trouble = ""

    def close(self) -> None:
        """Take clients, subscription and timer away."""
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
            if future is self._future:  # else it was given up
                self._future = None
                on_answer(future.result())

        self._future.add_done_callback(done)

    def _forget(self) -> None:
        """Wait no longer for an answer."""
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
            found = replace(found, active=self.controller.active)  # what was heard meanwhile is newer
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
        self._ask(self._list, ListControllers.Request(), self._on_list)  # that it is active is believed when it is seen

    def _on_activity(self, message: Any) -> None:
        self._heard_at = time.monotonic()
        if self.controller is not None:
            name = self.controller.name
            active = any(one.name == name and one.state.label == "active" for one in message.controllers)
            self._take(replace(self.controller, active=active))

    def _lose(self) -> None:
        """The controller is there no more."""
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
