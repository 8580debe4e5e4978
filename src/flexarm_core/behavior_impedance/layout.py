"""Memory of the law: flat arrays, the cheapest arguments of a kernel, and what lies in them."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from flexarm_core.compiled import views
from flexarm_core.types import Array

# Of a contribution: offset to acceleration, and lead_position to lead_acceleration.
OFFSET_MOTION, LEAD_MOTION = slice(6, 24), slice(25, 49)


class Settings(NamedTuple):
    """Settings of the law; for their meaning and units see ``ImpedanceConfig``."""

    in_tool_frame: bool  # whether the tool matrices are given in the axes of the tool's set-point
    mapping_damping: float
    steps: Annotated[Array, 3]  # transition_acceleration
    axes: Annotated[Array, 6]  # 1 for a controlled axis of the tool, else 0
    inertia: Annotated[Array, 6, 6]  # zero in the velocity variant
    damping: Annotated[Array, 6, 6]
    stiffness: Annotated[Array, 6, 6]
    joint_inertia: Annotated[Array, "n", "n"]
    joint_damping: Annotated[Array, "n", "n"]


view_settings = views(Settings, "n")


class Parts(NamedTuple):
    """Parts of a contribution, or of the sum of all; for their meaning and units see ``Contribution``."""

    force: Annotated[Array, 6]
    offset: Annotated[Array, 6]
    twist: Annotated[Array, 6]
    acceleration: Annotated[Array, 6]
    lead: Annotated[Array, 1]
    lead_position: Annotated[Array, 3]
    lead_rotation: Annotated[Array, 3, 3]
    lead_twist: Annotated[Array, 6]
    lead_acceleration: Annotated[Array, 6]
    stiffness: Annotated[Array, 6, 6]
    damping: Annotated[Array, 6, 6]
    freed: Annotated[Array, 6, 6]
    freed_damping: Annotated[Array, 6, 6]
    effort: Annotated[Array, "n"]
    yielding: Annotated[Array, "n"]
    effort_stiffness: Annotated[Array, "n", "n"]
    yielding_stiffness: Annotated[Array, "n", "n"]
    measure: Annotated[Array, 1]


view_parts = views(Parts, "n")


class State(NamedTuple):
    """What is kept from sample to sample, and what goes into a sample and comes from it."""

    velocity: Annotated[Array, 6]  # tool twist [m/s, rad/s]
    acceleration: Annotated[Array, 6]  # tool acceleration over the last sample [m/s^2, rad/s^2]
    set_position: Annotated[Array, 3]  # set-point of the last sample [m]
    set_rotation: Annotated[Array, 3, 3]
    set_twist: Annotated[Array, 6]
    set_acceleration: Annotated[Array, 6]
    anchor_position: Annotated[Array, 3]  # pose at which the tool is held while no behavior leads [m]
    anchor_rotation: Annotated[Array, 3, 3]
    carried: Annotated[Array, 6]  # carried force [N, N*m]
    known: Annotated[Array, 1]  # 1 if a previous sample of this motion exists
    changed: Annotated[Array, 1]  # 1 if the program has changed since then
    felt: Annotated[Array, 6]  # velocity due to changes of the measured wrench since the last program change
    felt_acceleration: Annotated[Array, 6]  # acceleration due to these
    felt_from: Annotated[Array, 6]  # measured wrench at the last program change
    held_back: Annotated[Array, 1]  # count of samples in which the step of the acceleration was limited
    # acceleration that the joints missed, translation and rotation; huge if they do not follow
    missed: Annotated[Array, 2]
    carried_effort: Annotated[Array, "n"]  # carried effort in the redundant space
    joint_acceleration: Annotated[Array, "n"]  # acceleration of the joints in the redundant space
    # inputs of the sample
    step: Annotated[Array, 2]  # sampling period [s], length by which rotations are multiplied to compare them [m/rad]
    wrench: Annotated[Array, 6]  # external wrench on the tool at the tool origin [N, N*m]
    frames: Annotated[Array, "n + 1", 12]  # frames of the commanded arm: rotation and position; the last is the tool
    J: Annotated[Array, 6, "n"]  # tool Jacobian
    # results of the sample
    position: Annotated[Array, 3]  # desired tool position at the end of the sample [m]
    rotation: Annotated[Array, 3, 3]  # desired tool orientation
    error: Annotated[Array, 6]  # desired pose relative to the set-point [m, rad]
    displacement: Annotated[Array, "n"]  # displacement of the joints in the redundant space [rad | m]


class Response(NamedTuple):
    """Response of the tool over a sample, relative to the set-point.

    Columns of V and y: due to the law (0), the carried force (1), the change of the measured wrench alone (2), and unit
    forces (3 to 8).
    """

    e: Annotated[Array, 6]  # error at the beginning of the sample [m, rad]
    V0: Annotated[Array, 6]  # relative velocity at the beginning of the sample [m/s, rad/s]
    T: Annotated[Array, 6, 6]  # maps relative velocities to rates of the error
    V: Annotated[Array, 6, 9]  # relative velocities at the end of the sample
    y: Annotated[Array, 6, 9]  # displacements over the sample


class Program(NamedTuple):
    """A program of behaviors."""

    settings: Settings
    total: Parts  # sum of the contributions


class Law(NamedTuple):
    """All that the law works with."""

    now: Program
    before: Program  # of the previous sample; the sum is overwritten if the program has changed
    state: State
    response: Response


view_state, view_law = views(State, "n"), views(Law, "n")


def places(n: int) -> tuple[slice, slice, slice, slice]:
    """Return where settings and sum of both programs, ``now`` and ``before``, lie in the memory of the law."""
    s, p = view_settings.size(n), view_parts.size(n)
    return slice(0, s), slice(s, s + p), slice(s + p, 2 * s + p), slice(2 * s + p, 2 * (s + p))
