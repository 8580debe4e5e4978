"""Each setting is declared once: checks, documentation and the parameters of nodes are derived from it."""

from __future__ import annotations

import array
import math
import re
from dataclasses import Field, dataclass, field, fields
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np

from flexarm_core.errors import ConfigError

PYTHON_TYPES: dict[str, type] = {"bool": bool, "int": int, "double": float, "string": str}
KINDS = {kind.__name__: name for name, kind in PYTHON_TYPES.items()}
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Setting:
    """Declaration of one value.

    Attributes:
        name: its name.
        kind: ``bool``, ``int``, ``double``, ``string``, ``double[]``, ``string[]`` or ``bool[]``.
        default: value used if none is given.
        description: what it does.
        unit: SI unit, or an empty string.
        lower: smallest valid number, or None.
        upper: largest valid number, or None.
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
        """Return the value as built-in Python types, with integers converted to floats for a ``double``.

        Raises:
            ConfigError: the value has the wrong type or length, is out of bounds, is not one of the choices, or is
                infinite although neither default nor bounds are.
        """
        wanted, listed = PYTHON_TYPES[self.kind.removesuffix("[]")], self.kind.endswith("[]")
        value = plain(value)
        wrong = partial(ConfigError, setting=self.name, value=value)
        if listed and not isinstance(value, list):
            raise wrong(f"{self.name} must be {self.kind}, got {value!r}")
        items = value if listed else [value]
        if wanted is float:
            items = [_as_double(item) for item in items]
        if any(not isinstance(item, wanted) or (wanted is not bool and isinstance(item, bool)) for item in items):
            raise wrong(f"{self.name} must be {self.kind}, got {value!r}")
        if self.size is not None and len(items) != self.size:
            raise wrong(f"{self.name} needs {self.size} values, got {len(items)}")
        least = -math.inf if self.lower is None else self.lower
        most = math.inf if self.upper is None else self.upper
        usual = self.default if listed else (self.default, self.lower, self.upper)
        bounds = f"lie in [{least}, {most}]"
        for item in items:
            if wanted is float and not math.isfinite(item) and item not in (usual or ()):
                bounded = f" and {bounds}" if (least, most) != (-math.inf, math.inf) else ""
                raise wrong(f"{self.name} must be finite{bounded}, got {value}")
            if self.choices and item not in self.choices:
                raise wrong(f"{self.name} must be one of {', '.join(self.choices)}; got '{item}'")
            if wanted in (int, float) and not least <= item <= most:
                raise wrong(f"{self.name} must {bounds}, got {item}")
        return items if listed else items[0]


def setting(
    default: Value,
    description: str,
    unit: str = "",
    lower: float | None = None,
    upper: float | None = None,
    *,
    choices: tuple[str, ...] = (),
    size: int | None = None,
) -> Value:
    """Declare a field of a record of settings; see :class:`Setting`."""
    facts = {"description": description, "unit": unit, "lower": lower, "upper": upper, "choices": choices, "size": size}
    made: Any = field(default=default, metadata=facts)
    declared: Value = made
    return declared


class Settings:
    """Base of frozen dataclasses with fields declared by :func:`setting`: checks the values, completes the docstring.

    Fields of another type, such as other records, are described in the docstring and checked in :meth:`check`.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        """Describe the declared fields under ``Attributes:`` in the docstring."""
        declared = {name: one.metadata for name, one in vars(cls).items() if isinstance(one, Field) and one.metadata}
        if declared:
            head = "" if "Attributes:" in (cls.__doc__ or "") else "\n\n    Attributes:"
            texts = {name: f"{one['description']}{in_brackets(one['unit'])}." for name, one in declared.items()}
            lines = [f"        {name}: {text}" for name, text in texts.items()]
            cls.__doc__ = "\n".join([f"{(cls.__doc__ or '').rstrip()}{head}", *lines])

    def __post_init__(self) -> None:
        """Raise ConfigError for invalid values."""
        for one in declared_settings(type(self)):
            one.checked(getattr(self, one.name))
        self.check()

    def check(self) -> None:
        """Raise ConfigError for values that are invalid only together, or in a way that :class:`Setting` cannot say."""


def declared_settings(record: type[Settings]) -> tuple[Setting, ...]:
    """Return the settings that a record declares, in the order of its fields."""
    key: Any = record
    return _of_fields(key)


@cache
def _of_fields(record: Any) -> tuple[Setting, ...]:
    return tuple(_declared(one) for one in fields(record) if one.metadata)


def _declared(one: Field[Any]) -> Setting:
    listed, kind = re.findall(r"^(tuple\[)?(\w+)", str(one.type))[0]  # such as `float` and `tuple[float, ...]`
    default: Any = one.default
    return Setting(one.name, KINDS[kind] + "[]" * bool(listed), plain(default), **one.metadata)


def in_brackets(unit: str) -> str:
    """Return a unit as it stands behind a description."""
    return f" [{unit}]" if unit else ""


def plain(value: Any) -> Any:
    """Return an array, a tuple or a list as a new list, a number of NumPy as one of Python, others as they are."""
    if isinstance(value, (np.ndarray, np.generic, array.array)):
        return value.tolist()
    return list(value) if isinstance(value, (list, tuple)) else value


def _as_double(item: Any) -> Any:
    """Convert an integer to a float, infinite if it is too large; return any other value unchanged."""
    try:
        return float(item) if type(item) is int else item
    except OverflowError:
        return math.inf
