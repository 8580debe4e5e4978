"""Tolerances of a trajectory: defaults, those of a goal, and the comparison with the measured motion.

As in joint_trajectory_controller of ros2_controllers: a goal's tolerance of 0 keeps the default, -1 removes it; any
other negative number, or a joint that does not exist, makes the defaults hold for the whole goal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flexarm_core.types import Array

REMOVED = -1.0  # tolerance of a goal that removes the default
EXACTLY = float(np.finfo(np.float32).eps)
Given = tuple[str, float, float, float]  # joint, position, velocity, acceleration


@dataclass(frozen=True, slots=True)
class Tolerances:
    """Largest accepted differences; 0: any is accepted.

    Attributes:
        path: (2, n) of position and velocity before the last point.
        goal: (2, n) of position and velocity from the last point on.
        goal_time: time after the last point within which the goal must be reached [s]; 0: any.
    """

    path: Array
    goal: Array
    goal_time: float = 0.0

    def of_goal(
        self, joint_names: Sequence[str], path: Sequence[Given], goal: Sequence[Given], goal_time: float
    ) -> tuple[Tolerances, str]:
        """Return the tolerances of a goal, and why the defaults hold instead; empty: they do not.

        Args:
            joint_names: (n,) joints of the arm.
            path: tolerances of joints on the way. Accelerations are not measured, and so not compared.
            goal: tolerances of joints at the end.
            goal_time: time tolerance [s].
        """
        try:
            found = replace(
                self,
                path=_overlaid(self.path, joint_names, path, "path_tolerance"),
                goal=_overlaid(self.goal, joint_names, goal, "goal_tolerance"),
                goal_time=_resolved(self.goal_time, goal_time, "goal_time_tolerance"),
            )
        except ValueError as error:
            return self, f"{error}: the default tolerances hold"
        return found, ""


def _overlaid(defaults: Array, joint_names: Sequence[str], given: Sequence[Given], what: str) -> Array:
    found = defaults.copy()
    for name, *values in given:
        if name not in joint_names:
            raise ValueError(f"{what} names joint '{name}', which is none of the arm's")
        joint = list(joint_names).index(name)
        kinds = ("position", "velocity", "acceleration")
        for kind, (label, value) in enumerate(zip(kinds, values, strict=True)):
            default = defaults[kind, joint] if kind < 2 else 0.0
            resolved = _resolved(default, value, f"{what} of joint '{name}', {label}")
            if kind < 2:
                found[kind, joint] = resolved
    return found


def _resolved(default: float, given: float, what: str) -> float:
    if given > 0.0:
        return given
    if abs(given - REMOVED) < EXACTLY:
        return 0.0
    if given < 0.0:
        raise ValueError(f"{what} is {given:g}, not 0 (default), -1 (any) or positive")
    return default


def violated(tolerance: Array, error: Array, joint_names: Sequence[str]) -> str:
    """Return which joint exceeds a tolerance (2, n) by its error (2, n) of position and velocity; empty: none."""
    size = np.abs(error)
    beyond = (tolerance > 0.0) & ~(size <= tolerance)
    if not beyond.any():
        return ""
    kind, joint = (int(at[0]) for at in np.nonzero(beyond))
    what = ("position", "velocity")[kind]
    return f"joint '{joint_names[joint]}': {what} error {size[kind, joint]:.4g}, tolerance {tolerance[kind, joint]:g}"
