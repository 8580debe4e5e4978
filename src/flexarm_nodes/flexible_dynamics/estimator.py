"""Node flexible_dynamics_estimator: estimates elastic joints and modes for each joint state (core: estimator)."""

from __future__ import annotations

from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.flexible_dynamics.stages import built_estimator, estimator_sensors
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import Values
from flexarm_nodes.node.input.readings import READERS
from flexarm_nodes.node.parameters import Parameter, rows
from flexarm_nodes.node.ports import JOINTS, STATES, Input, Output, Ports, Use
from flexarm_nodes.node.stage.node import StageNode


class FlexibleDynamicsEstimator(StageNode):
    """Reads joint states, strain, wrenches and IMU readings; publishes one FlexibleState for each joint state.

    A joint state is processed when every sensor has delivered its reading of the same stamp, when the next joint state
    arrives, or after ``sensor_wait``, whichever is first: the order of messages on different topics is not guaranteed.
    A rejected reading counts as delivered but is not used. With ``subtract_friction`` it also waits for the joint
    reference that answered the sample before.
    """

    NAME = "flexible_dynamics_estimator"
    PARAMETERS = (
        *rows(EstimatorConfig),
        Parameter("subtract_friction", "bool", False,
            "subtract the friction given by the last joint reference from the measured joint efforts"),
        Parameter("sensor_wait", "double", 0.005,
            "longest wall time that a joint state waits for sensor readings of its stamp", "s", 1e-4),
    )  # fmt: skip

    @staticmethod
    def ports(values: Values, description: RobotDescription, tool: str) -> Ports:
        """Return the topics that the node uses with these parameters."""
        inputs = [STATES]
        for sensor in estimator_sensors(values, description):
            kind, name = sensor
            message, topic = READERS[kind].kind, READERS[kind].topic
            by = "contact_sensor" if sensor == ("wrench", values["contact_sensor"]) else f"use_{kind}"
            inputs.append(Input(topic(name), message.__name__, because=by))
        if values["subtract_friction"]:
            inputs.append(Input(topics.JOINT_REFERENCE, JOINTS, Use.FEEDBACK, "subtract_friction"))
        return Ports(tuple(inputs), (Output(topics.FLEXIBLE_STATE, "FlexibleState"),))

    build_stage = staticmethod(built_estimator)
