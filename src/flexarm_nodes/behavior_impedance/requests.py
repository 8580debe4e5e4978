"""BehaviorRequests: inputs of the behaviors other than samples: behavior sets, an operator's twists, services."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import TwistStamped
from std_srvs.srv import Trigger

from flexarm.msg import BehaviorSet
from flexarm.srv import SetBehaviors
from flexarm_core.errors import ConfigError, FlexarmError, InputError
from flexarm_nodes.behavior_impedance.setup import BehaviorSetup
from flexarm_nodes.behavior_impedance.streams import give_twist
from flexarm_nodes.messages.behavior import change_from_message
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode


class BehaviorRequests:
    """Subscriptions and services of a node that has behaviors.

    Attributes:
        setup: setup of the behaviors; None while the node is not configured.
    """

    def __init__(
        self,
        node: ArmNode,
        refuse: Callable[[int, str], None],
        newest: Callable[[], int | None],
        rename: Callable[[str], str] = str,
    ) -> None:
        """Create the subscriptions and services.

        Args:
            node: node that owns them.
            refuse: called with the stamp [ns] and the reason when a message is rejected.
            newest: returns the stamp of the newest joint state [ns], None before the first.
            rename: maps the default service names to those of this node.
        """
        self._node, self._refuse, self._newest = node, refuse, newest
        self.setup: BehaviorSetup | None = None
        self._subscriptions = [
            node.hear(BehaviorSet, topics.BEHAVIOR_SET, self._on_set, topics.CHANGES, self._on_lost),
            node.hear(TwistStamped, topics.TWIST_COMMAND, self._on_twist),
        ]
        self._services = [
            node.create_service(SetBehaviors, rename(topics.SET_BEHAVIORS), self._on_set_service),
            node.create_service(Trigger, rename(topics.ZERO_WRENCH), self._on_zero),
        ]

    def close(self) -> None:
        """Destroy subscriptions and services."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        for service in self._services:
            self._node.destroy_service(service)

    def _on_set(self, message: BehaviorSet) -> None:
        try:
            self._take(message)
        except FlexarmError as error:
            self._refuse(self._newest() or 0, f"behavior set refused: {error}")

    def _on_lost(self, count: int) -> None:
        self._refuse(self._newest() or 0, f"{count} behavior sets were lost so far: they come too fast")

    def _take(self, message: BehaviorSet) -> str:
        if self.setup is None:
            raise ConfigError("the node is not configured")
        return self.setup.sets.take(change_from_message(message), self.setup.stage.answered)

    def _on_twist(self, message: TwistStamped) -> None:
        newest = self._newest()
        if newest is None or self.setup is None:
            return  # no motion yet
        try:
            give_twist(message, self.setup.controller, newest)
        except InputError as error:
            self._refuse(newest, str(error))

    def _on_set_service(self, request: SetBehaviors.Request, response: SetBehaviors.Response) -> Any:
        try:
            response.message = self._take(request.set)
            response.success = True
        except FlexarmError as error:
            response.message = str(error)
        return response

    def _on_zero(self, _: Trigger.Request, response: Trigger.Response) -> Any:
        try:
            if not self._node.active or self.setup is None:
                raise InputError("the node is not active")
            bias = self.setup.stage.zero()
            response.success, response.message = True, f"wrench_bias: {[round(float(part), 6) for part in bias]}"
        except InputError as error:
            response.message = str(error)
        return response
