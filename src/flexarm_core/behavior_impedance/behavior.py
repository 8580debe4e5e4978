"""Behavior: the base class of all behaviors, with the inputs and outputs that they have at every sample.

A behavior works in its own task space, for example a direction along which it presses, a distance from a wall, or a
joint. In that space it has forces, accelerations, velocities and positions. It maps them to the motion space with its
own Jacobian and writes them into a :class:`Contribution`. The law sums the contributions of all behaviors (patent in
docs/sources.md, claims 6, 12, 15).

A user-defined behavior is one class in one file, registered by an entry point of the group ``flexarm.behaviors`` (see
:mod:`registry`). The built-in behaviors are classes of the same form.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from flexarm_core.behavior_impedance.avoidance.arm_shape import ArmShape
from flexarm_core.behavior_impedance.layout import LEAD_MOTION, OFFSET_MOTION, Parts, view_parts
from flexarm_core.file_folder import FileFolder
from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.settings import Setting
from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class Arm:
    """Description of the arm that is available to a behavior when it is constructed.

    Attributes:
        chain: kinematic chain from the base link to the tool.
        shape: capsules that cover the links of the chain.
        limits: motion limits of the joints.
        length_scale: length by which rotations are multiplied to compare them with translations [m/rad].
        files: folder of the files that settings may name.
    """

    chain: Chain
    shape: ArmShape
    limits: MotionLimits
    length_scale: float = 0.3
    files: FileFolder = field(default_factory=FileFolder)


@dataclass(slots=True)
class MotionSample:
    """Input of a behavior at one sample. The arrays are read-only and valid only during the call.

    The motion is the commanded motion at the beginning of the sample, in the base link frame.

    Attributes:
        stamp: time of the end of the sample; set-points apply to this time [ns].
        dt: sampling period [s].
        position: (n,) joint positions [rad | m].
        velocity: (n,) joint velocities [rad/s | m/s].
        tool_position: (3,) origin of the tool frame [m].
        tool_rotation: (3, 3) orientation of the tool frame.
        tool_twist: (6,) twist ``[v; w]`` of the tool at the origin of the tool frame [m/s, rad/s].
        J: (6, n) tool Jacobian, rows ``[v; w]``.
        frames: (n + 1, 12) one row per joint, for the frame that moves with the joint and has its z axis along the
            joint axis, and a last row for the tool: rotation (9, row by row) and origin (3) [m].
        wrench: (6,) wrench ``[f; n]`` that the environment exerts on the tool at the tool origin, without the tool's
            weight; zeros if there is no valid wrench [N, N*m].
        error: (6,) pose of the commanded tool relative to the set-point at the beginning of the sample: translation,
            rotation vector [m, rad].
        wrench_valid: whether the wrench is a recent measurement.
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
    """Contribution of one behavior to the law at one sample: array views that are zero before each update.

    Tool quantities are in base link axes, at the tool origin. Stiffness and damping are the negative derivatives of the
    forces with respect to the motion; they must be symmetric and positive semidefinite. The law integrates them
    implicitly, so that stiff behaviors stay stable.

    Attributes:
        force: (6,) wrench on the tool [N, N*m].
        stiffness: (6, 6) ``-d force / d displacement`` [N/m, N*m/rad].
        damping: (6, 6) ``-d force / d twist`` [N*s/m, N*m*s/rad]; ``force`` already includes the damping force at the
            present twist.
        effort: (n,) joint effort, which acts only in the redundant (null) space [N*m | N].
        effort_stiffness: (n, n) ``-d effort / d position``.
        yielding: (n,) joint effort that acts in the redundant space and also displaces the tool [N*m | N].
        yielding_stiffness: (n, n) ``-d yielding / d position``.
        offset: (6,) offset added to the leading pose: translation, rotation vector [m, rad].
        twist: (6,) velocity of the offset [m/s, rad/s].
        acceleration: (6,) acceleration of the offset [m/s^2, rad/s^2].
        offset_motion: (3, 6) the three arrays from ``offset`` to ``acceleration`` as one contiguous view.
        lead: (1,) 1 if this behavior leads, so that its pose is the set-point; at most one behavior may lead.
        lead_position: (3,) position of the leading pose [m].
        lead_rotation: (3, 3) orientation of the leading pose.
        lead_twist: (6,) twist of the leading pose [m/s, rad/s].
        lead_acceleration: (6,) acceleration of the leading pose [m/s^2, rad/s^2].
        lead_motion: (24,) the four arrays from ``lead_position`` to ``lead_acceleration`` as one contiguous view.
        freed: (6, 6) projector onto the directions in which the law's own spring and the path do not act.
        freed_damping: (6, 6) damping that replaces the law's own damping in these directions.
        measure: (1,) scalar that the behavior reports in the status, for example a distance or a force error.
        row: all of these in one row.
    """

    __slots__ = (*Parts._fields, "lead_motion", "offset_motion", "row")

    def __init__(self, row: Array, n: int) -> None:
        """Create the views into one row of the table of contributions, or into the sum of all, for n joints."""
        parts: Parts = view_parts(row, n)
        (
            self.force, self.offset, self.twist, self.acceleration, self.lead, self.lead_position, self.lead_rotation,
            self.lead_twist, self.lead_acceleration, self.stiffness, self.damping, self.freed, self.freed_damping,
            self.effort, self.yielding, self.effort_stiffness, self.yielding_stiffness, self.measure,
        ) = parts  # fmt: skip
        self.row, self.lead_motion, self.offset_motion = row, row[LEAD_MOTION], row[OFFSET_MOTION].reshape(3, 6)


class Behavior(ABC):
    """Abstract base class of a behavior.

    Attributes:
        KIND: name of the kind, by which the behavior is requested.
        SETTINGS: parameters of the behavior; each may change at every sample.
        NEEDS_WRENCH: whether the arm must stop while no valid wrench is measured.
        LEADS: whether the pose of this behavior is the set-point; at most one behavior may lead.
        FORBIDS: whether :meth:`admits` may reject a motion.
    """

    KIND: ClassVar[str]
    SETTINGS: ClassVar[tuple[Setting, ...]] = ()
    NEEDS_WRENCH: ClassVar[bool] = False
    LEADS: ClassVar[bool] = False
    FORBIDS: ClassVar[bool] = False

    @abstractmethod
    def __init__(self, arm: Arm, settings: Mapping[str, Any]) -> None:
        """Prepare the behavior; ``settings`` is complete, and every value has the right type and is within its bounds.

        Raises:
            ConfigError: the settings are inconsistent with each other or with the arm.
        """

    def begin(self, sample: MotionSample) -> None:  # noqa: B027 (most behaviors need no more)
        """Start the behavior: called once, with the first sample, before :meth:`update`."""

    def take_over(self, old: Behavior) -> None:  # noqa: B027
        """Continue from the previous instance, of the same name and class, after a change of settings.

        This is called instead of :meth:`begin`.
        """

    @abstractmethod
    def update(self, sample: MotionSample, out: Contribution) -> None:
        """Write the contribution of this behavior at this sample into ``out``."""

    def admits(self, position: Array, velocity: Array, dt: float) -> bool:
        """Return whether the joint positions (n,) and velocities (n,) are allowed at the end of a sample.

        If they are not, the joints brake instead.
        """
        return True

    def note(self) -> str:
        """Return one line about the state of the behavior, for the status; may be empty."""
        return ""

    def complaint(self) -> str:
        """Return the request that the behavior does not achieve, which is reported as an error; empty: none."""
        return ""


@dataclass(frozen=True, slots=True)
class BehaviorSpec:
    """Request for a behavior.

    Attributes:
        name: unique name of this behavior; several behaviors may have the same kind.
        kind: kind of the behavior, see :attr:`Behavior.KIND`.
        settings: parameter values by name; missing parameters have their defaults.
    """

    name: str
    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class ActiveBehavior:
    """An active behavior.

    Attributes:
        spec: the request.
        behavior: the behavior object.
        out: its contribution to the last sample.
        joined: whether the behavior has been started.
        failure: why the behavior is excluded after an error; an empty string if it is not.
    """

    spec: BehaviorSpec
    behavior: Behavior
    out: Contribution
    joined: bool = False
    failure: str = ""
