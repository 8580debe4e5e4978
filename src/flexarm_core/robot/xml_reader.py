"""Reader of the XML of a robot description: limits size and depth, rejects entities, checks names and numbers."""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable, Iterator

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.coupled_joints import uncoupled_joints
from flexarm_core.robot.urdf_parts import ENDLESS, SLIDE, lost_leaders, wrong_parts

Element = ElementTree.Element
MOST_CHARACTERS = 4_000_000
MOST_DEPTH = 30  # levels of nested elements; URDF needs 5
MOST_LINKS = 500
LARGEST = 1e17  # larger numbers are not plausible for an arm
EXTENSIONS = ("flexibility", "ros2_control")
# attributes of elements in <link> and <joint>: number of values, and largest absolute value
NUMBERS: dict[tuple[str, str], tuple[int, float]] = {
    ("origin", "xyz"): (3, 1e6),
    ("origin", "rpy"): (3, 1e6),
    ("axis", "xyz"): (3, 1e6),
    ("mass", "value"): (1, 1e9),
    **{("inertia", name): (1, 1e15) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")},
    **{("limit", name): (1, LARGEST) for name in ("lower", "upper", "velocity", "effort")},
    **{("dynamics", name): (1, 1e15) for name in ("damping", "friction")},
    **{("mimic", name): (1, 1e6) for name in ("multiplier", "offset")},
    ("box", "size"): (3, 1e6),
    ("cylinder", "radius"): (1, 1e6),
    ("cylinder", "length"): (1, 1e6),
    ("sphere", "radius"): (1, 1e6),
    ("mesh", "scale"): (3, 1e6),
    ("color", "rgba"): (4, 1e3),
}
NEVER_NEGATIVE = {
    ("mass", "value"),
    *(("limit", name) for name in ("velocity", "effort")),
    *(("dynamics", name) for name in ("damping", "friction")),
}


def read_robot_xml(text: str, name: str = "", complete: bool = True) -> Element:
    """Parse a robot description and return its root element.

    Args:
        text: URDF text.
        name: name of the robot, if it has none.
        complete: whether links and joints must have what URDF requires of them.

    Raises:
        RobotDescriptionError: the text is not XML or not a robot, is too large or too deeply nested, contains a
            document type or xacro tags; or has missing or duplicate names, invalid numbers, or links and joints
            without what URDF requires of them, all of which are said at once.
    """
    if not isinstance(text, str):
        raise RobotDescriptionError(f"robot_description must be text, got {type(text).__name__}")
    if len(text) > MOST_CHARACTERS:
        raise RobotDescriptionError(f"robot_description has {len(text)} characters, at most {MOST_CHARACTERS} are read")
    if re.search(r"<!\s*(DOCTYPE|ENTITY)", text):
        raise RobotDescriptionError("robot_description has a document type (<!DOCTYPE>, <!ENTITY>): write entities out")
    try:
        element = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:  # ValueError: encoding unknown to Python
        raise RobotDescriptionError(f"robot_description is not XML: {error}") from error
    if element.tag != "robot":
        raise RobotDescriptionError(f"robot_description has root <{element.tag}>, expected <robot>")
    if (
        element.find("link") is None
        and element.find("joint") is None
        and not any("xacro" in tag.tag for tag in element)
    ):
        raise RobotDescriptionError(
            "robot_description has no <link>: there is no robot in it. A xacro file that only defines a macro expands"
            " to this: give the file that calls it"
        )
    if name and not element.get("name"):
        element.set("name", name)
    if not element.get("name"):
        raise RobotDescriptionError('robot_description has a <robot> without a name: write <robot name="my_arm">')
    _check_depth(element)
    if any("xacro" in child.tag for child in element.iter()):
        raise RobotDescriptionError("robot_description still holds xacro tags: expand it with the xacro command first")
    parts = [part for part in element if part.tag in ("link", "joint")]
    wrong, where = [*_wrong_tags(element), *_wrong_texts(element), *_wrong_names(element)], {}
    for part in parts:
        found = [*_wrong_numbers(part), *(wrong_parts(part) if complete else ())]
        if found and not wrong:
            where = {part.tag: part.get("name", "")}
        wrong += found
    if complete:
        wrong += lost_leaders(element, uncoupled_joints(element))
    if wrong:
        raise RobotDescriptionError("; ".join(wrong), **where)
    return element


def with_prefixes(text: str) -> str:
    """Declare the prefixes of names such as ``drake:acceleration`` that are not, as URDF readers do without.

    A default namespace and empty lines at the start, of which those readers know nothing either, are taken away.
    """
    text = re.sub(r"(<robot\b[^>]*?)\sxmlns=(\"[^\"]*\"|'[^']*')", r"\1", re.sub(r"\A\s+", "", text), count=1)
    declared = {"xml", "xmlns", *re.findall(r"\bxmlns:([\w.-]+)", text)}
    used = sorted(set(re.findall(r"[<\s]([A-Za-z_][\w.-]*):[\w.-]+(?=[\s=/>])", text)) - declared)
    names = "".join(f' xmlns:{prefix}="{prefix}"' for prefix in used)
    return re.sub(r"<robot\b", lambda tag: tag[0] + names, text, count=1) if used else text


def check_known(tag: Element, attributes: Iterable[str], parts: Iterable[str] = ()) -> None:
    """Raise RobotDescriptionError if an element has an unknown attribute or child, or several ``<origin>``."""
    for kind, found, valid in (
        ("attribute", list(tag.keys()), tuple(attributes)),
        ("part", [part.tag for part in tag], tuple(parts)),
    ):
        unknown = next((name for name in found if name not in valid), None)
        if unknown is not None:
            near = difflib.get_close_matches(unknown, valid, n=1)
            hint = f"did you mean '{near[0]}'? " if near else ""
            listed = f"it has: {', '.join(valid)}" if valid else "it has none"
            raise RobotDescriptionError(f"{_named(tag)} has no {kind} '{unknown}'; {hint}{listed}")
    repeated = [name for name, count in Counter(part.tag for part in tag).items() if name == "origin" and count > 1]
    if repeated:
        raise RobotDescriptionError(f"{_named(tag)} has several <{repeated[0]}>")


def read_number(tag: Element, attribute: str, default: float | None = None) -> float:
    """Return an attribute as a number.

    Raises:
        RobotDescriptionError: it is missing without a default, no number, or beyond any real arm.
    """
    text = tag.get(attribute)
    if text is None and default is not None:
        return default
    try:
        value = float(text if text is not None else "missing")
    except ValueError:
        value = math.nan
    if not abs(value) <= LARGEST:
        raise RobotDescriptionError(f"{_named(tag)}: {attribute} is '{text}', expected a number")
    return value


def _named(tag: Element) -> str:
    named = [f" {key}='{tag.get(key)}'" for key in ("name", "joint") if tag.get(key)]
    return f"<{tag.tag}{''.join(named)}>"


def _check_depth(element: Element) -> None:
    level, depth = [element], 0
    while level:
        depth += 1
        if depth > MOST_DEPTH:
            raise RobotDescriptionError(f"robot_description is nested more than {MOST_DEPTH} elements deep")
        level = [child for parent in level for child in parent]


def _wrong_tags(element: Element) -> Iterator[str]:
    for tag in sorted({child.tag for child in element if isinstance(child.tag, str)}):
        meant = difflib.get_close_matches(tag, EXTENSIONS, n=1, cutoff=0.8)
        if meant and tag not in EXTENSIONS:
            yield f"robot_description has a tag <{tag}>: did you mean <{meant[0]}>?"


def _wrong_texts(element: Element) -> Iterator[str]:
    """Readers of URDF differ in what a line break or another control character in an attribute is."""
    for tag in element.iter():
        for name, text in tag.items():
            if any(unicodedata.category(letter) in ("Cc", "Zl", "Zp") for letter in text):
                yield f"<{tag.tag} {name}={text[:60]!r}> holds a control character"


def _wrong_names(element: Element) -> Iterator[str]:
    for kind in ("link", "joint"):
        names = [part.get("name", "") for part in element.findall(kind)]
        if len(names) > MOST_LINKS:
            raise RobotDescriptionError(f"the robot has {len(names)} {kind}s, at most {MOST_LINKS} are read")
        if "" in names:
            yield f"a <{kind}> has no name"
        if "universe" in names:
            yield f"a {kind} is named 'universe', which is Pinocchio's name of the fixed world: give it another"
        for name, count in Counter(names).items():
            if count > 1 and name:
                yield f"{kind} '{name}' is described {count} times: names must differ"


def _remedy(part: Element, limit: str, text: str) -> str:
    """Return what to do about a text in the place of numbers, if that is known; ``limit``: which it is, or empty."""
    if "$" in text:
        return "; it is text of xacro: name the file .urdf.xacro, or expand it (`xacro FILE`)"
    if "," in text:
        return "; write spaces between numbers, no commas"
    if "inf" not in text.lower() or not limit:
        return ""
    if limit in ("velocity", "effort"):
        return "; give what the drive can do"
    return f"; {SLIDE if part.get('type') == 'prismatic' else ENDLESS}"


def _wrong_numbers(part: Element) -> Iterator[str]:
    for tag in part.iter():
        for name, text in tag.items():
            rule = NUMBERS.get((tag.tag, name))
            if rule is None:
                continue
            count, largest = rule
            try:
                values = [float(word) for word in text.split()]
            except ValueError:
                values = []
            said = f"{part.tag} '{part.get('name')}': <{tag.tag} {name}> is '{text[:60]}'"
            if len(values) != count or not all(math.isfinite(value) for value in values):
                wanted = "a finite number" if count == 1 else f"{count} finite numbers"
                yield f"{said}, expected {wanted}{_remedy(part, name if tag.tag == 'limit' else '', text)}"
            elif max(map(abs, values)) > largest:
                yield f"{said}, beyond {largest:g}"
            elif (tag.tag, name) in NEVER_NEGATIVE and values[0] < 0.0:
                yield f"{said}, which is negative"
