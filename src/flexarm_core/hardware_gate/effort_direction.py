r"""EffortDirection: notices a joint that its own effort accelerates the wrong way, and efforts that act in vain.

A motor, an encoder, or an axis of the description may be reversed. Then every effort that brakes the joint throws it.

If efforts change by ``d`` from one sample to the next, the accelerations change in the same sample by ``x`` with
``d = (H + L) x``, plus what others cause. Here ``H`` is the model's joint inertia and ``L`` that of any load. Both
``d_j x_j`` and ``d_j (H x)_j`` are positive for a joint that answers its own effort. The first may also be negative
where other joints carry it along, the second where there is a load. If its effort acts backward, both are negative.

But a right effort that acts a sample late does the same where efforts alternate. So both explanations are compared. A
factor on ``d_j`` leaves ``X - A^2 / D`` of ``X = sum x_j^2``, where ``D = sum d_j^2`` and ``A = sum d_j x_j``; ``B``
and ``D'`` are the same with the change of a sample before. A joint is reversed if, with sums over MEMORY, or SAMPLES,

    A < 0,    X - A^2 / D < UNEXPLAINED (X - max(B, 0)^2 / D').

And the power of the changes of all joints, with that of joint ``j`` turned round, must exceed LATE times that with the
changes of a sample before. ``X`` counts as that of noise at least. Both products must have been negative for some
samples in a row, as one may be a blow: IN_A_ROW if the joint is fast, AT_LEISURE if it is not; and these samples must
make up MAINLY of ``A``, or noise after one large step of all efforts, which carries some joints along, would do. And
some joint must be faster than its acceleration limit allows.

An effort at its limit does not change, so nothing is seen of it. If a joint becomes faster against its full effort for
PRESSED samples, it gets less for two samples.

Other defects show as motion without a cause. Whatever the load, ``sum d . x`` is ``sum x . (H + L) x``, at least ``sum
x . H x``; ``H`` may contain the load that the gate believes in. If a joint is faster than its velocity limit, and than
its acceleration limit allows, and the first sum is less than CAUSED times the second, efforts act in vain: motors are
swapped or dead, commands are late, or the arm has hit something. To brake it with more of them would throw it. A joint
that is being tried out does not count. Noise of the velocities looks like that, too: what the first sum lacks of the
second while no joint escapes, as a mean over USUALLY. It is sure if it is also so without this part of the second sum,
and with the changes of a sample before: efforts that act late are not in vain.
"""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.compiled import inlined_kernel, kernel
from flexarm_core.entrance import finite
from flexarm_core.hardware_gate.limits import EFFORT as LIMIT
from flexarm_core.hardware_gate.limits import VELOCITY, JointLimits
from flexarm_core.types import ArmState, Array

MEMORY, SAMPLES = 0.02, 5.0  # [s], and least number of samples remembered
UNEXPLAINED, LATE = 0.3, 1.2  # see above
URGENT, IN_A_ROW, AT_LEISURE = 0.5, 2, 5  # fraction of a velocity limit; samples in a row above it, and below
MAINLY = 0.5  # see above
NOISE = 0.005  # fraction of the velocity limits by which differences of velocities may be wrong, over all of MEMORY
ESCAPES = 0.02  # fraction of the velocity limits: larger speeds beyond what the acceleration limits allow escape
LONGEST = 0.05  # [s] longest time between two states over which a velocity difference is an acceleration
PRESSED, RESTS = 3, 50  # samples in which full effort does not slow a joint until it is tried out; least between tries
FULL, TRIED = 0.98, (0.6, 0.2)  # share of the effort limits that counts as full; shares of the effort in a try
USUALLY = 0.2  # [s] time constant of what efforts usually do not cause
CAUSED = 0.6  # see above
# rows of the memory; CHANGE: of the acceleration; SAYS, TRY: counted samples; then sums, ROW: of ANSWERED over SAYS,
# and USUAL: mean of NEEDED less ANSWERED
SPEED, ACCELERATION, EFFORT, BEFORE, CHANGE, SAYS, TRY, PUSHED, MOVED, ANSWERED, LATER, NEEDED, ROW, USUAL = range(14)


class EffortDirection:
    """Looks at the changes of efforts and of accelerations of each joint.

    Attributes:
        share: (n,) share of its effort that each joint is given: 0 once it is known to be reversed, else 1, or less
            while it is tried out.
        in_vain: whether a joint is too fast, and efforts act in vain.
        surely: whether neither noise nor efforts that act a sample late explain that.
    """

    def __init__(self, limits: JointLimits) -> None:
        """Watch joints with these limits."""
        self._table, n = limits.table, limits.table.shape[1]
        self._memory, self.share = np.zeros((USUAL + 1, n)), np.ones(n)
        _look(self._memory, self.share, self._table, np.zeros((3, n)), np.eye(n), 0.001)  # compiles or loads
        self.reset()

    def reset(self) -> None:
        """Forget what was seen, and which joints are reversed."""
        self.share[:], self._memory[USUAL] = 1.0, 0.0
        self.pause()

    def pause(self) -> None:
        """Forget what was seen."""
        self.share[:] = np.ceil(self.share)
        self._memory[:USUAL], self._stamp, self.in_vain, self.surely = 0.0, 0, False, False
        self._memory[[SPEED, ACCELERATION]] = np.nan

    @property
    def reversed(self) -> bool:
        """Whether a joint is known to be reversed."""
        return not self.share.all()

    def find(self, state: ArmState, effort: Array, excess: Array, inertia: Array) -> int | None:
        """Return the joint that turns out to be reversed; None: none does.

        Args:
            state: the state.
            effort: (n,) effort in force until then [N*m | N].
            excess: (n,) speeds beyond what the acceleration limits allow [rad/s | m/s].
            inertia: (n, n) joint inertia.
        """
        n = self.share.size
        given = np.array((state.velocity, finite("effort", effort, n), finite("excess", excess, n)))
        inertia = finite("inertia", inertia, n, n)
        dt = (state.stamp - self._stamp) * 1e-9
        if not 0.0 < dt <= LONGEST:
            self.pause()
        self._stamp = state.stamp
        joint, self.in_vain, self.surely = _look(self._memory, self.share, self._table, given, inertia, dt)
        return None if joint < 0 else joint


@kernel
def _look(memory: Array, share: Array, table: Array, given: Array, inertia: Array, dt: float) -> tuple[int, bool, bool]:
    """Add a sample (3, n) of velocity, effort, excess; return a reversed joint or -1; in_vain, surely.

    The first sample tells a velocity, the second an acceleration, the third a change of it; until then they are NaN.
    ``share``: (n,) of the efforts, changed in place.
    """
    kept = math.exp(-dt / max(MEMORY, SAMPLES * dt))
    n, found, too_fast, most, escapes = memory.shape[1], -1, False, 0.0, False
    slowly = 1.0 - math.exp(-dt / USUALLY)
    power, later, needed, usual, known = 0.0, 0.0, 0.0, 0.0, not math.isnan(memory[ACCELERATION, 0])
    for j in range(n):
        v, out = given[0, j], abs(given[2, j]) > ESCAPES * table[VELOCITY, j]
        opposed = out and v * given[1, j] < 0.0 and not abs(v) <= abs(memory[SPEED, j])
        if share[j] > 0.0:
            _try_out(memory, share, j, opposed and abs(given[1, j]) > FULL * table[LIMIT, j])
        acceleration = (v - memory[SPEED, j]) / dt
        memory[CHANGE, j] = acceleration - memory[ACCELERATION, j] if known else 0.0
        memory[SPEED, j], memory[ACCELERATION, j] = v, acceleration
        escapes = escapes or out
        too_fast = too_fast or (out and abs(v) > table[VELOCITY, j] and memory[TRY, j] <= 0.0)
    for j in range(n):
        d, x, torque = given[1, j] - memory[EFFORT, j] if known else 0.0, memory[CHANGE, j], 0.0
        for k in range(n):
            torque += inertia[j, k] * memory[CHANGE, k]
        memory[PUSHED, j] = kept * memory[PUSHED, j] + d * d
        memory[MOVED, j] = kept * memory[MOVED, j] + x * x
        memory[ANSWERED, j] = kept * memory[ANSWERED, j] + d * x
        memory[LATER, j] = kept * memory[LATER, j] + memory[BEFORE, j] * x
        memory[NEEDED, j] = kept * memory[NEEDED, j] + x * torque
        says = d * x < 0.0 and d * torque < 0.0
        memory[SAYS, j] = memory[SAYS, j] + 1.0 if says else 0.0
        memory[ROW, j] = kept * memory[ROW, j] + d * x if says else 0.0
        memory[EFFORT, j], memory[BEFORE, j] = given[1, j], d
        pushed, before, noise = memory[PUSHED, j], memory[PUSHED, j] - d * d, NOISE * table[VELOCITY, j] / dt
        moved, late = max(memory[MOVED, j], noise * noise), max(memory[LATER, j], 0.0)
        backward = (
            memory[SAYS, j] >= (IN_A_ROW if abs(given[0, j]) > URGENT * table[VELOCITY, j] else AT_LEISURE)
            and memory[ROW, j] < MAINLY * memory[ANSWERED, j] < 0.0
            and moved - memory[ANSWERED, j] ** 2 / pushed < UNEXPLAINED * (moved - late * late / max(before, 1e-300))
        )
        power, later, needed = power + memory[ANSWERED, j], later + memory[LATER, j], needed + memory[NEEDED, j]
        usual += memory[USUAL, j]
        if not escapes:
            memory[USUAL, j] += slowly * (memory[NEEDED, j] - memory[ANSWERED, j] - memory[USUAL, j])
        if backward and share[j] > 0.0 and memory[ANSWERED, j] < most:
            found, most = j, memory[ANSWERED, j]
    in_vain = bool(too_fast and power < CAUSED * needed and share.all())
    surely = bool(in_vain and max(power, later) < CAUSED * (needed - max(usual, 0.0)))
    if not escapes or found < 0 or power - 2.0 * most < LATE * later:
        return -1, in_vain, surely
    share[found] = 0.0
    return found, in_vain, surely


@inlined_kernel
def _try_out(memory: Array, share: Array, j: int, in_vain: bool) -> None:
    """Lessen the effort of a joint step by step after PRESSED samples of full effort in vain."""
    tries = memory[TRY, j]
    if tries > PRESSED:
        tries, share[j] = -RESTS, 1.0
    elif tries == PRESSED:
        tries, share[j] = PRESSED + 1.0, TRIED[1]
    elif tries < 0.0:
        tries += 1.0
    elif in_vain:
        tries += 1.0
        share[j] = TRIED[0] if tries == PRESSED else 1.0
    else:
        tries = 0.0
    memory[TRY, j] = tries
