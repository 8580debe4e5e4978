"""Compiled checks of an effort command: accepted friction, allowed motion, limits."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from flexarm_core.compiled import kernel, views
from flexarm_core.hardware_gate.limits import (
    EFFORT,
    VELOCITY,
    _is_allowed,
    believe_friction,
    bound_effort,
)
from flexarm_core.types import Array

RUN_AWAY = 0.05  # fraction by which a joint exceeds its velocity limit when its friction is no longer compensated
FOLLOWS, LIMITED, LESS_FRICTION, FORBIDDEN, SATURATED, BOUNDLESS = range(6)  # results of examine()


class Inputs(NamedTuple):
    """Inputs of the examination of an effort."""

    settling: Annotated[Array, 1]  # time in which a velocity error is corrected [s]
    horizon: Annotated[Array, 1]  # time for which the motion is checked [s]
    period: Annotated[Array, 1]  # time between two commands [s]
    excess: Annotated[Array, "n"]  # speeds beyond what the acceleration limits allow [rad/s | m/s]
    effort: Annotated[Array, "n"]  # wanted effort
    friction: Annotated[Array, "n"]  # part of it that is said to compensate friction
    position: Annotated[Array, "n"]
    velocity: Annotated[Array, "n"]
    before: Annotated[Array, "n"]  # effort in force; without one the wanted effort


view_inputs = views(Inputs, "n")


@kernel
def trust(table: Array, inputs: Array, taken: Array, loads: Array) -> tuple[bool, bool]:
    """Write the accepted friction (n,), and the efforts (2, n) that act on the links with it and without.

    Returns:
        Whether friction was reduced, and whether any is left.
    """
    n = taken.shape[0]
    u, some = view_inputs(inputs, n), False
    doubted = believe_friction(table, RUN_AWAY, u.friction, u.position, u.velocity, taken)
    for i in range(n):
        loads[0, i], loads[1, i] = u.effort[i] - taken[i], u.effort[i]
        some = some or taken[i] != 0.0
    return doubted, some


@kernel
def is_still_allowed(bounds: Array, inputs: Array, acceleration: Array) -> bool:
    """Return whether accelerations (n,) clearly respect the limits of the motion; arguments as in :func:`examine`."""
    u = view_inputs(inputs, acceleration.shape[0])
    settling = u.settling[0]
    for i in range(acceleration.shape[0]):
        after = u.velocity[i] + acceleration[i] * settling
        if not max(after + max(u.excess[i], 0.0), -after - min(u.excess[i], 0.0)) <= bounds[VELOCITY, i]:
            return False
    return _is_allowed(bounds, u.position, u.velocity, acceleration, settling)  # type: ignore[no-any-return]


@kernel
def examine(table: Array, bounds: Array, inputs: Array, accelerations: Array, taken: Array, bounded: Array) -> int:
    """Judge the accelerations that an effort causes, and write the effort within its limits.

    Args:
        table: (8, n) joint limits.
        bounds: (8, n) joint limits for the motion.
        inputs: see :class:`Inputs`.
        accelerations: (1, n) accelerations; or (2, n), the second row those if the friction did not exist.
        taken: (n,) friction that is compensated; reduced in place after LESS_FRICTION.
        bounded: (n,) gets the effort, unless the result is one of the others.

    Returns:
        FOLLOWS or LIMITED (by an effort rate); BOUNDLESS: an acceleration is not finite; LESS_FRICTION: this much
        friction might make a joint too fast, so accelerations must be recomputed; FORBIDDEN: the motion may break a
        limit; SATURATED: an effort is beyond its limit.
    """
    n = taken.shape[0]
    u = view_inputs(inputs, n)
    for i in range(n):
        if not np.isfinite(accelerations[0, i]):
            return BOUNDLESS
    if accelerations.shape[0] > 1:
        reduced = False
        for i in range(n):  # velocity change until the next command if this friction does not exist but is compensated
            change = (accelerations[1, i] - accelerations[0, i]) * u.horizon[0]
            room = (1.0 + RUN_AWAY) * table[VELOCITY, i] - np.sign(change) * u.velocity[i]
            harmless = min(max(room / max(abs(change), 1e-12), 0.0), 1.0) if np.isfinite(change) else 0.0
            if harmless < 1.0:
                taken[i], reduced = harmless * taken[i], True
        if reduced:
            return LESS_FRICTION
    if not is_still_allowed(bounds, inputs, accelerations[0]):
        return FORBIDDEN
    for i in range(n):
        if not abs(u.effort[i]) <= table[EFFORT, i]:
            return SATURATED
    return LIMITED if bound_effort(table, u.effort, u.before, u.period[0], bounded) else FOLLOWS
