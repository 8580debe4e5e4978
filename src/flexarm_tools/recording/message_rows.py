"""MessageRows: maps each recorded message to the fields of its row in a recording."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, Wrench, WrenchStamped
from sensor_msgs.msg import JointState

from flexarm.msg import (
    BaseReaction,
    BaseWrenchEstimate,
    BehaviorStatus,
    CartesianReference,
    FlexibleState,
    JointReference,
    RedundancyState,
    StrainState,
)
from flexarm_core.robot.arm_model import ArmModel
from flexarm_nodes.node import topics
from flexarm_tools.recording.recording import mode_names, recording_shapes, unknown_values


class Columns(dict[str, Any]):
    """Fields of a recording by name; the first message that writes into an array creates it, unknown in all rows."""

    def __init__(self, shapes: dict[str, tuple[int, ...]]) -> None:
        """Set the shapes of the arrays."""
        super().__init__()
        self._shapes = shapes

    def __missing__(self, name: str) -> Any:
        self[name] = unknown_values(name, self._shapes[name])
        return self[name]


class MessageRows:
    """Fields of a recording by topic.

    Attributes:
        modes: modes of the robot's flexible links, ``link/mode``.
        fills: by topic, the function that writes a message into a row of the fields.
    """

    def __init__(self, model: ArmModel, base_wrench: str) -> None:
        """Set the robot model and the topic of the force/torque sensor under the base; empty: there is no sensor."""
        self._model, self._wrench = model, base_wrench
        self.modes = mode_names(model.description)
        self.fills: dict[str, Callable[[Columns, int, Any], None]] = {
            topics.TRUE_JOINT_STATES: self._fill_joints,
            topics.TRUE_TOOL_POSE: self._fill_pose,
            topics.TRUE_TOOL_POSE_IN_BASE: self._fill_pose_in_base,
            topics.TRUE_FLEXIBLE_STATE: self._fill_true_modes,
            topics.TRUE_CONTACT_WRENCH: self._fill_contact,
            topics.TRUE_JOINT_FRICTION: self._fill_friction,
            topics.CARTESIAN_REFERENCE: self._fill_reference,
            topics.SET_POINT: self._fill_path,
            topics.BASE_REACTION: self._fill_reaction,
            self._wrench: self._fill_wrench,
            topics.DESIRED_JOINT_REFERENCE: self._fill_desired,
            topics.JOINT_REFERENCE: self._fill_given,
            topics.REDUNDANCY_STATE: self._fill_redundancy,
            topics.BEHAVIOR_STATUS: self._fill_behaviors,
            topics.FLEXIBLE_STATE: self._fill_estimate,
            topics.STRAIN: self._fill_strain,
            topics.BASE_WRENCH_ESTIMATE: self._fill_base_wrench_estimate,
        }

    def columns(self, ticks: int) -> Columns:
        """Return the fields of a recording, to be filled by messages."""
        counts = (self._model.n, self._model.m, len(self.modes), len(self._model.description.strain_gauges))
        return Columns(recording_shapes(ticks, *counts))

    def _fill_joints(self, known: Columns, row: int, message: JointState) -> None:
        n = self._model.n  # ground truth: actuated joints first, then elastic joints, in the order of the description
        known["position"][row], known["deflection"][row] = message.position[:n], message.position[n:]
        known["velocity"][row], known["deflection_rate"][row] = message.velocity[:n], message.velocity[n:]
        known["effort"][row] = message.effort[:n]

    @staticmethod
    def _fill_pose(known: Columns, row: int, message: PoseStamped) -> None:
        known["tool_position"][row] = _point(message.pose.position)
        orientation = message.pose.orientation
        known["tool_rotation"][row] = orientation.x, orientation.y, orientation.z, orientation.w

    @staticmethod
    def _fill_pose_in_base(known: Columns, row: int, message: PoseStamped) -> None:
        known["tool_position_in_base"][row] = _point(message.pose.position)

    @staticmethod
    def _fill_reference(known: Columns, row: int, message: CartesianReference) -> None:
        known["reference_position"][row] = _point(message.pose.position)
        known["reference_acceleration"][row] = _point(message.accel.linear)
        known["reference_frame"] = message.header.frame_id
        known["reference_axes"] = np.array(message.axes, dtype=bool)

    @staticmethod
    def _fill_path(known: Columns, row: int, message: CartesianReference) -> None:
        known["path_position"][row] = _point(message.pose.position)
        known["path_frame"] = message.header.frame_id

    @staticmethod
    def _fill_reaction(known: Columns, row: int, message: BaseReaction) -> None:
        known["coupling_momentum"][row] = message.coupling_momentum
        for name in ("smallest_coupling_singular_value", "smallest_restricted_singular_value", "damping"):
            known[name][row] = getattr(message, name)
        known["vibration_damping"][row] = message.vibration_damping

    @staticmethod
    def _fill_wrench(known: Columns, row: int, message: WrenchStamped) -> None:
        known["base_wrench"][row] = _wrench(message.wrench)

    @staticmethod
    def _fill_contact(known: Columns, row: int, message: WrenchStamped) -> None:
        known["contact_wrench"][row] = _wrench(message.wrench)

    def _fill_friction(self, known: Columns, row: int, message: JointState) -> None:
        known["true_friction"][row] = by_name(self._model.joint_names, message.name, message.effort)

    def _fill_desired(self, known: Columns, row: int, message: JointReference) -> None:
        known["desired_position"][row] = by_name(self._model.joint_names, message.names, message.position)

    def _fill_given(self, known: Columns, row: int, message: JointReference) -> None:
        for field in ("velocity", "effort", "friction"):
            values = by_name(self._model.joint_names, message.names, getattr(message, field))
            known[f"reference_{field}"][row] = values

    @staticmethod
    def _fill_redundancy(known: Columns, row: int, message: RedundancyState) -> None:
        known["resolution_position_error"][row] = np.linalg.norm(_point(message.position_error))
        known["resolution_orientation_error"][row] = np.linalg.norm(_point(message.orientation_error))
        known["condition_number"][row] = message.condition_number or np.nan
        known["rows_given_up"][row] = len(message.dropped_rows) + len(message.damped_rows)

    @staticmethod
    def _fill_behaviors(known: Columns, row: int, message: BehaviorStatus) -> None:
        distances = [one.measure for one in message.behaviors if one.kind == "obstacles" and one.active]
        known["obstacle_distance"][row] = min(distances, default=np.nan)
        known["behaviors_held"][row] = float(bool(message.held))

    def _fill_true_modes(self, known: Columns, row: int, message: FlexibleState) -> None:
        known["modal_position"][row] = by_name(self.modes, message.modes, message.modal_position)
        known["modal_rate"][row] = by_name(self.modes, message.modes, message.modal_rate)

    def _fill_estimate(self, known: Columns, row: int, message: FlexibleState) -> None:
        for field in ("deflection", "deflection_rate"):
            values = by_name(self._model.elastic_joint_names, message.elastic_joints, getattr(message, field))
            known[f"estimated_{field}"][row] = values
        known["estimated_modal_position"][row] = by_name(self.modes, message.modes, message.modal_position)
        known["estimated_modal_rate"][row] = by_name(self.modes, message.modes, message.modal_rate)

    def _fill_strain(self, known: Columns, row: int, message: StrainState) -> None:
        gauges = tuple(self._model.description.strain_gauges)
        known["strain"][row] = by_name(gauges, message.names, message.strain)

    def _fill_base_wrench_estimate(self, known: Columns, row: int, message: BaseWrenchEstimate) -> None:
        for field in ("torque", "friction"):
            values = by_name(self._model.joint_names, message.names, getattr(message, field))
            known[f"estimated_{field}"][row] = values
        known["residual_wrench"][row] = _wrench(message.residual_wrench)
        known["estimate_valid"][row] = message.valid
        known["contact_detected"][row] = message.contact
        known["correction_weight"][row] = message.correction_weight


def by_name(wanted: Sequence[str], names: Sequence[str], values: Sequence[float]) -> list[float]:
    """Return the values in the order of the wanted names, NaN for missing names: an estimator may know fewer modes."""
    given = dict(zip(names, values, strict=False))  # an unknown quantity is an empty array
    return [given.get(name, np.nan) for name in wanted]


def _point(point: Any) -> tuple[float, float, float]:
    return point.x, point.y, point.z


def _wrench(wrench: Wrench) -> tuple[float, ...]:
    return *_point(wrench.force), *_point(wrench.torque)
