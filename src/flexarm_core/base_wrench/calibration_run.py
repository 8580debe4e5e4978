"""CalibrationRun: moves the arm to each pose, waits until it settles, averages the wrench, and moves it back."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from flexarm_core.base_wrench.static_pose import StaticPose, mean_pose
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.path.joint_move import JointMove, JointMoveConfig
from flexarm_core.settings import Settings, setting
from flexarm_core.types import Array, JointReference

# Largest rate and acceleration of the fifth-order time law for unit displacement and unit duration.
PEAK_RATE, PEAK_ACCELERATION = 15.0 / 8.0, 10.0 / math.sqrt(3.0)
SHORTEST = 0.01  # shortest duration of a move, also with zero displacement [s]


@dataclass(frozen=True, slots=True)
class CalibrationRunConfig(Settings):
    """Settings of a run."""

    # fmt: off
    velocity: tuple[float, ...] = setting((0.5,),
        "largest joint velocity between calibration poses; one for all joints or one per joint", "rad/s | m/s")
    acceleration: tuple[float, ...] = setting((1.0,),
        "largest joint acceleration between calibration poses; one for all joints or one per joint", "rad/s^2 | m/s^2")
    settle_time: float = setting(1.0, "time at rest in a calibration pose before wrenches are averaged", "s", 0.0)
    samples: int = setting(200, "number of wrenches that are averaged in each calibration pose", "", 2)
    max_velocity: float = setting(0.01,
        "joint velocity below which the arm counts as at rest in a calibration pose", "rad/s | m/s", 1e-9)
    max_position_error: float = setting(0.1,
        "largest accepted deviation of a joint at rest from a calibration pose", "rad | m", 1e-9)
    timeout: float = setting(10.0, "longest stay in a calibration pose before the calibration fails", "s", 1e-3)
    # fmt: on

    def check(self) -> None:
        """Raise ConfigError for moves that are invalid, or that take longer to settle than they may last."""
        if len(self.velocity) != len(self.acceleration) or not self.velocity:
            raise ConfigError(
                f"velocity and acceleration must be of as many joints, got {self.velocity} and {self.acceleration}"
            )
        for name in ("velocity", "acceleration"):
            if not min(getattr(self, name)) > 0.0:
                raise ConfigError(f"{name} must be > 0 for every joint, got {getattr(self, name)}")
        if not self.settle_time < self.timeout:
            raise ConfigError(f"settle_time must be below timeout {self.timeout:g} s, got {self.settle_time}")


class CalibrationRun:
    """Joint reference through calibration poses; records the mean sensor wrench at each pose.

    Moves are straight lines in joint space with the fifth-order time law; all joints start and stop simultaneously.

    Attributes:
        poses: static poses measured so far.
    """

    def __init__(self, positions: Array, config: CalibrationRunConfig) -> None:
        """Set the poses (k, n), in the order in which they are visited [rad | m].

        Raises:
            ConfigError: there are no poses, they are not finite, or they have a different number of joints.
        """
        self.config = config
        self._goals = np.array(positions, dtype=float)
        n = len(config.velocity)
        if self._goals.ndim != 2 or self._goals.shape[1] != n or not len(self._goals):
            raise ConfigError(f"calibration poses must be of shape (k, {n}), got {self._goals.shape}")
        if not np.isfinite(self._goals).all():
            raise ConfigError("calibration poses must be finite")
        self.reset()

    def reset(self) -> None:
        """Discard the run and its poses; :meth:`begin` starts a new run."""
        self.poses: list[StaticPose] = []
        self._begin: Array | None = None
        self._failure = ""
        self._index, self._done = 0, False

    @property
    def begun(self) -> bool:
        """Whether the run has begun."""
        return self._begin is not None

    @property
    def done(self) -> bool:
        """Whether all poses are measured and the move back to the first position is over."""
        return self._done

    @property
    def pose_index(self) -> int:
        """Index of the current pose; equal to the number of poses during the move back."""
        return self._index

    @property
    def progress(self) -> float:
        """Fraction of the moves that are done, 0 to 1."""
        return 1.0 if self._done else self._index / (len(self._goals) + 1)

    def begin(self, stamp: int, position: Array) -> None:
        """Start the run at joint positions (n,) at a stamp [ns].

        Raises:
            InputError: the positions have a different number of joints, or are not finite.
        """
        self.reset()
        self._begin = self._checked("position", position)
        self._stamp = stamp
        self._set_out(stamp, self._begin)

    def update(
        self,
        stamp: int,
        position: Array,
        velocity: Array,
        wrench: Array | None = None,
        deflection: Array | None = None,
    ) -> JointReference:
        """Process one sample and return the joint reference.

        Args:
            stamp: stamp of the joint state [ns].
            position: (n,) measured joint positions [rad | m].
            velocity: (n,) measured joint velocities [rad/s | m/s].
            wrench: (6,) new wrench of the robot on the base in the sensor frame; None: no new wrench [N, N*m].
            deflection: (m,) positions of the elastic joints of the base [m | rad].

        Raises:
            InputError: the run has not begun, the stamp is older than the previous one, or an array has wrong shape or
                is not finite. It is also raised if the arm does not settle at its pose or too few wrenches arrive
                within the timeout: the run has then failed, and every update raises until :meth:`begin`.
        """
        if self._failure:
            raise InputError(self._failure)
        if self._begin is None:
            raise InputError("the calibration run has not begun: call begin() with the first position")
        if stamp < self._stamp:
            raise InputError(f"stamps go back, from {self._stamp} to {stamp} ns: begin the calibration run anew")
        position, velocity = self._checked("position", position), self._checked("velocity", velocity)
        if wrench is not None and (np.shape(wrench) != (6,) or not np.isfinite(wrench).all()):
            raise InputError(f"wrench must be 6 finite numbers, got {wrench}")
        self._stamp = stamp
        if stamp >= self._arrival and not self._done:
            if self._index == len(self._goals):
                self._done = True
            else:
                self._weigh(stamp, position, velocity, wrench, deflection)
        return self._move.update(stamp)

    def _set_out(self, stamp: int, start: Array) -> None:
        """Start the move to the next pose, or back to the first position."""
        assert self._begin is not None
        goal = self._goals[self._index] if self._index < len(self._goals) else self._begin
        way = np.abs(goal - start)
        slow = PEAK_RATE * way / self.config.velocity
        weak = np.sqrt(PEAK_ACCELERATION * way / self.config.acceleration)
        duration = max(float(slow.max()), float(weak.max()), SHORTEST)
        self._move = JointMove(JointMoveConfig(tuple((goal - start).tolist()), duration=duration))
        self._move.begin(stamp, start)
        self._arrival = stamp + math.ceil(duration * 1e9)
        self._rest_since = self._arrival
        self._clear()

    def _clear(self) -> None:
        self._positions: list[Array] = []
        self._velocities: list[Array] = []
        self._wrenches: list[Array] = []
        self._deflections: list[Array] = []

    def _weigh(
        self, stamp: int, position: Array, velocity: Array, wrench: Array | None, deflection: Array | None
    ) -> None:
        config, goal = self.config, self._goals[self._index]
        fastest = float(np.abs(velocity).max())
        error = float(np.abs(position - goal).max())
        rests = fastest <= config.max_velocity and error <= config.max_position_error
        if not rests:  # discard the samples, the arm is not at rest
            self._rest_since = stamp
            self._clear()
        elif stamp - self._rest_since >= config.settle_time * 1e9:
            self._positions.append(position)
            self._velocities.append(velocity)
            if deflection is not None:
                self._deflections.append(np.array(deflection, dtype=float))
            if wrench is not None:
                self._wrenches.append(np.array(wrench, dtype=float))
        if len(self._wrenches) >= config.samples:
            bent = np.array(self._deflections) if self._deflections else None
            self.poses.append(
                mean_pose(np.array(self._positions), np.array(self._velocities), np.array(self._wrenches), bent)
            )
            self._index += 1
            self._set_out(stamp, goal)
        elif stamp - self._arrival > config.timeout * 1e9:
            self._fail(fastest, error)

    def _fail(self, fastest: float, error: float) -> None:
        config, where = self.config, f"calibration pose {self._index}, {self.config.timeout:g} s after arrival"
        if error > config.max_position_error:
            reason = f"a joint is {error:.3g} rad or m from where it was sent: does the arm follow its reference?"
        elif fastest > config.max_velocity:
            reason = (
                f"a joint moves at {fastest:.3g} rad/s or m/s, rest is up to {config.max_velocity:g}: the arm does not"
                " settle"
            )
        else:
            reason = (
                f"{len(self._wrenches)} of {config.samples} wrenches came at rest: is the sensor on, and fast enough"
                " for the timeout?"
            )
        self._failure = f"{where}: {reason}"
        raise InputError(self._failure)

    def _checked(self, name: str, value: Array) -> Array:
        array = np.array(value, dtype=float)
        if array.shape != (len(self.config.velocity),) or not np.isfinite(array).all():
            raise InputError(f"{name} must be {len(self.config.velocity)} finite numbers, got {value}")
        return array
