"""Load observer (compiled): estimates the accelerations that an unknown constant load takes from commanded coordinates.

With the expected acceleration ``r''`` of the coordinates x, that is, the commanded acceleration minus ``d``,

    d = w^2 (r - x) + 2 w (r' - xd),      d -> acceleration deficit, second-order convergence with bandwidth w

The expected motion begins at one measured velocity, whose error e passes for a load: ``integral of d = e``, so the
coordinates come to move by e. Where they may not, only the share ``min(w t / BEGINS, 1)`` of d is compensated at the
time t after the beginning, and the rest corrects the expected motion. Of e the share ``exp(-BEGINS) = 2 %`` is left
(6 % if ``w dt = 0.5``), and of later noise its average over that time. Of a load that is there from the beginning, the
impulse of the first ``BEGINS / 2 w`` seconds is not compensated.

A load that changes with the posture is estimated with a delay of ``2 / w``. If the load grows with the displacement and
in the same direction, with a stiffness k [1/s^2], joints with damping g [1/s] hold still only if ``w > 2 k / g``. The
estimate is added to the command again; this loop is faster than 2 w and therefore tolerates little delay.
"""

from __future__ import annotations

from flexarm_core.compiled import inlined_kernel
from flexarm_core.entrance import expect
from flexarm_core.reaction_null_space.vibration.law_memory import Observed
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.types import Array

BEGINS = 4.0  # time until an estimate of which nothing may pass for a load counts wholly, times its bandwidth
LATE = 0.3  # [rad] largest phase lag, ``w`` times the loop delay; it leaves a phase margin of 40 degrees


def fastest(sampling: Sampling) -> float:
    """Return the largest bandwidth w [rad/s] that a loop with this period and delay allows."""
    expect("sampling", sampling, Sampling)
    return LATE / (sampling.delay + 1.5 * sampling.period)


@inlined_kernel
def forget(load: Observed) -> None:
    """Start again with the next sample."""
    load.known[0] = 0.0
    for i in range(load.lacking.shape[0]):
        load.lacking[i] = 0.0


@inlined_kernel
def find(load: Observed, position: Array, velocity: Array, bandwidth: float, most: Array) -> None:
    """Estimate the load (k,) from the measured motion, limited to ``most`` (k,).

    Args:
        load: the estimate.
        position: (k,) measured positions [rad | m].
        velocity: (k,) measured velocities [rad/s | m/s].
        bandwidth: bandwidth w [rad/s].
        most: (k,) largest deficits [rad/s^2 | m/s^2].
    """
    w, first = bandwidth, load.known[0] == 0.0
    load.known[0] = max(load.known[0], 1.0)
    for i in range(position.shape[0]):
        if first:
            load.position[i], load.velocity[i] = position[i], velocity[i]
        found = w * w * (load.position[i] - position[i]) + 2.0 * w * (load.velocity[i] - velocity[i])
        if abs(found) > most[i]:
            found = min(max(found, -most[i]), most[i])
            load.position[i], load.velocity[i] = position[i] + found / (w * w), velocity[i]
        load.lacking[i] = found


@inlined_kernel
def begin_gently(load: Observed, bandwidth: float, dt: float) -> None:
    """After :func:`find`: let the estimate count by degrees, and correct the expected motion by the rest over ``dt``.

    Args:
        load: the estimate.
        bandwidth: bandwidth w [rad/s].
        dt: time over which the expected motion is integrated next [s].
    """
    age = bandwidth * (load.known[0] - 1.0)
    share = age / BEGINS if age < BEGINS else 1.0
    for i in range(load.lacking.shape[0]):
        found = load.lacking[i]
        load.lacking[i] = share * found
        corrected = (found - load.lacking[i]) * dt
        load.position[i] -= 0.5 * corrected * dt
        load.velocity[i] -= corrected


@inlined_kernel
def integrate(load: Observed, gain: float, error: Array, most: Array) -> None:
    """Add ``gain`` times ``error`` (k,) to the estimate and limit it to ``most`` (k,)."""
    for i in range(error.shape[0]):
        load.lacking[i] = min(max(load.lacking[i] + gain * error[i], -most[i]), most[i])


@inlined_kernel
def advance(load: Observed, going: Array, dt: float) -> None:
    """Integrate the expected accelerations (k,) of the coordinates over a time ``dt`` [s]."""
    if load.known[0] > 0.0:
        load.known[0] += dt
        for i in range(going.shape[0]):
            load.position[i] += (load.velocity[i] + 0.5 * going[i] * dt) * dt
            load.velocity[i] += going[i] * dt
