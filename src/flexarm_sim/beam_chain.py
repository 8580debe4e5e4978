r"""BeamChain: a beam as a chain of rigid pieces; its properties and linear maps, without a physics engine.

A beam of ``E`` equal elements of length ``dx = L / E`` is cut in the middle of each element: ``E`` hinges at
``x_i = (i - 1/2) dx`` between ``E + 1`` rigid pieces. The first piece, of length ``dx / 2``, is clamped to the link
frame; the last one is as short. A hinge has the whole compliance of its element: stiffness ``EI / dx`` in bending,
``GJ / dx`` in torsion and ``EA / dx`` along the beam.

Dampers act on the modes of the clamped and loaded chain, each with the damping ratio ``zeta`` of the beam. With all
hinges of a direction of stiffness ``k`` and the mass matrix ``M = U diag(mu) U^T`` of their angles, the modes are the
columns of ``U``, ``omega = sqrt(k / mu)``, and the damping matrix ``D = 2 zeta sqrt(k) M^(1/2)`` is ``E`` dampers, one
for each combination ``U_j`` of angles. Stiffness-proportional damping would suit the first mode, but grows with
``omega^2``: the highest mode of 20 hinges would need integration steps of a microsecond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError, RobotDescriptionError
from flexarm_core.flexible_dynamics.beam import Load
from flexarm_core.flexible_dynamics.flexible_links import carried_loads, load_flexible_links
from flexarm_core.flexible_dynamics.modal_data import ModalData
from flexarm_core.robot.description import Beam, RobotDescription, StrainGauge
from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction in which every hinge of a chain is compliant.

    Attributes:
        name: ``bending_z`` (rotation about z), ``bending_y``, ``torsion`` or ``axial``.
        axis: (3,) axis of every hinge, in axes of the link.
        stiffness: stiffness of each hinge [N*m/rad | N/m].
        dampers: (E, E) one damper per row: the combination of hinge coordinates on which it acts.
        damping: (E,) damping of each damper [N*m*s/rad | N*s/m]; zeros if the beam is undamped.
    """

    name: str
    axis: Array
    stiffness: float
    dampers: Array
    damping: Array


@dataclass(frozen=True, slots=True)
class Piece:
    """A rigid piece, a slender rod along the beam.

    Attributes:
        start: position of its start, at its hinge; 0 for the first piece [m].
        length: length [m].
        mass: mass [kg].
        polar: moment of inertia about the beam axis [kg*m^2].
        lateral: moment of inertia about lateral axes through its center [kg*m^2].
    """

    start: float
    length: float
    mass: float
    polar: float
    lateral: float


@dataclass(frozen=True, slots=True)
class BeamChain:
    """A beam as a chain; the coordinates ``q`` (c,) are those of its hinges, direction by direction.

    Attributes:
        link: flexible link.
        turn: (3, 3) rotation of the beam in its link.
        pieces: (E + 1) pieces, inboard first.
        directions: compliant directions, in their order within a hinge.
        modes: names of the ``k`` modes.
        nodes: (N, 3) points of the modal data, axes of the link [m].
        node_piece: (N,) index of the piece that carries each node.
        projection: (k, 4 N) maps ``[v; w; torsion; stretch]`` of the nodes to modal coordinates.
        node_map: (4 N, c) maps the hinge coordinates to these node displacements.
        mode_map: (c, k) hinge coordinates of each unit mode.
        gauges: (g) strain gauges on this beam.
        strain_map: (g, c) maps the hinge coordinates to the strain of each gauge.
    """

    link: str
    turn: Array
    pieces: tuple[Piece, ...]
    directions: tuple[Direction, ...]
    modes: tuple[str, ...]
    nodes: Array
    node_piece: Array
    projection: Array
    node_map: Array
    mode_map: Array
    gauges: tuple[str, ...]
    strain_map: Array

    def piece_at(self, position: Array) -> int:
        """Return the index of the piece that carries a point (3,) in the link frame."""
        return _piece_at(float(self.turn[:, 0] @ position), len(self.pieces) - 1, self.pieces[1].start * 2.0)

    def start_of(self, piece: int) -> Array:
        """Return the start (3,) of a piece in the frame of the undeformed link [m]."""
        start: Array = self.turn[:, 0] * self.pieces[piece].start
        return start


def make_chains(description: RobotDescription, segments: int) -> dict[str, BeamChain]:
    """Build the chains of all flexible links, in the order of their modes.

    Raises:
        ConfigError: fewer than two segments, or fewer than a beam has modes of one kind.
        RobotDescriptionError: a flexible link that is not a beam, or is not usable.
    """
    if isinstance(segments, bool) or not isinstance(segments, int) or segments < 2:
        raise ConfigError(f"segments is {segments!r}, expected a whole number of at least 2 rigid segments a beam")
    for name, link in description.flexible_links.items():
        if link.modal_data:
            raise RobotDescriptionError(
                f"flexible link '{name}' is given by <modal_data>, which cannot be cut into rigid segments: simulate it"
                " with the backend flexible_dynamics, or give it a <beam>"
            )
    chains = {}
    for name, data in load_flexible_links(description).items():
        beam = description.flexible_links[name].beam
        if beam is None:  # an elastic drive, which needs no chain
            continue
        loads = carried_loads(description, name, beam) if beam.tip_mass is None else (Load(beam.tip_mass),)
        gauges = [gauge for gauge in description.strain_gauges.values() if gauge.link == name]
        chains[name] = make_chain(name, beam, loads, data, gauges, segments)
    return chains


def make_chain(
    link: str, beam: Beam, loads: Sequence[Load], data: ModalData, gauges: Sequence[StrainGauge], segments: int
) -> BeamChain:
    """Divide one beam into rigid pieces.

    Args:
        link: flexible link of the beam.
        beam: the beam.
        loads: bodies that the beam carries, used for the dampers only.
        data: modes of the beam.
        gauges: strain gauges on the beam.
        segments: number of elements and hinges ``E``.

    Raises:
        ConfigError: fewer segments than modes of one kind.
    """
    most = max(beam.modes_y, beam.modes_z, beam.modes_torsion, beam.modes_axial)
    if segments < most:
        raise ConfigError(f"flexible link '{link}' has {most} modes of a kind: give at least as many segments")
    turn = beam.transform_beam_to_link[:3, :3]
    dx = beam.length / segments
    pieces = tuple(_piece(beam, i, segments, dx) for i in range(segments + 1))
    kinds = [
        ("axial", 0, beam.EA / dx, beam.modes_axial),
        ("torsion", 0, beam.GJ / dx, beam.modes_torsion),
        ("bending_z", 2, beam.EIz / dx, beam.modes_y),
        ("bending_y", 1, beam.EIy / dx, beam.modes_z),
    ]
    kinds = [kind for kind in kinds if kind[3] > 0]
    directions = []
    for name, axis, stiffness, _ in kinds:
        mu, combinations = np.linalg.eigh(_chain_mass(name, pieces, loads, beam.length))
        damping = 2.0 * beam.damping_ratio * np.sqrt(stiffness * np.maximum(mu, 0.0))
        directions.append(Direction(name, turn[:, axis], stiffness, combinations.T, damping))
    names = [kind[0] for kind in kinds]
    x = data.position @ turn[:, 0]
    node_map = _node_map(names, x, segments, dx)
    projection = _projection(data, turn)
    mode_map = _mode_map(names, data, turn, x, segments, dx)
    # the modal position that is read must equal the one that was set: the slopes alone leave an error of order dx^2
    mode_map = mode_map @ np.linalg.inv(projection @ node_map @ mode_map)
    return BeamChain(
        link=link,
        turn=turn,
        pieces=pieces,
        directions=tuple(directions),
        modes=data.modes,
        nodes=data.position,
        node_piece=np.array([_piece_at(at, segments, dx) for at in x]),
        projection=projection,
        node_map=node_map,
        mode_map=mode_map,
        gauges=tuple(gauge.name for gauge in gauges),
        strain_map=np.array([_strain(names, gauge.position, segments, dx) for gauge in gauges]).reshape(
            len(gauges), len(names) * segments
        ),
    )


def _piece_at(x: float, segments: int, dx: float) -> int:
    return int(np.clip(np.floor(x / dx + 0.5), 0, segments))


def _piece(beam: Beam, index: int, segments: int, dx: float) -> Piece:
    length = dx if 0 < index < segments else 0.5 * dx
    mass, polar = beam.rho_A * length, beam.rho_Ip * length
    # the inertia about one axis never exceeds the sum of the other two; a short thick piece would violate this
    lateral = max(mass * length**2 / 12.0, 0.5 * polar)
    return Piece(max(0.0, (index - 0.5) * dx), length, mass, polar, lateral)


def _chain_mass(kind: str, pieces: Sequence[Piece], loads: Sequence[Load], length: float) -> Array:
    """Return the (E, E) mass matrix of the hinge coordinates of a clamped, undeformed chain with its loads."""
    hinges = np.array([piece.start for piece in pieces[1:]])
    centers = np.array([piece.start + 0.5 * piece.length for piece in pieces])
    mass, polar, lateral = np.array([(piece.mass, piece.polar, piece.lateral) for piece in pieces]).T
    moved = (np.arange(len(pieces))[:, None] > np.arange(len(hinges))).astype(float)
    if kind in ("axial", "torsion"):
        own = mass if kind == "axial" else polar
        total: Array = moved.T @ (own[:, None] * moved)
    else:
        arm = moved * (centers[:, None] - hinges)
        total = arm.T @ (mass[:, None] * arm) + moved.T @ (lateral[:, None] * moved)
    for load in loads:
        lever = np.maximum(min(load.place, length) - hinges, 0.0)
        turned = (lever > 0.0).astype(float)  # by the hinges inboard of its mount
        if kind in ("axial", "torsion"):
            total += (load.mass if kind == "axial" else load.inertia[0]) * np.outer(turned, turned)
            continue
        coupled = load.mass * load.offset * np.outer(lever, turned)
        inertia = load.inertia[2] if kind == "bending_z" else load.inertia[1]
        total += load.mass * np.outer(lever, lever) + coupled + coupled.T + inertia * np.outer(turned, turned)
    return total


def _node_map(kinds: Sequence[str], x: Array, segments: int, dx: float) -> Array:
    """Return (4 N, c), which maps hinge coordinates to ``[v; w; torsion; stretch]`` of points on the beam."""
    hinges = (np.arange(segments) + 0.5) * dx
    arm = np.maximum(0.0, x[:, None] - hinges)
    part = np.clip((x[:, None] - hinges) / dx + 0.5, 0.0, 1.0)  # twist and stretch are distributed over the element
    rows = np.zeros((4, len(x), len(kinds), segments))
    for i, kind in enumerate(kinds):
        row, values = {"bending_z": (0, arm), "bending_y": (1, -arm), "torsion": (2, part), "axial": (3, part)}[kind]
        rows[row, :, i] = values
    return rows.reshape(4 * len(x), len(kinds) * segments)


def _projection(data: ModalData, turn: Array) -> Array:
    """Return (k, 4 N): the weighted least-squares fit of modal coordinates to given displacements."""
    translation, rotation = turn.T @ data.translation, turn.T @ data.rotation
    shapes = np.concatenate([translation[:, 1], translation[:, 2], rotation[:, 0], translation[:, 0]])
    polar = (turn.T @ data.inertia @ turn)[:, 0, 0]
    weight = np.sqrt(np.concatenate([data.mass, data.mass, polar, data.mass]))
    projection: Array = np.linalg.pinv(weight[:, None] * shapes) * weight
    return projection


def _mode_map(kinds: Sequence[str], data: ModalData, turn: Array, x: Array, segments: int, dx: float) -> Array:
    """Return (c, k) hinge coordinates of each mode: the change of its slope, twist or stretch over each element."""
    translation, rotation = turn.T @ data.translation, turn.T @ data.rotation
    ends = np.arange(segments + 1) * dx
    columns = []
    for mode in range(len(data.modes)):
        fields = {
            "bending_z": rotation[:, 2, mode],
            "bending_y": rotation[:, 1, mode],
            "torsion": rotation[:, 0, mode],
            "axial": translation[:, 0, mode],
        }
        columns.append(np.concatenate([np.diff(np.interp(ends, x, fields[kind])) for kind in kinds]))
    return np.array(columns).T


def _strain(kinds: Sequence[str], position: Array, segments: int, dx: float) -> Array:
    """Return (c,), which maps to fiber strain ``u' - y v'' - z w''``: linear between hinges, extrapolated outside."""
    at = position[0] / dx - 0.5
    near = int(np.clip(np.floor(at), 0, segments - 2))
    weights = np.zeros(segments)
    weights[near], weights[near + 1] = (near + 1 - at) / dx, (at - near) / dx
    factor = {"axial": 1.0, "torsion": 0.0, "bending_z": -position[1], "bending_y": position[2]}
    return np.concatenate([factor[kind] * weights for kind in kinds])
