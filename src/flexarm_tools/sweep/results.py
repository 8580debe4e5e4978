"""Results of a sweep: a folder with one row a run, kept as they come, and the table made of them.

Rows are first appended to ``rows.jsonl``, one line each, so that a command that is killed has lost the runs in flight
at most; ``runs.parquet`` is made of them at the end of each command, in the order of the runs.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from flexarm_core.errors import ConfigError
from flexarm_tools.sweep.row import OUTCOMES, Row
from flexarm_tools.sweep.sweep import Sweep

TABLE, LINES, LOGS, OF = "runs.parquet", "rows.jsonl", "logs", "sweep.json"


class Results:
    """Rows of a sweep in a folder, open for one command at a time."""

    def __init__(self, folder: Path, sweep: Sweep, fresh: bool = False) -> None:
        """Open a folder, and read what it holds.

        Args:
            folder: the folder; it is made.
            sweep: what is run.
            fresh: whether to delete the results of another sweep or version, where there are any.

        Raises:
            ConfigError: the folder holds results of another sweep, or another command uses it.
        """
        self._folder, self._sweep = folder, sweep
        arrow()  # where it is missing, before the runs and not after them
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / LINES).open("a+", encoding="utf-8")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ConfigError(
                f"another flexarm sweep writes to {folder}: wait for it, or give another --out"
            ) from error
        self.rows: dict[int, Row] = {}
        if fresh:
            for name in (TABLE, OF):
                (folder / name).unlink(missing_ok=True)
            self._file.truncate(0)
        self._check_identity()
        self._file.seek(0)
        self.rows = {row.run: row for row in (*_table_rows(folder, sweep), *_lines(self._file.read()))}
        for row in self.rows.values():
            if not sweep.fits(row):
                raise ConfigError(self._other("other samples"))
        self._file.seek(0, os.SEEK_END)
        if self._file.tell() and self._last_character() != "\n":
            self._file.write("\n")  # a line that a killed command did not end

    def __enter__(self) -> Results:
        """Return the results."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Make the table of all rows so far."""
        self._write_table()
        self._file.close()

    def add(self, row: Row) -> None:
        """Keep a row."""
        self.rows[row.run] = row
        self._file.write(json.dumps(asdict(row)) + "\n")
        self._file.flush()
        if row.log:
            logs = self._folder / LOGS
            logs.mkdir(exist_ok=True)
            (logs / f"{row.run}.txt").write_text(row.log, encoding="utf-8")

    def _check_identity(self) -> None:
        """Refuse results of something else: figures of different runs in one table would compare nothing."""
        file = self._folder / OF
        if file.exists():
            held = json.loads(file.read_text(encoding="utf-8"))
            if held != self._sweep.identity:
                raise ConfigError(self._other("another sweep, scenario, robot or version of flexarm"))
        else:
            file.write_text(json.dumps(self._sweep.identity) + "\n", encoding="utf-8")

    def _other(self, what: str) -> str:
        return f"{self._folder} holds results of {what}: --fresh deletes them, --out DIR names another folder"

    def _last_character(self) -> str:
        with (self._folder / LINES).open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read().decode("utf-8", "replace")

    def _write_table(self) -> None:
        if not self.rows:
            return
        temporary = self._folder / f".{TABLE}"
        _write(temporary, self._sweep, self.rows)
        temporary.replace(self._folder / TABLE)
        self._file.truncate(0)  # all of it is in the table now


def read_rows(folder: Path, sweep: Sweep) -> dict[int, Row]:
    """Return the rows so far, also of a sweep that still runs.

    Raises:
        ConfigError: there are none, or they are of another sweep.
    """
    file = folder / OF
    if not file.is_file():
        raise ConfigError(f"there are no results in {folder}: flexarm sweep {sweep.path}")
    if json.loads(file.read_text(encoding="utf-8")) != sweep.identity:
        raise ConfigError(f"{folder} holds results of another sweep, scenario, robot or version of flexarm")
    lines = (folder / LINES).read_text(encoding="utf-8") if (folder / LINES).exists() else ""
    return {row.run: row for row in (*_table_rows(folder, sweep), *_lines(lines))}


def arrow() -> ModuleType:
    """Return pyarrow.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ConfigError("the table of a sweep needs pyarrow: python3 -m pip install pyarrow") from error
    return pyarrow


def _lines(text: str) -> list[Row]:
    """Read lines; one that is not whole, of a command that was killed, is left out."""
    rows = []
    for line in text.splitlines():
        try:
            rows.append(Row(**json.loads(line)))
        except (ValueError, TypeError):
            continue
    return rows


def _table_rows(folder: Path, sweep: Sweep) -> list[Row]:
    path = folder / TABLE
    if not path.exists():
        return []
    inputs, figures = [one.name for one in sweep.variables], [spec.name for spec in sweep.figures]
    rows = []
    for cells in arrow().parquet.read_table(path, use_threads=False).to_pylist():
        ends = {name: cells[name] for name in ("run", "outcome", "reason", "seed", "version")}
        rows.append(Row(inputs={k: cells[k] for k in inputs}, figures={k: cells[k] for k in figures}, **ends))
    return rows


def _write(path: Path, sweep: Sweep, rows: Mapping[int, Row]) -> None:
    pa = arrow()
    cells = [rows[run].cells for run in sorted(rows)]
    kinds: dict[type, Any] = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
    fields = [pa.field("run", pa.int64())]
    for one in sweep.variables:
        fields.append(pa.field(one.name, kinds[type(one.at(0.5))]))
    fields += [pa.field(spec.name, pa.float64()) for spec in sweep.figures]
    fields += [pa.field("outcome", pa.dictionary(pa.int8(), pa.string())), pa.field("reason", pa.string())]
    fields += [pa.field("seed", pa.int64()), pa.field("version", pa.string())]
    goals = {spec.name: spec.goal.text for spec in sweep.figures if spec.goal}
    keys = {one.name: one.key for one in sweep.variables}
    said = {"title": sweep.title, "keys": keys, "goals": goals, "runs": sweep.count}
    schema = pa.schema(fields, metadata={"flexarm": json.dumps(said)})
    arrays = []
    for field in schema:
        values = [row[field.name] for row in cells]
        if field.name == "outcome":
            codes = pa.array([OUTCOMES.index(str(value)) for value in values], pa.int8())
            arrays.append(pa.DictionaryArray.from_arrays(codes, pa.array(OUTCOMES)))
        else:
            arrays.append(pa.array(values, field.type))
    pa.parquet.write_table(pa.Table.from_arrays(arrays, schema=schema), path)
