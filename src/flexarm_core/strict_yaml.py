"""Reads YAML strictly: plain values only, no key twice, with line numbers and angles in degrees."""

from __future__ import annotations

import math
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from flexarm_core.errors import ConfigError


class LinedMapping(dict[Any, Any]):
    """A mapping with its line number in the file."""

    line = 0


class _MistakeError(yaml.constructor.ConstructorError):
    """A mistake found here: its text quotes nothing of the file, unlike those of PyYAML."""

    def __init__(self, text: str, mark: yaml.Mark) -> None:
        super().__init__(None, None, text, mark)


_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast where it is there


class _Loader(_LOADER):
    """Safe loader that records line numbers, converts ``!degrees`` and rejects duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = True) -> dict[Hashable, Any]:
        """Return the mapping of a node, with its line number."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise _MistakeError("a key stands twice", key.start_mark)
            seen.add(str(key.value))
        found = LinedMapping(super().construct_mapping(node, deep=True))
        found.line = node.start_mark.line + 1
        return found

    def construct_degrees(self, node: yaml.Node) -> float:
        """Convert a number of degrees to radians."""
        try:
            return math.radians(float(node.value))
        except (TypeError, ValueError) as error:
            raise _MistakeError("!degrees needs a number", node.start_mark) from error


_Loader.add_constructor("!degrees", _Loader.construct_degrees)
_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _Loader.construct_mapping)


def load_strictly(path: str | Path, text: str) -> Any:
    """Return the content of a YAML file, whose mappings are :class:`LinedMapping`.

    Args:
        path: the file, named in errors, which quote nothing of its content: it may be any file.
        text: its text, within the bounds of :func:`flexarm_core.yaml_bounds.excess`.

    Raises:
        ConfigError: it is not valid, with the line.
    """
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        what = f": {error.problem}" if isinstance(error, _MistakeError) else ""
        raise ConfigError(f"{path}:{line}: not valid YAML{what}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: e.g. the invalid date 2001-13-45
        raise ConfigError(f"{path}:1: not valid YAML") from error
