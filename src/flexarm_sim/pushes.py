"""External pushes on links, applied with their exact impulse."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.types import Array
from flexarm_sim.clock import to_stamp
from flexarm_sim.validation import is_number

SHAPES = ("rectangle", "half_sine")


@dataclass(frozen=True, slots=True)
class Push:
    """A wrench that acts on a link for some time: ``w(t) = [force; torque] s(t)``.

    ``s = 1`` for a rectangle (impulse ``force * duration``), ``s = sin(pi (t - start) / duration)`` for a half sine
    (impulse ``2/pi force * duration``).

    Attributes:
        link: link that is pushed, at its origin.
        start: start time [s].
        duration: positive duration [s].
        force: (3,) peak force, axes of the root link [N].
        torque: (3,) peak torque, axes of the root link [N*m].
        shape: ``rectangle`` or ``half_sine``.
    """

    link: str
    start: float
    duration: float
    force: tuple[float, float, float] = (0.0, 0.0, 0.0)
    torque: tuple[float, float, float] = (0.0, 0.0, 0.0)
    shape: str = "rectangle"

    def __post_init__(self) -> None:
        if not is_number(self.start):
            raise ConfigError(f"push on '{self.link}': start is {self.start}, expected a finite time [s]")
        if not (is_number(self.duration) and to_stamp(self.duration) > 0):
            raise ConfigError(f"push on '{self.link}': duration is {self.duration}, expected at least 1e-9 s")
        for name, vector in (("force", self.force), ("torque", self.torque)):
            if len(vector) != 3 or not all(is_number(component) for component in vector):
                raise ConfigError(f"push on '{self.link}': {name} is {vector}, expected three finite numbers")
        if self.shape not in SHAPES:
            raise ConfigError(f"push on '{self.link}': shape '{self.shape}' is unknown; shapes: {', '.join(SHAPES)}")

    @property
    def begin(self) -> int:
        """Stamp at which the push begins [ns]."""
        return to_stamp(self.start)

    @property
    def end(self) -> int:
        """Stamp at which the push ends [ns]."""
        return to_stamp(self.start) + to_stamp(self.duration)

    def wrench(self, time: float) -> Array:
        """Return the wrench at one instant.

        Args:
            time: plant time [s].

        Returns:
            (6,) ``[f; n]`` in axes of the root link [N, N*m].
        """
        phase = (time - self.start) / self.duration
        factor = 0.0
        if 0.0 <= phase < 1.0:
            factor = math.sin(math.pi * phase) if self.shape == "half_sine" else 1.0
        return factor * self._peak()

    def mean_wrench(self, begin: int, end: int) -> Array:
        """Return the mean wrench over an interval; held constant over it, it gives the exact impulse on any grid.

        Args:
            begin: start of the interval [ns].
            end: end of the interval, after begin [ns].

        Returns:
            (6,) ``integral of w dt / (end - begin)`` in axes of the root link [N, N*m].
        """
        start, duration = self.begin, to_stamp(self.duration)
        first, last = max(begin, start), min(end, start + duration)
        if first >= last:
            return np.zeros(6)
        if self.shape == "rectangle":
            return (last - first) / (end - begin) * self._peak()
        drop = math.cos(math.pi * (first - start) / duration) - math.cos(math.pi * (last - start) / duration)
        return duration * drop / (math.pi * (end - begin)) * self._peak()

    def _peak(self) -> Array:
        return np.array((*self.force, *self.torque), dtype=np.float64)
