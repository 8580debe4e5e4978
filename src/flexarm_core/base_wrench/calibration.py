r"""Calibration: bias of the sensor and gravity parameters of the arm from static poses, by least squares.

At rest ``W_i = Y(q_i) (phi + S T y) + b`` with the described parameters ``phi`` and what can be told of their change
(see :mod:`gravity_parameters`). With means over the poses taken out, which removes ``b``::

    N^-1 (Y_i - Ybar) S T y = N^-1 ((W_i - Y_i phi) - mean)        b = mean(W_i - Y_i (phi + S T y))

What static poses cannot tell from a constant is left to the bias: on a base that stands level an error of the total
mass becomes a vertical bias, and a centre of mass off along a horizontal first axis a constant moment. Total mass and
what does not move against the sensor are trusted as described (MATHS.md section 4, calibration).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexarm_core.base_wrench.calibration_config import CalibrationConfig
from flexarm_core.base_wrench.gravity_parameters import IdentifiableGravity
from flexarm_core.base_wrench.sensed_bodies import SensedBodies
from flexarm_core.base_wrench.static_pose import StaticPose
from flexarm_core.errors import InputError
from flexarm_core.types import Array

DEVIATIONS = 3.0  # of the stated prediction error
SURPLUS = 2  # poses beyond what the unknowns need, so that residuals say something


@dataclass(frozen=True, slots=True)
class CalibrationResult:
    """What a calibration found.

    Attributes:
        model: ``bias`` or ``bias_and_gravity``.
        bias: (6,) what the sensor says too much, robot on base, sensor frame [N, N*m].
        bias_deviation: (6,) standard deviation of it, from the residual [N, N*m].
        gravity_parameters: (w, 4) ``[m, m cx, m cy, m cz]`` of ``bodies.weighing``: as described, and the smallest
            change along what the poses determine [kg, kg*m].
        rank: number of directions that were determined.
        condition_number: of them over the poses.
        residual_force: root mean square over the poses of the residual's norm [N].
        residual_torque: likewise [N*m].
        prediction_error: (2,) how far bias and gravity wrench may be from what the sensor says at a pose that was not
            visited: three standard deviations at the worst of many random ones, as norms [N, N*m].
        poses: how many there were.
    """

    model: str
    bias: Array
    bias_deviation: Array
    gravity_parameters: Array
    rank: int
    condition_number: float
    residual_force: float
    residual_torque: float
    prediction_error: Array
    poses: int


def calibrate(
    bodies: SensedBodies,
    poses: Sequence[StaticPose],
    config: CalibrationConfig,
    *,
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81),
    lower: Array | None = None,
    upper: Array | None = None,
) -> CalibrationResult:
    """Solve for the bias, and with model ``bias_and_gravity`` for the gravity parameters.

    Args:
        bodies: above the sensor, as described.
        poses: at rest, nothing touching the arm, the payload as described.
        config: settings.
        gravity: (3,) in axes of the root link [m/s^2].
        lower: (n,) position limits between which the arm will be used [rad | m]; None: half a turn or metre either way.
        upper: (n,)

    Raises:
        InputError: the poses are too few, too alike, not at rest, not finite, or leave too large a residual; the
            message says what to do.
        ConfigError: limits that do not fit the robot.
    """
    _check_numbers(bodies, poses, config)
    positions = np.array([np.concatenate((pose.position, pose.deflection)) for pose in poses])
    elastic = positions[:, bodies.n :]
    identifiable = IdentifiableGravity(
        bodies,
        gravity,
        lower=lower,
        upper=upper,
        deflection=(elastic.min(axis=0), elastic.max(axis=0)),
        noise=config.noise,
        limit=config.max_condition,
    )
    solves = config.model == "bias_and_gravity"
    condition = _check_information(identifiable, positions, config) if solves else 1.0
    wrenches = np.array([pose.wrench for pose in poses])
    phi = bodies.gravity_parameters()
    left = (wrenches - identifiable.regressor.matrices(positions) @ phi.ravel()) / identifiable.noise
    directions = identifiable.directions if solves else np.zeros((phi.size, 0))
    rows = identifiable.rows(positions) if solves else np.zeros((len(poses), 6, 0))
    count, rank = len(poses), directions.shape[1]
    centred = (rows - rows.mean(axis=0)).reshape(6 * count, rank)
    U, singular, V = np.linalg.svd(centred, full_matrices=False)
    solve = (V.T / singular) @ U.T  # (r, 6 k)
    y = solve @ (left - left.mean(axis=0)).ravel()
    scaled_bias = left.mean(axis=0) - rows.mean(axis=0) @ y
    residual = (left - rows @ y - scaled_bias) * identifiable.noise
    _check_residual(residual, config)
    # of each component in its turn: variance from what the residual has left of freedom, at least from the scatter
    leverage = np.square(U).sum(axis=1).reshape(count, 6) + 1.0 / count
    scatter = np.mean(np.square([pose.deviation for pose in poses]), axis=0)
    variance = np.zeros(6)
    for part in (slice(0, 3), slice(3, 6)):
        free = 3 * count - leverage[:, part].sum()
        variance[part] = max(np.square(residual[:, part]).sum() / max(free, 1.0), scatter[part].mean())
    variance /= np.square(identifiable.noise)
    covariance = (solve * np.tile(variance, count)) @ solve.T
    mean = rows.mean(axis=0)
    bias_variance = np.einsum("ij,jk,ik->i", mean, covariance, mean) + variance / count
    return CalibrationResult(
        model=config.model,
        bias=scaled_bias * identifiable.noise,
        bias_deviation=np.sqrt(bias_variance) * identifiable.noise,
        gravity_parameters=phi + (directions @ y).reshape(phi.shape),
        rank=rank,
        condition_number=condition,
        residual_force=_root_mean_square(residual[:, :3]),
        residual_torque=_root_mean_square(residual[:, 3:]),
        prediction_error=_prediction_error(identifiable, mean, covariance, variance + variance / count),
        poses=count,
    )


def _root_mean_square(residual: Array) -> float:
    return float(np.sqrt(np.mean(np.square(residual).sum(axis=1))))


def _prediction_error(identifiable: IdentifiableGravity, mean: Array, covariance: Array, of_pose: Array) -> Array:
    change = np.zeros((1, 6, 0))
    if mean.shape[1]:
        change = identifiable.rows(identifiable.positions) - mean
    variances = np.einsum("kij,jl,kil->ki", change, covariance, change) + of_pose
    variances *= np.square(identifiable.noise)
    return DEVIATIONS * np.sqrt([variances[:, :3].sum(axis=1).max(), variances[:, 3:].sum(axis=1).max()])


def _check_numbers(bodies: SensedBodies, poses: Sequence[StaticPose], config: CalibrationConfig) -> None:
    m = len(bodies.coordinates) - bodies.n
    if len(poses) < config.min_poses:
        raise InputError(f"{len(poses)} static poses are too few: give at least {config.min_poses}")
    for i, pose in enumerate(poses):
        for name, value, size in (
            ("position", pose.position, bodies.n),
            ("wrench", pose.wrench, 6),
            ("deviation", pose.deviation, 6),
            ("deflection", pose.deflection, m),
        ):
            if np.shape(value) != (size,) or not np.isfinite(value).all():
                raise InputError(f"pose {i}: {name} must be {size} finite numbers, got {value}")
        if not pose.fastest <= config.max_velocity:
            raise InputError(
                f"pose {i}: a joint moved at {pose.fastest:.3g} rad/s or m/s, at rest is up to"
                f" {config.max_velocity:g}: let the arm settle before it is weighed"
            )


def _check_information(identifiable: IdentifiableGravity, positions: Array, config: CalibrationConfig) -> float:
    """Condition number of the poses."""
    needed = fewest_poses(identifiable)
    if len(positions) < needed:
        raise InputError(
            f"{len(positions)} static poses are too few for {identifiable.rank} gravity parameters and the bias: give"
            f" at least {needed}, or calibrate the bias alone (model: bias)"
        )
    information = identifiable.information(positions)
    if information.rank < identifiable.rank:
        raise InputError(
            f"the poses tell {information.rank} of {identifiable.rank} gravity parameters apart, not the"
            f" {information.weakest}: add poses in which the joints under it, and its own, stand otherwise"
        )
    if information.condition_number > config.max_condition:
        raise InputError(
            f"the poses are too alike: condition number {information.condition_number:.3g}, allowed are"
            f" {config.max_condition:g}; least of all they tell the {information.weakest}: spread the joints wider"
        )
    return information.condition_number


def fewest_poses(identifiable: IdentifiableGravity) -> int:
    """Fewest poses that determine the gravity parameters and the bias, with some to spare."""
    if not identifiable.rank:
        return 1 + SURPLUS
    return -(-identifiable.rank // identifiable.components) + 1 + SURPLUS


def _check_residual(residual: Array, config: CalibrationConfig) -> None:
    for part, allowed, unit in (
        (slice(0, 3), config.max_residual_force, "N"),
        (slice(3, 6), config.max_residual_torque, "N*m"),
    ):
        sizes = np.linalg.norm(residual[:, part], axis=1)
        worst = int(np.argmax(sizes))
        if not sizes[worst] <= allowed:
            remedy = "or calibrate the masses too (model: bias_and_gravity)" if config.model == "bias" else ""
            raise InputError(
                f"pose {worst} leaves a residual of {sizes[worst]:.3g} {unit}, allowed are {allowed:g}: something"
                " touched the arm there, it carries another payload than described, or wrench and joints are not of"
                f" the same time; take it anew {remedy}".rstrip()
            )
