"""Motions that follow velocities as they come: twists of the tool, or velocities of the joints.

The sender of the velocities, an operator or a learned policy of 10 Hz, may send any values at any rate. The reference
is smooth: it changes its velocity no faster than the largest acceleration, comes to rest when the stream stops, and is
never ahead of the measured arm by more than a lag within which it can still brake. An input shaper may follow, so that
modes of a flexible arm or base rest whenever the commanded velocity is constant or zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from flexarm_core.entrance import finite
from flexarm_core.errors import ConfigError
from flexarm_core.kernels.rotations import rotation_error, rotation_of
from flexarm_core.kernels.twist_following import follow_twist, twist_state
from flexarm_core.path.input_shaping import UNSHAPED, InputShaper
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.path.shaped_stream import ShapedStream
from flexarm_core.settings import Settings, setting
from flexarm_core.types import Array, CartesianReference, JointReference

GAP = 0.1  # [s] between two samples, beyond which the motion begins anew where the arm is


@dataclass(frozen=True, slots=True)
class TwistMotionConfig(Settings):
    """Settings of a tool that follows twists.

    Attributes:
        frame: frame in which twists and references are expressed: the root link or the base link.
        limits: largest velocity and acceleration of the tool.
        axes: (6,) components x y z rx ry rz that are followed.
        shaper: impulse train with which the motion is convolved.
    """

    # fmt: off
    frame: str
    limits: PathLimits = field(default_factory=PathLimits)
    axes: tuple[bool, bool, bool, bool, bool, bool] = (True, True, True, True, True, True)
    shaper: InputShaper = UNSHAPED
    command_timeout: float = setting(0.2,
        "age of the newest velocity command at which the reference comes to rest (spaces twist and joint_velocity)",
        "s", 1e-3)
    max_lag: float = setting(0.05,
        "largest distance by which the tool may lag behind its reference; at this distance the reference waits (space"
        " twist)", "m", 1e-6)
    max_angular_lag: float = setting(0.5,
        "largest angle by which the tool may lag behind its reference (space twist)", "rad", 1e-6, 3.0)
    # fmt: on


class TwistMotion:
    """Tool reference that follows the newest twist, from the pose passed to :meth:`begin`.

    Attributes:
        remark: why a command that is not too old is not followed; empty: it is.
        follows: whether there is such a command.
    """

    def __init__(self, config: TwistMotionConfig) -> None:
        """Set up the motion; :meth:`begin` starts it."""
        self.config = config
        self._axes = np.array(config.axes, dtype=bool)
        limits = config.limits
        self._fastest = np.array([limits.linear_velocity, limits.angular_velocity])
        self._limits = np.array(
            [limits.linear_acceleration, limits.angular_acceleration, config.max_lag, config.max_angular_lag, 0.0]
        )
        self._error, self._turn, self._still = np.zeros(6), np.zeros((3, 3)), np.zeros(6)
        self._motion = np.zeros((3, 6))
        self._acceleration = self._motion[2]
        self._shaped = ShapedStream(config.shaper, 6) if config.shaper.length else None
        self.reset()

    def reset(self) -> None:
        """Discard the pose and the newest twist; :meth:`begin` starts the motion again."""
        self.begun, self.remark, self.follows = False, "", False
        self._given: tuple[int, Array, bool] | None = None

    def begin(self, stamp: int, position: Array, rotation: Array) -> None:
        """Start at the tool position (3,) [m] and rotation (3, 3) at this stamp [ns], at rest."""
        self.begun, self._stamp = True, stamp
        self._position, self._rotation = finite("position", position, 3).copy(), finite("rotation", rotation, 3, 3)
        self._state, self._velocity = twist_state(), np.zeros(6)
        self._angle, self._way, self._turn_shaped = np.zeros(3), np.zeros(6), np.eye(3)
        if self._shaped is not None:
            self._shaped.begin(stamp, self._way)

    def give(self, stamp: int, twist: Array, in_tool: bool = False) -> None:
        """Take a twist ``[v; w]`` (6,) of the tool origin [m/s, rad/s]; one that is too fast is scaled down.

        Args:
            stamp: time of the twist [ns].
            twist: the twist.
            in_tool: whether it is in axes of the tool, which turn with it, instead of in those of the frame.

        Raises:
            InputError: it is not six finite numbers; the twist before is kept.
        """
        value = finite("twist", twist, 6).copy()
        if not in_tool:
            value[~self._axes] = 0.0
        for part, fastest in zip((value[:3], value[3:]), self._fastest, strict=True):
            part *= min(1.0, fastest / max(math.hypot(*part), 1e-300))
        self._given = stamp, value, in_tool

    def update(self, stamp: int, position: Array, rotation: Array) -> CartesianReference:
        """Return the reference at a stamp [ns].

        Args:
            stamp: stamp of the sample [ns].
            position: (3,) measured position of the tool in the frame [m].
            rotation: (3, 3) measured orientation of the tool.

        Raises:
            InputError: the pose is not finite.
        """
        tool, turned = finite("position", position, 3), finite("rotation", rotation, 3, 3)
        dt = (stamp - self._stamp) * 1e-9 if self.begun else 0.0
        said = _gap(dt)
        if not self.begun or not 0.0 <= dt <= GAP:
            self.begin(stamp, tool, turned)
            dt = 0.0
        wanted = self._wanted(stamp)
        self.follows = wanted is not self._still
        self.remark = said if self.follows else ""
        goal, turn = self._position + self._offset_position, self._turned
        if dt > 0.0:
            self._error[:3] = tool - goal
            rotation_error(turned, turn, self._error[3:])
            self._error[~self._axes] = 0.0
            self._limits[4] = dt
            before = self._state[3:6].copy()
            follow_twist(wanted, self._error, self._limits, self._state, self._motion)
            self._shape(stamp, dt, before)
            self._stamp = stamp
            goal, turn = self._position + self._offset_position, self._turned
        return CartesianReference(
            stamp, self.config.frame, goal, turn, self._velocity.copy(), self._acceleration * (dt > 0.0), self._axes
        )

    def _shape(self, stamp: int, dt: float, before: Array) -> None:
        """Convolve the motion with the shaper, if there is one; its angular velocity was ``before`` (3,) until now."""
        if self._shaped is None:
            self._velocity = self._state[:6].copy()
            return
        self._angle += 0.5 * (before + self._state[3:6]) * dt
        way, velocity = self._shaped.take(stamp, np.concatenate((self._state[6:9], self._angle)), self._state[:6])
        rotation_of(way[3:] - self._way[3:], self._turn)
        self._turn_shaped = self._turn @ self._turn_shaped
        self._acceleration[:] = (velocity - self._velocity) / dt
        self._way, self._velocity = way, velocity

    @property
    def _offset_position(self) -> Array:
        return self._state[6:9] if self._shaped is None else self._way[:3]

    @property
    def _turned(self) -> Array:
        turned: Array = (self._state[9:].reshape(3, 3) if self._shaped is None else self._turn_shaped) @ self._rotation
        return turned

    def _wanted(self, stamp: int) -> Array:
        given = self._given
        if given is None or abs(stamp - given[0]) > round(self.config.command_timeout * 1e9):
            return self._still
        _, twist, in_tool = given
        if not in_tool:
            return twist
        turn = self._turned
        return np.where(self._axes, np.concatenate((turn @ twist[:3], turn @ twist[3:])), 0.0)


@dataclass(frozen=True, slots=True)
class JointVelocityMotionConfig(Settings):
    """Settings of joints that follow velocities.

    Attributes:
        command_timeout: age of the newest command at which the joints come to rest [s].
        shaper: impulse train with which the motion is convolved.
    """

    # fmt: off
    command_timeout: float = 0.2
    shaper: InputShaper = UNSHAPED
    velocity_scale: float = setting(0.9,
        "fraction of the velocity limits of the joints that commands may use; the rest is left to controllers (space"
        " joint_velocity)", "", 1e-3, 1.0)
    max_acceleration: tuple[float, ...] = setting((4.0,),
        "largest acceleration with which joints follow velocity commands; one for all joints or one per joint (space"
        " joint_velocity)", "rad/s^2 | m/s^2", 1e-6)
    max_joint_lag: float = setting(0.1,
        "largest distance by which a joint may lag behind its reference (space joint_velocity)", "rad | m", 1e-6)
    # fmt: on


class JointVelocityMotion:
    """Joint reference that follows the newest joint velocities, from the positions passed to :meth:`begin`.

    It brakes before the position limits.

    Attributes:
        limit: (n,) largest velocities [rad/s | m/s].
        period: time between the last two samples, 0 before [s].
        remark: why a command that is not too old is not followed; empty: it is.
        follows: whether there is such a command.
    """

    def __init__(
        self,
        config: JointVelocityMotionConfig,
        lower: Array,
        upper: Array,
        velocity_limit: Array,
        acceleration_limit: Array | float = np.inf,
    ) -> None:
        """Set up the motion; :meth:`begin` starts it.

        Args:
            config: settings.
            lower: (n,) lower position limits, infinite if there are none [rad | m].
            upper: (n,) upper position limits.
            velocity_limit: (n,) velocity limits, which must be finite [rad/s | m/s].
            acceleration_limit: (n,) acceleration limits, infinite if there are none; they count before those of the
                settings [rad/s^2 | m/s^2].

        Raises:
            ConfigError: a joint has no velocity limit, or the accelerations are not one for each joint.
        """
        self.config, self._lower, self._upper = config, np.asarray(lower), np.asarray(upper)
        self.limit = config.velocity_scale * np.asarray(velocity_limit, dtype=float)
        if not np.isfinite(self.limit).all():
            raise ConfigError("space 'joint_velocity' needs a velocity limit for every joint in the robot description")
        n, given = len(self.limit), config.max_acceleration
        if len(given) not in (1, n):
            raise ConfigError(f"max_acceleration must be one number or {n}, got {len(given)}")
        self._acceleration = np.minimum(np.broadcast_to(np.array(given, dtype=float), n), acceleration_limit)
        self._shaped = ShapedStream(config.shaper, n) if config.shaper.length else None
        self.reset()

    def reset(self) -> None:
        """Discard the positions and the newest command; :meth:`begin` starts the motion again."""
        self.begun, self.remark, self.follows, self.period = False, "", False, 0.0
        self._given: tuple[int, Array, int, bool] | None = None
        self._fresh = False  # whether the newest command has come since the last sample

    def begin(self, stamp: int, position: Array) -> None:
        """Start at joint positions (n,) at this stamp [ns], at rest."""
        self.begun, self._stamp = True, stamp
        self._position = finite("position", position, len(self.limit)).copy()
        self._velocity = np.zeros(len(self.limit))
        self._told = self._position, self._velocity
        if self._shaped is not None:
            self._shaped.begin(stamp, self._position)

    def give(self, stamp: int, velocity: Array, lasts: float = math.inf, *, exactly: bool = False) -> None:
        """Take velocities (n,) [rad/s | m/s], within the limits.

        Args:
            stamp: time of the command [ns].
            velocity: the velocities.
            lasts: time for which they are wanted, if less than the timeout [s]. They act on one sample at least.
            exactly: whether they are wanted for this time and no longer, where it ends between two samples, too.

        Raises:
            InputError: they are not n finite numbers; the command before is kept.
        """
        value = np.clip(finite("velocity", velocity, len(self.limit)), -self.limit, self.limit)
        self._given = stamp, value, round(min(lasts, self.config.command_timeout) * 1e9), exactly
        self._fresh = True

    def _wanted(self, stamp: int) -> Array | None:
        """Return the velocities (n,) that are wanted until a stamp [ns]; None: no command that is not over."""
        if self._given is None:
            return None
        given, value, lasts, exactly = self._given
        fresh, self._fresh = self._fresh, False
        if exactly and self.begun and stamp > self._stamp:
            share = (given + lasts - self._stamp) / (stamp - self._stamp)
            return value * min(share, 1.0) if share > 0.0 and given <= stamp else None
        longest = round(self.config.command_timeout * 1e9) if fresh else lasts
        return value if abs(stamp - given) <= longest else None

    def update(self, stamp: int, position: Array) -> JointReference:
        """Return the reference at a stamp [ns].

        Args:
            stamp: stamp of the sample [ns].
            position: (n,) measured joint positions [rad | m].

        Raises:
            InputError: the positions are not finite.
        """
        measured = finite("position", position, len(self.limit))
        dt = self.period = (stamp - self._stamp) * 1e-9 if self.begun else 0.0
        found = self._wanted(stamp)
        self.follows = found is not None
        self.remark = _gap(dt) if self.follows else ""
        if not self.begun or not 0.0 <= dt <= GAP:
            self.begin(stamp, measured)
            dt = 0.0
        acceleration = np.zeros(len(self.limit))
        if dt > 0.0:
            a = self._acceleration
            wanted = np.zeros(len(a)) if found is None else found
            rest = self.config.max_joint_lag - np.abs(lag := self._told[0] - measured)
            free = a * dt * dt  # more than the way that is lost to sampling
            most = np.minimum(_fastest(self._upper - self._position - free, a, dt), self.limit)
            least = np.maximum(-_fastest(self._position - self._lower - free, a, dt), -self.limit)
            # After a longer time than the one before, the joint would else pass the limit before it has braked.
            most = np.minimum(most, 2.0 * np.maximum(self._upper - self._position, 0.0) / dt - self._velocity)
            least = np.maximum(least, -2.0 * np.maximum(self._position - self._lower, 0.0) / dt - self._velocity)
            far = _fastest(rest, a, dt)
            wanted = np.clip(wanted, np.where(lag < 0.0, np.maximum(least, -far), least),
                             np.where(lag > 0.0, np.minimum(most, far), most))  # fmt: skip
            change = np.clip(wanted - self._velocity, -a * dt, a * dt)
            acceleration = change / dt
            self._position = self._position + (self._velocity + 0.5 * change) * dt
            self._velocity, self._stamp = self._velocity + change, stamp
            shaped = self._position, self._velocity
            if self._shaped is not None:
                shaped = self._shaped.take(stamp, *shaped)
                acceleration = (shaped[1] - self._told[1]) / dt
            self._told = shaped
        return JointReference(stamp, *self._told, acceleration)


def _gap(dt: float) -> str:
    """Return what to say of a time between two samples [s] after which a motion begins anew."""
    if dt <= GAP:
        return ""
    return f"{dt:.3f} s between joint states: the motion begins anew after {GAP:g} s, so send them more often"


def _fastest(way: Array, acceleration: Array, dt: float) -> Array:
    """Return the largest velocities (n,) from which joints can brake within ways (n,), one sample later."""
    found: Array = acceleration * (np.sqrt(dt * dt + 2.0 * np.maximum(way, 0.0) / acceleration) - dt)
    return found


def load_compiled() -> None:
    """Call the compiled functions once, so that a first sample does not wait for them."""
    error, state, out = np.zeros(6), twist_state(), np.zeros((3, 6))
    rotation_error(np.eye(3), np.eye(3), error[3:])
    rotation_of(np.zeros(3), np.zeros((3, 3)))
    follow_twist(np.zeros(6), error, np.array([1.0, 1.0, 1.0, 1.0, 1e-3]), state, out)
