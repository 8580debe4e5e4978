"""Layout: the offsets of the numbers of a message in its bytes (CDR, little endian), and its constant bytes (words).

The words (texts, and counts of sequences) fix the offsets of the numbers. Messages of one type with the same words
have their numbers at the same places, so that these are found once and read or written directly from then on.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from rosidl_parser.definition import Array, BasicType, NamespacedType, UnboundedSequence, UnboundedString

from flexarm_core.errors import InputError
from flexarm_nodes.messages.cdr import BODY, FORMATS, LITTLE_ENDIAN, kind_of, read_count, slots_of

HEADER = ("std_msgs", "msg"), "Header"


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive numbers of one type.

    Attributes:
        start: offset of the first one in the bytes.
        kind: NumPy type of each, little endian.
        count: how many there are.
    """

    start: int
    kind: np.dtype[Any]
    count: int

    def read(self, raw: bytes) -> Any:
        """Return the numbers (count,) of a message as an array of its own."""
        return np.frombuffer(raw, self.kind, self.count, self.start).copy()  # a view could not be written to


@dataclass(frozen=True, slots=True)
class Layout:
    """Places of the numbers of a message, and its words.

    Attributes:
        numbers: by field, as in ``wrench.force.x`` or ``position``.
        words: (begin, end, bytes) of each stretch without numbers and padding.
        stamped: whether the message begins with a header.
        size: length of the message in bytes.
    """

    numbers: Mapping[str, Run]
    words: tuple[tuple[int, int, bytes], ...]
    stamped: bool
    size: int

    def fits(self, raw: bytes) -> bool:
        """Return whether a message of the same type has the same words, and so its numbers at the same places."""
        if len(raw) < self.size or raw[:2] != LITTLE_ENDIAN:
            return False
        for begin, end, word in self.words:  # noqa: SIM110 - all() takes twice as long
            if raw[begin:end] != word:
                return False
        return True

    def run(self, field: str) -> Run:
        """Return the numbers of a field, or of all fields below it.

        Raises:
            InputError: there are none, or they are not consecutive numbers of one type.
        """
        if field in self.numbers:
            return self.numbers[field]
        parts = [run for name, run in self.numbers.items() if name.startswith(f"{field}.")]
        if not parts:
            raise InputError(f"no numbers are in '{field}'")
        first, end = parts[0], parts[0].start
        for part in parts:
            if (part.kind, part.start) != (first.kind, end):
                raise InputError(f"the numbers of '{field}' are not of one type and consecutive")
            end += part.kind.itemsize * part.count
        return Run(first.start, first.kind, sum(part.count for part in parts))


def layout_of(kind: Any, raw: bytes) -> Layout:
    """Return the layout of a message of this type.

    Raises:
        InputError: the message has another byte order, is too short, or its type has fields of an unknown kind.
    """
    if raw[:2] != LITTLE_ENDIAN:
        raise InputError(f"{kind.__name__} is not little endian")
    walk = _Walk(raw)
    walk.over_kind(kind, "")
    if walk.place > len(raw):
        raise InputError(f"{kind.__name__} is cut short")
    words = tuple((begin, end, raw[begin:end]) for begin, end in walk.words)
    first = kind.SLOT_TYPES[0]
    stamped = isinstance(first, NamespacedType) and (tuple(first.namespaces), first.name) == HEADER
    return Layout(walk.numbers, words, stamped, walk.place)


class _Walk:
    """Goes over the fields of a message in the order of its bytes."""

    def __init__(self, raw: bytes) -> None:
        self._raw, self.place = raw, BODY
        self.numbers: dict[str, Run] = {}
        self.words: list[tuple[int, int]] = []

    def over_kind(self, kind: Any, path: str) -> None:
        for slot, part in zip(slots_of(kind), kind.SLOT_TYPES, strict=True):
            name = slot.removeprefix("_")
            self._over(part, f"{path}.{name}" if path else name)

    def _over(self, part: Any, path: str) -> None:
        if isinstance(part, NamespacedType):
            self.over_kind(kind_of(part), path)
        elif isinstance(part, UnboundedString):
            self._word(self._count())
        elif isinstance(part, BasicType):
            self._over_numbers(part, 1, path)
        elif isinstance(part, UnboundedSequence):
            self._over_values(part.value_type, self._count(), path)
        elif isinstance(part, Array):
            self._over_values(part.value_type, part.size, path)
        else:
            raise InputError(f"field '{path}' has a type that is not known here")

    def _over_values(self, part: Any, count: int, path: str) -> None:
        if isinstance(part, BasicType):
            self._over_numbers(part, count, path)
            return
        for i in range(count):
            self._over(part, f"{path}[{i}]")

    def _over_numbers(self, part: Any, count: int, path: str) -> None:
        code = FORMATS.get(part.typename)
        if code is None:
            raise InputError(f"field '{path}' has a type that is not known here")
        kind = np.dtype("u1" if code == "c" else code)
        if count:  # an empty sequence has no padding
            self.place += -(self.place - BODY) % kind.itemsize
        self.numbers[path] = Run(self.place, kind, count)
        self.place += kind.itemsize * count

    def _count(self) -> int:
        try:
            count, self.place = read_count(self._raw, self.place)
        except struct.error as error:
            raise InputError("the message is cut short") from error
        if count > len(self._raw):
            raise InputError("the message is cut short")
        self._keep(self.place - 4, self.place)
        return count

    def _word(self, length: int) -> None:
        self._keep(self.place, self.place + length)
        self.place += length

    def _keep(self, begin: int, end: int) -> None:
        if self.words and self.words[-1][1] == begin:
            begin = self.words.pop()[0]
        self.words.append((begin, end))


class FlatReader:
    """Reads fields of messages of one type, as long as they have the words of the learned message."""

    def __init__(self, kind: Any, *fields: str) -> None:
        """Read these fields; numbers below a field count as its own."""
        self._kind, self._fields = kind, fields
        self._layout: Layout | None = None
        self._runs: list[Run] = []

    def read(self, raw: bytes) -> list[Any] | None:
        """Return the numbers of each field as an array of its own; None: other words, or no learned message."""
        if self._layout is None or not self._layout.fits(raw):
            return None
        return [run.read(raw) for run in self._runs]

    def forget(self) -> None:
        """Discard the learned words."""
        self._layout = None

    def learn(self, raw: bytes) -> None:
        """Learn the words of a usable message; others with the same words are usable, too, apart from their numbers."""
        try:
            layout = layout_of(self._kind, raw)
            self._runs = [layout.run(field) for field in self._fields]
            self._layout = layout
        except InputError:
            self._layout = None  # read in the general way
