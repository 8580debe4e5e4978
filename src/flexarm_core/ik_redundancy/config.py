"""RedundancyConfig: settings of the redundancy resolution, and the plan of the step derived from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.ik_redundancy.objectives import JointRange, Manipulability, Objective, Quadratic, Sum
from flexarm_core.ik_redundancy.plan import make_plan
from flexarm_core.settings import Settings, setting
from flexarm_core.types import Array

ROW_NAMES = ("x", "y", "z", "rx", "ry", "rz")
METHODS = ("orthogonalization", "damped_least_squares")
OBJECTIVES = ("quadratic", "joint_range", "manipulability")
GIVEN_UP = ("hold", "free")


@dataclass(frozen=True, slots=True)
class RedundancyConfig(Settings):
    """Settings of the redundancy resolution.

    A level of ``priority`` lists axes of x y z rx ry rz with equal priority, separated by spaces.
    """

    # fmt: off
    weights: tuple[float, ...] = setting((1.0,),
        "weights k_i of the joint motions in the redundancy resolution; one for all joints or one per joint of the"
        " chain; 0: moves at no cost")
    origin: tuple[float, ...] = setting((),
        "joint positions that the quadratic objective refers to; empty: those where a motion starts, see fixed_origin",
        "rad | m")
    fixed_origin: bool = setting(True,
        "with an empty origin: all motions have the start of the first motion after activation as origin, so the joints"
        " of a tool pose do not depend on the motions in between; false: each motion has its own start as origin")
    priority: tuple[str, ...] = setting(("x y z", "rx ry rz"),
        "priority levels of the tool axes, highest first; near singularities the last level is given up first")
    length_scale: float = setting(0.3,
        "characteristic length that converts rotations into displacements, so that both can be weighed together",
        "m/rad", 1e-6)
    threshold: float = setting(1e-3,
        "norm of a tool axis's Jacobian row, after the rows before it are projected out, below which the axis is"
        " dropped", "m", 0.0)
    band: float = setting(0.05,
        "width of the range above threshold in which a tool axis is given up gradually; 0: abruptly", "m", 0.0)
    given_up: str = setting("free",
        "joint motion in a tool direction that is given up: held still, or free for secondary motion", choices=GIVEN_UP)
    objective: str = setting("quadratic",
        "objective of the redundant motion: weighted distance from origin alone (quadratic), or with joint_range or"
        " manipulability added", choices=OBJECTIVES)
    objective_weight: float = setting(1.0,
        "weight of the objective joint_range or manipulability relative to the joint weights", "", 0.0)
    objective_time_constant: float = setting(0.3,
        "time constant with which the redundant motion approaches the minimum of the objective; 0: at once", "s", 0.0)
    corrections: int = setting(3,
        "number of corrections of the linearization error of the inverse kinematics per sample; 0: none", "", 0, 10)
    method: str = setting("orthogonalization",
        "method of the inverse kinematics step: orthogonalization by priority, or damped least squares",
        choices=METHODS)
    damping: float = setting(0.05, "damping of the method damped_least_squares", "m", 0.0)
    # fmt: on

    def check(self) -> None:
        """Raise ConfigError for levels that do not name each axis once, and for weights or axes without a plan."""
        named = [axis for level in self.priority for axis in level.split()]
        if sorted(named) != sorted(ROW_NAMES):
            raise ConfigError(
                f"priority must name each of {' '.join(ROW_NAMES)} once, in levels such as 'x y z'; got {self.priority}"
            )
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

    def objective_of(self, chain: Chain, begin: Array, first: Array | None = None) -> Objective:
        """Return the objective of a motion of a chain.

        Args:
            chain: kinematic chain of the arm.
            begin: (n,) joint positions where the motion starts [rad | m].
            first: (n,) those where the first motion started; None: this is the first one.
        """
        start = begin if first is None or not self.fixed_origin else first
        origin = chain.turns.near(self.origin_from(start), begin)
        quadratic = Quadratic(self.each_joint_weight(chain.n), origin)
        if self.objective == "joint_range":
            return Sum((quadratic, JointRange(chain.lower, chain.upper, self.objective_weight)))
        if self.objective == "manipulability":
            return Sum((quadratic, Manipulability(chain, self.objective_weight, self.length_scale)))
        return quadratic
