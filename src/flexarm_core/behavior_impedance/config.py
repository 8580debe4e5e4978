"""ImpedanceConfig: the matrices of the law and how its behaviours change hands."""

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

    Matrices of the tool are (6,) diagonals or (36,) row by row, rows and columns ``[x y z rx ry rz]``, symmetric; those
    of the redundant joints' space are one number for all joints, (n,) diagonals or (n * n,), of which the part in that
    space counts.

    Attributes:
        inertia: M > 0 [kg, kg*m, kg*m^2].
        damping: B >= 0, > 0 without inertia [N*s/m, N*s, N*m*s/rad].
        stiffness: K >= 0, between the tool and the set-point [N/m, N, N*m/rad].
        frame: whose axes they are in: ``base``, or those of the set-point of the ``tool``.
        variant: ``acceleration`` is computed first (claim 2 of seed 002), or ``velocity``, without inertia (claim 3).
        joint_inertia: of the redundant joints' space, > 0 [kg*m^2 | kg].
        joint_damping: of the redundant joints' space, >= 0 [N*m*s/rad | N*s/m].
        axes: (6,) which of x y z rx ry rz the tool holds; the others are free for the joints.
        transition_acceleration: (3) largest step of the commanded acceleration from one sample to the next that a
            change of behaviours causes: of the tool [m/s^2], of its turning [rad/s^2], of a redundant joint [rad/s^2 |
            m/s^2].
        mapping_damping: of the inverse Jacobian by which joint efforts act on the tool [m].
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
        """Raise ConfigError for values that have no meaning."""
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
        """All that the compiled law needs, for n joints: see :mod:`law` for where it lies.

        Raises:
            ConfigError: joint matrices of another number of joints, or not positive.
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
    """Numbers as a (k, k) matrix."""
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
    """The matrix, if it is symmetric and has no negative eigenvalue, or none that is not positive."""
    scale = max(np.abs(matrix).max(), 1e-300)
    if np.abs(matrix - matrix.T).max() > 1e-9 * scale:
        raise ConfigError(f"{name} must be symmetric, got {matrix.tolist()}")
    # each direction against its own size: translations and rotations differ by powers of ten
    roots = np.sqrt(np.abs(np.diag(matrix)))
    unit = np.where(roots > 0.0, roots, 1.0)
    least = float(np.linalg.eigvalsh(matrix / np.outer(unit, unit))[0])
    if least < (1e-9 if positive else -1e-9):
        kind = "positive definite" if positive else "positive semidefinite"
        raise ConfigError(f"{name} must be {kind}: an eigenvalue of it is {'not > 0' if positive else '< 0'}")
    return matrix
