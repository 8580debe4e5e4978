"""Input shaping: a motion split into delayed, scaled copies whose vibrations cancel one another.

A mode of natural frequency ``omega`` and damping ratio ``zeta`` that an impulse sets swinging is brought to rest by
further impulses, half its damped period apart. A motion convolved with them leaves the mode at rest when it ends::

    K = exp(-zeta pi / sqrt(1 - zeta^2)),   T = pi / (omega sqrt(1 - zeta^2))

    ZV:   amplitudes (1, K) / (1 + K)              at 0, T
    ZVD:  amplitudes (1, 2 K, K^2) / (1 + K)^2     at 0, T, 2 T

ZVD also takes out the slope of the remaining vibration over the frequency: it forgives a frequency somewhat wrong.

Several modes are left at rest by the convolution of their trains: every product of amplitudes at the sum of the times.
What the motion pushes the structure aside by while it lasts, no shaper takes away: that is none of the vibration.

Source: N. C. Singer, W. P. Seering, Preshaping Command Inputs to Reduce System Vibration, ASME J. Dynamic Systems,
Measurement, and Control 112 (1990).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flexarm_core.errors import ConfigError

SHAPERS = ("none", "zv", "zvd")
TimeLaw = Callable[[float], tuple[float, float, float]]


@dataclass(frozen=True, slots=True)
class InputShaper:
    """A train of impulses.

    Attributes:
        amplitudes: of the impulses, positive, their sum is 1.
        times: of the impulses, never falling, from 0 on [s].
    """

    amplitudes: tuple[float, ...] = (1.0,)
    times: tuple[float, ...] = (0.0,)

    @property
    def length(self) -> float:
        """Time of the last impulse: by this much a shaped motion ends later [s]."""
        return self.times[-1]

    def shape(self, law: TimeLaw, time: float) -> tuple[float, float, float]:
        """Convolution of a time law with the train, ``sum_i A_i law(time - t_i)``: value, rate and acceleration.

        Args:
            law: time [s] -> value, rate and acceleration; defined before its begin and after its end.
            time: [s].
        """
        copies = [(amplitude, law(time - at)) for amplitude, at in zip(self.amplitudes, self.times, strict=True)]
        value, rate, acceleration = (math.fsum(amplitude * copy[i] for amplitude, copy in copies) for i in range(3))
        return value, rate, acceleration

    def convolved(self, other: InputShaper) -> InputShaper:
        """Train that does what both do, one after the other in either order."""
        pairs = sorted(
            (at + later, amplitude * factor)
            for amplitude, at in zip(self.amplitudes, self.times, strict=True)
            for factor, later in zip(other.amplitudes, other.times, strict=True)
        )
        return InputShaper(tuple(amplitude for _, amplitude in pairs), tuple(at for at, _ in pairs))

    def unshaped_duration(self, duration: float) -> float:
        """Time that is left for the time law, so that its last copy ends with a move of this duration [s].

        Raises:
            ConfigError: none is left.
        """
        if not duration > self.length:
            raise ConfigError(
                f"duration {duration:g} s leaves no time for the move: the shaper alone takes"
                f" {self.length:.6g} s; give a longer duration or a shaper of higher frequencies"
            )
        return duration - self.length


UNSHAPED = InputShaper()


def make_shaper(kind: str, frequencies: Sequence[float] = (), damping_ratios: Sequence[float] = (0.0,)) -> InputShaper:
    """Shaper for one mode or several.

    Args:
        kind: ``none``, ``zv`` (two impulses a mode) or ``zvd`` (three).
        frequencies: natural frequency of each mode, undamped [Hz].
        damping_ratios: of each mode, or one for all.

    Raises:
        ConfigError: another kind, no frequency, or damping ratios that do not lie in [0, 1) or are of another number.
    """
    if kind not in SHAPERS:
        raise ConfigError(f"shaper '{kind}' does not exist; valid: {', '.join(SHAPERS)}")
    if kind == "none":
        return UNSHAPED
    if not frequencies or not all(0.0 < frequency < math.inf for frequency in frequencies):
        raise ConfigError(
            f"shaper '{kind}' needs the frequency of the mode > 0 Hz, or one for each of several; got"
            f" {list(frequencies)}"
        )
    if len(damping_ratios) not in (1, len(frequencies)):
        raise ConfigError(
            f"shaper '{kind}' needs 1 damping ratio or {len(frequencies)}, one a frequency; got {list(damping_ratios)}"
        )
    if not all(0.0 <= ratio < 1.0 for ratio in damping_ratios):
        raise ConfigError(f"the damping ratio of a shaped mode must lie in [0, 1), got {list(damping_ratios)}")
    ratios = list(damping_ratios) * (len(frequencies) if len(damping_ratios) == 1 else 1)
    shaper = UNSHAPED
    for frequency, ratio in zip(frequencies, ratios, strict=True):
        shaper = shaper.convolved(_one_mode(kind, frequency, ratio))
    return shaper


def _one_mode(kind: str, frequency: float, damping_ratio: float) -> InputShaper:
    root = math.sqrt(1.0 - damping_ratio**2)
    K = math.exp(-damping_ratio * math.pi / root)
    half = 1.0 / (2.0 * frequency * root)
    if kind == "zv":
        return InputShaper((1.0 / (1.0 + K), K / (1.0 + K)), (0.0, half))
    whole = (1.0 + K) ** 2
    return InputShaper((1.0 / whole, 2.0 * K / whole, K**2 / whole), (0.0, half, 2.0 * half))
