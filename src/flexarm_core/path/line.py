"""A straight tool path with a fifth-order time law and optional input shaping."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.path.input_shaping import UNSHAPED, InputShaper
from flexarm_core.settings import Settings, setting
from flexarm_core.types import Array, CartesianReference


def fifth_order(time: float, duration: float) -> tuple[float, float, float]:
    """Evaluate the fifth-order time law ``s = 10 r^3 - 15 r^4 + 6 r^5``, ``r = time / duration``.

    Velocity and acceleration are zero at both ends.

    Args:
        time: time since the start [s]; negative values give the start, values above the duration the end.
        duration: duration of the motion [s].

    Returns:
        s in [0, 1], its rate [1/s] and its acceleration [1/s^2].
    """
    r = min(max(time / duration, 0.0), 1.0)
    if r in (0.0, 1.0):
        return r, 0.0, 0.0
    s = r**3 * (10.0 + r * (-15.0 + 6.0 * r))
    rate = 30.0 * r**2 * (1.0 - r) ** 2 / duration
    acceleration = 60.0 * r * (1.0 - r) * (1.0 - 2.0 * r) / duration**2
    return s, rate, acceleration


def seventh_order(time: float, duration: float) -> tuple[float, float, float]:
    """Evaluate the seventh-order time law ``s = 35 r^4 - 84 r^5 + 70 r^6 - 20 r^7``, ``r = time / duration``.

    As :func:`fifth_order`, but the jerk is also zero at both ends.
    """
    r = min(max(time / duration, 0.0), 1.0)
    if r in (0.0, 1.0):
        return r, 0.0, 0.0
    s = r**4 * (35.0 + r * (-84.0 + r * (70.0 - 20.0 * r)))
    rate = 140.0 * r**3 * (1.0 - r) ** 3 / duration
    acceleration = 420.0 * r**2 * (1.0 - r) ** 2 * (1.0 - 2.0 * r) / duration**2
    return s, rate, acceleration


@dataclass(frozen=True, slots=True)
class LinePathConfig(Settings):
    """Settings of a line.

    Attributes:
        frame: frame in which the reference is expressed.
        displacement: (3,) displacement of the tool from the first pose [m].
        shaper: impulse train with which the time law is convolved.
    """

    # fmt: off
    frame: str
    displacement: tuple[float, float, float]
    start: float = setting(0.0, "time after the first sample at which the motion begins", "s", 0.0)
    duration: float = setting(4.0,
        "duration of the motion including the shaper: with a longer shaper the time law is faster", "s", 1e-9)
    axes: tuple[bool, bool, bool, bool, bool, bool] = setting((True, True, True, True, True, True),
        "tool axes x y z rx ry rz that the reference specifies (spaces tool, path and twist)", size=6)
    returns: bool = setting(False, "whether the tool moves back and forth without end, each way in ``duration``")
    shaper: InputShaper = UNSHAPED
    # fmt: on

    def check(self) -> None:
        """Raise ConfigError for a displacement that is not finite, and for a shaper that is too long."""
        if len(self.displacement) != 3 or not np.isfinite(self.displacement).all():
            raise ConfigError(f"displacement must be three finite numbers [m], got {self.displacement}")
        self.shaper.unshaped_duration(self.duration)  # raises ConfigError if the shaper is too long

    def law(self, time: float) -> tuple[float, float, float]:
        """Return the unshaped time law at a time since the start [s]: s in [0, 1], rate [1/s], acceleration [1/s^2]."""
        return fifth_order(time, self.shaper.unshaped_duration(self.duration))


class LinePath:
    """Tool reference along a line that starts at the pose passed to :meth:`begin`."""

    def __init__(self, config: LinePathConfig) -> None:
        """Set up the path; :meth:`begin` starts it."""
        self.config = config
        self.reset()

    def reset(self) -> None:
        """Discard the first pose; :meth:`begin` starts the path again."""
        self._begin: tuple[int, Array, Array] | None = None

    @property
    def begun(self) -> bool:
        """Whether the first pose is known."""
        return self._begin is not None

    def begin(self, stamp: int, position: Array, rotation: Array) -> None:
        """Start the path at the tool position (3,) [m] and rotation (3, 3) at this stamp [ns]."""
        self._begin = (stamp, position, rotation)

    def update(self, stamp: int) -> CartesianReference:
        """Return the reference at a stamp [ns].

        Raises:
            ConfigError: the path has not begun.
        """
        if self._begin is None:
            raise ConfigError("the path has not begun: call begin() with the first pose")
        begin, position, rotation = self._begin
        config = self.config
        time, forward = (stamp - begin) * 1e-9 - config.start, 1.0
        if config.returns and time > 0.0:
            turns, time = divmod(time, config.duration)
            forward = 1.0 if int(turns) % 2 == 0 else -1.0
        s, rate, acceleration = config.shaper.shape(config.law, time)
        along = np.asarray(config.displacement)
        zero = np.zeros(3)
        return CartesianReference(
            stamp=stamp,
            frame=config.frame,
            position=position + (s if forward > 0.0 else 1.0 - s) * along,
            rotation=rotation,
            velocity=np.concatenate((forward * rate * along, zero)),
            acceleration=np.concatenate((forward * acceleration * along, zero)),
            axes=np.asarray(config.axes, dtype=bool),
        )
