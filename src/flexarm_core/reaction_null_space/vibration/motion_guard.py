"""MotionGuard: keeps what the vibration controller asks within the joints' limits, and gives up where that is no use.

The path's clock slows or waits (``path_clock``, ``motion_bounds``). The guard gives up, for good, with a reason,

* where the clock is later than ``longest_wait``, or the tool is farther from its path than ``largest_error``;
* where braking was mixed into the law for longer than ``LONGEST_MIXED``.

The base is still damped then, unless that needs braking again for so long, or keeps the arm ``QUICK`` for longer than
braking takes: with a wrong coupling, of an arm that carries much, damping feeds what it should take away.

Load (``load_observer``). Under gravity the joints are told what they lack on top of the law, along what no feedback of
the task holds: without it they would drop there. The tool sags as far as its feedback lets it; with a
``load_bandwidth`` the joints are told all that they lack, the base's acceleration is known, and it does not sag.
"""

from __future__ import annotations

import numpy as np

from flexarm_core.entrance import ANY, numbers
from flexarm_core.reaction_null_space.vibration.load_observer import LoadObserver
from flexarm_core.reaction_null_space.vibration.path_clock import PathClock
from flexarm_core.types import Array

LONGEST_MIXED = 0.2  # [s] for which law and braking may be mixed
NEAR_TIME = 0.03  # [s] within which a limit of the velocity is approached
PERIODS = 4.0  # periods, at least, of that
LOST = 0.3  # share of the path's velocity that the tool cannot have, at which the path waits
WATCHED = 40.0  # [rad/s] bandwidth at which an unknown load is found, where the loop is fast enough
LOAD_SHARE = 0.5  # of the motors' efforts that an unknown load may take
SLOWED, QUICK = 0.4, 0.3  # [s] in which an arm that gave up must have become slower than this share of its limits
FAR = 0.1  # of the distance from its path at which the law gives up, from which on people are told
TURN = 3.0  # [rad/m] of orientation that counts as much as a way
LATEST = 0.1  # [s] between two samples beyond which the guard begins anew


class MotionGuard:
    """What is kept from sample to sample about limits.

    Attributes:
        clock: of the path.
        limits: (4, n) lower and upper position, velocity, effort.
        watched: bandwidth at which a load on the joints is found where nobody says another [rad/s].
        joints: load on them.
        base: load on it.
        reason: why the law gave up; empty: it did not.
        damps: whether the base is still damped then.
        timing: (7,) of the law's sample: rate r' that the clock wants, least, most, time in which limits are
            approached; then r', the share of base feedback and that of the law against braking.
    """

    def __init__(self, limits: Array, longest_wait: float, directions: int) -> None:
        """Begin; ``limits`` (4, n), ``longest_wait`` [s], ``directions`` m of the base."""
        self.limits = numbers("limits", limits, 4, ANY)
        self.joints, self.base = LoadObserver(self.limits.shape[1]), LoadObserver(directions)
        self.clock, self.watched = PathClock(longest_wait), WATCHED
        self.timing = np.zeros(7)
        self.reset()

    def reset(self) -> None:
        """Forget earlier samples, and why the law gave up."""
        self.clock.reset()
        self.reason, self._far, self.damps = "", "", True
        self._resting = 0.0  # [s] since the law gave up
        self._stamp: int | None = None
        self._dt = 0.0
        self._mixed = self._lost = 0.0
        self.joints.forget()
        self.base.forget()

    @property
    def remark(self) -> str:
        """What people should know: why the law gave up, or that the path is slower than it was asked for."""
        if self.reason:
            return self.reason
        if self.clock.lag > 0.0:
            late, rate = self.clock.lag, self.clock.rate
            return f"joint limits: the path is {late:.2f} s late and runs at {rate:.2f} of its speed"
        if self._mixed > 0.0:
            return "joint limits: the arm brakes"
        if self._far:
            return self._far
        return ""

    def begin(self, stamp: int, velocity: Array) -> None:
        """Take the stamp of a sample [ns], and how fast the joints are (n,)."""
        dt = 0.0 if self._stamp is None else (stamp - self._stamp) * 1e-9
        if not 0.0 <= dt <= LATEST:
            self.joints.forget()
            self.base.forget()
            dt = 0.0
        self._dt, self._stamp = dt, stamp
        if self.reason:
            self._resting += dt
            quick = float(np.max(np.abs(velocity) / self.limits[2])) > QUICK
            self.damps = self.damps and not (quick and self._resting > SLOWED)
        step = max(dt, 1e-4)
        allowed = max(1.0 - self._lost / LOST, 0.0) if self._lost > 0.01 else np.inf
        self.timing[:3] = self.clock.bounds(step, allowed)
        self.timing[3] = max(NEAR_TIME, PERIODS * step)

    def keep_near(self, distance: float, largest: float) -> None:
        """Give up where the tool is farther from its path than ``largest`` [m], and say where it is ``FAR`` from it."""
        self._far = f"the tool is {distance:.2g} m from its path" if distance > FAR * largest else ""
        if distance > largest:
            self.give_up(f"the tool is {distance:.3g} m from its path, at most {largest:g} m")

    def find_load(self, position: Array, velocity: Array, bandwidth: float, inertia: Array) -> Array:
        """Accelerations (n,) that the joints lack.

        Args:
            position: (n,) measured.
            velocity: (n,) measured.
            bandwidth: w [rad/s].
            inertia: (n,) of each joint.
        """
        return self.joints.find(position, velocity, bandwidth, LOAD_SHARE * self.limits[3] / inertia)

    def integrate(self, error: Array, gain: float, inertia: Array) -> Array:
        """Accelerations (n,) that hold a load: the integral of ``gain`` [1/s^3] times the servos' error (n,)."""
        return self.joints.integrate(gain * self._dt * error, LOAD_SHARE * self.limits[3] / inertia)

    def end(self, going: Array, base: Array, lost: float) -> None:
        """Take what joints and base are believed to do in this sample.

        Args:
            going: (n,) accelerations that the joints were told, as they were bounded, less those that they lack.
            base: (m,) accelerations of the base.
            lost: share of the path's velocity that the tool cannot have.
        """
        dt = max(self._dt, 1e-4)
        change, _, mixed = self.timing[4:]
        self._lost = lost
        self.clock.advance(float(change), dt)
        self._mixed = max(self._mixed + (dt if mixed < 1.0 else -dt), 0.0)
        self.joints.advance(going, dt)
        self.base.advance(base, dt)
        if self._mixed > LONGEST_MIXED:
            self.give_up("joint limits leave no room for the law")
        if self.clock.exhausted:
            self.give_up(f"the path had to wait for longer than {self.clock.longest:g} s: limits or a singularity")

    def give_up(self, reason: str) -> None:
        """From now on the arm is brought to rest and held; a second time, without damping the base."""
        if self.reason:
            self.damps = self.damps and self._mixed <= LONGEST_MIXED
        else:
            self._mixed = 0.0
            self.reason = f"gave up and holds the arm at rest until it is activated anew: {reason}"


def joint_limits(lower: Array, upper: Array, velocity: Array, effort: Array) -> Array:
    """Limits (4, n) of joints; a velocity or effort of 0 counts as none given."""
    none = np.inf
    return np.vstack((lower, upper, np.where(velocity > 0.0, velocity, none), np.where(effort > 0.0, effort, none)))
