"""State of an arm for drawing, from the newest messages of a running graph; for visualization, not for control."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
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
from flexarm_nodes.node.input.wrench_frames import NamedFrame, transformed

# Only the newest sample is needed, and no publisher may be blocked by a viewer.
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


def arm_sample(
    newest: Callable[[str], Any], arm: DeflectedArm, named: Mapping[str, NamedFrame] | None = None
) -> ArmSample | None:
    """Return the arm's state from the newest messages, or None before its joints are known; omit non-finite values.

    The deflection is taken from the joint states, which sensors or the plant publish, else from an estimator, else from
    the ground truth. The wrench on the base is the measurement of the sensor under the arm, transformed to its frame if
    it is given in another frame, and unknown if that frame is; without a sensor, it is the base reaction to the arm's
    commanded accelerations.

    Args:
        newest: returns the newest message of a topic in SEEN or of the sensor under the arm, None if there is none.
        arm: arm to draw.
        named: frames that are named, by name.
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
    sample = ArmSample(time, position, deflection, modes, wanted, in_base, wrench)
    if on_base is None or not arm.base_sensor:
        return sample
    frame = on_base.header.frame_id.rpartition("/")[2]  # without the prefix of frames in a namespace
    given = (named or {}).get(frame)
    if given is None and frame in ("", arm.wrench_frame):
        return sample
    link, pose, signs = given or NamedFrame(frame, np.eye(4), np.ones(6))
    if link not in arm.description.links:
        return replace(sample, base_wrench=np.full(6, np.nan))
    placed = arm.place(sample, 1.0)
    there = np.asarray(np.linalg.solve(placed[arm.wrench_frame], placed[link] @ pose), dtype=float)
    return replace(sample, base_wrench=transformed(there, signs * wrench))


def finite_by_name(names: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    """Return the finite values by name; empty if the numbers of names and values differ."""
    if len(names) != len(values):
        return {}
    return {name: float(value) for name, value in zip(names, values, strict=True) if math.isfinite(value)}
