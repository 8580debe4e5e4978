"""Indices into the flat arrays that the compiled law works on."""

from __future__ import annotations

from flexarm_core.compiled import kernel

# In a row of contributions (see behavior.Contribution).
FORCE, OFFSET, TWIST, ACCELERATION = 0, 6, 12, 18
LEAD, LEAD_POSITION, LEAD_ROTATION, LEAD_TWIST, LEAD_ACCELERATION = 24, 25, 28, 37, 43
STIFFNESS, DAMPING, FREED, FREED_DAMPING = 49, 85, 121, 157
TOOL_PART = 193  # length of the tool part; effort, yielding, their stiffness and measure follow
# In the table of settings (see config.ImpedanceConfig.table).
IN_TOOL_FRAME, MAPPING, STEPS, AXES, MATRICES = 0, 1, 2, 5, 11
JOINT_MATRICES = MATRICES + 108
# In the state that is kept from sample to sample.
VELOCITY, SET_POSITION, SET_ROTATION, SET_TWIST, SET_ACCELERATION = 0, 6, 9, 18, 24
ANCHOR_POSITION, ANCHOR_ROTATION, LAST_ACCELERATION, CARRIED = 30, 33, 42, 48
KNOWN, CHANGED = 54, 55  # flags: a previous sample of this motion exists; the program has changed since then
# Velocity and acceleration due to changes of the measured wrench since the last program change; the wrench at that
# change; count of samples in which the step of the acceleration was limited.
FELT, FELT_ACCELERATION, FELT_FROM, HELD_BACK = 56, 62, 68, 74
MISSED = 75  # acceleration that the joints missed, for translation and rotation; huge if they do not follow at all
JOINT_PART = 77
# In the output.
WANTED_POSITION, WANTED_ROTATION, ERROR = 0, 3, 12
OUT_JOINTS = 18


@kernel
def state_size(n: int) -> int:
    """Return the length of the state that is kept from sample to sample, for n joints."""
    return JOINT_PART + 2 * n


@kernel
def output_size(n: int) -> int:
    """Return the length of the output: desired pose (12), error (6), displacement of the joints (n)."""
    return OUT_JOINTS + n
