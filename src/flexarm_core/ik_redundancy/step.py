r"""The step: ``minimize sum k_i (theta_i + dtheta_i - theta_i0)^2  subject to  J dtheta = dX`` at a fixed cost.

With ``K = diag(k)``, ``A = J K^-1/2`` and ``e = K^1/2 (theta + dtheta - theta_0)`` this is ``min |e|^2 s.t. A e = b``,
``b = dX + J (theta - theta_0)`` (docs/sources.md, claims 8 to 10). The rows of ``[A | b]`` are made orthonormal
one after another, by subtracting multiples of each row from the rows below: ``F e = g``, ``F F^T = 1``, so
``e = F^T g``. No null space is computed, and the number of operations depends only on the sizes (claims 4 to 6).

Written in increments ``delta = K^1/2 dtheta``, ``y = K^1/2 (theta - theta_0)``, which is equivalent for ``gain = 1``::

    delta = -gain y + sum_k F_k (d_k + gain F_k . y)

where ``d_k = F_k . delta`` is the demand of row ``k``; the component of ``y`` along ``F_k`` is removed. A row has the
norm ``r_k`` after orthogonalization. With ``x = (r_k - threshold) / band`` limited to [0, 1], the row gets the share
``s_k = x^2 (3 - 2 x)`` of its demand: all above the band, nothing below the threshold (claims 11, 12), and a smooth
transition between. The rows below use the realized share, not the demand, so that all rows except the damped ones stay
exact. In the remaining share of a row's direction, the joints either hold still or move to the minimizer of the
objective, as if the row were absent. With a band of 0 the share is 0 or 1.

Rows are processed level by level in order of priority. Within a level the row with the largest remaining norm is first,
so that the dropped row is the one nearest to the singular direction of the arm.

Joints with ``k_i = 0`` (claims 2, 24) are eliminated first: each row that they can satisfy alone is assigned to them
and no longer constrains the other joints. Afterwards they realize, with the least motion, the remainder of these rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flexarm_core.compiled import allocating_kernel, kernel
from flexarm_core.entrance import ANY, finite
from flexarm_core.errors import InputError
from flexarm_core.ik_redundancy.plan import Plan, make_plan, view_plan
from flexarm_core.types import Array

LANES = 32  # steps side by side: their rows fit into the fastest cache
NOTHING = 1e-12  # norm below which the remainder of a dependent row is rounding noise


class Task(NamedTuple):
    """What a step shall do."""

    J: Array  # (m, n) Jacobian
    t: Array  # (m,) dX
    offset: Array  # (n,) theta - theta_0


class RedundancyStep:
    """The step for one set of weights and rows; not thread-safe, because it has an internal work array.

    Attributes:
        kept: (6,) realized share of each row of the Jacobian in the last step: 1 = all, 0 = dropped.
    """

    def __init__(self, weights: Sequence[float] | Array, levels: Sequence[Sequence[int]], **settings: float) -> None:
        """Prepare the step; arguments and errors are those of :func:`make_plan`."""
        self._plan = make_plan(weights, levels, **settings)  # type: ignore[arg-type]
        self._n = len(weights)
        self._share = view_plan(self._plan, self._n).share
        self._rows = max((int(row) + 1 for level in levels for row in level), default=0)
        self.kept = np.ones(6)

    def solve(self, J: ArrayLike, displacement: ArrayLike, offset: ArrayLike) -> Array:
        """Compute the joint displacement ``dtheta`` (n,).

        Args:
            J: (m, n) Jacobian.
            displacement: (m,) dX.
            offset: (n,) theta - theta_0.

        Raises:
            InputError: wrong shapes, or values that are not finite.
        """
        J, y = finite("J", J, ANY, self._n), finite("offset", offset, self._n)
        t = finite("displacement", displacement, len(J))
        if len(J) < self._rows:
            raise InputError(f"J has {len(J)} rows, the wanted ones go up to {self._rows - 1}")
        out = np.empty(self._n)
        redundancy_step(J, t, y, self._plan, out)
        self.kept[:] = self._share
        return out

    def solve_many(self, J: ArrayLike, displacement: ArrayLike, offset: ArrayLike) -> Array:
        """Compute the joint displacements ``dtheta`` (N, n) of N independent steps in one call, equal to the last bit.

        :attr:`kept` then has the smallest share of each row in all of them.

        Args:
            J: (N, m, n) Jacobians.
            displacement: (N, m) dX.
            offset: (N, n) theta - theta_0.

        Raises:
            InputError: wrong shapes, or values that are not finite.
        """
        J = finite("J", J, ANY, ANY, self._n)
        count, rows = J.shape[:2]
        if rows < self._rows:
            raise InputError(f"each J has {rows} rows, the wanted ones go up to {self._rows - 1}")
        t, y = finite("displacement", displacement, count, rows), finite("offset", offset, count, self._n)
        out = np.empty((count, self._n))
        redundancy_steps(J, t, y, self._plan, out, self.kept)
        return out


@kernel
def redundancy_steps(J: Array, t: Array, offset: Array, plan: Array, out: Array, kept: Array) -> None:
    """Compute steps ``out`` (N, n) without checks; ``kept`` (6,) gets the smallest share of each row."""
    step = view_plan(plan, out.shape[1])
    kept[:] = 1.0
    if step.free[0] == 0.0:
        _side_by_side(J, t, offset, step, out, kept)
        return
    for index in range(len(out)):
        redundancy_step(J[index], t[index], offset[index], plan, out[index])
        for row in range(6):
            kept[row] = min(kept[row], step.share[row])


@allocating_kernel
def _side_by_side(J: Array, t: Array, offset: Array, step: Plan, out: Array, kept: Array) -> None:
    """Do the operations of :func:`resolve` for LANES steps at a time, which the compiler turns into vector operations.

    All joints have costs, and the gain is 1.
    """
    n, w = out.shape[1], step.weights
    rows, threshold, band, hold = step.rows, step.threshold, step.band, step.hold
    A, y, x = np.empty((rows, n, LANES)), np.empty((n, LANES)), np.empty((n, LANES))
    b, square, takes, label = np.empty((4, rows, LANES))
    best, top, inverse, share, taken, along, gets, part = np.empty((8, LANES))
    for first in range(0, len(out), LANES):
        lanes = min(LANES, len(out) - first)
        for i in range(n):
            for lane in range(lanes):
                y[i, lane] = offset[first + lane, i] / w[i]
        for k in range(rows):
            row, scale = int(step.row[k]), step.scale[k]
            for lane in range(lanes):
                square[k, lane], label[k, lane], b[k, lane] = 0.0, k, scale * t[first + lane, row]
            for i in range(n):
                for lane in range(lanes):
                    value = scale * J[first + lane, row, i] * w[i]
                    A[k, i, lane] = value
                    square[k, lane] += value * value
        for k in range(rows):
            for lane in range(lanes):
                best[lane], top[lane] = k, square[k, lane]
            for j in range(k + 1, rows):
                if step.level[j] == step.level[k]:
                    for lane in range(lanes):
                        larger = square[j, lane] > top[lane]
                        best[lane] = j if larger else best[lane]
                        top[lane] = square[j, lane] if larger else top[lane]
            for lane in range(lanes):
                j = int(best[lane])
                if j != k:
                    for i in range(n):
                        A[k, i, lane], A[j, i, lane] = A[j, i, lane], A[k, i, lane]
                    b[k, lane], b[j, lane] = b[j, lane], b[k, lane]
                    label[k, lane], label[j, lane] = label[j, lane], label[k, lane]
                    square[j, lane] = square[k, lane]
            for lane in range(lanes):
                r = math.sqrt(top[lane])
                within = min(max((r - threshold) / band, 0.0), 1.0) if band > 0.0 else (1.0 if r > threshold else 0.0)
                there = 1.0 if r > NOTHING else 0.0
                share[lane] = there * (within * within * (3.0 - 2.0 * within))
                inverse[lane] = there / max(r, NOTHING)
                taken[lane] = 1.0 - math.sqrt((1.0 - share[lane]) * (1.0 - hold))
                gets[lane] = share[lane] * (b[k, lane] * inverse[lane])
                b[k, lane], takes[k, lane], along[lane] = gets[lane], taken[lane], 0.0
            for i in range(n):
                for lane in range(lanes):
                    A[k, i, lane] *= inverse[lane]
                    along[lane] += A[k, i, lane] * y[i, lane]
            for i in range(n):
                for lane in range(lanes):
                    y[i, lane] -= taken[lane] * along[lane] * A[k, i, lane]
            for j in range(k + 1, rows):
                for lane in range(lanes):
                    part[lane], square[j, lane] = 0.0, 0.0
                for i in range(n):
                    for lane in range(lanes):
                        part[lane] += A[j, i, lane] * A[k, i, lane]
                for i in range(n):
                    for lane in range(lanes):
                        rest = A[j, i, lane] - taken[lane] * part[lane] * A[k, i, lane]
                        A[j, i, lane] = rest
                        square[j, lane] += rest * rest
                for lane in range(lanes):
                    b[j, lane] -= part[lane] * gets[lane]
            for lane in range(lanes):
                row = int(step.row[int(label[k, lane])])
                kept[row] = min(kept[row], share[lane])
        for i in range(n):
            for lane in range(lanes):
                x[i, lane] = -y[i, lane]
        for k in range(rows - 1, -1, -1):
            for lane in range(lanes):
                along[lane] = 0.0
            for i in range(n):
                for lane in range(lanes):
                    along[lane] += A[k, i, lane] * x[i, lane]
            for lane in range(lanes):
                along[lane] = b[k, lane] - takes[k, lane] * along[lane]
            for i in range(n):
                for lane in range(lanes):
                    x[i, lane] += along[lane] * A[k, i, lane]
        for i in range(n):
            for lane in range(lanes):
                out[first + lane, i] = x[i, lane] * w[i]


@kernel
def redundancy_step(J: Array, t: Array, offset: Array, plan: Array, out: Array) -> None:
    """Compute the step ``out`` (n,) = dtheta without checks, in the work array at the end of the plan."""
    step = view_plan(plan, out.shape[0])
    for row in range(6):
        step.share[row] = 1.0
    resolve(Task(J, t, offset), 1.0, plan, step.weights, out)


@kernel
def resolve(task: Task, gain: float, plan: Array, w: Array, out: Array) -> float:
    """Solve for the rows of the plan; return the smallest norm of a row after orthogonalization [m].

    Args:
        task: the rows and the distance to the minimizer of the objective.
        gain: share of that distance that is covered in this step.
        plan: settings of the step; its work array gets the share of each row of J.
        w: (n,) K^-1/2; negative for a joint without cost.
        out: (n,) output: dtheta.
    """
    n = out.shape[0]
    step = view_plan(plan, n)
    rows, threshold, band, hold = step.rows, step.threshold, step.band, step.hold
    A, b, label, square, y = step.A, step.b, step.label, step.square, step.y
    for i in range(n):
        y[i] = task.offset[i] / w[i] if w[i] > 0.0 else 0.0
    for k in range(rows):
        row, scale = int(step.row[k]), step.scale[k]
        norm = 0.0
        for i in range(n):
            part = scale * task.J[row, i] * max(w[i], 0.0)
            A[k, i] = part
            norm += part * part
        b[k], label[k], square[k] = scale * task.t[row], k, norm
        step.share[row] = 1.0
    if step.free[0] > 0.0:
        _eliminate_free(task.J, w, step)
    least = np.inf
    for k in range(rows):
        # the row of this level with the largest remaining norm
        best = k
        for j in range(k + 1, rows):
            if step.level[j] == step.level[k] and square[j] > square[best]:
                best = j
        if best != k:
            for i in range(n):
                A[k, i], A[best, i] = A[best, i], A[k, i]
            b[k], b[best] = b[best], b[k]
            label[k], label[best] = label[best], label[k]
            square[k], square[best] = square[best], square[k]
        r = math.sqrt(square[k])
        step.remaining[k] = r
        x = min(max((r - threshold) / band, 0.0), 1.0) if band > 0.0 else (1.0 if r > threshold else 0.0)
        there = 1.0 if r > NOTHING else 0.0
        share = there * (x * x * (3.0 - 2.0 * x))
        inverse = there / max(r, NOTHING)
        taken = 1.0 - math.sqrt((1.0 - share) * (1.0 - hold))
        along = 0.0
        for i in range(n):
            A[k, i] *= inverse
            along += A[k, i] * y[i]
        gets = share * (b[k] * inverse)
        b[k], step.takes[k] = gets, taken
        for i in range(n):
            y[i] -= taken * along * A[k, i]
        for j in range(k + 1, rows):
            part = 0.0
            for i in range(n):
                part += A[j, i] * A[k, i]
            norm = 0.0
            for i in range(n):
                rest = A[j, i] - taken * part * A[k, i]
                A[j, i] = rest
                norm += rest * rest
            square[j] = norm
            b[j] -= part * gets
        place = int(label[k])
        if step.free[0] == 0.0 or step.theirs[place] == 0.0:
            step.share[int(step.row[place])] = share
            least = min(least, r)
    for i in range(n):
        out[i] = -gain * y[i]
    for k in range(rows - 1, -1, -1):
        along = 0.0
        for i in range(n):
            along += A[k, i] * out[i]
        along = b[k] - step.takes[k] * along
        for i in range(n):
            out[i] += along * A[k, i]
    if step.free[0] > 0.0:
        _finish_free(w, step, out)
    for i in range(n):
        out[i] *= w[i] if w[i] > 0.0 else 1.0
    return least


@kernel
def _eliminate_free(J: Array, w: Array, step: Plan) -> None:
    """Remove from ``[A | b]`` the demand that joints without cost can satisfy; rows assigned to them become zero."""
    n, rows, threshold = w.shape[0], step.rows, step.threshold
    A, b = step.A, step.b
    theirs, value, F, others = step.theirs, step.value, step.F, step.others
    for k in range(rows):
        row, scale = int(step.row[k]), step.scale[k]
        for i in range(n):
            F[k, i] = scale * J[row, i] if w[i] < 0.0 else 0.0
    for k in range(rows):
        norm = 0.0
        for i in range(n):
            norm += F[k, i] * F[k, i]
        r = math.sqrt(norm)
        theirs[k] = 1.0 if r > threshold and r > NOTHING else 0.0
        inverse = theirs[k] / max(r, NOTHING)
        value[k] = inverse * b[k]
        for i in range(n):
            others[k, i] = inverse * A[k, i]
            F[k, i] *= inverse + 1.0 - theirs[k]
        for j in range(k + 1, rows):
            part = 0.0
            for i in range(n):
                part += F[j, i] * F[k, i]
            for i in range(n):
                F[j, i] -= theirs[k] * part * F[k, i]
                A[j, i] -= part * others[k, i]
            b[j] -= part * value[k]
    # rows below that are assigned to the joints without cost also change the rows of the other joints
    for k in range(rows):
        for j in range(k + 1, rows):
            part = 0.0
            for i in range(n):
                part += F[k, i] * F[j, i]
            for i in range(n):
                A[k, i] -= part * others[j, i]
            b[k] -= part * value[j]
        norm = 0.0
        for i in range(n):
            A[k, i] *= 1.0 - theirs[k]
            norm += A[k, i] * A[k, i]
        step.square[k] = norm
        b[k] *= 1.0 - theirs[k]


@kernel
def _finish_free(w: Array, step: Plan, out: Array) -> None:
    """Move the joints without cost, with the least motion, to satisfy the remainder of the rows assigned to them."""
    n, rows = w.shape[0], step.rows
    theirs, value, F, others = step.theirs, step.value, step.F, step.others
    for k in range(rows):
        rest = value[k]
        for i in range(n):
            rest -= others[k, i] * out[i] * (1.0 if w[i] > 0.0 else 0.0)
        for i in range(n):
            out[i] += theirs[k] * rest * F[k, i]
