"""Records that are made at every tick: frozen dataclasses with slots, made in half the time, and many as one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Any, TypeVar

import numpy as np

Record = TypeVar("Record")


def quick(record: type[Record]) -> type[Record]:
    """Give a frozen dataclass with slots a constructor that does the same in half the time.

    The constructor that :mod:`dataclasses` generates looks up every field by its name through ``object.__setattr__``;
    this one calls the slots' own setters.

    Raises:
        TypeError: the dataclass has no slots, or does more than to set its fields.
    """
    names: dict[str, Any] = {"MISSING": MISSING}
    arguments, lines = [], []
    if hasattr(record, "__post_init__") or not hasattr(record, "__slots__"):
        raise TypeError(f"{record.__name__} must be a dataclass with slots and without __post_init__")
    for field in fields(record):  # type: ignore[arg-type]
        name, given = field.name, field.name
        names[f"set_{name}"] = getattr(record, name).__set__
        if field.default_factory is not MISSING:
            names[f"make_{name}"] = field.default_factory
            arguments.append(f"{name}=MISSING")
            given = f"make_{name}() if {name} is MISSING else {name}"
        elif field.default is not MISSING:
            names[f"usual_{name}"] = field.default
            arguments.append(f"{name}=usual_{name}")
        else:
            arguments.append(name)
        lines.append(f"        set_{name}(self, {given})")
    made: dict[str, Any] = {}
    text = (
        f"def make({', '.join(names)}):",
        f"    def __init__(self, {', '.join(arguments)}):",
        *lines,
        "    return __init__",
    )
    exec("\n".join(text), vars(sys.modules[record.__module__]), made)  # annotations are looked up in this module
    init = made["make"](**names)
    for kept in ("__qualname__", "__module__", "__annotations__"):
        setattr(init, kept, getattr(record.__init__, kept))
    record.__init__ = init  # type: ignore[method-assign]
    return record


def stacked(records: Sequence[Record]) -> Record:
    """Return one record for many of a type: each number or array is an array with all of them, along its first axis.

    So are those in dictionaries, which must have the names of the first.
    """
    kind = type(records[0])
    return kind(*(_stacked([getattr(one, field.name) for one in records]) for field in fields(kind)))  # type: ignore[arg-type]


def _stacked(values: Sequence[Any]) -> Any:
    if isinstance(values[0], dict):
        return {name: _stacked([value[name] for value in values]) for name in values[0]}
    return np.array(values)
