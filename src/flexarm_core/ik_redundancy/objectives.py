r"""Objectives of the joints: convex functions referenced to an origin (claims 1 to 3, 13), as the step takes them.

The step minimises ``sum k_i (theta_i + dtheta_i - theta_i0)^2 / 2``. Any smooth objective ``H`` becomes that by its
expansion at the present joints with a diagonal curvature ``h``::

    H(theta + d) = H + g . d + sum h_i d_i^2 / 2   =>   k = h,  theta_0 = theta - g / h

and is expanded anew at every sample. Objectives add up: ``h = sum h_j``, ``g = sum g_j``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.types import Array

NEAREST = 1e-3  # share of the half range that the barrier keeps between a joint and its limit, so that it stays finite
DIFFERENCE = 1e-4  # [rad | m] step of the differences of a function that gives values only


class Objective(Protocol):
    """What the spare joints are used for."""

    def expand(self, position: Array) -> tuple[Array, Array]:
        """Gradient (n,) and diagonal curvature (n,) >= 0 at joint positions (n,)."""


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
        """Gradient and curvature."""
        return self.weights * (position - self.origin), self.weights


@dataclass(frozen=True, slots=True)
class JointRange:
    """Barrier of the joint ranges: ``H = -weight sum ln(1 - x_i^2)``, x from -1 at the lower to 1 at the upper limit.

    It is convex, least in the middle and grows without bound towards the limits. Joints that lack one do not count.

    Attributes:
        lower: (n,) [rad | m].
        upper: (n,)
        weight: of the whole.
    """

    lower: Array
    upper: Array
    weight: float = 1.0

    def expand(self, position: Array) -> tuple[Array, Array]:
        """Gradient ``2 x / (1 - x^2)`` and curvature ``2 (1 + x^2) / (1 - x^2)^2`` by the half range."""
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
    """``H = -weight ln m``, ``m = sqrt(det(J J^T))`` (Yoshikawa 1985): away from singularities.

    It is not convex; the curvature ``weight (g_i^2 + 1)`` keeps every step below half a radian. Near a singularity the
    gradient is bounded by a small damping of ``J J^T``.

    Attributes:
        chain: of the arm.
        weight: of the whole.
        length_scale: by which the rows of the rotation count [m/rad].
    """

    chain: Chain
    weight: float = 1.0
    length_scale: float = 0.3

    def expand(self, position: Array) -> tuple[Array, Array]:
        """Gradient ``-tr(J^+ dJ/dtheta_j)`` and curvature."""
        _, _, J = self.chain.kinematics(position)
        scale = np.repeat([1.0, self.length_scale], 3)[:, None]
        scaled = scale * J
        inverse = np.linalg.solve(scaled @ scaled.T + 1e-6 * np.eye(6), scaled)  # (J J^T)^-1 J
        gradient = np.array([-np.sum(inverse * scale * dJ) for dJ in jacobian_derivatives(J)])
        return self.weight * gradient, self.weight * (gradient**2 + 1.0)


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the user's: joint positions (n,) to a number, least where it is best; differentiated numerically.

    Attributes:
        value: the function.
        least_curvature: with which every joint counts at least; what is not convex is made so.
    """

    value: Callable[[Array], float]
    least_curvature: float = 1e-3

    def expand(self, position: Array) -> tuple[Array, Array]:
        """Central differences."""
        here, n = float(self.value(position)), len(position)
        ahead, behind = np.empty(n), np.empty(n)
        for i, step in enumerate(np.eye(n) * DIFFERENCE):
            ahead[i], behind[i] = self.value(position + step), self.value(position - step)
        curvature = (ahead - 2.0 * here + behind) / DIFFERENCE**2
        return (ahead - behind) / (2.0 * DIFFERENCE), np.maximum(curvature, self.least_curvature)


@dataclass(frozen=True, slots=True)
class Sum:
    """Several objectives at once.

    Attributes:
        terms: added up.
    """

    terms: Sequence[Objective]

    def expand(self, position: Array) -> tuple[Array, Array]:
        """Sum of gradients and curvatures."""
        gradients, curvatures = zip(*(term.expand(position) for term in self.terms), strict=True)
        return np.sum(gradients, axis=0), np.sum(curvatures, axis=0)


def quadratic_form(objective: Objective, position: Array) -> tuple[Array, Array]:
    """Weights ``k`` (n,) and origin ``theta_0`` (n,) of an objective at joint positions (n,).

    Raises:
        ConfigError: the objective gives other than n finite numbers, a negative curvature, or no curvature at all.
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
    """``dJ/dtheta_j`` (n, 6, n) of a chain with the Jacobian J (6, n): joint ``j`` turns what lies outboard of it.

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
