"""MessageBlocks and FormBlocks: read the numbers of many messages at once, as long as their words are the same."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import serialize_message

from flexarm_nodes.messages.cdr import LITTLE_ENDIAN, message_reader
from flexarm_nodes.messages.form import Form, Template
from flexarm_nodes.messages.layout import Layout, layout_of

MOST = 1024  # messages of a block
KNOWN = 8  # words of a topic that are kept: they may come and go


class MessageBlock:
    """Messages of one type that differ in their numbers only.

    Attributes:
        rows: (k) the row that each belongs to.
        example: one of them; the words of all are its words.
        asked: fields whose numbers were asked for.
    """

    def __init__(self, rows: list[int], example: Any, layout: Layout, memory: NDArray[np.uint8]) -> None:
        """Read messages with this layout from their bytes (k, size)."""
        self.rows, self.example = rows, example
        self.asked: set[str] = set()
        self._layout, self._memory = layout, memory

    def numbers(self, field: str) -> NDArray[Any]:
        """Return the numbers (k, count) of a field, or of all fields below it."""
        self.asked.add(field)
        run = self._layout.run(field)
        part = self._memory[:, run.start : run.start + run.count * run.kind.itemsize]
        return np.ascontiguousarray(part).view(run.kind)


class StackedForms(MessageBlock):
    """Forms of one type with the same words, given as one whose numbers are those of all (k, count)."""

    def __init__(self, rows: list[int], form: Form) -> None:
        """Take the form and the rows (k) of the messages."""
        self.rows, self.example = rows, Form(form.kind, {}, form.words).message()
        self._numbers = form.numbers

    def numbers(self, field: str) -> NDArray[Any]:
        """Return the numbers (k, count) of a field that the form has."""
        return np.asarray(self._numbers[field])


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


@dataclass(slots=True)
class _Words:
    """Words that forms of a topic had, and memory for the numbers.

    Attributes:
        fields: where the memory has the numbers of each field that is read.
        learns: whether it is not known yet which are read.
    """

    template: Template
    example: Any
    memory: NDArray[np.uint8]
    fields: dict[str, NDArray[Any]]
    learns: bool = True


class FormBlocks:
    """Does the same with messages that are not sent: their numbers are written into the memory of a block.

    Numbers that ``take`` did not ask for in the first block with the same words are not written.
    """

    def __init__(self, take: Take) -> None:
        """Sort forms of a topic; ``take`` is called with every block."""
        self._take = take
        self._known: deque[_Words] = deque(maxlen=KNOWN)  # those in use first
        self._rows: list[int] = []

    def add(self, row: int, form: Form) -> None:
        """Add a form that belongs to a row."""
        known = self._known
        if not known or not known[0].template.fits(form):
            self.end()
            self._find(form)
        words, place, numbers = known[0], len(self._rows), form.numbers
        for name, field in words.fields.items():
            field[place] = numbers[name]
        self._rows.append(row)
        if words.learns or place == MOST - 1:
            self.end()

    def end(self) -> None:
        """Hand over the block that is not complete."""
        rows, self._rows = self._rows, []
        if rows:
            words = self._known[0]
            block = MessageBlock(rows, words.example, words.template.layout, words.memory[: len(rows)])
            self._take(block)
            if words.learns:
                words.learns = False
                words.fields = {
                    name: field
                    for name, field in words.fields.items()
                    if any(f"{one}.".startswith(f"{name}.") or name.startswith(f"{one}.") for one in block.asked)
                }

    def _find(self, form: Form) -> None:
        for words in self._known:
            if words.template.fits(form):
                self._known.remove(words)
                break
        else:
            template = Template(form)
            memory, fields = template.rows(MOST)
            words = _Words(template, form.message(), memory, dict(zip(form.numbers, fields, strict=True)))
        self._known.appendleft(words)
