"""Passes streamed path references to the behaviors that follow a stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from flexarm_core.behavior_impedance.behaviors.path import Path
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.errors import InputError
from flexarm_core.robot.base_link import BaseLink
from flexarm_core.types import Array, CartesianReference

ALL_AXES = np.ones(6, dtype=bool)


def stream_followers(controller: BehaviorImpedanceController) -> Iterator[Path]:
    """Iterate over the active path behaviors that follow a stream."""
    for active in controller.behaviors:
        if isinstance(active.behavior, Path) and active.spec.settings.get("source") == "stream":
            yield active.behavior


def give_reference(
    reference: CartesianReference,
    controller: BehaviorImpedanceController,
    base: BaseLink,
    deflection: Array,
    newest: int,
) -> None:
    """Pass a reference, transformed to the base link frame, to the path behavior that follows a stream.

    Twist and acceleration are rotated into base link axes; the motion of the base link itself is not subtracted. The
    tracked axes are set by the law's parameter, not by the reference.

    Args:
        reference: reference for the controller's tool.
        controller: controller whose behaviors receive the reference.
        base: kinematics of the base link.
        deflection: (m,) deflections of the elastic joints under the base link [m | rad].
        newest: stamp of the newest joint state [ns]. A later stamp of the reference is replaced by it, so that a stream
            that has stopped still times out if the sender's clock is ahead.

    Raises:
        InputError: no behavior follows a stream, the frame is unknown, the pose is not valid, or the pose jumps; the
            previous reference is kept.
    """
    followers = list(stream_followers(controller))
    if not followers:
        raise InputError("path reference: no behavior of kind path with source 'stream' takes part")
    position, rotation, _ = base.reference(replace(reference, axes=ALL_AXES), deflection)
    turn = rotation @ reference.rotation.T
    twist, acceleration = (
        (part.reshape(2, 3) @ turn.T).ravel() for part in (reference.velocity, reference.acceleration)
    )
    for behavior in followers:
        behavior.give(min(reference.stamp, newest), position, rotation, twist, acceleration)
