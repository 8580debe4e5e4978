"""Grid points and DMIG of a binary file of Nastran (``.op2``), as ``EXTSEOUT(STIFFNESS, MASS, DMIGOP2=20)`` writes it.

The file is a row of Fortran records: each has its length before and after it. A record of one word is a marker. A table
begins with a marker 2 and a name of 8 letters, and holds logical records -1, -2, -3, ...; each is a row of pieces, each
after the number of its words, and a marker 0 in place of a record ends the table. The DMIG (114, 1, 120) of an external
superelement are all called EXTDB: a table of contents, XSOP2DIR, the first of the file, distinguishes them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from flexarm_core.errors import InputError

DMIG = (114, 1, 120)
GRIDS = {(4501, 45, 1120001): "2i3d3i", (4501, 45, 1): "2i3f3i"}  # number, system, x, y, z, system, held, superelement
BOUNDARY = {"MATK": "K", "MATM": "M"}  # of an external superelement; its other matrices are not needed
Term = tuple[int, int, int, int]  # row: grid point, direction; column: grid point, direction


@dataclass
class Op2:
    """Content of the file.

    Attributes:
        grids: position of each grid point, and the numbers of the two coordinate systems of this and of its motion.
        matrices: terms of each DMIG by its name.
    """

    grids: dict[int, tuple[list[float], int, int]] = field(default_factory=dict)
    matrices: dict[str, dict[Term, float]] = field(default_factory=dict)


class _Words:
    """Markers and pieces of a file, one after the other."""

    def __init__(self, data: bytes) -> None:
        if data[:4] not in (b"\x04\0\0\0", b"\0\0\0\x04"):
            known = data[:4] in (b"\x08\0\0\0", b"\0\0\0\x08")
            raise InputError("has words of 64 bits: write those of 32" if known else "is no .op2 of Nastran")
        self.data, self.at, self.order = data, 0, "<" if data[0] else ">"

    @property
    def ended(self) -> bool:
        """Whether all is read."""
        return self.at == len(self.data)

    def block(self) -> bytes:
        """Return the next Fortran record."""
        begin = self.at + 4
        if begin > len(self.data):
            raise InputError("is cut off")
        (length,) = struct.unpack_from(self.order + "i", self.data, self.at)
        if length < 0 or begin + length + 4 > len(self.data):
            raise InputError("is cut off")
        if self.data[self.at : begin] != self.data[begin + length : begin + length + 4]:
            raise InputError(f"has a record at byte {self.at} whose two lengths differ: is it damaged?")
        self.at = begin + length + 4
        return self.data[begin : begin + length]

    def marker(self) -> int:
        """Return the next record, of one word."""
        begin, block = self.at, self.block()
        if len(block) != 4:
            raise InputError(f"has a record of {len(block)} bytes at byte {begin} in place of a marker")
        (number,) = struct.unpack(self.order + "i", block)
        return int(number)

    def expect(self, *numbers: int) -> None:
        """Read markers that must be these."""
        for number in numbers:
            begin, found = self.at, self.marker()
            if found != number:
                raise InputError(f"has marker {found} at byte {begin}, expected {number}: is it damaged?")


def read_op2(data: bytes) -> Op2:
    """Read the grid points and the DMIG in a file.

    Raises:
        InputError: it is damaged, or contains something that is not supported; the message follows the name of the file
            in a sentence.
    """
    words, found = _Words(data), Op2()
    contents: list[str] = []
    for number, (name, records) in enumerate(_tables(words)):
        if name == "XSOP2DIR":
            contents = [_text(record[:8]) for record in records[1:]]
            continue
        listed = contents[number - 1] if 0 < number <= len(contents) else name
        for record in records:
            if len(record) < 12:
                continue
            code = struct.unpack_from(words.order + "3i", record)
            if code == DMIG:
                _take_matrices(record[12:], words.order, listed, found)
            elif code in GRIDS:
                row = struct.Struct(words.order + GRIDS[code])
                if (len(record) - 12) % row.size:
                    raise InputError(f"has grid points of another length in table {listed}")
                for grid, cp, x, y, z, cd, _, _ in row.iter_unpack(record[12:]):
                    found.grids[grid] = [x, y, z], cp, cd
    return found


def _tables(words: _Words) -> Iterator[tuple[str, list[bytes]]]:
    """Yield the name of each table, and its logical records after the first one; of a matrix it has none."""
    mark = words.marker()
    if mark == 3:  # date, title, label: not in all files
        words.block()
        while (mark := words.marker()) > 0:
            words.block()
        if mark == -1:
            words.expect(0)
            mark = 0 if words.ended else words.marker()
    while mark == 2:
        name = _text(words.block())
        records: list[bytes] = []
        number, kind = -1, 0
        while (mark := words.marker()) > 0:  # of what MSC writes since 2014 the name is longer
            words.block()
        while mark == number:
            if number < -1:
                words.expect(1)
                kind = words.marker()
            pieces = []
            while (mark := words.marker()) > 0:
                pieces.append(words.block())
                if kind == 0 and len(pieces[-1]) != 4 * mark:
                    raise InputError(f"has a piece of {len(pieces[-1])} bytes in table {name}, expected {4 * mark}")
            if number < -1 and kind == 0 and pieces:
                records.append(b"".join(pieces))
            number -= 1
        if mark != 0:
            raise InputError(f"has marker {mark} in table {name}, expected {number}: is it damaged?")
        yield name, records
        mark = 0 if words.ended else words.marker()
    if mark != 0:
        raise InputError(f"has marker {mark} in place of a table: is it damaged?")


def _text(block: bytes) -> str:
    return block.decode("latin-1").strip()


def _take_matrices(record: bytes, order: str, listed: str, found: Op2) -> None:
    """Take the DMIG of a record: the head of each, its columns, and -1, -1 after each column and after the last one."""
    at = 0
    try:
        while at < len(record):
            name = _text(record[at : at + 8])
            _, form, kind, stored, _, _, _ = struct.unpack_from(order + "7i", record, at + 8)
            if name == "EXTDB":
                name = BOUNDARY.get(listed, "")
            at += 36
            if form not in (1, 6) or kind not in (1, 2) or stored not in (0, kind):
                if name[:1] in ("K", "M"):
                    raise InputError(
                        f"has DMIG {name}, which must be square and real, its form is {form}, its type {kind}"
                    )
                return  # of other types, and lengths
            row = struct.Struct(order + ("2if" if kind == 1 else "2id"))
            terms: dict[Term, float] = {}
            while (column := struct.unpack_from(order + "2i", record, at)) != (-1, -1):
                at += 8
                while struct.unpack_from(order + "2i", record, at) != (-1, -1):
                    grid, way, value = row.unpack_from(record, at)
                    terms[(grid, way, *column)] = value
                    at += row.size
                at += 8
            at += 8
            if name:
                found.matrices[name] = terms
    except struct.error as error:
        raise InputError(f"has a DMIG in table {listed} that ends within a column: is it damaged?") from error
