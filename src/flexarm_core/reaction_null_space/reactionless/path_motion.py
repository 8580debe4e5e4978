r"""PathMotion: the position of the reference on a reactionless path as a function of time; any speed is reactionless.

All time laws are smooth and start at rest. With ``p(x)`` the fifth-order rise from 0 to 1::

    fifth_order      s = a + (b - a) p(t / T)                     T the duration, a and b the span
    constant_rate    ds/dt = u                                    u the speed, reached and left within the blend time
    constant_ubar    ds/dt = u |h(s)|,  |h| = sigma_min(S H_bm)   qd = n ubar with the paper's n (27): the arm moves
                                                                  slower where it acts less on its base

For ``constant_ubar``, ``theta(s) = int ds / |h|`` grows at a constant rate and is inverted once (Nenchev et al. 1999,
section VII).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import cumulative_simpson
from scipy.interpolate import CubicHermiteSpline, CubicSpline

from flexarm_core.errors import ConfigError
from flexarm_core.path.constant_speed import constant_speed
from flexarm_core.path.line import fifth_order
from flexarm_core.reaction_null_space.reactionless.path import ReactionlessPath
from flexarm_core.reaction_null_space.reactionless.velocity_law import Along
from flexarm_core.settings import Settings, setting

SPEED_LAWS = ("fifth_order", "constant_rate", "constant_ubar")
GRID = 4001  # number of points at which the phase along a path is tabulated

Phase = Callable[[float], float]
Place = Callable[[float], tuple[float, float, float]]


@dataclass(frozen=True, slots=True)
class PathMotionConfig(Settings):
    """Settings of a motion; the sign of the speed counts only if the motion is cyclic.

    Attributes:
        span: begin and end on the path [rad | m]; None: from the point nearest to the first posture to the end of the
            path, or once around a closed path.
    """

    # fmt: off
    speed_law: str = setting("fifth_order",
        "speed along the path: fifth-order polynomial, constant rate, or constant ubar (slower where the coupling"
        " with the base is weak)", choices=SPEED_LAWS)
    span: tuple[float, float] | None = None
    start: float = setting(0.0, "time between the first sample and the start of the motion along the path", "s", 0.0)
    duration: float = setting(4.0, "duration of one way along the path (speed_law fifth_order)", "s", 1e-3)
    speed: float = setting(1.0,
        "speed along the path: path rate (speed_law constant_rate), or ubar in qd = n ubar (speed_law constant_ubar)",
        "rad/s | 1/(kg*m*s)")
    blend_time: float = setting(1.0, "time to reach and to leave the constant speed along the path", "s", 1e-3)
    returns: bool = setting(False, "move back and forth along the path without end; false: move once")
    cyclic: bool = setting(False,
        "circulate along a closed path without end (speed laws constant_rate and constant_ubar)")
    # fmt: on

    def check(self) -> None:
        """Raise ConfigError for a speed or span that does not exist, and for a cyclic motion with an end."""
        if self.speed == 0.0:
            raise ConfigError(f"speed must be a number other than 0, got {self.speed}")
        if self.span is not None and not np.isfinite(self.span).all():
            raise ConfigError(f"span must be two finite path coordinates, got {self.span}")
        if self.cyclic and (self.returns or self.speed_law == "fifth_order"):
            raise ConfigError("a cyclic motion has a constant rate or ubar and does not return")


class PathMotion:
    """A motion along one path.

    Attributes:
        begin: s at which the motion begins [rad | m].
        end: s at which the motion ends, None for a cyclic motion [rad | m].
        duration: duration of one way, without the initial wait [s]; inf for a cyclic motion.
    """

    def __init__(self, path: ReactionlessPath, config: PathMotionConfig, nearest: float | None = None) -> None:
        """Define a motion on a path.

        Args:
            path: the path.
            config: settings.
            nearest: s of the point nearest to the first posture, for a motion without a span; None: the point s = 0
                from which the path was traced.

        Raises:
            ConfigError: the span exceeds the path or has no length, the motion is cyclic on an open path, or the blend
                time is too long for the span.
        """
        self.config = config
        if config.cyclic and not path.closed:
            raise ConfigError(
                f"a cyclic motion needs a closed path; this one ends by {path.backward_end.reason} and"
                f" {path.forward_end.reason}"
            )
        first = 0.0 if nearest is None else nearest
        self.begin, last = config.span or (first, first + path.length if path.closed else path.end)
        if not path.closed and not all(path.start <= s <= path.end for s in (self.begin, last)):
            raise ConfigError(
                f"span {self.begin:g} to {last:g} is beyond the path [{path.start:.9g}, {path.end:.9g}], which ends by"
                f" {path.backward_end.reason} and {path.forward_end.reason}"
            )
        if self.begin == last and not config.cyclic:
            raise ConfigError(f"span {self.begin:g} to {last:g} has no length")
        self.end = None if config.cyclic else last
        self._phase: Phase | None = None
        self._place: Place | None = None
        if config.speed_law == "constant_ubar":
            self._phase, self._place = _phase(path)
        self._from = self._phase_at(self.begin)
        self._way = self._phase_at(last) - self._from
        self.duration = float("inf")
        if config.speed_law == "fifth_order":
            self.duration = config.duration
        elif not config.cyclic:
            self.duration = abs(self._way / config.speed) + config.blend_time
            if self.duration < 2.0 * config.blend_time:
                raise ConfigError(
                    f"two blends of {config.blend_time:g} s do not fit into a way of"
                    f" {self.duration - config.blend_time:.6g} s: give a shorter blend_time or a lower speed"
                )

    def at(self, time: float) -> Along:
        """Return the reference on the path at a time since the first sample [s]."""
        config, time = self.config, max(time - self.config.start, 0.0)
        if config.cyclic:
            return self._along(*_round(time, config.speed, config.blend_time))
        turn = 0.0
        if config.returns:
            turn, time = divmod(time, self.duration)
        if config.speed_law == "fifth_order":
            part, rate, acceleration = fifth_order(time, self.duration)
        else:
            part, rate, acceleration = constant_speed(time, self.duration, config.blend_time)
        if turn % 2.0 == 1.0:
            part, rate, acceleration = 1.0 - part, -rate, -acceleration
        return self._along(part * self._way, rate * self._way, acceleration * self._way)

    def finished(self, time: float) -> bool:
        """Return whether the reference is permanently at rest at a time since the first sample [s]."""
        return not self.config.returns and time - self.config.start >= self.duration

    def _phase_at(self, s: float) -> float:
        return s if self._phase is None else self._phase(s)

    def _along(self, way: float, rate: float, acceleration: float) -> Along:
        """Convert the phase and its derivatives to s and its derivatives."""
        if self._place is None:
            return Along(self._from + way, rate, acceleration)
        s, size, slope = self._place(self._from + way)
        return Along(s, size * rate, size * acceleration + size * slope * rate**2)


def _round(time: float, speed: float, blend: float) -> tuple[float, float, float]:
    """Return phase, rate and acceleration for a speed that is reached in the blend time and then held."""
    part, slope, _ = fifth_order(time, blend)
    if time >= blend:
        return speed * (time - 0.5 * blend), speed, 0.0
    x = time / blend
    return speed * blend * x**4 * (2.5 + x * (-3.0 + x)), speed * part, speed * slope


def _phase(path: ReactionlessPath) -> tuple[Phase, Place]:
    """Return ``theta(s)``, 0 at the start of the path, and its inverse: s, ``|h|`` and ``d|h|/ds`` for a theta."""
    size = CubicSpline(path.knots.s, path.knots.sigma_min)
    grid = np.linspace(path.start, path.end, GRID)
    theta = cumulative_simpson(1.0 / size(grid), x=grid, initial=0.0)
    forward, back = CubicHermiteSpline(grid, theta, 1.0 / size(grid)), CubicHermiteSpline(theta, grid, size(grid))
    around, length = float(theta[-1]), path.length

    def phase(s: float) -> float:
        rounds = np.floor((s - path.start) / length) if path.closed else 0.0
        return float(forward(s - rounds * length) + rounds * around)

    def place(angle: float) -> tuple[float, float, float]:
        rounds = np.floor(angle / around) if path.closed else 0.0
        s = float(np.clip(back(angle - rounds * around), path.start, path.end))
        return s + float(rounds) * length, float(size(s)), float(size(s, 1))

    return phase, place
