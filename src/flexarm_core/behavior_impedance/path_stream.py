"""Path references of a stream, for the behaviours that follow one."""

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
    """Behaviours of kind path that follow a stream."""
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
    """Give a reference to the path that follows a stream, in the base link's frame.

    Twist and acceleration are turned into its axes; how the base link itself moves is not taken off. Which axes count
    is said by the law's parameter, not by the reference.

    Args:
        reference: of the controller's tool.
        controller: whose behaviours get it.
        base: where the base link is.
        deflection: (m,) of the elastic joints under it [m | rad].
        newest: stamp of the newest joint state [ns]; one beyond it is taken for it, so that a sender's clock that is
            ahead does not keep a stream alive that has ceased.

    Raises:
        InputError: nobody follows a stream, another frame, no pose, a jump; nothing changes.
    """
    followers = list(stream_followers(controller))
    if not followers:
        raise InputError("path reference: no behaviour of kind path with source 'stream' takes part")
    position, rotation, _ = base.reference(replace(reference, axes=ALL_AXES), deflection)
    turn = rotation @ reference.rotation.T
    twist, acceleration = (
        (part.reshape(2, 3) @ turn.T).ravel() for part in (reference.velocity, reference.acceleration)
    )
    for behavior in followers:
        behavior.give(min(reference.stamp, newest), position, rotation, twist, acceleration)
