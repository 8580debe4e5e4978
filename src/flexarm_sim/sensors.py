"""Sensor models: delay, noise, quantization, and the faults that tests inject.

One SensorModel represents one vector signal (encoder, base deflection, wrench ...) on the tick grid. A sample passes
truth -> delay -> noise -> quantization -> frozen -> NaN -> dropout. With everything off the reading equals the truth.
Each model has its own random streams, seeded by the seed and the sensor name: results do not depend on which other
sensors exist, and the dropouts of a sensor do not change its noise.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.types import Array
from flexarm_sim.clock import Interval, check_interval, is_inside, to_stamps
from flexarm_sim.validation import is_number

AHEAD = 64  # ticks of which noise is drawn at once: one by one the same numbers would take five times as long


@dataclass(frozen=True, slots=True)
class SensorConfig:
    """Imperfections of one sensor; the default is a perfect sensor.

    Units are those of the signal. Intervals are ``(start, end)`` in plant time [s], start inclusive, end exclusive.

    Attributes:
        noise: standard deviation of white Gaussian noise, one for all channels or one per channel.
        resolution: quantization step, 0: none.
        delay: age of the value in a reading, a whole number of ticks [s]; before time 0 the plant counts as at rest.
        dropout: probability that a sample is not published, 0 to 1.
        dropout_intervals: intervals in which nothing is published.
        frozen_intervals: intervals in which the last reading before them is repeated.
        nan_intervals: intervals in which every channel reads NaN.
    """

    noise: float | tuple[float, ...] = 0.0
    resolution: float = 0.0
    delay: float = 0.0
    dropout: float = 0.0
    dropout_intervals: tuple[Interval, ...] = ()
    frozen_intervals: tuple[Interval, ...] = ()
    nan_intervals: tuple[Interval, ...] = ()

    def __post_init__(self) -> None:
        noise = self.noise if isinstance(self.noise, tuple) else (self.noise,)
        for name, values in (("noise", noise), ("resolution", (self.resolution,)), ("delay", (self.delay,))):
            if not all(is_number(value) and value >= 0.0 for value in values):
                raise ConfigError(f"sensor {name} is {getattr(self, name)}, expected finite numbers of at least 0")
        if not (is_number(self.dropout) and 0.0 <= self.dropout <= 1.0):
            raise ConfigError(f"sensor dropout is {self.dropout}, expected a probability from 0 to 1")
        for name in ("dropout_intervals", "frozen_intervals", "nan_intervals"):
            for interval in getattr(self, name):
                check_interval(f"sensor {name}", interval)


@dataclass(frozen=True, slots=True)
class SensorSuiteConfig:
    """Imperfections of the sensors of a plant; a wrench sensor or IMU that is not listed is perfect.

    Attributes:
        joint_position: encoders of the actuated joints [rad | m].
        joint_velocity: velocity signal of the actuated joints [rad/s | m/s].
        joint_effort: motor effort signal of the actuated joints [N*m | N].
        deflection: base deflection sensor [m | rad].
        deflection_rate: rate signal of the base deflection [m/s | rad/s].
        wrenches: force/torque sensors by name, six channels [N, N*m].
        strain: strain gauges, one channel each [1].
        imus: inertial measurement units by name, six channels [m/s^2, rad/s].
    """

    joint_position: SensorConfig = field(default_factory=SensorConfig)
    joint_velocity: SensorConfig = field(default_factory=SensorConfig)
    joint_effort: SensorConfig = field(default_factory=SensorConfig)
    deflection: SensorConfig = field(default_factory=SensorConfig)
    deflection_rate: SensorConfig = field(default_factory=SensorConfig)
    wrenches: Mapping[str, SensorConfig] = field(default_factory=dict)
    strain: SensorConfig = field(default_factory=SensorConfig)
    imus: Mapping[str, SensorConfig] = field(default_factory=dict)


class SensorModel:
    """One vector signal on the tick grid; call ``sample`` once a tick, in order."""

    def __init__(self, name: str, size: int, period_ns: int, config: SensorConfig, seed: int = 0) -> None:
        """Prepare the sensor.

        Args:
            name: name of the sensor, which seeds its random streams.
            size: number of channels.
            period_ns: length of a tick [ns].
            config: imperfections of the sensor.
            seed: seed of the plant, at least 0.

        Raises:
            ConfigError: the noise does not fit the channels, or the delay does not fit the tick.
        """
        noise = np.array(config.noise, dtype=np.float64)
        if noise.shape not in ((), (size,)):
            raise ConfigError(
                f"sensor '{name}': noise has {noise.size} values, expected one or {size}, one per channel"
            )
        self._noise = noise if noise.any() else None
        self._resolution, self._dropout = config.resolution, config.dropout
        ticks = config.delay * 1e9 / period_ns
        if abs(ticks - round(ticks)) > 1e-6:
            raise ConfigError(
                f"sensor '{name}': delay {config.delay} s is not a whole number of ticks of {period_ns * 1e-9} s;"
                f" the nearest is {round(ticks) * period_ns * 1e-9} s"
            )
        self._delay = round(ticks)
        self._history: deque[Array] = deque(maxlen=self._delay + 1)
        self._dropouts = to_stamps(config.dropout_intervals)
        self._freezes = to_stamps(config.frozen_intervals)
        self._nans = to_stamps(config.nan_intervals)
        faults = self._dropouts or self._freezes or self._nans
        self._perfect = self._noise is None and not (faults or self._delay or self._resolution or self._dropout)
        self._entropy = [seed, size, *name.encode()]
        self._size = size
        self.reset()

    def reset(self) -> None:
        """Restart: empty the delay line, and draw the same random numbers again."""
        noise, dropout = np.random.SeedSequence(self._entropy).spawn(2)
        self._noise_stream = np.random.default_rng(noise)
        self._ahead: list[Array] = []  # noise of the next ticks, the last one first
        self._dropout_stream = np.random.default_rng(dropout)
        self._history.clear()
        self._last: Array | None = None

    def sample(self, stamp: int, truth: Array) -> Array | None:
        """Return the reading at one tick.

        Args:
            stamp: time of the tick [ns].
            truth: (size,) true value of the signal.

        Returns:
            (size,) reading, or None if the sample drops out.
        """
        reading = truth.copy()  # the caller may change what it gets
        if self._perfect:
            return reading
        if self._delay:
            self._history.append(reading)
            reading = self._history[0].copy()
        if self._noise is not None:
            if not self._ahead:
                self._ahead = [*(self._noise * self._noise_stream.standard_normal((AHEAD, self._size)))[::-1]]
            reading += self._ahead.pop()
        if self._resolution > 0.0:
            reading = self._resolution * np.rint(reading / self._resolution)
        if self._freezes:
            if self._last is not None and is_inside(self._freezes, stamp):
                reading = self._last
            self._last = reading.copy()
        if self._nans and is_inside(self._nans, stamp):
            reading = np.full(self._size, np.nan)
        lost = self._dropout > 0.0 and self._dropout_stream.random() < self._dropout
        if lost or (self._dropouts and is_inside(self._dropouts, stamp)):
            return None
        return reading
