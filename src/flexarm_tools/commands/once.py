"""Options that are given twice: argparse would silently use the last one."""

from __future__ import annotations

import argparse
from typing import Any


class Once(argparse.Action):
    """Stores the values of an option that is given at most once."""

    def __init__(self, *names: Any, **settings: Any) -> None:
        """Declare it as argparse does."""
        super().__init__(*names, **settings)
        self._given = ""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Take the values, or end with an error if there are some already."""
        if option is not None:
            if self._given:
                parser.error(f"{self._given} is given twice: {_shown(getattr(namespace, self.dest))}, {_shown(values)}")
            self._given = option
        setattr(namespace, self.dest, values)


class NamedOnce(argparse.Action):
    """Appends a name and its value, for options that are repeated with other names, and for positional arguments."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Take the values, or end with an error if a name is there already."""
        found = [*(getattr(namespace, self.dest) or [])] if option is not None else []
        for name, value in [values] if option is not None else values:
            if name in dict(found):
                before = dict(found)[name]
                parser.error(f"{option or 'argument'} {name} is given twice: {_shown(before)}, {_shown(value)}")
            found.append((name, value))
        setattr(namespace, self.dest, found)


def _shown(value: Any) -> str:
    several = isinstance(value, list | tuple)
    return " ".join(map(str, value)) if several else str(value)
