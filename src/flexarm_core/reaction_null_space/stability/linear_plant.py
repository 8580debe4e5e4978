r"""LinearPlant: arm and elastic base, linearized about a posture at rest, with all elastic directions.

::

    [H_b    H_bm] [xdd_b]   [D_b    ] [xd_b]   [K_b + g_bb  g_bm] [x_b]   [ 0 ]
    [H_bm^T H_m ] [qdd  ] + [    D_m] [qd  ] + [g_mb        g_mm] [q  ] = [tau]

``g`` is the gravity stiffness, the derivative of the gravity efforts. The modes of flexible links and elastic drives
follow the base in ``x_b``, as coordinates that the law does not know. Position and velocity drives impose the joint
motion ``qdd = w^2 (q_s - q) + w v_c - 2 w qd`` with the set point ``q_s`` (the position command with ``v_c = 0``, or
the integral of the velocity command ``v_c``). Only the base rows of the equation of motion are then needed.

The oscillators are represented in modal coordinates, with positions scaled by their frequencies. This keeps full
numerical accuracy when stiff and soft directions occur together.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import scipy.linalg
from scipy.linalg import eigh, expm

from flexarm_core.entrance import number
from flexarm_core.errors import InputError
from flexarm_core.flexible_dynamics.control.weight import resting, weight_stiffness
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.robot.arm_model import ArmModel, DynamicsBlocks
from flexarm_core.types import ArmState, Array

STEP = 1e-5  # step of the central differences of gravity [rad | m]
LOAD = 1e-9  # [N | N*m] weight that deflects nothing
ITERATIONS = 20  # largest number of iterations for the deflection under gravity
_FLEXIBLE: WeakKeyDictionary[ArmModel, FlexibleModel] = WeakKeyDictionary()  # of models that have been linearized


@dataclass(frozen=True, slots=True)
class LinearPlant:
    """Linear state-space model ``dz/dt = A z + B u``; u is the command of the drives.

    Attributes:
        posture: (n,) joint positions [rad | m].
        rest: (m,) base deflection under gravity [m | rad].
        blocks: terms of the equation of motion at this posture.
        gravity_stiffness: (m + n, m + n) [N/m | N*m/rad ...], base first.
        A: (p, p) state matrix.
        B: (p, n) input matrix.
        position: (n, p) output rows for q, relative to the posture.
        velocity: (n, p) output rows for qd.
        deflection: (m, p) output rows for x_b, relative to ``rest``.
        rate: (m, p) output rows for xd_b.
        modes: (2 k, p) output rows for the modes of flexible links and elastic drives, and for their rates.
    """

    posture: Array
    rest: Array
    blocks: DynamicsBlocks
    gravity_stiffness: Array
    A: Array
    B: Array
    position: Array
    velocity: Array
    deflection: Array
    rate: Array
    modes: Array

    def step(self, period: float) -> tuple[Array, Array]:
        """Return the exact transition (p, p) and input (p, n) matrices of one period [s] with the command held."""
        p, n = self.B.shape
        whole = np.zeros((p + n, p + n))
        whole[:p, :p], whole[:p, p:] = self.A * period, self.B * period
        held = expm(whole)
        return held[:p, :p], held[:p, p:]


def linear_plant(model: ArmModel, posture: Array, sampling: Sampling, stiffness: float = 1.0) -> LinearPlant:
    """Linearize an arm on its elastic base.

    Args:
        model: arm model.
        posture: (n,) joint positions at rest [rad | m].
        sampling: provides the type and bandwidth of the drives.
        stiffness: factor on the stiffness of base, links and drives.

    Raises:
        InputError: the posture has a wrong shape, is not finite, or the base cannot carry the arm in it.
    """
    springs = number("stiffness", stiffness) * model.K_b
    rest = _deflection_under_gravity(model, posture, springs)
    blocks = model.blocks(_still(model, posture, rest))
    weight = gravity_stiffness(model, posture, rest)
    if model.description.flexible_links:
        H, D, K = _flexible_matrices(model, posture, rest, stiffness)
    else:
        H = np.block([[blocks.H_b, blocks.H_bm], [blocks.H_bm.T, blocks.H_m]])
        D, K = scipy.linalg.block_diag(model.D_b, np.diag(model.D_m)), weight.copy()
        K[: model.m, : model.m] += springs
    parts = _free(H, D, K, model.n) if sampling.drive == "effort" else _driven(H, D, K, model.n, sampling)
    A, B, q, qd, passive, passive_rate = parts
    m = model.m
    modes = np.vstack((passive[m:], passive_rate[m:]))
    return LinearPlant(posture, rest, blocks, weight, A, B, q, qd, passive[:m], passive_rate[:m], modes)


def _flexible_matrices(model: ArmModel, posture: Array, rest: Array, stiffness: float) -> tuple[Array, Array, Array]:
    """Return inertia, damping and stiffness of base, modes and joints, in this order, as the weight bends the arm."""
    if model not in _FLEXIBLE:
        _FLEXIBLE[model] = FlexibleModel(model.description, model.tool_frame, model.gravity)
    flexible = _FLEXIBLE[model]
    x = resting(flexible, posture)
    x[flexible.elastic] = rest
    order = np.ix_(*[np.concatenate((flexible.elastic, flexible.modal, flexible.actuated))] * 2)
    K = stiffness * flexible.stiffness_matrix()
    if model.weighs:
        weight = weight_stiffness(flexible, x)
        K += 0.5 * (weight + weight.T)
    return flexible.mass_matrix(x)[order], flexible.damping_matrix()[order], K[order]


def gravity_stiffness(model: ArmModel, posture: Array, deflection: Array) -> Array:
    """Return the derivative (m + n, m + n) of the gravity efforts by deflection and joint positions, base first."""
    m, size = model.m, model.m + model.n
    stiffness = np.zeros((size, size))
    for column in range(size if model.weighs else 0):
        change = np.zeros(size)
        change[column] = STEP
        ends = [_gravity(model, posture + sign * change[m:], deflection + sign * change[:m]) for sign in (1.0, -1.0)]
        stiffness[:, column] = (ends[0] - ends[1]) / (2.0 * STEP)
    return 0.5 * (stiffness + stiffness.T)  # symmetric, because gravity has a potential


def _still(model: ArmModel, posture: Array, deflection: Array) -> ArmState:
    return ArmState(0, posture, np.zeros(model.n), deflection, np.zeros(model.m))


def _gravity(model: ArmModel, posture: Array, deflection: Array) -> Array:
    blocks = model.blocks(_still(model, posture, deflection))
    return np.concatenate((blocks.c_b, blocks.c_m))


def _deflection_under_gravity(model: ArmModel, posture: Array, springs: Array) -> Array:
    deflection: Array = np.zeros(model.m)
    model.check_state(_still(model, posture, deflection))
    if not model.weighs:
        return deflection
    if not springs.any(axis=1).all():
        if np.abs(_gravity(model, posture, deflection)[: model.m]).max() <= LOAD:
            return deflection
        raise InputError(f"the base does not carry the arm at {np.round(posture, 3)}: a direction has no spring")
    for _ in range(ITERATIONS):
        new = -np.linalg.solve(springs, _gravity(model, posture, deflection)[: model.m])
        if np.abs(new - deflection).max() < 1e-9:
            return np.asarray(new)
        deflection = np.asarray(new, dtype=np.float64)
    raise InputError(f"the base does not carry the arm at {np.round(posture, 3)}: its springs give way under gravity")


def _modal(H: Array, D: Array, K: Array) -> tuple[Array, Array, Array, Array]:
    """Return A, force input, position rows and rate rows of an oscillator in modal coordinates ``(s eta, deta/dt)``."""
    squared, V = eigh(K, H)
    size, scale = len(H), np.sqrt(np.maximum(np.abs(squared), 1.0))
    zero = np.zeros((size, size))
    A = np.block([[zero, np.diag(scale)], [-np.diag(squared / scale), -V.T @ D @ V]])
    return A, np.vstack((zero, V.T)), np.hstack((V / scale, zero)), np.hstack((zero, V))


def _free(H: Array, D: Array, K: Array, n: int) -> tuple[Array, ...]:
    """Return A, B and the output rows of joints and of passive coordinates, which come first in the matrices."""
    p = len(H) - n
    A, force, position, rate = _modal(H, D, K)
    return A, force[:, p:], position[p:], rate[p:], position[:p], rate[:p]


def _driven(H: Array, D: Array, K: Array, n: int, sampling: Sampling) -> tuple[Array, ...]:
    """Return the plant with imposed joint motion; state: passive modal ones, q, qd, and q_s for velocity drives."""
    p, w = len(H) - n, sampling.drive_bandwidth
    A_b, force, position, rate = _modal(H[:p, :p], D[:p, :p], K[:p, :p])
    one, none = np.eye(n), np.zeros((n, n))
    if sampling.drive == "velocity":
        A_q = np.block([[none, one, none], [-(w**2) * one, -2.0 * w * one, w**2 * one], [none, none, none]])
        B_q = np.vstack((none, w * one, one))
    else:
        A_q = np.block([[none, one], [-(w**2) * one, -2.0 * w * one]])
        B_q = np.vstack((none, w**2 * one))
    into_base = -force @ H[:p, p:] @ A_q[n : 2 * n]
    into_base[:, :n] -= force @ K[:p, p:]
    joints = len(A_q)
    A = np.block([[A_b, into_base], [np.zeros((joints, 2 * p)), A_q]])
    B = np.vstack((-force @ H[:p, p:] @ B_q[n : 2 * n], B_q))
    q, qd = np.zeros((n, 2 * p + joints)), np.zeros((n, 2 * p + joints))
    q[:, 2 * p : 2 * p + n], qd[:, 2 * p + n : 2 * p + 2 * n] = one, one
    wide = ((0, 0), (0, joints))
    return A, B, q, qd, np.pad(position, wide), np.pad(rate, wide)
