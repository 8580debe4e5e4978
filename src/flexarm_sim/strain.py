"""Strain gauges of a plant: one vector signal, and faults of single gauges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.records import quick
from flexarm_core.types import Array
from flexarm_sim.clock import check_interval, to_stamp
from flexarm_sim.sensors import SensorModel

FAULTS = ("frozen", "missing", "nan")


@quick
@dataclass(frozen=True, slots=True)
class StrainReading:
    """Reading of the strain gauges at one tick.

    Attributes:
        names: names of the reported gauges.
        strain: (len(names),) strain, tension positive [1].
    """

    names: tuple[str, ...]
    strain: Array


@dataclass(frozen=True, slots=True)
class StrainFault:
    """A fault of single strain gauges.

    Attributes:
        names: affected gauges.
        kind: ``frozen``: they repeat their last reading before the fault, or their first reading; ``missing``: they are
            not reported; ``nan``: they read NaN.
        start: start of the fault, inclusive [s].
        end: end of the fault, exclusive [s].
    """

    names: tuple[str, ...]
    kind: str
    start: float = 0.0
    end: float = float("inf")

    def __post_init__(self) -> None:
        check_interval("strain fault", (self.start, self.end))
        if self.kind not in FAULTS:
            raise ConfigError(f"strain fault '{self.kind}' is unknown; kinds: {', '.join(FAULTS)}")


class StrainGauges:
    """All strain gauges of a plant; call ``sample`` once a tick, in order."""

    def __init__(self, names: tuple[str, ...], sensor: SensorModel, faults: tuple[StrainFault, ...]) -> None:
        """Prepare the gauges.

        Args:
            names: (g) gauges.
            sensor: sensor model of all gauges.
            faults: faults of single gauges; if several affect one gauge, missing overrides NaN, and NaN overrides
                frozen.
        """
        self._names = names
        self._sensor = sensor
        self._faults = [
            (to_stamp(fault.start), to_stamp(fault.end), fault.kind, np.isin(names, fault.names)) for fault in faults
        ]
        self.reset()

    def reset(self) -> None:
        """Restart the sensor."""
        self._sensor.reset()
        self._last: Array | None = None

    def sample(self, stamp: int, truth: Array) -> StrainReading | None:
        """Return the reading at one tick.

        Args:
            stamp: time of the tick [ns].
            truth: (g,) true strain.

        Returns:
            The reading, or None if the whole sample drops out or no gauge remains.
        """
        reading = self._sensor.sample(stamp, truth)
        if reading is None:
            return None
        if not self._faults:
            return StrainReading(self._names, reading) if self._names else None
        struck = {kind: np.zeros(len(self._names), dtype=bool) for kind in FAULTS}
        for start, end, kind, gauges in self._faults:
            if start <= stamp < end:
                struck[kind] |= gauges
        if self._last is not None:
            reading = np.where(struck["frozen"], self._last, reading)
        self._last = reading.copy()
        reading[struck["nan"]] = np.nan
        left = ~struck["missing"]
        if not left.any():
            return None
        return StrainReading(tuple(name for name, here in zip(self._names, left, strict=True) if here), reading[left])
