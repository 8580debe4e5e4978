"""ROS 2 parameter files: what a node in any namespace gets from one, and files that hold for a node or a namespace."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from flexarm_core.errors import ConfigError
from flexarm_core.text_file import read_text
from flexarm_core.yaml_bounds import MOST_BYTES, excess
from flexarm_tools.scenario.scenario import NodeSpec

PARAMETERS = "ros__parameters"
ANYWHERE = "/**/"  # in front of a node's name: in any namespace


def read_parameter_file(path: Path, names: Iterable[str], namespace: str = "") -> dict[str, dict[str, Any]]:
    """Read the parameters of nodes from a ROS 2 parameter file.

    A name without a slash is a node of the namespace; other names are absolute, with the wildcards ``*`` and ``**``.
    As in ROS 2, a name without wildcards takes precedence over those with wildcards.

    Args:
        path: the file.
        names: names of the nodes.
        namespace: namespace of the nodes; empty: the root.

    Returns:
        Parameters by node; names of nested parameters are joined with dots.

    Raises:
        ConfigError: the file does not exist, or is not a parameter file.
    """
    content = _content(path)
    try:
        entries = [(key, _with_dots(values)) for key, values in _entries(content)]
    except (AttributeError, TypeError, ValueError, RecursionError) as error:
        raise _no_parameter_file(path, error) from error
    return {name: _for_node(entries, f"{_absolute(namespace)}/{name}") for name in names}


def write_parameter_file(node: NodeSpec, folder: Path) -> Path:
    """Write a node's parameters to ``folder/NAME.yaml`` and return the path; they hold in any namespace."""
    plain = {key: plain_value(value) for key, value in node.parameters.items()}
    path = folder / f"{node.name}.yaml"
    path.write_text(yaml.safe_dump({ANYWHERE + node.name: {PARAMETERS: plain}}, width=1000), encoding="utf-8")
    return path


def write_for_namespace(path: Path, folder: Path, frame_prefix: str = "") -> Path:
    """Write a parameter file whose bare node names hold in any namespace, to ``folder``, and return its path.

    Args:
        path: the file.
        folder: receives the new file.
        frame_prefix: prefix of the parameter ``frame_id`` of every node that has it.

    Raises:
        ConfigError: the file does not exist, or is not a parameter file.
    """
    content = _content(path)
    kept = {
        (ANYWHERE + key if "/" not in key and isinstance(value, dict) and PARAMETERS in value else key): value
        for key, value in content.items()
    }
    for value in kept.values() if frame_prefix else ():
        parameters = value.get(PARAMETERS) if isinstance(value, dict) else None
        if isinstance(parameters, dict) and "frame_id" in parameters:
            parameters["frame_id"] = f"{frame_prefix}{parameters['frame_id']}"
    target = folder / path.name
    target.write_text(yaml.safe_dump(kept, width=1000, sort_keys=False), encoding="utf-8")
    return target


def plain_value(value: Any) -> Any:
    """Convert a parameter value for a parameter file: rcl rejects sequences that mix integers and floats."""
    if not isinstance(value, (list, tuple)):
        return value
    return [float(item) for item in value] if any(isinstance(item, float) for item in value) else list(value)


def _content(path: Path) -> dict[str, Any]:
    text = read_text(path, "parameter file", MOST_BYTES)
    if too_much := excess(text):
        raise ConfigError(f"parameter file '{path}' {too_much}")
    try:
        content = yaml.safe_load(text) or {}
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise _no_parameter_file(path, error) from error
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise _no_parameter_file(path, "not a mapping of node names")
    return content


def _no_parameter_file(path: Path, error: object) -> ConfigError:
    return ConfigError(f"'{path}' is not a ROS 2 parameter file (NODE: {{{PARAMETERS}: ...}}): {error}")


def _entries(content: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the name of each entry and its parameters; namespaces may be nested mappings."""
    for key, value in content.items():
        if key == PARAMETERS:
            continue
        if value is not None and not isinstance(value, dict):
            raise TypeError(f"'{key}' is not a mapping")
        name = f"{before}/{key.strip('/')}" if before or "/" in key else key
        if value and PARAMETERS in value:
            yield name, value[PARAMETERS] or {}
        yield from _entries(value or {}, _absolute(name))


def _for_node(entries: Iterable[tuple[str, dict[str, Any]]], full: str) -> dict[str, Any]:
    """Return the parameters of a node by its full name."""
    found: dict[str, Any] = {}
    exact: dict[str, Any] = {}
    for name, parameters in entries:
        if "*" in name:
            found |= parameters if _pattern(name).fullmatch(full) else {}
        elif name in (full, full.rpartition("/")[2]):
            exact |= parameters
    return found | exact


def _pattern(name: str) -> re.Pattern[str]:
    words = {"**": ".*", "*": r"\w+"}
    parts = (words.get(part, re.escape(part).replace(r"\*", r"\w*")) for part in _absolute(name).split("/")[1:])
    return re.compile("".join(f"/{part}" for part in parts).replace("/.*", r"(?:/\w+)*"))


def _absolute(name: str) -> str:
    return f"/{name.strip('/')}" if name.strip("/") else ""


def _with_dots(parameters: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in parameters.items():
        flat |= _with_dots(value, f"{before}{key}.") if isinstance(value, dict) else {f"{before}{key}": value}
    return flat
