"""Memory of the law: flat arrays, the cheapest arguments of a kernel, and the only functions that know their layout."""

from __future__ import annotations

from typing import NamedTuple

from flexarm_core.compiled import kernel, view
from flexarm_core.types import Array

# Of a contribution, lead_position to lead_acceleration.
LEAD_MOTION = slice(25, 49)


class Settings(NamedTuple):
    """Settings of the law; for their meaning and units see ``ImpedanceConfig``."""

    in_tool_frame: bool  # whether the tool matrices are given in the axes of the tool's set-point
    mapping_damping: float
    steps: Array  # (3,) transition_acceleration
    axes: Array  # (6,) 1 for a controlled axis of the tool, else 0
    inertia: Array  # (6, 6) zero in the velocity variant
    damping: Array  # (6, 6)
    stiffness: Array  # (6, 6)
    joint_inertia: Array  # (n, n)
    joint_damping: Array  # (n, n)


class Parts(NamedTuple):
    """Parts of a contribution, or of the sum of all; for their meaning and units see ``Contribution``."""

    force: Array  # (6,)
    offset: Array  # (6,)
    twist: Array  # (6,)
    acceleration: Array  # (6,)
    lead: Array  # (1,)
    lead_position: Array  # (3,)
    lead_rotation: Array  # (3, 3)
    lead_twist: Array  # (6,)
    lead_acceleration: Array  # (6,)
    stiffness: Array  # (6, 6)
    damping: Array  # (6, 6)
    freed: Array  # (6, 6)
    freed_damping: Array  # (6, 6)
    effort: Array  # (n,)
    yielding: Array  # (n,)
    effort_stiffness: Array  # (n, n)
    yielding_stiffness: Array  # (n, n)
    measure: Array  # (1,)


class State(NamedTuple):
    """What is kept from sample to sample."""

    velocity: Array  # (6,) tool twist [m/s, rad/s]
    acceleration: Array  # (6,) tool acceleration over the last sample [m/s^2, rad/s^2]
    set_position: Array  # (3,) set-point of the last sample [m]
    set_rotation: Array  # (3, 3)
    set_twist: Array  # (6,)
    set_acceleration: Array  # (6,)
    anchor_position: Array  # (3,) pose at which the tool is held while no behavior leads [m]
    anchor_rotation: Array  # (3, 3)
    carried: Array  # (6,) carried force [N, N*m]
    known: Array  # (1,) 1 if a previous sample of this motion exists
    changed: Array  # (1,) 1 if the program has changed since then
    felt: Array  # (6,) velocity due to changes of the measured wrench since the last program change
    felt_acceleration: Array  # (6,) acceleration due to these
    felt_from: Array  # (6,) measured wrench at the last program change
    held_back: Array  # (1,) count of samples in which the step of the acceleration was limited
    missed: Array  # (2,) acceleration that the joints missed, translation and rotation; huge if they do not follow
    carried_effort: Array  # (n,) carried effort in the redundant space
    joint_acceleration: Array  # (n,) acceleration of the joints in the redundant space


class Output(NamedTuple):
    """Results of one sample."""

    position: Array  # (3,) desired tool position at the end of the sample [m]
    rotation: Array  # (3, 3) desired tool orientation
    error: Array  # (6,) desired pose relative to the set-point [m, rad]
    displacement: Array  # (n,) displacement of the joints in the redundant space [rad | m]


@kernel
def view_settings(memory: Array, n: int) -> Settings:
    """View the array of :meth:`ImpedanceConfig.table` for n joints."""
    steps, axes = view(memory, 2, (3,)), view(memory, 5, (6,))
    M, B, K = view(memory, 11, (6, 6)), view(memory, 47, (6, 6)), view(memory, 83, (6, 6))
    joint_inertia, joint_damping = view(memory, 119, (n, n)), view(memory, 119 + n * n, (n, n))
    return Settings(memory[0] > 0.0, memory[1], steps, axes, M, B, K, joint_inertia, joint_damping)


@kernel
def view_parts(memory: Array, n: int) -> Parts:
    """View one row of the table of contributions, or their sum, for n joints."""
    force, i = view(memory, 0, (6,)), 6
    offset, i = view(memory, i, (6,)), i + 6
    twist, i = view(memory, i, (6,)), i + 6
    acceleration, i = view(memory, i, (6,)), i + 6
    lead, i = view(memory, i, (1,)), i + 1
    lead_position, i = view(memory, i, (3,)), i + 3
    lead_rotation, i = view(memory, i, (3, 3)), i + 9
    lead_twist, i = view(memory, i, (6,)), i + 6
    lead_acceleration, i = view(memory, i, (6,)), i + 6
    stiffness, i = view(memory, i, (6, 6)), i + 36
    damping, i = view(memory, i, (6, 6)), i + 36
    freed, i = view(memory, i, (6, 6)), i + 36
    freed_damping, i = view(memory, i, (6, 6)), i + 36
    effort, i = view(memory, i, (n,)), i + n
    yielding, i = view(memory, i, (n,)), i + n
    effort_stiffness, i = view(memory, i, (n, n)), i + n * n
    yielding_stiffness, i = view(memory, i, (n, n)), i + n * n
    measure = view(memory, i, (1,))
    return Parts(
        force, offset, twist, acceleration, lead, lead_position, lead_rotation, lead_twist, lead_acceleration,
        stiffness, damping, freed, freed_damping, effort, yielding, effort_stiffness, yielding_stiffness, measure,
    )  # fmt: skip


@kernel
def view_state(memory: Array, n: int) -> State:
    """View one flat array as the state for n joints."""
    velocity, i = view(memory, 0, (6,)), 6
    acceleration, i = view(memory, i, (6,)), i + 6
    set_position, i = view(memory, i, (3,)), i + 3
    set_rotation, i = view(memory, i, (3, 3)), i + 9
    set_twist, i = view(memory, i, (6,)), i + 6
    set_acceleration, i = view(memory, i, (6,)), i + 6
    anchor_position, i = view(memory, i, (3,)), i + 3
    anchor_rotation, i = view(memory, i, (3, 3)), i + 9
    carried, i = view(memory, i, (6,)), i + 6
    known, i = view(memory, i, (1,)), i + 1
    changed, i = view(memory, i, (1,)), i + 1
    felt, i = view(memory, i, (6,)), i + 6
    felt_acceleration, i = view(memory, i, (6,)), i + 6
    felt_from, i = view(memory, i, (6,)), i + 6
    held_back, i = view(memory, i, (1,)), i + 1
    missed, i = view(memory, i, (2,)), i + 2
    carried_effort, joint_acceleration = view(memory, i, (n,)), view(memory, i + n, (n,))
    return State(
        velocity, acceleration, set_position, set_rotation, set_twist, set_acceleration, anchor_position,
        anchor_rotation, carried, known, changed, felt, felt_acceleration, felt_from, held_back, missed,
        carried_effort, joint_acceleration,
    )  # fmt: skip


@kernel
def view_output(memory: Array, n: int) -> Output:
    """View one flat array as the output for n joints."""
    return Output(view(memory, 0, (3,)), view(memory, 3, (3, 3)), view(memory, 12, (6,)), view(memory, 18, (n,)))
