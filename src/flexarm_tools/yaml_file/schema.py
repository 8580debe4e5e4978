"""Declaration of a YAML file: keys of each section, from which checks, messages, docs and JSON Schema are derived."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """Type of a value, as named in messages and docs."""

    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "true or false"
    VECTOR = "three numbers"
    NUMBERS = "list of numbers"
    VALUES = "list of values"
    TEXTS = "list of texts"
    TEXT_MAPPING = "mapping of texts"
    NUMBER_MAPPING = "mapping of numbers"
    PARAMETERS = "parameters"
    SECTION = "section"
    SECTIONS = "list of sections"
    NAMED_SECTIONS = "sections by name"


@dataclass(frozen=True, slots=True)
class Form:
    """Required form of a text."""

    pattern: str  # regular expression for the whole text
    words: str  # the form in words, to follow "is not"

    def fits(self, text: str) -> bool:
        """Return whether a text has this form."""
        return re.fullmatch(self.pattern, text) is not None


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a section."""

    name: str  # as written in the file
    kind: Kind  # type of its value
    meaning: str  # one sentence for the docs
    unit: str = ""  # SI unit of a number, empty if it has none
    default: str = ""  # default in words; empty: the key is required
    minimum: float | None = None  # smallest allowed number
    above: float | None = None  # exclusive lower bound of a number
    below: float | None = None  # exclusive upper bound of a number
    choices: tuple[str, ...] = ()  # allowed texts
    form: Form | None = None  # form of its texts
    names: Form | None = None  # form of the names of a mapping
    keys: tuple[Key, ...] = ()  # keys of its sections; empty if they depend on what a section contains

    @property
    def required(self) -> bool:
        """Whether the key must be given."""
        return not self.default

    @property
    def expected(self) -> str:
        """Description of a valid value, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        bounds = [f">= {self.minimum:g}" if self.minimum is not None else ""]
        bounds += [f"> {self.above:g}" if self.above is not None else ""]
        bounds += [f"< {self.below:g}" if self.below is not None else ""]
        words = [self.kind.value, " and ".join(filter(None, bounds)), f"[{self.unit}]" if self.unit else ""]
        return " ".join(filter(None, words))


def markdown_keys(keys: Iterable[Key]) -> str:
    """Return the table of keys in Markdown, as used in docs/scenario.md."""
    rows = ["| key | value | default | meaning |", "|---|---|---|---|"]
    rows += [f"| `{k.name}` | {k.expected} | {k.default or '**required**'} | {k.meaning} |" for k in keys]
    return "\n".join(rows)
