"""The law: sums the contributions of the behaviors and integrates one sample in the motion space (compiled)."""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.behavior_impedance.joint_step import joint_step
from flexarm_core.behavior_impedance.layout import view_law
from flexarm_core.behavior_impedance.merge import merge
from flexarm_core.behavior_impedance.motion_space import damped_inverse, redundant_space
from flexarm_core.behavior_impedance.tool_step import tool_step
from flexarm_core.compiled import allocating_kernel, kernel
from flexarm_core.types import Array


@kernel
def add_up(table: Array, total: Array, n: int) -> int:
    """Sum the contributions for n joints; return a row that contains a non-finite number, or -1 if there is none."""
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
        merge(table, total, n)
    return wrong


@allocating_kernel
def law_step(memory: Array, velocity: Array) -> None:
    """Integrate the law over one sample.

    Args:
        memory: see :class:`Law`; its state gets the results.
        velocity: (n,) commanded joint velocities [rad/s | m/s].
    """
    n = velocity.shape[0]
    law = view_law(memory, n)
    settings, now, before = law.now.settings, law.now.total, law.before.total
    kept, inverse = law.state, np.zeros((n, 6))
    scale, J = kept.step[1], kept.J
    held = 0
    for i in range(6):
        held += int(settings.axes[i])
    there = 0.0
    for i in range(n):
        there += abs(now.yielding[i]) + abs(before.yielding[i])
    if there > 0.0:
        damped_inverse(J, settings.axes, scale, settings.mapping_damping, inverse)
    N = np.empty((n, max(n - held, 0)))
    redundant_space(J, settings.axes, scale, N)
    tool_step(law, inverse)
    joint_step(law, velocity, N)
    kept.changed[0], kept.known[0] = 0.0, 1.0
