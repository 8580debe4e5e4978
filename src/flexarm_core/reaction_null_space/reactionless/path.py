"""ReactionlessPath: a joint path along which the arm may move at any speed without any reaction on its base.

The path is the integral curve ``dq/ds = n(q)`` of the null direction (Nenchev et al. 1999, definition 3; MATHS.md
section 5). For any law ``s(t)`` ::

    q = q(s),   qd = n sd,   qdd = n sdd + n' sd^2        =>    H_bm qd = 0,   H_bm qdd + dH_bm/dt qd = 0

``q(s)`` is read between knots by fifth-order polynomials through positions, tangents and curvatures; ``n`` and ``n'``
are computed at that very posture, so both identities hold to round-off and not only to the error of the knots.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BPoly
from scipy.optimize import brentq

from flexarm_core.errors import InputError
from flexarm_core.reaction_null_space.coupling.null_direction import NullDirection
from flexarm_core.types import Array

ENDS = ("closed", "joint_limit", "singular_coupling", "length")
SLACK = 1e-9  # by which s may exceed the ends of an open path: round-off of a caller's time law


@dataclass(frozen=True, slots=True)
class PathEnd:
    """Why a path goes no further at one side.

    Attributes:
        reason: ``closed`` (it is back at its start), ``joint_limit``, ``singular_coupling`` (the rank of ``S H_bm`` is
            not n - 1 any more) or ``length`` (as long as asked).
        joint: name of the joint at its limit, else empty.
    """

    reason: str
    joint: str = ""


@dataclass(frozen=True, slots=True)
class PathKnots:
    """Points of a path, in the order of s.

    Attributes:
        s: (K,) path coordinate, increasing, 0 at the posture through which the path was traced [rad | m].
        position: (K, n) joint positions, without jumps where a joint turns on and on [rad | m].
        tangent: (K, n) unit null vectors n, of continuous sign.
        curvature: (K, n) ``dn/ds``.
        sigma_min: (K,) smallest singular value of ``S H_bm``.
        tool_position: (K, 3) tool in the base link's frame [m].
    """

    s: Array
    position: Array
    tangent: Array
    curvature: Array
    sigma_min: Array
    tool_position: Array


@dataclass(frozen=True, slots=True)
class JointMotion:
    """Motion of the joints at one instant.

    Attributes:
        position: (n,) [rad | m].
        velocity: (n,) [rad/s | m/s].
        acceleration: (n,) [rad/s^2 | m/s^2].
    """

    position: Array
    velocity: Array
    acceleration: Array


class ReactionlessPath:
    """A traced path.

    Attributes:
        field: the null directions that it follows; says which arm and which elastic directions.
        knots: its points.
        backward_end, forward_end: why it ends at its least and at its greatest s.
        turns: (n,) by how much the joints are further on after one round of a closed path, whole turns [rad]; zero
            for an open one.
        closing_error: distance by which a closed path missed its start [rad | m]; 0 for an open one.
    """

    def __init__(
        self,
        field: NullDirection,
        knots: PathKnots,
        backward_end: PathEnd,
        forward_end: PathEnd,
        closing_error: float = 0.0,
    ) -> None:
        """Make a path of its knots, at least two; a closed one has its start again as last knot."""
        self.field, self.knots = field, knots
        self.backward_end, self.forward_end = backward_end, forward_end
        self.closing_error = closing_error
        self.turns = np.zeros(field.model.n)
        if self.closed:
            self.turns = np.round((knots.position[-1] - knots.position[0]) / (2.0 * np.pi)) * 2.0 * np.pi
        rows = np.stack((knots.position, knots.tangent, knots.curvature), axis=1)
        self._position = BPoly.from_derivatives(knots.s, list(rows))
        self._tangent = self._position.derivative()
        self._curvature = self._tangent.derivative()

    @property
    def closed(self) -> bool:
        """Whether the path comes back to its start, up to whole turns of endless joints."""
        return self.forward_end.reason == "closed"

    @property
    def start(self) -> float:
        """Least s [rad | m]."""
        return float(self.knots.s[0])

    @property
    def end(self) -> float:
        """Greatest s; of a closed path its length beyond the start, where it goes on [rad | m]."""
        return float(self.knots.s[-1])

    @property
    def length(self) -> float:
        """Length in joint space [rad | m]."""
        return self.end - self.start

    def position(self, s: float) -> Array:
        """Joint positions (n,) at s.

        Raises:
            InputError: s is not finite or beyond an end of an open path.
        """
        inside, turns = self._inside(s)
        return np.asarray(self._position(inside), dtype=float) + turns

    def sigma_min(self, s: float) -> float:
        """Smallest singular value of ``S H_bm`` at s; of one elastic direction the norm of the paper's n (27).

        Raises:
            InputError: as of :meth:`position`.
        """
        return self.field.at(self.position(s)).sigma_min

    def sample(self, s: float, rate: float, acceleration: float) -> JointMotion:
        """Motion of the joints at one instant of a law s(t).

        Args:
            s: path coordinate; on a closed path any number of rounds beyond either end [rad | m].
            rate: ds/dt, of either sign [rad/s | m/s].
            acceleration: d2s/dt2 [rad/s^2 | m/s^2].

        Raises:
            InputError: s is beyond an end of an open path, or a number is not finite.
        """
        if not (np.isfinite(rate) and np.isfinite(acceleration)):
            raise InputError(f"path rate {rate} and acceleration {acceleration} must be finite")
        inside, turns = self._inside(s)
        position = np.asarray(self._position(inside), dtype=float)
        vector = self.field.at(position)
        tangent = vector.tangent if vector.tangent @ self._tangent(inside) > 0.0 else -vector.tangent
        turn = self.field.turn(position, vector, tangent)
        return JointMotion(position + turns, tangent * rate, tangent * acceleration + turn * rate**2)

    def read(self, s: float, rate: float, acceleration: float) -> JointMotion:
        """As :meth:`sample`, with n and n' of the polynomials too: in a fifth of the time, to about 1e-8 and 1e-6.

        Raises:
            InputError: as of :meth:`sample`.
        """
        if not (np.isfinite(rate) and np.isfinite(acceleration)):
            raise InputError(f"path rate {rate} and acceleration {acceleration} must be finite")
        inside, turns = self._inside(s)
        tangent, turn = self._tangent(inside), self._curvature(inside)
        return JointMotion(self._position(inside) + turns, tangent * rate, tangent * acceleration + turn * rate**2)

    def nearest(self, position: Array) -> tuple[float, float]:
        """The point of the path that is nearest to joint positions (n,).

        Whole turns of endless joints do not count.

        Returns:
            Its s and its distance in joint space [rad | m].

        Raises:
            InputError: wrong length or not finite.
        """
        position = self.field.check_position(position)
        knots, s = self.knots, self.knots.s
        apart = np.linalg.norm(self.field.difference(knots.position, position), axis=1)
        best = int(apart.argmin())
        low, high = s[max(best - 1, 0)], s[min(best + 1, len(s) - 1)]
        if self.closed and best in (0, len(s) - 1):
            low, high = s[-2] - self.length, s[1]

        def slope(at: float) -> float:
            """Half the rate of the squared distance."""
            gap = self.field.difference(self.position(at), position)
            return float(gap @ self._tangent(self._inside(at)[0]))

        if slope(low) >= 0.0:
            found = float(low)
        elif slope(high) <= 0.0:
            found = float(high)
        else:
            found = float(brentq(slope, low, high, xtol=1e-14))
        return found, float(np.linalg.norm(self.field.difference(self.position(found), position)))

    def _inside(self, s: float) -> tuple[float, Array]:
        """The coordinate within the knots, and what whole rounds add to the joints (n,)."""
        if not np.isfinite(s):
            raise InputError(f"path coordinate is {s}")
        if self.closed:
            rounds = np.floor((s - self.start) / self.length)
            return float(np.clip(s - rounds * self.length, self.start, self.end)), rounds * self.turns
        if not self.start - SLACK <= s <= self.end + SLACK:
            raise InputError(
                f"path coordinate {s:.9g} is beyond the path [{self.start:.9g}, {self.end:.9g}], which ends by"
                f" {self.backward_end.reason} and {self.forward_end.reason}"
            )
        return float(np.clip(s, self.start, self.end)), np.zeros(len(self.turns))
