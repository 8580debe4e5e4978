"""Shaper of a trajectory for the modes of an elastic base, whose frequencies depend on the posture of the arm."""

from __future__ import annotations

import numpy as np

from flexarm_core.joint_trajectory.spline import Spline
from flexarm_core.path.input_shaping import InputShaper
from flexarm_core.path.robust_shaper import robust_shaper
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState

POSTURES = 5  # along a trajectory, at which the frequencies are computed
MARGIN = 0.01  # by which the ranges of the frequencies are wider
DAMPING_RATIO = 0.01


def base_mode_shaper(model: ArmModel, spline: Spline, share: float) -> InputShaper:
    """Return the shaper of a trajectory.

    Args:
        model: arm model with m > 0 elastic joints.
        spline: trajectory.
        share: longest time that the shaper adds, as a share of the duration of the trajectory.
    """
    none, first, last = np.zeros(model.m), int(spline.times[0]), int(spline.times[-1])
    found = []
    for time in np.linspace(first, last, POSTURES):
        position = spline.sample(round(time))[0]
        state = ArmState(0, position, 0.0 * position, none, none)
        found.append(model.natural_frequencies(state))
    lowest, highest = np.min(found, axis=0), np.max(found, axis=0)
    swings = highest > 0.0
    lower, upper = (1.0 - MARGIN) * lowest[swings], (1.0 + MARGIN) * highest[swings]
    return robust_shaper(lower, upper, np.full(len(lower), DAMPING_RATIO), share * max(last, 0) * 1e-9)
