"""ModalData: deformation modes of one flexible body, as exported from a finite-element program, and their file.

A body is a set of nodes; its deformation is a combination of ``k`` modes clamped at the origin of the body frame. With
the modal spatial influence vectors ``Pi_j`` (US 5,546,508), which map the modes to node deformations, node ``j`` moves
by::

    displacement_j = Pi^t_j eta        (3,)  in axes of the link
    rotation_j     = Pi^r_j eta        (3,)  small rotation vector, in axes of the link

and the body's strain energy is ``eta^T K eta / 2``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import numpy as np

from flexarm_core.array_file import ArrayFile
from flexarm_core.entrance import finite
from flexarm_core.errors import InputError, RobotDescriptionError
from flexarm_core.types import Array

CLAMPED = 1e-6  # influence at the inboard node, relative to the largest influence, that is treated as zero
ROUNDED = 1e-6  # relative rounding of matrices from finite-element programs, which write single precision
MATRICES = ("inertia", "stiffness", "damping")


@dataclass(frozen=True, slots=True)
class ModalData:
    """Deformation modes of one body, in its link's frame.

    Attributes:
        modes: names of the ``k`` modes, ``bending_y_1`` ...
        position: (N, 3) undeformed node positions; node 0 is the clamped inboard node at the link's origin [m].
        mass: (N,) masses lumped at the nodes [kg].
        inertia: (N, 3, 3) inertias about the nodes [kg*m^2].
        translation: (N, 3, k) translational modal influence ``Pi^t`` [1/sqrt(kg) for mass-normalized modes].
        rotation: (N, 3, k) rotational modal influence ``Pi^r`` [rad/(sqrt(kg)*m)].
        stiffness: (k, k) modal stiffness ``K`` [1/s^2].
        damping: (k, k) modal damping ``C`` [1/s].
        strain: strain (k,) per unit of each mode, by strain gauge [1/(sqrt(kg)*m)].
    """

    modes: tuple[str, ...]
    position: Array
    mass: Array
    inertia: Array
    translation: Array
    rotation: Array
    stiffness: Array
    damping: Array
    strain: dict[str, Array] = field(default_factory=dict)

    @property
    def modal_mass(self) -> Array:
        """Modal mass matrix (k, k) ``sum_j Pi_j^T M_j Pi_j`` of this body, without outboard bodies."""
        moving = np.einsum("jak,j,jal->kl", self.translation, self.mass, self.translation)
        turning = np.einsum("jak,jab,jbl->kl", self.rotation, self.inertia, self.rotation)
        total: Array = moving + turning
        return total

    def nearest_node(self, position: Array) -> int:
        """Return the index of the node nearest to a point (3,) in the link's frame; parts mounted there use it."""
        return int(np.argmin(np.linalg.norm(self.position - position, axis=1)))


def find_problems(data: ModalData) -> list[str]:
    """Return all problems of modal data, each with its remedy; empty if there are none."""
    nodes, k = len(data.mass), len(data.modes)
    shapes = {
        "position": (nodes, 3),
        "mass": (nodes,),
        "inertia": (nodes, 3, 3),
        "translation": (nodes, 3, k),
        "rotation": (nodes, 3, k),
        "stiffness": (k, k),
        "damping": (k, k),
    }
    problems = [
        f"{name} has shape {np.shape(getattr(data, name))}, expected {shape} for {nodes} nodes and {k} modes"
        for name, shape in shapes.items()
        if np.shape(getattr(data, name)) != shape
    ]
    problems += [
        f"strain of gauge '{name}' has shape {np.shape(row)}, expected ({k},)"
        for name, row in data.strain.items()
        if np.shape(row) != (k,)
    ]
    if problems:
        return problems
    problems = [
        f"{name} holds numbers that are not finite" for name in shapes if not np.isfinite(getattr(data, name)).all()
    ]
    problems += [
        f"strain of gauge '{name}' is not finite" for name, row in data.strain.items() if not np.isfinite(row).all()
    ]
    if problems:
        return problems
    try:
        with np.errstate(all="ignore"):
            return _physical_problems(data)
    except np.linalg.LinAlgError as error:
        return [f"the numbers are too far apart to compute with: {error}"]


def _physical_problems(data: ModalData) -> list[str]:
    problems = []
    if len(set(data.modes)) != len(data.modes):
        problems.append("mode names are not unique")
    if nodes_below := np.flatnonzero(data.mass < 0.0).tolist():
        problems.append(f"nodes {nodes_below} have negative mass")
    if not data.mass.sum() > 0.0:
        problems.append("the nodes have no mass")
    for name in MATRICES:
        matrices = getattr(data, name).reshape(-1, *getattr(data, name).shape[-2:])
        size = np.abs(matrices).max(initial=0.0)
        if np.abs(matrices - matrices.transpose(0, 2, 1)).max(initial=0.0) > ROUNDED * size:
            problems.append(f"{name} is not symmetric")
        elif np.linalg.eigvalsh(matrices).min(initial=0.0) < -ROUNDED * size:
            problems.append(f"{name} is not positive semidefinite")
    if data.modes and np.linalg.eigvalsh(data.stiffness)[0] <= 0.0:
        problems.append("stiffness is singular: leave out rigid-body modes, the hinge is a joint of its own")
    if np.abs(data.position[0]).max() > 1e-6 * max(1e-3, np.abs(data.position).max()):
        problems.append(f"node 0 must be the inboard node at the link's origin, it lies at {data.position[0].tolist()}")
    for name, influence in (("translation", data.translation), ("rotation", data.rotation)):
        if np.abs(influence[0]).max(initial=0.0) > CLAMPED * np.abs(influence).max(initial=0.0):
            problems.append(f"{name} of node 0 is not zero: the modes must be clamped at the inboard end")
    mass = data.modal_mass
    if data.modes and np.linalg.eigvalsh(mass)[0] <= 1e-9 * np.trace(mass) / len(mass):
        problems.append("the modes are not independent: their modal mass matrix is singular")
    return problems


_ARRAYS = tuple(item.name for item in fields(ModalData) if item.name not in ("modes", "strain"))


def save_modal_data(path: str | Path, data: ModalData) -> None:
    """Write modal data as ``.npz``: one array per attribute, ``modes``, ``gauges`` (names) and ``strain`` (g, k)."""
    np.savez(
        path,
        modes=np.array(data.modes),
        gauges=np.array(tuple(data.strain), dtype=str),
        strain=np.array(list(data.strain.values())).reshape(len(data.strain), len(data.modes)),
        **{name: getattr(data, name) for name in _ARRAYS},
    )


def load_modal_data(path: str | Path) -> ModalData:
    """Read and check a modal data file.

    ``gauges`` and ``strain`` are optional. ``damping`` is optional and defaults to zero.

    Matrices that are symmetric but for their rounding are made symmetric.

    Raises:
        RobotDescriptionError: no such file, not a ``.npz``, arrays missing, or invalid data; the message lists every
            problem.
    """
    archive = ArrayFile(path, "modal data file", RobotDescriptionError)
    missing = [name for name in archive.lacking(("modes", *_ARRAYS)) if name != "damping"]
    if missing:
        raise RobotDescriptionError(
            f"modal data file '{path}' lacks {', '.join(missing)}; it has {', '.join(archive.claims) or 'nothing'}"
        )
    arrays = archive.load()
    try:
        given = [name for name in (*_ARRAYS, "strain") if name in arrays]
        numbers = {name: finite(name, arrays[name], *arrays[name].shape) for name in given}
    except InputError as error:
        raise RobotDescriptionError(f"modal data file '{path}': {error}") from error
    numbers.setdefault("damping", np.zeros_like(numbers["stiffness"]))
    names = [str(name) for name in np.atleast_1d(arrays.get("gauges", np.array([], dtype=str)))]
    rows = numbers.pop("strain", np.zeros((0, 0)))
    flat = [name for name, value in {**numbers, "strain": rows}.items() if value.ndim == 0]
    if flat:
        raise RobotDescriptionError(f"modal data file '{path}': {', '.join(flat)} must be arrays, not single numbers")
    if len(names) != len(rows):
        raise RobotDescriptionError(f"modal data file '{path}': {len(names)} gauges and {len(rows)} rows of strain")
    data = ModalData(
        modes=tuple(str(name) for name in np.atleast_1d(arrays["modes"])),
        strain=dict(zip(names, rows, strict=True)),
        **numbers,
    )
    problems = find_problems(data)
    if problems:
        raise RobotDescriptionError(f"modal data file '{path}': " + "; ".join(problems))
    rounded = {name: getattr(data, name) for name in MATRICES}
    return replace(data, **{name: 0.5 * (value + np.swapaxes(value, -1, -2)) for name, value in rounded.items()})
