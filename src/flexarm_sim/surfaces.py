"""Surfaces that the tool tip can touch: their pose, stiffness, damping and friction."""

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
    """A spring with a damper and dry friction, fixed in the root link.

    With the penetration ``p`` of the tip along the surface normal, and the tangential velocity ``u`` of the tip::

        N = max(0, stiffness p + damping dp/dt)      |T| <= friction N,  T = -friction N u/|u| while it slides

    A surface never pulls: where the damper would pull, the tip separates. With damping the force jumps at an impact, to
    ``damping`` times the impact speed; without damping the tip bounces without loss of energy.

    Attributes:
        name: unique name in a plant.
        kind: ``plane`` (everything below its x-y plane is solid) or ``box``.
        position: (3,) a point of the plane, or the center of the box, in the root link [m].
        rpy: (3,) roll, pitch, yaw of the surface axes in the root link, as in URDF [rad]; z is the normal of a plane.
        stiffness: force per penetration, positive [N/m].
        damping: force per penetration speed [N*s/m].
        friction: Coulomb coefficient, isotropic, equal for sticking and sliding [1].
        half_extents: (3,) half extents of a box along its axes, positive; zeros for a plane [m].
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
            ConfigError: an empty name, an unknown kind, a number that is not finite, or a number with a wrong sign.
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
        """(3, 3) rotation of the surface in the root link; the columns are the surface axes."""
        return roll_pitch_yaw_to_rotation(*self.rpy)


def check_surfaces(surfaces: Sequence[Surface], tip_radius: float) -> None:
    """Check the surfaces of a plant together with the tip.

    Args:
        surfaces: surfaces of one plant.
        tip_radius: radius of the sphere around the tool frame's origin that touches them [m].

    Raises:
        ConfigError: two surfaces have the same name, or the tip radius is not positive.
    """
    names = [surface.name for surface in surfaces]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(f"surfaces must have names of their own; given more than once: {', '.join(twice)}")
    if surfaces and not (is_number(tip_radius) and tip_radius > 0.0):
        raise ConfigError(f"tip_radius is {tip_radius}, expected a positive number [m]")
