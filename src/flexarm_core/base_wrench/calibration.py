r"""Calibration: estimate the sensor bias and the arm's gravity parameters from static poses, by least squares.

At rest ``W_i = Y(q_i) (phi + S T y) + b`` with the parameters ``phi`` of the robot description and the identifiable
part ``S T y`` of their error (see :mod:`gravity_parameters`). Subtracting the means over the poses removes ``b``::

    N^-1 (Y_i - Ybar) S T y = N^-1 ((W_i - Y_i phi) - mean)        b = mean(W_i - Y_i (phi + S T y))

An error that static poses cannot distinguish from a constant wrench is assigned to the bias: on a level base, an error
of the total mass becomes a vertical bias force, and an error of the center of mass along a horizontal first axis
becomes a constant moment. The total mass and the bodies that do not move relative to the sensor are taken from the
robot description.
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

DEVIATIONS = 3.0  # standard deviations in the reported prediction error
SURPLUS = 2  # poses beyond the number that determines the unknowns, so that the residual is informative


@dataclass(frozen=True, slots=True)
class CalibrationResult:
    """Result of a calibration.

    Attributes:
        model: ``bias`` or ``bias_and_gravity``.
        bias: (6,) sensor bias, as a wrench of the robot on the base in the sensor frame [N, N*m].
        bias_deviation: (6,) standard deviation of the bias, from the residual [N, N*m].
        gravity_parameters: (w, 4) ``[m, m cx, m cy, m cz]`` of ``bodies.weighing``: the values of the robot description
            plus the smallest change along the directions that the poses determine [kg, kg*m].
        rank: number of parameter directions that were determined.
        condition_number: condition number of these directions over the poses.
        residual_force: root mean square over the poses of the norm of the residual force [N].
        residual_torque: root mean square over the poses of the norm of the residual torque [N*m].
        prediction_error: (2,) expected error of bias plus gravity wrench at a pose that was not used: three standard
            deviations at the worst of many random poses, as norms [N, N*m].
        poses: number of poses.
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
    """Solve for the bias, and with model ``bias_and_gravity`` also for the gravity parameters.

    Args:
        bodies: bodies above the sensor, from the robot description.
        poses: static poses without contact, with the payload of the robot description.
        config: calibration settings.
        gravity: (3,) gravity vector in the root link frame [m/s^2].
        lower: (n,) lower position limits of the range in which the arm will be used [rad | m]; None: half a turn or
            half a meter to either side.
        upper: (n,) upper position limits of that range [rad | m].

    Raises:
        InputError: the poses are too few, too similar, not at rest or not finite, or the residual is too large; the
            message states the remedy.
        ConfigError: the limits do not fit the robot.
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
    centered = (rows - rows.mean(axis=0)).reshape(6 * count, rank)
    U, singular, V = np.linalg.svd(centered, full_matrices=False)
    solve = (V.T / singular) @ U.T  # (r, 6 k)
    y = solve @ (left - left.mean(axis=0)).ravel()
    scaled_bias = left.mean(axis=0) - rows.mean(axis=0) @ y
    residual = (left - rows @ y - scaled_bias) * identifiable.noise
    _check_residual(residual, config)
    # for force and torque separately: residual variance per degree of freedom, at least the scatter within the poses
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
    """Return the condition number of the poses; raise InputError if they do not determine the gravity parameters."""
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
    """Return the smallest number of poses that determines gravity parameters and bias, plus ``SURPLUS`` poses."""
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
