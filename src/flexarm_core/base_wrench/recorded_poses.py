"""find_static_poses: extracts static poses and their mean sensor wrenches from a recording."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexarm_core.base_wrench.static_pose import StaticPose, mean_pose
from flexarm_core.errors import InputError
from flexarm_core.settings import Settings, setting
from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class RestConfig(Settings):
    """Criteria for intervals of rest in a recording."""

    # fmt: off
    max_velocity: float = setting(0.01, "largest velocity of a joint at rest", "rad/s | m/s", 1e-9)
    max_drift: float = setting(0.005, "largest displacement of a joint during an interval of rest", "rad | m", 1e-9)
    settle_time: float = setting(0.5, "time at the start of an interval that is ignored", "s", 0.0)
    min_time: float = setting(0.3, "shortest duration of an interval after the settling time", "s", 1e-9)
    min_displacement: float = setting(0.1,
        "smallest displacement of at least one joint from each earlier pose", "rad | m", 0.0)
    max_gap: float = setting(0.1, "longest time between two samples of an interval", "s", 1e-9)
    # fmt: on


def find_static_poses(
    stamps: NDArray[np.int64],
    positions: Array,
    velocities: Array,
    wrenches: Array,
    config: RestConfig,
    deflections: Array | None = None,
) -> list[StaticPose]:
    """Return the static poses of a recording, in chronological order.

    Intervals of rest without a wrench, or too close to an earlier pose, are omitted.

    Args:
        stamps: (k,) strictly increasing stamps [ns].
        positions: (k, n) joint positions [rad | m].
        velocities: (k, n) joint velocities [rad/s | m/s].
        wrenches: (k, 6) wrenches of the robot on the base in the sensor frame; NaN for samples without a wrench
            [N, N*m].
        config: criteria for rest.
        deflections: (k, m) positions of the elastic joints of the base [m | rad].

    Raises:
        InputError: the arrays do not fit together, the stamps do not increase, or a joint state is not finite.
    """
    k = len(stamps)
    if positions.ndim != 2 or len(positions) != k or velocities.shape != positions.shape or wrenches.shape != (k, 6):
        raise InputError(
            f"a recording needs positions and velocities ({k}, n) and wrenches ({k}, 6) for its {k} stamps, got"
            f" {positions.shape}, {velocities.shape} and {wrenches.shape}"
        )
    if deflections is not None and (deflections.ndim != 2 or len(deflections) != k):
        raise InputError(f"a recording of {k} stamps needs as many deflections, got {deflections.shape}")
    if (np.diff(stamps) <= 0).any():
        raise InputError("the stamps of a recording must rise from sample to sample")
    if not (np.isfinite(positions).all() and np.isfinite(velocities).all()):
        raise InputError("positions and velocities of a recording must be finite")
    poses: list[StaticPose] = []
    for first, last in _rests(stamps, positions, velocities, config):
        counts = slice(int(np.searchsorted(stamps, stamps[first] + config.settle_time * 1e9)), last + 1)
        if counts.start > last or stamps[last] - stamps[counts.start] < config.min_time * 1e9:
            continue
        readings = wrenches[counts]
        readings = readings[np.isfinite(readings).all(axis=1)]
        if not len(readings):
            continue
        bent = None if deflections is None else deflections[counts]
        pose = mean_pose(positions[counts], velocities[counts], readings, bent)
        if all(np.abs(pose.position - other.position).max() >= config.min_displacement for other in poses):
            poses.append(pose)
    return poses


def _rests(stamps: NDArray[np.int64], positions: Array, velocities: Array, config: RestConfig) -> list[tuple[int, int]]:
    """Return the indices of the first and last sample of each interval of rest."""
    still: NDArray[np.bool_] = np.abs(velocities).max(axis=1, initial=0.0) <= config.max_velocity
    rests: list[tuple[int, int]] = []
    first = -1
    for i in range(len(stamps)):
        broken = first >= 0 and (
            not still[i]
            or stamps[i] - stamps[i - 1] > config.max_gap * 1e9
            or np.abs(positions[i] - positions[first]).max() > config.max_drift
        )
        if broken:
            rests.append((first, i - 1))
            first = -1
        if first < 0 and still[i]:
            first = i
    if first >= 0:
        rests.append((first, len(stamps) - 1))
    return rests
