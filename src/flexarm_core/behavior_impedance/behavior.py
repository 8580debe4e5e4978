"""Behavior: what one behaviour of many is, and what it is told and gives at every sample.

A behaviour has a space of its own: a direction along which it presses, a distance from a wall, a joint. In that space
it has forces, accelerations, velocities and positions; it maps them to the motion space by its own Jacobian and writes
them into a :class:`Contribution`. The law adds up what all of them wrote (US patent of seed 002, claims 6, 12, 15).

A behaviour of the user's is one class in one file, made known by an entry point of the group ``flexarm.behaviors``
(see :mod:`registry`); those of the suite are made in the same way.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from flexarm_core.behavior_impedance.avoidance.arm_shape import ArmShape
from flexarm_core.behavior_impedance.layout import LEAD_POSITION, STIFFNESS, TOOL_PART
from flexarm_core.behavior_impedance.setting import Setting
from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class Arm:
    """What a behaviour may know of the arm before it begins.

    Attributes:
        chain: kinematics from the base link to the tool.
        shape: capsules that cover its links.
        limits: of its joints.
        length_scale: by which rotations count against translations [m/rad].
    """

    chain: Chain
    shape: ArmShape
    limits: MotionLimits
    length_scale: float = 0.3


@dataclass(slots=True)
class MotionSample:
    """What a behaviour sees at one sample; arrays are only to be read, and only during the call.

    The motion is the commanded one at the begin of the sample, in the base link's frame.

    Attributes:
        stamp: of the end of the sample, to which set-points belong [ns].
        dt: length of the sample [s].
        position: (n,) joints [rad | m].
        velocity: (n,) [rad/s | m/s].
        tool_position: (3,) [m].
        tool_rotation: (3, 3).
        tool_twist: (6,) ``[v; w]`` of the tool's origin [m/s, rad/s].
        J: (6, n) Jacobian of the tool, rows ``[v; w]``.
        frames: (n + 1, 12) a row for each frame that moves with a joint, turned so that the joint's axis is its z axis,
            and one for the tool: rotation (9, row by row) and origin (3) [m].
        wrench: (6,) ``[f; n]`` that the surroundings exert on the tool, at its origin, without the tool's weight; zeros
            where there is no valid one [N, N*m].
        error: (6,) of the commanded tool from the set-point at the begin of the sample: translation, rotation vector
            [m, rad].
        wrench_valid: whether the wrench is a fresh measurement.
    """

    stamp: int
    dt: float
    position: Array
    velocity: Array
    tool_position: Array
    tool_rotation: Array
    tool_twist: Array
    J: Array
    frames: Array
    wrench: Array
    error: Array
    wrench_valid: bool = False


class Contribution:
    """What one behaviour adds to the law at one sample: views that are zero when it is asked.

    Tool quantities are in axes of the base link, at the tool's origin. Stiffness and damping are what the forces lose
    as the arm moves, symmetric and >= 0; the law integrates them implicitly, so that stiff behaviours stay stable.

    Attributes:
        force: (6,) on the tool [N, N*m].
        stiffness: (6, 6) ``-d force / d displacement`` [N/m, N*m/rad].
        damping: (6, 6) ``-d force / d twist`` [N*s/m, N*m*s/rad]; the force itself holds its present part already.
        effort: (n,) on the joints, of which only the redundant ones' space takes notice [N*m | N].
        effort_stiffness: (n, n) ``-d effort / d position``.
        yielding: (n,) effort to which the tool yields too, in tool space and redundant space [N*m | N].
        yielding_stiffness: (n, n) ``-d yielding / d position``.
        offset: (6,) position of the set-point beside that of the path: translation, rotation vector [m, rad].
        twist: (6,) velocity of the set-point [m/s, rad/s].
        acceleration: (6,) of the set-point [m/s^2, rad/s^2].
        lead: (1,) 1 where it leads: the set-point is then its pose; one behaviour at most may.
        lead_position: (3,) of that pose [m].
        lead_rotation: (3, 3)
        lead_twist: (6,) of that pose [m/s, rad/s].
        lead_acceleration: (6,) [m/s^2, rad/s^2].
        lead_motion: (24,) these four in a row, from ``lead_position`` to ``lead_acceleration``.
        freed: (6, 6) projector on the directions in which the law's own spring and the path do not act.
        freed_damping: (6, 6) damping that stands for the law's own in these directions.
        measure: (1,) own measure, for the status: a distance, a force error ...
    """

    __slots__ = (
        "acceleration",
        "damping",
        "effort",
        "effort_stiffness",
        "force",
        "freed",
        "freed_damping",
        "lead",
        "lead_acceleration",
        "lead_motion",
        "lead_position",
        "lead_rotation",
        "lead_twist",
        "measure",
        "offset",
        "row",
        "stiffness",
        "twist",
        "yielding",
        "yielding_stiffness",
    )

    def __init__(self, row: Array, n: int) -> None:
        """Views into one row of a table (see :func:`contribution_size`), for n joints."""
        self.row = row
        at = 0

        def part(*shape: int) -> Array:
            nonlocal at
            size = math.prod(shape)
            at += size
            return row[at - size : at].reshape(shape)

        self.force, self.offset, self.twist, self.acceleration = part(6), part(6), part(6), part(6)
        self.lead, self.lead_position, self.lead_rotation = part(1), part(3), part(3, 3)
        self.lead_twist, self.lead_acceleration = part(6), part(6)
        self.lead_motion = row[LEAD_POSITION:STIFFNESS]
        self.stiffness, self.damping, self.freed, self.freed_damping = part(6, 6), part(6, 6), part(6, 6), part(6, 6)
        self.effort, self.yielding = part(n), part(n)
        self.effort_stiffness, self.yielding_stiffness = part(n, n), part(n, n)
        self.measure = part(1)


def contribution_size(n: int) -> int:
    """Numbers in one row of the table of contributions, for n joints."""
    return TOOL_PART + 2 * n + 2 * n * n + 1


class Behavior(ABC):
    """One behaviour.

    Attributes:
        KIND: by which it is asked for.
        SETTINGS: its parameters; each may change at every sample.
        NEEDS_WRENCH: whether the arm must stand still where no wrench is measured.
        LEADS: whether its pose is the set-point; one behaviour at most may lead.
        FORBIDS: whether :meth:`admits` may forbid a motion.
    """

    KIND: ClassVar[str]
    SETTINGS: ClassVar[tuple[Setting, ...]] = ()
    NEEDS_WRENCH: ClassVar[bool] = False
    LEADS: ClassVar[bool] = False
    FORBIDS: ClassVar[bool] = False

    @abstractmethod
    def __init__(self, arm: Arm, settings: Mapping[str, Any]) -> None:
        """Prepare the behaviour; every setting is there, of its type and within its bounds.

        Raises:
            ConfigError: settings that do not fit each other or the arm.
        """

    def begin(self, sample: MotionSample) -> None:  # noqa: B027 (most behaviours need no more)
        """Join: called once, with the first sample, before :meth:`update`."""

    def take_over(self, old: Behavior) -> None:  # noqa: B027
        """Go on from a behaviour of the same name and class whose settings have changed; stands for :meth:`begin`."""

    @abstractmethod
    def update(self, sample: MotionSample, out: Contribution) -> None:
        """Write what it contributes at this sample."""

    def admits(self, position: Array, velocity: Array, dt: float) -> bool:
        """Whether the joints may be there (n,) and move so (n,) at the end of a sample; if not, they brake instead."""
        return True

    def note(self) -> str:
        """One line about its state, for the status; empty where there is nothing to say."""
        return ""


@dataclass(frozen=True, slots=True)
class BehaviorSpec:
    """A behaviour as it is asked for.

    Attributes:
        name: by which it is known, one of its kind or not.
        kind: what it is.
        settings: its parameters; those that are not named have their defaults.
    """

    name: str
    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class ActiveBehavior:
    """A behaviour that takes part.

    Attributes:
        spec: what was asked for.
        behavior: what does it.
        out: what it contributed to the last sample.
        joined: whether it has begun.
        failure: why it is left out, empty where it is not.
    """

    spec: BehaviorSpec
    behavior: Behavior
    out: Contribution
    joined: bool = False
    failure: str = ""
