"""Node flexible_dynamics_controller: ACT stage, joint reference or trajectory -> efforts of a flexible arm.

Core: ``flexible_dynamics.controller``. Sampled references arrive on ``desired_joint_reference``. A
``trajectory_msgs/JointTrajectory`` on ``joint_trajectory`` is sampled here, so that the node needs no other reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMessage

from flexarm.msg import FlexibleState, JointReference
from flexarm_core.errors import InputError
from flexarm_core.flexible_dynamics.control.controller import LAWS
from flexarm_core.flexible_dynamics.control.force_correction import INFLUENCES
from flexarm_core.path.joint_trajectory import JointTrajectory
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState
from flexarm_core.types import FlexibleState as FlexibleStateRecord
from flexarm_core.types import JointReference as JointReferenceRecord
from flexarm_nodes.flexible_dynamics.parameters import (
    ESTIMATOR_PARAMETERS,
    flexible_controller,
    flexible_controller_config,
)
from flexarm_nodes.messages.conversions import (
    JointStateSelector,
    joint_reference_from_message,
    joint_reference_to_message,
    stamp_to_nanoseconds,
)
from flexarm_nodes.messages.flexible import flexible_state_from_message
from flexarm_nodes.messages.joint_trajectory import joint_trajectory_from_message
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import run
from flexarm_nodes.node.diagnostics import OK, WARN
from flexarm_nodes.node.gain_checking_node import GainCheckingNode
from flexarm_nodes.node.parameters import Parameter

REFERENCES = ("desired_joint_reference", "joint_trajectory")


class FlexibleDynamicsController(GainCheckingNode):
    """Reads joint state, flexible state and joint reference of one stamp; publishes a joint reference with efforts."""

    PARAMETERS = (
        Parameter("law", "string", "vibration_damping",
            "control law: tracking with vibration damping, exact joint accelerations (accelerations), or a PD servo"
            " with gravity compensation (joint_pd)", choices=LAWS, live=True),
        Parameter("reference", "string", REFERENCES[0],
            "topic of the reference: a stream of joint references, or joint trajectories that this node samples",
            choices=REFERENCES),
        Parameter("position_gain", "double", 0.0,
            "position gain of the servo of each joint; both servo gains 0: derived from the model for each joint",
            "1/s^2", 0.0, live=True),
        Parameter("velocity_gain", "double", 0.0,
            "velocity gain of the servo of each joint; both servo gains 0: derived from the model for each joint",
            "1/s", 0.0, live=True),
        Parameter("tool_stiffness", "double", 1e4,
            "weight of the deviation of the tool in the cost of the vibration damping (linear-quadratic)",
            "N/m", 0.0, live=True),
        Parameter("effort_weight", "double", 0.0,
            "weight of efforts in the cost of the vibration damping, smaller is faster; 0: derived from the model",
            "s^2", 0.0, live=True),
        Parameter("gain_period", "double", 0.02,
            "time after which the gains of the vibration damping are redesigned for the present posture",
            "s", 1e-4, live=True),
        Parameter("influence", "string", "exact",
            "influence of efforts on accelerations in the force correction: exact, or diagonal approximation",
            choices=INFLUENCES, live=True),
        Parameter("iterations", "int", 10,
            "largest number of iterations of the force correction per sample", "", 1, 1000, live=True),
        Parameter("tolerance", "double", 1e-9,
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
        Parameter("check_gains", "bool", True,
            "refuse gains that are unstable within the stiffness and mass margins, or that amplify noise too much"),
        Parameter("start_position", "double[]", [],
            "joint positions at which gains are checked when configured, beside others; empty: where the arm is at"
            " activation", "rad | m"),
        *ESTIMATOR_PARAMETERS,
    )  # fmt: skip

    def __init__(self) -> None:
        """Create the node's topics."""
        super().__init__("flexible_dynamics_controller")
        self._joint_reference = self.create_publisher(JointReference, topics.JOINT_REFERENCE, topics.EVERY_SAMPLE)
        for message_type, topic, callback in (
            (JointState, topics.JOINT_STATES, self._on_joint_state),
            (FlexibleState, topics.FLEXIBLE_STATE, self._on_flexible_state),
            (JointReference, topics.DESIRED_JOINT_REFERENCE, self._on_desired),
            (JointTrajectoryMessage, topics.JOINT_TRAJECTORY, self._on_trajectory),
        ):
            self.hear(message_type, topic, callback)

    def look_at_gains(self, message: JointState) -> None:
        """Check the gains at the measured joint positions."""
        self._controller.prepare(self._select(message)[0])

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Log the gains that are in use."""
        done = super().on_activate(state)
        if done == TransitionCallbackReturn.SUCCESS:
            motion = self._controller.config.motion
            k_p, k_d = (np.round(gain, 3).tolist() for gain in (motion.position_gain, motion.velocity_gain))
            weight = motion.effort_weight
            self.get_logger().info(f"position_gain {k_p}, velocity_gain {k_d}, effort_weight {weight:.3g}")
        return done

    def build(self, values: dict[str, Any], model: ArmModel) -> None:
        """Build the controller from parameters."""
        self._controller = flexible_controller(values, model)
        self._model = self._controller.model
        self._select = JointStateSelector(model.joint_names)
        self._from_trajectory = values["reference"] == "joint_trajectory"
        self.start()

    def start(self) -> None:
        """Discard earlier samples."""
        self._controller.reset()
        self._joints: ArmState | None = None
        self._flexible: FlexibleStateRecord | None = None
        self._desired: JointReferenceRecord | None = None
        self._trajectory: JointTrajectory | None = None
        self._begun = 0
        self._answered = -1

    def change(self, values: dict[str, Any]) -> None:
        """Apply live parameters at the next sample; gains that fail the check are rejected."""
        self._controller.configure(flexible_controller_config(values))

    def _on_joint_state(self, message: JointState) -> None:
        position, velocity = self._select(message)
        none = np.zeros(len(self._model.elastic))
        self._joints = ArmState(stamp_to_nanoseconds(message.header.stamp), position, velocity, none, none)
        self._answer()

    def _on_flexible_state(self, message: FlexibleState) -> None:
        names = self._model.description.elastic
        self._flexible = flexible_state_from_message(message, [joint.name for joint in names], self._model.mode_names)
        self._answer()

    def _on_desired(self, message: JointReference) -> None:
        self._desired = joint_reference_from_message(message, self._model.description.actuated)
        self._answer()

    def _on_trajectory(self, message: JointTrajectoryMessage) -> None:
        if not self._from_trajectory:
            raise InputError("a joint trajectory came, but parameter reference is 'desired_joint_reference'")
        if self._joints is None:
            raise InputError("joint trajectory refused: no joint state has come yet")
        self._trajectory = joint_trajectory_from_message(
            message, self._model.description.actuated, self._joints.position
        )
        stamp = stamp_to_nanoseconds(message.header.stamp)
        self._begun = stamp or self._joints.stamp  # no stamp: now, as in ros2_control

    def _answer(self) -> None:
        """Process one sample when joint state, flexible state and reference are available."""
        joints, flexible = self._joints, self._flexible
        if joints is None or joints.stamp <= self._answered:
            return
        if self._controller.config.law == "joint_pd":
            flexible = None
        elif flexible is None or flexible.stamp != joints.stamp:
            return
        reference = self._reference(joints)
        if reference is None:
            return
        result = self._controller.update(joints, flexible, reference)
        self._answered = joints.stamp
        self._joint_reference.publish(joint_reference_to_message(result, self._model.description.actuated))
        left = self._controller.discrepancy
        values = {"iterations": str(self._controller.iterations), "discrepancy": f"{left:.3g}"}
        if self._controller.limited < 1.0:
            values["demand"] = f"{self._controller.limited:.3g}"
            self.diagnostics.report(WARN, "demand beyond the effort limits: reduced", joints.stamp, values)
        elif left > 1e-3:
            self.diagnostics.report(WARN, "forces did not converge: raise iterations", joints.stamp, values)
        else:
            self.diagnostics.report(OK, "controlling", joints.stamp, values)

    def _reference(self, joints: ArmState) -> JointReferenceRecord | None:
        if self._from_trajectory:
            if self._trajectory is None:  # no trajectory yet: hold the first measured position
                still = np.zeros(len(joints.position))
                self._trajectory, self._begun = JointTrajectory(joints.position, [0.0], joints.position[None]), 0
                return JointReferenceRecord(joints.stamp, joints.position, still, still)
            return self._trajectory.sample(joints.stamp, (joints.stamp - self._begun) * 1e-9)
        if self._desired is None or self._desired.stamp != joints.stamp:
            return None
        return self._desired


def main() -> None:
    """Entry point."""
    run(FlexibleDynamicsController)
