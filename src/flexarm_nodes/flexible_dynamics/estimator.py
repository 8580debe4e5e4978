"""Node flexible_dynamics_estimator: estimates elastic joints and modes for each joint state (core: estimator)."""

from __future__ import annotations

from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.flexible_dynamics.stages import built_estimator, estimator_sensors
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import run
from flexarm_nodes.node.built_stage import Values
from flexarm_nodes.node.parameters import Parameter
from flexarm_nodes.node.ports import JOINTS, STATES, Input, Output, Ports, Use
from flexarm_nodes.node.readings import READERS
from flexarm_nodes.node.stage_node import StageNode

USUAL = EstimatorConfig()


class FlexibleDynamicsEstimator(StageNode):
    """Reads joint states, strain, wrenches and IMU readings; publishes one FlexibleState for each joint state.

    A joint state is processed when every sensor has delivered its reading of the same stamp, when the next joint state
    arrives, or after ``sensor_wait``, whichever is first: the order of messages on different topics is not guaranteed.
    A rejected reading counts as delivered but is not used. With ``subtract_friction`` it also waits for the joint
    reference that answered the sample before.
    """

    NAME = "flexible_dynamics_estimator"
    PARAMETERS = (
        Parameter("correct", "bool", USUAL.correct,
            "correct the estimate by measurements; false: open-loop prediction by the model"),
        Parameter("use_strain", "bool", USUAL.use_strain, "correct the estimate by the strain gauges"),
        Parameter("use_deflection", "bool", USUAL.use_deflection,
            "correct the estimate by the elastic joints of the base in the joint states"),
        Parameter("use_wrench", "bool", USUAL.use_wrench, "correct the estimate by the force/torque sensors"),
        Parameter("use_imu", "bool", USUAL.use_imu, "correct the estimate by the inertial measurement units"),
        Parameter("contact_sensor", "string", USUAL.contact_sensor,
            "force/torque sensor of the tool whose reading is taken as the contact wrench; empty: no contact assumed"),
        Parameter("subtract_friction", "bool", False,
            "subtract the friction given by the last joint reference from the measured joint efforts"),
        Parameter("effort_noise", "double", USUAL.effort_noise,
            "spectral density of unknown efforts of the joints (process noise)", "N*m/sqrt(Hz)", 0.0),
        Parameter("modal_noise", "double", USUAL.modal_noise,
            "spectral density of unknown accelerations of the modes of flexible links (process noise)",
            "sqrt(kg)*m/s^2/sqrt(Hz)", 0.0),
        Parameter("base_noise", "double", USUAL.base_noise,
            "spectral density of unknown accelerations of the elastic joints (process noise)", "rad/s^2/sqrt(Hz)", 0.0),
        Parameter("push_force", "double", USUAL.push_force,
            "standard deviation of push forces on the base; both push deviations 0 disable push detection", "N", 0.0),
        Parameter("push_torque", "double", USUAL.push_torque,
            "standard deviation of push torques on the base; both push deviations 0 disable push detection",
            "N*m", 0.0),
        Parameter("push_gate", "double", USUAL.push_gate,
            "innovation of a sensor of the base, in standard deviations, from which a push on the base is assumed",
            "", 1.0),
        Parameter("strain_noise", "double", USUAL.strain_noise,
            "standard deviation of the noise of a strain gauge", "", 1e-12),
        Parameter("strain_error", "double", USUAL.strain_error,
            "standard deviation of the relative error of strain gauges, from calibration and neglected modes", "", 0.0),
        Parameter("deflection_noise", "double", USUAL.deflection_noise,
            "standard deviation of a measured position of an elastic joint", "rad | m", 1e-12),
        Parameter("deflection_rate_noise", "double", USUAL.deflection_rate_noise,
            "standard deviation of a measured velocity of an elastic joint", "rad/s | m/s", 1e-12),
        Parameter("force_noise", "double", USUAL.force_noise,
            "standard deviation of a measured force, including the effect of neglected modes", "N", 1e-12),
        Parameter("torque_noise", "double", USUAL.torque_noise,
            "standard deviation of a measured torque", "N*m", 1e-12),
        Parameter("acceleration_noise", "double", USUAL.acceleration_noise,
            "standard deviation of a specific force of an IMU, including the effect of neglected modes",
            "m/s^2", 1e-12),
        Parameter("gyro_noise", "double", USUAL.gyro_noise,
            "standard deviation of an angular velocity of an IMU", "rad/s", 1e-12),
        Parameter("initial_energy", "double", USUAL.initial_energy,
            "energy, at one standard deviation, that each flexible coordinate may hold at first; 0: derived from the"
            " arm", "J", 0.0),
        Parameter("gate", "double", USUAL.gate,
            "innovation, in standard deviations, beyond which a reading is left out as an outlier", "", 1.0),
        Parameter("gate_patience", "int", USUAL.gate_patience,
            "number of consecutive outliers after which a sensor is trusted again", "", 1),
        Parameter("frozen_samples", "int", USUAL.frozen_samples,
            "number of consecutive equal readings after which a strain gauge may be considered frozen", "", 1),
        Parameter("max_gap", "double", USUAL.max_gap,
            "gap between samples after which the estimate restarts with its initial covariance", "s", 1e-4),
        Parameter("sensor_wait", "double", 0.005,
            "longest wall time that a joint state waits for sensor readings of its stamp", "s", 1e-4),
    )  # fmt: skip

    @staticmethod
    def ports(values: Values, description: RobotDescription, tool: str) -> Ports:
        """Return the topics that the node uses with these parameters."""
        inputs = [STATES]
        for sensor in estimator_sensors(values, description):
            kind, name = sensor
            message, _, topic = READERS[kind]
            by = "contact_sensor" if sensor == ("wrench", values["contact_sensor"]) else f"use_{kind}"
            inputs.append(Input(topic(name), message.__name__, because=by))
        if values["subtract_friction"]:
            inputs.append(Input(topics.JOINT_REFERENCE, JOINTS, Use.FEEDBACK, "subtract_friction"))
        return Ports(tuple(inputs), (Output(topics.FLEXIBLE_STATE, "FlexibleState"),))

    build_stage = staticmethod(built_estimator)


def main() -> None:
    """Entry point."""
    run(FlexibleDynamicsEstimator)
