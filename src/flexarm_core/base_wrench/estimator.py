"""BaseWrenchEstimator: estimates torque, friction and gravity effort of joints from joint states and base wrench."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from flexarm_core.base_wrench.bias_tracking import BiasTrackingConfig
from flexarm_core.base_wrench.contact_detection import ContactDetectionConfig
from flexarm_core.base_wrench.estimate_memory import (
    KEPT,
    Joints,
    State,
    Wrenches,
    pack_constants,
    pack_settings,
    view_estimator,
    view_inputs,
    view_state,
)
from flexarm_core.base_wrench.estimate_step import ESTIMATED, FROZEN, REFUSED, estimate
from flexarm_core.base_wrench.gravity_table import GravityTable
from flexarm_core.base_wrench.newton_euler import WRENCHES
from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics, sensor_row
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.settings import Settings, setting
from flexarm_core.types import Array, BaseWrenchEstimate, BaseWrenchSample, all_finite

CONVENTIONS = ("robot_on_base", "base_on_robot")
JOINT_ACCELERATIONS = ("none", "derivative")
OF_JOINTS = ("position", "velocity", "effort")
OF_BASE = ("deflection", "deflection_rate", "deflection_acceleration")
ROWS, WRENCH_ROWS = len(Joints._fields), len(Wrenches._fields)
NOTHING_READ = np.full(6, np.nan)
UNKNOWN, KNOWN = np.zeros(1), np.ones(1)


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


class BaseWrenchEstimator:
    """Estimates the torque on each link, the joint friction, and the residual wrench that the model does not explain.

    Attributes:
        velocity: (n,) filtered joint velocities at the newest sample [rad/s | m/s].
        acceleration: (n,) filtered joint accelerations at the newest sample, zero if not used [rad/s^2 | m/s^2].
        speed: largest of these velocities [rad/s | m/s].
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
        self.model, self.bodies, self.config = model, dynamics.bodies, config
        bodies = dynamics.bodies
        self.sign = 1.0 if config.wrench_convention == "robot_on_base" else -1.0
        constants = pack_constants(
            model.n,
            model.n + model.m,
            np.array(dynamics.gravity),
            sensor_row(bodies),
            model.armature,
            model.turns.endless.astype(float),
            bodies.links,
            build_sensed_bodies(model.description, bodies.sensor).links,
            None if table is None else (table.counts, table.ends, table.values),
        )
        sizes = model.n, model.n + model.m, len(bodies.links), 0 if table is None else table.values.size
        self._memory = np.concatenate((constants, pack_settings(config), np.zeros(view_state.size(*sizes))))
        self._integers = np.concatenate((bodies.structure.ravel(), np.zeros(KEPT, dtype=np.int64)))
        self._state: State = view_estimator(self._memory, self._integers, *sizes).state
        self._state.given[:3] = dynamics.gravity
        self._state.torques[:WRENCHES, : model.n][:, ~bodies.sensed] = np.nan  # never written
        self._begun = self._memory.copy()
        self._inputs = np.zeros(view_inputs.size(model.n, model.m))
        self._shapes = (*3 * ((model.n,),), *3 * ((model.m,),))
        self._unknown = np.full(model.n, np.nan)
        self.reset()

    def reset(self) -> None:
        """Discard earlier samples and the tracked bias."""
        self._memory[:] = self._begun
        self._state.reading[:] = np.nan
        self.velocity = self.acceleration = self.gravity_change = np.zeros(self.model.n)
        self.speed = 0.0

    @property
    def touching(self) -> bool:
        """Whether there is a contact."""
        return bool(self._state.contact.touching[0] > 0.0)

    @property
    def bias(self) -> Array:
        """Current bias (6,): configured bias plus tracked drift, in sensor frame and sign convention [N, N*m]."""
        bias: Array = np.array(self.config.wrench_bias) + self.sign * self._state.tracked.drift
        return bias

    @classmethod
    def of(
        cls, model: ArmModel, sensor: str = "", config: BaseWrenchEstimatorConfig | None = None
    ) -> BaseWrenchEstimator:
        """Set up an estimator for an arm on a force/torque sensor.

        Args:
            model: arm model.
            sensor: name of the sensor; empty: the first of the robot description.
            config: settings; None: defaults.

        Raises:
            RobotDescriptionError: there is no such sensor, or it does not carry the arm.
        """
        name = sensor or next(iter(model.description.force_torque_sensors), "")
        bodies = build_sensed_bodies(model.description, name)
        return cls(model, SensorDynamics(bodies), config or BaseWrenchEstimatorConfig())

    def __repr__(self) -> str:
        return f"BaseWrenchEstimator({self.model!r}, sensor '{self.bodies.sensor}')"

    def update(self, sample: BaseWrenchSample) -> BaseWrenchEstimate:
        """Return the estimate for one sample.

        Args:
            sample: joints, base and wrench at one stamp, which must be newer than the previous one.

        Raises:
            InputError: the joint or base values are invalid or out of order; the estimator is then unchanged. An
                invalid wrench raises no error: the estimate is not valid and gives the reason in ``left_out``.
        """
        q, v, effort, wrench = sample.position, sample.velocity, sample.effort, sample.wrench
        x, rate, growth = sample.deflection, sample.deflection_rate, sample.deflection_acceleration
        given, known = (KNOWN, effort) if effort is not None else (UNKNOWN, self._unknown)
        read = wrench if wrench is not None and wrench.shape == NOTHING_READ.shape else NOTHING_READ
        joints, wrenches = np.empty((ROWS, self.model.n)), np.empty((WRENCH_ROWS, 6))
        status = REFUSED
        if (q.shape, v.shape, known.shape, x.shape, rate.shape, growth.shape) == self._shapes:
            np.concatenate((given, q, v, known, x, rate, growth, read), out=self._inputs)
            status = estimate(self._integers, self._memory, self._inputs, sample.stamp, joints, wrenches)
        left_out: tuple[str, ...] = ()
        if status != ESTIMATED:
            left_out = (self._why_not(sample, status),)
        torque, friction, gravity, model_torque, self.velocity, self.acceleration, self.gravity_change = joints
        read, gravity_wrench, residual, bias = wrenches
        state = self._state
        self.speed = float(state.speed[0])
        return BaseWrenchEstimate(
            sample.stamp, torque, friction, gravity, model_torque, read, gravity_wrench, residual, bias,
            bool(state.contact.touching[0] > 0.0), left_out,
        )  # fmt: skip

    def _why_not(self, sample: BaseWrenchSample, status: int) -> str:
        """Return why the reading is left out.

        Raises:
            InputError: the sample was refused.
        """
        if status != REFUSED:
            why = "frozen" if status == FROZEN else "missing" if sample.wrench is None else "not finite"
            return f"{self.bodies.sensor}: {why}"
        for size, names in ((self.model.n, OF_JOINTS), (self.model.m, OF_BASE)):
            for name in names:
                value = getattr(sample, name)
                if value is None and name == "effort":
                    continue
                if value.shape != (size,) or not all_finite(value):
                    raise InputError(f"base wrench sample: {name} is {value}, expected {size} finite numbers")
        last = int(self._state.stamps[(int(self._state.samples[0]) - 1) % KEPT])
        raise InputError(
            f"base wrench sample of {sample.stamp * 1e-9:.6f} s is no later than the last, {last * 1e-9:.6f} s"
        )
