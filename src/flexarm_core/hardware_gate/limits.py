"""Joint limits, and the accelerations that respect them for one sample."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from flexarm_core.compiled import inlined_kernel, kernel
from flexarm_core.entrance import number, numbers
from flexarm_core.errors import ConfigError
from flexarm_core.types import Array

FADE = 0.25  # fraction of the velocity limit over which the compensation of friction that accelerates a joint fades out
HARDER, NEAR = 2.5, 0.1  # multiple of the deceleration at the velocity limit, reached over its last 10 %
LOWER, UPPER, VELOCITY, ACCELERATION, EFFORT, EFFORT_RATE, FRICTION, DECELERATION = range(8)  # rows of the table


@dataclass(frozen=True, slots=True)
class JointLimits:
    """Limits of the actuated joints; infinite for an unlimited quantity.

    Attributes:
        lower: (n,) lower position limits [rad | m].
        upper: (n,) upper position limits [rad | m].
        velocity: (n,) velocity limits [rad/s | m/s].
        acceleration: (n,) acceleration limits, finite, also the deceleration of a stop [rad/s^2 | m/s^2].
        effort: (n,) effort limits [N*m | N].
        effort_rate: (n,) effort rate limits [N*m/s | N/s].
        friction: (n,) largest friction effort accepted from a reference, 0: none [N*m | N].
        following_error: (n,) largest difference between commanded and measured position [rad | m].
        jerk: (n,) jerk limits of velocity and position commands [rad/s^3 | m/s^3].
        deceleration: (n,) deceleration that a joint surely reaches, with which position limits are approached; at most
            the acceleration limit [rad/s^2 | m/s^2].
        table: (8, n) array for compiled code: one row for each limit except following_error and jerk.
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array
    effort_rate: Array
    friction: Array = field(default_factory=lambda: np.array(0.0))
    following_error: Array = field(default_factory=lambda: np.array(np.inf))
    jerk: Array = field(default_factory=lambda: np.array(np.inf))
    deceleration: Array = field(default_factory=lambda: np.array(np.inf))
    table: Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raise ConfigError for limits that are not numbers or leave no allowed range."""
        for name in ("velocity", "acceleration", "effort", "effort_rate", "following_error", "jerk"):
            value = getattr(self, name)
            if not np.all(value > 0.0):
                raise ConfigError(f"{name} limits must be > 0, got {value}", setting=name, value=value)
        if not np.all(self.friction >= 0.0):
            raise ConfigError(
                f"friction limits must be >= 0, got {self.friction}", setting="friction", value=self.friction
            )
        if not np.isfinite(self.acceleration).all():
            raise ConfigError(
                "acceleration limits must be finite: a stop needs a deceleration",
                setting="acceleration",
                value=self.acceleration,
            )
        if not np.all(self.lower < self.upper):
            raise ConfigError("lower position limits must lie below the upper ones")
        deceleration = np.minimum(self.deceleration, self.acceleration)
        rows = (
            self.lower, self.upper, self.velocity, self.acceleration, self.effort, self.effort_rate, self.friction,
            deceleration,
        )  # fmt: skip
        object.__setattr__(self, "table", np.array(np.broadcast_arrays(*rows), dtype=float))


def _highest_acceleration(distance: Array, velocity: Array, deceleration: Array, hardest: Array, dt: float) -> Array:
    """Return the largest acceleration for one sample after which the joint can still stop before its limit.

    With ``v1 = v + a dt`` and ``d1 = d - v dt - c a dt^2`` the condition ``v1^2 <= 2 A d1`` is the quadratic
    ``dt^2 a^2 + 2 (v dt + c A dt^2) a + v^2 - 2 A (d - v dt) <= 0`` (viability; Del Prete 2018, RA-L 3(1)). A joint
    under constant effort moves with c = 1/2, a joint commanded by position or velocity with c = 1: the smaller root
    is safe for both. Where there is none, it is too late for ``A``, and the joint brakes as it may: by ``hardest``.
    """
    highest = np.full_like(distance, np.inf)
    with np.errstate(invalid="ignore", over="ignore"):
        constant = velocity**2 - 2.0 * deceleration * (distance - velocity * dt)
        for c in (0.5, 1.0):
            half = velocity * dt + c * deceleration * dt**2
            root = half**2 - dt**2 * constant
            solution = np.where(root < 0.0, -hardest, (-half + np.sqrt(np.maximum(root, 0.0))) / dt**2)
            highest = np.minimum(highest, solution)
    return np.where(np.isfinite(distance), highest, np.inf)


def is_allowed(limits: JointLimits, position: Array, velocity: Array, acceleration: Array, dt: float) -> bool:
    """Return whether accelerations (n,) clearly respect every limit: a cheap test that decides most samples.

    Sufficient, not necessary: if it fails, :func:`acceleration_bounds` computes what is allowed. During the sample, the
    joint moves by ``max(v, v1) dt`` at most and then needs ``v1 |v1| / 2 D`` to stop.

    Raises:
        InputError: an array does not have the shape (n,).
    """
    n = limits.table.shape[1]
    position, velocity = numbers("position", position, n), numbers("velocity", velocity, n)
    acceleration = numbers("acceleration", acceleration, n)
    return bool(_is_allowed(limits.table, position, velocity, acceleration, number("dt", dt)))


@kernel
def _is_allowed(table: Array, position: Array, velocity: Array, acceleration: Array, dt: float) -> bool:
    for i in range(position.shape[0]):
        after = velocity[i] + acceleration[i] * dt
        stopped = position[i] + after * abs(after) / (2.0 * table[DECELERATION, i])
        allowed = abs(acceleration[i]) <= table[ACCELERATION, i] and abs(after) <= table[VELOCITY, i]
        allowed = allowed and max(stopped + max(velocity[i], after) * dt, position[i]) <= table[UPPER, i]
        if not (allowed and min(stopped + min(velocity[i], after) * dt, position[i]) >= table[LOWER, i]):
            return False
    return True


@kernel
def fastest(limit: Array, velocity: Array) -> tuple[int, float]:
    """Return the joint that is fastest relative to its limit (n,), and its speed as a fraction of the limit."""
    place, largest = 0, -1.0
    for i in range(velocity.shape[0]):
        share = abs(velocity[i]) / limit[i]
        if share > largest:
            place, largest = i, share
    return place, largest


@inlined_kernel
def believe_friction(
    table: Array, run_away: float, friction: Array, position: Array, velocity: Array, out: Array
) -> bool:
    """Write the friction (n,) that is accepted within its bounds into ``out``.

    Friction compensation that accelerates a joint in its direction of motion fades out over a range of FADE times the
    velocity limit, to zero at the fraction ``run_away`` beyond the limit, because compensating friction that does not
    exist accelerates the joint. It is zero if it drives a joint farther beyond a position limit.

    Returns:
        Whether any friction was reduced.
    """
    doubted = False
    for i in range(out.shape[0]):
        most = min(table[FRICTION, i], table[EFFORT, i])  # friction cannot be more than the motor effort
        fast, width = (1.0 + run_away) * table[VELOCITY, i], FADE * table[VELOCITY, i]
        upward, downward = 1.0, 1.0
        if width < np.inf:
            upward = min(max((fast - velocity[i]) / width, 0.0), 1.0)
            downward = min(max((fast + velocity[i]) / width, 0.0), 1.0)
        upward = 0.0 if position[i] > table[UPPER, i] else upward
        downward = 0.0 if position[i] < table[LOWER, i] else downward
        out[i] = min(max(friction[i], -most * downward), most * upward)
        doubted = doubted or out[i] != friction[i]
    return doubted


@kernel
def bound_effort(table: Array, effort: Array, before: Array, dt: float, out: Array) -> bool:
    """Write the effort (n,) within its limits and rate limits into ``out``; empty ``before``: no previous effort.

    Returns:
        Whether any effort changed.
    """
    changed = False
    for i in range(out.shape[0]):
        bounded = min(max(effort[i], -table[EFFORT, i]), table[EFFORT, i])
        if before.size:
            change = table[EFFORT_RATE, i] * dt
            bounded = min(max(bounded, before[i] - change), before[i] + change)
        changed = changed or bounded != effort[i]
        out[i] = bounded
    return changed


def hardest_braking(limits: JointLimits, velocity: Array) -> Array:
    """Return the deceleration (n,) for efforts: the limit, and HARDER times it for joints beyond their velocity limit.

    With a model error of 10 percent, the model may predict that a light wrist joint decelerates while the motion of
    other joints accelerates it.
    """
    beyond = np.clip((np.abs(velocity) / limits.velocity - 1.0) / NEAR + 1.0, 0.0, 1.0)
    return limits.acceleration * (1.0 + (HARDER - 1.0) * beyond)


def acceleration_bounds(
    limits: JointLimits, position: Array, velocity: Array, dt: float, braking: Array | None = None, ahead: float = 0.0
) -> tuple[Array, Array]:
    """Return the lowest and highest acceleration (n,) that respect the motion limits for one sample.

    These are the position, velocity and acceleration limits. A joint beyond a limit gets the interval that brings it
    back as fast as its acceleration limit allows.

    Args:
        limits: joint limits.
        position: (n,) joint positions [rad | m].
        velocity: (n,) joint velocities [rad/s | m/s].
        dt: sampling period [s].
        braking: (n,) deceleration beyond a limit, None: the acceleration limit.
        ahead: time for which an acceleration is kept before a joint begins to stop at a position limit, if longer [s].
    """
    A, D, ahead = limits.acceleration, limits.table[DECELERATION], max(ahead, dt)
    most = A if braking is None else braking
    highest = np.minimum(A, (limits.velocity - velocity) / dt)
    highest = np.minimum(highest, _highest_acceleration(limits.upper - position, velocity, D, A, ahead))
    lowest = np.maximum(-A, (-limits.velocity - velocity) / dt)
    lowest = np.maximum(lowest, -_highest_acceleration(position - limits.lower, -velocity, D, A, ahead))
    highest, lowest = np.clip(highest, -most, A), np.clip(lowest, -A, most)
    # Beyond a limit the two bounds may cross: braking has priority.
    crossed = lowest > highest
    braking = np.where(velocity > 0.0, np.minimum(lowest, highest), np.maximum(lowest, highest))
    return np.where(crossed, braking, lowest), np.where(crossed, braking, highest)
