"""Points of a joint trajectory message, read from its memory as arrays: Python objects of them would take seconds.

A trajectory of 5000 points has 25,000 parts, each of which rclpy makes an object of, in the thread that answers joint
states. Here the points are set aside before that (see ``node/bounded_requests``), and read as columns of numbers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory

from flexarm_core.joint_trajectory.points import FIELDS, MOST_POINTS, Points
from flexarm_core.types import Array

MOST_NUMBERS = 2_000_000  # positions of a trajectory
_LIST = [("data", "<u8"), ("size", "<u8"), ("capacity", "<u8")]
_POINT = np.dtype([*((name, _LIST) for name in FIELDS), ("sec", "<i4"), ("nanosec", "<u4")])  # in C, by rosidl
Columns = tuple[NDArray[np.int64], NDArray[np.int64], tuple[Array, Array, Array] | None]  # times, sizes, numbers


class _Memory:
    """Numbers in memory, for NumPy."""

    def __init__(self, address: int, shape: tuple[int, ...], kind: str) -> None:
        self.__array_interface__ = {"data": (address, True), "shape": shape, "typestr": kind, "version": 3}


def set_points_aside(held: Any) -> tuple[Callable[[], None], Callable[[Any], None]]:
    """Take the points out of a message in C that is a trajectory, or has one; see ``bounded_requests.SetAside``.

    The converted message has the columns in the place of its points.

    Raises:
        OverflowError: there are too many points.
    """
    goal = getattr(held, "_goal", None)
    trajectory = held if goal is None else goal._trajectory
    points, count = trajectory._points, trajectory._points.size
    if count > MOST_POINTS or count * trajectory._joint_names.size > MOST_NUMBERS:
        raise OverflowError
    columns = _columns(points.data, count, trajectory._joint_names.size)
    points.size = 0

    def put_back() -> None:
        points.size = count

    def fill(message: Any) -> None:
        (message if goal is None else message.goal.trajectory)._points = columns

    return put_back, fill


def _columns(address: int, count: int, joints: int) -> Columns:
    if not count:
        return np.zeros(0, np.int64), np.zeros((0, 4), np.int64), None
    memory = np.asarray(_Memory(address, (count * _POINT.itemsize,), "|u1"))
    points = memory.view(_POINT)
    times = points["sec"].astype(np.int64) * 1_000_000_000 + points["nanosec"]
    sizes = np.stack([points[name]["size"].astype(np.int64) for name in FIELDS], axis=1)
    if not ((sizes[:, :3] == joints) | (sizes[:, :3] == 0)).all():
        return times, sizes, None
    positions, velocities, accelerations = (_numbers(points[name], joints) for name in FIELDS[:3])
    return times, sizes, (positions, velocities, accelerations)


def _numbers(lists: NDArray[Any], joints: int) -> Array:
    """Return the numbers (p, k) of lists in memory, NaN for empty ones."""
    found = np.full((len(lists), joints), np.nan)
    full = lists["size"] > 0
    if full.any():
        starts = lists["data"][full].astype(np.int64)
        first, last = int(starts.min()), int(starts.max())
        memory = np.asarray(_Memory(first, ((last - first) // 8 + joints,), "<f8"))  # only what is indexed is read
        found[full] = memory[((starts - first) // 8)[:, None] + np.arange(joints)]
    return found


def points_from_message(message: JointTrajectory) -> Points:
    """Return the points of a trajectory, set aside or not."""
    names, stamp = tuple(message.joint_names), message.header.stamp
    given: Any = message._points
    if not isinstance(given, tuple):
        given = _columns_of(given, len(names))
    return Points(names, stamp.sec * 1_000_000_000 + stamp.nanosec, *given)


def _columns_of(points: Any, joints: int) -> Columns:
    """Return the columns of points that are Python objects."""
    times = np.array([p.time_from_start.sec * 1_000_000_000 + p.time_from_start.nanosec for p in points], np.int64)
    sizes = np.array([[len(getattr(p, name)) for name in FIELDS] for p in points], np.int64).reshape(-1, 4)
    if not ((sizes[:, :3] == joints) | (sizes[:, :3] == 0)).all():
        return times, sizes, None
    none = [np.nan] * joints
    lists = ([list(getattr(p, name)) or none for p in points] for name in FIELDS[:3])
    positions, velocities, accelerations = (np.array(one, dtype=float).reshape(-1, joints) for one in lists)
    return times, sizes, (positions, velocities, accelerations)


assert ctypes.sizeof(ctypes.c_void_p) == 8, "points are read from 64-bit memory"
