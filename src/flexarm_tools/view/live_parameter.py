"""LiveParameter: a parameter that can be changed while its node is active, read from its descriptor."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor, ParameterType, ParameterValue
from rclpy.parameter import parameter_value_to_python

from flexarm_core.errors import InputError
from flexarm_nodes.node.parameters import LIVE

KINDS = {
    ParameterType.PARAMETER_BOOL: "bool",
    ParameterType.PARAMETER_INTEGER: "int",
    ParameterType.PARAMETER_DOUBLE: "double",
    ParameterType.PARAMETER_STRING: "string",
    ParameterType.PARAMETER_DOUBLE_ARRAY: "double[]",
}


@dataclass(frozen=True, slots=True)
class LiveParameter:
    """A parameter that can be changed now."""

    node: str  # full name of its node
    name: str  # name of the parameter
    kind: str  # `bool`, `int`, `double`, `string` or `double[]`
    value: Any  # current value
    description: str  # description with unit
    lower: float | None  # smallest allowed number, or None
    upper: float | None  # largest allowed number, or None
    choices: tuple[str, ...]  # allowed strings, or empty

    def parse(self, entry: Any) -> Any:
        """Convert an entry of the page to a value.

        Raises:
            InputError: the text is not a list of numbers.
        """
        if self.kind == "double[]":
            try:
                return [float(word) for word in str(entry).replace(",", " ").split()]
            except ValueError as error:
                raise InputError(f"{self.name}: '{entry}' is not a list of numbers") from error
        return {"bool": bool, "int": int, "double": float, "string": str}[self.kind](entry)


def read_parameter(node: str, descriptor: ParameterDescriptor, value: ParameterValue) -> LiveParameter | None:
    """Return the parameter of a descriptor, None if it cannot be changed now or its type has no control on the page."""
    constraints = descriptor.additional_constraints
    if LIVE not in constraints or descriptor.read_only or value.type not in KINDS:
        return None
    bounds = re.search(r"in \[([^,\]]+), ([^\]]+)\]", constraints)
    lower, upper = (None if text == "None" else float(text) for text in bounds.groups()) if bounds else (None, None)
    listed = re.search(r"one of: ([^;]+)", constraints)
    choices = tuple(listed.group(1).split(", ")) if listed else ()
    kind, now = KINDS[value.type], parameter_value_to_python(value)
    return LiveParameter(node, descriptor.name, kind, now, descriptor.description, lower, upper, choices)
