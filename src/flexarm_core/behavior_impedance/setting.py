"""Setting: declaration of one behavior parameter; validation, node parameters and documentation are derived from it."""

from __future__ import annotations

import array
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexarm_core.errors import ConfigError

LARGEST = 1e9  # no quantity of an arm is larger in SI units: a larger number is treated as a mistake
PYTHON_TYPES: dict[str, type] = {"bool": bool, "int": int, "double": float, "string": str}


@dataclass(frozen=True, slots=True)
class Setting:
    """Declaration of one parameter.

    Attributes:
        name: name of the parameter.
        kind: ``bool``, ``int``, ``double``, ``string``, ``double[]``, ``string[]`` or ``bool[]``.
        default: value used if none is given.
        description: what the parameter does.
        unit: SI unit, or an empty string.
        lower: smallest valid number, or None.
        upper: largest valid number; None: the magnitude of a double is limited to :data:`LARGEST`.
        choices: valid strings; an empty tuple allows any string.
        size: required length of a list; None: any length.
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
        """Return the value as built-in Python types, with integers converted to floats for ``double`` parameters.

        Raises:
            ConfigError: the value has the wrong type or length, is not finite or out of bounds, or is not one of the
                choices.
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
    """Return an independent copy with lists instead of arrays, so that it can be compared with ``==``."""
    return {name: _plain(value) for name, value in given.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic, array.array)):
        return value.tolist()
    return list(value) if isinstance(value, (list, tuple)) else value


def _as_double(item: Any) -> Any:
    """Convert an integer to a float, infinite if it is too large; return any other value unchanged."""
    try:
        return float(item) if type(item) is int else item
    except OverflowError:
        return math.inf


def checked_settings(rows: tuple[Setting, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value for every setting of a table: the given value, or else the default.

    Raises:
        ConfigError: a given name is not in the table, or a value is not valid.
    """
    known = {row.name: row for row in rows}
    for name in given:
        if name not in known:
            raise ConfigError(f"'{name}' is unknown; valid: {', '.join(known) or 'none'}")
    return {name: row.checked(given.get(name, row.default)) for name, row in known.items()}
