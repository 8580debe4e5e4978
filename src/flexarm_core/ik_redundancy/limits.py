r"""The step within exact joint limits: saturate joints, solve again for the others, reduce rows by priority.

Position, velocity and acceleration limits are combined to one interval of displacements for each joint and sample, such
that the joint can always stop before its position limit (viability; Del Prete 2018, RA-L 3(1)).

A solution outside its interval is replaced by the best solution inside (see :mod:`box`): the minimizer of the objective
among the displacements that satisfy the rows. If no such displacement exists, the levels are processed in order of
priority: each level approaches its demand as closely as the intervals and the higher levels allow, and is kept there
for the lower levels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from flexarm_core.compiled import kernel
from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.box import nearest_in_box
from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.ik_redundancy.plan import view_plan
from flexarm_core.ik_redundancy.step import Task, resolve
from flexarm_core.types import Array

TOLERANCE = 1e-11  # [m] largest error of a feasible row
SHORT = 1e-3  # [m] smallest norm assigned to a row if limits are active
COSTLESS = 1e3  # K^-1/2 of joints without cost, if limits are active
EXACT = 1e-9  # relative margin of a bound for rounding, so that differences of the output also keep the bound


@dataclass(frozen=True, slots=True)
class MotionLimits:
    """Joint limits of a chain; infinite if there is no limit.

    Attributes:
        lower: (n,) lower position limits [rad | m].
        upper: (n,) upper position limits [rad | m].
        velocity: (n,) velocity limits [rad/s | m/s].
        acceleration: (n,) acceleration limits [rad/s^2 | m/s^2].
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array

    @classmethod
    def of(cls, chain: Chain, acceleration: float = 10.0) -> MotionLimits:
        """Return the limits of a chain, and one for the accelerations of all joints [rad/s^2 | m/s^2]."""
        most = np.minimum(chain.acceleration_limit, float(acceleration))
        return cls(chain.lower, chain.upper, chain.velocity_limit, most)

    def __post_init__(self) -> None:
        """Raise ConfigError for limits that are not numbers or leave no room for motion."""
        n = len(self.lower)
        for name in ("lower", "upper", "velocity", "acceleration"):
            value = getattr(self, name)
            if np.shape(value) != (n,) or np.isnan(value).any():
                raise ConfigError(f"{name} limits must be {n} numbers, got {value}", setting=name, value=value)
        if not (self.lower < self.upper).all():
            raise ConfigError(f"lower position limits must lie below the upper ones, got {self.lower} and {self.upper}")
        for name in ("velocity", "acceleration"):
            value = getattr(self, name)
            if not (value > 0.0).all():
                raise ConfigError(f"{name} limits must be > 0, got {value}", setting=name, value=value)

    def table(self) -> Array:
        """Return the array (4, n) for the compiled functions: lower, upper, velocity, acceleration."""
        return np.array((self.lower, self.upper, self.velocity, self.acceleration), dtype=float)


@kernel
def _highest(distance: float, v: float, A: float, dt: float) -> float:
    """Compute the largest acceleration for one sample after which the joint can still stop within ``distance``."""
    if not distance < np.inf:
        return np.inf
    constant = v * v - 2.0 * A * (distance - v * dt)
    highest = np.inf
    for c in (0.5, 1.0):
        half = v * dt + c * A * dt * dt
        root = half * half - dt * dt * constant
        highest = min(highest, -A if root < 0.0 else (math.sqrt(root) - half) / (dt * dt))
    return highest


@kernel
def displacement_bounds(limits: Array, q: Array, v: Array, dt: float, bounds: Array) -> None:
    """Compute smallest and largest displacements ``bounds`` (2, n) of one sample at positions and velocities (n,).

    A joint beyond a limit is brought back as fast as its acceleration limit allows. ``limits``: (4, n).
    """
    lo, hi = bounds[0], bounds[1]
    for i in range(q.shape[0]):
        V, A = limits[2, i] * (1.0 - EXACT), limits[3, i] * (1.0 - EXACT)
        if limits[3, i] < math.inf:
            highest = min(A, (V - v[i]) / dt, _highest(limits[1, i] - q[i], v[i], A, dt))
            lowest = max(-A, (-V - v[i]) / dt, -_highest(q[i] - limits[0, i], -v[i], A, dt))
            highest, lowest = max(highest, -A), min(lowest, A)
            if lowest > highest:
                lowest = highest = min(lowest, highest) if v[i] > 0.0 else max(lowest, highest)
            lo[i], hi[i] = (v[i] + lowest * dt) * dt, (v[i] + highest * dt) * dt
        else:
            hi[i] = max(min(V * dt, limits[1, i] - q[i]), -V * dt)
            lo[i] = min(max(-V * dt, limits[0, i] - q[i]), V * dt)


@kernel
def limited_step(task: Task, gain: float, plan: Array, bounds: Array, share: Array, out: Array) -> float:
    """Solve the step within bounds.

    Args:
        task: see :func:`resolve`; its Jacobian has six rows.
        gain: see there.
        plan: settings of the step.
        bounds: (2, n) smallest and largest displacements [rad | m].
        share: (2, 6) output: for each row of J, the share realized after singularity handling, and after limits.
        out: (n,) output: dtheta.

    Returns:
        The smallest norm of a row after orthogonalization, before limits [m].
    """
    n, J, lo, hi = out.shape[0], task.J, bounds[0], bounds[1]
    step = view_plan(plan, n)
    rows, w = step.rows, step.weights
    for row in range(6):
        step.share[row] = 1.0
    least = resolve(task, gain, plan, w, out)
    inside = True
    for i in range(n):
        inside = inside and lo[i] <= out[i] <= hi[i]
    for row in range(6):
        share[0, row], share[1, row] = step.share[row], 1.0
    if inside:
        return least
    # The demand is the motion of the step without limits.
    wanted, active = step.wanted, step.active
    for k in range(rows):
        row = int(step.row[k])
        wanted[row] = 0.0
        for i in range(n):
            wanted[row] += J[row, i] * out[i]
    for i in range(n):
        active[i] = w[i] if w[i] > 0.0 else COSTLESS
    if step.free[0] > 0.0:
        resolve(Task(J, wanted, task.offset), gain, plan, active, out)
    # Use the orthogonalized rows: a row is short in a singular direction of the arm, so that it is the first row of its
    # level to be reduced.
    F, remaining, takes, label = step.A, step.remaining, step.takes, step.label
    box, y, near = step.box, step.pull, step.near
    u, G, goal = box.u, box.G, box.goal
    for i in range(n):
        box.low[i], box.high[i], u[i] = lo[i] / active[i], hi[i] / active[i], out[i] / active[i]
        y[i] = gain * task.offset[i] / active[i] if w[i] > 0.0 else 0.0
    for k in range(rows):
        goal[k] = 0.0
        for i in range(n):
            G[k, i] = (max(remaining[k], SHORT) if takes[k] > 0.0 else 0.0) * F[k, i]
            goal[k] += G[k, i] * u[i]
    if not nearest_in_box(box, rows, 0, y, TOLERANCE):
        first = 0
        while first < rows:
            end = first + 1
            while end < rows and step.level[end] == step.level[first]:
                end += 1
            if not nearest_in_box(box, end, 0, y, TOLERANCE):
                for k in range(first, end):  # weigh errors in tool coordinates
                    row = int(step.row[int(label[k])])
                    scale = step.scale[int(label[k])] if takes[k] > 0.0 else 0.0
                    for i in range(n):
                        G[k, i] = scale * J[row, i] * active[i]
                    goal[k] = scale * wanted[row]
                for _ in range(4):  # start from the last result, because the objective must not count here
                    for i in range(n):
                        near[i] = -u[i]
                    nearest_in_box(box, end, end - first, near, TOLERANCE)
                for i in range(n):
                    near[i] = -u[i]
                nearest_in_box(box, first, 0, near, TOLERANCE)
                for k in range(first, end):
                    goal[k] = 0.0
                    for i in range(n):
                        G[k, i] = (max(remaining[k], SHORT) if takes[k] > 0.0 else 0.0) * F[k, i]
                        goal[k] += G[k, i] * u[i]
            first = end
    for i in range(n):
        out[i] = min(max(active[i] * u[i], lo[i]), hi[i])
    for k in range(rows):
        row = int(step.row[k])
        got = 0.0
        for i in range(n):
            got += J[row, i] * out[i]
        missing = abs(wanted[row] - got) if step.share[row] > 0.0 else 0.0
        share[1, row] = 1.0 if missing <= 1e-9 else max(0.0, 1.0 - missing / max(abs(wanted[row]), 1e-300))
    return least
