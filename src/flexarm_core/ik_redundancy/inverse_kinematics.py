"""Inverse kinematics: find joint positions for a tool pose, within limits, from any start position, with restarts.

The search (:mod:`flexarm_core.ik_redundancy.newton`) is one compiled call. Restarts use the same random positions in
every call, so that the result depends only on the arguments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import pack
from flexarm_core.entrance import flags
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.ik_redundancy.chain import Chain, build_chain
from flexarm_core.ik_redundancy.newton import Arm, search, view_memory
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.kinematic_chain import PRISMATIC
from flexarm_core.settings import Settings, setting
from flexarm_core.types import Array

FULL_TURN = 2.0 * math.pi - 1e-12  # [rad] joint range that counts as a full turn, allowing for rounding
IDENTITY = np.eye(3)
ROTATION_TOLERANCE = 1e-6  # tolerance of R R^T - 1, componentwise
LONGEST = 100.0  # [m] range of a prismatic joint beyond which its limits mean that it has none
LARGEST = 1e6  # [m | rad] beyond this value double precision is insufficient for the tolerances


@dataclass(frozen=True, slots=True)
class IkConfig(Settings):
    """Settings of the search."""

    # fmt: off
    position_tolerance: float = setting(1e-6, "position error up to which the pose counts as reached", "m", 1e-10)
    rotation_tolerance: float = setting(1e-6, "rotation error up to which the pose counts as reached", "rad", 1e-10)
    restarts: int = setting(300, "maximum number of attempts after the attempt from the given start", "", 0, 100_000)
    iterations: int = setting(50, "maximum number of steps per attempt", "", 1)
    nearest: bool = setting(False,
        "whether to return the solution nearest to the start among several, instead of the first solution")
    nearest_restarts: int = setting(20, "number of restarts whose solutions are compared if ``nearest`` is set", "", 0)
    # fmt: on


@dataclass(frozen=True, slots=True)
class IkSolution:
    """Result for one pose.

    Attributes:
        success: whether the pose is reached within the tolerances.
        position: (n,) joint positions of the solution, or of the nearest pose found; always within the limits
            [rad | m].
        position_error: distance of the tool from the desired position, along the controlled axes [m].
        rotation_error: angle of the tool from the desired rotation, about the controlled axes [rad].
        restarts: number of attempts after the attempt from the given start.
        iterations: number of steps of all attempts.
        reason: reason of a failure, else empty.
    """

    success: bool
    position: Array
    position_error: float
    rotation_error: float
    restarts: int
    iterations: int
    reason: str


class InverseKinematics:
    """Solver for one chain; ``solve`` is thread-safe."""

    def __init__(self, chain: Chain, lower: Array, upper: Array, config: IkConfig | None = None, seed: int = 0) -> None:
        """Set up a solver.

        Args:
            chain: chain from base link to tool.
            lower: (n,) lower position limits, infinite if there are none [rad | m].
            upper: (n,) upper position limits, infinite if there are none [rad | m].
            config: settings; None: defaults.
            seed: random seed of the start positions of restarts.

        Raises:
            ConfigError: limits have a wrong shape, are not numbers, or lower limits exceed upper limits.
        """
        self.config = config or IkConfig()
        self.chain = chain
        lower, upper = np.array(lower, dtype=float), np.array(upper, dtype=float)
        if lower.shape != (chain.n,) or upper.shape != (chain.n,):
            raise ConfigError(f"lower and upper limits must have shape ({chain.n},), got {lower.shape}, {upper.shape}")
        if not np.all((lower <= upper) & (lower < math.inf) & (upper > -math.inf)):
            raise ConfigError(f"lower limits must not exceed the upper ones, got {lower} and {upper}")
        self._length = _length(chain)
        endless = chain.whole_turns & (upper - lower >= FULL_TURN)
        restarts, tolerance = self.config.restarts, (self.config.position_tolerance, self.config.rotation_tolerance)
        arm = Arm(
            n=chain.n,
            rows=len(chain.links),
            restarts=restarts,
            candidates=1 + (self.config.nearest_restarts if self.config.nearest else 0),
            steps=self.config.iterations,
            tolerance=np.array(tolerance),
            scale=np.where(chain.kinds == PRISMATIC, self._length, 1.0),
            limits=np.array((lower, upper)),
            search=np.array((np.where(endless, -math.inf, lower), np.where(endless, math.inf, upper))),
            endless=endless.astype(float),
            links=chain.links,
            trials=np.random.default_rng(seed).random((restarts, chain.n)),
        )
        self._arm, self._work = pack(arm), view_memory.size(chain.n)

    @classmethod
    def of(cls, robot: RobotDescription, tool_frame: str = "", config: IkConfig | None = None) -> InverseKinematics:
        """Set up a solver for a robot, within its position limits.

        Args:
            robot: robot description.
            tool_frame: link that is the tool; empty: ``tool0`` or the only tip link.
            config: settings; None: defaults.

        Raises:
            RobotDescriptionError: no actuated joint moves the tool.
        """
        chain = build_chain(robot, tool_frame)
        return cls(chain, chain.lower, chain.upper, config)

    def __repr__(self) -> str:
        return f"InverseKinematics({self.chain!r})"

    def solve(
        self, position: Array, rotation: Array, start: Array, axes: NDArray[np.bool_] | None = None
    ) -> IkSolution:
        """Find joint positions at which the tool has a pose.

        A revolute joint with a range of a full turn or more is shifted by full turns to be as near to the start as the
        limits allow.

        Args:
            position: (3,) desired tool position, base link axes [m].
            rotation: (3, 3) desired rotation matrix, from tool axes to base link axes.
            start: (n,) start of the search, clipped to the limits [rad | m].
            axes: (6,) controlled components x y z rx ry rz of the error, base link axes; None: all.

        Raises:
            InputError: wrong shapes, values not finite, not a rotation, or no controlled component.
        """
        position, start = _checked("position", position, (3,)), _checked("start", start, (self.chain.n,))
        rotation = _checked("rotation", rotation, (3, 3))
        if abs(rotation @ rotation.T - IDENTITY).max() > ROTATION_TOLERANCE:
            raise InputError("rotation must be a rotation matrix: its rows are not orthonormal; normalize it first")
        if np.linalg.det(rotation) < 0.0:
            raise InputError("rotation must be a rotation matrix: its determinant is -1, it mirrors")
        wanted = np.ones(6, dtype=bool) if axes is None else flags("axes", axes, 6)
        if not wanted.any():
            raise InputError(f"axes must be six booleans (x y z rx ry rz), at least one true, got {axes}")
        weight = wanted * np.array([1.0 / self._length] * 3 + [1.0] * 3)
        result, goal = (
            np.empty(self.chain.n),
            np.concatenate((position, rotation.ravel(), weight, start)),
        )  # :class:`Goal`
        success, attempts, steps, distance, angle = search(self._arm, goal, np.empty(self._work), result)
        reason = ""
        if not success:
            reason = (
                f"no joint position within the limits found for this pose in {attempts} attempts: "
                f"the nearest is {distance:.3g} m and {angle:.3g} rad away"
            )
        return IkSolution(success, result, distance, angle, attempts - 1, steps, reason)


def _length(chain: Chain) -> float:
    """Return the length equivalent to one radian [m]: a third of the total link length beyond the first joint.

    Ranges of prismatic joints count as lengths.
    """
    reach = float(np.linalg.norm(chain.links[1:, 9:12], axis=1).sum())
    for kind, lower, upper in zip(chain.kinds, chain.lower, chain.upper, strict=True):
        if kind == PRISMATIC and upper - lower <= LONGEST:
            reach += upper - lower
    return reach / 3.0 if reach > 1e-3 else 1.0


def _checked(name: str, value: Array, shape: tuple[int, ...]) -> Array:
    try:
        array = np.ascontiguousarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers of shape {shape}, got {value!r}") from error
    if array.shape != shape or not (abs(array) <= LARGEST).all():
        raise InputError(f"{name} must be finite numbers (at most {LARGEST:g}) of shape {shape}, got {value!r}")
    return array
