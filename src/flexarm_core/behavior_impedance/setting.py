"""Values of the settings of a behavior, which may come from a message of another program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flexarm_core.errors import ConfigError
from flexarm_core.settings import Setting, plain

LARGEST = 1e9  # no quantity of an arm is larger in SI units: a larger number is treated as a mistake


def plain_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return an independent copy with lists instead of arrays, so that it can be compared with ``==``."""
    return {name: plain(value) for name, value in given.items()}


def checked_settings(rows: tuple[Setting, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value for every setting of a table: the given value, or else the default.

    Raises:
        ConfigError: a given name is not in the table, or a value is not valid.
    """
    known = {row.name: row for row in rows}
    for name in given:
        if name not in known:
            raise ConfigError(f"'{name}' is unknown; valid: {', '.join(known) or 'none'}")
    values = {name: row.checked(given.get(name, row.default)) for name, row in known.items()}
    for name, value in values.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, float) and abs(item) > LARGEST and known[name].upper is None:
                raise ConfigError(f"{name} must be no larger than {LARGEST:g}, got {item:g}")
    return values
