"""A YAML file with its line numbers, so that all problems can be reported together, each with its position."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from flexarm_core.errors import ConfigError
from flexarm_core.text_file import read_text
from flexarm_core.yaml_bounds import MOST_BYTES, excess

Scalar = bool | int | float | str
ParameterValue = bool | int | float | str | list[bool] | list[int] | list[float] | list[str]
Parameters = Mapping[str, ParameterValue]

DEGREES = "!degrees"
LONGEST_MESSAGE, LONGEST_KEY = 500, 80  # [characters] longer texts are truncated
MOST_PROBLEMS = 30  # listed in one message
_EXPONENT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+")
_ITEM = re.compile(r"nodes\[(\d+)\]")
_TYPE_NAMES = {bool: "true or false", int: "integer", float: "number", str: "text"}


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem in a file."""

    path: Path  # file that contains the problem
    line: int  # line number, from 1
    key: str  # path of the key, for example `events[1].at`; empty for the file as a whole
    message: str  # what is wrong, what is valid, and how to correct it
    # file that was read, if the problem is in a base of that file; ignored when problems are compared, so that the same
    # problem is reported only once
    variant: Path | None = field(default=None, compare=False)

    def __str__(self) -> str:
        """Format as ``file:line: key: message``."""
        origin = f" (base of {self.variant})" if self.variant else ""
        return f"{self.path}:{self.line}: {self.key + ': ' if self.key else ''}{self.message}{origin}"


class Document:
    """A YAML file, possibly merged from several files, and the problems found so far.

    Attributes:
        path: the file.
        text: its text; for merged files, the equivalent YAML in one file.
        root: root node, None if the file cannot be used.
        problems: problems, each with the file, line and key of the value.
        indices: only for merged files: for every item of the list ``nodes``, its index in each file that contains an
            entry for it.
    """

    def __init__(self, path: Path, kind: str) -> None:
        """Read a file; a syntax error becomes a problem, and ``root`` is then None.

        Args:
            path: file to read.
            kind: kind of file for messages: ``scenario`` or ``study``.

        Raises:
            ConfigError: the file cannot be read, or is XML.
        """
        self.path = path
        self.problems: list[Problem] = []
        self.root: yaml.Node | None = None
        self.indices: list[dict[Path, int]] = []
        if not path.exists():
            raise ConfigError(f"{kind} file '{path}' does not exist")
        self.text = read_text(path, f"{kind} file", MOST_BYTES)
        if too_much := excess(self.text):
            raise ConfigError(f"{kind} file '{path}' {too_much}")
        if self.text.lstrip().startswith("<"):
            raise ConfigError(
                f"'{path}' is XML, not a {kind} file: of a robot, `flexarm check {path} --write first.yaml`"
                " writes a first scenario for it"
            )
        try:
            loader = yaml.SafeLoader(self.text)
            loader.name = str(path)  # stored in every mark: each node refers to its file
            self.root = loader.get_single_node()
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            self._add(mark.line + 1 if mark else 1, "", f"not valid YAML: {error.problem or error.context}")
        except yaml.YAMLError as error:
            self._add(1, "", f"not valid YAML: {error}")
        else:
            if self.root is None:
                self._add(1, "", f"the file is empty: expected a {kind}")

    def problem(self, node: yaml.Node, key: str, message: str) -> None:
        """Add a problem at a node, which may originate from another file that was merged into this document."""
        path = Path(node.start_mark.name)
        item = _ITEM.match(key)
        if item and self.indices:
            key = f"nodes[{self.indices[int(item[1])][path]}]{key[item.end() :]}"
        self._add(node.start_mark.line + 1, key, message, path)

    def _add(self, line: int, key: str, message: str, path: Path | None = None) -> None:
        base = path is not None and path != self.path
        message = message if len(message) <= LONGEST_MESSAGE else f"{message[: LONGEST_MESSAGE - 3]}..."
        key = key if len(key) <= LONGEST_KEY else f"{key[: LONGEST_KEY - 3]}..."
        found = Problem(path or self.path, line, key, message, self.path if base else None)
        if found not in self.problems:  # an aliased node is read at each use
            self.problems.append(found)

    def entries(self, node: yaml.Node, key: str) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        """Return the key and value nodes of a mapping by key; duplicate and invalid keys become problems."""
        found: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self.problem(key_node, key, "a key must be plain text")
            elif key_node.value == "<<":
                self.problem(key_node, key, "merge keys (<<) are not supported: write the keys out")
            elif key_node.value in found:
                first = found[key_node.value][0].start_mark.line + 1
                self.problem(key_node, join(key, key_node.value), f"duplicate key, first given in line {first}")
            else:
                found[key_node.value] = (key_node, value_node)
        return found

    def scalar(self, node: yaml.Node, key: str) -> Scalar | None:
        """Return the value of a scalar node; None, with a problem added, if it has none."""
        if not isinstance(node, yaml.ScalarNode):
            self.problem(node, key, f"expected a single value, got {describe(node)}")
            return None
        if node.tag == DEGREES:
            return self._degrees(node, key)
        if node.tag == "tag:yaml.org,2002:str":
            # YAML 1.1 reads 1e-5 as text (it requires 1.0e-5); here it is read as a number.
            plain = node.style is None and _EXPONENT.fullmatch(node.value)
            return float(node.value) if plain else str(node.value)
        if node.tag == "tag:yaml.org,2002:null":
            self.problem(node, key, "has no value: give one or leave the key out")
            return None
        if node.tag in ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value"):
            return str(node.value)
        try:
            value = yaml.constructor.SafeConstructor().construct_object(node)
        except (yaml.YAMLError, ValueError):
            value = None
        if isinstance(value, (bool, int, float, str)):
            return value
        self.problem(node, key, f"cannot be read as {node.tag}; the only tag that is known is {DEGREES}")
        return None

    def _degrees(self, node: yaml.ScalarNode, key: str) -> float | None:
        try:
            angle = math.radians(float(node.value))
        except ValueError:
            angle = math.nan
        if math.isfinite(angle):
            return angle
        self.problem(node, key, f"{DEGREES} needs a number, got '{node.value}'")
        return None

    def parameter(self, node: yaml.Node, key: str) -> ParameterValue | None:
        """Return the value of a ROS parameter: a scalar or a list of scalars of one type."""
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node, key)
        if not isinstance(node, yaml.SequenceNode):
            self.problem(node, key, f"expected a value or a list of values, got {describe(node)}")
            return None
        if not node.value:
            self.problem(node, key, "an empty list has no type for ROS: give values or leave the key out")
            return None
        values = [self._item(item, node.tag, f"{key}[{i}]") for i, item in enumerate(node.value)]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return None
        types = {type(value) for value in known}
        if types == {int, float}:
            return [float(value) for value in known]
        if len(types) > 1:
            names = " and ".join(sorted(_TYPE_NAMES[t] for t in types))
            self.problem(node, key, f"a ROS parameter list holds one type, this one mixes {names}")
            return None
        return known  # type: ignore[return-value]  # one type, as was just checked

    def _item(self, item: yaml.Node, list_tag: str, key: str) -> Scalar | None:
        if not isinstance(item, yaml.ScalarNode):
            self.problem(item, key, f"a ROS parameter list holds single values, got {describe(item)}")
            return None
        if list_tag == DEGREES:
            return self._degrees(item, key)
        if list_tag != "tag:yaml.org,2002:seq":
            self.problem(item, key, f"tag {list_tag} is not known; the only one is {DEGREES}")
            return None
        return self.scalar(item, key)

    def parameters(self, node: yaml.Node, key: str) -> dict[str, ParameterValue]:
        """Return the ROS parameters of a free mapping; nested mappings become dotted names, as in parameter files."""
        if not isinstance(node, yaml.MappingNode):
            self.problem(node, key, f"expected a mapping of parameters, got {describe(node)}")
            return {}
        found: dict[str, ParameterValue] = {}
        for name, (key_node, value_node) in self.entries(node, key).items():
            path = join(key, name)
            if isinstance(value_node, yaml.MappingNode):
                values = {f"{name}.{k}": v for k, v in self.parameters(value_node, path).items()}
            else:
                value = self.parameter(value_node, path)
                values = {} if value is None else {name: value}
            for dotted, value in values.items():
                if dotted in found:
                    self.problem(key_node, path, f"parameter '{dotted}' is given twice")
                found[dotted] = value
        return found


def join(key: str, name: str) -> str:
    """Return the path of a key below another key."""
    return f"{key}.{name}" if key else name


def describe(node: yaml.Node) -> str:
    """Describe a node for messages."""
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return f"'{node.value}'" if node.value else "nothing"


def nearest(wrong: str, valid: Iterable[str]) -> str:
    """Return ``did you mean 'x'? `` if a similar valid word exists, else an empty string."""
    match = difflib.get_close_matches(str(wrong), list(valid), n=1, cutoff=0.6)
    return f"did you mean '{match[0]}'? " if match else ""


def raise_problems(problems: Iterable[Problem], kind: str) -> None:
    """Raise ConfigError if there are problems, with all of them, ordered by file and line."""
    found = sorted(dict.fromkeys(problems), key=lambda problem: (str(problem.path), problem.line))
    if found:
        head = f"{len(found)} problem{'s' if len(found) > 1 else ''} in the {kind}:"
        more = [f"... and {len(found) - MOST_PROBLEMS} more"] if len(found) > MOST_PROBLEMS else []
        raise ConfigError("\n  ".join([head, *map(str, found[:MOST_PROBLEMS]), *more]))
