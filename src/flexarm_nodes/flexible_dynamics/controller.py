"""Node flexible_dynamics_controller: ACT stage, joint reference or trajectory -> efforts of a flexible arm.

Core: ``flexible_dynamics.controller``. Sampled references arrive on ``desired_joint_reference``. A
``trajectory_msgs/JointTrajectory`` on ``joint_trajectory`` is sampled by the stage, which then needs no other one.
"""

from __future__ import annotations

import numpy as np
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn

from flexarm_core.flexible_dynamics.control.controller import LAWS, FlexibleControllerConfig
from flexarm_core.flexible_dynamics.control.force_correction import INFLUENCES
from flexarm_core.flexible_dynamics.vibration_damping import VibrationDampingConfig
from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.flexible_dynamics.parameters import ESTIMATOR_PARAMETERS, built_controller
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import run
from flexarm_nodes.node.built_stage import Values
from flexarm_nodes.node.parameters import Parameter
from flexarm_nodes.node.ports import BY_POSITION, JOINTS, MOTION, STATES, Input, Output, Ports, Role, Use, needed
from flexarm_nodes.node.stage_node import StageNode

REFERENCES = ("desired_joint_reference", "joint_trajectory")
USUAL = FlexibleControllerConfig()
DAMPING = VibrationDampingConfig()


class FlexibleDynamicsController(StageNode):
    """Reads joint state, flexible state and joint reference of one stamp; publishes a joint reference with efforts."""

    NAME = "flexible_dynamics_controller"
    HEARS = ("joints", "flexible")
    CHECKS_GAINS = True
    PARAMETERS = (
        Parameter("law", "string", USUAL.law,
            "control law: tracking with vibration damping, exact joint accelerations (accelerations), or a PD servo"
            " with gravity compensation (joint_pd)", choices=LAWS, live=True),
        Parameter("reference", "string", REFERENCES[0],
            "topic of the reference: a stream of joint references, or joint trajectories that this node samples",
            choices=REFERENCES),
        Parameter("position_gain", "double", DAMPING.position_gain,
            "position gain of the servo of each joint; both servo gains 0: derived from the model for each joint",
            "1/s^2", 0.0, live=True),
        Parameter("velocity_gain", "double", DAMPING.velocity_gain,
            "velocity gain of the servo of each joint; both servo gains 0: derived from the model for each joint",
            "1/s", 0.0, live=True),
        Parameter("tool_stiffness", "double", DAMPING.tool_stiffness,
            "weight of the deviation of the tool in the cost of the vibration damping (linear-quadratic)",
            "N/m", 0.0, live=True),
        Parameter("effort_weight", "double", DAMPING.effort_weight,
            "weight of efforts in the cost of the vibration damping, smaller is faster; 0: derived from the model",
            "s^2", 0.0, live=True),
        Parameter("gain_period", "double", DAMPING.gain_period,
            "time after which the gains of the vibration damping are redesigned for the present posture",
            "s", 1e-4, live=True),
        Parameter("influence", "string", USUAL.influence,
            "influence of efforts on accelerations in the force correction: exact, or diagonal approximation",
            choices=INFLUENCES, live=True),
        Parameter("iterations", "int", USUAL.iterations,
            "largest number of iterations of the force correction per sample", "", 1, 1000, live=True),
        Parameter("tolerance", "double", USUAL.tolerance,
            "relative tolerance of the accelerations at which the force correction ends", "", 1e-15, 1.0, live=True),
        Parameter("rate", "double", 1000.0,
            "nominal sampling rate for which gains are designed and checked", "Hz", 1.0, 1e5),
        Parameter("delay", "double", 0.001,
            "delay from the sensors to the motors for which gains are checked; outside lockstep at least one period",
            "s", 0.0, 0.1),
        Parameter("stiffness_margin", "double", 0.2,
            "relative error of the modeled stiffness, softer or stiffer, that gains must tolerate", "", 0.0, 0.9),
        Parameter("mass_margin", "double", 0.1,
            "relative error of the modeled masses, lighter or heavier, that gains must tolerate", "", 0.0, 0.9),
        Parameter("velocity_noise", "double", 1e-3,
            "standard deviation of measured joint velocities; gains may turn it into at most 1 % of the effort limits",
            "rad/s | m/s", 0.0),
        Parameter("check_gains", "bool", USUAL.check_gains,
            "refuse gains that are unstable within the stiffness and mass margins, or that amplify noise too much"),
        Parameter("start_position", "double[]", [],
            "joint positions at which gains are checked when configured, beside others; empty: where the arm is at"
            " activation", "rad | m"),
        *ESTIMATOR_PARAMETERS,
    )  # fmt: skip

    @staticmethod
    def ports(values: Values, description: RobotDescription, tool: str) -> Ports:
        """Return the topics that the node uses with these parameters."""
        law, source = values["law"], f"reference '{values['reference']}'"
        sampled = values["reference"] == "desired_joint_reference"
        wanted = (frozenset({"acceleration"}),) if law == "accelerations" else BY_POSITION
        return Ports(
            (
                STATES,
                Input(topics.FLEXIBLE_STATE, "FlexibleState", needed(law != "joint_pd"), f"law '{law}'"),
                Input(topics.DESIRED_JOINT_REFERENCE, JOINTS, needed(sampled), source, wanted),
                Input(topics.JOINT_TRAJECTORY, "JointTrajectory", Use.IGNORED if sampled else Use.HEARD, source),
            ),
            (Output(topics.JOINT_REFERENCE, JOINTS, Role.LEADS, MOTION | {"effort"}),),
        )

    build_stage = staticmethod(built_controller)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Log the gains that are in use."""
        done = super().on_activate(state)
        if done == TransitionCallbackReturn.SUCCESS:
            motion = self.stage.controller.config.motion
            k_p, k_d = (np.round(gain, 3).tolist() for gain in (motion.position_gain, motion.velocity_gain))
            weight = motion.effort_weight
            self.get_logger().info(f"position_gain {k_p}, velocity_gain {k_d}, effort_weight {weight:.3g}")
        return done


def main() -> None:
    """Entry point."""
    run(FlexibleDynamicsController)
