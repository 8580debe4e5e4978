"""Input shaping: a motion is replaced by a sum of delayed, scaled copies whose vibrations cancel.

An impulse excites a mode of natural frequency ``omega`` [rad/s] and damping ratio ``zeta``. Further impulses, each half
a damped period later, bring the mode to rest. A motion convolved with these impulses leaves the mode at rest when it
ends::

    K = exp(-zeta pi / sqrt(1 - zeta^2)),   T = pi / (omega sqrt(1 - zeta^2))

    ZV:   amplitudes (1, K) / (1 + K)              at 0, T
    ZVD:  amplitudes (1, 2 K, K^2) / (1 + K)^2     at 0, T, 2 T

With ZVD, the derivative of the residual vibration with respect to the frequency is also zero, so that ZVD tolerates a
small error in the frequency.

For several modes, the impulse trains are convolved: products of the amplitudes at the sums of the times. No shaper
removes the quasi-static deflection of the structure during the motion, since this is not a vibration.

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
    """An impulse train.

    Attributes:
        amplitudes: amplitudes of the impulses, positive, with sum 1.
        times: times of the impulses, non-decreasing, the first is 0 [s].
    """

    amplitudes: tuple[float, ...] = (1.0,)
    times: tuple[float, ...] = (0.0,)

    @property
    def length(self) -> float:
        """Time of the last impulse, which is the time that shaping adds to a motion [s]."""
        return self.times[-1]

    @property
    def delay(self) -> float:
        """Time by which a shaped motion of constant velocity is late [s]."""
        return math.fsum(amplitude * at for amplitude, at in zip(self.amplitudes, self.times, strict=True))

    def shape(self, law: TimeLaw, time: float) -> tuple[float, float, float]:
        """Convolve a time law with the train: return value, rate and acceleration of ``sum_i A_i law(time - t_i)``.

        Args:
            law: function time [s] -> value, rate and acceleration; also defined before its start and after its end.
            time: time at which to evaluate the convolution [s].
        """
        copies = [(amplitude, law(time - at)) for amplitude, at in zip(self.amplitudes, self.times, strict=True)]
        value, rate, acceleration = (math.fsum(amplitude * copy[i] for amplitude, copy in copies) for i in range(3))
        return value, rate, acceleration

    def convolved(self, other: InputShaper) -> InputShaper:
        """Return the convolution of both trains, which has the effect of shaping with one and then with the other."""
        pairs = sorted(
            (at + later, amplitude * factor)
            for amplitude, at in zip(self.amplitudes, self.times, strict=True)
            for factor, later in zip(other.amplitudes, other.times, strict=True)
        )
        return InputShaper(tuple(amplitude for _, amplitude in pairs), tuple(at for at, _ in pairs))

    def unshaped_duration(self, duration: float) -> float:
        """Return the duration of the unshaped time law for which the shaped motion takes ``duration`` [s].

        Raises:
            ConfigError: the shaper takes the whole duration or more.
        """
        if not duration > self.length:
            raise ConfigError(
                f"duration {duration:g} s leaves no time for the move: the shaper alone takes"
                f" {self.length:.6g} s; give a longer duration or a shaper of higher frequencies"
            )
        return duration - self.length


UNSHAPED = InputShaper()


def make_shaper(kind: str, frequencies: Sequence[float] = (), damping_ratios: Sequence[float] = (0.0,)) -> InputShaper:
    """Return a shaper for one or several modes.

    Args:
        kind: ``none``, ``zv`` (two impulses per mode) or ``zvd`` (three impulses per mode).
        frequencies: undamped natural frequency of each mode [Hz].
        damping_ratios: damping ratio of each mode, or a single value for all modes.

    Raises:
        ConfigError: the kind is unknown, a frequency is missing or not positive and finite, or the damping ratios are
            outside [0, 1) or do not match the number of frequencies.
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
