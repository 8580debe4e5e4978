"""Parameters of base_wrench_torque_estimator, and the objects built from them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from flexarm_core.base_wrench.bias_tracking import BiasTrackingConfig
from flexarm_core.base_wrench.calibration_config import CalibrationConfig
from flexarm_core.base_wrench.calibration_run import CalibrationRunConfig
from flexarm_core.base_wrench.contact_detection import ContactDetectionConfig
from flexarm_core.base_wrench.controller import BaseWrenchControllerConfig
from flexarm_core.base_wrench.estimator import CONVENTIONS, JOINT_ACCELERATIONS, BaseWrenchEstimatorConfig
from flexarm_core.base_wrench.gravity_table import GravityTable
from flexarm_core.base_wrench.position_loop import PositionLoopConfig
from flexarm_core.base_wrench.sensed_bodies import SensedBodies, build_sensed_bodies
from flexarm_core.base_wrench.torque_loop import TorqueLoopConfig
from flexarm_core.errors import ConfigError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_nodes.node.built_stage import Values
from flexarm_nodes.node.parameters import Parameter

BASE_MOTIONS = ("none", "joint_states", "flexible_state")
EFFORT_SOURCES = ("joint_states", "command")
ESTIMATOR, CONTACT, TRACKING = BaseWrenchEstimatorConfig(), ContactDetectionConfig(), BiasTrackingConfig()
POSITION, TORQUE = PositionLoopConfig(), TorqueLoopConfig()
SOLUTION, RUN = CalibrationConfig(), CalibrationRunConfig((0.5,), (1.0,))


def _live(
    name: str, kind: str, default: Any, description: str, unit: str = "", lower: float | None = None
) -> Parameter:
    return Parameter(name, kind, default, description, unit, lower, live=True)


BASE_WRENCH_PARAMETERS = (
    # the sensor and what it carries
    Parameter("sensor", "string", "base_ft_sensor",
        "name of the ros2_control force/torque sensor under the base of the arm"),
    Parameter("wrench_convention", "string", ESTIMATOR.wrench_convention,
        "sign convention of the measured base wrench: exerted by the robot on the base, or by the base on the robot",
        choices=CONVENTIONS),
    _live("wrench_bias", "double[]", list(ESTIMATOR.wrench_bias),
        "reading of the base force/torque sensor without load (force, torque), in the axes of the sensor", "N, N*m"),
    _live("gravity_links", "string[]", [],
        "links of gravity_masses and gravity_first_moments, as a calibration writes them; empty: robot description"
        " is used"),
    _live("gravity_masses", "double[]", [],
        "calibrated mass of each link of gravity_links, including all links fixed to it", "kg"),
    _live("gravity_first_moments", "double[]", [],
        "calibrated mass times center of mass, x y z, of each link of gravity_links, in the frame of its joint",
        "kg*m"),
    Parameter("gravity_table", "string", "",
        "file of a table of gravity wrenches over joint positions; empty: gravity is computed from the model"),
    Parameter("wrench_delay", "double", ESTIMATOR.wrench_delay,
        "age of the wrench in a reading of the base force/torque sensor", "s", 0.0),
    Parameter("frozen_samples", "int", ESTIMATOR.frozen_samples,
        "number of consecutive equal wrenches, while efforts change, after which the sensor counts as failed; 0: never",
        "", 0),
    Parameter("sensor_wait", "double", 0.005,
        "longest wall time that a joint state waits for the wrench and base motion of its stamp", "s", 1e-4),
    _live("reference_timeout", "double", 0.08,
        "largest accepted age of a desired joint reference, relative to the joint state", "s", 1e-4),
    # motion of joints and base
    Parameter("joint_acceleration", "string", ESTIMATOR.joint_acceleration,
        "joint accelerations in the torque estimate: none (neglected), or derivative of the velocities",
        choices=JOINT_ACCELERATIONS),
    Parameter("velocity_bandwidth", "double", ESTIMATOR.velocity_bandwidth,
        "bandwidth of joint velocities differentiated from positions; 0: measured velocities are used", "rad/s", 0.0),
    Parameter("acceleration_bandwidth", "double", ESTIMATOR.acceleration_bandwidth,
        "bandwidth of joint accelerations differentiated from velocities", "rad/s", 0.0),
    Parameter("base_motion", "string", BASE_MOTIONS[0],
        "source of the motion of the base: none (fixed base), joint states, or flexible state of the estimator",
        choices=BASE_MOTIONS),
    Parameter("effort_source", "string", EFFORT_SOURCES[0],
        "motor efforts: measured ones, or commanded ones where not measured (joint_states), or always commanded ones"
        " (command)", choices=EFFORT_SOURCES),
    # contact, bias
    Parameter("contact.force", "double", CONTACT.force,
        "residual force, not explained by the model, from which a contact is detected; 0: forces are ignored",
        "N", 0.0),
    Parameter("contact.torque", "double", CONTACT.torque,
        "residual torque about the origin of the sensor from which a contact is detected; 0: torques are ignored",
        "N*m", 0.0),
    Parameter("contact.bandwidth", "double", CONTACT.bandwidth,
        "bandwidth of the low-pass filter of the residual wrench for contact detection", "rad/s", 1e-6),
    Parameter("bias_tracking.time_constant", "double", TRACKING.time_constant,
        "time constant with which the sensor bias follows the residual wrench at rest; 0: bias is fixed", "s", 0.0),
    Parameter("bias_tracking.rest_velocity", "double", TRACKING.rest_velocity,
        "joint velocity below which the arm counts as at rest for bias tracking", "rad/s | m/s", 0.0),
    Parameter("bias_tracking.rest_time", "double", TRACKING.rest_time,
        "time that the arm must have been at rest before its sensor bias is tracked", "s", 0.0),
    Parameter("bias_tracking.max_force", "double", TRACKING.max_force,
        "largest drift of the force bias from its configured value; larger residuals are not tracked", "N", 0.0),
    Parameter("bias_tracking.max_torque", "double", TRACKING.max_torque,
        "largest drift of the torque bias from its configured value; larger residuals are not tracked", "N*m", 0.0),
    # control
    Parameter("control", "bool", True,
        "answer desired_joint_reference with motor efforts on joint_reference; false: estimate only"),
    _live("position_gain", "double", POSITION.position_gain, "position gain of the joint position loop", "1/s^2", 0.0),
    _live("velocity_gain", "double", POSITION.velocity_gain, "velocity gain of the joint position loop", "1/s", 0.0),
    _live("integral_gain", "double", POSITION.integral_gain,
        "integral gain of the joint position loop; 0: no integral action", "1/s^3", 0.0),
    _live("max_integral", "double", POSITION.max_integral,
        "largest acceleration that the integral action of the joint position loop demands", "rad/s^2 | m/s^2", 0.0),
    _live("torque_loop", "bool", TORQUE.enabled,
        "compensate joint friction by the torque loop; false: position loop only"),
    _live("torque_bandwidth", "double", TORQUE.bandwidth,
        "bandwidth of the torque loop; 0: derived from the rate, sensor_bandwidth and wrench_delay", "rad/s", 0.0),
    _live("sensor_bandwidth", "double", TORQUE.sensor_bandwidth,
        "bandwidth of the base force/torque sensor; 0: assumed far above that of the torque loop", "rad/s", 0.0),
    _live("max_friction", "double", TORQUE.max_friction,
        "largest friction that the torque loop compensates, as a fraction of the effort limit of each joint", "", 0.0),
    _live("fade_time", "double", TORQUE.fade_time, "time in which the torque loop is faded in and out", "s", 0.0),
    Parameter("rate", "double", 500.0,
        "nominal sampling rate, from which the bandwidth of the torque loop is derived", "Hz", 1.0, 1e5),
    # calibration
    _live("calibration.velocity", "double[]", list(RUN.velocity),
        "largest joint velocity between calibration poses; one for all joints or one per joint", "rad/s | m/s"),
    _live("calibration.acceleration", "double[]", list(RUN.acceleration),
        "largest joint acceleration between calibration poses; one for all joints or one per joint", "rad/s^2 | m/s^2"),
    _live("calibration.settle_time", "double", RUN.settle_time,
        "time at rest in a calibration pose before wrenches are averaged", "s", 0.0),
    _live("calibration.samples", "int", RUN.samples,
        "number of wrenches that are averaged in each calibration pose", "", 2),
    _live("calibration.timeout", "double", RUN.timeout,
        "longest stay in a calibration pose before the calibration fails", "s", 1e-3),
    _live("calibration.max_velocity", "double", RUN.max_velocity,
        "joint velocity below which the arm counts as at rest in a calibration pose", "rad/s | m/s", 1e-9),
    _live("calibration.max_position_error", "double", RUN.max_position_error,
        "largest accepted deviation of a joint at rest from a calibration pose", "rad | m", 1e-9),
    _live("calibration.margin", "double", 0.1,
        "fraction of the range of each joint kept free at both ends when calibration poses are chosen", "", 0.0),
    _live("calibration.max_condition", "double", SOLUTION.max_condition,
        "largest condition number of the gravity parameters that a calibration identifies", "", 1.0),
    _live("calibration.max_residual_force", "double", SOLUTION.max_residual_force,
        "largest residual force that a pose of an accepted calibration may leave", "N", 1e-9),
    _live("calibration.max_residual_torque", "double", SOLUTION.max_residual_torque,
        "largest residual torque that a pose of an accepted calibration may leave", "N*m", 1e-9),
    _live("calibration.force_noise", "double", SOLUTION.force_noise,
        "standard deviation of a force sample during calibration", "N", 1e-9),
    _live("calibration.torque_noise", "double", SOLUTION.torque_noise,
        "standard deviation of a torque sample during calibration", "N*m", 1e-9),
    Parameter("state_timeout", "double", 0.5,
        "time without joint states or wrenches after which a calibration is aborted", "s", 1e-3),
    # what is shown
    _live("marker_rate", "double", 10.0, "publishing rate of the RViz markers; 0: not published", "Hz", 0.0),
    _live("marker_scale", "double", 0.01, "length of RViz arrows per unit of force or torque", "m/N, 1/N", 1e-9),
)  # fmt: skip


def estimator_config(values: Values) -> BaseWrenchEstimatorConfig:
    """Return the settings of the estimator.

    Raises:
        ConfigError: an invalid value.
    """
    return BaseWrenchEstimatorConfig(
        wrench_convention=values["wrench_convention"],
        wrench_bias=tuple(values["wrench_bias"]),
        wrench_delay=values["wrench_delay"],
        joint_acceleration=values["joint_acceleration"],
        velocity_bandwidth=values["velocity_bandwidth"],
        acceleration_bandwidth=values["acceleration_bandwidth"],
        frozen_samples=values["frozen_samples"],
        contact=ContactDetectionConfig(**_below("contact", values)),
        bias=BiasTrackingConfig(**_below("bias_tracking", values)),
    )


def controller_config(values: Values) -> BaseWrenchControllerConfig:
    """Return the settings of position loop and torque loop.

    Raises:
        ConfigError: an invalid value.
    """
    gains = ("position_gain", "velocity_gain", "integral_gain", "max_integral")
    return BaseWrenchControllerConfig(
        PositionLoopConfig(**{name: values[name] for name in gains}),
        TorqueLoopConfig(
            enabled=values["torque_loop"],
            bandwidth=values["torque_bandwidth"],
            sensor_bandwidth=values["sensor_bandwidth"],
            wrench_delay=values["wrench_delay"],
            period=1.0 / values["rate"],
            max_friction=values["max_friction"],
            fade_time=values["fade_time"],
        ),
    )


def calibration_config(values: Values, model: str) -> CalibrationConfig:
    """Return the settings of a calibration that estimates ``bias`` or ``bias_and_gravity``.

    Raises:
        ConfigError: an invalid value.
    """
    names = [field.name for field in fields(CalibrationConfig) if f"calibration.{field.name}" in values]
    return CalibrationConfig(model=model, **{name: values[f"calibration.{name}"] for name in names})


def calibration_run_config(values: Values, model: ArmModel) -> CalibrationRunConfig:
    """Return the settings of the arm's motion during a calibration, with velocities within the joint limits.

    Raises:
        ConfigError: an invalid value.
    """
    given = {}
    for name in ("velocity", "acceleration"):
        value = values[f"calibration.{name}"]
        if len(value) not in (1, model.n):
            raise ConfigError(f"calibration.{name} has {len(value)} values, expected one, or one a joint: {model.n}")
        given[name] = np.array(value * model.n if len(value) == 1 else value)
    given["velocity"] = np.minimum(given["velocity"], model.velocity_limit)
    names = ("settle_time", "samples", "timeout", "max_velocity", "max_position_error")
    return CalibrationRunConfig(
        tuple(given["velocity"].tolist()),
        tuple(given["acceleration"].tolist()),
        **{name: values[f"calibration.{name}"] for name in names},
    )


def sensed_bodies(values: Values, model: ArmModel) -> SensedBodies:
    """Return the bodies above the sensor, with the calibrated gravity parameters if there are any.

    Raises:
        ConfigError: no such sensor, links other than those it carries, or numbers that do not fit them.
    """
    bodies = build_sensed_bodies(model.description, values["sensor"])
    masses, moments = values["gravity_masses"], values["gravity_first_moments"]
    if not values["gravity_links"] and not masses and not moments:
        return bodies
    links = [bodies.names[k] for k in bodies.weighing]
    if values["gravity_links"] != links:
        raise ConfigError(
            f"gravity_links are {', '.join(values['gravity_links']) or 'not given'}; sensor '{bodies.sensor}' carries,"
            f" in this order: {', '.join(links)}"
        )
    if len(masses) != len(links) or len(moments) != 3 * len(links):
        raise ConfigError(
            f"{len(links)} gravity_links need {len(links)} gravity_masses and {3 * len(links)} gravity_first_moments;"
            f" there are {len(masses)} and {len(moments)}"
        )
    return bodies.with_gravity_parameters(np.column_stack((masses, np.reshape(moments, (-1, 3)))))


def gravity_table(values: Values, model: ArmModel) -> GravityTable | None:
    """Return the gravity table, or None if gravity is computed from the model.

    Raises:
        ConfigError: there is no such file, or it is no table for this robot and sensor.
    """
    path = values["gravity_table"]
    return GravityTable.load(path, model.joint_names, values["sensor"]) if path else None


def check_base_motion(base_motion: str, model: ArmModel) -> None:
    """Raise ConfigError if a base motion is configured for a robot without elastic joints."""
    if base_motion != BASE_MOTIONS[0] and not model.m:
        raise ConfigError(
            f"base_motion is '{base_motion}', but robot '{model.description.name}' has no elastic joint under its base:"
            f" it must be '{BASE_MOTIONS[0]}'"
        )


def _below(prefix: str, values: Values) -> dict[str, Any]:
    dotted = f"{prefix}."
    return {name.removeprefix(dotted): value for name, value in values.items() if name.startswith(dotted)}
