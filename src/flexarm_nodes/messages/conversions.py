"""Conversion between messages and core records; only this package uses both."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, Quaternion, Vector3, WrenchStamped
from sensor_msgs.msg import JointState

from flexarm.msg import BaseReaction as BaseReactionMessage
from flexarm.msg import CartesianReference as CartesianReferenceMessage
from flexarm.msg import JointReference as JointReferenceMessage
from flexarm_core.errors import InputError
from flexarm_core.types import Array, BaseReaction, CartesianReference, JointReference
from flexarm_sim.backend import PlantState
from flexarm_sim.measurement import Measurement

_JOINT_REFERENCE_FIELDS = ("position", "velocity", "acceleration", "effort", "friction")


def stamp_to_nanoseconds(stamp: Time) -> int:
    """Return the stamp of a message [ns]."""
    return stamp.sec * 1_000_000_000 + stamp.nanosec


def nanoseconds_to_stamp(nanoseconds: int) -> Time:
    """Return the message stamp of a time [ns]."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return Time(sec=seconds, nanosec=rest)


def write_header(message: Any, stamp: int, frame: str = "") -> None:
    """Write a stamp [ns] and a frame into the header of a new message."""
    header = message.header
    header.stamp.sec, header.stamp.nanosec = divmod(stamp, 1_000_000_000)
    header.frame_id = frame


def write_vectors(first: Vector3, second: Vector3, spatial: Array) -> None:
    """Write six numbers into two vectors."""
    first.x, first.y, first.z, second.x, second.y, second.z = np.asarray(spatial, dtype=float).tolist()


def doubles(values: Array) -> array:
    """Convert a vector to a float64[] field, without a Python loop."""
    return array("d", np.ascontiguousarray(values, dtype=float).tobytes())


def quaternion_to_rotation(quaternion: Quaternion) -> Array:
    """Return the rotation matrix (3, 3) of a unit quaternion.

    Raises:
        InputError: the norm is not 1 within 1e-3.
    """
    x, y, z, w = quaternion.x, quaternion.y, quaternion.z, quaternion.w
    norm = math.sqrt(x * x + y * y + z * z + w * w)
    if not abs(norm - 1.0) < 1e-3:
        raise InputError(f"orientation is no unit quaternion: norm {norm:.6g}")
    x, y, z, w = x / norm, y / norm, z / norm, w / norm
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def rotation_to_quaternion(rotation: Array) -> Quaternion:
    """Return the unit quaternion of a rotation matrix (3, 3), computed from its largest component (Shepperd 1978)."""
    x, y, z, w = _quaternion(rotation)
    return Quaternion(x=x, y=y, z=z, w=w)


def _quaternion(rotation: Array) -> tuple[float, float, float, float]:
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = np.asarray(rotation, dtype=float).tolist()
    squares = (1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz, 1 + xx + yy + zz)
    largest = squares.index(max(squares))
    scale = 2.0 * math.sqrt(squares[largest])
    x, y, z, w = (
        (squares[0], xy + yx, xz + zx, zy - yz),
        (xy + yx, squares[1], yz + zy, xz - zx),
        (xz + zx, yz + zy, squares[2], yx - xy),
        (zy - yz, xz - zx, yx - xy, squares[3]),
    )[largest]
    return x / scale, y / scale, z / scale, w / scale


def check_finite(field: str, values: Array, names: Sequence[str]) -> None:
    """Reject a field of a joint state whose values (k,) are not all finite.

    Raises:
        InputError: names the joints whose values are not finite.
    """
    given = values.tolist()
    if not all(map(math.isfinite, given)):
        bad = [name for name, value in zip(names, given, strict=True) if not math.isfinite(value)]
        raise InputError(f"joint state {field} of {', '.join(bad)} is not finite")


class JointStateSelector:
    """Selects named joints from JointState messages, independent of their order."""

    def __init__(self, names: Sequence[str]) -> None:
        """Select these joints, in this order."""
        self._names = tuple(names)
        self._seen: list[str] | None = None
        self._index = np.zeros(len(names), dtype=int)

    def __call__(self, message: JointState) -> tuple[Array, Array]:
        """Return positions and velocities (k,) of the selected joints; raises the same errors as :meth:`select`."""
        return self.select(message.name, np.array(message.position), np.array(message.velocity))

    def select(self, names: list[str], position: Array, velocity: Array) -> tuple[Array, Array]:
        """Return positions and velocities (k,) of the selected joints.

        Raises:
            InputError: a joint is missing or named twice, an array does not have one value per name, or a number is
                not finite.
        """
        if names != self._seen:
            self._learn(names)
        for field, value in (("position", position), ("velocity", velocity)):
            if value.size != len(names):
                raise InputError(f"joint state has {len(names)} names and {value.size} {field} values")
        position, velocity = position[self._index], velocity[self._index]
        for field, value in (("position", position), ("velocity", velocity)):
            check_finite(field, value, self._names)
        return position, velocity

    def _learn(self, names: Sequence[str]) -> None:
        places: dict[str, int] = {}
        for place, name in enumerate(names):
            if name in places:
                raise InputError(f"joint state names '{name}' twice")
            places[name] = place
        missing = [name for name in self._names if name not in places]
        if missing:
            raise InputError(f"joint state lacks {', '.join(missing)}; it has {', '.join(names) or 'no joint'}")
        self._index = np.array([places[name] for name in self._names], dtype=int)
        self._seen = list(names)


def joint_reference_to_message(reference: JointReference, names: Sequence[str]) -> JointReferenceMessage:
    """Convert a JointReference record to a message."""
    message = JointReferenceMessage(names=list(names))
    write_header(message, reference.stamp)
    for field in _JOINT_REFERENCE_FIELDS:
        value = getattr(reference, field)
        if value is not None:
            setattr(message, field, doubles(value))
    return message


def joint_reference_from_message(message: JointReferenceMessage, names: Sequence[str]) -> JointReference:
    """Convert a JointReference message to a record with the joints in the order of ``names``.

    Raises:
        InputError: the names differ, or an array does not have one value per name.
    """
    given = list(message.names)
    if given == list(names):
        order = None
    elif sorted(given) == sorted(names):
        order = [given.index(name) for name in names]
    else:
        raise InputError(f"joint reference names {', '.join(given) or 'no joint'}; expected {', '.join(names)}")
    fields: dict[str, Array | None] = {}
    for field in _JOINT_REFERENCE_FIELDS:
        value = np.array(getattr(message, field))
        if value.size == 0:
            fields[field] = None
            continue
        if value.size != len(given):
            raise InputError(f"joint reference has {len(given)} names and {value.size} {field} values")
        fields[field] = value if order is None else value[order]
    return JointReference(stamp=stamp_to_nanoseconds(message.header.stamp), **fields)


def cartesian_reference_to_message(reference: CartesianReference, tool_frame: str) -> CartesianReferenceMessage:
    """Convert a CartesianReference record to a message."""
    message = CartesianReferenceMessage(tool_frame=tool_frame, axes=[bool(axis) for axis in reference.axes])
    write_header(message, reference.stamp, reference.frame)
    point = message.pose.position
    point.x, point.y, point.z = np.asarray(reference.position, dtype=float).tolist()
    message.pose.orientation = rotation_to_quaternion(reference.rotation)
    write_vectors(message.twist.linear, message.twist.angular, reference.velocity)
    write_vectors(message.accel.linear, message.accel.angular, reference.acceleration)
    return message


def cartesian_reference_from_message(message: CartesianReferenceMessage, tool_frame: str) -> CartesianReference:
    """Convert a CartesianReference message to a record.

    Raises:
        InputError: the tool frame is another one, or the orientation is no unit quaternion.
    """
    if message.tool_frame != tool_frame:
        raise InputError(f"reference is for tool frame '{message.tool_frame}', this node drives '{tool_frame}'")
    point = message.pose.position
    return CartesianReference(
        stamp=stamp_to_nanoseconds(message.header.stamp),
        frame=message.header.frame_id,
        position=np.array([point.x, point.y, point.z]),
        rotation=quaternion_to_rotation(message.pose.orientation),
        velocity=_spatial(message.twist.linear, message.twist.angular),
        acceleration=_spatial(message.accel.linear, message.accel.angular),
        axes=np.array(message.axes, dtype=bool),
    )


def base_reaction_to_message(
    reaction: BaseReaction, base_frame: str, elastic_joints: Sequence[str]
) -> BaseReactionMessage:
    """Convert a BaseReaction record to a message."""
    message = BaseReactionMessage(elastic_joints=list(elastic_joints), rank=reaction.rank)
    write_header(message, reaction.stamp, base_frame)
    write_vectors(message.wrench.force, message.wrench.torque, reaction.wrench_on_base_in_base)
    message.reaction = doubles(reaction.reaction)
    message.coupling_momentum = doubles(reaction.coupling_momentum)
    message.coupling_singular_values = doubles(reaction.coupling_singular_values)
    message.smallest_coupling_singular_value = float(reaction.coupling_singular_values[-1])
    message.smallest_restricted_singular_value = float(reaction.smallest_restricted_singular_value)
    message.damping = float(reaction.damping)
    message.vibration_damping = bool(reaction.vibration_damping)
    return message


def _spatial(linear: Vector3, angular: Vector3) -> Array:
    return np.array([linear.x, linear.y, linear.z, angular.x, angular.y, angular.z])


def write_joint_readings(message: JointState, measurement: Measurement) -> None:
    """Write the measured joints into a JointState; its arrays stay empty if no joint is measured."""
    readings = [reading for reading in (measurement.joints, measurement.elastic) if reading is not None]
    message.name = [name for reading in readings for name in reading.names]
    message.position = _joined([reading.position for reading in readings])
    message.velocity = _joined([reading.velocity for reading in readings])
    message.effort = _joined([np.full(len(r.names), np.nan) if r.effort is None else r.effort for r in readings])


def write_true_joints(message: JointState, state: PlantState) -> None:
    """Write the ground truth into a JointState; elastic joints have no motor effort (0)."""
    message.position = _joined((state.position, state.deflection))
    message.velocity = _joined((state.velocity, state.deflection_rate))
    message.effort = _joined((state.effort, np.zeros(len(state.deflection))))


def write_pose(message: PoseStamped, position: Array, rotation: Array) -> None:
    """Write a position (3,) and a rotation (3, 3) into a PoseStamped."""
    point, turn = message.pose.position, message.pose.orientation
    point.x, point.y, point.z = np.asarray(position, dtype=float).tolist()
    turn.x, turn.y, turn.z, turn.w = _quaternion(rotation)


def new_wrench(frame: str) -> WrenchStamped:
    """Return an empty WrenchStamped in a frame."""
    message = WrenchStamped()
    message.header.frame_id = frame
    return message


def write_wrench(message: WrenchStamped, wrench: Array) -> None:
    """Write ``[f; n]`` into a WrenchStamped."""
    write_vectors(message.wrench.force, message.wrench.torque, wrench)


def _joined(parts: Sequence[Array]) -> array:
    """Concatenate several vectors to a float64[] field."""
    return array("d", b"".join([np.asarray(part, dtype=float).tobytes() for part in parts]))
