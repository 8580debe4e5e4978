"""A BeamChain in a MuJoCo model: its pieces become nested bodies, its hinges joints, and its dampers tendons.

All pieces have the axes of the link, so a part that is mounted on a piece changes only its offset.
"""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.description import Link
from flexarm_core.types import Array
from flexarm_sim.beam_chain import BeamChain, Direction, Piece
from flexarm_sim.mujoco.inertia import set_inertia

HINGE, SLIDE = mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE
NEGLIGIBLE = 1e-6  # fraction of the link's mass below which mass in addition to the beam is ignored


def piece_body(chain: BeamChain, piece: int) -> str:
    """Return the name of the body of a piece; the first is the body of the link itself."""
    return f"link/{chain.link}" if piece == 0 else f"beam/{chain.link}/{piece}"


def hinge_joint(chain: BeamChain, direction: Direction, hinge: int) -> str:
    """Return the name of the joint of a hinge, counted from 0."""
    return f"beam/{chain.link}/{direction.name}/{hinge + 1}"


def add_chain(chain: BeamChain, link: Link, body: mujoco.MjsBody) -> list[mujoco.MjsBody]:
    """Add the pieces of a beam to the body of its link, which becomes the first piece.

    Args:
        chain: chain of the beam.
        link: link of the beam; inertia of its ``<inertial>`` in addition to the beam is fixed to the first piece.
        body: body of the link, without inertia.

    Returns:
        The body of each piece.

    Raises:
        RobotDescriptionError: the remaining inertia of the link is not physical.
    """
    inertias = piece_inertias(chain, link)
    set_inertia(body, link.name, *inertias[0])
    bodies = [body]
    for i, (mass, center, inertia) in enumerate(inertias[1:]):
        step = chain.start_of(i + 1) - chain.start_of(i)
        bodies.append(bodies[-1].add_body(name=piece_body(chain, i + 1), pos=step))
        set_inertia(bodies[-1], link.name, mass, center - chain.start_of(i + 1), inertia)
        for direction in chain.directions:
            bodies[-1].add_joint(
                name=hinge_joint(chain, direction, i),
                type=SLIDE if direction.name == "axial" else HINGE,
                axis=direction.axis,
                stiffness=direction.stiffness,
            )
    return bodies


def add_dampers(chains: Mapping[str, BeamChain], spec: mujoco.MjSpec) -> None:
    """Add the dampers of all beams: a fixed tendon is a linear combination of joints and can have damping."""
    for chain in chains.values():
        for direction in chain.directions:
            for factors, damping in zip(direction.dampers, direction.damping, strict=True):
                if damping > 0.0:
                    tendon = spec.add_tendon(damping=damping)
                    for hinge, factor in enumerate(factors):
                        tendon.wrap_joint(hinge_joint(chain, direction, hinge), factor)


def piece_inertias(chain: BeamChain, link: Link) -> list[tuple[float, Array, Array]]:
    """Return the inertia of each piece; that of the first includes all parts of the link in addition to its beam.

    Returns:
        Mass, center of mass (3,) in the link frame, and inertia (3, 3) about it in axes of the link, by piece.

    Raises:
        RobotDescriptionError: the remaining inertia of the link is not physical.
    """
    rods = [_rod(chain, piece) for piece in chain.pieces]
    rest = link.mass - sum(mass for mass, _, _ in rods)
    if rest < NEGLIGIBLE * link.mass:
        return rods
    # all quantities about the origin of the link: the link without its moving pieces
    mass, moment = link.mass, link.mass * link.center_of_mass
    inertia = link.inertia + _shift(link.mass, link.center_of_mass)
    for rod_mass, center, rod_inertia in rods[1:]:
        mass, moment = mass - rod_mass, moment - rod_mass * center
        inertia = inertia - rod_inertia - _shift(rod_mass, center)
    center = moment / mass
    central = inertia - _shift(mass, center)
    if np.linalg.eigvalsh(central)[0] < 0.0:
        raise RobotDescriptionError(
            f"link '{link.name}': its <inertial> has {rest:.6g} kg beyond its beam, but less inertia than the beam"
            " alone: <inertial> is that of the whole undeformed link, correct <inertia>"
        )
    return [(mass, center, central), *rods[1:]]


def _rod(chain: BeamChain, piece: Piece) -> tuple[float, Array, Array]:
    """Return mass, center (3,) in the link frame, and inertia (3, 3) about the center, axes of the link."""
    moments = np.diag([piece.polar, piece.lateral, piece.lateral])
    center: Array = chain.turn[:, 0] * (piece.start + 0.5 * piece.length)
    return piece.mass, center, chain.turn @ moments @ chain.turn.T


def _shift(mass: float, center: Array) -> Array:
    """Return the parallel-axis term of an inertia, from the center of mass to the origin."""
    grown: Array = mass * (center @ center * np.eye(3) - np.outer(center, center))
    return grown
