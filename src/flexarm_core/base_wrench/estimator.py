"""BaseWrenchEstimator: estimates torque, friction and gravity effort of joints from joint states and base wrench."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from flexarm_core.base_wrench.bias_tracking import BiasTracking, BiasTrackingConfig
from flexarm_core.base_wrench.contact_detection import ContactDetection, ContactDetectionConfig
from flexarm_core.base_wrench.gravity_table import GravityTable
from flexarm_core.base_wrench.motion_filter import LONGEST_GAP, MotionFilter
from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.base_wrench.sensor_dynamics import NO_WRENCH, JointTorques, SensorDynamics
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.settings import Settings, setting
from flexarm_core.types import Array, BaseWrenchEstimate, BaseWrenchSample, all_finite

CONVENTIONS = ("robot_on_base", "base_on_robot")
JOINT_ACCELERATIONS = ("none", "derivative")
OF_JOINTS = ("position", "velocity", "effort")
OF_BASE = ("deflection", "deflection_rate", "deflection_acceleration")
KEPT = 64  # number of stored samples, from which the sample of a delayed wrench is selected


@dataclass(frozen=True, slots=True)
class BaseWrenchEstimatorConfig(Settings):
    """Settings of the estimator.

    The acceleration bandwidth should be well above the bandwidth of the torque loop: due to the lag of the
    accelerations, part of the rotor inertia appears as friction, and its compensation reduces the damping of the loop.

    Attributes:
        contact: settings of the contact detection.
        bias: settings of the bias tracking at rest.
    """

    # fmt: off
    wrench_convention: str = setting("robot_on_base",
        "sign convention of the measured base wrench: exerted by the robot on the base, or by the base on the robot",
        choices=CONVENTIONS)
    wrench_bias: tuple[float, ...] = setting((0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        "reading of the base force/torque sensor without load (force, torque), in the axes of the sensor", "N, N*m",
        size=6)
    wrench_delay: float = setting(0.0, "age of the wrench in a reading of the base force/torque sensor", "s", 0.0)
    joint_acceleration: str = setting("derivative",
        "joint accelerations in the torque estimate: none (neglected), or derivative of the velocities",
        choices=JOINT_ACCELERATIONS)
    velocity_bandwidth: float = setting(2000.0,
        "bandwidth of joint velocities differentiated from positions; 0: measured velocities are used", "rad/s", 0.0)
    acceleration_bandwidth: float = setting(2000.0,
        "bandwidth of joint accelerations differentiated from velocities", "rad/s", 0.0)
    frozen_samples: int = setting(0,
        "number of consecutive equal wrenches, while efforts change, after which the sensor counts as failed;"
        " 0: never", "", 0)
    contact: ContactDetectionConfig = field(default_factory=ContactDetectionConfig)
    bias: BiasTrackingConfig = field(default_factory=BiasTrackingConfig)
    # fmt: on

    def check(self) -> None:
        """Raise ConfigError for accelerations without a bandwidth."""
        if self.joint_acceleration == "derivative" and self.acceleration_bandwidth == 0.0:
            raise ConfigError("joint_acceleration 'derivative' needs an acceleration_bandwidth > 0 rad/s")


@dataclass(frozen=True, slots=True)
class _Motion:
    """Motion and efforts at one stamp; coordinates are the actuated joints followed by the elastic joints."""

    stamp: int
    position: Array
    velocity: Array
    acceleration: Array
    effort: Array | None


class BaseWrenchEstimator:
    """Estimates the torque on each link, the joint friction, and the residual wrench that the model does not explain.

    Attributes:
        velocity: (n,) filtered joint velocities at the newest sample [rad/s | m/s].
        acceleration: (n,) filtered joint accelerations at the newest sample, zero if not used [rad/s^2 | m/s^2].
        sign: 1 if the sensor measures the wrench of the robot on its base, -1 for the base on the robot.
        gravity_change: (n,) calibrated gravity efforts minus those of the robot description at the newest sample
            [N*m | N].
    """

    def __init__(
        self,
        model: ArmModel,
        dynamics: SensorDynamics,
        config: BaseWrenchEstimatorConfig,
        table: GravityTable | None = None,
    ) -> None:
        """Bind the estimator to an arm and its sensor.

        Args:
            model: arm model.
            dynamics: dynamics of the bodies above the sensor.
            config: estimator settings.
            table: gravity table that replaces the gravity wrench of the model; None: not used.

        Raises:
            ConfigError: a table is given for an arm on an elastic base.
        """
        if table is not None and model.m:
            raise ConfigError(
                "a gravity table holds for one attitude of the base, and this base swings on"
                f" {', '.join(model.elastic_joint_names)}: use the model's gravity"
            )
        joints = model.description.joints
        self.model, self.bodies, self.config, self._table = model, dynamics.bodies, config, table
        self._dynamics, self._described = dynamics, None
        described = build_sensed_bodies(model.description, self.bodies.sensor)
        if not np.array_equal(described.links, self.bodies.links):
            self._described = SensorDynamics(described, dynamics.gravity)
        self.sign = 1.0 if config.wrench_convention == "robot_on_base" else -1.0
        self._given_bias = np.array(config.wrench_bias)
        wanted = config.joint_acceleration == "derivative"
        self._filter = MotionFilter(
            [joints[name].kind == "continuous" for name in model.joint_names],
            config.velocity_bandwidth,
            config.acceleration_bandwidth if wanted else 0.0,
        )
        self._contact, self._tracking = ContactDetection(config.contact), BiasTracking(config.bias)
        self.reset()

    def reset(self) -> None:
        """Discard earlier samples and the tracked bias."""
        for part in (self._filter, self._contact, self._tracking):
            part.reset()
        self._kept: deque[_Motion] = deque(maxlen=KEPT)
        self._frozen, self._last_wrench, self._efforts_moved = 0, np.full(6, np.nan), False
        self.velocity = self.acceleration = self.gravity_change = np.zeros(self.model.n)

    @property
    def touching(self) -> bool:
        """Whether there is a contact."""
        return self._contact.touching

    @property
    def bias(self) -> Array:
        """Current bias (6,): configured bias plus tracked drift, in sensor frame and sign convention [N, N*m]."""
        return self._given_bias + self.sign * self._tracking.drift

    def update(self, sample: BaseWrenchSample) -> BaseWrenchEstimate:
        """Return the estimate for one sample.

        Args:
            sample: joints, base and wrench at one stamp, which must be newer than the previous one.

        Raises:
            InputError: the joint or base values are invalid or out of order; the estimator is then unchanged. An
                invalid wrench raises no error: the estimate is not valid and gives the reason in ``left_out``.
        """
        self._check(sample)
        dt = 0.0 if not self._kept else (sample.stamp - self._kept[-1].stamp) * 1e-9
        if dt > LONGEST_GAP:  # the motion during the gap is unknown
            self._tracking.interrupt()
            dt = 0.0
        self._take_motion(sample)
        motion = self._motion_at(sample.stamp - round(self.config.wrench_delay * 1e9))
        wrench, left_out = self._wrench(sample)
        if wrench is None:
            self._tracking.interrupt()
            torques = self._torques(motion, NO_WRENCH)
            unknown = np.full(self.model.n, np.nan)
            nothing = np.full(6, np.nan)
            return self._estimate(sample, torques, unknown, unknown, nothing, nothing, left_out)
        torques = self._torques(motion, wrench)
        if self._contact.update(torques.residual_wrench, dt):
            self._tracking.interrupt()
        else:
            self._tracking.update(torques.residual_wrench, self._kept[-1].velocity, dt)
        if motion.effort is None:
            friction = np.full(self.model.n, np.nan)
        else:
            rotors = self.model.armature * motion.acceleration[: self.model.n]
            friction = motion.effort - rotors - torques.torque - torques.gravity
        return self._estimate(sample, torques, torques.torque, friction, wrench, torques.residual_wrench, left_out)

    def _estimate(
        self,
        sample: BaseWrenchSample,
        torques: JointTorques,
        torque: Array,
        friction: Array,
        wrench: Array,
        residual: Array,
        left_out: tuple[str, ...],
    ) -> BaseWrenchEstimate:
        return BaseWrenchEstimate(
            stamp=sample.stamp,
            torque=torque,
            friction=friction,
            gravity=torques.gravity,
            model_torque=torques.model_torque,
            wrench=wrench,
            gravity_wrench=torques.gravity_wrench,
            residual_wrench=residual,
            bias=self.bias,
            contact=self.touching,
            left_out=left_out,
        )

    def _take_motion(self, sample: BaseWrenchSample) -> None:
        self.velocity, self.acceleration = self._filter.update(sample.stamp, sample.position, sample.velocity)
        if self.config.frozen_samples and self._kept and self._kept[-1].effort is not None:
            self._efforts_moved = sample.effort is not None and not np.array_equal(self._kept[-1].effort, sample.effort)
        self._kept.append(
            _Motion(
                sample.stamp,
                np.concatenate((sample.position, sample.deflection)),
                np.concatenate((self.velocity, sample.deflection_rate)),
                np.concatenate((self.acceleration, sample.deflection_acceleration)),
                sample.effort,
            )
        )
        if self._described is not None:
            newest = self._kept[-1]
            still = np.zeros(len(newest.position))
            present, described = (
                dynamics.torques(newest.position, still, still, NO_WRENCH).gravity
                for dynamics in (self._dynamics, self._described)
            )
            self.gravity_change = np.where(self.bodies.sensed, present - described, 0.0)

    def _motion_at(self, stamp: int) -> _Motion:
        """Return the stored sample nearest to a stamp [ns]; of two equally near samples the older one."""
        newer = self._kept[-1]
        for motion in reversed(self._kept):
            if motion.stamp <= stamp:
                return newer if newer.stamp - stamp < stamp - motion.stamp else motion
            newer = motion
        return newer

    def _torques(self, motion: _Motion, wrench: Array) -> JointTorques:
        looked_up = None if self._table is None else self._table.wrench(motion.position[: self.model.n])
        return self._dynamics.torques(motion.position, motion.velocity, motion.acceleration, wrench, looked_up)

    def _wrench(self, sample: BaseWrenchSample) -> tuple[Array | None, tuple[str, ...]]:
        """Return the wrench (6,) of the robot on its base without bias, or None and the reason."""
        name = self.bodies.sensor
        if sample.wrench is None:
            return None, (f"{name}: missing",)
        if sample.wrench.shape != (6,) or not all_finite(sample.wrench):
            return None, (f"{name}: not finite",)
        if self.config.frozen_samples:
            same = np.array_equal(sample.wrench, self._last_wrench)
            self._last_wrench = sample.wrench
            self._frozen = self._frozen + int(self._efforts_moved) if same else 0
            if self._frozen >= self.config.frozen_samples:
                return None, (f"{name}: frozen",)
        return self.sign * (sample.wrench - self.bias), ()

    def _check(self, sample: BaseWrenchSample) -> None:
        for size, names in ((self.model.n, OF_JOINTS), (self.model.m, OF_BASE)):
            for name in names:
                value = getattr(sample, name)
                if value is None and name == "effort":
                    continue
                if value.shape != (size,) or not all_finite(value):
                    raise InputError(f"base wrench sample: {name} is {value}, expected {size} finite numbers")
        if self._kept and sample.stamp <= self._kept[-1].stamp:
            raise InputError(
                f"base wrench sample of {sample.stamp * 1e-9:.6f} s is no later than the last,"
                f" {self._kept[-1].stamp * 1e-9:.6f} s"
            )
