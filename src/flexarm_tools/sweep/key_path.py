"""Set any key of a scenario by its path, such as ``nodes.hardware_gate.parameters.rate`` or ``gravity[2]``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import yaml

from flexarm_core.errors import ConfigError
from flexarm_nodes.registry import parameters_of
from flexarm_tools.scenario.scenario import PLANT
from flexarm_tools.scenario.tables import FIGURES, NODES, SCENARIO
from flexarm_tools.yaml_file.document import DEGREES, Scalar, nearest
from flexarm_tools.yaml_file.schema import Key, Kind
from flexarm_tools.yaml_file.section import Keys

_HEAD = re.compile(r"([^.\[\]]+)(.*)", re.DOTALL)
_INDEX = re.compile(r"\[(\d+)\](.*)", re.DOTALL)
_MAPPINGS = (Kind.TEXT_MAPPING, Kind.NUMBER_MAPPING)
_LISTS = (Kind.VECTOR, Kind.NUMBERS, Kind.VALUES, Kind.TEXTS)
_MAP, _SEQUENCE = "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"
_TAGS = {bool: "bool", int: "int", float: "float", str: "str"}


def scalar_node(value: Scalar, like: yaml.Node) -> yaml.ScalarNode:
    """Return the node of a value at the position of another node, where problems of the value are reported."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return yaml.ScalarNode(f"tag:yaml.org,2002:{_TAGS[type(value)]}", text, like.start_mark, like.end_mark)


def with_value(root: yaml.Node, path: str, value: yaml.ScalarNode) -> yaml.Node:
    """Return the root of a scenario without a base in which one key has another value; the given one stays as it is.

    Args:
        root: root of the scenario.
        path: path of the key. Items of lists are counted from 0; nodes have their names in the place of numbers.
        value: value of the key; in a list of degrees it is an angle in radians.

    Raises:
        ConfigError: there is no such key.
    """
    return _in_section(root, SCENARIO, path, value, "")


def _in_section(
    node: yaml.Node, keys: Keys, path: str, value: yaml.ScalarNode, before: str, executable: str = ""
) -> yaml.Node:
    found = _HEAD.fullmatch(path)
    known = {key.name: key for key in keys}
    name, rest = (found[1], found[2]) if found else (path, "")
    if name not in known or name == "base":
        valid = [one for one in known if one != "base"]
        where = f" in {before}" if before else ""
        raise ConfigError(f"there is no key '{name}'{where}; {nearest(name, valid)}valid: {', '.join(valid)}")
    old = _entries(node).get(name)
    if isinstance(old, yaml.ScalarNode) and known[name].kind not in (Kind.TEXT, Kind.NUMBER, Kind.BOOLEAN):
        old = None  # empty
    place = f"{before}.{name}" if before else name
    return _replaced(
        node, name, _in_value(old, known[name], rest, value, place, PLANT if name == "plant" else executable)
    )


def _in_value(
    old: yaml.Node | None, key: Key, rest: str, value: yaml.ScalarNode, before: str, executable: str
) -> yaml.Node:
    below = rest[1:] if rest.startswith(".") and len(rest) > 1 else ""
    mapping = old if old is not None else yaml.MappingNode(_MAP, [], value.start_mark, value.end_mark)
    if key.kind in (Kind.SECTION, Kind.PARAMETERS, *_MAPPINGS) and not below:
        raise ConfigError(f"'{before}' holds several values: name one, as {before}.NAME")
    if key.kind is Kind.SECTION:
        return _in_section(mapping, key.keys, below, value, before)
    if key.kind in (Kind.PARAMETERS, *_MAPPINGS):
        return _in_parameters(mapping, below, value, before, executable)
    if key.kind is Kind.NAMED_SECTIONS:
        name, _, inner = below.partition(".")
        section = _known(_entries(mapping), name, before)
        pairs = _entries(section)
        choices = (*FIGURES, *(Key(one, Kind.NUMBER, "") for one in pairs if one not in {k.name for k in FIGURES}))
        return _replaced(mapping, name, _in_section(section, choices, inner, value, f"{before}.{name}"))
    if key.kind is Kind.SECTIONS:
        return _in_sections(old, key, rest, value, before)
    return _in_item(old, rest, value, before) if key.kind in _LISTS or rest else value


def _in_sections(old: yaml.Node | None, key: Key, rest: str, value: yaml.ScalarNode, before: str) -> yaml.Node:
    items = list(old.value) if isinstance(old, yaml.SequenceNode) else []
    index = _INDEX.fullmatch(rest)
    if key.keys is NODES and not index:
        name, _, inner = rest[1:].partition(".")
        names = {_name(item): i for i, item in enumerate(items)}
        _known(dict.fromkeys(names, value), name, before)
        number, before = names[name], f"{before}.{name}"
        executable = _text(items[number], "executable").removeprefix("flexarm/")
        items[number] = _in_section(items[number], key.keys, inner, value, before, executable)
    else:
        number = int(index[1]) if index else -1
        if not 0 <= number < len(items):
            raise ConfigError(f"'{before}' is a list of {len(items)}: name an item, as {before}[0]")
        assert index is not None
        items[number] = _in_section(items[number], key.keys, index[2].removeprefix("."), value, f"{before}[{number}]")
    return _like(old, items, value)


def _in_parameters(
    mapping: yaml.Node, path: str, value: yaml.ScalarNode, before: str, executable: str, prefix: str = ""
) -> yaml.Node:
    """Set a parameter, which the file may write nested or with dots; one that is not there must be of the table."""
    name, bracket, index = path.partition("[")
    full = f"{prefix}{name}"
    rows = {row.name: row for row in parameters_of(executable)} if executable else {}
    many = full in rows and rows[full].kind.endswith("[]")
    for given, node in _entries(mapping).items():
        if given == name and (bracket or not many):
            return _replaced(mapping, given, _in_item(node, bracket + index, value, f"{before}.{name}"))
        if name.startswith(f"{given}.") and isinstance(node, yaml.MappingNode):
            inner = path[len(given) + 1 :]
            changed = _in_parameters(node, inner, value, f"{before}.{given}", executable, f"{prefix}{given}.")
            return _replaced(mapping, given, changed)
    if rows and full not in rows:
        raise ConfigError(f"{executable} has no parameter '{full}'; {nearest(full, rows)}see docs/parameters.md")
    if bracket:
        raise ConfigError(f"'{before}.{name}' is not in the scenario: give the list there, an item of which can vary")
    return _replaced(mapping, name, _like(None, [value], value) if many else value)  # one for all of a list


def _in_item(old: yaml.Node | None, rest: str, value: yaml.ScalarNode, before: str) -> yaml.Node:
    """Return a value, or the list in which it replaces an item."""
    index = _INDEX.fullmatch(rest)
    if not rest and not isinstance(old, (yaml.SequenceNode, yaml.MappingNode)):
        return value
    count = len(old.value) if isinstance(old, yaml.SequenceNode) else 0
    if old is None or not count:
        raise ConfigError(f"'{before}' is no list in the scenario, of which an item could vary")
    if index is None or index[2] or int(index[1]) >= count:
        raise ConfigError(f"'{before}' is a list of {count}: name an item, as {before}[0]")
    if old.tag == DEGREES:
        value = scalar_node(math.degrees(float(value.value)), value)
    items = list(old.value)
    items[int(index[1])] = value
    return _like(old, items, value)


def _known(entries: dict[str, yaml.Node], name: str, before: str) -> yaml.Node:
    if name not in entries:
        choice = f"{nearest(name, entries)}valid: {', '.join(entries) or 'none'}"
        raise ConfigError(f"'{before}' has no '{name}' in the scenario; {choice}")
    return entries[name]


def _entries(node: yaml.Node) -> dict[str, yaml.Node]:
    return {key.value: value for key, value in node.value} if isinstance(node, yaml.MappingNode) else {}


def _text(node: yaml.Node, name: str) -> str:
    found = _entries(node).get(name)
    return str(found.value) if isinstance(found, yaml.ScalarNode) else ""


def _name(node: yaml.Node) -> str:
    return _text(node, "name") or _text(node, "executable").rpartition("/")[2]


def _like(old: yaml.Node | None, items: Iterable[yaml.Node], value: yaml.Node) -> yaml.SequenceNode:
    mark = old or value
    tag = old.tag if old is not None else _SEQUENCE
    return yaml.SequenceNode(tag, list(items), mark.start_mark, mark.end_mark)


def _replaced(mapping: yaml.Node, name: str, value: yaml.Node) -> yaml.MappingNode:
    """Return a mapping with another value for a key."""
    pairs = [(key, value if key.value == name else old) for key, old in mapping.value]
    if all(key.value != name for key, _ in pairs):
        pairs.append((yaml.ScalarNode("tag:yaml.org,2002:str", name, value.start_mark, value.end_mark), value))
    return yaml.MappingNode(mapping.tag, pairs, mapping.start_mark, mapping.end_mark)
