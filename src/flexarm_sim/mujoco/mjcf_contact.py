"""Surfaces -> MJCF: geoms of the tip and of what it touches, and the pairs that can touch.

Geoms have no mass and collide as listed pairs only: the tip with each surface, and nothing else with anything. The tip
is a massless body of its own, welded to the tool frame, so that MuJoCo's scale of its contacts can be set (see
``contacts``).
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence

from flexarm_sim.mujoco.mjcf_text import number_text, quaternion
from flexarm_sim.surfaces import Surface

TIP = "contact/tip"
ACCURACY = 1e-14  # [m/s^2] to which the solver finds accelerations, in the norm of the inertia
FRICTION_RATIO = 1e8  # how much harder a contact holds across the normal than along it, where it sticks


def surface_geom(surface: Surface) -> str:
    """Name of the geom of a surface, and of its pair with the tip."""
    return f"surface/{surface.name}"


def contact_dimension(surface: Surface) -> int:
    """Components of a contact force: 3 with friction, else 1; a coefficient of 0 is none to MuJoCo."""
    return 3 if surface.friction > 0.0 else 1


def add_surfaces(
    model: ElementTree.Element,
    world: ElementTree.Element,
    tool: ElementTree.Element,
    surfaces: Sequence[Surface],
    tip_radius: float,
) -> None:
    """Add tip, surfaces and pairs to a model; stiffness, damping and friction are set once it is compiled.

    Args:
        model: the MJCF document.
        world: its ``worldbody``.
        tool: body whose frame is the tool frame.
        surfaces: what the tip can touch; at least one.
        tip_radius: of the sphere about the origin of the tool frame [m].
    """
    option = model.find("option")
    assert option is not None, "options come before surfaces"
    option.set("cone", "elliptic")  # the only one in which friction is the same in every direction
    option.set("impratio", number_text(FRICTION_RATIO))
    # Contact forces are measured, so they are wanted to the last digits; but with no tolerance at all the solver goes
    # on in round-off, up to a hundred times as long.
    option.set("tolerance", number_text(ACCURACY**2))  # of the cost, which is quadratic
    option.set("ls_tolerance", number_text(1.0 / ACCURACY))  # times tolerance: of the slope in its line searches
    tip = ElementTree.SubElement(tool, "body", name=TIP)
    ElementTree.SubElement(tip, "inertial", pos="0 0 0", mass="0", diaginertia="0 0 0")
    apart = {"mass": "0", "contype": "0", "conaffinity": "0"}
    ElementTree.SubElement(tip, "geom", apart, name=TIP, type="sphere", size=number_text(tip_radius))
    contact = ElementTree.SubElement(model, "contact")
    for surface in surfaces:
        size = (0.0, 0.0, 1.0) if surface.kind == "plane" else surface.half_extents  # MuJoCo: 0 0 = without an end
        ElementTree.SubElement(
            world,
            "geom",
            apart,
            name=surface_geom(surface),
            type=surface.kind,
            pos=number_text(*surface.position),
            quat=number_text(*quaternion(surface.rotation)),
            size=number_text(*size),
        )
        ElementTree.SubElement(
            contact,
            "pair",
            name=surface_geom(surface),
            geom1=surface_geom(surface),
            geom2=TIP,
            condim=str(contact_dimension(surface)),
        )
