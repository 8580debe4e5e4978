"""Merge a scenario file with its base: the file contains only what differs from the base."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from flexarm_core.errors import ConfigError
from flexarm_tools.graph.packages import Packages, resolve
from flexarm_tools.scenario.tables import NODES, NODES_OVER_BASE
from flexarm_tools.yaml_file.document import Document, describe, join, nearest
from flexarm_tools.yaml_file.section import Section

_Pair = tuple[yaml.Node, yaml.Node]
_NULL = "tag:yaml.org,2002:null"
_KEPT = tuple(key.name for key in NODES)


@dataclass(slots=True, eq=False)
class _Item:
    """An item of the list ``nodes``, and its index in each file that contains an entry for it."""

    node: yaml.Node
    indices: dict[Path, int]

    @property
    def executable(self) -> str:
        """Executable, without the package name if that is flexarm."""
        return _text(self.node, "executable").removeprefix("flexarm/")

    @property
    def name(self) -> str:
        """Name of the node, by default that of the executable."""
        return _text(self.node, "name") or self.executable.rpartition("/")[2]


class _Nodes(yaml.SequenceNode):
    """List of nodes that was merged from several files."""

    def __init__(self, node: yaml.SequenceNode, items: list[_Item]) -> None:
        values = [item.node for item in items]
        super().__init__(node.tag, values, node.start_mark, node.end_mark, flow_style=False)
        self.items = items


def lay_over_base(document: Document, packages: Packages) -> None:
    """Merge a scenario with the file under its key ``base``, that file with its own base, and so on.

    Mappings are merged key by key, other values replace those of the base, and an empty value deletes a key. Nodes are
    matched by executable, or by name if several nodes have the same executable. Afterwards the root of the document is
    the merged scenario, and its text is the equivalent YAML without a base. A document without a base keeps its text.
    The root becomes None if a base cannot be used.

    Args:
        document: the scenario; receives the problems, each with the file, line and key where it occurs.
        packages: locates ROS packages.
    """
    layers = _layers(document, packages)
    merged = layers[-1].root
    if len(layers) == 1 or merged is None:
        document.root = merged
        return
    for layer in layers:
        _move_descriptions(layer, document.path.parent)
    for layer in reversed(layers[:-1]):
        if layer.root is not None:  # only the last layer may be None
            merged = _merged(document, merged, layer.root, "")
    nodes = _pairs(merged)["nodes"][1] if "nodes" in _pairs(merged) else None
    document.indices = [item.indices for item in nodes.items] if isinstance(nodes, _Nodes) else []
    document.root = merged
    title = " laid over ".join(layer.path.name for layer in layers)
    text = yaml.serialize(merged, Dumper=yaml.SafeDumper, width=120, allow_unicode=True)
    document.text = f"# {title}\n{text}"


def _layers(document: Document, packages: Packages) -> list[Document]:
    """Return the file, its base, the base of its base and so on; root is None if a base cannot be used."""
    layers = [document]
    while "base" in (pairs := _pairs(layers[-1].root)):
        node = pairs["base"][1]
        root, folder = layers[-1].root, layers[-1].path.parent
        assert root is not None  # it has the key 'base'
        _check_keys(document, root, "")
        root.value = [pair for pair in root.value if pair[0].value != "base"]
        if node.tag == _NULL:
            break
        uri = node.value.strip() if isinstance(node, yaml.ScalarNode) else ""
        path, wrong = resolve(uri, folder, packages)
        chain = [layer.path.resolve() for layer in layers]
        if not uri:
            wrong = f"expected a scenario file, got {describe(node)}"
        elif path.resolve() in chain:
            names = [layer.path.name for layer in layers[chain.index(path.resolve()) :]]
            wrong = f"a scenario cannot be its own base: {' -> '.join([*names, path.name])}"
        try:
            base = None if wrong else Document(path, "scenario")
        except ConfigError as error:
            base, wrong = None, str(error)
        if base is None:
            document.problem(node, "base", wrong)
            document.root = None
            return [document]
        document.problems += base.problems
        if base.root is not None and not isinstance(base.root, yaml.MappingNode):
            document.problem(base.root, "", f"expected the keys of a scenario, got {describe(base.root)}")
            base.root = None
        layers.append(base)
    if len(layers) > 1:
        _check_keys(document, layers[-1].root, "")
    return layers


def _check_keys(document: Document, node: yaml.Node | None, key: str) -> None:
    """Report duplicate and invalid keys of one file; after the merge they can no longer be detected."""
    if isinstance(node, yaml.MappingNode):
        for name, (_, value) in document.entries(node, key).items():
            _check_keys(document, value, join(key, name))
    elif isinstance(node, yaml.SequenceNode):
        for i, item in enumerate(node.value):
            _check_keys(document, item, f"{key}[{i}]")


def _move_descriptions(layer: Document, folder: Path) -> None:
    """Make the relative paths of robot descriptions, and of their joint limits, relative to another folder."""
    if layer.path.parent.resolve() == folder.resolve():
        return
    sections = [_pairs(layer.root)[name][1] for name in ("robot", "plant_robot") if name in _pairs(layer.root)]
    keys = ("description", "joint_limits")
    files = [_pairs(section)[key][1] for section in sections for key in keys if key in _pairs(section)]
    for file in {id(file): file for file in files if isinstance(file, yaml.ScalarNode)}.values():  # aliases may repeat
        if file.value and "://" not in file.value and not Path(file.value).is_absolute():
            file.value = os.path.relpath((layer.path.parent / file.value).resolve(), folder.resolve())


def _merged(document: Document, below: yaml.Node, over: yaml.Node, key: str) -> yaml.Node:
    """Merge one value with the value of the base below it."""
    if key == "nodes" and isinstance(below, yaml.SequenceNode) and isinstance(over, yaml.SequenceNode):
        return _merged_nodes(document, below, over)
    if not isinstance(below, yaml.MappingNode) or not isinstance(over, yaml.MappingNode):
        return over
    pairs = _pairs(below)
    for name, (key_node, value) in _pairs(over).items():
        path = join(key, name)
        if value.tag == _NULL and name not in pairs:
            known = f"{nearest(name, pairs)}its keys: {', '.join(pairs)}"
            document.problem(key_node, path, f"deletes nothing: the base has no such key; {known}")
        elif value.tag == _NULL:
            del pairs[name]
        elif name in pairs:
            pairs[name] = (key_node, _merged(document, pairs[name][1], value, path))
        else:
            pairs[name] = (key_node, value)
    return _mapping(below, over, list(pairs.values()))


def _merged_nodes(document: Document, below: yaml.SequenceNode, over: yaml.SequenceNode) -> _Nodes:
    """Merge a list of nodes with that of the base."""
    items = below.items if isinstance(below, _Nodes) else _items(below)
    base = tuple(items)
    for i, node in enumerate(over.value):
        section = Section(document, node, (*NODES, *NODES_OVER_BASE), f"nodes[{i}]")
        executable, name = section.text("executable"), section.text("name")
        if not executable:
            continue
        found = _find(base, executable, name)
        if len(found) > 1:
            names = ", ".join(item.name for item in found)
            section.problem("", f"the base has several nodes '{executable}': choose by 'name' from {names}")
            continue
        own = _mapping(node, node, [pair for pair in node.value if pair[0].value in _KEPT])
        if not found and section.boolean("remove"):
            section.problem("remove", f"the base has no such node; {_choice(name or executable, base)}")
            continue
        item = found[0] if found else _Item(own, {})
        if _file(over) in item.indices:
            section.problem("", f"changes the same node of the base as nodes[{item.indices[_file(over)]}]")
            continue
        item.indices[_file(over)] = i
        if section.boolean("remove"):
            items.remove(item)
            continue
        if found:
            item.node = _merged(document, item.node, own, section.path)
        else:
            items.append(item)
        if "before" in section:
            _place(items, item, section)
    return _Nodes(over, items)


def _items(nodes: yaml.SequenceNode) -> list[_Item]:
    """Return the nodes of one file."""
    return [_Item(node, {_file(nodes): i}) for i, node in enumerate(nodes.value)]


def _find(items: Sequence[_Item], executable: str, name: str) -> Sequence[_Item]:
    """Find nodes by executable: the node of the given name, else the node of the default name, else all of them."""
    same = [item for item in items if item.executable == executable.removeprefix("flexarm/")]
    named = [item for item in same if item.name == (name or executable.rpartition("/")[2])]
    return named[:1] or ([] if name else same)


def _place(items: list[_Item], item: _Item, section: Section) -> None:
    """Move a node to the position requested by its key ``before``."""
    before = section.text("before")
    others = [other for other in items if other is not item]
    found = [other for other in others if other.name == before] or _find(others, before, "")
    if found:
        items.remove(item)
        items.insert(items.index(found[0]), item)
    elif before:
        section.problem("before", f"node '{before}' is not in this run; {_choice(before, others)}")


def _choice(wrong: str, items: Sequence[_Item]) -> str:
    names = [item.name for item in items]
    return f"{nearest(wrong, names)}nodes: {', '.join(names)}"


def _pairs(node: yaml.Node | None) -> dict[str, _Pair]:
    """Return the key and value nodes of a mapping by key, the first of duplicates; empty for other nodes."""
    pairs: dict[str, _Pair] = {}
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if isinstance(key, yaml.ScalarNode):
            pairs.setdefault(key.value, (key, value))
    return pairs


def _mapping(below: yaml.CollectionNode, over: yaml.CollectionNode, pairs: list[_Pair]) -> yaml.MappingNode:
    """Create a mapping at the position of the upper one; it uses flow style only if both mappings do."""
    flow = bool(below.flow_style and over.flow_style)
    return yaml.MappingNode(over.tag, pairs, over.start_mark, over.end_mark, flow)


def _file(node: yaml.Node) -> Path:
    return Path(node.start_mark.name)


def _text(node: yaml.Node, name: str) -> str:
    value = _pairs(node)[name][1] if name in _pairs(node) else None
    return value.value.strip() if isinstance(value, yaml.ScalarNode) and value.tag != _NULL else ""
