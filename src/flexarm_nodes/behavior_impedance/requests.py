"""BehaviorRequests: inputs of the behaviors other than samples: behavior sets, an operator's twists, services."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import TwistStamped
from std_srvs.srv import Trigger

from flexarm.msg import BehaviorSet
from flexarm.srv import SetBehaviors
from flexarm_core.behavior_impedance.behaviors.teleoperation import Teleoperation
from flexarm_core.errors import FlexarmError, InputError
from flexarm_core.pipeline.behavior_stage import BehaviorStage
from flexarm_nodes.behavior_impedance.sets import BehaviorSets
from flexarm_nodes.messages.behavior import change_from_message
from flexarm_nodes.messages.conversions import stamp_to_nanoseconds
from flexarm_nodes.node import topics
from flexarm_nodes.node.bounded_requests import TOO_LARGE, bound_service, is_too_large
from flexarm_nodes.node.input.command_age import check_age
from flexarm_nodes.node.interfaces import Interfaces


class BehaviorRequests:
    """Subscriptions and services of a node that has behaviors."""

    def __init__(self, host: Interfaces, stage: BehaviorStage, sets: BehaviorSets) -> None:
        """Create the subscriptions and services of a stage."""
        self._node, self._stage, self._sets, self._refuse = host.node, stage, sets, host.refuse
        node = host.node
        self._subscriptions = [
            node.hear(BehaviorSet, topics.BEHAVIOR_SET, self._on_set, topics.CHANGES, self._on_lost),
            node.hear(TwistStamped, topics.TWIST_COMMAND, self._on_twist),
        ]
        self._services = [
            node.create_service(SetBehaviors, host.name(topics.SET_BEHAVIORS), self._on_set_service),
            node.create_service(Trigger, host.name(topics.ZERO_WRENCH), self._on_zero),
        ]
        bound_service(self._services[0])

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
            self._refuse(f"behavior set refused: {error}")

    def _on_lost(self, count: int) -> None:
        self._refuse(f"{count} behavior sets were lost so far, as the middleware counts: they come too fast")

    def _take(self, message: BehaviorSet) -> str:
        return self._sets.take(change_from_message(message), self._stage.answered)

    def _on_twist(self, message: TwistStamped) -> None:
        if self._stage.answered < 0:
            return  # no motion yet
        try:
            give_twist(message, self._stage)
        except InputError as error:
            self._refuse(str(error))

    def _on_set_service(self, request: SetBehaviors.Request, response: SetBehaviors.Response) -> Any:
        try:
            if is_too_large(request):
                raise InputError(TOO_LARGE)
            response.message = self._take(request.set)
            response.success = True
        except FlexarmError as error:
            response.message = str(error)
        return response

    def _on_zero(self, _: Trigger.Request, response: Trigger.Response) -> Any:
        try:
            if not self._node.active:
                raise InputError("the node is not active")
            bias = self._stage.zero()
            response.success, response.message = True, f"wrench_bias: {[round(float(part), 6) for part in bias]}"
        except InputError as error:
            response.message = str(error)
        return response


def give_twist(message: TwistStamped, stage: BehaviorStage) -> None:
    """Pass a twist to every behavior of kind teleoperation that uses its frame.

    A stamp of 0 stands for the stamp of the newest sample. A later stamp is limited to it, so that a sender's clock
    that is ahead does not delay the timeout of a stream that has ended.

    Raises:
        InputError: no behavior follows twists, none in this frame, or a number is not finite: nothing changes; or the
            twist is too old: the tool comes to rest.
    """
    controller, newest = stage.controller, stage.answered
    chain, sent = controller.arm.chain, message.header.frame_id
    frames = {"base": chain.base_frame, "tool": chain.tool_frame}
    found = [
        (active.behavior, frames[active.spec.settings.get("frame", "base")])
        for active in controller.behaviors
        if isinstance(active.behavior, Teleoperation)
    ]
    if not found:
        raise InputError("twist command: no behavior of kind teleoperation takes part")
    followers = [behavior for behavior, frame in found if sent in ("", frame)]
    if not followers:
        wanted = "', '".join(dict.fromkeys(frame for _, frame in found))
        raise InputError(f"twist command is in frame '{sent}'; followed is '{wanted}'")
    linear, angular = message.twist.linear, message.twist.angular
    twist = np.array([linear.x, linear.y, linear.z, angular.x, angular.y, angular.z])
    given = stamp_to_nanoseconds(message.header.stamp)
    stamp = min(given, newest) if given else newest
    for behavior in followers:
        behavior.give(stamp, twist)
    try:
        check_age(stamp, newest, max(behavior.timeout for behavior in followers), "timeout of the behavior")
    except InputError as error:
        raise InputError(f"twist command: {error}") from error
