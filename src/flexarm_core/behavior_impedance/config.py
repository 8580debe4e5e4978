"""ImpedanceConfig: the matrices of the law, and the limits on transitions between behaviors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.behavior_impedance import layout
from flexarm_core.behavior_impedance.setting import LARGEST
from flexarm_core.compiled import pack
from flexarm_core.errors import ConfigError
from flexarm_core.settings import Settings, setting
from flexarm_core.types import Array

VARIANTS = ("acceleration", "velocity")
FRAMES = ("base", "tool")


@dataclass(frozen=True, slots=True)
class ImpedanceConfig(Settings):
    """Settings of the law.

    Tool matrices are symmetric and given as a (6,) diagonal or as (36,) elements row by row, with rows and columns
    ``[x y z rx ry rz]``. Joint matrices are given as one number for all joints, as an (n,) diagonal or as (n * n,)
    elements; they are projected onto the redundant (null) space. Inertia must be > 0, damping > 0 in the ``velocity``
    variant (patent claim 3) and >= 0 in the ``acceleration`` variant (claim 2), stiffness >= 0.
    """

    # fmt: off
    inertia: tuple[float, ...] = setting((5.0, 5.0, 5.0, 0.2, 0.2, 0.2),
        "desired inertia M of the tool impedance: diagonal, or full matrix row by row; unused in variant velocity",
        "kg, kg*m, kg*m^2")
    damping: tuple[float, ...] = setting((300.0, 300.0, 300.0, 10.0, 10.0, 10.0),
        "desired damping B of the tool impedance: diagonal, or full matrix row by row", "N*s/m, N*s, N*m*s/rad")
    stiffness: tuple[float, ...] = setting((2000.0, 2000.0, 2000.0, 100.0, 100.0, 100.0),
        "desired stiffness K between tool and set-point: diagonal, or full matrix row by row", "N/m, N, N*m/rad")
    frame: str = setting("base",
        "axes of the matrices of the tool impedance: those of the base link, or of the set-point of the tool",
        choices=FRAMES)
    variant: str = setting("acceleration",
        "impedance law: computes the tool acceleration first, or directly the velocity, without inertia",
        choices=VARIANTS)
    joint_inertia: tuple[float, ...] = setting((1.0,),
        "desired inertia of the redundant joint motion: one value for all joints, diagonal, or full matrix",
        "kg*m^2 | kg")
    joint_damping: tuple[float, ...] = setting((10.0,),
        "desired damping of the redundant joint motion: one value for all joints, diagonal, or full matrix",
        "N*m*s/rad | N*s/m")
    axes: tuple[bool, ...] = setting((True, True, True, True, True, True),
        "tool axes x y z rx ry rz in the base link that are controlled; axes set to false are free for the joints",
        size=6)
    transition_acceleration: tuple[float, float, float] = setting((0.5, 2.0, 2.0),
        "largest step of commanded acceleration when behaviors change: tool linear, tool angular, redundant joints",
        "m/s^2, rad/s^2, rad/s^2 | m/s^2", size=3)
    mapping_damping: float = setting(0.01,
        "damping of the inverse Jacobian through which joint efforts of behaviors act on the tool", "m", 1e-9)
    # fmt: on

    def check(self) -> None:
        """Raise ConfigError for matrices that are not symmetric or not definite, and no axis at all."""
        for name in ("inertia", "damping", "stiffness"):
            _definite(name, _matrix(name, getattr(self, name), 6, (6, 36)), self._must_be_positive(name))
        if not any(self.axes):
            raise ConfigError(f"axes must be six of yes or no, one at least yes, for x y z rx ry rz; got {self.axes}")
        if not min(self.transition_acceleration) > 0.0:
            raise ConfigError(f"transition_acceleration must be three numbers > 0, got {self.transition_acceleration}")

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
        steps, axes = np.array(self.transition_acceleration), np.array(self.axes, dtype=float)
        return pack(layout.Settings(self.frame == "tool", self.mapping_damping, steps, axes, *tool, *joints))


def _matrix(name: str, values: tuple[float, ...], k: int, sizes: tuple[int, ...]) -> Array:
    """Return a list of numbers as a (k, k) matrix."""
    array: Array = np.array(values, dtype=float)
    if array.size not in sizes:
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
