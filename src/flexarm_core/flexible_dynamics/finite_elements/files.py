"""Matrices that finite-element programs write: CalculiX, Abaqus, Nastran.

- CalculiX: a step ``*FREQUENCY, SOLVER=MATRIXSTORAGE`` without boundary conditions writes ``JOB.sti``, ``JOB.mas`` and
  ``JOB.dof`` beside ``JOB.inp``.
- Abaqus: ``*MATRIX GENERATE, STIFFNESS, MASS`` and ``*MATRIX OUTPUT, STIFFNESS, MASS, FORMAT=MATRIX INPUT`` write
  ``JOB_STIF1.mtx`` and ``JOB_MASS1.mtx`` beside ``JOB.inp``.
- Nastran: ``EXTSEOUT(STIFFNESS, MASS, DMIGPCH)`` or ``PARAM,EXTOUT,DMIGPCH`` writes stiffness and mass of the a-set as
  DMIG to a punch file, ``DMIGOP2=unit`` in place of ``DMIGPCH`` to a binary one (``.op2``); the nodes are the GRID of
  the bulk data file or of the binary one, in the basic coordinate system.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from flexarm_core.errors import InputError
from flexarm_core.flexible_dynamics.finite_elements.op2 import read_op2
from flexarm_core.flexible_dynamics.finite_elements.reduction import FiniteElements
from flexarm_core.regular_file import read_regular
from flexarm_core.types import Array

UNITS = {"m": (1.0, 1.0), "mm": (1e-3, 1e-3)}  # length [m] and energy [J] of the units N, m, kg, s and N, mm, t, s
MOST = 400 * 1024 * 1024  # bytes of a file that is read
MOST_BINARY = 150 * 1024 * 1024  # bytes of a binary one, which has more terms in them
LARGEST = 100_000_000  # number of a node
ROUNDED = 1e-5  # relative to the largest term: difference of two that should be equal, in files of few digits
NASTRAN = (".bdf", ".dat", ".nas", ".op2")
NOT_READ = ("*INCLUDE", "*SYSTEM", "*TRANSFORM", "*NGEN", "*NFILL", "*NCOPY", "*NMAP")
Terms = tuple[NDArray[np.int64], NDArray[np.int64], Array]  # rows, columns, values


def read_finite_elements(path: str | Path, matrices: Sequence[str | Path] = (), units: str = "m") -> FiniteElements:
    """Read a finite-element model.

    Args:
        path: file with the nodes: ``.inp`` of CalculiX or Abaqus, ``.bdf`` or ``.op2`` of Nastran.
        matrices: files of the matrices; default: those beside the file of the nodes, or in it.
        units: of all files: ``m`` (N, m, kg, s) or ``mm`` (N, mm, t, s).

    Raises:
        InputError: a file is missing or invalid; the message says what is valid.
    """
    path = Path(path)
    if units not in UNITS:
        raise InputError(f"units '{units}' are unknown; valid: {', '.join(UNITS)}")
    if path.suffix.lower() in NASTRAN:
        nodes, position, sets, terms = _nastran(path, matrices)
    elif path.suffix.lower() == ".inp":
        nodes, position, sets = _deck(_lines(path), path)
        given = [Path(one) for one in matrices] or _beside(path)
        terms = _calculix(given) if given[0].suffix.lower() in (".sti", ".mas", ".dof") else _abaqus(given)
    else:
        raise InputError(f"'{path}' is neither .inp (CalculiX, Abaqus) nor {', '.join(NASTRAN)} (Nastran)")
    return _assembled(nodes, position, sets, terms, UNITS[units])


def _assembled(
    nodes: NDArray[np.int64],
    position: Array,
    sets: dict[str, tuple[int, ...]],
    terms: tuple[NDArray[np.int64], Terms, Terms],
    units: tuple[float, float],
) -> FiniteElements:
    """Return the model in SI units; degrees of freedom are given as node number and direction 0 to 5."""
    freedom, *given = terms
    if not len(freedom):
        raise InputError("the matrices are empty")
    if not len(nodes):
        raise InputError("there are matrices, but no nodes: give the file that has them")
    order = np.argsort(nodes)
    nodes, position = nodes[order], position[order]
    place = np.clip(np.searchsorted(nodes, freedom[:, 0]), 0, len(nodes) - 1)
    if not (nodes[place] == freedom[:, 0]).all():
        lost = int(freedom[nodes[place] != freedom[:, 0], 0][0])
        raise InputError(
            f"the matrices have node {lost}, which the file of the nodes has not (an internal one, as of C3D8I?)"
        )
    if not np.isfinite(position).all():
        raise InputError("nodes have positions that are not finite")
    length, energy = units
    scale = np.where(freedom[:, 1] < 3, 1.0 / length, 1.0)
    d, made = len(freedom), []
    for name, (rows, columns, values) in zip(("stiffness", "mass"), given, strict=True):
        if not np.isfinite(values).all():
            raise InputError("a matrix has numbers that are not finite")
        matrix = sparse.csr_array((energy * scale[rows] * values * scale[columns], (rows, columns)), shape=(d, d))
        made.append(_symmetric(matrix, name))
    if not (stiff := made[0].diagonal() > 0.0).all():
        node, way = freedom[np.argmin(stiff)].tolist()
        raise InputError(f"the stiffness of node {node} in direction {way + 1} is missing: is the file complete?")
    used = np.unique(place)
    return FiniteElements(
        nodes[used],
        length * position[used],
        np.column_stack((np.searchsorted(used, place), freedom[:, 1])),
        made[1],
        made[0],
        sets,
    )


def _symmetric(matrix: sparse.csr_array, name: str) -> sparse.csr_array:
    """Return a symmetric matrix of which each term is given on one side of the diagonal, or on both.

    Programs write half of it in an order of their own, so a half by number may hold terms of both.

    Raises:
        InputError: terms on both sides differ by more than rounding.
    """
    given = sparse.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
    other = sparse.csr_array(matrix.T)
    whole = sparse.csr_array(matrix + other - other * given)
    off = abs(whole - whole.T)
    if off.nnz and off.max() > ROUNDED * abs(whole).max():
        raise InputError(f"the {name} matrix is not symmetric")
    half: sparse.csr_array = sparse.csr_array(0.5 * (whole + whole.T))
    return half


def _node(word: str) -> int:
    """Return the number of a node; raise ValueError if it can be none."""
    number = int(word)
    if not 0 < number <= LARGEST:
        raise ValueError(f"{word} is no number of a node")
    return number


def _bytes(path: Path, most: int = MOST) -> bytes:
    try:
        return read_regular(path, most, InputError)
    except InputError as error:
        raise InputError(f"'{path}' {error}") from error
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror}") from error


def _lines(path: Path) -> list[str]:
    data = _bytes(path)
    if b"\0" in data:
        what = {".pch": "a punch file", ".inp": "an input deck"}.get(path.suffix.lower(), "a file of this kind")
        nastran = path.suffix.lower() in (*NASTRAN, ".pch")
        more = (
            ": DMIGPCH writes that; what DMIGOP2 or OUTPUT2 writes is read if its name ends with .op2"
            if nastran
            else ""
        )
        raise InputError(f"'{path}' is binary, and {what} is text{more}")
    return data.decode("utf-8", errors="replace").splitlines()


def _table(path: Path, columns: int, separator: str | None) -> Array:
    """Read a table of numbers, with exponents E or D, perhaps with comments (``**``)."""
    try:
        lines = [line.replace("D", "E").replace("d", "e") for line in _lines(path) if not line.startswith("**")]
        rows = [[float(word) for word in line.split(separator)] for line in lines if line.strip()]
        table = np.array(rows, dtype=np.float64)
    except ValueError as error:
        raise InputError(f"'{path}' is no table of {columns} numbers in each line: {error}") from error
    if table.ndim != 2 or table.shape[1] != columns:
        raise InputError(f"'{path}' is no table of {columns} numbers in each line")
    return table


# Input decks ----------------------------------------------------------------------------------------------------------


def _deck(lines: Iterable[str], path: Path) -> tuple[NDArray[np.int64], Array, dict[str, tuple[int, ...]]]:
    """Read nodes and node sets of an input deck; names of sets are in capital letters."""
    nodes: dict[int, list[float]] = {}
    sets: dict[str, list[int]] = {}
    what, name, generate = "", "", False
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("**"):
            continue
        try:
            if text.startswith("*"):
                words = [word.strip().upper() for word in text.split(",")]
                options = dict(word.split("=", 1) for word in words[1:] if "=" in word)
                what, generate = words[0], "GENERATE" in words
                name = options.get("NSET", "").strip()
                if what in NOT_READ or (what == "*NODE" and options.get("SYSTEM", "R") != "R"):
                    raise InputError(
                        f"'{path}', line {number}: {text[:60]} is not followed: write one file, with all nodes in one"
                        " part and in one Cartesian system"
                    )
            elif what == "*NODE":
                label, *place = (word.strip() for word in text.rstrip(",").split(","))
                there = [float(word or 0) for word in (*place, "", "", "")[:3]]
                if nodes.setdefault(_node(label), there) != there:
                    raise InputError(f"'{path}', line {number}: node {label} is also elsewhere: write one part")
                if name:
                    sets.setdefault(name, []).append(_node(label))
            elif what == "*INSTANCE":
                raise InputError(f"'{path}', line {number}: a moved *INSTANCE is not followed: write a part in place")
            elif what == "*NSET":
                words = [word.strip().upper() for word in text.rstrip(",").split(",")]
                members = sets.setdefault(name, [])
                if generate:
                    first, last, step = (_node(word) for word in (*words, "1")[:3])
                    members += range(first, last + 1, step)
                else:
                    for word in words:
                        members += [_node(word)] if word.isdigit() else sets[word]
        except InputError:
            raise
        except (ValueError, KeyError, IndexError) as error:
            raise InputError(f"'{path}', line {number}: '{text[:60]}' is no {what}") from error
    if not nodes:
        raise InputError(f"'{path}' has no *NODE")
    position = np.array(list(nodes.values()), dtype=np.float64)
    return np.array(list(nodes), dtype=np.int64), position, {key: tuple(value) for key, value in sets.items()}


def _beside(path: Path) -> list[Path]:
    """Return the matrices beside an input deck."""
    found = [path.with_suffix(suffix) for suffix in (".sti", ".mas", ".dof")]
    if all(one.is_file() for one in found):
        return found
    found = [one for what in ("STIF", "MASS") for one in sorted(path.parent.glob(f"{path.stem}_{what}*.mtx"))[:1]]
    if len(found) == 2:
        return found
    raise InputError(
        f"there are no matrices beside '{path}': CalculiX writes .sti, .mas and .dof (*FREQUENCY,"
        " SOLVER=MATRIXSTORAGE), Abaqus _STIF1.mtx and _MASS1.mtx (*MATRIX OUTPUT, FORMAT=MATRIX INPUT)"
    )


def _calculix(files: Sequence[Path]) -> tuple[NDArray[np.int64], Terms, Terms]:
    by_suffix = {one.suffix.lower(): one for one in files}

    def file(suffix: str) -> Path:
        if suffix not in by_suffix:
            raise InputError(f"expected files .sti, .mas and .dof, got {', '.join(map(str, files))}")
        return by_suffix[suffix]

    rows = [line.strip().split(".") for line in _lines(file(".dof")) if line.strip()]
    try:
        freedom = np.array([[_node(node), int(way) - 1] for node, way in rows], dtype=np.int64)
    except ValueError as error:
        raise InputError(f"'{file('.dof')}' is no list of NODE.DIRECTION") from error
    if not len(freedom) or freedom[:, 1].min() < 0 or freedom[:, 1].max() > 5:
        raise InputError(f"'{file('.dof')}' has directions other than 1 to 6")
    matrices = []
    for suffix in (".sti", ".mas"):
        table = _table(file(suffix), 3, None)
        if not ((table[:, :2] >= 1) & (table[:, :2] <= len(freedom))).all():
            raise InputError(f"'{file(suffix)}' and '{file('.dof')}' are not of the same model")
        places = table[:, :2].astype(np.int64) - 1
        if len(np.unique(places[places[:, 0] == places[:, 1], 0])) < len(freedom):
            raise InputError(f"'{file(suffix)}' lacks terms of the diagonal: is the file complete?")
        matrices.append((places[:, 0], places[:, 1], table[:, 2]))
    return freedom, matrices[0], matrices[1]


def _abaqus(files: Sequence[Path]) -> tuple[NDArray[np.int64], Terms, Terms]:
    stiff, heavy = ([one for one in files if what in one.name.upper()] for what in ("STIF", "MASS"))
    if len(stiff) != 1 or len(heavy) != 1:
        raise InputError(f"expected a file with STIF and one with MASS in its name, got {', '.join(map(str, files))}")
    tables = [_table(file, 5, ",") for file in (*stiff, *heavy)]
    if any(not (np.abs(table[:, :4]) <= LARGEST).all() for table in tables):
        raise InputError("the matrices have numbers of nodes that are none")
    pairs = [np.concatenate((table[:, :2], table[:, 2:4])).astype(np.int64) for table in tables]
    freedom, place = np.unique(np.concatenate(pairs), axis=0, return_inverse=True)
    if freedom[0, 0] < 1 or not freedom[:, 1].min() >= 1 or freedom[:, 1].max() > 6:
        raise InputError("the matrices have internal nodes, or directions other than 1 to 6, which are not supported")
    matrices, begin = [], 0
    for table in tables:
        rows, columns = place.ravel()[begin : begin + 2 * len(table)].reshape(2, -1)
        matrices.append((rows, columns, table[:, 4]))
        begin += 2 * len(table)
    return freedom - (0, 1), matrices[0], matrices[1]


# Nastran --------------------------------------------------------------------------------------------------------------


def _nastran(
    path: Path, matrices: Sequence[str | Path]
) -> tuple[NDArray[np.int64], Array, dict[str, tuple[int, ...]], tuple[NDArray[np.int64], Terms, Terms]]:
    beside = [path.with_suffix(suffix) for suffix in (".pch", ".op2")]
    if path.suffix.lower() == ".op2":
        beside = [path]
    files = [Path(one) for one in matrices] or ([one for one in beside if one.is_file()] or beside)[:1]
    position: dict[int, list[float]] = {}
    found: dict[str, dict[tuple[int, int, int, int], float]] = {}
    for file in dict.fromkeys((path, *files)):
        if file.suffix.lower() == ".op2":
            _take_op2(file, position, found)
            continue
        for number, card in _cards(_lines(file)):
            try:
                if card[0] == "GRDSET" and ((card[2] or "0") != "0" or (card[6] or "0") != "0"):
                    raise InputError(f"'{file}', line {number}: GRDSET: write all in the basic coordinate system")
                if card[0] == "GRID":
                    node, cp, *place, cd = (card[1:] + [""] * 6)[:6]
                    if (cp or "0") != "0" or (cd or "0") != "0":
                        raise InputError(f"grid point {node} is not in the basic coordinate system: write all in it")
                    position[_node(node)] = [_real(word) for word in place]
                elif card[0] == "DMIG":
                    _take_column(card, found)
            except InputError:
                raise
            except (ValueError, IndexError, KeyError) as error:
                raise InputError(f"'{file}', line {number}: not a card {card[0]} that can be read") from error
    chosen = [[name for name in found if name.startswith(letter)] for letter in "KM"]
    if any(len(names) != 1 for names in chosen):
        raise InputError(
            f"expected one DMIG whose name begins with K and one with M in {', '.join(map(str, files))}, found:"
            f" {', '.join(found) or 'none'}"
        )
    given = [found[names[0]] for names in chosen]
    keys = sorted({key for terms in given for a, i, b, j in terms for key in ((a, i), (b, j))})
    if any(not 1 <= way <= 6 for _, way in keys):
        raise InputError("the matrices have scalar or modal coordinates: write those of the grid points (no q-set)")
    index = {key: i for i, key in enumerate(keys)}
    stiffness, mass = (
        (
            np.array([index[a, i] for a, i, _, _ in terms], dtype=np.int64),
            np.array([index[b, j] for _, _, b, j in terms], dtype=np.int64),
            np.array(list(terms.values()), dtype=np.float64),
        )
        for terms in given
    )
    places = np.array(list(position.values()), dtype=np.float64).reshape(-1, 3)
    freedom = np.array(keys, dtype=np.int64).reshape(-1, 2) - (0, 1)
    return np.array(list(position), dtype=np.int64), places, {}, (freedom, stiffness, mass)


def _take_op2(
    path: Path, position: dict[int, list[float]], found: dict[str, dict[tuple[int, int, int, int], float]]
) -> None:
    """Take what a binary file has; grid points of files before it stay where they are."""
    data = _bytes(path, MOST_BINARY)
    try:
        content = read_op2(data)
    except InputError as error:
        raise InputError(f"'{path}' {error}") from error
    numbers = {
        *content.grids,
        *(grid for terms in content.matrices.values() for a, _, b, _ in terms for grid in (a, b)),
    }
    if numbers and not 0 < min(numbers) <= max(numbers) <= LARGEST:
        raise InputError(f"'{path}' has numbers of grid points that are none: is it damaged?")
    for grid, (place, cp, cd) in content.grids.items():
        if grid not in position and (cp or cd):
            raise InputError(f"grid point {grid} is not in the basic coordinate system: write all in it")
        position.setdefault(grid, place)
    found.update(content.matrices)


def _take_column(card: list[str], found: dict[str, dict[tuple[int, int, int, int], float]]) -> None:
    """Take a card DMIG: the head of a matrix, or one of its columns."""
    name = card[1]
    if card[2] == "0":
        if card[3] not in ("1", "6") or card[4] not in ("1", "2"):
            raise InputError(f"DMIG {name} must be square and real, its form is {card[3]}, its type {card[4]}")
        found[name] = {}
        return
    column = _node(card[2]), int(card[3] or 0)
    rest = card[5:]
    for node, way, value in zip(rest[::4], rest[1::4], rest[2::4], strict=False):
        if node:
            found[name][(_node(node), int(way or 0), *column)] = _real(value)


def _real(word: str) -> float:
    """Return a real number as Nastran writes it: also 1.5+3 and 1.5D+3; empty: 0."""
    text = re.sub(r"(?<=[0-9.])([+-])", r"e\1", word.upper().replace("D", "E").replace("E", "e")).replace("ee", "e")
    return float(text) if text else 0.0


def _cards(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and fields of each card of bulk data: in free, small or large fields."""
    card: list[str] = []
    begin = 0
    for number, line in enumerate(lines, 1):
        text = line.split("$")[0].rstrip()
        if not text:
            continue
        if "," in text:
            words = [word.strip() for word in text.split(",")]
            fields = [words[0].rstrip("*"), *(words[1:9] + [""] * 8)[:8]]
        else:
            text, width = text.expandtabs(8), 16 if "*" in text[:8] else 8
            fields = [text[:8].strip().rstrip("*"), *(text[i : i + width].strip() for i in range(8, 72, width))]
        if fields[0] == "" or fields[0].startswith("+") or line.startswith("*"):
            card += fields[1:]
            continue
        if card:
            yield begin, card
        card, begin = [fields[0].upper(), *fields[1:]], number
    if card:
        yield begin, card
