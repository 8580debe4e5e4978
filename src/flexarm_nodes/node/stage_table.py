"""StageTable: the part of a parameter table that belongs to one stage of a control loop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from flexarm_nodes.node.parameters import Parameter, ParameterTable


class StageTable:
    """Parameters of a stage under the names that its node has for them; in the table they are ``STAGE.NAME``."""

    def __init__(self, table: ParameterTable, stage: str) -> None:
        """See one stage of a table."""
        self._table, self._prefix = table, f"{stage}."

    def declare(self, rows: Iterable[Parameter]) -> None:
        """Declare further rows; a parameter that is there already keeps its value."""
        self._table.declare([replace(row, name=f"{self._prefix}{row.name}") for row in rows])

    def remove(self, names: Iterable[str]) -> None:
        """Take declared rows away again."""
        self._table.remove([f"{self._prefix}{name}" for name in names])

    @property
    def rows(self) -> tuple[Parameter, ...]:
        """All that are declared."""
        own = (row for row in self._table.rows if row.name.startswith(self._prefix))
        return tuple(replace(row, name=row.name.removeprefix(self._prefix)) for row in own)

    def values(self) -> dict[str, Any]:
        """Present values by name.

        Raises:
            ConfigError: a value of another type, out of its bounds or not one of its choices.
        """
        return self.own(self._table.values())

    def own(self, values: dict[str, Any]) -> dict[str, Any]:
        """Those of all values that are the stage's, by the names that its node has for them."""
        return {
            name.removeprefix(self._prefix): value for name, value in values.items() if name.startswith(self._prefix)
        }
