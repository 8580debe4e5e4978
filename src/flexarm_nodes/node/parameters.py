"""One table per node, from which its parameters are declared, bounded, validated and documented."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from flexarm_core.errors import ConfigError, FlexarmError

LIVE = "may change while the node is active"  # text in a descriptor's additional_constraints
PYTHON_TYPES: dict[str, type] = {"bool": bool, "int": int, "double": float, "string": str}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One row of a node's parameter table.

    Attributes:
        name: parameter name.
        kind: ``bool``, ``int``, ``double``, ``string``, ``double[]``, ``string[]`` or ``bool[]``.
        default: default value.
        description: what the parameter does.
        unit: SI unit, or empty.
        lower: smallest allowed number, or None.
        upper: largest allowed number, or None.
        choices: allowed strings, or empty.
        live: whether it may change while the node is active; other parameters are read when the node is configured.
    """

    name: str
    kind: str
    default: Any
    description: str
    unit: str = ""
    lower: float | None = None
    upper: float | None = None
    choices: tuple[str, ...] = ()
    live: bool = False


ARM_PARAMETERS = (
    Parameter("robot_description", "string", "",
        "robot description as URDF text; empty: received from the robot_description topic"),
    Parameter("tool_frame", "string", "",
        "link used as the tool frame; empty: tool0 if there is one, otherwise the only tip link"),
    Parameter("gravity", "double[]", [0.0, 0.0, -9.81], "gravity vector in the axes of the root link", "m/s^2"),
    Parameter("frame_prefix", "string", "",
        "text in front of the names of links in the headers of markers, wrenches, IMU readings and poses, as in TF"
        " (the parameter frame_prefix of robot_state_publisher); messages are read with it and without"),
    Parameter("thread_priority", "int", 0,
        "real-time priority (SCHED_FIFO) requested at activation; 0: normal scheduling", "", 0, 99),
)  # fmt: skip


class ParameterTable:
    """Declares the rows of a table on a node and keeps their values valid."""

    def __init__(self, node: Node, rows: tuple[Parameter, ...]) -> None:
        """Declare every row.

        Args:
            node: node that gets the parameters.
            rows: rows of the table.
        """
        self._node = node
        self._rows: dict[str, Parameter] = {}
        self._check: Callable[[dict[str, Any]], None] | None = None
        self.declare(rows)
        node.add_on_set_parameters_callback(self._on_set)

    def declare(self, rows: Iterable[Parameter]) -> None:
        """Declare further rows; a parameter that is already declared keeps its value."""
        for row in rows:
            if row.name not in self._rows:
                self._node.declare_parameter(row.name, row.default, _descriptor(row))
        self._rows |= {row.name: row for row in rows}

    def remove(self, names: Iterable[str]) -> None:
        """Undeclare the rows with these names."""
        for name in names:
            del self._rows[name]
            self._node.undeclare_parameter(name)

    @property
    def rows(self) -> tuple[Parameter, ...]:
        """Return all declared rows."""
        return tuple(self._rows.values())

    def values(self) -> dict[str, Any]:
        """Return the present values by name; arrays as lists.

        Raises:
            ConfigError: a value has the wrong type, is out of bounds or is not one of the choices.
        """
        return {name: _checked(row, self._node.get_parameter(name).value) for name, row in self._rows.items()}

    def on_change(self, check: Callable[[dict[str, Any]], None] | None) -> None:
        """Call ``check`` with all values when live parameters change; a FlexarmError from it rejects the change."""
        self._check = check

    def _on_set(self, changes: list[RosParameter]) -> SetParametersResult:
        try:
            # Values from a file are validated when the node is configured; until then a bad value can be corrected.
            values = {} if self._check is None else self.values()
            for change in changes:
                row = self._rows.get(change.name)
                if row is None:
                    continue
                if self._check is not None and not row.live:
                    raise ConfigError(f"{row.name} can only change while the node is not configured")
                values[row.name] = _checked(row, change.value)
            if self._check is not None and any(change.name in self._rows for change in changes):
                self._check(values)
        except FlexarmError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)


def row_values(rows: Iterable[Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a table without a node: the given value, else the default.

    Raises:
        ConfigError: a value has the wrong type, is out of bounds or is not one of the choices.
    """
    return {row.name: _checked(row, given.get(row.name, row.default)) for row in rows}


def _checked(row: Parameter, value: Any) -> Any:
    """Return the validated value of a row; an integer is accepted for a double, since YAML may write 4 for 4.0."""
    wanted = PYTHON_TYPES[row.kind.removesuffix("[]")]
    listed = row.kind.endswith("[]")
    unbounded = row.default if listed else (row.default, row.lower, row.upper)  # infinite only if the row allows it
    items = list(value) if listed and not isinstance(value, str) and hasattr(value, "__len__") else [value]
    if wanted is float:
        items = [float(item) if type(item) is int else item for item in items]
    if any(type(item) is not wanted for item in items) or (listed and not hasattr(value, "__len__")):
        raise ConfigError(f"parameter {row.name} must be {row.kind}, got {value!r}")
    if wanted is float and not all(math.isfinite(item) or item in unbounded for item in items):
        raise ConfigError(f"parameter {row.name} must be finite, got {value}")
    for item in items:
        if row.choices and item not in row.choices:
            raise ConfigError(f"parameter {row.name} must be one of {', '.join(row.choices)}; got '{item}'")
        below = row.lower is not None and not item >= row.lower
        if below or (row.upper is not None and not item <= row.upper):
            raise ConfigError(f"parameter {row.name} must lie in [{row.lower}, {row.upper}], got {item}")
    return items if listed else items[0]


def _descriptor(row: Parameter) -> ParameterDescriptor:
    unit = f" [{row.unit}]" if row.unit else ""
    constraints = f"one of: {', '.join(row.choices)}" if row.choices else ""
    if row.lower is not None or row.upper is not None:
        constraints = f"in [{row.lower}, {row.upper}]"
    constraints = "; ".join(filter(None, (constraints, LIVE if row.live else "")))
    # The table checks the types itself: rclpy would end the process if a parameter file has 4 for 4.0.
    return ParameterDescriptor(
        description=f"{row.description}{unit}", additional_constraints=constraints, dynamic_typing=True
    )
