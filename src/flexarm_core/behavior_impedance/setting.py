"""Setting: one parameter of a behaviour, from which validation, node parameters and documentation come."""

from __future__ import annotations

import array
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexarm_core.errors import ConfigError

LARGEST = 1e9  # nothing of an arm is larger, in SI units: beyond it a number is a mistake
PYTHON_TYPES: dict[str, type] = {"bool": bool, "int": int, "double": float, "string": str}


@dataclass(frozen=True, slots=True)
class Setting:
    """One parameter.

    Attributes:
        name: of the parameter.
        kind: ``bool``, ``int``, ``double``, ``string``, ``double[]``, ``string[]`` or ``bool[]``.
        default: value where none is given; also its length, where it is a list and ``size`` says so.
        description: what it does.
        unit: SI unit, or empty.
        lower: smallest legal number, or None.
        upper: largest legal number, or None: :data:`LARGEST`, of either sign.
        choices: legal strings, or empty.
        size: how many items a list has; None: any number.
    """

    name: str
    kind: str
    default: Any
    description: str
    unit: str = ""
    lower: float | None = None
    upper: float | None = None
    choices: tuple[str, ...] = ()
    size: int | None = None

    def checked(self, value: Any) -> Any:
        """The value in Python's own types, whole numbers as doubles where doubles are wanted.

        Raises:
            ConfigError: another type, not finite, out of bounds, not one of the choices, another length.
        """
        wanted, listed = PYTHON_TYPES[self.kind.removesuffix("[]")], self.kind.endswith("[]")
        value = _plain(value)
        if listed and not isinstance(value, (list, tuple)):
            raise ConfigError(f"{self.name} must be {self.kind}, got {value!r}")
        items = list(value) if listed else [value]
        if wanted is float:
            items = [_as_double(item) for item in items]
        if any(not isinstance(item, wanted) or (wanted is not bool and isinstance(item, bool)) for item in items):
            raise ConfigError(f"{self.name} must be {self.kind}, got {value!r}")
        if self.size is not None and len(items) != self.size:
            raise ConfigError(f"{self.name} needs {self.size} values, got {len(items)}")
        for item in items:
            if wanted is float and not math.isfinite(item):
                raise ConfigError(f"{self.name} must be finite, got {value}")
            if wanted is float and self.upper is None and abs(item) > LARGEST:
                raise ConfigError(f"{self.name} must be no larger than {LARGEST:g}, got {item:g}")
            if self.choices and item not in self.choices:
                raise ConfigError(f"{self.name} must be one of {', '.join(self.choices)}; got '{item}'")
            below = self.lower is not None and item < self.lower
            if below or (self.upper is not None and item > self.upper):
                raise ConfigError(f"{self.name} must lie in [{self.lower}, {self.upper}], got {item}")
        return items if listed else items[0]


def plain_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """A copy that can be compared, and that nobody else changes: lists instead of arrays."""
    return {name: _plain(value) for name, value in given.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic, array.array)):
        return value.tolist()
    return list(value) if isinstance(value, (list, tuple)) else value


def _as_double(item: Any) -> Any:
    """A whole number as a double, infinite where it is too large for one; anything else as it is."""
    try:
        return float(item) if type(item) is int else item
    except OverflowError:
        return math.inf


def checked_settings(rows: tuple[Setting, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting of a table: the given values, defaults elsewhere.

    Raises:
        ConfigError: a name that the table does not have, or a value that is not legal.
    """
    known = {row.name: row for row in rows}
    for name in given:
        if name not in known:
            raise ConfigError(f"'{name}' is unknown; valid: {', '.join(known) or 'none'}")
    return {name: row.checked(given.get(name, row.default)) for name, row in known.items()}
