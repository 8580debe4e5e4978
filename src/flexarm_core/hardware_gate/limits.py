"""Joint limits, and the accelerations that respect them at one sample."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from flexarm_core.compiled import kernel
from flexarm_core.entrance import number, numbers
from flexarm_core.errors import ConfigError
from flexarm_core.types import Array

FADE = 0.25  # share of the velocity limit over which friction that drives a joint on is believed less and less
HARDER, NEAR = 2.5, 0.1  # multiple of the deceleration beyond a velocity limit, reached over this share of it
LOWER, UPPER, VELOCITY, ACCELERATION, EFFORT, EFFORT_RATE, FRICTION = range(7)  # rows of the table


@dataclass(frozen=True, slots=True)
class JointLimits:
    """Limits of the actuated joints; infinite where there is none.

    Attributes:
        lower: (n,) position [rad | m].
        upper: (n,) position [rad | m].
        velocity: (n,) [rad/s | m/s].
        acceleration: (n,) finite, also the deceleration of a stop [rad/s^2 | m/s^2].
        effort: (n,) [N*m | N].
        effort_rate: (n,) [N*m/s | N/s].
        friction: (n,) largest that a reference may say of its effort, 0: it is not believed [N*m | N].
        following_error: (n,) largest distance between commanded and measured position [rad | m].
        table: (7, n) all of them, a row each, for what is compiled.
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array
    effort_rate: Array
    friction: Array = field(default_factory=lambda: np.array(0.0))
    following_error: Array = field(default_factory=lambda: np.array(np.inf))
    table: Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raise ConfigError for limits that leave nothing or are not numbers."""
        for name in ("velocity", "acceleration", "effort", "effort_rate", "following_error"):
            if not np.all(getattr(self, name) > 0.0):
                raise ConfigError(f"{name} limits must be > 0, got {getattr(self, name)}")
        if not np.all(self.friction >= 0.0):
            raise ConfigError(f"friction limits must be >= 0, got {self.friction}")
        if not np.isfinite(self.acceleration).all():
            raise ConfigError("acceleration limits must be finite: a stop needs a deceleration")
        if not np.all(self.lower < self.upper):
            raise ConfigError("lower position limits must lie below the upper ones")
        rows = (self.lower, self.upper, self.velocity, self.acceleration, self.effort, self.effort_rate, self.friction)
        object.__setattr__(self, "table", np.array(np.broadcast_arrays(*rows), dtype=float))


def _highest_acceleration(distance: Array, velocity: Array, deceleration: Array, dt: float) -> Array:
    """Largest acceleration for one sample after which the joint can still stop before its limit.

    With ``v1 = v + a dt`` and ``d1 = d - v dt - c a dt^2`` the condition ``v1^2 <= 2 A d1`` is the quadratic
    ``dt^2 a^2 + 2 (v dt + c A dt^2) a + v^2 - 2 A (d - v dt) <= 0`` (viability; Del Prete 2018, RA-L 3(1)). A joint
    under constant effort moves with c = 1/2, one that is commanded by position or velocity with c = 1: the smaller root
    holds for both.
    """
    highest = np.full_like(distance, np.inf)
    with np.errstate(invalid="ignore", over="ignore"):
        constant = velocity**2 - 2.0 * deceleration * (distance - velocity * dt)
        for c in (0.5, 1.0):
            half = velocity * dt + c * deceleration * dt**2
            root = half**2 - dt**2 * constant
            solution = np.where(root < 0.0, -deceleration, (-half + np.sqrt(np.maximum(root, 0.0))) / dt**2)
            highest = np.minimum(highest, solution)
    return np.where(np.isfinite(distance), highest, np.inf)


def is_allowed(limits: JointLimits, position: Array, velocity: Array, acceleration: Array, dt: float) -> bool:
    """Whether accelerations (n,) plainly respect every limit: the cheap test that decides most samples.

    Sufficient, not necessary: where it says no, :func:`acceleration_bounds` says what is allowed. After the sample, the
    joint has moved by ``max(v, v1) dt`` at most and needs ``v1 |v1| / 2 A`` to stop.

    Raises:
        InputError: the arrays are not of these joints.
    """
    n = limits.table.shape[1]
    position, velocity = numbers("position", position, n), numbers("velocity", velocity, n)
    acceleration = numbers("acceleration", acceleration, n)
    return bool(_is_allowed(limits.table, position, velocity, acceleration, number("dt", dt)))


@kernel
def _is_allowed(table: Array, position: Array, velocity: Array, acceleration: Array, dt: float) -> bool:
    for i in range(position.shape[0]):
        after = velocity[i] + acceleration[i] * dt
        stopped = position[i] + after * abs(after) / (2.0 * table[ACCELERATION, i])
        allowed = abs(acceleration[i]) <= table[ACCELERATION, i] and abs(after) <= table[VELOCITY, i]
        allowed = allowed and max(stopped + max(velocity[i], after) * dt, position[i]) <= table[UPPER, i]
        if not (allowed and min(stopped + min(velocity[i], after) * dt, position[i]) >= table[LOWER, i]):
            return False
    return True


@kernel
def believe_friction(
    table: Array, run_away: float, friction: Array, position: Array, velocity: Array, out: Array
) -> bool:
    """Friction (n,) within its bounds into ``out``; none that drives a joint on which is beyond a limit already.

    What drives a joint on is believed less and less over the last FADE of its velocity limit, and no more at the share
    ``run_away`` beyond it: friction that is not there accelerates.

    Returns:
        Whether some of it is not believed.
    """
    doubted = False
    for i in range(out.shape[0]):
        most = min(table[FRICTION, i], table[EFFORT, i])  # the motor cannot lose more than it gives
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
    """Effort (n,) within its limits into ``out``, and by no more away from ``before`` (n,), empty: nothing was before.

    Returns:
        Whether it had to change.
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
    """Deceleration (n,) of efforts: their limit, and HARDER times that for a joint that is beyond its velocity limit.

    A model that errs by a tenth may say of a light wrist that it slows down while others throw it.
    """
    beyond = np.clip((np.abs(velocity) / limits.velocity - 1.0) / NEAR + 1.0, 0.0, 1.0)
    return limits.acceleration * (1.0 + (HARDER - 1.0) * beyond)


def acceleration_bounds(
    limits: JointLimits, position: Array, velocity: Array, dt: float, braking: Array | None = None
) -> tuple[Array, Array]:
    """Lowest and highest acceleration (n,) that respect position, velocity and acceleration limits for one sample.

    A joint beyond a limit gets the interval that brings it back as far as its acceleration limit allows.

    Args:
        limits: of the joints.
        position: (n,) [rad | m].
        velocity: (n,) [rad/s | m/s].
        dt: sample time [s].
        braking: (n,) deceleration beyond a limit, None: the limit of acceleration.
    """
    A = limits.acceleration
    most = A if braking is None else braking
    highest = np.minimum(A, (limits.velocity - velocity) / dt)
    highest = np.minimum(highest, _highest_acceleration(limits.upper - position, velocity, A, dt))
    lowest = np.maximum(-A, (-limits.velocity - velocity) / dt)
    lowest = np.maximum(lowest, -_highest_acceleration(position - limits.lower, -velocity, A, dt))
    highest, lowest = np.clip(highest, -most, A), np.clip(lowest, -A, most)
    # Outside a limit both bounds may cross: braking wins.
    crossed = lowest > highest
    braking = np.where(velocity > 0.0, np.minimum(lowest, highest), np.maximum(lowest, highest))
    return np.where(crossed, braking, lowest), np.where(crossed, braking, highest)
