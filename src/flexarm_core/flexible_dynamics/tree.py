"""BodyTree: the arrays of the compiled recursion; bodies are numbered so that every parent precedes its children."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import pack, views
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
    """Arrays over N bodies, padded to k modes; the h hinge coordinates precede the modal coordinates.

    Integers lie in an array of their own. Passing two arrays to a compiled function costs a third of passing 30.
    """

    bodies: int  # N
    width: int  # k
    hinges: int  # h
    followers: int  # f
    parent: Annotated[Index, "bodies"]  # -1 = inertial frame
    kind: Annotated[Index, "bodies"]
    hinge: Annotated[Index, "bodies"]  # coordinate index of the hinge, -1 for FIXED
    modes: Annotated[Index, "bodies"]  # number of modes
    first_mode: Annotated[Index, "bodies"]  # coordinate index of the first mode
    # coordinate indices of a hinge that follows, and of the two coordinates that it follows
    follower: Annotated[Index, "followers"]
    leaders: Annotated[Index, "followers", 2]
    axis: Annotated[Array, "bodies", 3]
    node: Annotated[Array, "bodies", 3]  # this and the next four fields: mount of the body on its parent, see Mount
    translation: Annotated[Array, "bodies", 3, "width"]
    rotation: Annotated[Array, "bodies", 3, "width"]
    offset: Annotated[Array, "bodies", 3]
    turn: Annotated[Array, "bodies", 3, 3]
    mass: Annotated[Array, "bodies"]  # this and the next eleven fields: node sums, see invariants
    s0: Annotated[Array, "bodies", 3]
    J0: Annotated[Array, "bodies", 3, 3]
    S1: Annotated[Array, "bodies", 3, "width"]
    H0: Annotated[Array, "bodies", 3, "width"]
    R1: Annotated[Array, "bodies", 3, "width"]
    N0: Annotated[Array, "bodies", "width", 3, 3]
    N1: Annotated[Array, "bodies", "width", "width", 3, 3]
    Q: Annotated[Array, "bodies", "width", "width", 3]
    Mff: Annotated[Array, "bodies", "width", "width"]
    K: Annotated[Array, "bodies", "width", "width"]
    C: Annotated[Array, "bodies", "width", "width"]
    stiffness: Annotated[Array, "hinges"]  # hinge springs
    damping: Annotated[Array, "hinges"]
    friction: Annotated[Array, "hinges"]
    armature: Annotated[Array, "hinges"]  # reflected rotor inertia
    ratio: Annotated[Array, "followers", 2]  # how far a hinge that follows moves with each of the two
    root: Annotated[Array, 3]  # acceleration of the inertial frame, -g


view_tree = views(BodyTree)


class Workspace(NamedTuple):
    """Results of the sweeps for each body, in axes of the body, linear components before angular components."""

    bodies: int  # N
    width: int  # k
    hinges: int  # h
    modes: int  # K
    coupled: int  # h + K if hinges follow others, else 0
    rho: Annotated[Array, "bodies", 3]  # mount in the parent's frame, deformed
    R: Annotated[Array, "bodies", 3, 3]  # rotation matrix from the body to its parent
    # outboard map B_d of the parent's modes at the mount, translation, axes of the parent
    Bt: Annotated[Array, "bodies", 3, "width"]
    Br: Annotated[Array, "bodies", 3, "width"]  # outboard map B_d, rotation
    S: Annotated[Array, "bodies", 6]  # hinge axis
    velocity: Annotated[Array, "bodies", 6]
    bias: Annotated[Array, "bodies", 6]  # acceleration without joint and modal accelerations
    P: Annotated[Array, "bodies", 6, 6]  # articulated body inertia, rigid-rigid block
    F: Annotated[Array, "bodies", 6, "width"]  # rigid-flexible block
    Ff: Annotated[Array, "bodies", "width", "width"]  # flexible-flexible block, then its Cholesky factor
    Gf: Annotated[Array, "bodies", 6, "width"]  # body-to-modes force operator
    PS: Annotated[Array, "bodies", 6]  # P S after the modes are eliminated
    D: Annotated[Array, "bodies"]  # articulated hinge inertia
    p: Annotated[Array, "bodies", 6]  # bias force of the body itself: velocity terms and external wrench
    pf: Annotated[Array, "bodies", "width"]  # bias force of the modes, including springs and dampers
    z: Annotated[Array, "bodies", 6]  # residual force
    zf: Annotated[Array, "bodies", "width"]  # residual modal force
    nu: Annotated[Array, "bodies", "width"]  # modal accelerations of a body with its hinge held
    u: Annotated[Array, "bodies"]  # hinge acceleration of a body with its inboard side at rest
    # classical acceleration of the body's origin and angular acceleration, gravity included as -g
    a: Annotated[Array, "bodies", 6]
    wrench: Annotated[Array, "bodies", 6]  # external wrench at each body's origin
    force: Annotated[Array, "modes"]  # external force on each mode
    total: Annotated[Array, "hinges + modes"]  # forces on all coordinates
    step: Annotated[Array, 1]  # step over which mean accelerations are computed, 0 = instantaneous accelerations [s]
    reduced: Annotated[Array, "coupled", "coupled"]  # factor of the reduced mass matrix, see coupled_hinges
    columns: Annotated[Array, "1 + width", 2, 6]
    scratch: Annotated[Array, 8, 3, 3]
    x: Annotated[Array, "hinges + modes"]  # coordinates at which the bodies were placed last
    v: Annotated[Array, "hinges + modes"]  # rates there
    acceleration: Annotated[Array, "hinges + modes"]  # result of the forward dynamics
    effort: Annotated[Array, "hinges + modes"]  # result of the inverse dynamics: hinge efforts and modal forces
    # wrench of the parent on each body through the hinge, at the body's origin, in its axes
    through: Annotated[Array, "bodies", 6]
    lines: Annotated[Array, 6, "hinges + modes"]  # scratch of what calls the sweeps several times


view_workspace = views(Workspace)


def build_tree(
    bodies: Sequence[Body], root: Array, followers: Sequence[tuple[int, int, int, float, float]] = ()
) -> tuple[Index, Array]:
    """Build the two arrays of a :class:`BodyTree`.

    Args:
        bodies: the bodies; every parent must precede its children.
        root: (3,) acceleration of the inertial frame, ``-g`` [m/s^2].
        followers: hinges that follow: coordinate indices of the hinge and of two that it follows, and both ratios.
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
        [ratios for *_, one, other in followers for ratios in (one, other)],
        root,
    ]
    parents, kinds = [mount.body for mount in mounts], [body.kind for body in bodies]
    following, leaders = [follower[0] for follower in followers], [follower[1:3] for follower in followers]
    plan = count, k, len(hinged), len(followers), parents, kinds, hinge, sizes, first, following, leaders
    return pack(plan, np.int64), pack(constants)
