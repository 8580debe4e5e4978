"""MessageRows: maps recorded messages to the fields of their rows in a recording."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexarm.msg import BehaviorStatus
from flexarm_core.robot.arm_model import ArmModel
from flexarm_nodes.node import topics
from flexarm_tools.recording.message_blocks import MessageBlock
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
        fills: by topic, the function that writes messages with the same words into their rows of the fields.
        texts: by topic whose words change often, the function that writes one message into a row.
    """

    def __init__(self, model: ArmModel, base_wrench: str) -> None:
        """Set the robot model and the topic of the force/torque sensor under the base; empty: there is no sensor."""
        self._model, self._wrench = model, base_wrench
        self.modes = mode_names(model.description)
        self.fills: dict[str, Callable[[Columns, MessageBlock], None]] = {
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
            topics.FLEXIBLE_STATE: self._fill_estimate,
            topics.STRAIN: self._fill_strain,
            topics.BASE_WRENCH_ESTIMATE: self._fill_base_wrench_estimate,
        }
        self.texts: dict[str, Callable[[Columns, int, Any], None]] = {topics.BEHAVIOR_STATUS: self._fill_behaviors}

    def columns(self, ticks: int) -> Columns:
        """Return the fields of a recording, to be filled by messages."""
        counts = (self._model.n, self._model.m, len(self.modes), len(self._model.description.strain_gauges))
        return Columns(recording_shapes(ticks, *counts))

    def _fill_joints(self, known: Columns, said: MessageBlock) -> None:
        n = self._model.n  # ground truth: actuated joints first, then elastic joints, in the order of the description
        rows, position, velocity = said.rows, said.numbers("position"), said.numbers("velocity")
        known["position"][rows], known["deflection"][rows] = position[:, :n], position[:, n:]
        known["velocity"][rows], known["deflection_rate"][rows] = velocity[:, :n], velocity[:, n:]
        known["effort"][rows] = said.numbers("effort")[:, :n]

    @staticmethod
    def _fill_pose(known: Columns, said: MessageBlock) -> None:
        known["tool_position"][said.rows] = said.numbers("pose.position")
        known["tool_rotation"][said.rows] = said.numbers("pose.orientation")

    @staticmethod
    def _fill_pose_in_base(known: Columns, said: MessageBlock) -> None:
        known["tool_position_in_base"][said.rows] = said.numbers("pose.position")

    @staticmethod
    def _fill_reference(known: Columns, said: MessageBlock) -> None:
        known["reference_position"][said.rows] = said.numbers("pose.position")
        known["reference_acceleration"][said.rows] = said.numbers("accel.linear")
        known["reference_frame"] = said.example.header.frame_id
        known["reference_axes"] = said.numbers("axes")[-1]

    @staticmethod
    def _fill_path(known: Columns, said: MessageBlock) -> None:
        known["path_position"][said.rows] = said.numbers("pose.position")
        known["path_frame"] = said.example.header.frame_id

    @staticmethod
    def _fill_reaction(known: Columns, said: MessageBlock) -> None:
        known["coupling_momentum"][said.rows] = said.numbers("coupling_momentum")
        for name in (
            "smallest_coupling_singular_value", "smallest_restricted_singular_value", "damping", "vibration_damping",
        ):  # fmt: skip
            known[name][said.rows] = said.numbers(name)[:, 0]

    @staticmethod
    def _fill_wrench(known: Columns, said: MessageBlock) -> None:
        known["base_wrench"][said.rows] = said.numbers("wrench")

    @staticmethod
    def _fill_contact(known: Columns, said: MessageBlock) -> None:
        known["contact_wrench"][said.rows] = said.numbers("wrench")

    def _fill_friction(self, known: Columns, said: MessageBlock) -> None:
        known["true_friction"][said.rows] = by_name(self._model.joint_names, said.example.name, said.numbers("effort"))

    def _fill_desired(self, known: Columns, said: MessageBlock) -> None:
        known["desired_position"][said.rows] = by_name(
            self._model.joint_names, said.example.names, said.numbers("position")
        )

    def _fill_given(self, known: Columns, said: MessageBlock) -> None:
        for field in ("velocity", "effort", "friction"):
            values = by_name(self._model.joint_names, said.example.names, said.numbers(field))
            known[f"reference_{field}"][said.rows] = values

    @staticmethod
    def _fill_redundancy(known: Columns, said: MessageBlock) -> None:
        rows, condition = said.rows, said.numbers("condition_number")[:, 0]
        known["resolution_position_error"][rows] = np.linalg.norm(said.numbers("position_error"), axis=1)
        known["resolution_orientation_error"][rows] = np.linalg.norm(said.numbers("orientation_error"), axis=1)
        known["condition_number"][rows] = np.where(condition == 0.0, np.nan, condition)
        known["rows_given_up"][rows] = len(said.example.dropped_rows) + len(said.example.damped_rows)

    @staticmethod
    def _fill_behaviors(known: Columns, row: int, message: BehaviorStatus) -> None:
        distances = [one.measure for one in message.behaviors if one.kind == "obstacles" and one.active]
        known["obstacle_distance"][row] = min(distances, default=np.nan)
        known["behaviors_held"][row] = float(bool(message.held))

    def _fill_true_modes(self, known: Columns, said: MessageBlock) -> None:
        for field in ("modal_position", "modal_rate"):
            known[field][said.rows] = by_name(self.modes, said.example.modes, said.numbers(field))

    def _fill_estimate(self, known: Columns, said: MessageBlock) -> None:
        for field in ("deflection", "deflection_rate"):
            values = by_name(self._model.elastic_joint_names, said.example.elastic_joints, said.numbers(field))
            known[f"estimated_{field}"][said.rows] = values
        for field in ("modal_position", "modal_rate"):
            known[f"estimated_{field}"][said.rows] = by_name(self.modes, said.example.modes, said.numbers(field))

    def _fill_strain(self, known: Columns, said: MessageBlock) -> None:
        gauges = tuple(self._model.description.strain_gauges)
        known["strain"][said.rows] = by_name(gauges, said.example.names, said.numbers("strain"))

    def _fill_base_wrench_estimate(self, known: Columns, said: MessageBlock) -> None:
        for field in ("torque", "friction"):
            values = by_name(self._model.joint_names, said.example.names, said.numbers(field))
            known[f"estimated_{field}"][said.rows] = values
        known["residual_wrench"][said.rows] = said.numbers("residual_wrench")
        for name, field in (
            ("estimate_valid", "valid"), ("contact_detected", "contact"), ("correction_weight", "correction_weight"),
        ):  # fmt: skip
            known[name][said.rows] = said.numbers(field)[:, 0]


def by_name(wanted: Sequence[str], names: Sequence[str], values: NDArray[Any]) -> NDArray[Any]:
    """Return the values (k, count) in the order of the wanted names, NaN for missing ones: not every mode is known."""
    found = np.full((len(values), len(wanted)), np.nan)
    given = dict(zip(names, values.T, strict=False))  # an unknown quantity is an empty array
    for column, name in zip(found.T, wanted, strict=True):
        if name in given:
            column[:] = given[name]
    return found
