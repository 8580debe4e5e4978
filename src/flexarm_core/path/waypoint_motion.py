"""WaypointMotion: time-optimal tool reference along the path of a waypoint file, within tool limits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.path.path_timing import PathTiming, time_path
from flexarm_core.path.waypoint_file import PathSpec
from flexarm_core.types import Array, CartesianReference


@dataclass(frozen=True, slots=True)
class WaypointMotionConfig:
    """Settings of a motion along a waypoint file.

    Attributes:
        spec: path specification from the waypoint file.
        frame: frame in which the reference is expressed.
        limits: tool limits.
        start: time after the first sample at which the motion begins [s].
        axes: (6,) tracked axes x y z rx ry rz.
        returns: whether the tool moves back and forth along the path without end, each way in the same time.
    """

    spec: PathSpec
    frame: str
    limits: PathLimits
    start: float = 0.0
    axes: tuple[bool, ...] = (True, True, True, True, True, True)
    returns: bool = False

    def __post_init__(self) -> None:
        """Raise ConfigError for values that are out of range, not finite or of wrong length."""
        if len(self.axes) != 6:
            raise ConfigError(f"axes must be six booleans (x y z rx ry rz), got {self.axes}")
        if not 0.0 <= self.start < math.inf:
            raise ConfigError(f"start must be >= 0 s, got {self.start}")


class WaypointMotion:
    """Time-optimal tool reference along a waypoint file, starting at the pose passed to :meth:`begin`."""

    def __init__(self, config: WaypointMotionConfig) -> None:
        """Set up the motion; :meth:`begin` starts it."""
        self.config = config
        self.reset()

    def reset(self) -> None:
        """Discard the first pose; :meth:`begin` starts the motion again."""
        self._begin: int | None = None
        self._timing: PathTiming | InputError | None = None

    @property
    def begun(self) -> bool:
        """Whether the motion has begun."""
        return self._begin is not None

    def begin(self, stamp: int, position: Array, rotation: Array) -> None:
        """Start the motion at the tool position (3,) [m] and rotation (3, 3) at this stamp [ns].

        If no path or time law exists from this pose, :meth:`update` raises the InputError.
        """
        self._begin = stamp
        try:
            self._timing = time_path(self.config.spec.build(position, rotation), self.config.limits)
        except InputError as error:  # raised by every update, computed only once
            self._timing = error

    def update(self, stamp: int) -> CartesianReference:
        """Return the reference at a stamp [ns]: pose and its exact first and second derivatives.

        Raises:
            ConfigError: the motion has not begun.
            InputError: the waypoint file gives no valid path or time law from the first pose.
        """
        if self._begin is None or self._timing is None:
            raise ConfigError("the motion has not begun: call begin() with the first pose")
        if isinstance(self._timing, InputError):
            raise self._timing
        time, forward = (stamp - self._begin) * 1e-9 - self.config.start, 1.0
        if self.config.returns and time > 0.0:
            turns, time = divmod(time, self._timing.duration)
            if int(turns) % 2:  # time is reversed: velocities change sign, accelerations do not
                time, forward = self._timing.duration - time, -1.0
        position, rotation, twist, acceleration = self._timing.tool(time)
        return CartesianReference(
            stamp=stamp,
            frame=self.config.frame,
            position=position,
            rotation=rotation,
            velocity=forward * twist,
            acceleration=acceleration,
            axes=np.array(self.config.axes, dtype=bool),
        )
