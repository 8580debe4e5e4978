"""Form: field values of a message, as constants (words) and numbers; Template: its bytes, for writing numbers into."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message, serialize_message

from flexarm_core.errors import InputError
from flexarm_core.records import quick
from flexarm_nodes.messages.cdr import BODY, slots_of
from flexarm_nodes.messages.layout import Layout, layout_of

AHEAD = 4  # bytes in front of a message, so that its numbers, which are aligned from BODY on, are aligned in memory
_STAMP = struct.Struct("<iI")
SECOND = 1_000_000_000  # [ns]
Numbers = Sequence[Any] | np.ndarray[Any, Any]


@quick
@dataclass(frozen=True, slots=True)
class Form:
    """Field values of a message.

    Attributes:
        kind: message type.
        numbers: by field as in ``wrench`` or ``pose.position``, the numbers of the field and of all below it, in their
            order; every one a sequence, also that of a single number.
        words: all other fields, by name as in ``header.frame_id``; fields in neither keep their defaults.
        stamp: of the header [ns]; None: the message has no header.
    """

    kind: Any
    numbers: Mapping[str, Numbers]
    words: Mapping[str, Any] = field(default_factory=dict)
    stamp: int | None = None

    def message(self) -> Any:
        """Return the message."""
        message = self.kind()
        for name, value in self.words.items():
            _set(message, name, value)
        return self.write(message)

    def fields(self) -> tuple[Any, ...]:
        """Return the names of the fields with numbers, and their sizes."""
        return *self.numbers, *map(len, self.numbers.values())

    def alike(self, other: Form) -> bool:
        """Return whether another form has the same fields, of the same sizes, and the same words."""
        return self.words == other.words and self.fields() == other.fields()

    def write(self, message: Any) -> Any:
        """Write stamp and numbers into a message with the same words, and return it."""
        if self.stamp is not None:
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(self.stamp, SECOND)
        for name, values in self.numbers.items():
            _set(message, name, values)
        return message


class Template:
    """The bytes of messages with the same words as the first; numbers are written into them.

    Attributes:
        layout: where the numbers are.
    """

    def __init__(self, form: Form) -> None:
        """Serialize a message, and find its numbers.

        Raises:
            InputError: they cannot be found, or a message with other numbers would differ from its serialization.
        """
        raw = serialize_message(form.message())
        layout = layout_of(form.kind, raw)
        raw = raw[: layout.size]  # behind it is what the middleware had estimated and did not use
        if layout.stamped != (form.stamp is not None):
            raise InputError(f"{form.kind.__name__} needs a stamp exactly if it has a header")
        self.layout = layout
        self._words = dict(form.words)
        self._memory = bytearray(AHEAD) + raw
        self._raw = memoryview(self._memory)[AHEAD:]
        runs = [layout.run(name) for name in form.numbers]
        self._views = [np.frombuffer(self._memory, run.kind, run.count, AHEAD + run.start) for run in runs]
        self._fields = *form.numbers, *(run.count for run in runs)
        self._check(form, layout)

    def fits(self, form: Form) -> bool:
        """Return whether a form has the same fields, of the same sizes, and the same words."""
        return form.words == self._words and form.fields() == self._fields

    def write(self, form: Form) -> bytes:
        """Return the bytes of a form that fits."""
        stamp = form.stamp
        if stamp is not None:
            _STAMP.pack_into(self._memory, AHEAD + BODY, *divmod(stamp, SECOND))
        for view, values in zip(self._views, form.numbers.values()):  # noqa: B905 - fits() has compared the lengths
            view[:] = values
        return self._raw.tobytes()

    def _check(self, form: Form, layout: Layout) -> None:
        """Compare the bytes for other numbers, all of them different, with those of their own serialization."""
        probes, begin = {}, 1
        for name, view in zip(form.numbers, self._views, strict=True):
            probes[name] = (np.arange(begin, begin + len(view)) % 100).astype(view.dtype)
            begin += len(view)
        stamp = None if form.stamp is None else form.stamp + 2 * SECOND + 1
        raw = self.write(Form(form.kind, probes, form.words, stamp))
        other = serialize_message(deserialize_message(raw, form.kind))
        again = layout_of(form.kind, other)
        if again != layout or any(
            run.read(raw).tobytes() != run.read(other).tobytes() for run in again.numbers.values()
        ):
            raise InputError(f"{form.kind.__name__} is not laid out as expected")


class FormWriter:
    """Writes the forms of a topic as bytes: into those of the form before, where only its numbers are new."""

    def __init__(self) -> None:
        """Know no form yet."""
        self._template: Template | None = None
        self._before: Form | None = None  # the newest form, if there is no template for it
        self._plain = False  # messages of this type cannot be prepared

    def write(self, form: Form) -> bytes:
        """Return the bytes of a form."""
        if self._template is not None and self._template.fits(form):
            return self._template.write(form)
        before, self._before = self._before, form
        if not self._plain and before is not None and before.alike(form):
            try:
                self._template = Template(form)
            except InputError:
                self._plain = True
        raw: bytes = serialize_message(form.message())
        return raw


def _set(message: Any, path: str, value: Any) -> None:
    """Set a field, or all fields below it in their order."""
    above, _, name = path.rpartition(".")
    owner = attrgetter(above)(message) if above else message
    before = getattr(owner, name)
    if hasattr(before, "SLOT_TYPES"):
        if _fill(before, list(value)):
            raise InputError(f"too many numbers for '{path}'")
    elif isinstance(before, array):
        setattr(owner, name, array(before.typecode, np.asarray(value, before.typecode).tobytes()))
    elif isinstance(before, np.ndarray):
        setattr(owner, name, np.asarray(value, before.dtype))
    elif isinstance(before, list):
        setattr(owner, name, value.tolist() if isinstance(value, np.ndarray) else list(value))
    elif isinstance(before, str):
        setattr(owner, name, value)
    else:
        (single,) = value if isinstance(value, Sequence | np.ndarray) else (value,)
        setattr(owner, name, type(before)(single))


def _fill(message: Any, values: list[Any]) -> list[Any]:
    """Take the fields of a message from values; return what is left."""
    for slot in slots_of(type(message)):
        before = getattr(message, slot)
        if hasattr(before, "SLOT_TYPES"):
            values = _fill(before, values)
        elif isinstance(before, np.ndarray):
            setattr(message, slot, np.asarray(values[: len(before)], before.dtype))
            values = values[len(before) :]
        else:
            setattr(message, slot, type(before)(values.pop(0)))
    return values
