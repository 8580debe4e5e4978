"""Requirements of URDF on links and joints, all reported by name: readers of URDF stop at the first error."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterable
from xml.etree.ElementTree import Element

TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
LIMITED = ("revolute", "prismatic")
ENDLESS = "a joint that turns without limits is continuous"
SLIDE = "give the range of the slide"
ATTRIBUTES = {
    "parent": ("link",),
    "child": ("link",),
    "axis": ("xyz",),
    "limit": ("velocity", "effort"),
    "mimic": ("joint",),
    "safety_controller": ("k_velocity",),
    "mass": ("value",),
    "inertia": ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"),
    "box": ("size",),
    "cylinder": ("radius", "length"),
    "sphere": ("radius",),
    "mesh": ("filename",),
}
PARTS = {"joint": ("parent", "child"), "inertial": ("mass",), "visual": ("geometry",), "collision": ("geometry",)}
SHAPES = ("box", "cylinder", "sphere", "mesh")
KNOWN = (
    "inertial",
    "origin",
    "axis",
    "limit",
    "dynamics",
    "mimic",
    "safety_controller",
    "calibration",
    *PARTS["joint"],
)


def lost_leaders(robot: Element, uncoupled: Collection[str] = ()) -> list[str]:
    """Return which joints follow one that does not exist; ``uncoupled``: joints whose ``<mimic>`` does not count."""
    joints, found = [joint.get("name", "") for joint in robot.findall("joint")], []
    for joint in robot.findall("joint"):
        name = joint.get("name", "")
        for tag in joint.findall("mimic"):
            wanted = tag.get("joint", "")
            if wanted and wanted not in joints and name not in uncoupled:
                near = difflib.get_close_matches(wanted, [other for other in joints if other != name], n=1)
                hint = f"did you mean '{near[0]}'?" if near else "name one that does, or remove <mimic>"
                found.append(f"joint '{name}' mimics '{wanted}', which does not exist: {hint}")
    return found


def lost_links(ends: Iterable[tuple[str, str]], links: Collection[str]) -> list[str]:
    """Return which links of joints (joint, link) do not exist, each with what to write."""
    found = []
    for joint, link in ends:
        if link not in links:
            near = difflib.get_close_matches(link, links, n=1, cutoff=0.75)
            hint = f"did you mean '{near[0]}'" if near else f'add <link name="{link}"/> with its <inertial>'
            found.append(f"joint '{joint}': link '{link}' does not exist: {hint}, or remove the joint")
    return found


def wrong_parts(part: Element) -> list[str]:
    """Return the parts that a ``<link>`` or ``<joint>`` lacks or contains twice, each with what to write."""
    found, name = [], f"{part.tag} '{part.get('name')}'"
    if part.tag == "joint":
        kind = part.get("type", "")
        if kind not in TYPES:
            near = difflib.get_close_matches(kind.lower(), TYPES, n=1)
            meant = f"did you mean {near[0]}?" if near else f"use {', '.join(TYPES[:3])} or fixed"
            found.append(f"{name}: type '{kind}' is not supported; {meant}")
        elif kind in LIMITED and part.find("limit") is None:
            hint = SLIDE if kind == "prismatic" else f"give its range; {ENDLESS}"
            found.append(f"{name}: a {kind} joint needs <limit lower upper velocity effort>: {hint}")
    for kind, count in Counter(tag.tag for tag in part if tag.tag in KNOWN).items():
        if count > 1:
            hint = ": a joint follows one other" if kind == "mimic" else ": remove all but one"
            found.append(f"{name} has several <{kind}>{hint}")
    for tag in part.iter():
        inside = "" if tag is part else f": <{tag.tag}>"
        lacking = [f"<{one}>" for one in PARTS.get(tag.tag, ()) if tag.find(one) is None]
        if tag is not part:
            lacking += [one for one in ATTRIBUTES.get(tag.tag, ()) if not tag.get(one)]
        if lacking:
            found.append(f"{name}{inside} has no {', '.join(lacking)}: add {'it' if len(lacking) == 1 else 'them'}")
        if tag.tag == "geometry" and [shape.tag for shape in tag] not in [[shape] for shape in SHAPES]:
            held = ", ".join(f"<{shape.tag}>" for shape in tag) or "nothing"
            found.append(f"{name}: <geometry> holds {held}: write one of {', '.join(SHAPES)}")
        if tag.tag == "origin" and (unknown := [one for one in tag.attrib if one not in ("xyz", "rpy")]):
            found.append(f"{name}: <origin> has {', '.join(unknown)}, which nothing here reads: write xyz and rpy")
    return found
