"""Deserialize messages of any type from their bytes as the middleware delivers them: CDR, little endian.

rclpy deserializes through the constructor and setters of every field, which is too slow for a real-time loop. Here
messages are built from the field layout that each message type declares (``SLOT_TYPES``).
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message
from rosidl_parser.definition import Array, BasicType, NamespacedType, UnboundedSequence, UnboundedString

from flexarm_core.errors import MOST_QUOTED, InputError

LITTLE_ENDIAN = b"\x00\x01"  # first bytes of a little-endian CDR message
BODY = 4  # offset of the body, from which alignment is counted
FORMATS = {
    "boolean": "?", "octet": "c", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I",
    "int64": "q", "uint64": "Q", "float": "f", "double": "d",
}  # fmt: skip
_COUNT = struct.Struct("<I")
_STAMP = struct.Struct(">iI"), struct.Struct("<iI")  # second byte odd: little endian

Read = Callable[[bytes, int], tuple[Any, int]]  # (bytes, offset of the value) -> (value, offset of the next value)


def stamp_of(raw: bytes) -> int:
    """Return the stamp [ns] of a message with a header, without reading anything else.

    Raises:
        InputError: the message is too short to have a stamp.
    """
    try:
        seconds, nanoseconds = _STAMP[raw[1] & 1].unpack_from(raw, BODY)
    except (struct.error, IndexError) as error:
        raise InputError(f"a message of {len(raw)} bytes has no stamp") from error
    return int(seconds) * 1_000_000_000 + int(nanoseconds)


def message_reader(kind: Any) -> Callable[[bytes], Any]:
    """Return a function that deserializes messages of one type.

    Raises:
        InputError: raised by the returned function if the bytes do not fit the message type.
    """
    read: Read | None
    try:
        read = _of_kind(kind)
    except _UnknownTypeError:
        read = None

    def call(raw: bytes) -> Any:
        try:
            if read is None or raw[:2] != LITTLE_ENDIAN:  # another machine may send another byte order
                return deserialize_message(raw, kind)
            return read(raw, BODY)[0]
        except Exception as error:  # RMWError of the middleware; struct, array and text raise others
            reason = " ".join(str(error).split())[:MOST_QUOTED] or type(error).__name__
            raise InputError(f"{kind.__name__} cannot be read: {reason}") from error

    return call


class _UnknownTypeError(Exception):
    """A field type that this module cannot read."""


def _of_kind(kind: Any) -> Read:
    fields = [(slot, _of_type(part)) for slot, part in zip(slots_of(kind), kind.SLOT_TYPES, strict=True)]
    new, formats = kind.__new__, _formats(kind)
    if formats:
        slots, numbers = slots_of(kind), struct.Struct("<" + "".join(formats))
        size = struct.calcsize(formats[0])

        def read_numbers(raw: bytes, place: int) -> tuple[Any, int]:
            place += -(place - BODY) % size
            message = new(kind)
            message._check_fields = False
            for slot, value in zip(slots, numbers.unpack_from(raw, place)):  # noqa: B905
                setattr(message, slot, value)
            return message, place + numbers.size

        return read_numbers

    def read(raw: bytes, place: int) -> tuple[Any, int]:
        message = new(kind)
        message._check_fields = False
        for slot, read_field in fields:
            value, place = read_field(raw, place)
            setattr(message, slot, value)
        return message, place

    return read


def _of_type(part: Any) -> Read:
    if isinstance(part, NamespacedType):
        return _of_kind(kind_of(part))
    if isinstance(part, UnboundedString):
        return read_text
    if isinstance(part, BasicType) and part.typename in FORMATS:
        return _number_reader(FORMATS[part.typename])
    if isinstance(part, UnboundedSequence):
        if isinstance(part.value_type, UnboundedString):
            return _texts_reader()
        return _of_sequence(part.value_type, None)
    if isinstance(part, Array):
        return _of_sequence(part.value_type, part.size)
    raise _UnknownTypeError


def _of_sequence(part: Any, size: int | None) -> Read:
    """Return a reader of consecutive values, preceded by their count if the size is not fixed."""
    code = FORMATS.get(part.typename, "c") if isinstance(part, BasicType) else "c"
    if code not in "?c":
        return _numbers_reader(code, size)
    read_value = _of_type(part)

    def read(raw: bytes, place: int) -> tuple[list[Any], int]:
        count, values = size, []
        if count is None:
            count, place = read_count(raw, place)
        for _ in range(count):
            value, place = read_value(raw, place)
            values.append(value)
        return values, place

    return read


def slots_of(kind: Any) -> list[str]:
    """Return the names of the attributes that hold the fields of a message type."""
    return [slot for slot in kind.__slots__ if slot != "_check_fields"]


def unchecked(kind: Any, /, **values: Any) -> Any:
    """Return a message with the given fields only; defaults and checks, which cost most, are skipped."""
    message = kind.__new__(kind)
    message._check_fields = False
    for name, value in values.items():
        setattr(message, f"_{name}", value)
    return message


def kind_of(part: NamespacedType) -> Any:
    """Return the message type of a field."""
    module, name = import_module(".".join(part.namespaces)), part.name
    if hasattr(module, name):
        return getattr(module, name)
    action, _, role = name.rpartition("_")  # the goal of an action is an attribute of it
    return getattr(getattr(module, action), role)


def _formats(kind: Any) -> list[str]:
    """Return the struct formats of a message's fields if all are numbers of the same size, else an empty list."""
    formats = [FORMATS.get(part.typename, "") if isinstance(part, BasicType) else "" for part in kind.SLOT_TYPES]
    return formats if all(formats) and len({struct.calcsize(code) for code in formats}) == 1 else []


def read_count(raw: bytes, place: int) -> tuple[int, int]:
    """Return the count at an offset, and the offset behind it."""
    place += -(place - BODY) % 4
    return _COUNT.unpack_from(raw, place)[0], place + 4


def read_text(raw: bytes, place: int) -> tuple[str, int]:
    """Return the text at an offset, and the offset behind it; ValueError: it does not fit into the message."""
    place += -(place - BODY) % 4
    end = place + 4 + _COUNT.unpack_from(raw, place)[0]
    if end > len(raw):
        raise ValueError("a text does not fit")
    return raw[place + 4 : end - 1].decode(), end


def _texts_reader() -> Read:
    """Return a reader of string lists; lists that do not change between messages are not decoded again."""
    before, known = b"", [""]

    def read(raw: bytes, place: int) -> tuple[list[str], int]:
        nonlocal before, known
        place += -(place - BODY) % 4
        end = place + len(before)
        if before and raw[place:end] == before:
            return known.copy(), end
        begin = place
        count, place = read_count(raw, place)
        texts = []
        for _ in range(count):
            text, place = read_text(raw, place)
            texts.append(text)
        before, known = raw[begin:place], texts
        return texts.copy(), place

    return read


def _number_reader(code: str) -> Read:
    number = struct.Struct("<" + code)
    size, unpack = number.size, number.unpack_from

    def read(raw: bytes, place: int) -> tuple[Any, int]:
        place += -(place - BODY) % size
        return unpack(raw, place)[0], place + size

    return read


def _numbers_reader(code: str, count: int | None) -> Read:
    size, kind = struct.calcsize(code), np.dtype(code)

    def read(raw: bytes, place: int) -> tuple[Any, int]:
        number = count
        if number is None:
            number, place = read_count(raw, place)
            if not number:
                return array(code), place  # an empty sequence has no padding
        place += -(place - BODY) % size
        end = place + size * number
        if end > len(raw):
            raise ValueError(f"{number} numbers do not fit")
        values = raw[place:end]
        return (np.frombuffer(values, kind).copy() if count is not None else array(code, values)), end

    return read
