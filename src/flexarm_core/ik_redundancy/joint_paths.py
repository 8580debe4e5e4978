"""All joint paths along a tool path that a redundant arm can take within its limits, found layer by layer.

The joint positions that reach one pose of the path form curves (one spare joint) or surfaces. From those of one layer
that can be reached, those of the next layer follow: the nearest ones, and ones some steps of self-motion aside. Of all
within one cell of the joint space, the one with the least motion since the start is kept: a shortest path in a graph.
With one spare joint only passages narrower than a cell or shorter than the spacing of layers are missed; with more, a
layer has a largest size, so that more may be missed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import allocating_kernel
from flexarm_core.ik_redundancy.chain import Chain, tool_kinematics
from flexarm_core.ik_redundancy.solver_memory import solver_memory, view_solver
from flexarm_core.ik_redundancy.tracking import reach
from flexarm_core.path.pose_path import PosePath
from flexarm_core.types import Array

CELL = 0.08  # [rad | m] size of a cell of the joint space, and of a step of self-motion
ASIDE = 8  # steps of self-motion from one layer to the next
JUMP = 0.32  # [rad | m] largest motion of a joint in one step
SPACING = 0.01  # [m] of layers along the path
FEWEST, MOST = 50, 2000  # layers
STEEP = 0.12  # [rad | m] motion between two layers above which layers are added
DENSER = 8  # as many layers as one
FINEST = 1e-4  # smallest spacing of layers, as a share of the path
NODES = 1000  # joint positions of a layer: of more, those of least motion


class _Reached(NamedTuple):
    """Joint positions that reach a pose."""

    position: Array  # (k, n) joint positions [rad | m]
    J: Array  # (k, 6, n) Jacobians
    before: NDArray[np.intp]  # (k,) index of the one in the layer before
    motion: Array  # (k,) least integral of squared joint motion per path length since the start


class Layer(NamedTuple):
    """Joint positions that can be reached at one point of the path."""

    s: float  # path coordinate [m]
    position: Array  # (k, n) joint positions [rad | m]
    before: NDArray[np.intp]  # (k,) index of the one in the layer before
    motion: Array  # (k,) least integral of squared joint motion per path length since the start


def even_layers(path: PosePath) -> Array:
    """Return path coordinates (g,) [m] of even layers."""
    return np.linspace(0.0, path.length, min(max(math.ceil(path.length / SPACING), FEWEST), MOST) + 1)


def more_layers(grid: Array, position: Array) -> Array:
    """Return path coordinates (more,) with layers added where a joint path (g, n) moves too far between two."""
    steep = np.flatnonzero(np.abs(np.diff(position, axis=0)).max(axis=1) > STEEP)
    between = grid[steep, None] + np.diff(grid)[steep, None] * np.linspace(0.0, 1.0, DENSER, endpoint=False)
    return np.union1d(grid, between)


def joint_paths(
    chain: Chain,
    limits: Array,
    plan: Array,
    axes: NDArray[np.bool_],
    tolerance: Array,
    path: PosePath,
    start: Array,
    grid: Array,
) -> list[Layer]:
    """Search the joint paths from a start along a tool path, until its end or as far as there are some.

    Args:
        chain: kinematic chain of the arm.
        limits: (4, n) joint limits, see :meth:`MotionLimits.table`.
        plan: settings of the step.
        axes: (6,) controlled axes of the tool, fewer than joints.
        tolerance: (6,) tolerated pose error `[m; rad]`.
        path: path of the tool.
        grid: (g,) path coordinates of the layers, from 0 to the end [m].
        start: (n,) joint positions at its start [rad | m].
    """
    layers = [Layer(0.0, start[None], np.zeros(1, dtype=np.intp), np.zeros(1))]
    spare, (memory, solver) = chain.n - int(axes.sum()), solver_memory(chain.links, limits)
    solver.request.gain[0] = 1.0

    def moved(origins: Array, q: Array, before: NDArray[np.intp]) -> _Reached:
        """Move joint positions (k, n) to a pose near origins (k, n); those that reach it without a jump."""
        there, error, J = np.copy(q), np.empty((len(q), 6)), np.empty((len(q), 6, chain.n))
        reach_all(memory, plan, origins, there, error, J)
        near = np.abs(there - q).max(axis=1) <= JUMP
        kept = near & (np.abs(error[:, axes]) <= tolerance[axes]).all(axis=1)
        there, before = there[kept], before[kept]
        step = there - last.position[before]
        return _Reached(there, J[kept], before, last.motion[before] + (step * step).sum(axis=1) / (s - last.s))

    ahead = grid[:0:-1].tolist()
    while ahead and len(layers) <= MOST:
        s, last = ahead.pop(), layers[-1]
        solver.request.position[:], solver.request.rotation[:] = path.pose(s)
        found = moved(last.position, last.position, np.arange(len(last.position)))
        new = np.arange(len(found.position))
        for _ in range(ASIDE):
            if not new.size or len(found.position) > NODES:
                break
            q = found.position[new]
            free = np.linalg.svd(found.J[new][:, axes])[2][:, -spare:].transpose(1, 0, 2)  # (spare, k, n) self-motions
            free *= CELL / np.abs(free).max(axis=2, keepdims=True)
            origins = np.concatenate((q + free, q - free)).reshape(-1, chain.n)
            more = moved(origins, np.tile(q, (2 * spare, 1)), np.tile(found.before[new], 2 * spare))
            known = len(found.position)
            found = _Reached._make(np.concatenate(both) for both in zip(found, more, strict=True))
            kept = _cheapest(found.position, found.motion)
            found, new = _Reached._make(part[kept] for part in found), np.flatnonzero(kept >= known)
        if len(found.position) > NODES:
            cheapest = np.argsort(found.motion, kind="stable")[:NODES]
            found = _Reached._make(part[cheapest] for part in found)
        if found.position.size:
            layers.append(Layer(s, found.position, found.before, found.motion))
        elif s - last.s > FINEST * path.length:
            ahead += [s, 0.5 * (last.s + s)]
        else:
            break
    return layers


def shortest(layers: list[Layer], end: Array | None = None) -> Array | None:
    """Return the joint path (layers, n) of least motion; None if none ends at the joint positions ``end`` (n,)."""
    last = layers[-1]
    at = int(last.motion.argmin())
    if end is not None:
        away = np.abs(last.position - end).max(axis=1)
        ends = np.flatnonzero(away <= 2.0 * CELL)
        if not ends.size:
            return None
        at = int(ends[last.motion[ends].argmin()])
    found = []
    for layer in reversed(layers):
        found.append(layer.position[at])
        at = int(layer.before[at])
    if end is not None:
        found[0] = end
    return np.array(found[::-1])


def _cheapest(position: Array, motion: Array) -> NDArray[np.intp]:
    """Return the index of the one of least motion (k,) among joint positions (k, n) of each cell."""
    order = np.argsort(motion, kind="stable")
    return order[np.unique(np.round(position[order] / CELL), axis=0, return_index=True)[1]]


@allocating_kernel
def reach_all(memory: Array, plan: Array, origins: Array, q: Array, errors: Array, J: Array) -> None:
    """Move joint positions ``q`` (k, n) to the requested pose, each to the place nearest to its origin (k, n).

    Writes their pose errors (k, 6) `[m; rad]` and Jacobians (k, 6, n).
    """
    solver = view_solver(memory, q.shape[1])
    for k in range(q.shape[0]):
        solver.request.origin[:] = origins[k]
        reach(memory, plan, q[k])
        errors[k] = solver.track.error
        tool_kinematics(solver.links, q[k], solver.track.p, solver.track.R, J[k])
