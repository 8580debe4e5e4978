"""Writes docs/messages.md from msg/, srv/ and action/: `python -m flexarm_nodes.docs.messages docs/messages.md`.

The comments of the interface files are the documentation. In each part of a file (a service has two, an action three)

- comment lines before the first field describe the part;
- a comment after a field, and comment lines below it that begin in the same column, describe the field;
- other comment lines are a line of text above the fields up to the next empty line.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from flexarm_core.errors import ConfigError

KINDS = {"msg": "Messages", "srv": "Services", "action": "Actions"}
PARTS = {"msg": ("",), "srv": ("Request", "Response"), "action": ("Goal", "Result", "Feedback")}
HEAD = """# Messages

Generated from `msg/`, `srv/` and `action/` by `python -m flexarm_nodes.docs.messages docs/messages.md`; a test compares
both. SI units; spatial vectors are linear first; `(n)` is the number of entries. The pages of the nodes list the
messages that each node reads and publishes.
"""
_FIELD = re.compile(
    r"(?P<type>[A-Za-z][\w/]*(\[\d*\])?)\s+(?P<name>\w+)\s*((?P<sign>=)?\s*(?P<value>[^#]+?))?\s*(#\s?(?P<text>.*))?"
)


@dataclass(slots=True)
class Row:
    """A field or constant of an interface, or a line of text between them.

    Attributes:
        type: type as in the file; empty for a line of text.
        name: name of the field or constant.
        value: value of a constant or default of a field; empty if there is none.
        constant: whether it is a constant.
        text: the comment, in one line.
    """

    type: str
    name: str
    value: str
    constant: bool
    text: str


@dataclass(slots=True)
class Part:
    """A part of an interface file.

    Attributes:
        head: comment lines before the first field.
        rows: fields, constants and text, in order.
    """

    head: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)


def read_interface(text: str) -> tuple[Part, ...]:
    """Return the parts of an interface file.

    Args:
        text: content of a ``.msg``, ``.srv`` or ``.action`` file.

    Raises:
        ConfigError: a line is neither a comment nor a field.
    """
    parts = [Part()]
    column, grouped = -1, False  # column of the last comment after a field; whether a line of text is above
    for line in text.splitlines():
        part, begin = parts[-1], line.find("#")
        comment = line[begin + 1 :].removeprefix(" ").rstrip()
        if line.strip() == "---":
            parts.append(Part())
            column, grouped = -1, False
        elif not line.strip():
            if grouped:  # the line of text does not apply to the next fields
                part.rows.append(Row("", "", "", False, ""))
            column, grouped = -1, False
        elif not line.lstrip().startswith("#"):
            part.rows.append(_row(line))
            column = begin
        elif not part.rows:
            part.head.append(comment)
        elif begin == column:
            part.rows[-1].text += f" {comment.strip()}"
        else:
            part.rows.append(Row("", "", "", False, comment.strip()))
            column, grouped = begin, True
    return tuple(parts)


def markdown(root: Path) -> str:
    """Return the whole page.

    Args:
        root: directory with ``msg/``, ``srv/`` and ``action/``.

    Raises:
        ConfigError: a line of a file is neither a comment nor a field.
    """
    lines = [HEAD]
    for kind, title in KINDS.items():
        lines.append(f"## {title}\n")
        for path in sorted((root / kind).glob(f"*.{kind}")):
            lines.append(f"### {path.stem}\n")
            for name, part in zip(PARTS[kind], read_interface(path.read_text(encoding="utf-8")), strict=True):
                lines += [f"**{name}**\n"] if name else []
                lines += _head(part.head)
                lines += _tables(part.rows)
    return "\n".join(lines)


def _row(line: str) -> Row:
    match = _FIELD.fullmatch(line.strip())
    if match is None:
        raise ConfigError(f"not a line of an interface file: '{line}'; expected: TYPE NAME  # comment")
    return Row(
        match["type"], match["name"], (match["value"] or "").strip(), bool(match["sign"]), (match["text"] or "").strip()
    )


def _head(comment: list[str]) -> list[str]:
    """Return paragraphs, and a list of the descriptions of `header.stamp` and `header.frame_id`."""
    lines: list[str] = []
    for text in comment:
        name, _, meaning = text.partition(" ")
        if re.fullmatch(r"[a-z_]+(\.[a-z_]+)+", name):
            lines += [] if not lines or lines[-1].startswith(("- ", "  ")) else [""]
            lines.append(f"- `{name}`: {_escaped(meaning.strip())}")
        elif not text.strip() or text[0] != " ":
            lines.append(_escaped(text.strip()))
        else:
            lines.append(f"  {_escaped(text.strip())}")
    joined = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return [f"{joined}\n"] if joined else []


def _tables(rows: list[Row]) -> list[str]:
    """Return the tables of fields, with the lines of text above them."""
    lines: list[str] = []
    inside = False
    for row in rows:
        if not row.type:
            lines += [""] if inside else []
            lines += [f"{_escaped(row.text)}\n"] if row.text else []
        elif not inside:
            lines += ["| field | type | meaning |", "|---|---|---|"]
        inside = bool(row.type)
        if inside:
            value = f" = {row.value}" if row.value else ""
            kind = f"`{row.type}`, constant" if row.constant else f"`{row.type}`"
            meaning = _escaped(row.text).replace("|", "\\|")
            lines.append(f"| `{row.name}{value}` | {kind} | {meaning} |")
    return [*lines, ""]


def _escaped(text: str) -> str:
    """Return text in which only backticks act as markup."""
    pieces = text.split("`")
    pieces[::2] = [re.sub(r"([*<])", r"\\\1", piece) for piece in pieces[::2]]
    return "`".join(pieces)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(markdown(Path(sys.argv[1]).resolve().parents[1]), encoding="utf-8")
