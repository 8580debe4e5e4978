"""Streams that behaviours follow: twists of an operator, references of a path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from geometry_msgs.msg import TwistStamped

from flexarm.msg import CartesianReference
from flexarm_core.behavior_impedance.behavior import BehaviorSpec
from flexarm_core.behavior_impedance.behaviors.path import Path
from flexarm_core.behavior_impedance.behaviors.teleoperation import Teleoperation
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.errors import InputError
from flexarm_core.robot.base_link import BaseLink
from flexarm_core.types import Array
from flexarm_nodes.conversions import cartesian_reference_from_message, stamp_to_nanoseconds

ALL_AXES = np.ones(6, dtype=bool)


def give_twist(message: TwistStamped, controller: BehaviorImpedanceController, newest: int) -> None:
    """Give a twist to every behaviour of kind teleoperation whose frame it is in.

    A stamp of 0 is that of the newest joint state; one beyond it is taken for it, so that a sender's clock that is
    ahead does not keep a stream alive that has ceased.

    Args:
        message: the twist.
        controller: whose behaviours get it.
        newest: stamp of the newest joint state [ns].

    Raises:
        InputError: nobody follows twists, none in this frame, or numbers that are not finite; nothing changes.
    """
    chain, sent = controller.arm.chain, message.header.frame_id
    frames = {"base": chain.base_frame, "tool": chain.tool_frame}
    found = [
        (active.behavior, frames[active.spec.settings.get("frame", "base")])
        for active in controller.behaviors
        if isinstance(active.behavior, Teleoperation)
    ]
    if not found:
        raise InputError("twist command: no behaviour of kind teleoperation takes part")
    followers = [behavior for behavior, frame in found if sent in ("", frame)]
    if not followers:
        wanted = "', '".join(dict.fromkeys(frame for _, frame in found))
        raise InputError(f"twist command is in frame '{sent}'; followed is '{wanted}'")
    linear, angular = message.twist.linear, message.twist.angular
    twist = np.array([linear.x, linear.y, linear.z, angular.x, angular.y, angular.z])
    given = stamp_to_nanoseconds(message.header.stamp)
    for behavior in followers:
        behavior.give(min(given, newest) if given else newest, twist)


def stream_followers(controller: BehaviorImpedanceController) -> Iterator[Path]:
    """Behaviours of kind path that follow a stream."""
    for active in controller.behaviors:
        if isinstance(active.behavior, Path) and _of_stream(active.spec):
            yield active.behavior


def _of_stream(spec: BehaviorSpec) -> bool:
    return spec.settings.get("source") == "stream"


def give_reference(
    message: CartesianReference,
    controller: BehaviorImpedanceController,
    base: BaseLink,
    deflection: Array,
    newest: int,
) -> None:
    """Give a reference to the path that follows a stream, in the base link's frame.

    Twist and acceleration are turned into its axes; how the base link itself moves is not taken off. Which axes count
    is said by the law's parameter, not by the reference.

    Args:
        message: the reference.
        controller: whose behaviours get it.
        base: where the base link is.
        deflection: (m,) of the elastic joints under it [m | rad].
        newest: stamp of the newest joint state [ns]; one beyond it is taken for it, as with twists.

    Raises:
        InputError: nobody follows a stream, another tool or frame, no pose, a jump; nothing changes.
    """
    followers = list(stream_followers(controller))
    if not followers:
        raise InputError("path reference: no behaviour of kind path with source 'stream' takes part")
    reference = cartesian_reference_from_message(message, controller.arm.chain.tool_frame)
    position, rotation, _ = base.reference(replace(reference, axes=ALL_AXES), deflection)
    turn = rotation @ reference.rotation.T
    twist, acceleration = (
        (part.reshape(2, 3) @ turn.T).ravel() for part in (reference.velocity, reference.acceleration)
    )
    for behavior in followers:
        behavior.give(min(reference.stamp, newest), position, rotation, twist, acceleration)
