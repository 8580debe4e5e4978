"""Writes docs/messages.md from msg/, srv/ and action/: `python -m flexarm_nodes.docs.messages docs/messages.md`.

The comments of the interface files are the documentation. In each part of a file (a service has two, an action three)

- comment lines before the first field say what it is;
- a comment behind a field, and comment lines that begin in the same column below it, say what that field is;
- other comment lines are a line of text over the fields up to the next empty line.
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

Made from `msg/`, `srv/` and `action/` by `python -m flexarm_nodes.docs.messages docs/messages.md`; a test holds both
equal. SI units; spatial vectors are linear first; `(n)` is the number of entries. Which node takes and gives which of
them is on the pages of the nodes.
"""
_FIELD = re.compile(
    r"(?P<type>[A-Za-z][\w/]*(\[\d*\])?)\s+(?P<name>\w+)\s*((?P<sign>=)?\s*(?P<value>[^#]+?))?\s*(#\s?(?P<text>.*))?"
)


@dataclass(slots=True)
class Row:
    """A field or constant of an interface, or a line of text between them.

    Attributes:
        type: as in the file; empty for a line of text.
        name: of the field or constant.
        value: of a constant, or default of a field; empty where there is none.
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
    """Parts of an interface file.

    Args:
        text: of a ``.msg``, ``.srv`` or ``.action`` file.

    Raises:
        ConfigError: a line is neither a comment nor a field.
    """
    parts = [Part()]
    column, grouped = -1, False  # where the last comment behind a field began; whether a line of text stands over it
    for line in text.splitlines():
        part, begin = parts[-1], line.find("#")
        comment = line[begin + 1 :].removeprefix(" ").rstrip()
        if line.strip() == "---":
            parts.append(Part())
            column, grouped = -1, False
        elif not line.strip():
            if grouped:  # the next fields are not what it is about
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
    """The whole page.

    Args:
        root: folder with ``msg/``, ``srv/`` and ``action/``.

    Raises:
        ConfigError: a file holds a line that is none of an interface.
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
    """Paragraphs, and a list of what is said of `header.stamp` and `header.frame_id`."""
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
    """Tables of fields, with the lines of text over them."""
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
    """Text in which nothing is taken for markup but what stands in backticks."""
    pieces = text.split("`")
    pieces[::2] = [re.sub(r"([*<])", r"\\\1", piece) for piece in pieces[::2]]
    return "`".join(pieces)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(markdown(Path(sys.argv[1]).resolve().parents[1]), encoding="utf-8")
