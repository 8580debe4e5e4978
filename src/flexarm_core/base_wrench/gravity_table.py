r"""GravityTable: interpolates the gravity wrench in a table over the joint positions (US 5,767,648, claims 5 and 13).

For rigid links on a base that does not tilt, the wrench is a linear combination of ``1, cos q, sin q`` of each revolute
joint and of ``1, q`` of each prismatic joint. With the interpolation weights ::

    revolute    w_k = (1 + 2 cos(q - q_k)) / 3,   q_k = 0, 2 pi / 3, 4 pi / 3
    prismatic   w_0 = (b - q) / (b - a),  w_1 = (q - a) / (b - a)        nodes a, b

for three nodes per revolute joint and two nodes per prismatic joint, the interpolation is therefore exact; the weights
of several joints are multiplied. A joint that does not change the wrench has one node. The table of seven revolute
joints has 3^7 = 2187 entries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexarm_core.array_file import ArrayFile
from flexarm_core.base_wrench.gravity_parameters import prismatic_joints
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.compiled import kernel
from flexarm_core.entrance import ANY, finite, integers, numbers
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.types import Array

NODES = {"none": 1, "prismatic": 2, "revolute": 3}
TURN = 2.0 * math.pi / 3.0
MOST_ENTRIES = 3**12
POSES, SEED = 200, 5
SAME = 1e-12  # change relative to the largest wrench that is attributed to rounding
ROUND_OFF = 1e-12  # rounding error of table and model relative to the largest wrench
KEYS = ("joint_names", "sensor", "counts", "ends", "values", "error")


class GravityTable:
    """Gravity wrench of the robot on the base, in the sensor frame, as a function of the actuated joint positions.

    Attributes:
        joint_names: (n) actuated joints, in the order of positions.
        sensor: name of the sensor.
        counts: (n,) number of nodes of each joint: 3 revolute, 2 prismatic, 1 for a joint that does not change the
            wrench.
        ends: (n, 2) nodes of prismatic joints [m].
        values: (product of counts, 6) wrenches at the nodes; the index of the last joint varies fastest [N, N*m].
        error: (2,) largest expected errors of force and torque, as norms [N, N*m].
    """

    def __init__(
        self,
        joint_names: Sequence[str],
        sensor: str,
        counts: NDArray[np.int64],
        ends: Array,
        values: Array,
        error: Array,
    ) -> None:
        """Set nodes and values.

        Raises:
            ConfigError: the arrays do not fit together, or are not finite.
        """
        n = len(joint_names)
        self.joint_names, self.sensor = tuple(joint_names), sensor
        try:
            self.counts = integers("counts", counts, 4, ANY).copy()
            self.ends, self.values = finite("ends", ends, ANY, 2).copy(), finite("values", values, ANY, 6).copy()
            self.error = numbers("error", error, 2).copy()
        except InputError as problem:
            raise ConfigError(f"gravity table: {problem}") from problem
        if self.counts.shape != (n,) or self.ends.shape != (n, 2) or not np.isin(self.counts, (1, 2, 3)).all():
            raise ConfigError(f"a table over {n} joints needs 1, 2 or 3 nodes each, got {counts} and ends {ends}")
        if self.values.shape != (int(np.prod(self.counts)), 6) or not np.isfinite(self.values).all():
            raise ConfigError(
                f"a table of {' x '.join(map(str, self.counts))} nodes needs finite values of shape"
                f" {(int(np.prod(self.counts)), 6)}, got {self.values.shape}"
            )
        slides = self.counts == NODES["prismatic"]
        if not (np.isfinite(self.ends).all() and (self.ends[slides, 0] < self.ends[slides, 1]).all()):
            raise ConfigError(f"nodes of prismatic joints must be finite and in order, got {ends}")
        if self.error.shape != (2,) or np.isnan(self.error).any():
            raise ConfigError(f"the error must be of force and torque, got {error}")
        self._flat = self.values.ravel()
        self._work = np.empty(max(len(self._flat) // 2, 6))

    def wrench(self, position: Array) -> Array:
        """Return the gravity wrench (6,) ``[f; n]`` [N, N*m] at joint positions (n,) [rad | m]."""
        position, out = finite("position", position, len(self.counts)), np.empty(6)
        look_up(self._flat, self.counts, self.ends, position, self._work, out)
        return out

    def constant(self) -> Array:
        """Return the part of the wrench (6,) that does not depend on the posture: the mean over the nodes [N, N*m]."""
        constant: Array = self.values.mean(axis=0)
        return constant

    def posture_dependent(self) -> GravityTable:
        """Return the table of the part that depends on the posture alone (claims 8, 15, 21, 27, 33).

        The rest is constant, as the bias of the sensor is: both are read at once, in any posture at rest, and nothing
        has to be known of masses that do not move.
        """
        values = self.values - self.constant()
        return GravityTable(self.joint_names, self.sensor, self.counts, self.ends, values, self.error)

    @classmethod
    def from_model(cls, dynamics: SensorDynamics) -> GravityTable:
        """Compute the table of a model; ``error`` is the largest error at random poses plus a bound of rounding errors.

        Raises:
            ConfigError: an elastic joint changes the gravity wrench, or the table would be too large.
        """
        bodies = dynamics.bodies
        n, size = bodies.n, len(bodies.coordinates)
        slides = np.concatenate((prismatic_joints(bodies), np.zeros(size - n, dtype=bool)))
        rng = np.random.default_rng(SEED)
        half = np.where(slides, 1.0, math.pi)
        poses = rng.uniform(-half, half, (POSES, size))
        wrenches = np.array([dynamics.gravity_wrench(pose) for pose in poses])
        largest = _norms(wrenches)
        matters = np.array([_matters(dynamics, poses[:20], wrenches[:20], i, SAME * largest) for i in range(size)])
        if matters[n:].any():
            names = ", ".join(name for name, moves in zip(bodies.coordinates[n:], matters[n:], strict=True) if moves)
            raise ConfigError(f"a gravity table is for a base that stands still, this one moves at: {names}")
        counts = np.where(matters[:n], np.where(slides[:n], NODES["prismatic"], NODES["revolute"]), NODES["none"])
        if np.prod(counts.astype(float)) > MOST_ENTRIES:
            raise ConfigError(
                f"a table over {int(matters.sum())} joints would have {np.prod(counts.astype(float)):.3g} entries, at"
                f" most {MOST_ENTRIES} are usable: take the gravity wrench from the model"
            )
        ends = np.tile((-1.0, 1.0), (n, 1))
        position = np.zeros(size)
        values = []
        for nodes in product(*(range(count) for count in counts)):
            for i, node in enumerate(nodes):
                position[i] = ends[i, node] if slides[i] else TURN * node
            position[:n][counts == 1] = 0.0
            values.append(dynamics.gravity_wrench(position))
        floor = ROUND_OFF * largest
        table = cls(bodies.coordinates[:n], bodies.sensor, counts, ends, np.array(values), floor)
        found = np.array([table.wrench(pose[:n]) for pose in poses]) - wrenches
        table.error = _norms(found) + floor
        return table

    @classmethod
    def from_samples(
        cls,
        positions: Array,
        wrenches: Array,
        kinds: Sequence[str],
        joint_names: Sequence[str],
        sensor: str,
        max_condition: float = 1e4,
    ) -> GravityTable:
        """Fit a table to measured wrenches by least squares; the table includes the sensor bias.

        ``error`` is the largest leave-one-out error: the error at a sample of the table fitted to all other samples. It
        contains noise and effects beyond rigid links, and is valid for positions similar to the samples.

        Args:
            positions: (k, n) joint positions at rest [rad | m].
            wrenches: (k, 6) wrenches of the robot on the base, in the sensor frame [N, N*m].
            kinds: (n) ``revolute``, ``prismatic``, or ``none`` for a joint that does not change the wrench.
            joint_names: (n) actuated joints.
            sensor: name of the sensor.
            max_condition: largest condition number of the fit.

        Raises:
            ConfigError: a kind is unknown, or there is a different number of kinds than joints.
            InputError: the samples have wrong shapes, are not finite, are too few, or do not determine the table.
        """
        n, k = len(joint_names), len(positions)
        if len(kinds) != n or not set(kinds) <= set(NODES):
            raise ConfigError(f"kinds must be {n} of {', '.join(NODES)}, got {tuple(kinds)}")
        positions, wrenches = np.asarray(positions, dtype=float), np.asarray(wrenches, dtype=float)
        if positions.shape != (k, n) or wrenches.shape != (k, 6):
            raise InputError(
                f"samples must be positions (k, {n}) and wrenches (k, 6), got {positions.shape} and {wrenches.shape}"
            )
        if not (np.isfinite(positions).all() and np.isfinite(wrenches).all()):
            raise InputError("samples must be finite")
        counts = np.array([NODES[kind] for kind in kinds], dtype=np.int64)
        entries = int(np.prod(counts))
        if k <= entries:
            raise InputError(
                f"a table of {entries} entries needs more than {entries} samples, got {k}; with less, calibrate the"
                " gravity parameters and take the table from the model"
            )
        ends = np.column_stack((positions.min(axis=0), positions.max(axis=0)))
        weights = [_weights(positions[:, i], int(counts[i]), ends[i]) for i in range(n)]
        for name, part in zip(joint_names, weights, strict=True):
            if np.linalg.cond(part) > max_condition:
                raise InputError(
                    f"joint '{name}' takes too few different positions: condition number {np.linalg.cond(part):.3g},"
                    f" allowed are {max_condition:g}; spread it over at least {part.shape[1]} positions far apart"
                )
        design = np.ones((k, 1))
        for part in weights:
            design = (design[:, :, None] * part[:, None, :]).reshape(k, -1)
        U, singular, V = np.linalg.svd(design, full_matrices=False)
        condition = singular[0] / singular[-1] if singular[-1] > 0.0 else np.inf
        if condition > max_condition:
            joints = _entangled(V[singular < singular[0] / max_condition], counts, joint_names)
            raise InputError(
                f"the samples do not determine the table: condition number {condition:.3g}, allowed are"
                f" {max_condition:g}; vary independently of one another: {joints}"
            )
        values = (V.T / singular) @ (U.T @ wrenches)
        free = 1.0 - np.square(U).sum(axis=1)
        residual = wrenches - design @ values
        decides = free < 1e-9  # the error at a sample is unknown if the fit needs the sample
        error = np.full(2, np.inf) if decides.any() else _norms(residual / free[:, None])
        return cls(joint_names, sensor, counts, ends, values, error)

    def save(self, path: str | Path) -> None:
        """Write the table to an ``.npz`` file."""
        numbers = {key: getattr(self, key) for key in ("counts", "ends", "values", "error")}
        with open(path, "wb") as file:
            np.savez(file, joint_names=np.array(self.joint_names), sensor=np.array(self.sensor), **numbers)

    @classmethod
    def load(cls, path: str | Path, joint_names: Sequence[str], sensor: str) -> GravityTable:
        """Read a table and check that it belongs to these joints and this sensor.

        Raises:
            ConfigError: the file does not exist, is not a table, or belongs to other joints or another sensor.
        """
        archive = ArrayFile(path, "gravity table")
        missing = archive.lacking(KEYS)
        if missing:
            raise ConfigError(f"gravity table '{path}' lacks {', '.join(missing)}")
        arrays = archive.load()
        names = tuple(str(name) for name in np.atleast_1d(arrays["joint_names"]))
        try:
            counts = integers("counts", arrays["counts"], 4, ANY)
            ends, values, error = (numbers(key, arrays[key], *arrays[key].shape) for key in ("ends", "values", "error"))
        except InputError as problem:
            raise ConfigError(f"gravity table '{path}': {problem}") from problem
        if names != tuple(joint_names):
            raise ConfigError(f"gravity table '{path}' is of the joints {names}, the robot has {tuple(joint_names)}")
        if str(arrays["sensor"]) != sensor:
            raise ConfigError(f"gravity table '{path}' is of the sensor '{arrays['sensor']}', not of '{sensor}'")
        return cls(names, sensor, counts, ends, values, error)


@kernel
def look_up(values: Array, counts: Any, ends: Array, position: Array, work: Array, out: Array) -> None:
    """Interpolate joint by joint, starting with the first joint, so that the sums run over contiguous memory."""
    size, begun = len(values), False
    for joint in range(len(counts)):
        count = int(counts[joint])
        if count == 1:
            continue
        q = position[joint]
        size //= count
        if count == 2:
            b = (q - ends[joint, 0]) / (ends[joint, 1] - ends[joint, 0])
            a, c = 1.0 - b, 0.0
        else:
            co, si = math.cos(q), math.sqrt(3.0) * math.sin(q)
            a, b, c = (1.0 + 2.0 * co) / 3.0, (1.0 - co + si) / 3.0, (1.0 - co - si) / 3.0
        source = work if begun else values
        last = 2 * size if count == 3 else size  # with two nodes the third weight is zero
        for i in range(size):
            work[i] = a * source[i] + b * source[size + i] + c * source[last + i]
        begun = True
    source = work if begun else values
    for i in range(6):
        out[i] = source[i]


def _norms(wrenches: Array) -> Array:
    """Return the largest norms of force and torque (2,) among wrenches (k, 6)."""
    return np.array([np.linalg.norm(wrenches[:, part], axis=1).max() for part in (slice(0, 3), slice(3, 6))])


def _matters(dynamics: SensorDynamics, poses: Array, wrenches: Array, joint: int, same: Array) -> bool:
    moved = poses.copy()
    moved[:, joint] += 1.0
    changed = _norms(np.array([dynamics.gravity_wrench(pose) for pose in moved]) - wrenches)
    return bool((changed > same).any())


def _weights(q: Array, count: int, ends: Array) -> Array:
    """Return the interpolation weights (k, count) of the nodes at positions (k,) of one joint."""
    if count == 1:
        return np.ones((len(q), 1))
    if count == 2:
        share = (q - ends[0]) / max(ends[1] - ends[0], np.finfo(float).tiny)
        return np.column_stack((1.0 - share, share))
    return (1.0 + 2.0 * np.cos(q[:, None] - TURN * np.arange(3))) / 3.0


def _entangled(null: Array, counts: NDArray[np.int64], joint_names: Sequence[str]) -> str:
    """Return the names of the joints that are involved in undetermined combinations (d, entries) of table values.

    A joint is not involved if the space of these combinations is closed under multiplication by functions of the joint.
    The projector on this space is then the Kronecker product ``P = P' x 1``, and ``|tr_joint P|^2 = count d``.
    """
    tensor = null.reshape(len(null), *counts)
    about = []
    for i, count in enumerate(counts):
        along = np.moveaxis(tensor, (0, i + 1), (-2, -1)).reshape(-1, len(null) * count)
        about.append(1.0 - np.square(along.T @ along).sum() / (count * len(null)))
    return ", ".join(name for name, part in zip(joint_names, about, strict=True) if part > 0.1 * max(about))
