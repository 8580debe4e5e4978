r"""ToolCalibration: bias of a force/torque sensor, mass and center of mass of its load, from poses at rest.

With gravity ``g`` in axes of the sensor, a free tool at rest is read, for the sign ``s`` of the sensor, as::

    f = b_f + s m g            n = b_n + s m c x g

Force and moment are linear in ``(b_f, m)`` and ``(b_n, m c)``: two least-squares problems.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from flexarm_core.entrance import ANY, finite
from flexarm_core.errors import InputError
from flexarm_core.settings import Settings, setting
from flexarm_core.types import Array

FEWEST = 4  # poses: three orientations and one that tells whether they fit
WORST = 100.0  # largest condition number of the poses
LIGHTEST = 1e-3  # [kg] mass from which on there is a center of mass


@dataclass(frozen=True, slots=True)
class ToolCalibration:
    """Result of a calibration.

    Attributes:
        bias: (6,) reading without any load, in sensor axes and in the convention of the sensor [N, N*m].
        mass: mass outboard of the sensor [kg].
        center_of_mass: (3,) its center in the sensor frame; zero for less than 1 g [m].
        condition_number: of the poses.
        residual_force: root mean square over the poses [N].
        residual_torque: the same of the moment [N*m].
        poses: number of poses.
    """

    bias: Array
    mass: float
    center_of_mass: Array
    condition_number: float
    residual_force: float
    residual_torque: float
    poses: int


def calibrate_tool(gravity: Array, wrench: Array, sign: float = 1.0, max_residual: float = 0.1) -> ToolCalibration:
    """Compute bias and load from the readings of a free tool at rest.

    Args:
        gravity: (k, 3) gravity in sensor axes, by pose [m/s^2].
        wrench: (k, 6) readings ``[f; n]`` [N, N*m].
        sign: 1 if the outboard side exerts the measured wrench on the inboard side, -1 for the reverse.
        max_residual: largest residual of a force, relative to the largest change of the forces by the load.

    Raises:
        InputError: a shape is wrong, a number is not finite, there are too few poses, they are too alike, or the
            readings do not fit to a load.
    """
    gravity = finite("gravity", gravity, ANY, 3)
    wrench = finite("wrench", wrench, len(gravity), 6)
    k = len(gravity)
    if k < FEWEST:
        raise InputError(f"{k} poses are too few: weigh the tool in at least {FEWEST}")
    size = float(np.linalg.norm(gravity, axis=1).max())
    if not size > 0.0:
        raise InputError("there is no gravity: a load cannot be weighed")
    down = gravity / size
    ones = np.tile(np.eye(3), (k, 1))
    forces = np.column_stack((ones, down.reshape(-1, 1)))
    moments = np.column_stack((ones, np.concatenate([-_cross(g) for g in down])))
    condition = max(np.linalg.cond(forces), np.linalg.cond(moments))
    if not condition <= WORST:
        raise InputError(
            f"the poses are too alike: condition number {condition:.3g}, allowed are {WORST:g}; turn the tool so that"
            " gravity pulls at it from other sides"
        )
    force, moment = wrench[:, :3].ravel(), wrench[:, 3:].ravel()
    by_force, by_moment = (np.linalg.lstsq(A, b, rcond=None)[0] for A, b in ((forces, force), (moments, moment)))
    off_force, off_moment = (force - forces @ by_force).reshape(k, 3), (moment - moments @ by_moment).reshape(k, 3)
    mass, first = sign * by_force[3] / size, sign * by_moment[3:] / size
    noise = _root_mean_square(off_force) / size
    if mass < -max(LIGHTEST, 3.0 * noise):
        raise InputError(
            f"the load would weigh {mass:.3g} kg: wrench_convention has the wrong sign, or the axes of the sensor are"
            " not those of its frame"
        )
    change = float(np.abs(wrench[:, :3] - wrench[:, :3].mean(axis=0)).max())
    worst = float(np.linalg.norm(off_force, axis=1).max())
    if worst > max(max_residual * change, 10.0 * size * LIGHTEST):
        pose = int(np.argmax(np.linalg.norm(off_force, axis=1))) + 1
        raise InputError(
            f"pose {pose} leaves a residual of {worst:.3g} N: the tool touched something there, a cable pulls at it, or"
            " the axes of the sensor are not those of its frame"
        )
    return ToolCalibration(
        bias=np.concatenate((by_force[:3], by_moment[:3])),
        mass=max(mass, 0.0),
        center_of_mass=first / mass if mass > LIGHTEST else np.zeros(3),
        condition_number=float(condition),
        residual_force=_root_mean_square(off_force),
        residual_torque=_root_mean_square(off_moment),
        poses=k,
    )


def _cross(v: Array) -> Array:
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _root_mean_square(residual: Array) -> float:
    return float(np.sqrt(np.mean(np.square(residual).sum(axis=1))))


@dataclass(frozen=True, slots=True)
class ToolWeighingConfig(Settings):
    """Settings of :class:`ToolWeighing`."""

    # fmt: off
    pose_count: int = setting(8, "poses to weigh", "", FEWEST, 1000)
    samples: int = setting(200, "readings that are averaged in a pose", "", 1, 100000)
    settle_time: float = setting(1.0, "time at rest before they are averaged", "s", 0.0)
    min_angle: float = setting(0.4, "least angle between gravity, seen by the sensor, in two poses", "rad", 0.0, 1.5)
    max_velocity: float = setting(0.01, "joint velocity below which the arm counts as at rest", "rad/s | m/s", 1e-9)
    # fmt: on


class ToolWeighing:
    """Weighs the tool whenever the arm rests in a new orientation; any node or person may move it there.

    Attributes:
        config: settings.
        gravity: gravity in sensor axes (3,), by pose [m/s^2].
        wrench: mean readings (6,), by pose [N, N*m].
        phase: next step: ``move``, ``settling`` or ``measuring``.
    """

    def __init__(self, config: ToolWeighingConfig) -> None:
        """Wait for the first pose."""
        self.config = config
        self.gravity: list[Array] = []
        self.wrench: list[Array] = []
        self.interrupt()

    @property
    def done(self) -> bool:
        """Whether all poses are weighed."""
        return len(self.wrench) >= self.config.pose_count

    def interrupt(self) -> None:
        """Discard the pose that is being weighed."""
        self.phase, self._since = "move", -1
        self._pulls: list[Array] = []
        self._readings: list[Array] = []

    def take(self, stamp: int, gravity: Array, reading: Array | None, speed: float) -> None:
        """Take a sample.

        Args:
            stamp: its stamp [ns].
            gravity: (3,) gravity in sensor axes [m/s^2].
            reading: (6,) reading of the sensor; None: there is none [N, N*m].
            speed: speed of the fastest joint [rad/s | m/s].

        Raises:
            InputError: an array has the wrong shape, or is not finite.
        """
        gravity = finite("gravity", gravity, 3)
        if self.done or not speed <= self.config.max_velocity or not self._is_new(gravity) or stamp < self._since:
            self.interrupt()
            return
        if self._since < 0:
            self.phase, self._since = "settling", stamp
        if stamp - self._since < self.config.settle_time * 1e9 or reading is None:
            return
        self.phase = "measuring"
        self._pulls.append(gravity.copy())
        self._readings.append(finite("reading", reading, 6).copy())
        if len(self._readings) >= self.config.samples:
            self.gravity.append(np.mean(self._pulls, axis=0))
            self.wrench.append(np.mean(self._readings, axis=0))
            self.interrupt()

    def _is_new(self, gravity: Array) -> bool:
        """Return whether gravity comes from another side than in every pose before."""
        size = math.sqrt(float(gravity @ gravity))
        if not size > 0.0:
            raise InputError("there is no gravity: a load cannot be weighed")
        nearest = max(
            (float(gravity @ one) / (size * float(np.linalg.norm(one))) for one in self.gravity), default=-1.0
        )
        return nearest <= math.cos(self.config.min_angle)
