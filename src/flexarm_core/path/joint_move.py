"""A move of all joints from their current positions by a displacement, with a smooth time law and optional shaping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.path.constant_speed import constant_speed
from flexarm_core.path.input_shaping import UNSHAPED, InputShaper
from flexarm_core.path.line import fifth_order, seventh_order
from flexarm_core.settings import Settings, setting
from flexarm_core.types import Array, JointReference

LOOKS = 2001  # samples of a time law in which its peaks are looked for
ROUNDING = 1e-4  # share of a limit by which they may exceed it
TIME_LAWS = ("fifth_order", "seventh_order", "constant_speed")


@dataclass(frozen=True, slots=True)
class JointMoveConfig(Settings):
    """Settings of a move.

    Attributes:
        displacement: (n,) displacement of the joints from the first position [rad | m].
        shaper: impulse train with which the time law is convolved.
    """

    # fmt: off
    displacement: tuple[float, ...]
    start: float = setting(0.0, "time between the first joint state and the start of the motion", "s", 0.0)
    duration: float = setting(4.0,
        "duration of the motion, one way, including the input shaper (spaces tool and joints)", "s", 1e-3)
    returns: bool = setting(False,
        "move back and forth, each way in the same time, without end unless repetitions sets one; false: move once")
    shaper: InputShaper = UNSHAPED
    time_law: str = setting("fifth_order",
        "time law of the joint motion (space joints): polynomial of fifth or seventh order, or constant speed with"
        " blends", choices=TIME_LAWS)
    blend_time: float = setting(0.1,
        "time to reach and to leave the constant speed of time law constant_speed (space joints)", "s", 0.0)
    repetitions: int = setting(0,
        "number of back-and-forth cycles before the joints rest (space joints with returns); 0: without end", "", 0)
    # fmt: on

    def check(self) -> None:
        """Raise ConfigError for a displacement that is not finite, and for blends longer than the motion."""
        if not self.displacement or not np.isfinite(self.displacement).all():
            raise ConfigError(f"the joints' displacement must be finite numbers [rad or m], got {self.displacement}")
        left = self.shaper.unshaped_duration(self.duration)
        if self.time_law == "constant_speed" and left < 2.0 * self.blend_time:
            raise ConfigError(
                f"two blends of {self.blend_time:g} s do not fit into {left:.6g} s: give a longer"
                " duration or a shorter blend_time"
            )

    def law(self, time: float) -> tuple[float, float, float]:
        """Return the unshaped time law at a time since the start [s]: s in [0, 1], rate [1/s], acceleration [1/s^2]."""
        duration = self.shaper.unshaped_duration(self.duration)
        if self.time_law == "constant_speed":
            return constant_speed(time, duration, self.blend_time)
        smooth = fifth_order if self.time_law == "fifth_order" else seventh_order
        return smooth(time, duration)

    def check_limits(self, joint_names: Sequence[str], velocity: Array, acceleration: Array) -> None:
        """Raise ConfigError for a move beyond limits (n,) of the joints [rad/s | m/s], [rad/s^2 | m/s^2]."""
        laws = [self.shaper.shape(self.law, float(time)) for time in np.linspace(0.0, self.duration, LOOKS)]
        way, (_, *peaks) = np.abs(self.displacement), np.abs(laws).max(axis=0)
        for what, peak, limit in zip(("velocity", "acceleration"), peaks, (velocity, acceleration), strict=True):
            share = way * peak / limit
            if share.max() > 1.0 + ROUNDING:
                i = int(share.argmax())
                raise ConfigError(
                    f"the move takes joint '{joint_names[i]}' to {what} {way[i] * peak:.4g}, its limit is"
                    f" {limit[i]:.4g}: give it a longer duration"
                )


class JointMove:
    """Joint reference that starts at the position passed to :meth:`begin`."""

    def __init__(self, config: JointMoveConfig) -> None:
        """Set up the move; :meth:`begin` starts it."""
        self.config = config
        self.reset()

    def reset(self) -> None:
        """Discard the first position; :meth:`begin` starts the move again."""
        self._begin: tuple[int, Array] | None = None

    @property
    def begun(self) -> bool:
        """Whether the first position is known."""
        return self._begin is not None

    def begin(self, stamp: int, position: Array) -> None:
        """Start the move at the joint positions (n,) at this stamp [ns].

        Raises:
            ConfigError: the displacement and the positions have different numbers of joints.
        """
        count = len(self.config.displacement)
        if np.shape(position) != (count,):
            raise ConfigError(f"the displacement is one of {count} joints, the position has shape {np.shape(position)}")
        self._begin = (stamp, position)

    def update(self, stamp: int) -> JointReference:
        """Return the reference at a stamp [ns]: position and its exact first and second derivatives.

        Raises:
            ConfigError: the move has not begun.
        """
        if self._begin is None:
            raise ConfigError("the move has not begun: call begin() with the first position")
        begin, position = self._begin
        config = self.config
        time, forward = (stamp - begin) * 1e-9 - config.start, 1.0
        ways = 2 * config.repetitions
        if config.returns and time > 0.0 and (ways == 0 or time < ways * config.duration):
            turns, time = divmod(time, config.duration)
            forward = 1.0 if int(turns) % 2 == 0 else -1.0
        elif config.returns and time > 0.0:
            forward = -1.0  # all round trips are done: at rest at the first position
        s, rate, acceleration = config.shaper.shape(config.law, time)
        along = np.asarray(config.displacement, dtype=float)
        return JointReference(
            stamp=stamp,
            position=position + (s if forward > 0.0 else 1.0 - s) * along,
            velocity=forward * rate * along,
            acceleration=forward * acceleration * along,
        )
