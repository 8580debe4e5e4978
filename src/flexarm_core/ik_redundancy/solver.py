"""RedundancySolver: tool reference in, joint reference out, at every sample and within every limit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import kernel
from flexarm_core.entrance import finite
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.ik_redundancy.chain import Chain, is_rotation, pose_error
from flexarm_core.ik_redundancy.config import ROW_NAMES, RedundancyConfig
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.ik_redundancy.objectives import Objective, Quadratic, quadratic_form
from flexarm_core.ik_redundancy.step import FREE, WEIGHTS, weight_roots
from flexarm_core.ik_redundancy.tracking import damped_least_squares, track, track_size
from flexarm_core.types import Array, all_finite

ALL_AXES = np.ones(6, dtype=bool)
LIMITED = 1e-9  # share of a limit within which a joint counts as held by it
ROTATION = 1e-3  # by which ``R R^T`` may differ from 1


@dataclass(frozen=True, slots=True)
class RedundancyStatus:
    """How well one sample went.

    Attributes:
        position_error: (3,) wanted minus reached, axes of the base link [m].
        rotation_error: (3,) rotation vector from the reached to the wanted orientation [rad].
        dropped: tool axes that were given up at a singularity.
        damped: tool axes that were damped near one.
        cut: tool axes that did not get all they asked for because of limits.
        limited: joints at a limit.
        condition_number: of the wanted rows of the Jacobian, rotations scaled to lengths; infinite where singular.
        least_row: least norm that remained of a row of the step [m].
    """

    position_error: Array
    rotation_error: Array
    dropped: tuple[str, ...] = ()
    damped: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    limited: tuple[str, ...] = ()
    condition_number: float = math.nan
    least_row: float = math.nan


class RedundancySolver:
    """Follows tool poses; keeps the joint reference that it gave last and goes on from there.

    Attributes:
        chain: of the arm.
        position: (n,) of the last output [rad | m].
        velocity: (n,) [rad/s | m/s].
        acceleration: (n,) [rad/s^2 | m/s^2].
    """

    def __init__(self, chain: Chain, limits: MotionLimits, config: RedundancyConfig) -> None:
        """Set up a solver that has not begun.

        Raises:
            ConfigError: limits or settings that do not fit the chain.
        """
        self.chain = chain
        self.set_limits(limits)
        self._memory, self._share = np.zeros(track_size(chain.n)), np.ones((2, 6))
        self._settings, self._motion = np.zeros(3), np.zeros(6)
        self.reset()
        self.set_config(config)

    @property
    def config(self) -> RedundancyConfig:
        """Settings in force."""
        return self._config

    def set_limits(self, limits: MotionLimits) -> None:
        """Change the limits between two samples; a joint beyond a new one is brought back as its acceleration allows.

        Raises:
            ConfigError: they are of another number of joints.
        """
        if len(limits.lower) != self.chain.n:
            raise ConfigError(f"limits are of {len(limits.lower)} joints, the chain has {self.chain.n}")
        self._limits = limits.table()

    def set_config(self, config: RedundancyConfig) -> None:
        """Change the settings between two samples; the limits keep the output from jumping.

        Raises:
            ConfigError: weights or origin of another number of joints.
        """
        n = self.chain.n
        config.plan(n)
        config.origin_from(np.zeros(n))
        self._config = config
        self._plans: dict[bytes, Array] = {}
        if self._begin is not None:
            self._objective = config.objective_of(self.chain, self._begin)

    def set_objective(self, objective: Objective) -> None:
        """Use an objective of the user's instead of that of the settings, until they change or the motion begins anew.

        Raises:
            ConfigError: it cannot be expanded at the present joints; :meth:`update` raises so where it fails later.
        """
        quadratic_form(objective, self.position)
        self._objective, self._plans = objective, {}

    def reset(self) -> None:
        """Forget the motion."""
        n = self.chain.n
        self._begin: Array | None = None
        self.position, self.velocity, self.acceleration = np.zeros(n), np.zeros(n), np.zeros(n)
        self._wanted: tuple[Array, Array] | None = None
        self._last: tuple[NDArray[np.bool_], Array, float, float] | None = None
        self._memory[:] = 0.0

    @property
    def begun(self) -> bool:
        """Whether the solver knows where the joints are."""
        return self._begin is not None

    def begin(self, position: Array, velocity: Array | None = None) -> None:
        """Start from joint positions (n,) and velocities (n,), at rest unless given.

        Raises:
            InputError: shapes that do not fit, or numbers that are not finite.
        """
        n = self.chain.n
        q, v = np.array(position, dtype=float), np.array(np.zeros(n) if velocity is None else velocity, dtype=float)
        if q.shape != (n,) or v.shape != (n,) or not all_finite(q, v):
            raise InputError(f"the solver needs {n} finite joint positions and velocities, got {position}, {velocity}")
        self.reset()
        self.position, self.velocity, self._begin = q, v, q.copy()
        self._objective, self._plans = self._config.objective_of(self.chain, self._begin), {}

    def update(
        self, position: Array, rotation: Array, axes: NDArray[np.bool_] = ALL_AXES, dt: float = 1e-3
    ) -> RedundancyStatus:
        """:meth:`follow`, and how well that went."""
        self.follow(position, rotation, axes, dt)
        return self.status()

    def follow(self, position: Array, rotation: Array, axes: NDArray[np.bool_] = ALL_AXES, dt: float = 1e-3) -> None:
        """One sample towards a tool pose; the result is in ``position``, ``velocity`` and ``acceleration``.

        Args:
            position: (3,) of the tool wanted at the end of the sample, axes of the base link [m].
            rotation: (3, 3).
            axes: (6,) which of x y z rx ry rz are wanted.
            dt: sample time [s].

        Raises:
            InputError: the solver has not begun, the pose is not finite or no rotation, dt is not > 0; nothing changes.
            ConfigError: the objective of the user's cannot be expanded here; nothing changes.
        """
        if self._begin is None:
            raise InputError("the solver has not begun: call begin() with the joint positions")
        position, rotation = _checked_pose(position, rotation)
        if not (math.isfinite(dt) and dt > 0.0):
            raise InputError(f"the sample time must be > 0 s, got {dt}")
        try:
            axes = np.asarray(axes, dtype=bool)
        except ValueError as error:
            raise InputError("axes must be six of yes or no, for x y z rx ry rz") from error
        if axes.shape != (6,):
            raise InputError(f"axes must be six of yes or no, for x y z rx ry rz; got {axes}")
        self._motion[:] = 0.0
        if self._wanted is not None:
            pose_error(position, rotation, *self._wanted, self._motion)
        self._advance(position, rotation, axes, dt)

    def move(self, position: Array, rotation: Array, motion: Array, axes: NDArray[np.bool_], dt: float) -> None:
        """:meth:`follow` for who calls it from a law of its own: nothing is checked.

        Args:
            position: (3,) of the tool wanted at the end of the sample, axes of the base link [m].
            rotation: (3, 3), contiguous.
            motion: (6,) what the pose moves in this sample; the rest of the way to it is made good by and by [m, rad].
            axes: (6,) which of x y z rx ry rz are wanted.
            dt: sample time [s].
        """
        self._motion[:] = motion
        self._advance(position.copy(), rotation.copy(), axes, dt)

    @property
    def error(self) -> Array:
        """(6,) what the last sample left between the reached pose and the wanted one, free axes too [m, rad]."""
        return self._memory[:6]

    def lead(self, origin: Array) -> None:
        """Move the origin (n,) of a quadratic objective between two samples [rad | m]; no other objective has one."""
        if isinstance(self._objective, Quadratic):
            self._objective = Quadratic(self._objective.weights, origin)

    def status(self) -> RedundancyStatus:
        """How well the last sample that had a pose went.

        Raises:
            InputError: there was none.
        """
        if self._last is None:
            raise InputError("no pose has been followed yet")
        return self._status(*self._last)

    def _advance(self, position: Array, rotation: Array, axes: NDArray[np.bool_], dt: float) -> None:
        """One sample towards a pose that is fit for use."""
        config = self._config
        plan, origin = self._plan(axes)
        out = np.empty(self.chain.n)
        constant, settings = config.objective_time_constant, self._settings
        settings[0], settings[1] = dt, 1.0 if constant == 0.0 else 1.0 - math.exp(-dt / constant)
        settings[2] = config.corrections
        least = math.nan
        if config.method == "orthogonalisation":
            least = track(
                self.chain.links, self._limits, plan, position, rotation, self._motion, origin, self.position,
                self.velocity, self._settings, self._share, self._memory, out,
            )  # fmt: skip
        else:
            self._share[:] = 1.0
            damped_least_squares(
                self.chain.links, self._limits, position, rotation, self.position, config.damping, dt, self._memory, out
            )
        self._last = (axes, self.velocity, dt, least)
        self._wanted = (position, rotation)
        self._move(out, dt)

    def stop(self, dt: float) -> None:
        """One sample of braking towards rest, every joint at its acceleration limit."""
        if not (math.isfinite(dt) and dt > 0.0):
            raise InputError(f"the sample time must be > 0 s, got {dt}")
        slower = np.minimum(self._limits[3] * (1.0 - LIMITED) * dt, np.abs(self.velocity))
        self._wanted = None
        self._memory[7] = 0.0
        self._move((self.velocity - np.sign(self.velocity) * slower) * dt, dt)

    def _move(self, displacement: Array, dt: float) -> None:
        velocity = displacement / dt
        self.acceleration = (velocity - self.velocity) / dt
        self.velocity = velocity
        self.position = self.position + displacement

    def _plan(self, axes: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Plan and origin of this sample; those of a quadratic objective are the same at every sample."""
        key = axes.tobytes()
        known = key in self._plans
        if not known:
            self._plans[key] = self._config.plan(self.chain.n, axes)
        plan = self._plans[key]
        if known and isinstance(self._objective, Quadratic):
            return plan, self._objective.origin
        weights, origin = quadratic_form(self._objective, self.position)
        plan[WEIGHTS : WEIGHTS + self.chain.n] = weight_roots(weights)
        plan[FREE] = float((weights == 0.0).any())
        return plan, origin

    def _status(self, axes: NDArray[np.bool_], before: Array, dt: float, least: float) -> RedundancyStatus:
        error, held = np.where(axes, self._memory[:6], 0.0), np.empty(self.chain.n, dtype=bool)
        _find_held(self._limits, self.position, self.velocity, before, dt, held)
        rows = [row for row in zip(ROW_NAMES, axes.tolist(), *self._share.tolist(), strict=True) if row[1]]
        return RedundancyStatus(
            position_error=error[:3],
            rotation_error=error[3:],
            dropped=tuple(name for name, _, kept, _ in rows if kept == 0.0),
            damped=tuple(name for name, _, kept, _ in rows if 0.0 < kept < 1.0),
            cut=tuple(name for name, _, _, got in rows if got < 1.0),
            limited=tuple(name for name, at in zip(self.chain.joint_names, held.tolist(), strict=True) if at),
            condition_number=self._condition(axes),
            least_row=least,
        )

    def _condition(self, axes: NDArray[np.bool_]) -> float:
        J = self.chain.kinematics(self.position)[2]
        J[3:] *= self._config.length_scale
        values = np.linalg.svd(J[axes], compute_uv=False)
        if not values.size:
            return math.nan
        if self.chain.n < axes.sum():
            return math.inf
        return float(values[0] / values[-1]) if values[-1] > 0.0 else math.inf


@kernel
def _find_held(
    limits: Array, position: Array, velocity: Array, before: Array, dt: float, held: NDArray[np.bool_]
) -> None:
    """Which joints (n,) are at a limit after a sample at whose begin their velocity was ``before`` (n,)."""
    for i in range(held.shape[0]):
        fast = abs(velocity[i]) >= limits[2, i] * (1.0 - LIMITED) - 1e-12
        strong = abs(velocity[i] - before[i]) >= limits[3, i] * dt * (1.0 - LIMITED) - 1e-12
        held[i] = fast or strong or position[i] >= limits[1, i] - 1e-6 or position[i] <= limits[0, i] + 1e-6


def _checked_pose(position: Array, rotation: Array) -> tuple[Array, Array]:
    try:
        p, R = finite("position", position, 3).copy(), finite("rotation", rotation, 3, 3).copy()
    except InputError as error:
        raise InputError(f"a tool pose is three finite numbers and a (3, 3) rotation: {error}") from error
    if not is_rotation(R, ROTATION):
        raise InputError(f"the tool's orientation is no rotation: {rotation}")
    return p, R
