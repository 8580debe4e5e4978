"""Constraints of a time law: limits of the tool and of the joints along a path, as conditions on (u, x).

``x = ds/dt^2`` and ``u = d2s/dt2`` at a coordinate s; stages have constant u, so that ``x(s) = x_i + 2 u (s - s_i)``.
Every condition has the form ``A u + B x <= 1``, a norm as a polygon inside its circle; :meth:`PathConstraints.peak`
measures the limits themselves, also between the points of the grid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.path.joint_path import JointPath
from flexarm_core.path.pose_path import PosePath
from flexarm_core.types import Array

SAMPLES = 4  # pieces of a stage at whose ends limits are measured,
PARTS = np.linspace(0.0, 1.0, SAMPLES + 1)
REFINEMENTS = 4  # how often pieces are split again where limits vary much between those
FACES = 6  # of the polygon in half the circle of a norm; its corners lie at no normal acceleration


@dataclass(frozen=True, slots=True)
class PathLimits:
    """What the tool may do.

    Attributes:
        linear_velocity: [m/s].
        linear_acceleration: [m/s^2].
        angular_velocity: [rad/s].
        angular_acceleration: [rad/s^2].
    """

    linear_velocity: float
    linear_acceleration: float
    angular_velocity: float
    angular_acceleration: float

    def __post_init__(self) -> None:
        """Raise ConfigError for limits that are not positive and finite."""
        for name in self.__slots__:
            if not 0.0 < getattr(self, name) < np.inf:
                raise ConfigError(f"path limit {name} must be > 0 and finite, got {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class PathConstraints:
    """Path and limits, as conditions on (u, x).

    Attributes:
        path: of the tool.
        limits: of the tool.
        joints: what the joints do along the path.
        velocity: (n,) of the joints [rad/s | m/s].
        acceleration: (n,) [rad/s^2 | m/s^2].
    """

    path: PosePath | None
    limits: PathLimits | None
    joints: JointPath | None
    velocity: Array
    acceleration: Array

    def _terms(self, s: Array) -> list[tuple[Array, Array, float, float]]:
        """Vectors (g, 3) of the tool: first and second derivative, limits of rate and acceleration."""
        if self.path is None or self.limits is None:
            return []
        first, second = self.path.motions(s)
        a = self.limits
        return [
            (first[:, :3], second[:, :3], a.linear_velocity, a.linear_acceleration),
            (first[:, 3:], second[:, 3:], a.angular_velocity, a.angular_acceleration),
        ]

    def rows(self, s: Array) -> tuple[Array, Array]:
        """Coefficients A, B (g, r) of ``A u + B x <= 1`` at coordinates (g,), both sides where one stands twice."""
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
        """Coefficients (stages, rows) on u and on x at the beginning of the stage, at every so many samples."""
        lengths = np.diff(nodes)
        samples = nodes[:-1, None] + lengths[:, None] * PARTS
        samples[:, -1] = nodes[1:]  # ends of stages stand twice
        A, B = (rows.reshape(len(lengths), SAMPLES + 1, -1)[:, ::every] for rows in self.rows(samples.ravel()))
        shift = lengths[:, None] * PARTS[::every]
        return (A + 2.0 * shift[..., None] * B).reshape(len(lengths), -1), B.reshape(len(lengths), -1)

    def peak(self, nodes: Array, x: Array) -> float:
        """Largest ratio of a squared rate or an acceleration to its limit along stages; all ratios scale with x."""
        return self._peak(nodes[:-1], np.diff(nodes), x[:-1], stage_accelerations(nodes, x), REFINEMENTS)

    def _peak(self, begin: Array, length: Array, x: Array, u: Array, refinements: int) -> float:
        """As :meth:`peak`, of any stages.

        Between samples a ratio may rise as a parabola through three of them says, and half as much again; stages in
        which that is much are split and looked at closely.
        """
        shift = length[:, None] * PARTS
        s = begin[:, None] + shift
        us = np.repeat(u, len(PARTS))[:, None]
        xs = (x[:, None] + 2.0 * u[:, None] * shift).reshape(-1, 1)
        # The end of a stage stands twice, so that it is read from inside the stage; the second reading is left out.
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
    """Constraints of a path of the tool, of joints, or of both.

    Raises:
        InputError: nothing to move along, or arrays that do not fit.
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
    """Raise InputError for a path without length."""
    if not path.length > 0.0:
        raise InputError("time law: the path has no length; draw a line, an arc or a spline first")


def stage_accelerations(nodes: Array, x: Array) -> Array:
    """Acceleration u of each stage."""
    return np.diff(x) / (2.0 * np.diff(nodes))
