"""The joints' path along a straight line of the tool by the plain pseudo-inverse, the base left out of account."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline

from flexarm_core.reaction_null_space.coupling.null_space import damped_inverse
from flexarm_core.reaction_null_space.reactionless.motions import ReactionlessMotions
from flexarm_core.types import Array

DAMPED_BELOW = 0.05  # [m] singular values of J


def resolved_line(motions: ReactionlessMotions, start: Array, displacement: Array, steps: int = 40) -> BSpline:
    """``q' = J^+ p'``: the path that resolved acceleration takes from rest, which a reactionless one is compared with.

    Args:
        motions: of the arm; the base does not count.
        start: (n,) joint positions.
        displacement: (a,) of the tool [m].
        steps: of the integration, each with its tool error made up for in the next.

    Returns:
        Joint positions as a quintic spline of the path coordinate, from 0 to 1.
    """
    q, begin, positions = start, motions.tool(start)[0], [start]
    for s in np.arange(1, steps + 1) / steps:
        tool, jacobian = motions.tool(q)
        step = begin + s * displacement - tool
        half = q + 0.5 * damped_inverse(jacobian, DAMPED_BELOW, DAMPED_BELOW).inverse @ step
        q = q + damped_inverse(motions.tool(half)[1], DAMPED_BELOW, DAMPED_BELOW).inverse @ step
        positions.append(q)
    return make_interp_spline(np.linspace(0.0, 1.0, steps + 1), np.array(positions), k=5)
