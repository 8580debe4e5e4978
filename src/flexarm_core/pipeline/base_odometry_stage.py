"""BaseOdometryStage: the motion of the base from external odometry, for every sample.

A pose ``R, p`` and a twist ``V`` of a link that only the elastic joints of the base move give these joints: their
positions ``x`` by Newton's method from the last ones, with the error ``e = [p - p(x); log(R R(x)^T)]`` and the Jacobian
``J`` of the link, and their rates ``xd = J^+ V``. Without a twist the rates are the slope of the positions over a
window, late by half of it. Poses have their own stamps, so the newest one is extrapolated with its rates to the stamp
of the sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.pipeline.rate_check import RateCheck
from flexarm_core.pipeline.stage import Stage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.kinematic_chain import joints_inboard, kinematic_chain
from flexarm_core.settings import Settings, setting
from flexarm_core.slope import Slope
from flexarm_core.types import Array, FlexibleState, all_finite

STEPS, SMALL = 30, 1e-10  # of Newton's method; [rad | m] largest last step
LEAST_RANK = 1e-6  # smallest singular value of the Jacobian, in m and rad, with which joints are told from a pose
SET_BACK = 1_000_000_000  # [ns] a pose that is older by more shows that its clock was set back


@dataclass(frozen=True, slots=True)
class BaseOdometryConfig(Settings):
    """Settings of the measured motion of the base."""

    # fmt: off
    link: str = setting("",
        "link whose pose is measured; only elastic joints of the base may move it; empty: base link")
    twist_window: float = setting(0.0,
        "window over which poses are differentiated instead of using the twist; 0: the twist is used", "s", 0.0, 10.0)
    max_age: float = setting(0.1, "largest difference of stamps between a joint state and the newest pose", "s", 1e-4)
    position_tolerance: float = setting(0.02,
        "largest accepted distance of a pose from what the elastic joints can do", "m", 0.0)
    rotation_tolerance: float = setting(0.05,
        "largest accepted angle of a pose from what the elastic joints can do", "rad", 0.0)
    # fmt: on


class BaseOdometryStage(Stage):
    """Gives the flexible state of a base whose pose and twist are measured.

    Attributes:
        lack: why no newer pose has arrived; empty: unknown.
    """

    name = "base_odometry"

    def __init__(self, model: ArmModel, config: BaseOdometryConfig) -> None:
        """Measure the base of an arm.

        Raises:
            ConfigError: there is no elastic joint, or not all of them are known from the pose of the link; links bend.
        """
        description, link = model.description, config.link or model.base_frame
        if not model.m or description.flexible_links:
            raise ConfigError(
                "base_odometry is for an arm with elastic joints under its base, and links that do not bend"
            )
        if link not in description.links:
            raise ConfigError(f"link '{link}' is unknown; links: {', '.join(description.links)}")
        elastic = model.elastic_joint_names
        driven = [joint.name for joint in joints_inboard(description, link, description.root) if joint.kind != "fixed"]
        others = [name for name in driven if name not in elastic]
        if others:
            raise ConfigError(
                f"link '{link}' is moved by {', '.join(others)}: choose one that only elastic joints move"
            )
        self.config, self.link, self._chain, self._m = (
            config,
            link,
            kinematic_chain(description, link, elastic),
            model.m,
        )
        jacobian = self._chain.motion(np.zeros(model.m), np.zeros(model.m))[3]
        if np.linalg.matrix_rank(jacobian, LEAST_RANK) < model.m:
            raise ConfigError(f"the pose of '{link}' does not tell the elastic joints {', '.join(elastic)}")
        self._newest: tuple[int, Array, Array] | None = None
        self._last: int | None = None  # stamp of the last pose of this base [ns]
        self._check = RateCheck()
        window = config.twist_window
        self._slope = Slope(window, np.zeros(model.m, dtype=bool), 0.0) if window > 0.0 else None
        self.base_delay, self.lack = 0.5 * window, ""
        self.distance, self.angle = 0.0, 0.0

    def reset(self) -> None:
        """Keep the newest pose, which has its own stamp, and discard the statistics of earlier twists."""
        self._check.reset()

    def take(self, stamp: int, position: Array, rotation: Array, twist: Array | None) -> None:
        """Take a pose.

        Args:
            stamp: its stamp [ns].
            position: (3,) of the link in the root link [m].
            rotation: (3, 3) of the link in the root link.
            twist: (6,) ``[v; w]`` of the link in its own axes [m/s, rad/s]; not used if poses are differentiated.

        Raises:
            InputError: it is not finite, not a pose of this base, or the twists are not those of the poses; the one
                before counts until it is too old.
        """
        if self._last is not None and 0 <= self._last - stamp < SET_BACK:
            return  # out of order, or repeated
        twist = None if self._slope is not None else twist
        if not all_finite(position, rotation.ravel(), *(() if twist is None else (twist,))):
            raise InputError(f"pose of the base is not finite: position {position}, twist {twist}")
        x = np.zeros(self._m) if self._newest is None else self._newest[1]
        for _ in range(STEPS):
            error, jacobian = self._error(x, position, rotation)
            step = np.linalg.lstsq(jacobian, error, rcond=None)[0]
            x = x + step
            if np.abs(step).max() < SMALL:
                break
        error, jacobian = self._error(x, position, rotation)
        distance, angle = float(np.linalg.norm(error[:3])), float(np.linalg.norm(error[3:]))
        if not (distance <= self.config.position_tolerance and angle <= self.config.rotation_tolerance):
            raise InputError(
                f"pose of '{self.link}' is {distance:.3g} m and {angle:.3g} rad from what the elastic joints can do,"
                f" allowed are {self.config.position_tolerance:g} m and {self.config.rotation_tolerance:g} rad"
            )
        self._last = stamp
        rate = self._rate(stamp, x, rotation, jacobian, twist)
        if rate is None:
            return  # the first of a window
        if not self._check.holds:
            raise InputError(
                f"the twist of '{self.link}' leaves {self._check.unexplained:.0%} of the motion of its poses"
                " unexplained: it is zero, late, or in other axes than those of the link; see twist_window"
            )
        self._newest = stamp, x, rate
        self.distance, self.angle = distance, angle

    def update(self, tick: Tick) -> None:
        """Give the state of the base at the stamp of a sample.

        Raises:
            InputError: no pose has arrived, or the newest one is too old, or too far ahead.
        """
        why = f": {self.lack}" if self.lack else ""
        if self._newest is None:
            raise InputError(f"no pose of the base has come yet{why}")
        stamp, position, rate = self._newest
        age = (tick.stamp - stamp) * 1e-9
        if abs(age) > self.config.max_age:
            late = f"{age:.3f} s older" if age > 0.0 else f"{-age:.3f} s newer"
            raise InputError(f"the newest pose of the base is {late} than the joint state, allowed is max_age{why}")
        none = np.zeros(0)
        unknown = np.full(self._m, np.nan)
        tick.flexible = FlexibleState(
            tick.stamp, position + age * rate, rate, unknown, none, none, none, rate_delay=self.base_delay
        )

    def _rate(self, stamp: int, x: Array, rotation: Array, jacobian: Array, twist: Array | None) -> Array | None:
        """Return the rates (m,) of the elastic joints; None: there are none yet."""
        if self._slope is not None:
            rate = self._slope.add(stamp, x)
            self.base_delay = self._slope.counted_delay(self.base_delay)
            return rate
        if twist is None:
            return None
        in_root = np.concatenate((rotation @ twist[:3], rotation @ twist[3:]))
        rate = np.asarray(np.linalg.lstsq(jacobian, in_root, rcond=None)[0], dtype=float)
        self._check.add(stamp, x, rate)
        return rate

    def _error(self, x: Array, position: Array, rotation: Array) -> tuple[Array, Array]:
        """Return the error (6,) of joint positions (m,), and the Jacobian (6, m) there."""
        at, turned, _, jacobian, _ = self._chain.motion(x, np.zeros(self._m))
        return np.concatenate((position - at, _log(rotation @ turned.T))), jacobian


def _log(rotation: Array) -> Array:
    """Return the rotation vector (3,) of a rotation matrix; half a turn: any of both."""
    axis = 0.5 * np.array(
        [rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0], rotation[1, 0] - rotation[0, 1]]
    )
    sine = float(np.linalg.norm(axis))
    angle = float(np.arctan2(sine, 0.5 * (np.trace(rotation) - 1.0)))
    return axis * (angle / sine) if sine > 1e-12 else axis
