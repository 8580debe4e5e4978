"""WaypointMotion: tool reference along a waypoint file, as fast as limits of the tool allow."""

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
        spec: of the path.
        frame: frame in which the reference is expressed.
        limits: of the tool.
        start: time after the first sample at which the motion begins [s].
        axes: (6,) tracked axes x y z rx ry rz.
        returns: whether the tool goes back along the path, again and again, each way in the same time.
    """

    spec: PathSpec
    frame: str
    limits: PathLimits
    start: float = 0.0
    axes: tuple[bool, ...] = (True, True, True, True, True, True)
    returns: bool = False

    def __post_init__(self) -> None:
        """Raise ConfigError for values that have no meaning."""
        if len(self.axes) != 6:
            raise ConfigError(f"axes must be six booleans (x y z rx ry rz), got {self.axes}")
        if not 0.0 <= self.start < math.inf:
            raise ConfigError(f"start must be >= 0 s, got {self.start}")


class WaypointMotion:
    """Tool reference along a waypoint file, as fast as the limits allow, from the first pose it is given."""

    def __init__(self, config: WaypointMotionConfig) -> None:
        """Set up a motion that has not begun."""
        self.config = config
        self.reset()

    def reset(self) -> None:
        """Forget the first pose: the next one begins the motion anew."""
        self._begin: int | None = None
        self._timing: PathTiming | InputError | None = None

    @property
    def begun(self) -> bool:
        """Whether the first pose is known."""
        return self._begin is not None

    def begin(self, stamp: int, position: Array, rotation: Array) -> None:
        """Take the pose of the tool (3,), (3, 3) at this stamp [ns] as the first of the path."""
        self._begin = stamp
        try:
            self._timing = time_path(self.config.spec.build(position, rotation), self.config.limits)
        except InputError as error:  # said at every update, found out once
            self._timing = error

    def update(self, stamp: int) -> CartesianReference:
        """Reference at a stamp [ns]: pose, and its exact first and second derivatives.

        Raises:
            ConfigError: the first pose is not known.
            InputError: the file makes no path from there.
        """
        if self._begin is None or self._timing is None:
            raise ConfigError("the motion has not begun: call begin() with the first pose")
        if isinstance(self._timing, InputError):
            raise self._timing
        time, forward = (stamp - self._begin) * 1e-9 - self.config.start, 1.0
        if self.config.returns and time > 0.0:
            turns, time = divmod(time, self._timing.duration)
            if int(turns) % 2:  # time runs back: rates change their sign, accelerations do not
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
