"""BodyTree: the arrays of the compiled recursion; bodies are numbered so that every parent precedes its children."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import kernel, view
from flexarm_core.flexible_dynamics.invariants import ModalInvariants
from flexarm_core.types import Array

Index = NDArray[np.int64]
FIXED, REVOLUTE, PRISMATIC = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Mount:
    """Mounting place of a frame on a body: a node, and a rigid offset from the node.

    Attributes:
        body: index of the body, -1 = the inertial frame.
        node: (3,) undeformed position of the node, in the body's frame [m].
        translation: (3, k) modal influence ``Pi^t`` at the node.
        rotation: (3, k) modal influence ``Pi^r`` at the node.
        offset: (3,) offset from the node; it rotates with the node [m].
        turn: (3, 3) rotation matrix from the mounted frame to the undeformed body's frame.
    """

    body: int
    node: Array
    translation: Array
    rotation: Array
    offset: Array
    turn: Array


@dataclass(frozen=True, slots=True)
class Body:
    """One body with the hinge at its inboard end.

    Attributes:
        name: name of the link.
        mount: mounting place of the hinge on the parent.
        kind: FIXED, REVOLUTE or PRISMATIC.
        joint: name of the hinge, empty for FIXED.
        axis: (3,) hinge axis in the body's frame.
        inertia: node sums of the body.
        modes: names of the modes.
        stiffness: stiffness of the hinge [N/m | N*m/rad].
        damping: viscous damping of the hinge [N*s/m | N*m*s/rad].
        friction: Coulomb friction of the hinge [N | N*m].
        armature: reflected inertia of motor and gear, added to the inertia about the hinge [kg | kg*m^2].
    """

    name: str
    mount: Mount
    kind: int
    joint: str
    axis: Array
    inertia: ModalInvariants
    modes: tuple[str, ...] = ()
    stiffness: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0


class BodyTree(NamedTuple):
    """Arrays over ``N`` bodies, padded to ``k`` modes; the ``h`` hinge coordinates precede the modal coordinates."""

    parent: Index  # (N,) -1 = inertial frame
    kind: Index  # (N,)
    hinge: Index  # (N,) coordinate index of the hinge, -1 for FIXED
    modes: Index  # (N,) number of modes
    first_mode: Index  # (N,) coordinate index of the first mode
    axis: Array  # (N, 3)
    node: Array  # (N, 3) this and the next four fields: mount of the body on its parent, see Mount
    translation: Array  # (N, 3, k)
    rotation: Array  # (N, 3, k)
    offset: Array  # (N, 3)
    turn: Array  # (N, 3, 3)
    mass: Array  # (N,) this and the next eleven fields: node sums, see invariants
    s0: Array
    J0: Array
    S1: Array
    H0: Array
    R1: Array
    N0: Array
    N1: Array
    Q: Array
    Mff: Array
    K: Array
    C: Array
    stiffness: Array  # (h,) hinge springs
    damping: Array  # (h,)
    friction: Array  # (h,)
    armature: Array  # (h,) reflected rotor inertia
    root: Array  # (3,) acceleration of the inertial frame, -g


class Workspace(NamedTuple):
    """Results of the sweeps for each body, in axes of the body, linear components before angular components."""

    rho: Array  # (N, 3) mount in the parent's frame, deformed
    R: Array  # (N, 3, 3) rotation matrix from the body to its parent
    Bt: Array  # (N, 3, k) outboard map B_d of the parent's modes at the mount, translation, axes of the parent
    Br: Array  # (N, 3, k) outboard map B_d, rotation
    S: Array  # (N, 6) hinge axis
    velocity: Array  # (N, 6)
    bias: Array  # (N, 6) acceleration without joint and modal accelerations
    P: Array  # (N, 6, 6) articulated body inertia, rigid-rigid block
    F: Array  # (N, 6, k) rigid-flexible block
    Ff: Array  # (N, k, k) flexible-flexible block, then its Cholesky factor
    Gf: Array  # (N, 6, k) body-to-modes force operator
    PS: Array  # (N, 6) P S after the modes are eliminated
    D: Array  # (N,) articulated hinge inertia
    p: Array  # (N, 6) bias force of the body itself: velocity terms and external wrench
    pf: Array  # (N, k) bias force of the modes, including springs and dampers
    z: Array  # (N, 6) residual force
    zf: Array  # (N, k) residual modal force
    nu: Array  # (N, k) modal accelerations of a body with its hinge held
    u: Array  # (N,) hinge acceleration of a body with its inboard side at rest
    a: Array  # (N, 6) classical acceleration of the body's origin and angular acceleration, gravity included as -g
    wrench: Array  # (N, 6) external wrench at each body's origin
    force: Array  # (K,) external force on each mode
    total: Array  # (h + K,) forces on all coordinates
    step: Array  # (1,) step over which mean accelerations are computed, 0 = instantaneous accelerations [s]
    scratch: Array  # (8, 3, 3)


@kernel
def view_tree(integers: Index, constants: Array) -> BodyTree:
    """View two flat arrays as a tree; passing two arrays to a compiled function costs a third of passing 30."""
    n, k, h = integers[0], integers[1], integers[2]
    j = 3
    parent = view(integers, j, (n,))
    kind = view(integers, j + n, (n,))
    hinge = view(integers, j + 2 * n, (n,))
    modes = view(integers, j + 3 * n, (n,))
    first_mode = view(integers, j + 4 * n, (n,))
    axis, i = view(constants, 0, (n, 3)), 3 * n
    node, i = view(constants, i, (n, 3)), i + 3 * n
    translation, i = view(constants, i, (n, 3, k)), i + 3 * n * k
    rotation, i = view(constants, i, (n, 3, k)), i + 3 * n * k
    offset, i = view(constants, i, (n, 3)), i + 3 * n
    turn, i = view(constants, i, (n, 3, 3)), i + 9 * n
    mass, i = view(constants, i, (n,)), i + n
    s0, i = view(constants, i, (n, 3)), i + 3 * n
    J0, i = view(constants, i, (n, 3, 3)), i + 9 * n
    S1, i = view(constants, i, (n, 3, k)), i + 3 * n * k
    H0, i = view(constants, i, (n, 3, k)), i + 3 * n * k
    R1, i = view(constants, i, (n, 3, k)), i + 3 * n * k
    N0, i = view(constants, i, (n, k, 3, 3)), i + 9 * n * k
    N1, i = view(constants, i, (n, k, k, 3, 3)), i + 9 * n * k * k
    Q, i = view(constants, i, (n, k, k, 3)), i + 3 * n * k * k
    Mff, i = view(constants, i, (n, k, k)), i + n * k * k
    K, i = view(constants, i, (n, k, k)), i + n * k * k
    C, i = view(constants, i, (n, k, k)), i + n * k * k
    stiffness, damping = view(constants, i, (h,)), view(constants, i + h, (h,))
    friction, armature = view(constants, i + 2 * h, (h,)), view(constants, i + 3 * h, (h,))
    root = view(constants, i + 4 * h, (3,))
    return BodyTree(
        parent, kind, hinge, modes, first_mode, axis, node, translation, rotation, offset, turn, mass, s0, J0, S1, H0,
        R1, N0, N1, Q, Mff, K, C, stiffness, damping, friction, armature, root,
    )  # fmt: skip


@kernel
def view_workspace(integers: Index, memory: Array) -> Workspace:
    """View one flat array as a workspace."""
    n, k, h = integers[0], integers[1], integers[2]
    modes = 0
    for body in range(n):
        modes += integers[3 + 3 * n + body]
    rho, i = view(memory, 0, (n, 3)), 3 * n
    R, i = view(memory, i, (n, 3, 3)), i + 9 * n
    Bt, i = view(memory, i, (n, 3, k)), i + 3 * n * k
    Br, i = view(memory, i, (n, 3, k)), i + 3 * n * k
    S, i = view(memory, i, (n, 6)), i + 6 * n
    velocity, i = view(memory, i, (n, 6)), i + 6 * n
    bias, i = view(memory, i, (n, 6)), i + 6 * n
    P, i = view(memory, i, (n, 6, 6)), i + 36 * n
    F, i = view(memory, i, (n, 6, k)), i + 6 * n * k
    Ff, i = view(memory, i, (n, k, k)), i + n * k * k
    Gf, i = view(memory, i, (n, 6, k)), i + 6 * n * k
    PS, i = view(memory, i, (n, 6)), i + 6 * n
    D, i = view(memory, i, (n,)), i + n
    p, i = view(memory, i, (n, 6)), i + 6 * n
    pf, i = view(memory, i, (n, k)), i + n * k
    z, i = view(memory, i, (n, 6)), i + 6 * n
    zf, i = view(memory, i, (n, k)), i + n * k
    nu, i = view(memory, i, (n, k)), i + n * k
    u, i = view(memory, i, (n,)), i + n
    a, i = view(memory, i, (n, 6)), i + 6 * n
    wrench, i = view(memory, i, (n, 6)), i + 6 * n
    force, i = view(memory, i, (modes,)), i + modes
    total, i = view(memory, i, (h + modes,)), i + h + modes
    step, scratch = view(memory, i, (1,)), view(memory, i + 1, (8, 3, 3))
    return Workspace(
        rho, R, Bt, Br, S, velocity, bias, P, F, Ff, Gf, PS, D, p, pf, z, zf, nu, u, a, wrench, force, total, step,
        scratch,
    )  # fmt: skip


def build_tree(bodies: Sequence[Body], root: Array) -> tuple[Index, Array]:
    """Build the two arrays of :func:`view_tree`.

    Args:
        bodies: the bodies; every parent must precede its children.
        root: (3,) acceleration of the inertial frame, ``-g`` [m/s^2].
    """
    count, k = len(bodies), max((len(body.modes) for body in bodies), default=0)
    hinged = [body for body in bodies if body.kind != FIXED]
    hinge = np.full(count, -1)
    hinge[[i for i, body in enumerate(bodies) if body.kind != FIXED]] = np.arange(len(hinged))
    sizes = np.array([len(body.modes) for body in bodies])
    first = len(hinged) + np.concatenate(([0], np.cumsum(sizes)[:-1]))

    def padded(arrays: Sequence[Array], *shape: int) -> Array:
        total = np.zeros((count, *shape))
        for i, array in enumerate(arrays):
            part: Any = (i, *(slice(0, n) for n in np.shape(array)))
            total[part] = array
        return total

    mounts, sums = [body.mount for body in bodies], [body.inertia for body in bodies]
    shapes: dict[str, tuple[int, ...]] = {
        "mass": (),
        "s0": (3,),
        "J0": (3, 3),
        "S1": (3, k),
        "H0": (3, k),
        "R1": (3, k),
    }
    shapes |= {"N0": (k, 3, 3), "N1": (k, k, 3, 3), "Q": (k, k, 3), "Mff": (k, k), "K": (k, k), "C": (k, k)}
    constants = [
        padded([body.axis for body in bodies], 3),
        padded([mount.node for mount in mounts], 3),
        padded([mount.translation for mount in mounts], 3, k),
        padded([mount.rotation for mount in mounts], 3, k),
        padded([mount.offset for mount in mounts], 3),
        padded([mount.turn for mount in mounts], 3, 3),
        *(padded([getattr(item, name) for item in sums], *shape) for name, shape in shapes.items()),
        np.array([[body.stiffness, body.damping, body.friction, body.armature] for body in hinged]).T,
        root,
    ]
    parents, kinds = [mount.body for mount in mounts], [body.kind for body in bodies]
    integers = np.concatenate(([count, k, len(hinged)], parents, kinds, hinge, sizes, first)).astype(np.int64)
    return integers, np.concatenate([np.ravel(part) for part in constants]).astype(np.float64)


def build_memory(integers: Index) -> Array:
    """Allocate the memory of :func:`view_workspace`."""
    n, k, h = (int(value) for value in integers[:3])
    modes = int(integers[3 + 3 * n : 3 + 4 * n].sum())
    return np.zeros(n * (104 + 21 * k + k * k) + 2 * modes + h + 73)
