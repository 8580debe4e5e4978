"""The law: sums what the behaviours contribute and takes one sample in the motion space (compiled)."""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.behavior_impedance.joint_step import joint_step
from flexarm_core.behavior_impedance.layout import AXES, CHANGED, KNOWN, MAPPING, TOOL_PART
from flexarm_core.behavior_impedance.merge import merge
from flexarm_core.behavior_impedance.motion_space import damped_inverse, redundant_space
from flexarm_core.behavior_impedance.tool_step import tool_step
from flexarm_core.compiled import kernel, view
from flexarm_core.types import Array


@kernel
def add_up(table: Array, total: Array) -> int:
    """Sum the rows of the contributions; the first row that holds a number that is not finite, or -1."""
    rows, size = table.shape
    wrong = -1
    for i in range(size):
        total[i] = 0.0
    for k in range(rows):
        for i in range(size):
            total[i] += table[k, i]
    for i in range(size):
        if not abs(total[i]) < math.inf and wrong < 0:
            for k in range(rows):
                if wrong < 0 and not abs(table[k, i]) < math.inf:
                    wrong = k
    if wrong < 0 and rows > 1:
        merge(table, total)
    return wrong


@kernel
def law_step(
    dt: float, scale: float, settings: Array, total: Array, old_settings: Array, old_total: Array, state: Array,
    frames: Array, J: Array, velocity: Array, wrench: Array, out: Array,
) -> None:  # fmt: skip
    """One sample.

    Args:
        dt: [s].
        scale: by which rotations count against translations [m/rad].
        settings: table of the config.
        total: sum of the contributions.
        old_settings: of the sample before.
        old_total: of the sample before; used up where the program has changed.
        state: carried from sample to sample.
        frames: (n + 1, 12) of the commanded arm; the last row is the tool.
        J: (6, n).
        velocity: (n,) of the commanded joints [rad/s | m/s].
        wrench: (6,) external, on the tool at its origin [N, N*m].
        out: wanted pose at the end of the sample, error from the set-point, displacement in the redundant space.
    """
    n = J.shape[1]
    axes, inverse = view(settings, AXES, (6,)), np.zeros((n, 6))
    held = 0
    for i in range(6):
        held += int(axes[i])
    there = 0.0
    for i in range(n):
        there += abs(total[TOOL_PART + n + i]) + abs(old_total[TOOL_PART + n + i])
    if there > 0.0:
        damped_inverse(J, axes, scale, settings[MAPPING], inverse)
    N = np.empty((n, max(n - held, 0)))
    redundant_space(J, axes, scale, N)
    pose = view(frames, 12 * n, (12,))
    tool_step(dt, settings, total, old_settings, old_total, state, pose, wrench, inverse, out)
    joint_step(dt, settings, total, old_settings, old_total, state, velocity, N, out)
    state[CHANGED], state[KNOWN] = 0.0, 1.0
