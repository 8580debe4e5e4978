r"""ToolLoad: estimates the load at the tool that nobody told the model, and the inertia that it adds to the joints.

A rigid body at the tool exerts the wrench ``f = Y theta`` on it, linear in its ten parameters ``theta = [m, m c, I]``
(mass, first moment, and inertia about the origin of the tool frame; Atkeson, An and Hollerbach 1986, IJRR 5(3)):

    force  = m b + (skew(alpha) + skew(omega)^2) m c,    moment = m c x b + I alpha + omega x I omega

with the acceleration ``b`` of the tool against gravity, its angular velocity ``omega`` and acceleration ``alpha``, all
in tool axes. What the model's joint torques lack is ``J^T f``. ``theta`` is the mean of a Gaussian distribution given
all that was seen: before, there is no load, with a standard deviation as wide as a load may be; errors of the torques
are the told friction, FRACTION of gravity, and the change of the commands within a period, which may be late; old
observations are forgotten.

Only a physically possible body is used: ``m >= 0``, its center of mass within REACH, and the inertia of a small ball
about it at most. This underestimates extended bodies, which is the safe side: an inertia that is too large makes
corrections too strong, one that is too small makes them slow.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import kernel
from flexarm_core.entrance import finite, number
from flexarm_core.hardware_gate.joint_dynamics import JointDynamics
from flexarm_core.hardware_gate.limits import ACCELERATION, FRICTION, JointLimits
from flexarm_core.kernels.cholesky import cholesky, cholesky_solve
from flexarm_core.robot.kinematic_chain import link_motion
from flexarm_core.types import ArmState, Array

WIDTH, LEVER = 0.4, 0.1  # standard deviations before: of the mass, as a fraction of the arm's, and of ``c`` [m]
FORGOTTEN = 0.2  # [s] time constant with which observations are forgotten
FRACTION, NOTHING = 0.4, 0.03  # errors of torques: fraction of gravity, and of the torque of the largest acceleration
REPEATED = 6.0  # number of successive observations that repeat each other, as both sides are filtered
SWAY = 0.3  # fraction by which the push of an elastic base may be wrong
REACH, BALL = 0.25, 0.02  # [m] farthest center of mass, and largest radius of gyration about it


class ToolLoad:
    """Estimate the load at the tool.

    Attributes:
        inertia: (n, n) inertia that the load adds to that of the joints.
        parameters: (10,) ``[m, m c, I_xx, I_yy, I_zz, I_xy, I_xz, I_yz]`` [kg, kg*m, kg*m^2].
    """

    def __init__(self, dynamics: JointDynamics, limits: JointLimits) -> None:
        """Estimate the load of an arm with the given dynamics of the joints and limits."""
        self._dynamics, self._table, model = dynamics, limits.table, dynamics.model
        mass = WIDTH * model.mass
        self._width = np.array([mass] + 3 * [mass * LEVER] + 6 * [mass * LEVER**2])
        self.reset()
        none, base = np.zeros(model.n), np.zeros(model.m)  # compiles or loads
        self.observe(ArmState(0, none, none, base, base), none, none, none, 1.0)
        self.reset()

    def reset(self) -> None:
        """Forget what was observed: the load may be any."""
        n = self._table.shape[1]
        self._information, self._seen = np.zeros((10, 10)), np.zeros(10)
        self.parameters, self.inertia = np.zeros(10), np.zeros((n, n))

    def observe(self, state: ArmState, effort: Array, doubt: Array, z: Array, dt: float) -> None:
        """Process what was measured.

        Args:
            state: state of arm and base.
            effort: (n,) effort on the links beyond the model's gravity and velocity terms [N*m | N].
            doubt: (n,) possible error of that effort, as commands may act late [N*m | N].
            z: (n,) joint accelerations that go with it.
            dt: time since the last observation [s].
        """
        model, blocks, n = self._dynamics.model, self._dynamics.blocks(state), self._table.shape[1]
        effort, doubt, z = finite("effort", effort, n), finite("doubt", doubt, n), finite("z", z, n)
        q, v, motion, inertia, lacking, variance = state.position, state.velocity, z, blocks.H_m, effort, doubt**2
        if model.m:
            q, v = np.concatenate((q, state.deflection)), np.concatenate((v, state.deflection_rate))
            motion = np.concatenate((z, np.zeros(model.m)))
            if state.deflection.any() or state.deflection_rate.any():
                motion[n:] = model.base_acceleration(blocks, state, z)
                push = blocks.H_bm.T @ motion[n:]
                lacking, variance = effort - push, variance + (SWAY * push) ** 2
            else:  # the base rests, or is unknown
                inertia = self._dynamics.terms(state)[0]
        chain, kept = model.world_to_tool, math.exp(-number("dt", dt, 0.0) / FORGOTTEN)
        _observe(
            chain.links, chain.places, q, v, motion, model.gravity, inertia, blocks.c_m, lacking, variance, self._table,
            kept, self._width, self._information, self._seen, self.parameters, self.inertia,
        )  # fmt: skip


@kernel
def _observe(
    links: Array, places: NDArray[np.int64], q: Array, v: Array, motion: Array, gravity: Array, told: Array,
    weight: Array, effort: Array, variance: Array, table: Array, kept: float, width: Array, information: Array,
    seen: Array, parameters: Array, inertia: Array,
) -> None:  # fmt: skip
    """Add an observation to what was seen, and write the load's parameters (10,) and the inertia (n, n) that it adds.

    Args:
        links: chain to the tool, see :func:`link_motion`.
        places: the same.
        q: (N,) coordinates.
        v: (N,) velocities.
        motion: (N,) accelerations of the coordinates; the first n are joints.
        gravity: (3,) in world axes.
        told: (n, n) the model's joint inertia.
        weight: (n,) the model's gravity and velocity terms.
        effort: (n,) effort beyond those, without the push of the base.
        variance: (n,) of it, beyond that of the model and friction.
        table: (7, n) joint limits.
        kept: fraction of older observations that is not forgotten.
        width: (10,) standard deviations of the parameters before anything was seen.
        information: (10, 10) sum of ``A^T A / variance`` over the observations, changed in place.
        seen: (10,) sum of ``A^T lacking / variance``, changed in place.
        parameters: (10,) gets the parameters.
        inertia: (n, n) gets the inertia.
    """
    n, size = effort.shape[0], q.shape[0]
    position, rotation, twist, jacobian = np.empty(3), np.empty((3, 3)), np.empty(6), np.empty((6, size))
    bias, J, moved, w, Y, A = np.empty(6), np.zeros((6, n)), np.zeros(6), np.zeros(3), np.zeros((6, 10)), np.empty(10)
    link_motion(links, places, q, v, position, rotation, twist, jacobian, bias)
    for i in range(6):
        for j in range(size):
            bias[i] += jacobian[i, j] * motion[j]
        bias[i] -= gravity[i] if i < 3 else 0.0
    for i in range(3):  # in tool axes
        for k in range(3):
            w[i] += rotation[k, i] * twist[3 + k]
            for part in range(0, 6, 3):
                moved[part + i] += rotation[k, i] * bias[part + k]
                for j in range(n):
                    J[part + i, j] += rotation[k, i] * jacobian[part + k, j]
    _wrench(moved, w, Y)
    for k in range(10):
        seen[k] *= kept
        for m in range(10):
            information[k, m] *= kept
    for j in range(n):
        lacking = effort[j]
        for i in range(n):
            lacking -= told[j, i] * motion[i]
        error = NOTHING * told[j, j] * table[ACCELERATION, j] + FRACTION * abs(weight[j]) + table[FRICTION, j]
        precision = 1.0 / (REPEATED * (error * error + variance[j]))
        for k in range(10):
            A[k] = 0.0
            for i in range(6):
                A[k] += J[i, j] * Y[i, k]
        for k in range(10):
            seen[k] += A[k] * lacking * precision
            for m in range(10):
                information[k, m] += A[k] * A[m] * precision
    factor, theta = np.empty((10, 10)), np.empty(10)
    for k in range(10):
        theta[k] = width[k] * seen[k]
        for m in range(10):
            factor[k, m] = width[k] * information[k, m] * width[m] + (1.0 if k == m else 0.0)
    cholesky(factor, 10)
    cholesky_solve(factor, theta, 10)
    for k in range(10):
        parameters[k] = width[k] * theta[k]
    M = np.zeros((6, 6))
    _body(parameters, M)
    for j in range(n):
        for k in range(6):
            moved[k] = 0.0
            for m in range(6):
                moved[k] += M[k, m] * J[m, j]
        for i in range(n):
            inertia[i, j] = 0.0
            for k in range(6):
                inertia[i, j] += J[k, i] * moved[k]


@kernel
def _wrench(moved: Array, w: Array, Y: Array) -> None:
    """Write the wrench ``Y`` (6, 10) per parameter of a body that moves with ``[b; alpha]`` (6,) and ``omega`` (3,)."""
    b, a = moved[:3], moved[3:]
    square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        Y[i, 0] = b[i]
        Y[i, 1 + i] = w[i] * w[i] - square
        Y[i, 1 + j] = w[i] * w[j] - a[k]
        Y[i, 1 + k] = w[i] * w[k] + a[j]
        Y[3 + i, 1 + j] = b[k]
        Y[3 + i, 1 + k] = -b[j]
    for k in range(6):  # I alpha + omega x I omega, for each number of I
        one, other = (k, k) if k < 3 else ((0, 1), (0, 2), (1, 2))[k - 3]
        spin, turned = np.zeros(3), np.zeros(3)
        spin[one], turned[one] = w[other], a[other]
        spin[other], turned[other] = w[one], a[one]
        for i in range(3):
            Y[3 + i, 4 + k] = turned[i] + w[(i + 1) % 3] * spin[(i + 2) % 3] - w[(i + 2) % 3] * spin[(i + 1) % 3]


@kernel
def _body(parameters: Array, M: Array) -> None:
    """Write the spatial inertia (6, 6) of the nearest possible body with the given parameters (10,); see the module."""
    mass = parameters[0]
    if not mass > 0.0:
        return
    c = parameters[1:4] / mass
    far = np.sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2])
    if far > REACH:
        c *= REACH / far
    square = c[0] * c[0] + c[1] * c[1] + c[2] * c[2]
    ball = (parameters[4] + parameters[5] + parameters[6]) / 3.0 - mass * square * 2.0 / 3.0
    ball = min(max(ball, 0.0), mass * BALL * BALL)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        M[i, i] = mass
        M[i, 3 + j], M[3 + j, i] = mass * c[k], mass * c[k]
        M[i, 3 + k], M[3 + k, i] = -mass * c[j], -mass * c[j]
        for m in range(3):
            M[3 + i, 3 + m] = -mass * c[i] * c[m]
        M[3 + i, 3 + i] += mass * square + ball
