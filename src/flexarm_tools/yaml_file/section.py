"""A mapping of a YAML file, checked against its table of keys: typed values; problems are added with line and key."""

from __future__ import annotations

import math
from collections.abc import Iterable

import yaml

from flexarm_tools.yaml_file.document import DEGREES, Document, ParameterValue, describe, join, nearest
from flexarm_tools.yaml_file.schema import Key, Kind, Table

Vector = tuple[float, float, float]


class Section:
    """One section of a file.

    Getters return the value of a key, or ``otherwise`` if the key is missing or its value is invalid. In the latter
    case a problem has been added, and objects built from the section must not be used.
    """

    def __init__(self, document: Document, node: yaml.Node, table: Table, path: str) -> None:
        """Check that the names of the keys are valid and that the required keys are present.

        Args:
            document: the file.
            node: node of the section.
            table: table of its keys.
            path: path of the section in the file, empty for the file itself.
        """
        self.document, self.node, self.table, self.path = document, node, table, path
        self.entries: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        names = table.names()
        if not isinstance(node, yaml.MappingNode):
            message = f"expected a mapping with the keys {', '.join(names)}, got {describe(node)}"
            document.problem(node, path, message)
            return
        for name, (key_node, value_node) in document.entries(node, path).items():
            if name not in names:
                message = f"unknown key '{name}'; {nearest(name, names)}valid keys: {', '.join(names)}"
                document.problem(key_node, join(path, name), message)
            elif value_node.tag != "tag:yaml.org,2002:null" or table.key(name).required:
                self.entries[name] = (key_node, value_node)
        for key in table.keys:
            if key.required and key.name not in self.entries:
                document.problem(node, join(path, key.name), f"is missing: expected {key.expected}")

    def __contains__(self, name: str) -> bool:
        """Return whether a key is given."""
        return name in self.entries

    def problem(self, name: str, message: str) -> None:
        """Add a problem at the value of a key, or at the section if the key is missing or empty."""
        node = self.entries[name][1] if name in self.entries else self.node
        self.document.problem(node, join(self.path, name) if name else self.path, message)

    def text(self, name: str, otherwise: str = "") -> str:
        """Return a text; a number is returned as its text."""
        key, node = self._find(name, Kind.TEXT)
        if node is None:
            return otherwise
        value = self._scalar(node, key, join(self.path, name))
        if not value:
            return otherwise
        if key.choices and value not in key.choices:
            self.problem(name, f"expected {key.expected}, got '{value}'")
            return otherwise
        return value

    def number(self, name: str, otherwise: float = math.nan) -> float:
        """Return a finite number within the bounds of the key."""
        key, node = self._find(name, Kind.NUMBER)
        if node is None:
            return otherwise
        value = self._number(node, key, join(self.path, name))
        return math.nan if value is None else value

    def boolean(self, name: str, otherwise: bool = False) -> bool:
        """Return true or false."""
        key, node = self._find(name, Kind.BOOLEAN)
        if node is None:
            return otherwise
        value = self.document.scalar(node, join(self.path, name))
        if not isinstance(value, bool):
            self.problem(name, f"expected {key.expected}, got {describe(node)}")
            return otherwise
        return value

    def vector(self, name: str, otherwise: Vector = (0.0, 0.0, 0.0)) -> Vector:
        """Return three finite numbers."""
        key, node = self._find(name, Kind.VECTOR)
        if node is None:
            return otherwise
        if not isinstance(node, yaml.SequenceNode) or len(node.value) != 3:
            got = f"{len(node.value)} values" if isinstance(node, yaml.SequenceNode) else describe(node)
            self.problem(name, f"expected {key.expected} as [x, y, z], got {got}")
            return otherwise
        values = [self._number(item, key, f"{join(self.path, name)}[{i}]") for i, item in enumerate(node.value)]
        x, y, z = (math.nan if value is None else value for value in values)
        return x, y, z

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts."""
        key, node = self._find(name, Kind.TEXTS)
        if node is None:
            return ()
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            self.problem(name, f"expected {key.expected}, got {describe(node)}")
            return ()
        path = join(self.path, name)
        return tuple(self._scalar(item, key, f"{path}[{i}]") for i, item in enumerate(node.value))

    def text_mapping(self, name: str) -> dict[str, str]:
        """Return a mapping of texts; numbers and booleans are returned as written."""
        key, node = self._find(name, Kind.TEXT_MAPPING)
        if node is None:
            return {}
        if not isinstance(node, yaml.MappingNode):
            self.problem(name, f"expected {key.expected}, got {describe(node)}")
            return {}
        path = join(self.path, name)
        return {k: self._scalar(v, key, join(path, k)) for k, (_, v) in self.document.entries(node, path).items()}

    def parameters(self, name: str) -> dict[str, ParameterValue]:
        """Return ROS parameters."""
        _, node = self._find(name, Kind.PARAMETERS)
        return {} if node is None else self.document.parameters(node, join(self.path, name))

    def section(self, name: str, table: Table) -> Section | None:
        """Return a section below this one."""
        _, node = self._find(name, Kind.SECTION)
        return None if node is None else Section(self.document, node, table, join(self.path, name))

    def sections(self, name: str, table: Table) -> list[Section]:
        """Return a list of sections."""
        key, node = self._find(name, Kind.SECTIONS)
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            self.problem(name, f"expected a {key.kind.value} (lines that begin with '- '), got {describe(node)}")
            return []
        path = join(self.path, name)
        return [Section(self.document, item, table, f"{path}[{i}]") for i, item in enumerate(node.value)]

    def named_nodes(self, name: str) -> dict[str, yaml.Node]:
        """Return the nodes of sections by name, for sections whose table depends on their content."""
        key, node = self._find(name, Kind.NAMED_SECTIONS)
        if node is None:
            return {}
        if not isinstance(node, yaml.MappingNode):
            self.problem(name, f"expected {key.kind.value}, got {describe(node)}")
            return {}
        return {k: value for k, (_, value) in self.document.entries(node, join(self.path, name)).items()}

    def _find(self, name: str, kind: Kind) -> tuple[Key, yaml.Node | None]:
        key = self.table.key(name)
        if key.kind is not kind:
            raise TypeError(f"key '{name}' holds {key.kind.value}, not {kind.value}")
        return key, self.entries[name][1] if name in self.entries else None

    def _scalar(self, node: yaml.Node, key: Key, path: str) -> str:
        if self.document.scalar(node, path) is None:
            return ""
        if not node.value.strip():
            self.document.problem(node, path, f"is empty: expected {key.expected}")
        return str(node.value).strip()

    def _number(self, node: yaml.Node, key: Key, path: str) -> float | None:
        value = self.document.scalar(node, path)
        if value is None:
            return None
        fits = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        fits = fits and node.tag != DEGREES and all(_within(float(value), key))
        if not fits:
            got = f"the angle {node.value} deg" if node.tag == DEGREES else describe(node)
            self.document.problem(node, path, f"expected {key.expected}, got {got}")
            return None
        return float(value)


def _within(value: float, key: Key) -> Iterable[bool]:
    yield key.minimum is None or value >= key.minimum
    yield key.above is None or value > key.above
    yield key.below is None or value < key.below
