"""MessageBlocks: reads the numbers of many messages at once, as long as their words are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import serialize_message

from flexarm_nodes.messages.cdr import LITTLE_ENDIAN, message_reader
from flexarm_nodes.messages.layout import Layout, layout_of

MOST = 1024  # messages of a block


class MessageBlock:
    """Messages of one type that differ in their numbers only.

    Attributes:
        example: the first of them; the words of all are its words.
        rows: (k) the row that each belongs to.
    """

    def __init__(self, layout: Layout, example: Any) -> None:
        """Begin without a row."""
        self.example = example
        self.rows: list[int] = []
        self._layout = layout
        self._raws: list[bytes] = []
        self._joined: NDArray[np.uint8] | None = None

    def add(self, row: int, raw: bytes) -> bool:
        """Add the bytes of a message; return False if it has other words, or the block is full."""
        if not self._layout.fits(raw) or len(self.rows) >= MOST:
            return False
        self.rows.append(row)
        self._raws.append(raw)
        return True

    def numbers(self, field: str) -> NDArray[Any]:
        """Return the numbers (k, count) of a field, or of all fields below it."""
        run, size = self._layout.run(field), self._layout.size
        if self._joined is None:
            joined = b"".join(raw[:size] for raw in self._raws)
            self._joined = np.frombuffer(joined, np.uint8).reshape(len(self.rows), size)
        part = self._joined[:, run.start : run.start + run.count * run.kind.itemsize]
        return np.ascontiguousarray(part).view(run.kind)


class MessageBlocks:
    """Sorts the messages of a topic into blocks, and hands each over when it is complete."""

    def __init__(self, kind: Any, take: Callable[[MessageBlock], None]) -> None:
        """Sort messages of this type; ``take`` is called with every block."""
        self._kind, self._take, self._read = kind, take, message_reader(kind)
        self._block: MessageBlock | None = None

    def add(self, row: int, raw: bytes) -> None:
        """Add the bytes of a message that belongs to a row.

        Raises:
            InputError: they are damaged.
        """
        if self._block is not None and self._block.add(row, raw):
            return
        example = self._read(raw)
        if raw[:2] != LITTLE_ENDIAN:  # another machine may send another byte order
            raw = serialize_message(example)
        block = MessageBlock(layout_of(self._kind, raw), example)
        self.end()
        block.add(row, raw)
        self._block = block

    def end(self) -> None:
        """Hand over the block that is not complete."""
        if self._block is not None:
            self._take(self._block)
            self._block = None
