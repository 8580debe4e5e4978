"""Builds the stage of the base wrench from its parameters, for its own node and for control_loop."""

from __future__ import annotations

from typing import Any

import numpy as np
from visualization_msgs.msg import MarkerArray

from flexarm.msg import BaseWrenchEstimate
from flexarm_core.base_wrench.controller import BaseWrenchController
from flexarm_core.base_wrench.estimator import BaseWrenchEstimator
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.pipeline.base_wrench_stage import BaseWrenchStage
from flexarm_core.pipeline.stage import advance
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import FlexibleSample, FlexibleState, JointReference
from flexarm_nodes.base_wrench.markers import BaseWrenchMarkers
from flexarm_nodes.base_wrench.parameters import (
    calibration_config,
    calibration_run_config,
    check_base_motion,
    controller_config,
    estimator_config,
    gravity_table,
    sensed_bodies,
)
from flexarm_nodes.base_wrench.setup import BaseWrenchSetup
from flexarm_nodes.messages.base_wrench import base_wrench_estimate_form
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import BuiltStage, Output, Values, joint_output, required_base
from flexarm_nodes.node.input.readings import FLEXIBLE

CALIBRATED = ("wrench_bias", "gravity_links", "gravity_masses", "gravity_first_moments")


def built_base_wrench(values: Values, model: ArmModel) -> BuiltStage:
    """Return the stage with its outputs; its compiled code is loaded.

    Raises:
        FlexarmError: values that do not fit the arm.
    """
    motion, control = values["base_motion"], values["control"]
    check_base_motion(motion, model)
    controller, table = BaseWrenchController(model, controller_config(values)), gravity_table(values, model)

    def estimator(values: Values) -> BaseWrenchEstimator:
        gravity = (values["gravity"][0], values["gravity"][1], values["gravity"][2])
        dynamics = SensorDynamics(sensed_bodies(values, model), gravity)
        return BaseWrenchEstimator(model, dynamics, estimator_config(values), table)

    stage = BaseWrenchStage(
        estimator(values),
        controller if control else None,
        values["sensor"],
        base_motion=motion,
        base_bandwidth=values["acceleration_bandwidth"],
        measured_effort=values["effort_source"] == "joint_states",
    )
    setup, drawn = BaseWrenchSetup(stage, model, values), BaseWrenchMarkers(model, stage.estimator.bodies.sensor_frame)
    frame, used = stage.estimator.bodies.sensor_frame, {name: values[name] for name in CALIBRATED}

    def change(changed: Values) -> None:
        config = controller_config(changed)
        calibration_config(changed, "bias")
        calibration_run_config(changed, model)
        calibrated = {name: changed[name] for name in CALIBRATED}
        if calibrated != used:  # a new bias or new masses restart the estimator
            stage.estimator = estimator(changed)
            stage.zero.reset()
            used.update(calibrated)
        controller.config, setup.values = config, changed

    def make(tick: Tick) -> Any:
        if tick.estimate is None:
            return None
        return base_wrench_estimate_form(tick.estimate, model.joint_names, frame, stage.weight)

    def draw(tick: Tick) -> Any:
        drawn.scale = setup.values["marker_scale"]
        return None if tick.estimate is None else drawn.message(tick.estimate)

    change(values)
    still, none = np.zeros(model.n), np.zeros(model.m)
    for stamp in (0, 1_000_000):
        sample = FlexibleSample(stamp, still, still, still, none, none, wrenches={stage.sensor: np.zeros(6)})
        bent = FlexibleState(stamp, none, none, none, none[:0], none[:0], none[:0])
        advance(stage, Tick(sample, model.m, flexible=bent, joints=JointReference(stamp, still)))
    stage.reset()
    outputs = (
        Output(topics.BASE_WRENCH_ESTIMATE, BaseWrenchEstimate, make),
        Output(topics.MARKERS, MarkerArray, draw, topics.CONTROL, rate=lambda: float(setup.values["marker_rate"])),
    )
    return BuiltStage(
        stage,
        change,
        (*outputs, joint_output(stage.name, model)) if control else outputs,
        (("wrench", stage.sensor), *((FLEXIBLE,) if motion == "flexible_state" else ())),
        required_base(motion),
        setup=setup,
        status=setup.status,
    )
