r"""Beam -> ModalData: Euler-Bernoulli finite elements, clamped at the inboard end, with the masses that it carries.

Bending in each plane has two coordinates per node, deflection and slope, with the stiffness of cubic elements::

    K_e = EI / h^3 [12  6h  -12  6h;  6h  4h^2  -6h  2h^2;  -12  -6h  12  -6h;  6h  2h^2  -6h  4h^2]

The mass is lumped at the nodes (half at the ends), and loads are added at theirs. Torsion and axial
deformation have one coordinate per node. The eigenproblem is solved in its flexibility form ``K^-1 M phi = mu phi``,
``mu = 1 / omega^2``, which allows nodes without rotary inertia. Modes are normalized to ``phi^T M phi = 1``; ``M``
includes the loads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.flexible_dynamics.modal_data import ModalData, find_problems
from flexarm_core.robot.description import Beam, StrainGauge
from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class Load:
    """Mass that a beam carries, used for the mode shapes only: the recursion treats it as separate bodies.

    Attributes:
        mass: mass [kg].
        offset: distance of the center of mass beyond the mount, along the beam [m].
        inertia: (3,) moments of inertia about the mount, in axes of the beam [kg*m^2].
        place: distance of the mount from the clamped end, infinite at the tip [m].
    """

    mass: float = 0.0
    offset: float = 0.0
    inertia: tuple[float, float, float] = (0.0, 0.0, 0.0)
    place: float = math.inf


def beam_modes(beam: Beam, loads: Sequence[Load] = (), gauges: Sequence[StrainGauge] = ()) -> ModalData:
    """Compute the lowest modes of a beam: bending in y and z, torsion and axial.

    Args:
        beam: the beam.
        loads: bodies that the beam carries; the ``tip_mass`` of the beam, if given, replaces them.
        gauges: strain gauges on the beam.

    Returns:
        Modal data in the link's frame: stiffness ``diag(omega^2)``, damping ``diag(2 zeta omega)``.

    Raises:
        RobotDescriptionError: the clamped end of the beam is not at the link's origin, or its numbers are so far apart
            that the modes cannot be computed.
    """
    try:
        with np.errstate(all="ignore"):
            data = _beam_modes(beam, loads, gauges)
    except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
        reason = " ".join(str(error).split())[:200]
        raise RobotDescriptionError(f"the modes of the <beam> cannot be computed: {reason}") from error
    if problems := find_problems(data):
        raise RobotDescriptionError(f"the modes of the <beam> cannot be computed: {'; '.join(problems)}")
    return data


def _beam_modes(beam: Beam, loads: Sequence[Load], gauges: Sequence[StrainGauge]) -> ModalData:
    if np.abs(beam.transform_beam_to_link[:3, 3]).max() > 1e-9:
        raise RobotDescriptionError(
            "a <beam> begins at its link's origin, where the hinge is: its <origin> may only turn it"
        )
    if beam.tip_mass is not None:
        loads = (Load(beam.tip_mass),)
    solver = _BeamSolver(beam, loads)
    blocks = [
        solver.bending("y", beam.EIz, 2, beam.modes_y),
        solver.bending("z", beam.EIy, 1, beam.modes_z),
        solver.chain("torsion", beam.GJ, beam.rho_Ip, [load.inertia[0] for load in loads], beam.modes_torsion),
        solver.chain("axial", beam.EA, beam.rho_A, [load.mass for load in loads], beam.modes_axial),
    ]
    frequency = np.concatenate([block.frequency for block in blocks])
    turn = beam.transform_beam_to_link[:3, :3]
    polar = np.zeros((beam.elements + 1, 3, 3))
    polar[:, 0, 0] = solver.lump(beam.rho_Ip)
    position = np.zeros((beam.elements + 1, 3))
    position[:, 0] = solver.x
    return ModalData(
        modes=tuple(name for block in blocks for name in block.names),
        position=position @ turn.T,
        mass=solver.lump(beam.rho_A),
        inertia=turn @ polar @ turn.T,
        translation=turn @ np.concatenate([block.translation for block in blocks], axis=2),
        rotation=turn @ np.concatenate([block.rotation for block in blocks], axis=2),
        stiffness=np.diag(frequency**2),
        damping=np.diag(2.0 * beam.damping_ratio * frequency),
        strain={gauge.name: np.concatenate([block.strain(gauge.position) for block in blocks]) for gauge in gauges},
    )


@dataclass(frozen=True, slots=True)
class _Modes:
    """Modes of one kind; ``translation`` and ``rotation`` are (N, 3, k) in axes of the beam."""

    kind: str
    frequency: Array
    translation: Array
    rotation: Array
    x: Array

    @property
    def names(self) -> list[str]:
        return [f"{self.kind}_{i + 1}" for i in range(len(self.frequency))]

    def strain(self, position: Array) -> Array:
        """Compute the strain (k,) along x at a point: ``u' - y v'' - z w''``, with linear curvature in each element."""
        h = self.x[1] - self.x[0]
        element = min(int(position[0] / h), len(self.x) - 2)
        s = position[0] / h - element
        near, far = element, element + 1
        if self.kind == "axial":
            stretch: Array = (self.translation[far, 0] - self.translation[near, 0]) / h
            return stretch
        if self.kind == "torsion":
            return np.zeros(len(self.frequency))
        axis = 1 if self.kind == "bending_y" else 2
        slope = self.rotation[:, 2] if axis == 1 else -self.rotation[:, 1]
        sag = self.translation[:, axis]
        curvature = (12.0 * s - 6.0) * (sag[near] - sag[far]) / h**2 + (
            (6.0 * s - 4.0) * slope[near] + (6.0 * s - 2.0) * slope[far]
        ) / h
        bent: Array = -position[axis] * curvature
        return bent


class _BeamSolver:
    """Finite elements of one beam."""

    def __init__(self, beam: Beam, loads: Sequence[Load]) -> None:
        self._beam, self._loads = beam, loads
        self._h = beam.length / beam.elements
        self.x = np.linspace(0.0, beam.length, beam.elements + 1)
        self._nodes = [round(min(load.place / self._h, beam.elements)) for load in loads]

    def lump(self, per_length: float) -> Array:
        """Lump a quantity per length at the nodes (N,)."""
        lumped = np.full(self._beam.elements + 1, per_length * self._h)
        lumped[[0, -1]] *= 0.5
        return lumped

    def bending(self, axis: str, stiffness: float, turns_about: int, count: int) -> _Modes:
        """Modes that deflect along ``axis`` and turn about an axis of the beam (0: x)."""
        size, h = 2 * (self._beam.elements + 1), self._h
        K, M = np.zeros((size, size)), np.zeros((size, size))
        element = np.array(
            [[12, 6 * h, -12, 6 * h], [6 * h, 4 * h * h, -6 * h, 2 * h * h],
             [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h * h, -6 * h, 4 * h * h]]
        )  # fmt: skip
        for i in range(0, size - 2, 2):
            K[i : i + 4, i : i + 4] += stiffness / h**3 * element
        M[::2, ::2] = np.diag(self.lump(self._beam.rho_A))
        for load, node in zip(self._loads, self._nodes, strict=True):
            coupled, inertia = load.mass * load.offset, load.inertia[turns_about]
            M[2 * node : 2 * node + 2, 2 * node : 2 * node + 2] += [[load.mass, coupled], [coupled, inertia]]
        frequency, shapes = _lowest(K[2:, 2:], M[2:, 2:], count, tip=-2)
        deflection, slope = np.zeros((size // 2, count)), np.zeros((size // 2, count))
        deflection[1:], slope[1:] = shapes[::2], shapes[1::2]
        translation, rotation = np.zeros((2, size // 2, 3, count))
        if axis == "y":
            translation[:, 1], rotation[:, 2] = deflection, slope
        else:
            translation[:, 2], rotation[:, 1] = deflection, -slope
        return _Modes(f"bending_{axis}", frequency, translation, rotation, self.x)

    def chain(self, kind: str, stiffness: float, per_length: float, carried: Sequence[float], count: int) -> _Modes:
        """Compute the torsion or axial modes, with one coordinate per node."""
        size = self._beam.elements + 1
        K = stiffness / self._h * (2.0 * np.eye(size) - np.eye(size, k=1) - np.eye(size, k=-1))
        K[-1, -1] *= 0.5
        lumped = self.lump(per_length)
        np.add.at(lumped, self._nodes, carried)
        frequency, shapes = _lowest(K[1:, 1:], np.diag(lumped[1:]), count, tip=-1)
        translation, rotation = np.zeros((2, size, 3, count))
        (rotation if kind == "torsion" else translation)[1:, 0] = shapes
        return _Modes(kind, frequency, translation, rotation, self.x)


def _lowest(K: Array, M: Array, count: int, tip: int) -> tuple[Array, Array]:
    """Compute the lowest ``count`` frequencies [rad/s] and the shapes (size, count).

    The shapes satisfy ``phi^T M phi = 1`` and are positive in row ``tip``.
    """
    size = len(K)
    if count == 0:
        return np.zeros(0), np.zeros((size, 0))
    mu, shapes = scipy.linalg.eigh(M, K, subset_by_index=(size - count, size - 1))  # phi^T K phi = 1
    frequency = 1.0 / np.sqrt(mu[::-1])
    shapes = shapes[:, ::-1] * frequency
    return frequency, shapes * np.where(shapes[tip] < 0.0, -1.0, 1.0)
