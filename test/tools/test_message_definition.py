"""Definitions of messages as recordings carry them: complete, laid out as rosbag2 does, and compared by what counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from source_packages import SourcePackages

from flexarm_core.errors import ConfigError
from flexarm_tools.graph.message_class import message_class
from flexarm_tools.graph.message_definition import SEPARATOR, MessageDefinition
from flexarm_tools.graph.packages import AmentPackages

ROOT = Path(__file__).resolve().parents[2]
OWN = sorted(path.stem for path in (ROOT / "msg").glob("*.msg"))


@pytest.fixture
def packages(tmp_path: Path) -> SourcePackages:
    """Two packages with types inside types."""
    texts = {
        "a/Outer": "# [m]\nInner one  # b/Not this\nb/Leaf[<=3] some\nstring<=5 name 'x # y'\nint8 K=1\nInner two\n",
        "a/Inner": "b/msg/Leaf leaf\nfloat64[2] pair [0.5, 1.0]",
        "b/Leaf": "float64 value\n",
    }
    for name, text in texts.items():
        package, _, kind = name.partition("/")
        (tmp_path / package / "msg").mkdir(parents=True, exist_ok=True)
        (tmp_path / package / "msg" / f"{kind}.msg").write_text(text)
    return SourcePackages({package: tmp_path / package for package in "ab"})


def test_each_inner_type_follows_once_after_a_line_of_80_signs_depth_first(packages):
    text = MessageDefinition.find("a/msg/Outer", packages).text
    first, inner, leaf = text.split(f"\n{'=' * 80}\nMSG: ")
    assert first.startswith("# [m]") and first.endswith("Inner two\n")
    assert inner.startswith("a/Inner\nb/msg/Leaf leaf\n") and leaf == "b/Leaf\nfloat64 value\n"


def test_a_layout_holds_fields_and_no_comments_constants_or_defaults(packages):
    assert MessageDefinition.find("a/msg/Outer", packages).layout() == {
        "a/Outer": (("a/Inner", "one"), ("b/Leaf[<=3]", "some"), ("string<=5", "name"), ("a/Inner", "two")),
        "a/Inner": (("b/Leaf", "leaf"), ("float64[2]", "pair")),
        "b/Leaf": (("float64", "value"),),
    }


def test_what_does_not_change_the_bytes_does_not_change_the_layout(packages):
    found = MessageDefinition.find("a/msg/Outer", packages)
    first, inner, leaf = found.text.split(f"{SEPARATOR}\n")
    changed = first.replace("int8 K=1", "int8 K=2\nint8 L=3").replace("# [m]", "# other words\n")
    assert MessageDefinition("a/msg/Outer", f"{SEPARATOR}\n".join((changed, leaf, inner))).layout() == found.layout()
    for old, new in (("one", "uno"), ("Leaf[<=3]", "Leaf[3]"), ("float64 value", "float32 value")):
        assert old in found.text
        assert MessageDefinition("a/msg/Outer", found.text.replace(old, new)).layout() != found.layout()


@pytest.mark.parametrize("name", OWN)
def test_the_layout_of_every_own_message_is_that_of_the_generated_class(name):
    layout = MessageDefinition.find(f"flexarm/msg/{name}", AmentPackages()).layout()
    for kind, fields in layout.items():
        package, _, short = kind.partition("/")
        generated = message_class(f"{package}/msg/{short}").get_fields_and_field_types()
        assert list(generated) == [field for _, field in fields]
        for text in generated.values():  # sequence<geometry_msgs/Point, 3>, flexarm/Behavior[2], double
            inner = text.removeprefix("sequence<").partition("[")[0].partition(",")[0].rstrip(">")
            assert "/" not in inner or inner in layout, f"{inner} is missing in the definition of {name}"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a/msg/Nobody", "definition of 'a/msg/Nobody' is not installed.*package 'a'"),
        ("c/msg/Outer", "source the workspace that holds package 'c'"),
        ("a/action/Go_FeedbackMessage", "not of the form PACKAGE/msg/NAME"),
    ],
)
def test_a_type_that_cannot_be_found_is_named(packages, name, words):
    with pytest.raises(ConfigError, match=words):
        MessageDefinition.find(name, packages)


@pytest.mark.parametrize("name", ["flexarm/msg/Nobody", "nobody_msgs/msg/Some", "flexarm/srv/AdvanceSimulation", "x"])
def test_a_class_that_cannot_be_found_is_named(name):
    with pytest.raises(ConfigError, match=f"'{name}' is not"):
        message_class(name)
