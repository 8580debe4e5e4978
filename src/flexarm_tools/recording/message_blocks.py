"""MessageBlocks and FormBlocks: read the numbers of many messages with the same constant fields (words) at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import serialize_message

from flexarm_nodes.messages.cdr import LITTLE_ENDIAN, message_reader
from flexarm_nodes.messages.form import Form
from flexarm_nodes.messages.layout import Layout, layout_of

MOST = 1024  # messages of a block, and true states that are recorded at once
KNOWN = 8  # words of a topic that are kept: they may come and go


class MessageBlock:
    """Messages of one type that differ in their numbers only.

    Attributes:
        rows: (k) the row that each belongs to.
        example: one of them; the words of all are its words.
    """

    def __init__(self, rows: list[int], example: Any, layout: Layout, memory: NDArray[np.uint8]) -> None:
        """Read messages with this layout from their bytes (k, size)."""
        self.rows, self.example = rows, example
        self._layout, self._memory = layout, memory

    def numbers(self, field: str) -> NDArray[Any]:
        """Return the numbers (k, count) of a field, or of all fields below it."""
        run = self._layout.run(field)
        part = self._memory[:, run.start : run.start + run.count * run.kind.itemsize]
        return np.ascontiguousarray(part).view(run.kind)


class FormBlock(MessageBlock):
    """Messages that were not sent: the numbers of their forms, (k, ...) by field."""

    def __init__(self, rows: list[int], example: Any, layout: Layout, given: Callable[[str], Any]) -> None:
        """Read the numbers that ``given`` returns by field; None: they are zeros, as a message is made."""
        self.rows, self.example = rows, example
        self._layout, self._given = layout, given

    def numbers(self, field: str) -> NDArray[Any]:
        """Return the numbers (k, count) of a field that forms name."""
        run, given = self._layout.run(field), self._given(field)
        return np.zeros((len(self.rows), run.count), run.kind) if given is None else np.array(given, run.kind)


Take = Callable[[MessageBlock], None]


class MessageBlocks:
    """Sorts the messages of a topic into blocks, and hands each over when it is complete."""

    def __init__(self, kind: Any, take: Take) -> None:
        """Sort messages of this type; ``take`` is called with every block."""
        self._kind, self._take, self._read = kind, take, message_reader(kind)
        self._layout: Layout | None = None
        self._rows: list[int] = []
        self._raws: list[bytes] = []

    def add(self, row: int, raw: bytes) -> None:
        """Add the bytes of a message that belongs to a row.

        Raises:
            InputError: they are damaged.
        """
        if self._layout is None or not self._layout.fits(raw):
            example = self._read(raw)
            if raw[:2] != LITTLE_ENDIAN:  # another machine may send another byte order
                raw = serialize_message(example)
            layout = layout_of(self._kind, raw)
            self.end()
            self._layout, self._example = layout, example
        self._rows.append(row)
        self._raws.append(raw[: self._layout.size])
        if len(self._rows) == MOST:
            self.end()

    def end(self) -> None:
        """Hand over the block that is not complete."""
        if self._layout is not None and self._rows:
            memory = np.frombuffer(b"".join(self._raws), np.uint8).reshape(len(self._rows), self._layout.size)
            self._take(MessageBlock(self._rows, self._example, self._layout, memory))
            self._rows, self._raws = [], []


class FormBlocks:
    """Does the same with messages that are not sent. Numbers that ``take`` does not ask for are not read."""

    def __init__(self, take: Take) -> None:
        """Sort forms of a topic; ``take`` is called with every block."""
        self._take = take
        self._known: list[tuple[Form, Any, Layout]] = []  # forms and their messages: those in use first
        self._rows: list[int] = []
        self._forms: list[Form] = []

    def add(self, row: int, form: Form) -> None:
        """Add a form that belongs to a row; its numbers must not change any more."""
        if self._forms and (form.words != self._forms[0].words or len(self._forms) == MOST):
            self.end()
        self._rows.append(row)
        self._forms.append(form)

    def add_many(self, rows: list[int], example: Form, form: Form) -> None:
        """Add forms that belong to rows (k): one of them, and one with the numbers of all, (k, count)."""
        self._take(FormBlock(rows, *self._words(example), form.numbers.get))

    def end(self) -> None:
        """Hand over the block that is not complete."""
        rows, self._rows, forms, self._forms = self._rows, [], self._forms, []
        first, fields = 0, forms[0].fields() if forms else ()
        for end in range(1, len(forms) + 1):  # all have the same words
            if end == len(forms) or forms[end].fields() != fields:
                self._take_forms(rows[first:end], forms[first:end])
                first, fields = end, forms[end].fields() if end < len(forms) else ()

    def _take_forms(self, rows: list[int], forms: list[Form]) -> None:
        def given(field: str) -> Any:
            return [form.numbers[field] for form in forms] if field in forms[0].numbers else None

        self._take(FormBlock(rows, *self._words(forms[0]), given))

    def _words(self, form: Form) -> tuple[Any, Layout]:
        """Return a message with the words of a form, and its layout."""
        known = next((one for one in self._known if one[0].alike(form)), None)
        if known is None:
            message = form.message()
            known = form, message, layout_of(form.kind, serialize_message(message))
        self._known = [known, *(one for one in self._known if one is not known)][:KNOWN]
        return known[1:]
