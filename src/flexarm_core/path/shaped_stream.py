"""ShapedStream: a motion that becomes known sample by sample, convolved with an input shaper."""

from __future__ import annotations

import numpy as np

from flexarm_core.entrance import number
from flexarm_core.path.input_shaping import InputShaper
from flexarm_core.types import Array

ROOM = 1024  # samples for which there is room at first


class ShapedStream:
    """Convolves a motion with an impulse train; between two samples the acceleration of the motion is constant.

    The result is a weighted mean of the motion within the length of the shaper, so it keeps every limit that the motion
    keeps. It is late by :attr:`InputShaper.delay`.
    """

    def __init__(self, shaper: InputShaper, n: int) -> None:
        """Shape a motion of n coordinates; :meth:`begin` starts it."""
        self._amplitudes = np.array(shaper.amplitudes)
        self._late = np.array(shaper.times)
        self._times = np.zeros(ROOM)  # [s] since the begin
        self._origin = 0
        self._motion = np.zeros((ROOM, 2, n))  # position and velocity
        self._count = 0

    def begin(self, stamp: int, position: Array) -> None:
        """Start at rest, as since ever, at a position (n,) at this stamp [ns]."""
        number("stamp", stamp)
        self._count, self._origin = 1, stamp
        self._times[0], self._motion[0, 0], self._motion[0, 1] = 0.0, position, 0.0

    def take(self, stamp: int, position: Array, velocity: Array) -> tuple[Array, Array]:
        """Take position and velocity (n,) at a later stamp [ns]; return those of the convolution at this stamp."""
        now = 1e-9 * number("stamp", stamp - self._origin)
        if self._count == len(self._times):
            self._make_room(now)
        last = self._count
        self._times[last], self._motion[last, 0], self._motion[last, 1] = now, position, velocity
        self._count += 1
        asked = now - self._late
        after = np.searchsorted(self._times[: self._count], asked).clip(1, last)
        begin, end = self._times[after - 1], self._times[after]
        since = np.maximum(asked - begin, 0.0)[:, None]
        (x, v), change = self._motion[after - 1].transpose(1, 0, 2), self._motion[after, 1] - self._motion[after - 1, 1]
        gained = change * since / (end - begin)[:, None]
        return self._amplitudes @ (x + (v + 0.5 * gained) * since), self._amplitudes @ (v + gained)

    def _make_room(self, now: float) -> None:
        """Forget samples that are older than the shaper is long; make twice the room if that is not enough."""
        oldest = max(0, int(np.searchsorted(self._times, now - self._late[-1])) - 1)
        kept = slice(oldest, self._count)
        self._count -= oldest
        if 2 * self._count > len(self._times):
            self._times = np.concatenate((self._times[kept], np.zeros_like(self._times)))
            self._motion = np.concatenate((self._motion[kept], np.zeros_like(self._motion)))
        else:
            self._times[: self._count] = self._times[kept].copy()
            self._motion[: self._count] = self._motion[kept].copy()
