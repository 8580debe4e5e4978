"""ReactionlessPath: a joint path along which the arm can move at any speed without any reaction on its base.

The path is the integral curve ``dq/ds = n(q)`` of the null direction (Nenchev et al. 1999, definition 3).
For any time law ``s(t)`` ::

    q = q(s),   qd = n sd,   qdd = n sdd + n' sd^2        =>    H_bm qd = 0,   H_bm qdd + dH_bm/dt qd = 0

``q(s)`` is interpolated between knots by fifth-order polynomials through positions, tangents and curvatures. ``n`` and
``n'`` are computed at exactly this posture, so both identities hold to round-off and not only to the knot error.
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
SLACK = 1e-9  # [rad | m] by which s may exceed the ends of an open path, for round-off in the time law of the caller


@dataclass(frozen=True, slots=True)
class PathEnd:
    """Reason why a path ends at one side.

    Attributes:
        reason: ``closed`` (the path is back at its start), ``joint_limit``, ``singular_coupling`` (the rank of
            ``S H_bm`` is no longer n - 1) or ``length`` (the requested length is reached).
        joint: name of the joint at its limit, otherwise empty.
    """

    reason: str
    joint: str = ""


@dataclass(frozen=True, slots=True)
class PathKnots:
    """Points of a path, in the order of s.

    Attributes:
        s: (K,) path coordinate, increasing, 0 at the posture through which the path was traced [rad | m].
        position: (K, n) joint positions, continuous also for continuous joints (not wrapped) [rad | m].
        tangent: (K, n) unit null vectors n, of continuous sign.
        curvature: (K, n) ``dn/ds``.
        sigma_min: (K,) smallest singular value of ``S H_bm``.
        tool_position: (K, 3) tool position in the base link frame [m].
    """

    s: Array
    position: Array
    tangent: Array
    curvature: Array
    sigma_min: Array
    tool_position: Array


@dataclass(frozen=True, slots=True)
class JointMotion:
    """Joint motion at one instant.

    Attributes:
        position: (n,) joint positions [rad | m].
        velocity: (n,) joint velocities [rad/s | m/s].
        acceleration: (n,) joint accelerations [rad/s^2 | m/s^2].
    """

    position: Array
    velocity: Array
    acceleration: Array


class ReactionlessPath:
    """A traced reactionless path.

    Attributes:
        field: null directions that the path follows; defines the arm and the selected elastic directions.
        knots: points of the path.
        backward_end, forward_end: reasons why the path ends at its smallest and at its largest s.
        turns: (n,) change of the joint positions in one round of a closed path, in whole turns [rad]; zero for an open
            path.
        closing_error: distance by which a closed path missed its start [rad | m]; 0 for an open path.
    """

    def __init__(
        self,
        field: NullDirection,
        knots: PathKnots,
        backward_end: PathEnd,
        forward_end: PathEnd,
        closing_error: float = 0.0,
    ) -> None:
        """Construct a path from at least two knots; the last knot of a closed path repeats the start."""
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
        """Whether the path returns to its start, up to whole turns of continuous joints."""
        return self.forward_end.reason == "closed"

    @property
    def start(self) -> float:
        """Smallest s [rad | m]."""
        return float(self.knots.s[0])

    @property
    def end(self) -> float:
        """Largest s [rad | m]; a closed path continues there at its start."""
        return float(self.knots.s[-1])

    @property
    def length(self) -> float:
        """Length in joint space [rad | m]."""
        return self.end - self.start

    def position(self, s: float) -> Array:
        """Return the joint positions (n,) at s.

        Raises:
            InputError: s is not finite or beyond an end of an open path.
        """
        inside, turns = self._inside(s)
        return np.asarray(self._position(inside), dtype=float) + turns

    def sigma_min(self, s: float) -> float:
        """Return the smallest singular value of ``S H_bm`` at s; for one elastic direction, the norm of n in (27).

        Raises:
            InputError: see :meth:`position`.
        """
        return self.field.at(self.position(s)).sigma_min

    def sample(self, s: float, rate: float, acceleration: float) -> JointMotion:
        """Return the joint motion at one instant of a time law s(t).

        Args:
            s: path coordinate; on a closed path it may exceed the ends by any number of rounds [rad | m].
            rate: ds/dt, positive or negative [rad/s | m/s].
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
        """Return the same as :meth:`sample`, but with n and n' from the polynomials.

        This takes a fifth of the time; the errors of n and n' are about 1e-8 and 1e-6.

        Raises:
            InputError: see :meth:`sample`.
        """
        if not (np.isfinite(rate) and np.isfinite(acceleration)):
            raise InputError(f"path rate {rate} and acceleration {acceleration} must be finite")
        inside, turns = self._inside(s)
        tangent, turn = self._tangent(inside), self._curvature(inside)
        return JointMotion(self._position(inside) + turns, tangent * rate, tangent * acceleration + turn * rate**2)

    def nearest(self, position: Array) -> tuple[float, float]:
        """Return the point of the path that is nearest to joint positions (n,).

        Whole turns of continuous joints do not count.

        Returns:
            Path coordinate s of this point and its distance in joint space [rad | m].

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
            """Return half the derivative of the squared distance with respect to s."""
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
        """Return the coordinate within the knots, and the joint displacement (n,) due to whole rounds."""
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
