"""docs/messages.md says what the interface files say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flexarm_core.errors import ConfigError
from flexarm_nodes.docs.messages import markdown, read_interface

ROOT = Path(__file__).resolve().parents[2]
INTERFACES = sorted(path for kind in ("msg", "srv", "action") for path in (ROOT / kind).iterdir())
EXAMPLE = """\
# What it is.
#
# header.stamp     when, and
#                  of what
std_msgs/Header header

uint8 OFF=0      # not on
float64[] q      # (n) where it is,
                 # in words [rad]
# What was left of both.
float64 left     # [m]

bool[2] axes [true, false]
string name
"""


def test_the_page_is_made_from_the_interface_files():
    assert (ROOT / "docs" / "messages.md").read_text(encoding="utf-8") == markdown(ROOT), (
        "run: python -m flexarm_nodes.docs.messages docs/messages.md"
    )


@pytest.mark.parametrize("path", INTERFACES, ids=lambda path: path.stem)
def test_every_field_of_the_generated_class_is_read_in_order(path):
    kinds = __import__(f"flexarm.{path.parent.name}", fromlist=[path.stem])
    made = getattr(kinds, path.stem)
    classes = {"msg": (made,), "srv": ("Request", "Response"), "action": ("Goal", "Result", "Feedback")}[
        path.parent.name
    ]
    parts = read_interface(path.read_text(encoding="utf-8"))
    for part, name in zip(parts, classes, strict=True):
        fields = (made if name is made else getattr(made, name)).get_fields_and_field_types()
        read = [row.name for row in part.rows if row.type and not row.constant]
        assert read == list(fields)


@pytest.mark.parametrize("path", INTERFACES, ids=lambda path: path.stem)
def test_every_number_says_what_it_is(path):
    for part in read_interface(path.read_text(encoding="utf-8")):
        silent = [row.name for row in part.rows if row.type.startswith(("float", "geometry_msgs")) and not row.text]
        assert not silent


def test_a_comment_belongs_to_what_it_stands_behind_below_or_over():
    (part,) = read_interface(EXAMPLE)
    assert part.head[0] == "What it is." and len(part.head) == 4
    rows = {row.name: row for row in part.rows if row.type}
    assert list(rows) == ["header", "OFF", "q", "left", "axes", "name"]
    assert rows["q"].text == "(n) where it is, in words [rad]"
    assert (rows["OFF"].value, rows["OFF"].constant) == ("0", True)
    assert (rows["axes"].value, rows["axes"].constant) == ("[true, false]", False)
    texts = [row.text for row in part.rows if not row.type]
    assert texts == ["What was left of both.", ""]  # and the empty line ends what it is about


def test_what_is_no_line_of_an_interface_is_refused():
    with pytest.raises(ConfigError, match="float64"):
        read_interface("float64  # without a name\n")


def test_nothing_in_a_comment_is_taken_for_markup(tmp_path):
    for kind in ("srv", "action", "msg"):
        (tmp_path / kind).mkdir()
    (tmp_path / "msg" / "Try.msg").write_text("float64 a  # <tag> of *b* | c, `d*e` [N*m]\n", encoding="utf-8")
    line = next(line for line in markdown(tmp_path).splitlines() if "`a`" in line)
    assert r"\<tag> of \*b\* \| c, `d*e` [N\*m]" in line
    assert len(re.findall(r"(?<!\\)\|", line)) == 4
