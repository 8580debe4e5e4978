"""Memory of the redundancy solver: one flat array, the cheapest argument of a kernel, and what lies in it."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from flexarm_core.compiled import views
from flexarm_core.robot.kinematic_chain import COLUMNS
from flexarm_core.types import Array


class Request(NamedTuple):
    """Requested pose of a sample, and that of the sample before."""

    position: Annotated[Array, 3]  # desired position at the end of the sample [m]
    rotation: Annotated[Array, 3, 3]  # desired rotation at the end of the sample
    motion: Annotated[Array, 6]  # motion of the desired pose in this sample `[m; rad]`
    origin: Annotated[Array, "n"]  # theta_0
    dt: Annotated[Array, 1]  # sampling period [s]
    # share of the distance to the minimizer of the objective that is covered in a step
    gain: Annotated[Array, 1]
    corrections: Annotated[Array, 1]  # number of corrections
    # damping of the method damped_least_squares; negative: the method is orthogonalization
    damping: Annotated[Array, 1]
    known: Annotated[Array, 1]  # 1 if the sample before followed a pose
    last_position: Annotated[Array, 3]  # that pose [m]
    last_rotation: Annotated[Array, 3, 3]


class TrackMemory(NamedTuple):
    """Work array of a sample."""

    error: Annotated[Array, 6]  # pose error after the sample `[m; rad]`
    # time in which the fastest joint would reach its speed from rest [s]; kept between samples
    begun: Annotated[Array, 1]
    p: Annotated[Array, 3]  # tool position [m]
    R: Annotated[Array, 3, 3]  # tool rotation
    J: Annotated[Array, 6, "n"]  # Jacobian
    p0: Annotated[Array, 3]  # tool position at the start of the sample [m]
    R0: Annotated[Array, 3, 3]  # tool rotation at the start of the sample
    t: Annotated[Array, 6]  # displacement of the tool, along rotated rows
    turn: Annotated[Array, 3]  # rotation error [rad]
    bounds: Annotated[Array, 2, "n"]  # smallest and largest displacements of the sample
    left: Annotated[Array, 2, "n"]  # those that remain
    offset: Annotated[Array, "n"]  # distance to the minimizer of the objective
    x: Annotated[Array, "n"]  # joint positions after the sample
    d: Annotated[Array, "n"]  # joint displacement of one step
    goal: Annotated[Array, 6]  # displacement that the rotated rows shall get
    later: Annotated[Array, 2, 6]  # shares of a correction
    Q: Annotated[Array, 6, 6]  # rotation of the rows
    pose: Annotated[Array, 6]  # pose error
    H: Annotated[Array, 6, "n"]  # rotated rows of the Jacobian
    A: Annotated[Array, 6, "n"]  # this and the next: work arrays of ``turn_rows``
    length: Annotated[Array, 6]


view_track = views(TrackMemory, "n")


class SolverMemory(NamedTuple):
    """Arm, request, results and work array."""

    rows: int  # number of rows of ``links``
    links: Annotated[Array, "rows", COLUMNS]  # of the chain
    limits: Annotated[Array, 4, "n"]  # see :meth:`MotionLimits.table`
    request: Request
    # output: share of each tool axis that is realized after singularity handling, and after limits
    share: Annotated[Array, 2, 6]
    least: Annotated[Array, 1]  # output: smallest norm of a row after orthogonalization, before limits [m]
    track: TrackMemory


view_solver = views(SolverMemory, "n")


def solver_memory(links: Array, limits: Array) -> tuple[Array, SolverMemory]:
    """Return the memory for an arm, and the views of it: without a request, all shares 1.

    Args:
        links: links of the chain.
        limits: (4, n) joint limits, see :meth:`MotionLimits.table`.
    """
    n = limits.shape[1]
    memory = np.zeros(view_solver.size(n, len(links)))
    memory[0] = len(links)
    parts: SolverMemory = view_solver(memory, n)
    parts.links[:], parts.limits[:], parts.share[:] = links, limits, 1.0
    return memory, parts
