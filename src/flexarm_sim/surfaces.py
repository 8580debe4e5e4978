"""Surfaces that the tool's tip can touch: where they are, how stiff, how rough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flexarm_core.errors import ConfigError
from flexarm_core.robot.transforms import roll_pitch_yaw_to_rotation
from flexarm_core.types import Array
from flexarm_sim.validation import is_number

KINDS = ("plane", "box")
Triple = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Surface:
    """A spring with a damper and dry friction, at rest in the root link.

    With the penetration ``p`` of the tip along the surface's normal, and the velocity ``u`` of the tip along it::

        N = max(0, stiffness p + damping dp/dt)      |T| <= friction N,  T = -friction N u/|u| where it slides

    No surface pulls: where the damper would, the tip leaves. A damper makes the force jump to ``damping`` times the
    speed of an impact; without one the tip bounces with its whole energy.

    Attributes:
        name: unique in a plant.
        kind: ``plane`` (everything below its x-y plane) or ``box``.
        position: (3,) a point of the plane, or the box's centre, in the root link [m].
        rpy: (3,) roll, pitch, yaw of its axes in the root link, as in URDF [rad]; z is a plane's normal.
        stiffness: force per penetration [N/m], positive.
        damping: force per speed of penetration [N*s/m].
        friction: Coulomb's coefficient, the same in all directions, sticking and sliding [1].
        half_extents: (3,) of a box along its axes [m], positive; zeros for a plane.
    """

    name: str
    kind: str
    position: Triple
    rpy: Triple
    stiffness: float
    damping: float = 0.0
    friction: float = 0.0
    half_extents: Triple = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            ConfigError: an empty name, an unknown kind, numbers that are not finite, or a sign that no surface has.
        """
        if not self.name:
            raise ConfigError("a surface has no name: give each one of its own")
        what = f"surface '{self.name}'"
        if self.kind not in KINDS:
            raise ConfigError(f"{what}: kind '{self.kind}' is unknown; kinds: {', '.join(KINDS)}")
        for field in ("position", "rpy", "half_extents"):
            values = getattr(self, field)
            if len(values) != 3 or not all(is_number(value) for value in values):
                raise ConfigError(f"{what}: {field} is {values}, expected three finite numbers")
        if not (is_number(self.stiffness) and self.stiffness > 0.0):
            raise ConfigError(f"{what}: stiffness is {self.stiffness}, expected a positive number [N/m]")
        for field, unit in (("damping", " [N*s/m]"), ("friction", "")):
            value = getattr(self, field)
            if not (is_number(value) and value >= 0.0):
                raise ConfigError(f"{what}: {field} is {value}, expected a number of at least 0{unit}")
        if self.kind == "box" and min(self.half_extents) <= 0.0:
            raise ConfigError(f"{what}: half_extents of a box are {self.half_extents}, expected positive numbers [m]")
        if self.kind == "plane" and any(self.half_extents):
            raise ConfigError(f"{what}: half_extents are {self.half_extents}, expected zeros: a plane has no end")

    @property
    def rotation(self) -> Array:
        """(3, 3) its axes in those of the root link, column by column."""
        return roll_pitch_yaw_to_rotation(*self.rpy)


def check_surfaces(surfaces: Sequence[Surface], tip_radius: float) -> None:
    """Check what surfaces and tip must be together.

    Args:
        surfaces: those of one plant.
        tip_radius: of the sphere about the tool frame's origin that touches them [m].

    Raises:
        ConfigError: two surfaces of one name, or a tip without size.
    """
    names = [surface.name for surface in surfaces]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(f"surfaces must have names of their own; given more than once: {', '.join(twice)}")
    if surfaces and not (is_number(tip_radius) and tip_radius > 0.0):
        raise ConfigError(f"tip_radius is {tip_radius}, expected a positive number [m]")
