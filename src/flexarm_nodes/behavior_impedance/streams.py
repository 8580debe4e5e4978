"""Passes twist commands of an operator to the behaviors that follow them."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import TwistStamped

from flexarm_core.behavior_impedance.behaviors.teleoperation import Teleoperation
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.errors import InputError
from flexarm_nodes.messages.conversions import stamp_to_nanoseconds


def give_twist(message: TwistStamped, controller: BehaviorImpedanceController, newest: int) -> None:
    """Pass a twist to every behavior of kind teleoperation that uses its frame.

    A stamp of 0 stands for the stamp of the newest joint state. A later stamp is limited to it, so that a sender's
    clock that is ahead does not delay the timeout of a stream that has ended.

    Args:
        message: the twist.
        controller: controller whose behaviors get the twist.
        newest: stamp of the newest joint state [ns].

    Raises:
        InputError: no behavior follows twists, none in this frame, or a number is not finite; nothing changes.
    """
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
    for behavior in followers:
        behavior.give(min(given, newest) if given else newest, twist)
