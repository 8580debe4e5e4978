"""JointLimits: pushes the joints away from their position limits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from flexarm_core.behavior_impedance.avoidance.avoidance_force import avoidance_force
from flexarm_core.behavior_impedance.behavior import Arm, Behavior, Contribution, MotionSample
from flexarm_core.compiled import kernel
from flexarm_core.errors import ConfigError
from flexarm_core.settings import Setting
from flexarm_core.types import Array


class JointLimits(Behavior):
    """Applies the effort of :mod:`avoidance_force` to every joint closer than ``range`` to one of its position limits.

    Joints without limits are not affected. This behavior does not enforce the limits; the redundancy resolution keeps
    every joint within its limits in any case.
    """

    KIND = "joint_limits"
    SETTINGS = (
        Setting("range", "double", 0.3,
            "distance from a joint position limit at which the redundant joints begin to yield", "rad | m", 1e-6),
        Setting("tool_range", "double", 0.0,
            "distance from a joint position limit at which the tool also begins to yield; 0: it never does",
            "rad | m", 0.0),
        Setting("margin", "double", 0.02,
            "distance from a joint position limit that should not be reached; repulsion rises steeply toward it",
            "rad | m", 0.0),
        Setting("effort", "double", 10.0,
            "repulsive effort of a joint position limit halfway between the start of repulsion and the margin",
            "N*m | N", 0.0),
        Setting("damping", "double", 5.0,
            "damping of a joint that approaches its position limit", "N*m*s/rad | N*s/m", 0.0),
    )  # fmt: skip

    def __init__(self, arm: Arm, settings: Mapping[str, Any]) -> None:
        """Prepare; see :class:`Behavior`."""
        influence, tool_range, margin = settings["range"], settings["tool_range"], settings["margin"]
        if not margin < influence or (tool_range > 0.0 and not margin < tool_range):
            raise ConfigError(f"margin {margin} must lie below range and tool_range")
        self._names = arm.chain.joint_names
        self._ends = np.array((arm.limits.lower, arm.limits.upper))
        self._near = np.array((influence, margin, settings["effort"], settings["damping"]))
        self._nearer = np.array((tool_range, margin, settings["effort"], settings["damping"]))
        self._tool_yields = tool_range > 0.0
        self._least = math.inf, 0  # smallest distance to a limit, and the index of that joint

    def update(self, sample: MotionSample, out: Contribution) -> None:
        """Write the efforts on the joints."""
        q, v = sample.position, sample.velocity
        self._least = _push(self._ends, self._near, q, v, out.effort, out.effort_stiffness)
        if self._tool_yields:
            _push(self._ends, self._nearer, q, v, out.yielding, out.yielding_stiffness)
        out.measure[0] = min(self._least[0], 1e9)

    def note(self) -> str:
        """Return the joint that is nearest to a limit, if any is within range."""
        if not self._least[0] < self._near[0]:
            return "nothing near"
        return f"{self._names[self._least[1]]} is {self._least[0]:.3f} from its limit"


@kernel
def _push(ends: Array, profile: Array, q: Array, v: Array, effort: Array, stiffness: Array) -> tuple[float, int]:
    """Add the avoidance efforts (n,) and their stiffness (n, n); find the joint that is nearest to a limit.

    Args:
        ends: (2, n) lower and upper position limits [rad | m].
        profile: range, margin, effort and damping.
        q: (n,) joint positions [rad | m].
        v: (n,) joint velocities [rad/s | m/s].
        effort: (n,) efforts, added to [N*m | N].
        stiffness: (n, n) stiffness, added to.

    Returns:
        Smallest distance to a limit [rad | m] and the index of that joint.
    """
    least, nearest = math.inf, 0
    for i in range(q.shape[0]):
        for side in range(2):
            sign = 1.0 if side == 0 else -1.0
            distance = sign * (q[i] - ends[side, i])
            if distance < least:
                least, nearest = distance, i
            if distance < profile[0]:
                f, slope, s = avoidance_force(distance, profile[0], profile[1], profile[2])
                effort[i] += sign * (f + profile[3] * s * max(0.0, -sign * v[i]))
                stiffness[i, i] += slope
    return least, nearest
