"""Joint path for a straight tool line by the plain pseudo-inverse, without regard to the base."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline

from flexarm_core.reaction_null_space.coupling.null_space import damped_inverse
from flexarm_core.reaction_null_space.reactionless.motions import ReactionlessMotions
from flexarm_core.types import Array

DAMPED_BELOW = 0.05  # [m] singular value of J below which its inverse is damped


def resolved_line(motions: ReactionlessMotions, start: Array, displacement: Array, steps: int = 40) -> BSpline:
    """Return the path ``q' = J^+ p'`` of resolved acceleration from rest, for comparison with reactionless paths.

    Args:
        motions: reactionless motions of the arm; only the tool kinematics are used.
        start: (n,) joint positions.
        displacement: (a,) tool displacement [m].
        steps: number of integration steps; each step corrects the tool error of the previous one.

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
