"""Predicted reading of an IMU, from the motion of the body on which it is mounted (compiled)."""

from __future__ import annotations

from flexarm_core.compiled import inlined_kernel
from flexarm_core.flexible_dynamics.kinematics import cross_add, exponential
from flexarm_core.flexible_dynamics.tree import Workspace
from flexarm_core.types import Array


@inlined_kernel
def imu_reading(ws: Workspace, body: int, frame: Array, influence: Array, modes: Array, reading: Array) -> None:
    r"""Compute the specific force and angular velocity of a frame on a body, in axes of the frame.

    With the body's angular velocity ``w`` and classical acceleration ``[a; alpha]``, gravity included as ``-g``, and
    the frame's position ``rho`` and angular velocity ``sigma`` relative to the body as in ``kinematics``::

        f = a + alpha x rho + w x (w x rho) + 2 w x (Pi^t etad + sigma x c)
              + Pi^t etadd + sigmad x c + sigma x (sigma x c)
        reading = E^T [f; w + sigma]

    Args:
        ws: workspace with the body velocities and accelerations from :func:`dense.inverse_dynamics`.
        body: index of the body.
        frame: (5, 3) node position [m], offset from the node [m], and the frame's axes in the undeformed body (3 rows).
        influence: (6, k) modal influence ``[Pi^t; Pi^r]`` at the node.
        modes: (3, k) modal positions, rates and accelerations of the body.
        reading: (6,) output [m/s^2, rad/s].
    """
    work = ws.scratch
    E, Jl, f = work[0], work[1], work[2, 0]
    phi, rate, second, part = work[2, 1], work[2, 2], work[3, 0], work[3, 1]
    c, rho, sigma, sigmad = work[3, 2], work[4, 0], work[4, 1], work[4, 2]
    speed, inner, rest = work[5, 0], work[5, 1], work[5, 2]
    a, w, alpha = ws.a[body, :3], ws.velocity[body, 3:], ws.a[body, 3:]
    for i in range(3):
        phi[i], rate[i], second[i] = 0.0, 0.0, 0.0
        rho[i], speed[i], f[i] = frame[0, i], 0.0, a[i]
        for m in range(influence.shape[1]):
            phi[i] += influence[3 + i, m] * modes[0, m]
            rate[i] += influence[3 + i, m] * modes[1, m]
            second[i] += influence[3 + i, m] * modes[2, m]
            rho[i] += influence[i, m] * modes[0, m]
            speed[i] += influence[i, m] * modes[1, m]
            f[i] += influence[i, m] * modes[2, m]
    third, db, dc = exponential(phi, E, Jl)
    along = phi[0] * rate[0] + phi[1] * rate[1] + phi[2] * rate[2]
    for i in range(3):
        part[i], inner[i], rest[i] = 0.0, 0.0, 0.0
        c[i] = E[i, 0] * frame[1, 0] + E[i, 1] * frame[1, 1] + E[i, 2] * frame[1, 2]
        rho[i] += c[i]
        sigma[i] = Jl[i, 0] * rate[0] + Jl[i, 1] * rate[1] + Jl[i, 2] * rate[2]
        sigmad[i] = Jl[i, 0] * second[0] + Jl[i, 1] * second[1] + Jl[i, 2] * second[2]
    cross_add(part, 1.0, phi, rate)
    cross_add(sigmad, third, rate, part)
    cross_add(sigmad, along * dc, phi, part)
    for i in range(3):
        sigmad[i] += along * db * part[i]
    cross_add(speed, 1.0, sigma, c)
    cross_add(f, 1.0, alpha, rho)
    cross_add(inner, 1.0, w, rho)
    cross_add(f, 1.0, w, inner)
    cross_add(f, 2.0, w, speed)
    cross_add(f, 1.0, sigmad, c)
    cross_add(rest, 1.0, sigma, c)
    cross_add(f, 1.0, sigma, rest)
    for i in range(3):
        reading[i], reading[3 + i] = 0.0, 0.0
        for j in range(3):
            axis = E[j, 0] * frame[2, i] + E[j, 1] * frame[3, i] + E[j, 2] * frame[4, i]  # of the frame, in the body's
            reading[i] += axis * f[j]
            reading[3 + i] += axis * (w[j] + sigma[j])
