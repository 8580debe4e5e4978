"""Input shaping: a motion split into delayed, scaled copies whose vibrations cancel one another.

A mode of natural frequency ``omega`` and damping ratio ``zeta`` that an impulse sets swinging is brought to rest by
further impulses, half its damped period apart. A motion convolved with them leaves the mode at rest when it ends::

    K = exp(-zeta pi / sqrt(1 - zeta^2)),   T = pi / (omega sqrt(1 - zeta^2))

    ZV:   amplitudes (1, K) / (1 + K)              at 0, T
    ZVD:  amplitudes (1, 2 K, K^2) / (1 + K)^2     at 0, T, 2 T

ZVD also takes out the slope of the remaining vibration over the frequency: it forgives a frequency somewhat wrong.

Source: N. C. Singer, W. P. Seering, Preshaping Command Inputs to Reduce System Vibration, ASME J. Dynamic Systems,
Measurement, and Control 112 (1990).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from flexarm_core.errors import ConfigError

SHAPERS = ("none", "zv", "zvd")
TimeLaw = Callable[[float], tuple[float, float, float]]


@dataclass(frozen=True, slots=True)
class InputShaper:
    """A train of impulses.

    Attributes:
        amplitudes: of the impulses, positive, their sum is 1.
        times: of the impulses, increasing from 0 [s].
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


UNSHAPED = InputShaper()


def make_shaper(kind: str, frequency: float = 0.0, damping_ratio: float = 0.0) -> InputShaper:
    """Shaper for one mode.

    Args:
        kind: ``none``, ``zv`` (two impulses) or ``zvd`` (three).
        frequency: natural frequency of the mode, undamped [Hz].
        damping_ratio: of the mode.

    Raises:
        ConfigError: another kind, no frequency, or a damping ratio that does not lie in [0, 1).
    """
    if kind not in SHAPERS:
        raise ConfigError(f"shaper '{kind}' does not exist; valid: {', '.join(SHAPERS)}")
    if kind == "none":
        return UNSHAPED
    if not 0.0 < frequency < math.inf:
        raise ConfigError(f"shaper '{kind}' needs the frequency of the mode > 0 Hz, got {frequency}")
    if not 0.0 <= damping_ratio < 1.0:
        raise ConfigError(f"the damping ratio of the shaped mode must lie in [0, 1), got {damping_ratio}")
    root = math.sqrt(1.0 - damping_ratio**2)
    K = math.exp(-damping_ratio * math.pi / root)
    half = 1.0 / (2.0 * frequency * root)
    if kind == "zv":
        return InputShaper((1.0 / (1.0 + K), K / (1.0 + K)), (0.0, half))
    whole = (1.0 + K) ** 2
    return InputShaper((1.0 / whole, 2.0 * K / whole, K**2 / whole), (0.0, half, 2.0 * half))
