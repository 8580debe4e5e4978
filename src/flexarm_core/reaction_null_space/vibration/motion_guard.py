"""MotionGuard: keeps the requests of the vibration controller within the joint limits, and gives up when this fails.

The path clock slows down or waits (``path_clock``, ``motion_bounds``). The guard gives up, with a reason, until it
is reset,

* if the lag of the clock exceeds ``longest_wait``, or the tool error exceeds ``largest_error``;
* if braking was mixed into the law for longer than ``LONGEST_MIXED``.

Its message names the cause of a slow motion: the position, velocity or effort limit of a joint, or a singularity, in
which the joints cannot move the tool along its path.

The base is still damped after that. Damping also ends if it again requires braking for so long, or if it keeps the arm
faster than ``QUICK`` for longer than braking takes: if the coupling model is wrong, for example because the arm carries
a heavy unknown load, damping adds energy to the base instead of removing it.

Load (``load_observer``). Under gravity the law adds the estimated acceleration deficit of the joints in the directions
that no task feedback controls; otherwise the joints would fall there. The tool sags as far as its feedback allows. With
a ``load_bandwidth`` the whole deficit is added and the estimated base acceleration includes the load, so the tool does
not sag.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexarm_core.entrance import ANY, numbers
from flexarm_core.reaction_null_space.vibration.law import SHORTEST
from flexarm_core.reaction_null_space.vibration.motion_bounds import KINDS
from flexarm_core.reaction_null_space.vibration.path_clock import PathClock
from flexarm_core.types import Array

SINGULARITY = "singularity, the joints cannot move the tool along its path in this posture"
LONGEST_MIXED = 0.2  # [s] longest time for which law and braking may be mixed
NEAR_TIME = 0.03  # [s] least time in which a velocity limit is approached
PERIODS = 4.0  # least value of that time, in sampling periods
LOST = 0.3  # share of the path velocity that the tool cannot attain, from which on the path waits
WATCHED = 40.0  # [rad/s] default bandwidth of load estimation, if the loop is fast enough
SLOWED, QUICK = 0.4, 0.3  # [s] after giving up, from when on damping ends if a joint exceeds this share of its limit
SINGULAR = 0.01  # share of the path velocity that the tool cannot attain, from which on the posture counts as singular
FAR = 0.1  # share of the largest tool error from which on the error is reported
LATEST = 0.1  # [s] longest time between two samples; after a longer gap the load estimates start again


class MotionGuard:
    """State of the limit supervision that is kept between samples.

    Attributes:
        clock: path clock.
        limits: (4, n) lower and upper position, velocity, effort.
        follows: whether the law follows references; without, there is no path that is late.
        watched: bandwidth of the joint load estimate if none is configured [rad/s].
        dt: time since the last sample, 0 if that is unknown or long ago [s].
        forgets: whether the load estimates must start again, as a sample came too late.
        reason: why the law gave up; empty: it did not.
        damps: whether the base is still damped after the law gave up.
        rate_change: wanted, smallest and largest rate change r' of the clock in this sample [1/s].
        approach_time: time in which a velocity limit is approached [s].
    """

    def __init__(self, limits: Array, longest_wait: float, names: Sequence[str] = ()) -> None:
        """Start; ``limits`` (4, n), ``longest_wait`` [s], ``names`` of the joints; empty: their numbers."""
        self.limits = numbers("limits", limits, 4, ANY)
        self.follows = True
        self._names = tuple(names) or tuple(f"joint {i}" for i in range(self.limits.shape[1]))
        self.clock, self.watched = PathClock(longest_wait), WATCHED
        self.rate_change, self.approach_time = (0.0, 0.0, 0.0), NEAR_TIME
        self.reset()

    def reset(self) -> None:
        """Forget earlier samples and the reason for giving up."""
        self.clock.reset()
        self.reason, self._far, self.damps = "", "", True
        self._cause = ""  # what holds the motion back, or has made the path late
        self._resting = 0.0  # [s] since the law gave up
        self._stamp: int | None = None
        self.dt = 0.0
        self._mixed = self._lost = 0.0
        self.forgets = False

    @property
    def remark(self) -> str:
        """Message for users: why the law gave up, or that the path is slower than requested."""
        if self.reason:
            return self.reason
        if self.clock.lag > 0.0:
            if not self.follows:
                return f"{self._cause} holds the law back"
            late, rate = self.clock.lag, self.clock.rate
            return f"{self._cause}: the path is {late:.2f} s late and runs at {rate:.2f} of its speed"
        if self._mixed > 0.0:
            return f"{self._cause}: the arm brakes"
        if self._far:
            return self._far
        return ""

    def begin(self, stamp: int, velocity: Array) -> None:
        """Start a sample with its stamp [ns] and the joint velocities (n,)."""
        dt = 0.0 if self._stamp is None else (stamp - self._stamp) * 1e-9
        if not 0.0 <= dt <= LATEST:
            dt, self.forgets = 0.0, True
        self.dt, self._stamp = dt, stamp
        if self.reason:
            self._resting += dt
            quick = float(np.max(np.abs(velocity) / self.limits[2])) > QUICK
            self.damps = self.damps and not (quick and self._resting > SLOWED)
        step = max(dt, SHORTEST)
        allowed = max(1.0 - self._lost / LOST, 0.0) if self._lost > SINGULAR else np.inf
        self.rate_change = self.clock.bounds(step, allowed)
        self.approach_time = max(NEAR_TIME, PERIODS * step)

    def keep_near(self, distance: float, largest: float) -> None:
        """Give up if the tool error exceeds ``largest`` [m]; report the error if it exceeds ``FAR * largest``."""
        self._far = f"the tool is {distance:.2g} m from its path" if distance > FAR * largest else ""
        if distance > largest:
            self.give_up(f"the tool is {distance:.3g} m from its path, at most {largest:g} m")

    def end(self, lost: float, change: float, mixed: float, held: int) -> None:
        """Finish a sample.

        Args:
            lost: share of the path velocity that the tool cannot attain.
            change: rate change r' of the clock that was applied [1/s].
            mixed: share of the law against braking that was applied.
            held: joint limit that held the motion back, see ``motion_bounds.KINDS``; negative: none.
        """
        if held >= 0:
            kind, joint = divmod(held, len(self._names))
            self._cause = f"{KINDS[kind]} limit of {self._names[joint]}"
        elif self._lost > SINGULAR:
            self._cause = SINGULARITY
        dt = max(self.dt, SHORTEST)
        self._lost, self.forgets = lost, False
        self.clock.advance(change, dt)
        self._mixed = max(self._mixed + (dt if mixed < 1.0 else -dt), 0.0)
        if self._mixed > LONGEST_MIXED:
            self.give_up(f"{self._cause} leaves no room for the law")
        if self.clock.exhausted:
            what = "the path had to wait" if self.follows else "the law was held back"
            self.give_up(f"{what} for longer than {self.clock.longest:g} s: {self._cause}")

    def give_up(self, reason: str) -> None:
        """Bring the arm to rest and hold it from now on; if called again, base damping may end too."""
        if self.reason:
            self.damps = self.damps and self._mixed <= LONGEST_MIXED
        else:
            self._mixed = 0.0
            self.reason = f"gave up and holds the arm at rest until it is activated anew: {reason}"


def joint_limits(lower: Array, upper: Array, velocity: Array, effort: Array) -> Array:
    """Return joint limits (4, n); a velocity or effort limit of 0 counts as not given (infinite)."""
    none = np.inf
    return np.vstack((lower, upper, np.where(velocity > 0.0, velocity, none), np.where(effort > 0.0, effort, none)))
