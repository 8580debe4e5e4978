"""Conversion between messages and core records; only this package uses both."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from functools import cache
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
from flexarm_nodes.messages.foreign_joints import are_foreign
from flexarm_nodes.messages.form import Form, Numbers
from flexarm_sim.backend import PlantState
from flexarm_sim.measurement import JointReading

NO_VELOCITY = (
    "joint state has no velocity, and positions give none: it is the first one behind a gap, its stamp is not newer, or"
    " velocity_window is 0"
)
LARGEST_VALUE = 1e9  # [rad | m], [rad/s | m/s], [N*m | N]
_JOINT_REFERENCE_FIELDS = ("position", "velocity", "acceleration", "effort", "friction")


def stamp_to_nanoseconds(stamp: Time) -> int:
    """Return the stamp of a message [ns]."""
    return stamp.sec * 1_000_000_000 + stamp.nanosec


def nanoseconds_to_stamp(nanoseconds: int) -> Time:
    """Return the message stamp of a time [ns]."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return Time(sec=seconds, nanosec=rest)


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
    """Return the unit quaternion of a rotation matrix (3, 3), as a message."""
    x, y, z, w = quaternion_of(rotation)
    return Quaternion(x=x, y=y, z=z, w=w)


def quaternion_of(rotation: Array) -> tuple[float, float, float, float]:
    """Return x, y, z, w of the unit quaternion of a rotation matrix, from its largest component (Shepperd 1978)."""
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


class Orientation(Sequence[float]):
    """Numbers x, y, z, w of the unit quaternion of a rotation matrix (..., 3, 3), computed when they are read."""

    __slots__ = ("_rotation",)

    def __init__(self, rotation: Array) -> None:
        """Take a rotation matrix, which must not change before the numbers are read."""
        self._rotation = rotation

    def __len__(self) -> int:
        return 4

    def __getitem__(self, place: Any) -> Any:
        return quaternion_of(self._rotation)[place]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        several = self._rotation.ndim > 2
        return np.array([*map(quaternion_of, self._rotation)] if several else quaternion_of(self._rotation), dtype)


def check_values(field: str, values: Array, names: Sequence[str]) -> None:
    """Reject a field of a joint state whose values (k,) are not all finite, or are larger than any can be.

    Raises:
        InputError: names the joints whose values are not finite, or too large.
    """
    numbers = values.tolist()
    if all(-LARGEST_VALUE <= value <= LARGEST_VALUE for value in numbers):
        return
    given = dict(zip(names, numbers, strict=True))
    if bad := [name for name, value in given.items() if not math.isfinite(value)]:
        raise InputError(f"joint state {field} of {', '.join(bad)} is not finite")
    absurd = [f"{name} is {value:.3g}" for name, value in given.items() if abs(value) > LARGEST_VALUE]
    raise InputError(f"joint state {field} of {', '.join(absurd)}: no joint has that; is it a number never set?")


class JointStateSelector:
    """Selects named joints from JointState messages, independent of their order."""

    def __init__(self, names: Sequence[str]) -> None:
        """Select these joints, in this order."""
        self._names = tuple(names)
        self._seen: list[str] | None = None
        self._index = np.zeros(len(names), dtype=int)

    def __call__(self, message: JointState) -> tuple[Array, Array] | None:
        """Return positions and velocities (k,) of the selected joints; None: the message is of others' joints.

        It raises the same errors as :meth:`select`.
        """
        if message.name != self._seen and are_foreign(message.name, self._names):
            return None
        return self.select(message.name, np.array(message.position), np.array(message.velocity))

    def select(self, names: list[str], position: Array, velocity: Array) -> tuple[Array, Array]:
        """Return positions and velocities (k,) of the selected joints.

        Raises:
            InputError: a selected joint is missing or named twice, an array does not have one value per name, or a
                number of a selected joint is not finite.
        """
        if names != self._seen:
            self._learn(names)
        if names and not velocity.size:
            raise InputError(NO_VELOCITY)
        for field, value in (("position", position), ("velocity", velocity)):
            if value.size != len(names):
                raise InputError(f"joint state has {len(names)} names and {value.size} {field} values")
        position, velocity = position[self._index], velocity[self._index]
        for field, value in (("position", position), ("velocity", velocity)):
            check_values(field, value, self._names)
        return position, velocity

    def _learn(self, names: Sequence[str]) -> None:
        places: dict[str, int] = {}
        for place, name in enumerate(names):
            if name in places and name in self._names:
                raise InputError(f"joint state names '{name}' twice")
            places[name] = place
        missing = [name for name in self._names if name not in places]
        if missing:
            part = "" if len(missing) == len(self._names) else " (join_joint_states joins parts of several publishers)"
            raise InputError(f"joint state lacks {', '.join(missing)}; it has {', '.join(names) or 'no joint'}{part}")
        self._index = np.array([places[name] for name in self._names], dtype=int)
        self._seen = list(names)


def joint_reference_form(reference: JointReference, names: Sequence[str]) -> Form:
    """Return the message of a JointReference record; fields that it does not give are empty."""
    given = {field: getattr(reference, field) for field in _JOINT_REFERENCE_FIELDS}
    numbers: dict[str, Numbers] = {field: () if value is None else value for field, value in given.items()}
    return Form(JointReferenceMessage, numbers, {"names": tuple(names)}, reference.stamp)


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


def cartesian_reference_form(reference: CartesianReference, tool_frame: str) -> Form:
    """Return the message of a CartesianReference record."""
    numbers: dict[str, Numbers] = {
        "pose.position": reference.position,
        "pose.orientation": Orientation(reference.rotation),
        "twist": reference.velocity,
        "accel.linear": reference.acceleration[:3],
        "accel.angular": reference.acceleration[3:],
        "axes": np.asarray(reference.axes, dtype=bool),
    }
    words = {"header.frame_id": reference.frame, "tool_frame": tool_frame}
    return Form(CartesianReferenceMessage, numbers, words, reference.stamp)


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


def base_reaction_form(reaction: BaseReaction, base_frame: str, elastic_joints: Sequence[str]) -> Form:
    """Return the message of a BaseReaction record."""
    numbers: dict[str, Numbers] = {
        "wrench": reaction.wrench_on_base_in_base,
        "reaction": reaction.reaction,
        "coupling_momentum": reaction.coupling_momentum,
        "coupling_singular_values": reaction.coupling_singular_values,
        "rank": (reaction.rank,),
        "smallest_coupling_singular_value": (reaction.coupling_singular_values[-1],),
        "smallest_restricted_singular_value": (reaction.smallest_restricted_singular_value,),
        "damping": (reaction.damping,),
        "vibration_damping": (reaction.vibration_damping,),
    }
    words = {"header.frame_id": base_frame, "elastic_joints": tuple(elastic_joints)}
    return Form(BaseReactionMessage, numbers, words, reaction.stamp)


def _spatial(linear: Vector3, angular: Vector3) -> Array:
    return np.array([linear.x, linear.y, linear.z, angular.x, angular.y, angular.z])


def joint_readings_form(stamp: int, readings: Iterable[JointReading | None], *, rates: bool = True) -> Form:
    """Return the joint state of measured joints; its arrays stay empty if no joint is measured.

    Args:
        stamp: stamp [ns].
        readings: readings, None for one that dropped out.
        rates: whether it has velocities.
    """
    there = [reading for reading in readings if reading is not None]
    numbers: dict[str, Numbers] = dict(zip(("position", "velocity", "effort"), joint_numbers(there), strict=True))
    if not rates:
        numbers["velocity"] = ()
    return Form(JointState, numbers, {"name": tuple(name for one in there for name in one.names)}, stamp)


def joint_numbers(readings: Sequence[JointReading]) -> list[Array]:
    """Return positions, velocities and efforts of measured joints, an effort that is not known as NaN."""
    return [
        _joined([reading.position for reading in readings]),
        _joined([reading.velocity for reading in readings]),
        _joined([_unknown(len(one.names)) if one.effort is None else one.effort for one in readings]),
    ]


def true_joints_form(stamp: int, state: PlantState, names: tuple[str, ...]) -> Form:
    """Return the joint state of one true state, or of many stacked; elastic joints have no motor effort (0)."""
    numbers = {
        "position": _joined((state.position, state.deflection)),
        "velocity": _joined((state.velocity, state.deflection_rate)),
        "effort": _joined((state.effort, np.zeros_like(state.deflection))),
    }
    return Form(JointState, numbers, {"name": names}, stamp)


def pose_form(stamp: int, frame: str, position: Array, rotation: Array) -> Form:
    """Return the PoseStamped of a position (3,) and a rotation (3, 3)."""
    numbers: dict[str, Numbers] = {"pose.position": position, "pose.orientation": Orientation(rotation)}
    return Form(PoseStamped, numbers, {"header.frame_id": frame}, stamp)


def wrench_form(stamp: int, frame: str, wrench: Array) -> Form:
    """Return the WrenchStamped of ``[f; n]`` (6,)."""
    return Form(WrenchStamped, {"wrench": wrench}, {"header.frame_id": frame}, stamp)


@cache
def _unknown(count: int) -> Array:
    return np.full(count, np.nan)


def _joined(parts: Sequence[Array]) -> Array:
    return np.concatenate(parts, axis=-1) if parts else np.zeros(0)
