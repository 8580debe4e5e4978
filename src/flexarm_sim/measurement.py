"""Sensor readings that a plant reports at one tick, and faults of the list of joints."""

from __future__ import annotations

from dataclasses import dataclass, field

from flexarm_core.errors import ConfigError
from flexarm_core.records import quick
from flexarm_core.types import Array
from flexarm_sim.clock import check_interval
from flexarm_sim.strain import StrainReading


@quick
@dataclass(frozen=True, slots=True)
class JointReading:
    """Joint readings at one tick; all arrays in the order of ``names``.

    Attributes:
        names: names of the reported joints.
        position: (k,) positions [rad | m].
        velocity: (k,) velocities [rad/s | m/s].
        effort: (k,) motor effort held until now [N*m | N]; None for elastic joints, which have no motor.
    """

    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array | None


@quick
@dataclass(frozen=True, slots=True)
class Measurement:
    """Readings of all sensors at one tick.

    Attributes:
        stamp: time of the tick [ns].
        joints: reading of the actuated joints, None if one of their signals dropped out.
        elastic: reading of the elastic joints of the base, None if a signal dropped out or the base is rigid.
        wrenches: by sensor, (6,) ``[f; n]`` exerted by the child side on the parent side in the sensor frame [N, N*m],
            None if it dropped out.
        strain: reading of the strain gauges, None if it dropped out or there are no gauges.
        imus: by IMU, (6,) ``[specific force; angular velocity]`` in its frame [m/s^2, rad/s], None if it dropped out.
    """

    stamp: int
    joints: JointReading | None
    elastic: JointReading | None
    wrenches: dict[str, Array | None]
    strain: StrainReading | None = None
    imus: dict[str, Array | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JointListFault:
    """A fault of the joint state message: while it lasts, only these joints are reported, in this order.

    Attributes:
        names: reported joints, actuated and elastic, in any order; some may be missing.
        start: start of the fault, inclusive [s].
        end: end of the fault, exclusive [s].
    """

    names: tuple[str, ...]
    start: float = 0.0
    end: float = float("inf")

    def __post_init__(self) -> None:
        check_interval("joint list fault", (self.start, self.end))
        if len(set(self.names)) != len(self.names):
            raise ConfigError(f"joint list fault names a joint twice: {', '.join(self.names)}")


def relist(reading: JointReading | None, listed: tuple[str, ...]) -> JointReading | None:
    """Return the listed joints of a reading, in the listed order; None if no joint remains.

    Args:
        reading: joint reading, or None.
        listed: joint names; names that are not in the reading are ignored.
    """
    if reading is None:
        return None
    names = tuple(name for name in listed if name in reading.names)
    if not names:
        return None
    order = [reading.names.index(name) for name in names]
    effort = reading.effort[order] if reading.effort is not None else None
    return JointReading(names, reading.position[order], reading.velocity[order], effort)
