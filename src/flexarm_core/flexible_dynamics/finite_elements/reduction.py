r"""Craig-Bampton reduction of a finite-element model to modal data of a link.

The inboard interface is clamped (the hinge is a joint of its own); every outboard interface moves as a rigid body of
six coordinates ``b`` (a spider). With the other degrees of freedom ``i``, the interfaces are either

- *fixed*: normal modes with ``b = 0``, and for each ``b`` the static shape ``u_i = -K_ii^-1 K_ib b``
  (R. Craig, M. Bampton: Coupling of substructures for dynamic analyses, AIAA Journal 6(7), 1968), or
- *free*: the lowest normal modes of the clamped body.

Both sets of shapes are made orthogonal, so that the modal mass is 1 and the stiffness diagonal.

Inertia is kept exactly. Where mass acts on translations alike in all three directions, ``M = M_s (x) 1``, as in solid
elements and lumped masses, all sums of the equations of motion are elements of ``G = A^T M_s A`` with the columns
``A = (1, r, phi_k)``. Particles with the rows of a factor ``G = R^T R`` have the same ``G``: with ``m = R_1^2``, their
positions and shapes are the other columns divided by ``R_1``. So the body is ``4 + 3 k`` particles, however fine its
mesh is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse import linalg as sparse_linalg

from flexarm_core.errors import InputError
from flexarm_core.flexible_dynamics.modal_data import ModalData, find_problems
from flexarm_core.types import Array

DIRECTIONS = 6  # of a node: three translations, three rotations
INTERFACES = ("fixed", "free")
ALIKE = 1e-6  # relative difference of masses in the three directions that counts as rounding
NOTHING = 1e-12  # part of the largest eigenvalue below which one of G counts as zero
DENSE = 400  # coordinates up to which eigenvalues are computed densely


@dataclass(frozen=True, slots=True)
class FiniteElements:
    """Matrices of a finite-element model in SI units.

    Attributes:
        nodes: numbers of the N nodes, increasing.
        position: (N, 3) their positions [m].
        freedom: (d, 2) index of the node, and direction 0 to 5, of every degree of freedom.
        mass: (d, d) symmetric.
        stiffness: (d, d) symmetric.
        sets: numbers of nodes, by the name of the set.
    """

    nodes: NDArray[np.int64]
    position: Array
    freedom: NDArray[np.int64]
    mass: sparse.csr_array
    stiffness: sparse.csr_array
    sets: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def members(self, name: str) -> NDArray[np.int64]:
        """Return the indices of the nodes of a set, or of node numbers separated by commas.

        Raises:
            InputError: there is no such set or node.
        """
        if name in self.sets:
            numbers = self.sets[name]
        else:
            try:
                numbers = tuple(int(word) for word in name.split(","))
            except ValueError:
                known = ", ".join(self.sets) or "none"
                raise InputError(f"there is no node set '{name}'; there are: {known}; or give node numbers") from None
        place = {number: i for i, number in enumerate(self.nodes.tolist())}
        lacking = [number for number in numbers if number not in place]
        if lacking or not numbers:
            raise InputError(f"interface '{name}': there is no node {lacking[0] if lacking else 'in it'}")
        return np.array([place[number] for number in numbers], dtype=np.int64)


def reduced_body(
    model: FiniteElements,
    inboard: str,
    outboard: Sequence[str] = (),
    modes: int = 6,
    interface: str = "fixed",
    *,
    origin: Array | None = None,
    rotation: Array | None = None,
    damping_ratio: float = 0.0,
    highest: float = np.inf,
) -> ModalData:
    """Return the modal data of a body.

    Args:
        model: the finite-element model, without its clamps.
        inboard: node set, or node numbers separated by commas, of the inboard interface, which is clamped.
        outboard: those of the outboard interfaces; each is a node of the modal data, at the mean of its nodes.
        modes: number of normal modes.
        interface: whether outboard interfaces are ``fixed`` or ``free`` in the normal modes.
        origin: (3,) origin of the link in the model; default: mean of the inboard nodes [m].
        rotation: (3, 3) from axes of the model to those of the link.
        damping_ratio: of every mode.
        highest: frequency above which modes are left out [Hz]; static shapes of stiff interfaces have high ones.

    Raises:
        InputError: a set is not there, the body is not held by its inboard interface, or its mass is of a kind that
            particles cannot have; the message says which.
    """
    if interface not in INTERFACES:
        raise InputError(f"interface '{interface}' is unknown; valid: {', '.join(INTERFACES)}")
    if modes < 1 and not (outboard and interface == "fixed"):
        raise InputError("give at least one mode")
    clamped, ends = model.members(inboard), [model.members(name) for name in outboard]
    used = np.concatenate([clamped, *ends])
    if len(np.unique(used)) < len(used):
        raise InputError("a node belongs to two interfaces")
    middles = [model.position[nodes].mean(axis=0) for nodes in ends]
    T, free = _spiders(model, clamped, ends, middles)
    K, M = (sparse.csc_array(T.T @ matrix @ T) for matrix in (model.stiffness, model.mass))
    bound = DIRECTIONS * len(ends)
    shapes = _shapes(K, M, modes, bound, fixed=interface == "fixed")
    squares, basis = _orthogonal(shapes.T @ (K @ shapes), shapes.T @ (M @ shapes))
    kept = np.sqrt(np.maximum(squares, 0.0)) <= 2.0 * np.pi * highest
    if not kept.any():
        raise InputError(
            f"all modes are above {highest:g} Hz: the lowest is at {np.sqrt(squares[0]) / 2 / np.pi:.4g} Hz"
        )
    squares, made = squares[kept], shapes @ basis[:, kept]
    data = _modal_data(model, T @ made, squares, made[free:], middles, damping_ratio)
    begin = model.position[clamped].mean(axis=0) if origin is None else np.asarray(origin, dtype=float)
    data = _moved(data, begin, np.eye(3) if rotation is None else np.asarray(rotation, dtype=float))
    if problems := find_problems(data):
        raise InputError("; ".join(problems))
    return data


def _spiders(
    model: FiniteElements, clamped: NDArray[np.int64], ends: Sequence[NDArray[np.int64]], middles: Sequence[Array]
) -> tuple[sparse.csr_array, int]:
    """Return the map from free degrees of freedom and interface coordinates to all, and the number of the former."""
    node, direction = model.freedom.T
    bound = np.isin(node, np.concatenate([clamped, *ends]))
    free = np.flatnonzero(~bound)
    rows, columns, values = [free], [np.arange(len(free))], [np.ones(len(free))]
    for number, (nodes, middle) in enumerate(zip(ends, middles, strict=True)):
        first = len(free) + DIRECTIONS * number
        for i in np.flatnonzero(np.isin(node, nodes)):
            row = _rigid(model.position[node[i]] - middle)[direction[i]]
            rows.append(np.full(DIRECTIONS, i))
            columns.append(first + np.arange(DIRECTIONS))
            values.append(row)
    shape = len(node), len(free) + DIRECTIONS * len(ends)
    flat = (np.concatenate(part) for part in (values, rows, columns))
    values_, rows_, columns_ = flat
    return sparse.csr_array((values_, (rows_, columns_)), shape=shape), len(free)


def _rigid(arm: Array) -> Array:
    """Return motion (6, 6) of a point at ``arm`` by the motion of a rigid body: translation and rotation of both."""
    x, y, z = arm
    J = np.eye(DIRECTIONS)
    J[:3, 3:] = [[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]
    return J


def _shapes(K: sparse.csc_array, M: sparse.csc_array, modes: int, bound: int, *, fixed: bool) -> Array:
    """Return shapes (d, k): normal modes and, with fixed interfaces, static ones."""
    d = K.shape[0]
    if not fixed or not bound:
        return _normal_modes(K, M, modes)
    i = d - bound
    solve = _solver(K[:i, :i])
    static = np.vstack((-solve(K[:i, i:].toarray()), np.eye(bound)))
    if not modes:
        return static
    normal = np.vstack((_normal_modes(K[:i, :i], M[:i, :i], modes), np.zeros((bound, modes))))
    return np.hstack((normal, static))


def _solver(K: sparse.csc_array):  # type: ignore[no-untyped-def]
    """Return a function that solves with a stiffness; raise InputError if it is singular."""
    loose = "the body is not held by its inboard interface: are its nodes those of the hinge, and parts connected?"
    diagonal = K.diagonal()
    try:
        factor = sparse_linalg.splu(sparse.csc_matrix(K))
    except RuntimeError as error:
        raise InputError(loose) from error
    pivots = np.abs(factor.U.diagonal())
    if not len(diagonal) or not pivots.min() > 1e-11 * np.abs(diagonal).max():
        raise InputError(loose)
    return factor.solve


def _normal_modes(K: sparse.csc_array, M: sparse.csc_array, count: int) -> Array:
    d = K.shape[0]
    _solver(K)
    if count > d:
        raise InputError(f"{count} modes were asked for, the model has {d} free coordinates")
    massless = bool((np.abs(M).sum(axis=0) == 0.0).any())
    if d <= DENSE and not massless:
        vectors = linalg.eigh(K.toarray(), M.toarray(), subset_by_index=(0, count - 1))[1]
    else:
        if count >= d:
            raise InputError(f"{count} modes were asked for, fewer than {d} can be had")
        vectors = sparse_linalg.eigsh(sparse.csc_matrix(K), count, sparse.csc_matrix(M), sigma=0.0)[1]
    found: Array = vectors
    return found


def _orthogonal(K: Array, M: Array) -> tuple[Array, Array]:
    """Return squares of the frequencies (k,), and the basis (k, k) in which the mass is 1."""
    K, M = 0.5 * (K + K.T), 0.5 * (M + M.T)
    scale = 1.0 / np.sqrt(np.diag(K))  # translations and rotations of interfaces have other units
    try:
        squares, basis = linalg.eigh(scale[:, None] * K * scale, scale[:, None] * M * scale)
    except np.linalg.LinAlgError as error:
        raise InputError("the shapes are not independent, or have no mass: ask for fewer modes") from error
    return squares, scale[:, None] * basis


def _modal_data(
    model: FiniteElements, u: Array, squares: Array, interface: Array, middles: Sequence[Array], damping_ratio: float
) -> ModalData:
    """Return modal data in axes of the model, about its origin; node 0 is filled in by :func:`_moved`."""
    k, N = u.shape[1], len(model.nodes)
    node, direction = model.freedom.T
    field_ = np.zeros((N, DIRECTIONS, k))
    field_[node, direction] = u
    scalar, inertia = _split_mass(model)
    A = np.hstack((np.ones((N, 1)), model.position, field_[:, :3].reshape(N, 3 * k)))
    mass, position, translation = _particles(A.T @ (scalar @ A), k)
    turned = np.flatnonzero(inertia.any(axis=(1, 2)))
    ends = interface.reshape(len(middles), DIRECTIONS, k)
    zero = np.zeros
    blocks = (
        (zero((1, 3)), zero(1), zero((1, 3, 3)), zero((1, 3, k)), zero((1, 3, k))),
        (np.array(middles).reshape(-1, 3), zero(len(ends)), zero((len(ends), 3, 3)), ends[:, :3], ends[:, 3:]),
        (position, mass, zero((len(mass), 3, 3)), translation, zero((len(mass), 3, k))),
        (model.position[turned], zero(len(turned)), inertia[turned], field_[turned, :3], field_[turned, 3:]),
    )
    joined = (np.concatenate([block[j] for block in blocks]) for j in range(5))
    nodes, masses, inertias, translations, rotations = joined
    frequencies = np.sqrt(np.maximum(squares, 0.0))
    names = tuple(f"mode_{j + 1}" for j in range(k))
    damping = np.diag(2.0 * damping_ratio * frequencies)
    return ModalData(names, nodes, masses, inertias, translations, rotations, np.diag(squares), damping)


def _split_mass(model: FiniteElements) -> tuple[sparse.csr_array, Array]:
    """Return the mass (N, N) that acts on translations in every direction, and the inertias (N, 3, 3) of nodes.

    Raises:
        InputError: the mass is of another kind.
    """
    N, M = len(model.nodes), sparse.coo_array(model.mass)
    node, direction = model.freedom.T
    rows, columns = (np.asarray(part) for part in M.coords)
    a, b = direction[rows], direction[columns]
    size = float(np.abs(M.data).max(initial=0.0))
    moving, turning = (a < 3) & (b < 3), (a >= 3) & (b >= 3)
    scale = max(float(np.abs(M.data[moving]).max(initial=0.0)), 1e-300)
    lumped = "write the mass lumped at the nodes (Nastran: PARAM,COUPMASS,-1, no offsets)"
    if not size > 0.0:
        raise InputError("the mass matrix is zero")
    if (np.abs(M.data[(a < 3) != (b < 3)]) > ALIKE * scale).any():
        raise InputError(f"the mass couples translations with rotations: {lumped}")
    if (np.abs(M.data[moving & (a != b)]) > ALIKE * scale).any():
        raise InputError(f"the mass couples different directions: {lumped}")
    by_direction = []
    for way in range(3):
        chosen = moving & (a == way) & (b == way)
        values = M.data[chosen], (node[rows[chosen]], node[columns[chosen]])
        by_direction.append(sparse.csr_array(values, shape=(N, N)))
    for other in by_direction[1:]:
        if abs(other - by_direction[0]).max() > ALIKE * scale:
            raise InputError(f"the mass is not the same in all directions, or some are clamped in the model: {lumped}")
    if (node[rows[turning]] != node[columns[turning]]).any() and (
        np.abs(M.data[turning & (node[rows] != node[columns])]) > ALIKE * size
    ).any():
        raise InputError(f"the mass couples rotations of different nodes: {lumped}")
    inertia = np.zeros((N, 3, 3))
    np.add.at(inertia, (node[rows[turning]], a[turning] - 3, b[turning] - 3), M.data[turning])
    return by_direction[0], inertia


def _particles(G: Array, k: int) -> tuple[Array, Array, Array]:
    """Return masses (p,), positions (p, 3) and shapes (p, 3, k) of particles with the sums ``G`` (4 + 3 k, 4 + 3 k).

    A factor of G is turned so that all its first elements, the roots of the masses, are the same.
    """
    scale = 1.0 / np.sqrt(np.maximum(np.diag(G), 1e-300))
    values, vectors = linalg.eigh(scale[:, None] * 0.5 * (G + G.T) * scale)
    kept = values > NOTHING * values[-1]
    R = (np.sqrt(values[kept])[:, None] * vectors[:, kept].T) / scale
    first, p = R[:, 0].copy(), int(kept.sum())
    goal = np.full(p, np.linalg.norm(first) / np.sqrt(p))
    normal = first - goal
    if (length := float(normal @ normal)) > 0.0:
        R = R - 2.0 * np.outer(normal, normal @ R) / length  # the reflection that takes `first` to `goal`
    rows = R / goal[:, None]
    return goal**2, rows[:, 1:4], rows[:, 4:].reshape(p, 3, k)


def _moved(data: ModalData, origin: Array, rotation: Array) -> ModalData:
    """Return modal data about another origin, in other axes."""
    position = (data.position - origin) @ rotation.T
    position[0] = 0.0
    return ModalData(
        data.modes,
        position,
        data.mass,
        rotation @ data.inertia @ rotation.T,
        rotation @ data.translation,
        rotation @ data.rotation,
        data.stiffness,
        data.damping,
    )
