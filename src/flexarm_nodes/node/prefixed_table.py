"""PrefixedTable: the parameters of one stage in the table of a node that runs several."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from flexarm_nodes.node.given_table import GivenTable
from flexarm_nodes.node.parameters import ARM_PARAMETERS, Parameter, ParameterTable

SHARED = frozenset(row.name for row in ARM_PARAMETERS)


class PrefixedTable:
    """Parameters of one stage under the names that the stage's own node uses; in the table they are ``STAGE.NAME``."""

    def __init__(self, table: ParameterTable | GivenTable, stage: str) -> None:
        """Create a view of one stage's rows in a table."""
        self._table, self._prefix = table, f"{stage}."

    def declare(self, rows: Iterable[Parameter]) -> None:
        """Declare further rows; a parameter that is already declared keeps its value."""
        self._table.declare([replace(row, name=f"{self._prefix}{row.name}") for row in rows])

    def remove(self, names: Iterable[str]) -> None:
        """Undeclare the rows with these names."""
        self._table.remove([f"{self._prefix}{name}" for name in names])

    @property
    def rows(self) -> tuple[Parameter, ...]:
        """Return all declared rows of the stage, with the names that its own node uses."""
        own = (row for row in self._table.rows if row.name.startswith(self._prefix))
        return tuple(replace(row, name=row.name.removeprefix(self._prefix)) for row in own)

    def values(self) -> dict[str, Any]:
        """Return the present values by name.

        Raises:
            ConfigError: a value has the wrong type, is out of bounds or is not one of the choices.
        """
        return self.own(self._table.values())

    def own(self, values: dict[str, Any]) -> dict[str, Any]:
        """Select from all values those that the stage's own node would have, under the names that it uses."""
        return {
            name.removeprefix(self._prefix): value
            for name, value in values.items()
            if name in SHARED or name.startswith(self._prefix)
        }
