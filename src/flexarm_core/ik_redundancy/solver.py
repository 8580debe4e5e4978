"""RedundancySolver: tool reference in, joint reference out, for every sample and within all joint limits."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import allocating_kernel, kernel
from flexarm_core.entrance import FLOAT, finite, number
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.ik_redundancy.chain import Chain, build_chain, tool_kinematics
from flexarm_core.ik_redundancy.config import ROW_NAMES, RedundancyConfig
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.ik_redundancy.objectives import Objective, Quadratic, quadratic_form
from flexarm_core.ik_redundancy.plan import Plan, view_plan, weight_roots
from flexarm_core.ik_redundancy.sample import ROTATION, advance, brake, follow
from flexarm_core.ik_redundancy.solver_memory import solver_memory, view_track
from flexarm_core.kernels.orthogonal_rows import EPSILON, orthogonalise_rows
from flexarm_core.kernels.rotations import is_rotation
from flexarm_core.records import quick
from flexarm_core.robot.description import RobotDescription
from flexarm_core.types import Array, all_finite

ALL_AXES = np.ones(6, dtype=bool)
LIMITED = 1e-9  # relative distance to a limit below which the joint counts as at the limit
POSE = ((3,), (3, 3))  # shapes of the position and of the rotation of a tool pose


@quick
@dataclass(frozen=True, slots=True)
class RedundancyStatus:
    """Tracking status of one sample.

    Attributes:
        position_error: (3,) desired minus reached tool position, axes of the base link [m].
        rotation_error: (3,) rotation vector from the reached to the desired orientation [rad].
        dropped: tool axes that were dropped at a singularity.
        damped: tool axes that were damped near a singularity.
        cut: tool axes whose motion was reduced by joint limits.
        limited: names of joints at a limit.
        condition_number: condition number of the controlled rows of the Jacobian, rotations scaled to lengths; infinite
            if singular.
        least_row: smallest norm of a row after orthogonalization [m].
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
    """Follows tool poses, starting each sample from the last joint reference.

    Attributes:
        chain: chain of the arm.
        position: (n,) last joint position reference [rad | m].
        velocity: (n,) last joint velocity reference [rad/s | m/s].
        acceleration: (n,) last joint acceleration reference [rad/s^2 | m/s^2].
    """

    def __init__(self, chain: Chain, limits: MotionLimits, config: RedundancyConfig) -> None:
        """Set up a solver; call :meth:`begin` before the first sample.

        Raises:
            ConfigError: limits or settings do not fit the chain.
        """
        self.chain = chain
        self._memory, self._parts = solver_memory(chain.links, np.empty((4, chain.n)))
        self._asked, self._tracked, self._limits = self._parts.request, self._parts.track, self._parts.limits
        self.set_limits(limits)
        brake(self._limits, 1.0, 1.0, *np.zeros((2, chain.n)), np.empty((3, chain.n)))  # loads the compiled code
        self.reset()
        self.set_config(config)

    @classmethod
    def of(
        cls,
        robot: RobotDescription,
        tool_frame: str = "",
        config: RedundancyConfig | None = None,
        acceleration: float = 10.0,
    ) -> RedundancySolver:
        """Set up a solver for a robot.

        Args:
            robot: robot description.
            tool_frame: link that is the tool; empty: ``tool0`` or the only tip link.
            config: settings; None: defaults.
            acceleration: acceleration limit of every joint [rad/s^2 | m/s^2]; all others are the robot's.

        Raises:
            RobotDescriptionError: no actuated joint moves the tool.
        """
        chain = build_chain(robot, tool_frame)
        return cls(chain, MotionLimits.of(chain, acceleration), config or RedundancyConfig())

    def __repr__(self) -> str:
        return f"RedundancySolver({self.chain!r})"

    @property
    def config(self) -> RedundancyConfig:
        """Settings in force."""
        return self._config

    @property
    def path_config(self) -> RedundancyConfig:
        """Settings for planning a path: with the origin that the motions refer to, if that is fixed."""
        config = self._config
        if self._first is None or config.origin or not config.fixed_origin:
            return config
        return replace(config, origin=tuple(self._first))

    def set_limits(self, limits: MotionLimits) -> None:
        """Change the limits between two samples.

        A joint beyond a new limit is brought back within its acceleration limit.

        Raises:
            ConfigError: the limits are for a different number of joints.
        """
        if len(limits.lower) != self.chain.n:
            raise ConfigError(f"limits are of {len(limits.lower)} joints, the chain has {self.chain.n}")
        self._limits[:] = limits.table()

    def set_config(self, config: RedundancyConfig) -> None:
        """Change the settings between two samples; the joint limits prevent a jump of the output.

        Raises:
            ConfigError: weights or origin are for a different number of joints.
        """
        n = self.chain.n
        config.plan(n)
        config.origin_from(np.zeros(n))
        self._config = config
        self._asked.corrections[0] = config.corrections
        self._asked.damping[0] = -1.0 if config.method == "orthogonalization" else config.damping
        self._plans: dict[bytes, tuple[Array, Plan]] = {}
        if self._begin is not None:
            self._objective = config.objective_of(self.chain, self._begin, self._first)

    def set_objective(self, objective: Objective) -> None:
        """Use a custom objective instead of the configured one, until :meth:`set_config` or :meth:`begin` is called.

        Raises:
            ConfigError: the objective cannot be expanded at the current joint positions; :meth:`update` raises it if
                this fails later.
        """
        quadratic_form(objective, self.position)
        self._objective, self._plans = objective, {}

    def reset(self) -> None:
        """Reset the solver; call :meth:`begin` before the next sample."""
        self._first: Array | None = None  # joint positions where the first motion started
        self._rest()

    def _rest(self) -> None:
        n = self.chain.n
        self._begin: Array | None = None
        self.position, self.velocity, self.acceleration = np.zeros(n), np.zeros(n), np.zeros(n)
        self._asked.known[0] = 0.0
        self._last: tuple[NDArray[np.bool_], Array, float, float] | None = None
        self._memory[-view_track.size(n) :] = 0.0

    @property
    def begun(self) -> bool:
        """Whether :meth:`begin` has set the joint positions."""
        return self._begin is not None

    def begin(self, position: Array, velocity: Array | None = None) -> None:
        """Start from joint positions (n,) and velocities (n,), which default to zero.

        The origin of the objective is that of the first motion since :meth:`reset`, unless the settings say otherwise.

        Raises:
            InputError: wrong shapes, or values that are not finite.
        """
        n = self.chain.n
        q, v = np.array(position, dtype=float), np.array(np.zeros(n) if velocity is None else velocity, dtype=float)
        if q.shape != (n,) or v.shape != (n,) or not all_finite(q, v):
            raise InputError(f"the solver needs {n} finite joint positions and velocities, got {position}, {velocity}")
        self._rest()
        self.position, self.velocity, self._begin = q, v, q.copy()
        self._first = self._begin if self._first is None else self._first
        self._objective, self._plans = self._config.objective_of(self.chain, self._begin, self._first), {}

    def update(
        self, position: Array, rotation: Array, axes: NDArray[np.bool_] = ALL_AXES, dt: float = 1e-3
    ) -> RedundancyStatus:
        """Call :meth:`follow` and return its status."""
        self.follow(position, rotation, axes, dt)
        return self.status()

    def follow(self, position: Array, rotation: Array, axes: NDArray[np.bool_] = ALL_AXES, dt: float = 1e-3) -> None:
        """Compute one sample towards a tool pose; results are in ``position``, ``velocity`` and ``acceleration``.

        Args:
            position: (3,) desired tool position at the end of the sample, axes of the base link [m].
            rotation: (3, 3) desired rotation matrix at the end of the sample, from tool axes to base link axes.
            axes: (6,) which of x y z rx ry rz are controlled.
            dt: sampling period [s].

        Raises:
            InputError: :meth:`begin` was not called, the pose is not finite or not a rotation, or dt is not > 0; the
                output does not change.
            ConfigError: a custom objective cannot be expanded here; the output does not change.
        """
        if self._begin is None:
            raise InputError("the solver has not begun: call begin() with the joint positions")
        for value, shape in zip((position, rotation), POSE, strict=True):
            if (
                type(value) is not np.ndarray
                or value.dtype != FLOAT
                or value.shape != shape
                or not value.flags.carray  # numba would compile for other memory once more
            ):
                position, rotation = _numbers(position, rotation)
        if not (math.isfinite(dt) and dt > 0.0):
            _check_pose(position, rotation)
            raise InputError(f"the sample time must be > 0 s, got {dt}")
        if type(axes) is not np.ndarray or axes.dtype != bool or axes.shape != (6,):
            _check_pose(position, rotation)
            axes = _checked_axes(axes)
        out = np.empty((3, self.chain.n))
        arguments = self.arguments(axes, dt)
        self._asked.position[:], self._asked.rotation[:] = position, rotation
        if not follow(*arguments, self.position, self.velocity, out):
            _check_pose(position, rotation)
        self.accept(out, axes, dt)

    def move(self, position: Array, rotation: Array, motion: Array, axes: NDArray[np.bool_], dt: float) -> None:
        """Do the same as :meth:`follow` without checks, with the motion of the pose given by the caller.

        Args:
            position: (3,) desired tool position at the end of the sample, axes of the base link [m].
            rotation: (3, 3) desired rotation matrix, contiguous.
            motion: (6,) motion of the desired pose in this sample; the remaining pose error is corrected gradually
                [m, rad].
            axes: (6,) which of x y z rx ry rz are controlled.
            dt: sampling period [s].
        """
        out = np.empty((3, self.chain.n))
        asked, arguments = self._asked, self.arguments(axes, dt)
        asked.position[:], asked.rotation[:], asked.motion[:] = position, rotation, motion
        advance(*arguments, self.position, self.velocity, out)
        self.accept(out, axes, dt)

    def arguments(self, axes: NDArray[np.bool_], dt: float) -> tuple[Array, Array]:
        """Return the first arguments of the compiled :func:`advance` for a sample of dt [s]; axes (6,) are controlled.

        The memory then has the request except for the pose. The other arguments are ``position`` and ``velocity`` of
        the solver, and the array (3, n) that is given to :meth:`accept` afterwards.

        Raises:
            InputError: axes or dt are not usable.
            ConfigError: a custom objective cannot be expanded here.
        """
        if type(axes) is not np.ndarray or axes.dtype != bool or axes.shape != (6,):
            axes = _checked_axes(axes)
        dt = number("dt", dt, 0.0)
        plan, origin = self._plan(axes)
        asked, constant = self._asked, self._config.objective_time_constant
        asked.origin[:], asked.dt[0] = origin, dt
        asked.gain[0] = 1.0 if constant == 0.0 else 1.0 - math.exp(-dt / constant)
        return self._memory, plan

    def accept(self, out: Array, axes: NDArray[np.bool_], dt: float) -> None:
        """Take the result (3, n) of a sample of dt [s] with the controlled axes (6,) as the joint reference."""
        self._last = axes, self.velocity, dt, self._parts.least.item()
        self.position, self.velocity, self.acceleration = out[0], out[1], out[2]

    @property
    def error(self) -> Array:
        """Pose error (6,) after the last sample, desired minus reached, including free axes [m, rad]."""
        return self._tracked.error

    def lead(self, origin: Array) -> None:
        """Change the origin (n,) of a quadratic objective between two samples [rad | m]; no effect on others."""
        if isinstance(self._objective, Quadratic):
            self._objective = Quadratic(self._objective.weights, origin)

    def status(self) -> RedundancyStatus:
        """Return the status of the last sample with a tool pose.

        Raises:
            InputError: no pose has been followed yet.
        """
        if self._last is None:
            raise InputError("no pose has been followed yet")
        return self._status(*self._last)

    def stop(self, dt: float) -> None:
        """Compute one sample of braking, every joint at its acceleration limit.

        Raises:
            InputError: dt is not > 0.
        """
        if not (math.isfinite(dt) and dt > 0.0):
            raise InputError(f"the sample time must be > 0 s, got {dt}")
        self._asked.known[0] = 0.0
        self._tracked.begun[0] = 0.0
        out = np.empty((3, self.chain.n))
        brake(self._limits, dt, 1.0 - LIMITED, self.position, self.velocity, out)
        self.position, self.velocity, self.acceleration = out[0], out[1], out[2]

    def _plan(self, axes: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Return plan and origin of this sample; for a quadratic objective they are the same at every sample."""
        key = axes.tobytes()
        known = key in self._plans
        if not known:
            plan = self._config.plan(self.chain.n, axes)
            self._plans[key] = plan, view_plan(plan, self.chain.n)
        plan, step = self._plans[key]
        if known and isinstance(self._objective, Quadratic):
            return plan, self._objective.origin
        weights, origin = quadratic_form(self._objective, self.position)
        step.weights[:], step.free[:] = weight_roots(weights), (weights == 0.0).any()
        return plan, origin

    def _status(self, axes: NDArray[np.bool_], before: Array, dt: float, least: float) -> RedundancyStatus:
        error, held = np.where(axes, self._tracked.error, 0.0), np.empty(self.chain.n, dtype=bool)
        _find_held(self._limits, self.position, self.velocity, before, dt, held)
        kept, got = self._parts.share.tolist()
        whole = min(kept) == min(got) == 1.0
        rows = [] if whole else [row for row in zip(ROW_NAMES, axes.tolist(), kept, got, strict=True) if row[1]]
        return RedundancyStatus(
            position_error=error[:3],
            rotation_error=error[3:],
            dropped=tuple(name for name, _, kept, _ in rows if kept == 0.0),
            damped=tuple(name for name, _, kept, _ in rows if 0.0 < kept < 1.0),
            cut=tuple(name for name, _, _, got in rows if got < 1.0),
            limited=tuple(compress(self.chain.joint_names, held.tolist())),
            condition_number=_condition(self.chain.links, self.position, axes, self._config.length_scale),
            least_row=least,
        )


@allocating_kernel
def _condition(links: Array, position: Array, axes: NDArray[np.bool_], length: float) -> float:
    """Return the condition number of the rows of the tool's Jacobian with the chosen axes (6,); NaN: there are none.

    Args:
        links: see :class:`Chain`.
        position: (n,) joint positions.
        axes: (6,) whether a row counts.
        length: factor on the rows of rotations [m].
    """
    n, p, R = position.shape[0], np.empty(3), np.empty((3, 3))
    J, rows = np.empty((6, n)), 0
    tool_kinematics(links, position, p, R, J)
    for i in range(6):
        if axes[i]:
            for j in range(n):
                J[rows, j] = J[i, j] * (length if i >= 3 else 1.0)
            rows += 1
    if rows == 0 or n < rows:
        return np.inf if rows else np.nan
    values = np.empty(rows)
    orthogonalise_rows(J[:rows], np.empty((rows, rows)), values, n * EPSILON)
    return values[0] / values[rows - 1] if values[rows - 1] > 0.0 else np.inf


@kernel
def _find_held(
    limits: Array, position: Array, velocity: Array, before: Array, dt: float, held: NDArray[np.bool_]
) -> None:
    """Find the joints (n,) at a limit after a sample; ``before`` (n,) is their velocity at the start of the sample."""
    for i in range(held.shape[0]):
        fast = abs(velocity[i]) >= limits[2, i] * (1.0 - LIMITED) - 1e-12
        strong = abs(velocity[i] - before[i]) >= limits[3, i] * dt * (1.0 - LIMITED) - 1e-12
        held[i] = fast or strong or position[i] >= limits[1, i] - 1e-6 or position[i] <= limits[0, i] + 1e-6


def _numbers(position: Array, rotation: Array) -> tuple[Array, Array]:
    try:
        return finite("position", position, 3), finite("rotation", rotation, 3, 3)
    except InputError as error:
        raise InputError(f"a tool pose is three finite numbers and a (3, 3) rotation: {error}") from error


def _check_pose(position: Array, rotation: Array) -> None:
    _, R = _numbers(position, rotation)
    if not is_rotation(R, ROTATION):
        raise InputError(f"the tool's orientation is no rotation: {rotation}")


def _checked_axes(axes: NDArray[np.bool_]) -> NDArray[np.bool_]:
    try:
        axes = np.asarray(axes, dtype=bool)
    except ValueError as error:
        raise InputError("axes must be six of yes or no, for x y z rx ry rz") from error
    if axes.shape != (6,):
        raise InputError(f"axes must be six of yes or no, for x y z rx ry rz; got {axes}")
    return axes
