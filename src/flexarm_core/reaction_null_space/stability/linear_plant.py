r"""LinearPlant: arm and elastic base about a posture at rest, with all elastic directions.

::

    [H_b    H_bm] [xdd_b]   [D_b    ] [xd_b]   [K_b + g_bb  g_bm] [x_b]   [ 0 ]
    [H_bm^T H_m ] [qdd  ] + [    D_m] [qd  ] + [g_mb        g_mm] [q  ] = [tau]

``g`` is the stiffness of gravity, derivative of its efforts. Position and velocity drives impose the joints' motion,
``qdd = w^2 (q_s - q) + w v_c - 2 w qd`` with the set point ``q_s`` (the position command, ``v_c = 0``; or the integral
of the velocity command ``v_c``); of the equation the base's rows remain then.

Oscillators are kept in modal coordinates, positions scaled by their frequencies: stiff directions and soft ones side by
side then cost no digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, expm

from flexarm_core.entrance import number
from flexarm_core.errors import InputError
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.robot.arm_model import ArmModel, DynamicsBlocks
from flexarm_core.types import ArmState, Array

STEP = 1e-5  # [rad | m] of the central differences of gravity
ITERATIONS = 20  # of the deflection under gravity


@dataclass(frozen=True, slots=True)
class LinearPlant:
    """``dz/dt = A z + B u``; u is the command of the drives.

    Attributes:
        posture: (n,) joints [rad | m].
        rest: (m,) what gravity deflects [m | rad].
        blocks: of the equation of motion there.
        gravity_stiffness: (m + n, m + n) [N/m | N*m/rad ...], base first.
        A: (p, p).
        B: (p, n).
        position: (n, p) rows that give q, as a change from the posture.
        velocity: (n, p) rows that give qd.
        deflection: (m, p) rows that give x_b, as a change from rest.
        rate: (m, p) rows that give xd_b.
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

    def step(self, period: float) -> tuple[Array, Array]:
        """State transition (p, p) and input (p, n) matrices of one period [s] with the command held: exact."""
        p, n = self.B.shape
        whole = np.zeros((p + n, p + n))
        whole[:p, :p], whole[:p, p:] = self.A * period, self.B * period
        held = expm(whole)
        return held[:p, :p], held[:p, p:]


def linear_plant(model: ArmModel, posture: Array, sampling: Sampling, stiffness: float = 1.0) -> LinearPlant:
    """Linearise an arm on its elastic base.

    Args:
        model: of the arm.
        posture: (n,) at rest there [rad | m].
        sampling: names the drives.
        stiffness: factor on the stiffness of the base.

    Raises:
        InputError: a posture of the wrong shape, not finite, or under which the base gives way without end.
    """
    springs = number("stiffness", stiffness) * model.K_b
    rest = _deflection_under_gravity(model, posture, springs)
    blocks = model.blocks(_still(model, posture, rest))
    weight = gravity_stiffness(model, posture, rest)
    K = weight.copy()
    K[: model.m, : model.m] += springs
    parts = _free(model, blocks, K) if sampling.drive == "effort" else _driven(model, blocks, K, sampling)
    return LinearPlant(posture, rest, blocks, weight, *parts)


def gravity_stiffness(model: ArmModel, posture: Array, deflection: Array) -> Array:
    """Derivative (m + n, m + n) of gravity's efforts by deflection and joints, both base first."""
    m, size = model.m, model.m + model.n
    stiffness = np.empty((size, size))
    for column in range(size):
        change = np.zeros(size)
        change[column] = STEP
        ends = [_gravity(model, posture + sign * change[m:], deflection + sign * change[:m]) for sign in (1.0, -1.0)]
        stiffness[:, column] = (ends[0] - ends[1]) / (2.0 * STEP)
    return 0.5 * (stiffness + stiffness.T)  # it derives from a potential


def _still(model: ArmModel, posture: Array, deflection: Array) -> ArmState:
    return ArmState(0, posture, np.zeros(model.n), deflection, np.zeros(model.m))


def _gravity(model: ArmModel, posture: Array, deflection: Array) -> Array:
    blocks = model.blocks(_still(model, posture, deflection))
    return np.concatenate((blocks.c_b, blocks.c_m))


def _deflection_under_gravity(model: ArmModel, posture: Array, springs: Array) -> Array:
    deflection: Array = np.zeros(model.m)
    model.check_state(_still(model, posture, deflection))
    for _ in range(ITERATIONS):
        new = -np.linalg.solve(springs, _gravity(model, posture, deflection)[: model.m])
        if np.abs(new - deflection).max() < 1e-9:
            return np.asarray(new)
        deflection = np.asarray(new, dtype=np.float64)
    raise InputError(f"the base does not carry the arm at {np.round(posture, 3)}: its springs give way under gravity")


def _modal(H: Array, D: Array, K: Array) -> tuple[Array, Array, Array, Array]:
    """Scaled modal coordinates ``(s eta, deta/dt)`` of an oscillator: dynamics, force input, position and rate rows."""
    squared, V = eigh(K, H)
    size, scale = len(H), np.sqrt(np.maximum(np.abs(squared), 1.0))
    zero = np.zeros((size, size))
    A = np.block([[zero, np.diag(scale)], [-np.diag(squared / scale), -V.T @ D @ V]])
    return A, np.vstack((zero, V.T)), np.hstack((V / scale, zero)), np.hstack((zero, V))


def _free(model: ArmModel, blocks: DynamicsBlocks, K: Array) -> tuple[Array, ...]:
    m = model.m
    H = np.block([[blocks.H_b, blocks.H_bm], [blocks.H_bm.T, blocks.H_m]])
    D = np.zeros_like(H)
    D[:m, :m], D[m:, m:] = model.D_b, np.diag(model.D_m)
    A, force, position, rate = _modal(H, D, K)
    return A, force[:, m:], position[m:], rate[m:], position[:m], rate[:m]


def _driven(model: ArmModel, blocks: DynamicsBlocks, K: Array, sampling: Sampling) -> tuple[Array, ...]:
    """State: base in modal coordinates, q, qd, and with velocity drives q_s."""
    m, n, w = model.m, model.n, sampling.drive_bandwidth
    A_b, force, position, rate = _modal(blocks.H_b, model.D_b, K[:m, :m])
    one, none = np.eye(n), np.zeros((n, n))
    if sampling.drive == "velocity":
        A_q = np.block([[none, one, none], [-(w**2) * one, -2.0 * w * one, w**2 * one], [none, none, none]])
        B_q = np.vstack((none, w * one, one))
    else:
        A_q = np.block([[none, one], [-(w**2) * one, -2.0 * w * one]])
        B_q = np.vstack((none, w**2 * one))
    into_base = -force @ blocks.H_bm @ A_q[n : 2 * n]
    into_base[:, :n] -= force @ K[:m, m:]
    joints = len(A_q)
    A = np.block([[A_b, into_base], [np.zeros((joints, 2 * m)), A_q]])
    B = np.vstack((-force @ blocks.H_bm @ B_q[n : 2 * n], B_q))
    q, qd = np.zeros((n, 2 * m + joints)), np.zeros((n, 2 * m + joints))
    q[:, 2 * m : 2 * m + n], qd[:, 2 * m + n : 2 * m + 2 * n] = one, one
    wide = ((0, 0), (0, joints))
    return A, B, q, qd, np.pad(position, wide), np.pad(rate, wide)
