"""VelocityCheck: finds joints whose measured velocity is not the rate of their measured position."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from flexarm_core.compiled import allocate, allocating_kernel, views
from flexarm_core.entrance import number
from flexarm_core.hardware_gate.limits import ACCELERATION, VELOCITY, JointLimits
from flexarm_core.types import ArmState, Array

WINDOWS = (0.2, 0.04)  # [s] time constants with which motion is forgotten
WILD = 2.0  # multiple of the velocity limit that no joint reaches
ABSURD = 20.0  # multiple of it beyond which a rate is that of absurd positions, also where an arm is thrown
LONGEST, USUAL = 0.05, 2.0  # [s] and multiple of the last time between two states: a longer one shows nothing
RECENT = 0.02  # [s] the same for the rate of the position
SHARE = 0.3  # fraction of the motion by which position and velocity may differ: scale and delay of the velocity
STEPPED, LONG = 0.5, 0.02  # further fraction in samples of LONG [s]: a drive goes to each set point within the sample
RESOLUTION = 0.004  # [rad | m] difference that is always allowed
DELAY = 0.0015  # [s] at the velocity limit: the same for fast joints
SMOOTH = 0.25  # multiple of A dt^2 by which the trapezoidal rule may err between two samples


class VelocityCheck:
    """Compare the motion ``dq`` with the integral of the velocity over windows, joint by joint.

    With weights that fade over each of WINDOWS, ``|sum (dq - v dt)|`` may be SHARE of ``sum max(|dq|, |v dt|)``, and a
    rest for noise and sampling. The long window finds small errors, and errors on a slow joint. The short window finds
    errors on a fast joint soon, independent of earlier motion. On a moving joint a velocity that reads 0 is detected
    within 0.1 s, one that reads half within 0.2 s, and one that does not change once the joint has changed its velocity
    by that share. An interval between two states that is much longer than the previous one is omitted: the stamps may
    have jumped. In long samples, ``|dq|`` may be larger than that, by a further fraction STEPPED: a drive that goes to
    each set point within the sample is slow whenever its velocity is measured.
    """

    def __init__(self, limits: JointLimits) -> None:
        """Check joints with these limits."""
        n = limits.table.shape[1]
        self._memory, self._rows = allocate(_view, n)
        self._rows.limits[:] = limits.table[[VELOCITY, ACCELERATION]]
        self._motion, none = self._memory[2 * n :], np.zeros(n)  # all but the limits is forgotten
        _add(none, none, none, none, 1.0, self._memory)
        self.reset()

    def reset(self) -> None:
        """Forget all motion."""
        self._motion[:] = 0.0
        self._last = 0.0  # time between the two states before [s]

    def on_state(self, before: ArmState, state: ArmState, dt: float) -> int:
        """Return the first joint whose position and velocity contradict each other ``dt`` [s] after a state, or -1."""
        longest, self._last = max(LONGEST, USUAL * self._last), number("dt", dt)
        if dt > longest:
            return -1
        parts = before.position, before.velocity, state.position, state.velocity
        return int(_add(*parts, self._last, self._memory))

    def velocity(self, state: ArmState) -> Array:
        """Return the velocities (n,) to brake from: measured ones, or the rate of the position where that is larger.

        The rate also stands for a measured velocity beyond WILD times the limit.
        """
        rows = self._rows
        rate = rows.moved / np.maximum(rows.time, 1e-9)
        doubted = (np.abs(rows.difference) > SHARE * rows.travel).any(axis=0)
        speed = np.abs(state.velocity)
        doubted &= (np.abs(rate) > speed) | (speed > WILD * rows.limits[0])
        doubted &= np.abs(rate) <= ABSURD * rows.limits[0]
        return np.where(doubted, rate, state.velocity)


class _Rows(NamedTuple):
    """Limits, and fading sums over the motion of each joint."""

    limits: Annotated[Array, 2, "n"]  # velocities and accelerations
    difference: Annotated[Array, 2, "n"]  # for each window: motion of the position minus integral of the velocity
    travel: Annotated[Array, 2, "n"]  # larger of the two, regardless of signs
    coarse: Annotated[Array, 2, "n"]  # by how much the trapezoidal rule may err, with drives that step
    moved: Annotated[Array, "n"]  # motion of the position
    time: Annotated[Array, "n"]  # time [s]


_view = views(_Rows, "n")


@allocating_kernel
def _add(
    position_before: Array, velocity_before: Array, position: Array, velocity: Array, dt: float, memory: Array
) -> int:
    """Add the motion between two states; return the first joint that contradicts itself, or -1."""
    found, r = -1, _view(memory, position.shape[0])
    kept, soon = np.exp(-dt / np.array(WINDOWS)), np.exp(-dt / RECENT)
    stepped = STEPPED * min(dt / LONG, 1.0) ** 2
    for i in range(position.shape[0]):
        change = position[i] - position_before[i]
        expected = 0.5 * (velocity_before[i] + velocity[i]) * dt
        r.moved[i], r.time[i] = soon * r.moved[i] + change, soon * r.time[i] + dt
        allowed = RESOLUTION + DELAY * r.limits[0, i]
        for k in range(2):
            r.difference[k, i] = kept[k] * r.difference[k, i] + change - expected
            r.travel[k, i] = kept[k] * r.travel[k, i] + max(abs(change), abs(expected))
            further = stepped * abs(change) if abs(change) > abs(expected) else 0.0
            coarse = max(SMOOTH * r.limits[1, i] * dt**2, further)
            r.coarse[k, i] = kept[k] * r.coarse[k, i] + coarse
            if found < 0 and abs(r.difference[k, i]) > allowed + r.coarse[k, i] + SHARE * r.travel[k, i]:
                found = i
    return found
