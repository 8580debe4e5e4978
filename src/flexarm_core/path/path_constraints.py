"""Constraints of a time law: tool and joint limits along a path as inequalities in (u, x).

``x = (ds/dt)^2`` and ``u = d2s/dt2`` at a path coordinate s. In a stage, u is constant, so that
``x(s) = x_i + 2 u (s - s_i)``. Every inequality has the form ``A u + B x <= 1``; the bound on a norm is replaced by a
polygon inscribed in the circle. :meth:`PathConstraints.peak` evaluates the original limits, also between grid points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.entrance import ANY, finite
from flexarm_core.errors import InputError
from flexarm_core.path.joint_path import JointPath
from flexarm_core.path.pose_path import PosePath
from flexarm_core.settings import Settings, setting
from flexarm_core.types import Array

SAMPLES = 4  # intervals of a stage at whose ends the limits are evaluated
PARTS = np.linspace(0.0, 1.0, SAMPLES + 1)
REFINEMENTS = 4  # how often a stage is split again if a limit may be exceeded between these points
FACES = 6  # edges of the polygon in half of the circle of a norm; exact at zero normal acceleration


@dataclass(frozen=True, slots=True)
class PathLimits(Settings):
    """Limits of the norms of tool velocity and acceleration."""

    # fmt: off
    linear_velocity: float = setting(0.25,
        "largest linear velocity of the tool, unless an action goal sets one", "m/s", 1e-6)
    linear_acceleration: float = setting(1.0,
        "largest linear acceleration of the tool, unless an action goal sets one",
        "m/s^2", 1e-6)
    angular_velocity: float = setting(1.0,
        "largest angular velocity of the tool, unless an action goal sets one", "rad/s", 1e-6)
    angular_acceleration: float = setting(4.0,
        "largest angular acceleration of the tool, unless an action goal sets one",
        "rad/s^2", 1e-6)
    # fmt: on


@dataclass(frozen=True, slots=True)
class PathConstraints:
    """Limits along a path as inequalities in (u, x).

    Attributes:
        path: tool path, or None.
        limits: tool limits, or None.
        joints: joint path over the same path coordinate, or None.
        velocity: (n,) joint velocity limits [rad/s | m/s].
        acceleration: (n,) joint acceleration limits [rad/s^2 | m/s^2].
    """

    path: PosePath | None
    limits: PathLimits | None
    joints: JointPath | None
    velocity: Array
    acceleration: Array

    def _terms(self, s: Array) -> list[tuple[Array, Array, float, float]]:
        """Return linear and angular part of the tool: first and second derivative (g, 3), both limits."""
        if self.path is None or self.limits is None:
            return []
        first, second = self.path.motions(s)
        a = self.limits
        return [
            (first[:, :3], second[:, :3], a.linear_velocity, a.linear_acceleration),
            (first[:, 3:], second[:, 3:], a.angular_velocity, a.angular_acceleration),
        ]

    def rows(self, s: Array) -> tuple[Array, Array]:
        """Return coefficients A, B (g, r) of ``A u + B x <= 1`` at coordinates (g,); see :meth:`PosePath.motions`."""
        A, B, squared = [], [], []
        angle = (np.arange(FACES) + 0.5) * np.pi / FACES
        apothem = np.cos(0.5 * np.pi / FACES)
        for first, second, v_max, a_max in self._terms(s):
            size = np.linalg.norm(first, axis=1)
            along = np.einsum("gi,gi->g", first, second) / np.where(size > 0.0, size, 1.0)
            across = np.sqrt(np.maximum(np.einsum("gi,gi->g", second, second) - along**2, 0.0))
            cosine, sine = np.cos(angle) / (apothem * a_max), np.sin(angle) / (apothem * a_max)
            A.append(np.outer(size, cosine))
            B.append(np.outer(along, cosine) + np.outer(across, sine))
            squared.append((size / v_max)[:, None] ** 2)
        if self.joints is not None:
            _, first, second = self.joints.sample(s)
            A += [first / self.acceleration, -first / self.acceleration]
            B += [second / self.acceleration, -second / self.acceleration]
            squared.append((first / self.velocity) ** 2)
        fastest = np.concatenate(squared, axis=1).max(axis=1, keepdims=True)
        return np.concatenate((0.0 * fastest, *A), axis=1), np.concatenate((fastest, *B), axis=1)

    def stage_rows(self, nodes: Array, every: int) -> tuple[Array, Array]:
        """Return the coefficients (stages, rows) of u and of x at the start of the stage.

        The inequalities hold at every ``every``-th sample of each stage.
        """
        lengths = np.diff(nodes)
        samples = nodes[:-1, None] + lengths[:, None] * PARTS
        samples[:, -1] = nodes[1:]  # so that inner nodes appear twice in succession
        A, B = (rows.reshape(len(lengths), SAMPLES + 1, -1)[:, ::every] for rows in self.rows(samples.ravel()))
        shift = lengths[:, None] * PARTS[::every]
        return (A + 2.0 * shift[..., None] * B).reshape(len(lengths), -1), B.reshape(len(lengths), -1)

    def peak(self, nodes: Array, x: Array) -> float:
        """Return the largest ratio of a squared velocity or an acceleration to its limit; all ratios scale with x."""
        return self._peak(nodes[:-1], np.diff(nodes), x[:-1], stage_accelerations(nodes, x), REFINEMENTS)

    def _peak(self, begin: Array, length: Array, x: Array, u: Array, refinements: int) -> float:
        """Compute :meth:`peak` for stages that need not be adjacent.

        The maximum of a ratio between samples is estimated by parabolas through three samples, times a safety factor of
        1.5 on the curvature. Stages whose estimate is clearly above their samples are split and sampled again.
        """
        shift = length[:, None] * PARTS
        s = begin[:, None] + shift
        us = np.repeat(u, len(PARTS))[:, None]
        xs = (x[:, None] + 2.0 * u[:, None] * shift).reshape(-1, 1)
        # The end of a stage is doubled, so that its derivatives are those from below; the second result is discarded.
        both = np.concatenate((s, s[:, -1:]), axis=1).ravel()
        inside = np.arange(len(both)) % (len(PARTS) + 1) < len(PARTS)
        ratios = []
        for first, second, v_max, a_max in self._terms(both):
            first, second = first[inside], second[inside]
            ratios.append(np.sum(first**2, axis=1, keepdims=True) * xs / v_max**2)
            ratios.append(np.sqrt(np.sum((first * us + second * xs) ** 2, axis=1, keepdims=True)) / a_max)
        if self.joints is not None:
            _, first, second = (rows[inside] for rows in self.joints.sample(both))
            ratios.append((first / self.velocity) ** 2 * xs)
            ratios.append(np.abs(first * us + second * xs) / self.acceleration)
        found = np.concatenate(ratios, axis=1).reshape(*s.shape, -1)
        highest = found.max(axis=(1, 2))
        rise = (found.max(axis=1) + 1.5 / 8.0 * np.abs(np.diff(found, 2, axis=1)).max(axis=1)).max(axis=1)
        unsure = (rise > highest.max()) & (rise > 1.01 * highest) if refinements else np.zeros(len(u), dtype=bool)
        peak = float(rise[~unsure].max(initial=highest.max()))
        if unsure.any():
            pieces = [rows[unsure, :-1].ravel() for rows in (s, xs.reshape(s.shape))]
            lengths, same = np.repeat(length[unsure] / SAMPLES, SAMPLES), np.repeat(u[unsure], SAMPLES)
            peak = max(peak, self._peak(pieces[0], lengths, pieces[1], same, refinements - 1))
        return peak


def path_constraints(
    path: PosePath | None,
    limits: PathLimits | None,
    joints: JointPath | None,
    velocity: Array | None,
    acceleration: Array | None,
) -> PathConstraints:
    """Return the constraints of a tool path, a joint path, or both.

    Raises:
        InputError: no path is given, a tool path has no length or no limits, or the arrays do not fit the paths.
    """
    if path is None and joints is None:
        raise InputError("time law: give a path of the tool, a joint path, or both")
    if path is not None and limits is None:
        raise InputError("time law: a path of the tool needs path limits")
    if path is not None:
        check_length(path)
    if joints is None:
        return PathConstraints(path, limits, None, np.zeros(0), np.zeros(0))
    n = joints.position.shape[1]
    bounds = []
    for name, values in (("joint_velocity", velocity), ("joint_acceleration", acceleration)):
        array = np.full(0, np.nan) if values is None else np.array(values, dtype=float)
        if array.shape != (n,) or not (array > 0.0).all():
            raise InputError(f"time law: {name} must be {n} limits > 0 for the joint path, got {values}")
        bounds.append(array)
    if path is not None:
        ends = joints.grid[[0, -1]]
        if not np.allclose(ends, (0.0, path.length), rtol=0.0, atol=1e-9 * (1.0 + path.length)):
            raise InputError(f"time law: the joint path covers {ends.tolist()} m, the path [0, {path.length:.9g}] m")
        doubled = joints.grid[1:][np.diff(joints.grid) == 0.0]
        lacking = np.setdiff1d(path.corners, doubled)
        if len(lacking):
            raise InputError(
                f"time law: the path has a corner at s = {lacking[0]:.6g} m, which must stand in the joint path's grid"
                " twice, with the derivatives before and behind it (timing_grid gives such a grid)"
            )
    return PathConstraints(path, limits, joints, *bounds)


def check_length(path: PosePath) -> None:
    """Raise InputError if the path has zero length."""
    if not path.length > 0.0:
        raise InputError("time law: the path has no length; draw a line, an arc or a spline first")


def stage_accelerations(nodes: Array, x: Array) -> Array:
    """Return the acceleration u of each stage."""
    return np.diff(finite("x", x, ANY)) / (2.0 * np.diff(nodes))
