"""Stage base_wrench_torque_estimator: ACT, a sensor under the base -> joint torques, motor efforts.

Each joint state results in one BaseWrenchEstimate with its stamp. Each desired joint reference results in one joint
reference whose motor efforts produce the desired effort at the links (core: base_wrench). An action calibrates the
sensor.

A joint state is processed when the wrench of the same stamp has arrived (and the flexible state, if the base motion is
taken from it), when the next joint state arrives, or after ``sensor_wait``, whichever is first.
"""

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
from flexarm_core.robot.description import RobotDescription
from flexarm_core.types import FlexibleSample, FlexibleState, JointReference
from flexarm_nodes.base_wrench.interfaces import BaseWrenchInterfaces
from flexarm_nodes.base_wrench.markers import BaseWrenchMarkers
from flexarm_nodes.base_wrench.parameters import (
    BASE_WRENCH_PARAMETERS,
    calibration_config,
    calibration_run_config,
    check_base_motion,
    controller_config,
    estimator_config,
    gravity_table,
    sensed_bodies,
    table_in_use,
)
from flexarm_nodes.messages.base_wrench import base_wrench_estimate_form
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import BuiltStage, Output, Values, joint_output, required_base
from flexarm_nodes.node.input.readings import FLEXIBLE
from flexarm_nodes.node.ports import JOINTS, MARKERS, STATES, Input, Ports, Role, needed
from flexarm_nodes.node.ports import Output as Port
from flexarm_nodes.node.stage.kind import StageKind

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
        return BaseWrenchEstimator(model, dynamics, estimator_config(values), table_in_use(values, table, dynamics))

    stage = BaseWrenchStage(
        estimator(values),
        controller if control else None,
        values["sensor"],
        base_motion=motion,
        base_bandwidth=values["acceleration_bandwidth"],
        measured_effort=values["effort_source"] == "joint_states",
    )
    frame, used = stage.estimator.bodies.sensor_frame, {name: values[name] for name in CALIBRATED}
    interfaces, drawn = BaseWrenchInterfaces(stage, model, values), BaseWrenchMarkers(model, frame)

    def change(changed: Values) -> None:
        config = controller_config(changed)
        calibration_config(changed, "bias")
        calibration_run_config(changed, model)
        calibrated = {name: changed[name] for name in CALIBRATED}
        if calibrated != used:  # a new bias or new masses restart the estimator
            stage.estimator = estimator(changed)
            stage.zero.reset()
            used.update(calibrated)
        controller.config, interfaces.values = config, changed

    def make(tick: Tick) -> Any:
        if tick.estimate is None:
            return None
        return base_wrench_estimate_form(tick.estimate, model.joint_names, frame, stage.weight)

    def draw(tick: Tick) -> Any:
        drawn.scale = interfaces.values["marker_scale"]
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
        Output(topics.MARKERS, MarkerArray, draw, topics.CONTROL, rate=lambda: float(interfaces.values["marker_rate"])),
    )
    return BuiltStage(
        stage,
        change,
        (*outputs, joint_output(stage.name, model)) if control else outputs,
        (("wrench", stage.sensor), *((FLEXIBLE,) if motion == "flexible_state" else ())),
        required_base(motion),
        interfaces=interfaces,
        status=interfaces.status,
    )


def _ports(values: Values, description: RobotDescription, tool: str) -> Ports:
    """Return the topics that the stage uses with these parameters."""
    control, motion = values["control"], values["base_motion"]
    inputs = [
        STATES,
        Input(
            topics.DESIRED_JOINT_REFERENCE,
            JOINTS,
            needed(control),
            f"control {str(control).lower()}",
            (frozenset({"effort"}), frozenset({"position"})),
        ),
        Input(topics.wrench_topic(values["sensor"]), "WrenchStamped", because=f"sensor '{values['sensor']}'"),
    ]
    if motion == "flexible_state":
        inputs.append(Input(topics.FLEXIBLE_STATE, "FlexibleState", because=f"base_motion '{motion}'"))
    gives, role = frozenset({"effort", "friction"}), Role.LEADS if control else Role.SILENT
    return Ports(
        tuple(inputs),
        (
            Port(topics.BASE_WRENCH_ESTIMATE, "BaseWrenchEstimate"),
            Port(topics.JOINT_REFERENCE, JOINTS, role, gives, passes=True),
            MARKERS,
        ),
    )


KIND = StageKind(
    "base_wrench_torque_estimator", "flexarm", BASE_WRENCH_PARAMETERS, built_base_wrench, ("joints",), ports_of=_ports
)
