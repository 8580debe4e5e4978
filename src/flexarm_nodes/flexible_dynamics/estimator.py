"""Stage flexible_dynamics_estimator: estimates elastic joints and modes for each joint state (core: estimator).

A joint state is processed when every sensor has delivered its reading of the same stamp, when the next joint state
arrives, or after ``sensor_wait``, whichever is first: the order of messages on different topics is not guaranteed. A
rejected reading counts as delivered but is not used. With ``subtract_friction`` it also waits for the joint reference
that answered the sample before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flexarm.msg import FlexibleState
from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.flexible_dynamics.estimation.estimator import FlexibleEstimator
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.pipeline.flexible_stages import FlexibleEstimatorStage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_core.types import FlexibleSample
from flexarm_nodes.messages.flexible import flexible_state_form
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import BuiltStage, Output, Status, Values, unchanged
from flexarm_nodes.node.diagnostics import OK, WARN
from flexarm_nodes.node.input.readings import READERS
from flexarm_nodes.node.parameters import Parameter, record_of, rows
from flexarm_nodes.node.ports import JOINTS, STATES, Input, Ports, Use
from flexarm_nodes.node.ports import Output as Port
from flexarm_nodes.node.stage.kind import StageKind

ESTIMATOR_PARAMETERS = (
    *rows(EstimatorConfig),
    Parameter("subtract_friction", "bool", False,
        "subtract the friction given by the last joint reference from the measured joint efforts, as far as they"
        " contain it"),
    Parameter("sensor_wait", "double", 0.005,
        "longest wall time that a joint state waits for sensor readings of its stamp", "s", 1e-4),
)  # fmt: skip


def _flexible_model(values: Values, model: ArmModel) -> FlexibleModel:
    gravity = (values["gravity"][0], values["gravity"][1], values["gravity"][2])
    return FlexibleModel(model.description, model.tool_frame, gravity)


def estimator_sensors(values: Values, robot: RobotDescription) -> tuple[tuple[str, str], ...]:
    """Return the sensors that the estimator uses, as (kind, name); see READERS.

    Raises:
        ConfigError: invalid values.
    """
    config = record_of(EstimatorConfig, values)
    imus = robot.imus if config.correct and config.use_imu else ()
    strain = config.correct and config.use_strain and bool(robot.strain_gauges)
    wrenches = config.wrench_sensors(robot.force_torque_sensors)
    return (*(("wrench", name) for name in wrenches), *(("imu", name) for name in imus), *([("strain", "")] * strain))


def built_estimator(values: Values, model: ArmModel) -> BuiltStage:
    """Return the stage of the estimator with its output; its compiled code is loaded.

    Raises:
        FlexarmError: values that do not fit the arm.
    """
    robot = model.description
    config = record_of(EstimatorConfig, values)
    awaited = estimator_sensors(values, robot)
    flexible_model, still = _flexible_model(values, model), np.zeros(model.n)
    estimator = FlexibleEstimator(flexible_model, config)
    for stamp in (0, 1_000_000):  # loads the compiled code before the first sample
        estimator.update(FlexibleSample(stamp, still, still, still))
    stage = FlexibleEstimatorStage(estimator, subtract_friction=values["subtract_friction"])
    names, modes = tuple(joint.name for joint in robot.elastic), flexible_model.mode_names

    def make(tick: Tick) -> Any:
        return None if tick.flexible is None else flexible_state_form(tick.flexible, names, modes)

    def status(tick: Tick) -> Status:
        left_out = () if tick.flexible is None else tick.flexible.left_out
        return (WARN, f"left out: {', '.join(left_out)}", {}) if left_out else (OK, "estimating", {})

    return BuiltStage(
        stage,
        unchanged,
        (Output(topics.FLEXIBLE_STATE, FlexibleState, make, later=True),),
        awaited,
        required=("effort",),
        before=values["subtract_friction"],
        status=status,
    )


def _ports(values: Values, description: RobotDescription, tool: str) -> Ports:
    """Return the topics that the stage uses with these parameters."""
    inputs = [STATES]
    for sensor in estimator_sensors(values, description):
        kind, name = sensor
        message, topic = READERS[kind].kind, READERS[kind].topic
        by = "contact_sensor" if sensor == ("wrench", values["contact_sensor"]) else f"use_{kind}"
        inputs.append(Input(topic(name), message.__name__, because=by))
    if values["subtract_friction"]:
        inputs.append(Input(topics.JOINT_REFERENCE, JOINTS, Use.FEEDBACK, "subtract_friction"))
    return Ports(tuple(inputs), (Port(topics.FLEXIBLE_STATE, "FlexibleState"),))


KIND = StageKind("flexible_dynamics_estimator", "flexarm", ESTIMATOR_PARAMETERS, built_estimator, (), ports_of=_ports)
