r"""Objectives of redundancy resolution: convex functions referenced to an origin (claims 1 to 3, 13).

The step minimizes ``sum k_i (theta_i + dtheta_i - theta_i0)^2 / 2``. Any smooth objective ``H`` takes this form by
expansion at the current joint positions with a diagonal curvature ``h``::

    H(theta + d) = H + g . d + sum h_i d_i^2 / 2   =>   k = h,  theta_0 = theta - g / h

The expansion is repeated at every sample. Objectives are additive: ``h = sum h_j``, ``g = sum g_j``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.types import Array

NEAREST = 1e-3  # smallest distance to a limit, relative to half the range, in the barrier function: keeps it finite
DIFFERENCE = 1e-4  # [rad | m] step of the finite differences of a custom function


class Objective(Protocol):
    """Objective of the null-space motion."""

    def expand(self, position: Array) -> tuple[Array, Array]:
        """Return gradient (n,) and diagonal curvature (n,) >= 0 at joint positions (n,)."""


@dataclass(frozen=True, slots=True)
class Quadratic:
    """``H = sum k_i (theta_i - theta_i0)^2 / 2``.

    Attributes:
        weights: (n,) k_i >= 0.
        origin: (n,) theta_0 [rad | m].
    """

    weights: Array
    origin: Array

    def expand(self, position: Array) -> tuple[Array, Array]:
        """Return gradient and curvature."""
        return self.weights * (position - self.origin), self.weights


@dataclass(frozen=True, slots=True)
class JointRange:
    """Barrier of the joint ranges: ``H = -weight sum ln(1 - x_i^2)``, x from -1 at the lower to 1 at the upper limit.

    It is convex, minimal at mid-range and grows without bound towards the limits. Joints without both limits are
    ignored.

    Attributes:
        lower: (n,) lower position limits [rad | m].
        upper: (n,) upper position limits [rad | m].
        weight: weight of the objective.
    """

    lower: Array
    upper: Array
    weight: float = 1.0

    def expand(self, position: Array) -> tuple[Array, Array]:
        """Return gradient ``2 x / (1 - x^2)`` and curvature ``2 (1 + x^2) / (1 - x^2)^2``, scaled by half the range."""
        limited = np.isfinite(self.lower) & np.isfinite(self.upper)
        upper, lower = np.where(limited, self.upper, position + 1.0), np.where(limited, self.lower, position - 1.0)
        half, middle = 0.5 * (upper - lower), 0.5 * (upper + lower)
        x = np.clip((position - middle) / half, NEAREST - 1.0, 1.0 - NEAREST)
        rest = 1.0 - x * x
        return (
            np.where(limited, 2.0 * self.weight * x / (rest * half), 0.0),
            np.where(limited, 2.0 * self.weight * (1.0 + x * x) / (rest * half) ** 2, 0.0),
        )


@dataclass(frozen=True, slots=True)
class Manipulability:
    """``H = -weight ln m``, ``m = sqrt(det(J J^T))`` (Yoshikawa 1985): keeps the arm away from singularities.

    It is not convex; the curvature ``weight (g_i^2 + 1)`` keeps every step below half a radian. Near a singularity the
    gradient is bounded by a small damping of ``J J^T``.

    Attributes:
        chain: chain of the arm.
        weight: weight of the objective.
        length_scale: scale of the rotation rows relative to the position rows [m/rad].
    """

    chain: Chain
    weight: float = 1.0
    length_scale: float = 0.3

    def expand(self, position: Array) -> tuple[Array, Array]:
        """Return gradient ``-tr(J^+ dJ/dtheta_j)`` and curvature."""
        _, _, J = self.chain.kinematics(position)
        scale = np.repeat([1.0, self.length_scale], 3)[:, None]
        scaled = scale * J
        inverse = np.linalg.solve(scaled @ scaled.T + 1e-6 * np.eye(6), scaled)  # (J J^T)^-1 J
        gradient = np.array([-np.sum(inverse * scale * dJ) for dJ in jacobian_derivatives(J)])
        return self.weight * gradient, self.weight * (gradient**2 + 1.0)


@dataclass(frozen=True, slots=True)
class Function:
    """Custom function of joint positions (n,) to minimize, differentiated numerically.

    Attributes:
        value: the function.
        least_curvature: lower bound of the curvature of every joint, which makes the expansion convex.
    """

    value: Callable[[Array], float]
    least_curvature: float = 1e-3

    def expand(self, position: Array) -> tuple[Array, Array]:
        """Return gradient and curvature by central differences."""
        here, n = float(self.value(position)), len(position)
        ahead, behind = np.empty(n), np.empty(n)
        for i, step in enumerate(np.eye(n) * DIFFERENCE):
            ahead[i], behind[i] = self.value(position + step), self.value(position - step)
        curvature = (ahead - 2.0 * here + behind) / DIFFERENCE**2
        return (ahead - behind) / (2.0 * DIFFERENCE), np.maximum(curvature, self.least_curvature)


@dataclass(frozen=True, slots=True)
class Sum:
    """Sum of several objectives.

    Attributes:
        terms: the objectives.
    """

    terms: Sequence[Objective]

    def expand(self, position: Array) -> tuple[Array, Array]:
        """Return the sums of gradients and curvatures."""
        gradients, curvatures = zip(*(term.expand(position) for term in self.terms), strict=True)
        return np.sum(gradients, axis=0), np.sum(curvatures, axis=0)


def quadratic_form(objective: Objective, position: Array) -> tuple[Array, Array]:
    """Compute weights ``k`` (n,) and origin ``theta_0`` (n,) of an objective at joint positions (n,).

    Raises:
        ConfigError: the objective does not return n finite numbers each, or the curvature is negative or all zero.
    """
    n = len(position)
    try:
        gradient, curvature = (np.asarray(value, dtype=float) for value in objective.expand(position))
    except (TypeError, ValueError) as error:
        raise ConfigError(f"the objective cannot be expanded at {position}: {error}") from error
    fits = gradient.shape == curvature.shape == (n,) and np.isfinite(gradient).all() and np.isfinite(curvature).all()
    if not fits or (curvature < 0.0).any() or not (curvature > 0.0).any():
        raise ConfigError(
            f"an objective must give a gradient and a curvature >= 0, not all zero, of {n} finite numbers each;"
            f" got {gradient} and {curvature}"
        )
    pulled = curvature > 0.0
    return curvature, np.where(pulled, position - gradient / np.where(pulled, curvature, 1.0), position)


def jacobian_derivatives(J: Array) -> Array:
    """Compute ``dJ/dtheta_j`` (n, 6, n) of a chain with the Jacobian J (6, n).

    For columns ``[v_i; w_i]``: ``dv_i/dtheta_j = w_j x v_i`` for ``j <= i``, ``w_i x v_j`` for ``j > i``;
    ``dw_i/dtheta_j = w_j x w_i`` for ``j <= i``, else 0. Prismatic joints have ``w = 0``.
    """
    v, w = J[:3].T, J[3:].T
    n = len(v)
    out = np.zeros((n, 6, n))
    for j in range(n):
        for i in range(n):
            if j <= i:
                out[j, :3, i] = np.cross(w[j], v[i])
                out[j, 3:, i] = np.cross(w[j], w[i])
            else:
                out[j, :3, i] = np.cross(w[i], v[j])
    return out
