"""A straight tool path with a fifth-order time law that may be shaped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.path.input_shaping import UNSHAPED, InputShaper
from flexarm_core.types import Array, CartesianReference


def fifth_order(time: float, duration: float) -> tuple[float, float, float]:
    """Fifth-order time law ``s = 10 r^3 - 15 r^4 + 6 r^5``, ``r = time / duration``, at rest at both ends.

    Args:
        time: since the start [s]; below 0 the start, beyond the duration the end.
        duration: [s].

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
    """Seventh-order time law ``s = 35 r^4 - 84 r^5 + 70 r^6 - 20 r^7``: as :func:`fifth_order`, no jerk at the ends."""
    r = min(max(time / duration, 0.0), 1.0)
    if r in (0.0, 1.0):
        return r, 0.0, 0.0
    s = r**4 * (35.0 + r * (-84.0 + r * (70.0 - 20.0 * r)))
    rate = 140.0 * r**3 * (1.0 - r) ** 3 / duration
    acceleration = 420.0 * r**2 * (1.0 - r) ** 2 * (1.0 - 2.0 * r) / duration**2
    return s, rate, acceleration


@dataclass(frozen=True, slots=True)
class LinePathConfig:
    """Settings of a line.

    Attributes:
        frame: frame in which the reference is expressed.
        displacement: (3,) from the first pose [m].
        start: time after the first sample at which the motion begins [s].
        duration: of the motion, the shaper included: with a longer shaper the time law is faster [s].
        axes: (6,) tracked axes x y z rx ry rz.
        returns: whether the tool goes back, again and again, each way in ``duration``.
        shaper: with which the time law is convolved.
    """

    frame: str
    displacement: tuple[float, float, float]
    start: float = 0.0
    duration: float = 4.0
    axes: tuple[bool, bool, bool, bool, bool, bool] = (True, True, True, True, True, True)
    returns: bool = False
    shaper: InputShaper = UNSHAPED

    def __post_init__(self) -> None:
        """Raise ConfigError for values that have no meaning."""
        if len(self.displacement) != 3 or not np.isfinite(self.displacement).all():
            raise ConfigError(f"displacement must be three finite numbers [m], got {self.displacement}")
        if len(self.axes) != 6:
            raise ConfigError(f"axes must be six booleans (x y z rx ry rz), got {self.axes}")
        if not self.duration > 0.0 or not np.isfinite(self.duration):
            raise ConfigError(f"duration must be > 0 s, got {self.duration}")
        if not self.start >= 0.0:
            raise ConfigError(f"start must be >= 0 s, got {self.start}")
        self.shaper.unshaped_duration(self.duration)  # refuses a shaper that takes all of it

    def law(self, time: float) -> tuple[float, float, float]:
        """Way in [0, 1], its rate [1/s] and its acceleration [1/s^2], unshaped, at a time since the start [s]."""
        return fifth_order(time, self.shaper.unshaped_duration(self.duration))


class LinePath:
    """Tool reference along a line that begins at the first pose it is given."""

    def __init__(self, config: LinePathConfig) -> None:
        """Set up a path that has not begun."""
        self.config = config
        self.reset()

    def reset(self) -> None:
        """Forget the first pose: the next update begins the path anew."""
        self._begin: tuple[int, Array, Array] | None = None

    @property
    def begun(self) -> bool:
        """Whether the first pose is known."""
        return self._begin is not None

    def begin(self, stamp: int, position: Array, rotation: Array) -> None:
        """Take the pose of the tool (3,), (3, 3) at this stamp [ns] as the first of the path."""
        self._begin = (stamp, position, rotation)

    def update(self, stamp: int) -> CartesianReference:
        """Reference at a stamp [ns]."""
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
