"""Parameters of base_wrench_torque_estimator, and the objects built from them."""

from __future__ import annotations

from functools import partial

import numpy as np

from flexarm_core.base_wrench.bias_tracking import BiasTrackingConfig
from flexarm_core.base_wrench.calibration_config import CalibrationConfig
from flexarm_core.base_wrench.calibration_run import CalibrationRunConfig
from flexarm_core.base_wrench.contact_detection import ContactDetectionConfig
from flexarm_core.base_wrench.controller import BaseWrenchControllerConfig
from flexarm_core.base_wrench.estimator import BaseWrenchEstimatorConfig
from flexarm_core.base_wrench.gravity_table import GravityTable
from flexarm_core.base_wrench.position_loop import PositionLoopConfig
from flexarm_core.base_wrench.sensed_bodies import SensedBodies, build_sensed_bodies
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.base_wrench.torque_loop import TorqueLoopConfig
from flexarm_core.errors import ConfigError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_nodes.node.built_stage import Values
from flexarm_nodes.node.parameters import FILE_FOLDER, Parameter, record_of, rows

BASE_MOTIONS = ("none", "joint_states", "flexible_state")
GRAVITY_PARTS = ("whole", "posture_dependent")
MODEL = "model"  # gravity_table
EFFORT_SOURCES = ("joint_states", "command")
_live = partial(Parameter, live=True)

BASE_WRENCH_PARAMETERS = (
    # the sensor and what it carries
    Parameter("sensor", "string", "base_ft_sensor",
        "name of the ros2_control force/torque sensor under the base of the arm"),
    *rows(BaseWrenchEstimatorConfig, but=("wrench_bias",)),
    _live("gravity_links", "string[]", [],
        "links of gravity_masses and gravity_first_moments, as a calibration writes them; empty: robot description"
        " is used"),
    _live("gravity_masses", "double[]", [],
        "calibrated mass of each link of gravity_links, including all links fixed to it", "kg"),
    _live("gravity_first_moments", "double[]", [],
        "calibrated mass times center of mass, x y z, of each link of gravity_links, in the frame of its joint",
        "kg*m"),
    Parameter("gravity_table", "string", "",
        "file of a table of gravity wrenches over joint positions; model: a table made of the model at the start;"
        " empty: gravity is computed from the model", at_start=True),
    Parameter("gravity_part", "string", GRAVITY_PARTS[0],
        "gravity that is subtracted: whole, or only the part that depends on the posture (posture_dependent); then"
        " wrench_bias is the reading at rest without that part, and includes the constant weight",
        choices=GRAVITY_PARTS),
    FILE_FOLDER,
    Parameter("sensor_wait", "double", 0.005,
        "longest wall time that a joint state waits for the wrench and base motion of its stamp", "s", 1e-4),
    _live("reference_timeout", "double", 0.08,
        "largest accepted age of a desired joint reference, relative to the joint state", "s", 1e-4),
    # motion of joints and base
    Parameter("base_motion", "string", BASE_MOTIONS[0],
        "source of the motion of the base: none (fixed base), joint states, or flexible state of the estimator",
        choices=BASE_MOTIONS),
    Parameter("effort_source", "string", EFFORT_SOURCES[0],
        "motor efforts: measured ones, or commanded ones where not measured (joint_states), or always commanded ones"
        " (command)", choices=EFFORT_SOURCES),
    # contact, bias
    *rows(ContactDetectionConfig, prefix="contact."),
    *rows(BiasTrackingConfig, prefix="bias_tracking."),
    # control
    Parameter("control", "bool", True,
        "follow desired_joint_reference with motor efforts on joint_reference; false: estimate only"),
    *rows(PositionLoopConfig, live=True),
    *rows(TorqueLoopConfig, live=True, without=("wrench_delay", "period")),
    Parameter("rate", "double", 500.0,
        "nominal sampling rate, from which the bandwidth of the torque loop is derived", "Hz", 1.0, 1e5),
    # calibration
    *rows(CalibrationRunConfig, prefix="calibration.", live=True),
    _live("calibration.margin", "double", 0.1,
        "fraction of the range of each joint kept free at both ends when calibration poses are chosen", "", 0.0),
    *rows(CalibrationConfig, prefix="calibration.", live=True, without=("model", "min_poses", "max_velocity")),
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
    return record_of(
        BaseWrenchEstimatorConfig,
        values,
        contact=record_of(ContactDetectionConfig, values, "contact."),
        bias=record_of(BiasTrackingConfig, values, "bias_tracking."),
    )


def controller_config(values: Values) -> BaseWrenchControllerConfig:
    """Return the settings of position loop and torque loop.

    Raises:
        ConfigError: an invalid value.
    """
    return BaseWrenchControllerConfig(
        record_of(PositionLoopConfig, values), record_of(TorqueLoopConfig, values, period=1.0 / values["rate"])
    )


def calibration_config(values: Values, model: str) -> CalibrationConfig:
    """Return the settings of a calibration that estimates ``bias`` or ``bias_and_gravity``.

    Raises:
        ConfigError: an invalid value.
    """
    return record_of(CalibrationConfig, values, "calibration.", model=model)


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
    limited = {name: tuple(value.tolist()) for name, value in given.items()}
    return record_of(CalibrationRunConfig, values, "calibration.", **limited)


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
    """Return the gravity table of a file, or None if there is none.

    Raises:
        ConfigError: there is no such file, or it is no table for this robot and sensor.
    """
    path = values["gravity_table"]
    return GravityTable.load(path, model.joint_names, values["sensor"]) if path not in ("", MODEL) else None


def table_in_use(values: Values, file: GravityTable | None, dynamics: SensorDynamics) -> GravityTable | None:
    """Return the table that replaces the gravity wrench of the model, or None.

    Raises:
        ConfigError: a table cannot be made of the model.
    """
    whole = values["gravity_part"] == GRAVITY_PARTS[0]
    table = file
    if file is None and (values["gravity_table"] == MODEL or not whole):
        table = GravityTable.from_model(dynamics)
    return table if table is None or whole else table.posture_dependent()


def check_base_motion(base_motion: str, model: ArmModel) -> None:
    """Raise ConfigError if a base motion is configured for a robot without elastic joints."""
    if base_motion != BASE_MOTIONS[0] and not model.m:
        raise ConfigError(
            f"base_motion is '{base_motion}', but robot '{model.description.name}' has no elastic joint under its base:"
            f" it must be '{BASE_MOTIONS[0]}'"
        )
