"""GivenTable: a parameter table without a node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from flexarm_core.errors import ConfigError
from flexarm_nodes.node.parameters import Parameter, row_values


class GivenTable:
    """Rows and given values of a table, as :class:`ParameterTable` keeps them on a node."""

    def __init__(self, rows: Iterable[Parameter], given: Mapping[str, Any]) -> None:
        """Set rows and values; a row without a value has its default."""
        self._rows = {row.name: row for row in rows}
        self._given = dict(given)

    def declare(self, rows: Iterable[Parameter]) -> None:
        """Declare further rows; a parameter that is already declared keeps its value."""
        self._rows |= {row.name: row for row in rows}

    def remove(self, names: Iterable[str]) -> None:
        """Remove the rows with these names."""
        for name in names:
            del self._rows[name]

    @property
    def rows(self) -> tuple[Parameter, ...]:
        """Return all declared rows."""
        return tuple(self._rows.values())

    def values(self) -> dict[str, Any]:
        """Return the present values by name.

        Raises:
            ConfigError: a value has the wrong type, is out of bounds or is not one of the choices.
        """
        return row_values(self._rows.values(), self._given)

    def changed(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return all values with changes of live parameters; :meth:`keep` keeps the changes.

        Raises:
            ConfigError: as of :meth:`values`, or there is no such parameter, or it is not live.
        """
        for name in given:
            if name not in self._rows:
                raise ConfigError(f"there is no parameter '{name}'")
            if not self._rows[name].live:
                raise ConfigError(f"{name} can only change while the node is not configured")
        return row_values(self._rows.values(), self._given | dict(given))

    def keep(self, given: Mapping[str, Any]) -> None:
        """Keep changes."""
        self._given |= given
