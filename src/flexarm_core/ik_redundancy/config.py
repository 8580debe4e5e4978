"""RedundancyConfig: settings of the redundancy resolution, and the plan of the step derived from them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.ik_redundancy.objectives import JointRange, Manipulability, Objective, Quadratic, Sum
from flexarm_core.ik_redundancy.plan import make_plan
from flexarm_core.types import Array

ROW_NAMES = ("x", "y", "z", "rx", "ry", "rz")
METHODS = ("orthogonalisation", "damped_least_squares")
OBJECTIVES = ("quadratic", "joint_range", "manipulability")
GIVEN_UP = ("hold", "free")


@dataclass(frozen=True, slots=True)
class RedundancyConfig:
    """Settings of the redundancy resolution.

    Attributes:
        weights: weights k_i, one for all joints or one per joint; 0 = motion without cost.
        origin: (n) joint positions of the objective's minimum; empty: the joint positions at the start [rad | m].
        priority: levels of tool axes, highest first; each level lists axes of x y z rx ry rz with equal priority,
            separated by spaces.
        length_scale: scale of the rotation rows relative to the position rows [m/rad].
        threshold: norm of a row after orthogonalization below which the row is dropped [m].
        band: width of the band above the threshold in which a row is damped, 0 = none [m].
        given_up: whether the joints ``hold`` still in a dropped direction, or are ``free`` for the objective.
        objective: objective in addition to the weights: ``quadratic`` (none), ``joint_range`` or ``manipulability``.
        objective_weight: weight of that objective.
        objective_time_constant: time constant of the null-space motion to the minimum of the objective, 0 = at once
            [s].
        corrections: number of corrections of the linearization error per sample.
        method: ``orthogonalisation``, or ``damped_least_squares`` for comparison.
        damping: damping factor of damped least squares [m].
    """

    weights: tuple[float, ...] = (1.0,)
    origin: tuple[float, ...] = ()
    priority: tuple[str, ...] = ("x y z", "rx ry rz")
    length_scale: float = 0.3
    threshold: float = 1e-3
    band: float = 0.05
    given_up: str = "free"
    objective: str = "quadratic"
    objective_weight: float = 1.0
    objective_time_constant: float = 0.3
    corrections: int = 3
    method: str = "orthogonalisation"
    damping: float = 0.05

    def __post_init__(self) -> None:
        """Raise ConfigError for values that have no meaning."""
        for name, valid in (("objective", OBJECTIVES), ("method", METHODS), ("given_up", GIVEN_UP)):
            if getattr(self, name) not in valid:
                raise ConfigError(f"{name} '{getattr(self, name)}' is unknown; valid: {', '.join(valid)}")
        if not all(isinstance(level, str) for level in self.priority):
            raise ConfigError(f"priority must be texts such as 'x y z', got {self.priority!r:.100}")
        named = [axis for level in self.priority for axis in level.split()]
        if sorted(named) != sorted(ROW_NAMES):
            raise ConfigError(
                f"priority must name each of {' '.join(ROW_NAMES)} once, in levels such as 'x y z'; got {self.priority}"
            )
        for name in ("objective_time_constant", "objective_weight", "damping"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0.0):
                raise ConfigError(f"{name} must be finite and >= 0, got {getattr(self, name)}")
        if not 0 <= self.corrections <= 10:
            raise ConfigError(f"corrections must be 0 to 10, got {self.corrections}")
        if not np.isfinite(self.origin).all():
            raise ConfigError(f"origin must be finite, got {self.origin}")
        self.plan(len(self.weights))

    def plan(self, n: int, axes: NDArray[np.bool_] | None = None) -> Array:
        """Make the plan of the step for n joints and the controlled tool axes (6,); None: all axes.

        Raises:
            ConfigError: weights are for a different number of joints, or settings are invalid.
        """
        levels = [[ROW_NAMES.index(axis) for axis in level.split()] for level in self.priority]
        if axes is not None:
            if np.shape(axes) != (6,):
                raise ConfigError(f"axes must be six of yes or no, got {axes!r:.100}")
            levels = [[row for row in level if axes[row]] for level in levels]
        return make_plan(
            self.each_joint_weight(n), levels, self.length_scale, self.threshold, self.band, self.given_up == "hold"
        )

    def each_joint_weight(self, n: int) -> Array:
        """Return the weights (n,), one per joint.

        Raises:
            ConfigError: the weights are for a different number of joints.
        """
        if len(self.weights) not in (1, n):
            raise ConfigError(f"weights needs 1 or {n} numbers, got {len(self.weights)}")
        return np.broadcast_to(np.array(self.weights, dtype=float), (n,)).copy()

    def origin_from(self, begin: Array) -> Array:
        """Return the origin (n,): the configured one, or the joint positions ``begin`` (n,) if none is configured.

        Raises:
            ConfigError: the origin is for a different number of joints.
        """
        if not self.origin:
            return np.array(begin, dtype=float)
        if len(self.origin) != len(begin):
            raise ConfigError(f"origin needs {len(begin)} numbers, or none, got {len(self.origin)}")
        return np.array(self.origin, dtype=float)

    def objective_of(self, chain: Chain, begin: Array) -> Objective:
        """Return the objective of a motion of a chain that starts at joint positions ``begin`` (n,)."""
        quadratic = Quadratic(self.each_joint_weight(chain.n), self.origin_from(begin))
        if self.objective == "joint_range":
            return Sum((quadratic, JointRange(chain.lower, chain.upper, self.objective_weight)))
        if self.objective == "manipulability":
            return Sum((quadratic, Manipulability(chain, self.objective_weight, self.length_scale)))
        return quadratic
