"""What is drawn of an arm, from the newest messages of a running graph; for eyes, not for control."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from flexarm.msg import BaseReaction, CartesianReference, FlexibleState
from flexarm_core.flexible_dynamics.arm_sample import ArmSample
from flexarm_core.flexible_dynamics.deflected_arm import DeflectedArm
from flexarm_nodes.messages.conversions import stamp_to_nanoseconds
from flexarm_nodes.messages.flexible import wrench_from_message
from flexarm_nodes.node import topics

# The newest sample will do, and no publisher is to wait for who only looks.
GLANCE = QoSProfile(
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.VOLATILE,
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
)
SEEN: dict[str, Any] = {
    topics.JOINT_STATES: JointState,
    topics.FLEXIBLE_STATE: FlexibleState,
    topics.TRUE_FLEXIBLE_STATE: FlexibleState,
    topics.CARTESIAN_REFERENCE: CartesianReference,
    topics.BASE_REACTION: BaseReaction,
}


def arm_sample(newest: Callable[[str], Any], arm: DeflectedArm) -> ArmSample | None:
    """The arm as the newest messages have it; None before its joints are known. What is not finite is left out.

    The deflection is that of the joint states, which sensors or the plant publish, else what an estimator says, else
    the ground truth. The wrench on the base is what its sensor measures; without one, what the arm's commanded
    accelerations exert.

    Args:
        newest: newest message of one of the topics SEEN or of the sensor under the arm, None where there is none.
        arm: what is drawn.
    """
    state, description = newest(topics.JOINT_STATES), arm.description
    if state is None:
        return None
    elastic = {joint.name for joint in description.elastic}
    values = finite_by_name(state.name, state.position)
    position = {name: value for name, value in values.items() if name in description.joints and name not in elastic}
    bent = newest(topics.FLEXIBLE_STATE) or newest(topics.TRUE_FLEXIBLE_STATE)
    deflection = finite_by_name(bent.elastic_joints, bent.deflection) if bent is not None else {}
    deflection = {name: value for name, value in (deflection | values).items() if name in elastic}
    modes = finite_by_name(bent.modes, bent.modal_position) if bent is not None else {}
    wanted, in_base = np.full(3, np.nan), False
    reference = newest(topics.CARTESIAN_REFERENCE)
    if reference is not None and reference.header.frame_id in (description.root, description.base_frame):
        point = reference.pose.position
        if any(reference.axes[:3]):
            wanted = np.array([point.x, point.y, point.z])
        in_base = reference.header.frame_id != description.root
    on_base = newest(topics.wrench_topic(arm.base_sensor) if arm.base_sensor else topics.BASE_REACTION)
    wrench = np.full(6, np.nan) if on_base is None else wrench_from_message(on_base)
    time = 1e-9 * stamp_to_nanoseconds(state.header.stamp)
    return ArmSample(time, position, deflection, modes, wanted, in_base, wrench)


def finite_by_name(names: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    """Finite values by name; none where there are not as many as names."""
    if len(names) != len(values):
        return {}
    return {name: float(value) for name, value in zip(names, values, strict=True) if math.isfinite(value)}
