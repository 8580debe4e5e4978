"""ImpedanceConfig: the matrices of the law, and the limits on transitions between behaviors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from flexarm_core.behavior_impedance.setting import LARGEST
from flexarm_core.errors import ConfigError
from flexarm_core.types import Array

VARIANTS = ("acceleration", "velocity")
FRAMES = ("base", "tool")


@dataclass(frozen=True, slots=True)
class ImpedanceConfig:
    """Settings of the law.

    Tool matrices are symmetric and given as a (6,) diagonal or as (36,) elements row by row, with rows and columns
    ``[x y z rx ry rz]``. Joint matrices are given as one number for all joints, as an (n,) diagonal or as (n * n,)
    elements; they are projected onto the redundant (null) space.

    Attributes:
        inertia: M > 0 [kg, kg*m, kg*m^2].
        damping: B >= 0; must be > 0 in the ``velocity`` variant [N*s/m, N*s, N*m*s/rad].
        stiffness: K >= 0, between the tool and the set-point [N/m, N, N*m/rad].
        frame: axes of the tool matrices: ``base`` (base link axes) or ``tool`` (axes of the tool's set-point).
        variant: ``acceleration``: the law gives an acceleration (claim 2 of seed 002); ``velocity``: the law has no
            inertia and gives a velocity (claim 3).
        joint_inertia: inertia in the redundant space, > 0 [kg*m^2 | kg].
        joint_damping: damping in the redundant space, >= 0 [N*m*s/rad | N*s/m].
        axes: (6,) which of x y z rx ry rz of the tool are controlled; the other axes are left to the redundant space.
        transition_acceleration: (3) largest step in the commanded acceleration, from one sample to the next, that a
            change of behaviors may cause: translation of the tool [m/s^2], rotation of the tool [rad/s^2], redundant
            joint [rad/s^2 | m/s^2].
        mapping_damping: damping of the inverse Jacobian that maps joint efforts to the tool [m].
    """

    inertia: tuple[float, ...] = (5.0, 5.0, 5.0, 0.2, 0.2, 0.2)
    damping: tuple[float, ...] = (300.0, 300.0, 300.0, 10.0, 10.0, 10.0)
    stiffness: tuple[float, ...] = (2000.0, 2000.0, 2000.0, 100.0, 100.0, 100.0)
    frame: str = "base"
    variant: str = "acceleration"
    joint_inertia: tuple[float, ...] = (1.0,)
    joint_damping: tuple[float, ...] = (10.0,)
    axes: tuple[bool, ...] = (True, True, True, True, True, True)
    transition_acceleration: tuple[float, float, float] = (0.5, 2.0, 2.0)
    mapping_damping: float = 0.01

    def __post_init__(self) -> None:
        """Raise ConfigError for invalid values."""
        for name, valid in (("frame", FRAMES), ("variant", VARIANTS)):
            if getattr(self, name) not in valid:
                raise ConfigError(f"{name} '{getattr(self, name)}' is unknown; valid: {', '.join(valid)}")
        for name in ("inertia", "damping", "stiffness"):
            _definite(name, _matrix(name, getattr(self, name), 6, (6, 36)), self._must_be_positive(name))
        if len(self.axes) != 6 or not any(self.axes):
            raise ConfigError(f"axes must be six of yes or no, one at least yes, for x y z rx ry rz; got {self.axes}")
        steps = self.transition_acceleration
        if len(steps) != 3 or not all(math.isfinite(step) and step > 0.0 for step in steps):
            raise ConfigError(f"transition_acceleration must be three numbers > 0, got {steps}")
        if not (math.isfinite(self.mapping_damping) and self.mapping_damping > 0.0):
            raise ConfigError(f"mapping_damping must be > 0 m, got {self.mapping_damping}")

    def _must_be_positive(self, name: str) -> bool:
        return name == "inertia" or (name == "damping" and self.variant == "velocity")

    def table(self, n: int) -> Array:
        """Return all settings as the array that the compiled law reads, for n joints.

        Raises:
            ConfigError: joint matrices have the wrong size for n joints, or are not positive.
        """
        tool = [_matrix(name, getattr(self, name), 6, (6, 36)) for name in ("inertia", "damping", "stiffness")]
        if self.variant == "velocity":
            tool[0] = np.zeros((6, 6))
        joints = []
        for name, positive in (("joint_inertia", True), ("joint_damping", False)):
            joints.append(_definite(name, _matrix(name, getattr(self, name), n, (1, n, n * n)), positive))
        settings = [float(self.frame == "tool"), self.mapping_damping, *self.transition_acceleration]
        parts = [np.array(settings), np.array(self.axes, dtype=float), *(matrix.ravel() for matrix in (*tool, *joints))]
        return np.concatenate(parts)


def _matrix(name: str, values: tuple[float, ...], k: int, sizes: tuple[int, ...]) -> Array:
    """Return a list of numbers as a (k, k) matrix."""
    try:
        array: Array = np.array(values, dtype=float)
    except (TypeError, ValueError):
        array = np.array(math.nan)
    if array.ndim != 1 or array.size not in sizes or not np.isfinite(array).all():
        wanted = " or ".join(str(size) for size in dict.fromkeys(sizes))
        raise ConfigError(f"{name} needs {wanted} finite numbers, got {values}")
    if np.abs(array).max() > LARGEST:
        raise ConfigError(f"{name} must be no larger than {LARGEST:g}, got {values}")
    return array.reshape(k, k) if array.size == k * k and k > 1 else np.eye(k) * array


def _definite(name: str, matrix: Array, positive: bool) -> Array:
    """Return the matrix if it is symmetric and positive definite (``positive``) or positive semidefinite."""
    scale = max(np.abs(matrix).max(), 1e-300)
    if np.abs(matrix - matrix.T).max() > 1e-9 * scale:
        raise ConfigError(f"{name} must be symmetric, got {matrix.tolist()}")
    # scale to a unit diagonal first: translational and rotational elements differ by orders of magnitude
    roots = np.sqrt(np.abs(np.diag(matrix)))
    unit = np.where(roots > 0.0, roots, 1.0)
    least = float(np.linalg.eigvalsh(matrix / np.outer(unit, unit))[0])
    if least < (1e-9 if positive else -1e-9):
        kind = "positive definite" if positive else "positive semidefinite"
        raise ConfigError(f"{name} must be {kind}: an eigenvalue of it is {'not > 0' if positive else '< 0'}")
    return matrix
