"""A mapping of a YAML file, checked against its keys: typed values; problems are added with line and key."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import yaml

from flexarm_tools.yaml_file.document import DEGREES, Document, ParameterValue, describe, join, nearest
from flexarm_tools.yaml_file.schema import Key, Kind

Vector = tuple[float, float, float]
Keys = tuple[Key, ...]


class Section:
    """One section of a file.

    Getters return the value of a key, or ``otherwise`` if the key is missing or its value is invalid. In the latter
    case a problem has been added, and objects built from the section must not be used.
    """

    def __init__(self, document: Document, node: yaml.Node, keys: Keys, path: str) -> None:
        """Check that the names of the keys are valid and that the required keys are present.

        Args:
            document: the file.
            node: node of the section.
            keys: its keys.
            path: path of the section in the file, empty for the file itself.
        """
        self.document, self.node, self.path = document, node, path
        self.keys = {key.name: key for key in keys}
        self.entries: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        names = list(self.keys)
        if not isinstance(node, yaml.MappingNode):
            message = f"expected a mapping with the keys {', '.join(names)}, got {describe(node)}"
            document.problem(node, path, message)
            return
        for name, (key_node, value_node) in document.entries(node, path).items():
            if name not in names:
                message = f"unknown key '{name}'; {nearest(name, names)}valid keys: {', '.join(names)}"
                document.problem(key_node, join(path, name), message)
            elif value_node.tag != "tag:yaml.org,2002:null" or self.keys[name].required:
                self.entries[name] = (key_node, value_node)
        for key in keys:
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
        return otherwise if node is None else self._scalar(node, key, join(self.path, name)) or otherwise

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

    def values(self, name: str) -> list[Any]:
        """Return a list of values of one type, for NUMBERS of finite numbers; empty if it is missing or invalid."""
        key = self.keys[name]
        node = self.entries[name][1] if name in self.entries else None
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            self.problem(name, f"expected {key.expected}, got {describe(node)}")
            return []
        found = self.document.parameter(node, join(self.path, name))
        values: list[Any] = found if isinstance(found, list) else []
        if key.kind is Kind.NUMBERS and not all(type(one) in (int, float) and math.isfinite(one) for one in values):
            self.problem(name, f"expected {key.expected}, got {', '.join(map(str, values))}")
            return []
        return values

    def value(self, name: str) -> Any:
        """Return the value of a key of any kind but sections and mappings."""
        getters: dict[Kind, Callable[[str], Any]] = {
            Kind.TEXT: self.text,
            Kind.NUMBER: self.number,
            Kind.BOOLEAN: self.boolean,
            Kind.VECTOR: self.vector,
            Kind.TEXTS: self.texts,
        }
        return getters[self.keys[name].kind](name)

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

    def text_mapping(self, name: str, *, exact: bool = False) -> dict[str, str]:
        """Return a mapping of texts; numbers and booleans are returned as written.

        Args:
            name: key of the mapping.
            exact: whether texts keep spaces around them, and may be empty.
        """
        key, path, nodes = self.keys[name], join(self.path, name), self._named(name, Kind.TEXT_MAPPING)
        return {k: self._scalar(node, key, join(path, k), exact=exact) for k, node in nodes.items()}

    def number_mapping(self, name: str) -> dict[str, float]:
        """Return a mapping of finite numbers; those that are none are left out and reported."""
        path, nodes = join(self.path, name), self._named(name, Kind.NUMBER_MAPPING)
        key = replace(self.keys[name], kind=Kind.NUMBER)
        numbers = {k: self._number(node, key, join(path, k)) for k, node in nodes.items()}
        return {k: number for k, number in numbers.items() if number is not None}

    def parameters(self, name: str) -> dict[str, ParameterValue]:
        """Return ROS parameters."""
        _, node = self._find(name, Kind.PARAMETERS)
        return {} if node is None else self.document.parameters(node, join(self.path, name))

    def parameter_problem(self, name: str, parameter: str, message: str) -> None:
        """Add a problem at one of the ROS parameters of a key, named as :meth:`parameters` does."""
        at, node = self.entries[name][0], self.entries[name][1]
        left = parameter
        while left and isinstance(node, yaml.MappingNode):
            entries = self.document.entries(node, "")
            found = next((key for key in entries if left == key or left.startswith(f"{key}.")), None)
            if found is None:
                break
            (at, node), left = entries[found], left[len(found) + 1 :]
        self.document.problem(at, join(join(self.path, name), parameter), message)

    def section(self, name: str) -> Section | None:
        """Return a section below this one."""
        key, node = self._find(name, Kind.SECTION)
        return None if node is None else Section(self.document, node, key.keys, join(self.path, name))

    def sections(self, name: str) -> list[Section]:
        """Return a list of sections."""
        key, node = self._find(name, Kind.SECTIONS)
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            self.problem(name, f"expected a {key.kind.value} (lines that begin with '- '), got {describe(node)}")
            return []
        path = join(self.path, name)
        return [Section(self.document, item, key.keys, f"{path}[{i}]") for i, item in enumerate(node.value)]

    def named_sections(self, name: str, choose: Callable[[yaml.Node], Keys] | None = None) -> dict[str, Section]:
        """Return sections by name.

        Args:
            name: key of the sections.
            choose: returns the keys of a section, where they depend on its content.
        """
        found = {}
        for k, node in self._named(name, Kind.NAMED_SECTIONS).items():
            keys = choose(node) if choose else self.keys[name].keys
            found[k] = Section(self.document, node, keys, join(join(self.path, name), k))
        return found

    def refuse_unknown(self, name: str, value: str, valid: Iterable[str], wrong: str) -> None:
        """Add a problem if a text is not one of the valid ones; it names those, and the one that may be meant.

        Args:
            name: key of the text.
            value: the text; an empty one was reported before.
            valid: valid texts.
            wrong: error for any other text.
        """
        known = tuple(valid)
        if value and value not in known:
            self.problem(name, f"{wrong}; {nearest(value, known)}valid: {', '.join(known) or 'none'}")

    def _named(self, name: str, kind: Kind) -> dict[str, yaml.Node]:
        """Return the values of a mapping by name."""
        key, node = self._find(name, kind)
        if node is None:
            return {}
        if not isinstance(node, yaml.MappingNode):
            self.problem(name, f"expected {key.expected}, got {describe(node)}")
            return {}
        path = join(self.path, name)
        entries = self.document.entries(node, path)
        for k, (key_node, _) in entries.items():
            if key.names and not key.names.fits(k):
                self.document.problem(key_node, join(path, k), f"'{k}' is not {key.names.words}")
        return {k: value for k, (_, value) in entries.items()}

    def _find(self, name: str, kind: Kind) -> tuple[Key, yaml.Node | None]:
        key = self.keys[name]
        if key.kind is not kind:
            raise TypeError(f"key '{name}' holds {key.kind.value}, not {kind.value}")
        return key, self.entries[name][1] if name in self.entries else None

    def _scalar(self, node: yaml.Node, key: Key, path: str, *, exact: bool = False) -> str:
        """Return a text, an empty one if it is invalid."""
        if self.document.scalar(node, path) is None:
            return ""
        if exact:
            return str(node.value)
        text = str(node.value).strip()
        if not text:
            wrong = f"is empty: expected {key.expected}"
        elif key.choices and text not in key.choices:
            wrong = f"expected {key.expected}, got '{text}'"
        elif key.form and not key.form.fits(text):
            wrong = f"'{text}' is not {key.form.words}"
        else:
            return text
        self.document.problem(node, path, wrong)
        return ""

    def _number(self, node: yaml.Node, key: Key, path: str) -> float | None:
        value = self.document.scalar(node, path)
        if value is None:
            return None
        if isinstance(value, (int, float)) and not isinstance(value, bool) and node.tag != DEGREES:
            low, above, below = key.minimum, key.above, key.below
            bounded = (low is None or value >= low) and (above is None or value > above)
            if math.isfinite(value) and bounded and (below is None or value < below):
                return float(value)
        got = f"the angle {node.value} deg" if node.tag == DEGREES else describe(node)
        self.document.problem(node, path, f"expected {key.expected}, got {got}")
        return None
