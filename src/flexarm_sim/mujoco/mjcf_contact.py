"""Convert surfaces to MJCF: geoms of the tip and of the surfaces, and the pairs that can collide.

Geoms have no mass and collide only as listed pairs: the tip with each surface. The tip is a massless body of its own,
welded to the tool frame, so that MuJoCo's scaling of its contacts can be set (see ``contacts``).
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence

from flexarm_sim.mujoco.mjcf_text import number_text, quaternion
from flexarm_sim.surfaces import Surface

TIP = "contact/tip"
ACCURACY = 1e-14  # [m/s^2] accuracy of the accelerations from the solver, in the norm of the inertia
FRICTION_RATIO = 1e8  # ratio of frictional to normal constraint impedance (MuJoCo's impratio)


def surface_geom(surface: Surface) -> str:
    """Return the name of the geom of a surface, and of its pair with the tip."""
    return f"surface/{surface.name}"


def contact_dimension(surface: Surface) -> int:
    """Return the number of contact force components: 3 with friction, else 1, as coefficients must be positive."""
    return 3 if surface.friction > 0.0 else 1


def add_surfaces(
    model: ElementTree.Element,
    world: ElementTree.Element,
    tool: ElementTree.Element,
    surfaces: Sequence[Surface],
    tip_radius: float,
) -> None:
    """Add tip, surfaces and pairs to a model; stiffness, damping and friction are set after it is compiled.

    Args:
        model: MJCF document.
        world: its ``worldbody``.
        tool: body whose frame is the tool frame.
        surfaces: surfaces that the tip can touch; at least one.
        tip_radius: radius of the sphere around the origin of the tool frame [m].
    """
    option = model.find("option")
    assert option is not None, "options come before surfaces"
    option.set("cone", "elliptic")  # the only cone with isotropic friction
    option.set("impratio", number_text(FRICTION_RATIO))
    # Contact forces are measured, so they must be accurate; but with zero tolerance the solver continues within
    # round-off, up to a hundred times as long.
    option.set("tolerance", number_text(ACCURACY**2))  # tolerance of the cost, which is quadratic
    option.set("ls_tolerance", number_text(1.0 / ACCURACY))  # times tolerance: of the slope in line searches
    tip = ElementTree.SubElement(tool, "body", name=TIP)
    ElementTree.SubElement(tip, "inertial", pos="0 0 0", mass="0", diaginertia="0 0 0")
    apart = {"mass": "0", "contype": "0", "conaffinity": "0"}
    ElementTree.SubElement(tip, "geom", apart, name=TIP, type="sphere", size=number_text(tip_radius))
    contact = ElementTree.SubElement(model, "contact")
    for surface in surfaces:
        size = (0.0, 0.0, 1.0) if surface.kind == "plane" else surface.half_extents  # MuJoCo: 0 0 = infinite
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
