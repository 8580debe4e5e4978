"""Limits for YAML files, checked on the events before any object is built: size, depth, aliases and what they give."""

from __future__ import annotations

from typing import Any

import yaml

MOST_BYTES = 500_000
MOST_DEPTH = 30
MOST_NODES = 100_000  # with each alias expanded

_LOADER: Any = getattr(yaml, "CLoader", yaml.Loader)  # used only for parsing: no object is constructed


def excess(text: str) -> str:
    """Return which limit a YAML text exceeds, in words; an empty string if none, or if the text is not valid YAML."""
    if len(text) > MOST_BYTES:
        return f"has {len(text)} characters, at most {MOST_BYTES} are read"
    sizes: list[int] = [0]  # node counts of the currently open collections
    anchors: list[str | None] = [None]
    known: dict[str, int] = {}
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
                sizes.append(1)
                anchors.append(event.anchor)
                if len(sizes) > MOST_DEPTH:
                    line = event.start_mark.line + 1 if event.start_mark else 1
                    return f"is nested more than {MOST_DEPTH} deep (line {line})"
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                size, anchor = sizes.pop(), anchors.pop()
                sizes[-1] += size
                if anchor:
                    known[anchor] = size
            elif isinstance(event, yaml.ScalarEvent):
                sizes[-1] += 1
                if event.anchor:
                    known[event.anchor] = 1
            elif isinstance(event, yaml.AliasEvent):
                if event.anchor in anchors:
                    line = event.start_mark.line + 1 if event.start_mark else 1
                    return f"has an alias that contains itself (line {line})"
                sizes[-1] += known.get(event.anchor or "", 1)
            if sizes[-1] > MOST_NODES:
                return f"holds more than {MOST_NODES} values, aliases written out"
    except (yaml.YAMLError, ValueError):  # the loader that builds the document reports what is wrong and where
        return ""
    return ""
