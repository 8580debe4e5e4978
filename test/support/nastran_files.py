"""Files of Nastran, written as the programs do."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from scipy import sparse

from flexarm_core.flexible_dynamics.finite_elements.reduction import FiniteElements

Term = tuple[int, int, int, int, float]  # row: grid point and direction; column; value
END = (65535, 65535, 65535)  # the last record of a table


def half_of(matrix: sparse.csr_array, bar: FiniteElements) -> list[Term]:
    """Half of a matrix, as node, direction, node, direction and value in N, mm, t, s."""
    found = sparse.coo_array(sparse.tril(matrix))
    rows, columns = found.coords
    other = rows % 3 == 0  # in the program's own order a half by numbers is none
    found.coords = (np.where(other, columns, rows), np.where(other, rows, columns))
    names = [(int(bar.nodes[node]), int(way) + 1) for node, way in bar.freedom]
    rows, columns = found.coords
    return [(*names[i], *names[j], 1e-3 * value) for i, j, value in zip(rows, columns, found.data, strict=True)]


def write_punch(bar: FiniteElements, folder: Path) -> list[list[Term]]:
    """Write bar.bdf and bar.pch; return the terms of stiffness and mass with the digits that the file has."""
    grids = [f"GRID,{n},,{x},{y},{z}\n" for n, (x, y, z) in zip(bar.nodes, 1e3 * bar.position, strict=True)]
    (folder / "bar.bdf").write_text("CEND\nBEGIN BULK\n" + "".join(grids) + "ENDDATA\n")
    lines, given = [], []
    for name, matrix in (("KAAX", bar.stiffness), ("MAAX", bar.mass)):
        lines.append(f"{'DMIG*':<8}{name:<16}{0:>16}{6:>16}{2:>16}\n*\n")
        given.append([(a, i, b, j, float(f"{x:.9e}")) for a, i, b, j, x in half_of(matrix, bar)])
        for a, i, b, j, x in given[-1]:
            lines.append(f"{'DMIG*':<8}{name:<16}{b:>16}{j:>16}{'':>16}\n{'*':<8}{a:>16}{i:>16}{x:>16.9e}\n")
    (folder / "bar.pch").write_text("".join(lines))
    return given


class BinaryFile:
    """An .op2: Fortran records, markers, tables."""

    def __init__(self, order: str = "<", title: bool = False) -> None:
        self.order, self.data = order, b""
        if title:  # EXTSEOUT writes none
            self.markers(3).block(self.words(11, 30, 26)).markers(7).block(b"NASTRAN FORT TAPE ID CODE - ")
            self.markers(2).block(b"XXXXXXXX").markers(-1, 0)

    def words(self, *numbers: int) -> bytes:
        return struct.pack(f"{self.order}{len(numbers)}i", *numbers)

    def block(self, data: bytes) -> BinaryFile:
        length = self.words(len(data))
        self.data += length + data + length
        return self

    def markers(self, *numbers: int) -> BinaryFile:
        for number in numbers:
            self.block(self.words(number))
        return self

    def table(self, name: str, records: Sequence[bytes], piece: int = 10_000) -> BinaryFile:
        """Write a table; of long records pieces of so many words."""
        self.markers(2).block(f"{name:<8}".encode()).markers(-1, 7).block(self.words(101, 0, 0, 0, 0, 0, 0))
        for number, record in enumerate(records, 2):
            self.markers(-number, 1, 0)
            for at in range(0, len(record), 4 * piece):
                part = record[at : at + 4 * piece]
                self.markers(len(part) // 4).block(part)
        return self.markers(-len(records) - 2, 1, 0, 0)

    def columns(self, name: str, count: int) -> BinaryFile:
        """Write a matrix as OUTPUT2 does; its second column is empty."""
        self.markers(2).block(f"{name:<8}".encode()).markers(-1, 7).block(self.words(101, count, 1, 2, 2, 2, 0))
        self.markers(-2, 1, 0, 4).block(f"{name:<8}".encode() + self.words(170, 170))
        for column in range(count):
            self.markers(-3 - column, 1, 1)
            if column != 1:
                self.markers(2).block(self.words(1) + struct.pack(self.order + "d", 1.0))
        return self.markers(-3 - count, 1, 0, 0)

    def dmig(self, name: str, terms: Sequence[Term], form: int = 6, kind: int = 2) -> bytes:
        """Return a DMIG without the numbers of its card."""
        record = f"{name:<8}".encode() + self.words(0, form, kind, kind, 0, 0, 6)
        for column, rows in groupby(sorted(terms, key=lambda term: term[2:4]), key=lambda term: term[2:4]):
            record += self.words(*column)
            for a, i, _, _, x in rows:
                record += self.words(a, i) + struct.pack(self.order + ("d" if kind == 2 else "f"), x)
            record += self.words(-1, -1)
        return record + self.words(-1, -1)

    def external(
        self, grids: Sequence[tuple[int, float, float, float]], system: int = 0, **matrices: Sequence[Term]
    ) -> BinaryFile:
        """Write what EXTSEOUT(DMIGOP2) does: contents, parameters, then tables that are all called EXTDB."""
        listed = ["XSOP2DIR", "PVT0", "GEOM1EX", *matrices, "MUG1"]
        self.table("XSOP2DIR", [f"{name:<8}".encode() for name in listed]).table("PVTS", [b"PVTS    "])
        record = self.words(4501, 45, 1120001)
        for grid, x, y, z in grids:
            record += self.words(grid, 0) + struct.pack(self.order + "3d", x, y, z) + self.words(system, 0, 0)
        self.table("EXTDB", [b"GEOM1   ", record, self.words(*END)])
        for terms in matrices.values():
            record = self.words(114, 1, 120) + self.dmig("EXTDB", terms)
            self.table("EXTDB", [b"EXTDB   ", record, self.words(*END)], 1000)
        return self.columns("EXTDB", 3).markers(0)
