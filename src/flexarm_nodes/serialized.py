"""Joint states and sensors' readings straight from the bytes of their messages: CDR, as the middleware gives them.

Its objects cost a reader some 15 us a message, their bytes 2; a tick of a control loop reads five and more.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Imu, JointState

from flexarm.msg import StrainState
from flexarm_core.errors import InputError
from flexarm_core.types import Array

BODY = 4  # bytes of the encapsulation, from whose end alignment counts
LITTLE_ENDIAN = b"\x00\x01"
_STAMP = struct.Struct("<iI")
_COUNT = struct.Struct("<I")
# doubles of an Imu after its header: orientation 4, covariance 9, angular velocity 3, covariance 9, linear acceleration
_TURN, _FORCE = slice(13, 16), slice(25, 28)


class Reading(NamedTuple):
    """A sensor's message.

    Attributes:
        stamp: [ns].
        frame: it is given in.
        values: (6,) of a wrench or an IMU, strain by gauge.
    """

    stamp: int
    frame: str
    values: Any


class Joints(NamedTuple):
    """A joint state; arrays are of the length that the message gave them.

    Attributes:
        stamp: [ns].
        names: of the joints.
        position: [rad | m].
        velocity: [rad/s | m/s].
        effort: [N*m | N].
    """

    stamp: int
    names: list[str]
    position: Array
    velocity: Array
    effort: Array


def read_wrench(raw: bytes) -> Reading:
    """``[f; n]`` of a WrenchStamped.

    Raises:
        InputError: these are not its bytes; likewise for the next three.
    """
    return _read(raw, WrenchStamped, lambda raw, place: _doubles(raw, place, 6))


def read_imu(raw: bytes) -> Reading:
    """``[specific force; angular velocity]`` of an Imu."""

    def values(raw: bytes, place: int) -> Array:
        numbers = _doubles(raw, place, 37)
        return np.concatenate((numbers[_FORCE], numbers[_TURN]))

    return _read(raw, Imu, values)


def read_strain(raw: bytes) -> Reading:
    """Strain by gauge of a StrainState, as it is read: NaN stays NaN."""

    def values(raw: bytes, place: int) -> dict[str, float]:
        names, place = _texts(raw, place)
        strain, _ = _sequence(raw, place)
        if len(strain) != len(names) or len(set(names)) != len(names):
            raise InputError(f"strain state has {len(strain)} strains, and names {', '.join(names)}")
        return dict(zip(names, strain.tolist(), strict=True))

    return _read(raw, StrainState, values)


class JointsReader:
    """Reads joint states; names that are those of the message before are not read again."""

    def __init__(self) -> None:
        """Nothing has been read."""
        self._before, self._names = b"", [""]

    def __call__(self, raw: bytes) -> Joints:
        """A JointState."""
        raw = _little_endian(raw, JointState)
        try:
            begin, before = BODY + _STAMP.size, self._before
            if not before or raw[begin : begin + len(before)] != before:
                _, place = _text(raw, begin)
                self._names, place = _texts(raw, place)
                self._before = before = raw[begin:place]
            position, place = _sequence(raw, begin + len(before))
            velocity, place = _sequence(raw, place)
            effort, _ = _sequence(raw, place)
            return Joints(_stamp(raw), self._names, position, velocity, effort)
        except (struct.error, ValueError) as error:
            self._before = b""
            raise InputError(f"joint state cannot be read: {error}") from error


def _read(raw: bytes, kind: Any, values: Callable[[bytes, int], Any]) -> Reading:
    raw = _little_endian(raw, kind)
    try:
        frame, place = _text(raw, BODY + _STAMP.size)
        return Reading(_stamp(raw), frame, values(raw, place))
    except (struct.error, ValueError) as error:
        raise InputError(f"{kind.__name__} cannot be read: {error}") from error


def _little_endian(raw: bytes, kind: Any) -> bytes:
    """The message as this machine writes it: another may send its own order of bytes."""
    return raw if raw[:2] == LITTLE_ENDIAN else serialize_message(deserialize_message(raw, kind))


def _stamp(raw: bytes) -> int:
    seconds, nanoseconds = _STAMP.unpack_from(raw, BODY)
    return int(seconds) * 1_000_000_000 + int(nanoseconds)


def _text(raw: bytes, place: int) -> tuple[str, int]:
    """A text, and where what follows begins."""
    place += -(place - BODY) % 4
    end = place + 4 + _COUNT.unpack_from(raw, place)[0]
    return raw[place + 4 : end - 1].decode(), end


def _texts(raw: bytes, place: int) -> tuple[list[str], int]:
    place += -(place - BODY) % 4
    count, texts = _COUNT.unpack_from(raw, place)[0], []
    place += 4
    for _ in range(count):
        text, place = _text(raw, place)
        texts.append(text)
    return texts, place


def _sequence(raw: bytes, place: int) -> tuple[Array, int]:
    """A sequence of doubles, and where what follows begins; an empty one is not padded."""
    place += -(place - BODY) % 4
    count = _COUNT.unpack_from(raw, place)[0]
    place += 4
    if not count:
        return np.zeros(0), place
    place += -(place - BODY) % 8
    return np.frombuffer(raw, "<f8", count, place), place + 8 * count


def _doubles(raw: bytes, place: int, count: int) -> Array:
    return np.frombuffer(raw, "<f8", count, place + -(place - BODY) % 8).copy()
