"""What a plant reports at one tick, and faults of the list of joints in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from flexarm_core.errors import ConfigError
from flexarm_core.types import Array
from flexarm_sim.clock import check_interval
from flexarm_sim.strain import StrainReading


@dataclass(frozen=True, slots=True)
class JointReading:
    """What joints report at one tick; all arrays in the order of ``names``.

    Attributes:
        names: joints.
        position: (k,) [rad | m].
        velocity: (k,) [rad/s | m/s].
        effort: (k,) motor effort held until now [N*m | N]; None for elastic joints, which have no motor.
    """

    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array | None


@dataclass(frozen=True, slots=True)
class Measurement:
    """What all sensors say at one tick.

    Attributes:
        stamp: [ns].
        joints: the actuated joints, None where one of their signals dropped out.
        elastic: the elastic joints of the base, None likewise and on a rigid base.
        wrenches: by sensor, (6,) ``[f; n]`` exerted by the child side on the parent side in the sensor frame [N, N*m],
            None where it dropped out.
        strain: the strain gauges, None where they dropped out and where there are none.
        imus: by IMU, (6,) ``[specific force; angular velocity]`` in its frame [m/s^2, rad/s], None where it dropped
            out.
    """

    stamp: int
    joints: JointReading | None
    elastic: JointReading | None
    wrenches: dict[str, Array | None]
    strain: StrainReading | None = None
    imus: dict[str, Array | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JointListFault:
    """A fault of the joint state message: the joints it lists, in that order, while the fault lasts.

    Attributes:
        names: joints that are reported; actuated and elastic ones, in any order, some left out.
        start: [s].
        end: [s].
    """

    names: tuple[str, ...]
    start: float = 0.0
    end: float = float("inf")

    def __post_init__(self) -> None:
        check_interval("joint list fault", (self.start, self.end))
        if len(set(self.names)) != len(self.names):
            raise ConfigError(f"joint list fault names a joint twice: {', '.join(self.names)}")


def relist(reading: JointReading | None, listed: tuple[str, ...]) -> JointReading | None:
    """The listed joints of a reading, in the listed order; None where none is left.

    Args:
        reading: what joints report, or None.
        listed: joint names; those that are not in the reading are passed over.
    """
    if reading is None:
        return None
    names = tuple(name for name in listed if name in reading.names)
    if not names:
        return None
    order = [reading.names.index(name) for name in names]
    effort = reading.effort[order] if reading.effort is not None else None
    return JointReading(names, reading.position[order], reading.velocity[order], effort)
