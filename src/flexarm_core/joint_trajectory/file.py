"""Joint trajectories in YAML files, as ``ros2 topic echo`` prints a trajectory_msgs/msg/JointTrajectory.

::

    joint_names: [shoulder, elbow]
    points:
    - {positions: [0.0, 0.0], velocities: [0.0, 0.0], time_from_start: {sec: 0, nanosec: 0}}
    - {positions: [0.5, 0.2], velocities: [0.0, 0.0], time_from_start: 1.5}

Times may also be numbers [s]. The stamp of a header is ignored.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from flexarm_core.errors import ConfigError
from flexarm_core.joint_trajectory.points import FIELDS, MOST_POINTS, Points
from flexarm_core.text_file import read_text
from flexarm_core.yaml_bounds import MOST_BYTES, excess

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_trajectory(path: str | Path) -> Points:
    """Return the points in a file.

    Raises:
        ConfigError: the file cannot be read, or is no trajectory.
    """
    text = read_text(path, "trajectory file", MOST_BYTES)
    if too_much := excess(text):
        raise ConfigError(f"trajectory file '{path}' {too_much}")
    try:
        documents = list(yaml.load_all(text, _LOADER))  # echo ends with the separator of documents
        return _points(documents[0])
    except (yaml.YAMLError, TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ConfigError(
            f"trajectory file '{path}' is no joint trajectory: {type(error).__name__}: {reason}"
        ) from error


def _points(given: Any) -> Points:
    names, points = tuple(str(name) for name in given["joint_names"]), given["points"]
    if len(points) > MOST_POINTS:
        raise ValueError(f"{len(points)} points, at most {MOST_POINTS} are accepted")
    lists = [[list(point.get(name) or []) for name in FIELDS] for point in points]
    sizes = np.array([[len(one) for one in row] for row in lists], np.int64).reshape(-1, 4)
    numbers = None
    if ((sizes[:, :3] == len(names)) | (sizes[:, :3] == 0)).all():
        none = [np.nan] * len(names)
        columns = [np.array([row[i] or none for row in lists], float).reshape(-1, len(names)) for i in range(3)]
        numbers = columns[0], columns[1], columns[2]
    return Points(names, 0, np.array([_time(point["time_from_start"]) for point in points], np.int64), sizes, numbers)


def _time(given: Any) -> int:
    """Return a time [ns]."""
    if isinstance(given, dict):
        return int(given.get("sec", 0)) * 1_000_000_000 + int(given.get("nanosec", 0))
    return round(float(given) * 1e9)
