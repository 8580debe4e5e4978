"""Memory of the estimator: flat arrays, the cheapest arguments of a kernel, and their layout.

Sizes: N unmeasured coordinates, n actuated joints, size = h + K coordinates, r rows (scalar readings), q channels
(sensors that are used or left out as a whole), g gauges, c motion sensors, p lasting loads, M = 2N + p states
``[y; yd; w]``, d = n + N + p disturbances. Rows are ordered: gauges, deflections of the elastic joints, their rates,
six for each motion sensor.
"""

from __future__ import annotations

from typing import NamedTuple

from flexarm_core.compiled import kernel, view
from flexarm_core.flexible_dynamics.tree import Index
from flexarm_core.types import Array


class Plan(NamedTuple):
    """What is estimated from what; made once."""

    N: int
    n: int
    size: int
    gauges: int  # g
    linear: int  # rows of gauges and deflections, whose readings are linear in the state
    sensors: int  # c motion sensors
    rows: int  # r
    channels: int  # q
    loads: int  # p
    modes: int  # k of the influence of the IMUs
    touched: int  # body that the contact wrench acts on, -1: no contact is assumed
    free: Index  # (N,) unmeasured coordinates
    actuated: Index  # (n,) measured coordinates
    body: Index  # (c,) body of each motion sensor, -1: the root
    felt: Index  # (c,) 1 for a force/torque sensor, 0 for an IMU
    first: Index  # (q + 1,) first row of each channel
    of_base: Index  # (q,) 1 if the reading shows the motion of the base, and therefore pushes on it


class Constants(NamedTuple):
    """Arm, sensors and settings; made once."""

    K: Array  # (N, N) stiffness
    C: Array  # (N, N) damping
    density: Array  # (n + N,) squared spectral densities of the disturbances
    onto: Array  # (N, p) forces on the unmeasured coordinates per unit of each lasting load
    push: Array  # (p,) variances of a sudden change of each load, and of a fast one within ``filter.PUSH_TIME``
    drift: Array  # (p,) squared spectral densities of its slow change
    fading: Array  # (p,) rates at which what is known of it fades [1/s]
    through: Array  # (p, r) reading per unit load, without accelerations
    noise: Array  # (r,) variances of the noise of the readings
    initial: Array  # (M,) initial variances
    farthest: Array  # (2N,) largest state that is no divergence
    frame: Array  # (c, 5, 3) node, offset and axes of IMUs, see imu_reading
    influence: Array  # (c, 6, k) modal influence at IMUs
    settings: Array  # (6,) see view_settings


class Settings(NamedTuple):
    """Settings of the correction, see ``EstimatorConfig``."""

    strain_error: float
    gate: float
    push_gate: float
    patience: float
    frozen_samples: float
    frozen_travel: float  # predicted change of strain above which a repeated reading is frozen


class Kept(NamedTuple):
    """What the filter keeps from sample to sample."""

    x: Array  # (size,) coordinates
    v: Array  # (size,) rates
    a: Array  # (size,) accelerations
    hinge: Array  # (size,) efforts of the newest sample, and the lasting loads on the other hinges
    lasting: Array  # (size,) forces of the loads on the coordinates
    load: Array  # (p,) lasting loads w
    touch: Array  # (6,) contact wrench on the touched body
    P: Array  # (M, M) covariance of [y; yd; w]
    shown: Array  # (M, r) derivative of the readings, a row for each of [y; yd; w]
    forces: Array  # (size, r) change of the readings per unit force on each coordinate
    R: Array  # (r,) variances of the noise, of gauges at the newest readings
    used: Array  # (r,) 1 for the rows that corrected the newest estimate
    expected: Array  # (r,) predicted readings of motion sensors when all derivatives were renewed
    rejected: Array  # (q,) consecutive rejections by the gate
    shift: Array  # (r,) whitened innovations of sensors of the base, filtered: 0 if the model is right
    lively: Array  # (1,) time for which the loads on the base are still expected to change fast [s]
    watch: Array  # (4, g) strain, repetitions, predicted travel since, and largest travel
    # (3,) next row of ``shown`` to renew, next row of ``forces``, and how many more times all are renewed
    turn: Array


class Ahead(NamedTuple):
    """What is prepared for the next sample."""

    step: Array  # (1,) expected length of the sampling period [s]
    L: Array  # (N, N) mobility of the unmeasured coordinates over the step
    columns: Array  # (size, N) the same with all coordinates
    Ft: Array  # (M, M) transition, transposed
    moved: Array  # (M, M) F P F^T
    W: Array  # (d,) variances of the disturbances
    Gt: Array  # (d, M) influence of the disturbances on the state, transposed
    Et: Array  # (d, r) influence on the readings, transposed: by accelerations, and by the state that they have moved
    shown: Array  # (M, r) as kept, with rows renewed
    forces: Array  # (size, r)
    renewed: Array  # (2,) number of renewed rows of each
    R: Array  # (r,)
    used: Array  # (r,)
    S: Array  # (r, r) covariance of the innovation
    cross: Array  # (r, M) covariance of innovation and state
    gain: Array  # (r, M) gain, transposed
    P: Array  # (M, M) covariance after the correction
    # scratch
    factor: Array  # (r, r)
    A: Array  # (M, M)
    B: Array  # (M, M)
    WE: Array  # (d, r)
    D: Array  # (d, M)
    state: Array  # (M,)
    innovation: Array  # (r,)
    x: Array  # (size,)
    v: Array  # (size,)
    a: Array  # (size,)
    lines: Array  # (4, size)
    responses: Array  # (size, size)
    readings: Array  # (2, c, 6)
    motion: Array  # (3, k)
    wrench: Array  # (bodies, 6)


class Inputs(NamedTuple):
    """One sample; NaN: no reading."""

    step: Array  # (1,) time since the last sample [s]; 0: nothing is predicted
    position: Array  # (n,)
    velocity: Array  # (n,)
    effort: Array  # (n,)
    touch: Array  # (6,) reading of the contact sensor
    readings: Array  # (r,)


class Outputs(NamedTuple):
    """Results of one sample."""

    y: Array  # (N,) unmeasured coordinates
    yd: Array  # (N,) their rates
    ydd: Array  # (N,) their accelerations
    variances: Array  # (2N,) diagonal of the covariance
    innovation: Array  # (r,)
    variance: Array  # (r,) of the innovation
    reasons: Array  # (q,) why a channel is left out: USED, UNREADABLE, FROZEN or OUTLIER


USED, UNREADABLE, FROZEN, OUTLIER = 0, 1, 2, 3


@kernel
def view_plan(memory: Index) -> Plan:
    """View the integers."""
    N, n, size, gauges, linear = memory[0], memory[1], memory[2], memory[3], memory[4]
    sensors, rows, channels, loads, modes, touched = (
        memory[5], memory[6], memory[7], memory[8], memory[9], memory[10]
    )  # fmt: skip
    free, i = view(memory, 11, (N,)), 11 + N
    actuated, i = view(memory, i, (n,)), i + n
    body, i = view(memory, i, (sensors,)), i + sensors
    felt, i = view(memory, i, (sensors,)), i + sensors
    first, i = view(memory, i, (channels + 1,)), i + channels + 1
    of_base = view(memory, i, (channels,))
    return Plan(
        N, n, size, gauges, linear, sensors, rows, channels, loads, modes, touched, free, actuated, body, felt, first,
        of_base,
    )  # fmt: skip


@kernel
def view_constants(memory: Array, N: int, n: int, c: int, r: int, p: int, k: int) -> Constants:
    """View one flat array as the constants, for the sizes of a plan."""
    K, i = view(memory, 0, (N, N)), N * N
    C, i = view(memory, i, (N, N)), i + N * N
    density, i = view(memory, i, (n + N,)), i + n + N
    onto, i = view(memory, i, (N, p)), i + N * p
    push, i = view(memory, i, (p,)), i + p
    drift, i = view(memory, i, (p,)), i + p
    fading, i = view(memory, i, (p,)), i + p
    through, i = view(memory, i, (p, r)), i + p * r
    noise, i = view(memory, i, (r,)), i + r
    initial, i = view(memory, i, (2 * N + p,)), i + 2 * N + p
    farthest, i = view(memory, i, (2 * N,)), i + 2 * N
    frame, i = view(memory, i, (c, 5, 3)), i + 15 * c
    influence, i = view(memory, i, (c, 6, k)), i + 6 * c * k
    settings = view(memory, i, (6,))
    return Constants(
        K, C, density, onto, push, drift, fading, through, noise, initial, farthest, frame, influence, settings
    )


@kernel
def view_settings(memory: Array) -> Settings:
    """Read the settings."""
    return Settings(memory[0], memory[1], memory[2], memory[3], memory[4], memory[5])


@kernel
def view_kept(memory: Array, N: int, size: int, g: int, r: int, q: int, p: int) -> Kept:
    """View one flat array as what is kept."""
    M = 2 * N + p
    x, i = view(memory, 0, (size,)), size
    v, i = view(memory, i, (size,)), i + size
    a, i = view(memory, i, (size,)), i + size
    hinge, i = view(memory, i, (size,)), i + size
    lasting, i = view(memory, i, (size,)), i + size
    load, i = view(memory, i, (p,)), i + p
    touch, i = view(memory, i, (6,)), i + 6
    P, i = view(memory, i, (M, M)), i + M * M
    shown, i = view(memory, i, (M, r)), i + M * r
    forces, i = view(memory, i, (size, r)), i + size * r
    R, i = view(memory, i, (r,)), i + r
    used, i = view(memory, i, (r,)), i + r
    expected, i = view(memory, i, (r,)), i + r
    rejected, i = view(memory, i, (q,)), i + q
    shift, i = view(memory, i, (r,)), i + r
    lively, i = view(memory, i, (1,)), i + 1
    watch, i = view(memory, i, (4, g)), i + 4 * g
    turn = view(memory, i, (3,))
    return Kept(
        x, v, a, hinge, lasting, load, touch, P, shown, forces, R, used, expected, rejected, shift, lively, watch, turn
    )


@kernel
def view_ahead(memory: Array, N: int, n: int, size: int, c: int, r: int, p: int, k: int, bodies: int) -> Ahead:
    """View one flat array as what is prepared."""
    d, M = n + N + p, 2 * N + p
    step, L, i = view(memory, 0, (1,)), view(memory, 1, (N, N)), 1 + N * N
    columns, i = view(memory, i, (size, N)), i + size * N
    Ft, i = view(memory, i, (M, M)), i + M * M
    moved, i = view(memory, i, (M, M)), i + M * M
    W, i = view(memory, i, (d,)), i + d
    Gt, i = view(memory, i, (d, M)), i + d * M
    Et, i = view(memory, i, (d, r)), i + d * r
    shown, i = view(memory, i, (M, r)), i + M * r
    forces, i = view(memory, i, (size, r)), i + size * r
    renewed, i = view(memory, i, (2,)), i + 2
    R, i = view(memory, i, (r,)), i + r
    used, i = view(memory, i, (r,)), i + r
    S, i = view(memory, i, (r, r)), i + r * r
    cross, i = view(memory, i, (r, M)), i + r * M
    gain, i = view(memory, i, (r, M)), i + r * M
    P, i = view(memory, i, (M, M)), i + M * M
    factor, i = view(memory, i, (r, r)), i + r * r
    A, i = view(memory, i, (M, M)), i + M * M
    B, i = view(memory, i, (M, M)), i + M * M
    WE, i = view(memory, i, (d, r)), i + d * r
    D, i = view(memory, i, (d, M)), i + d * M
    state, i = view(memory, i, (M,)), i + M
    innovation, i = view(memory, i, (r,)), i + r
    x, i = view(memory, i, (size,)), i + size
    v, i = view(memory, i, (size,)), i + size
    a, i = view(memory, i, (size,)), i + size
    lines, i = view(memory, i, (4, size)), i + 4 * size
    responses, i = view(memory, i, (size, size)), i + size * size
    readings, i = view(memory, i, (2, c, 6)), i + 12 * c
    motion, i = view(memory, i, (3, k)), i + 3 * k
    wrench = view(memory, i, (bodies, 6))
    return Ahead(
        step, L, columns, Ft, moved, W, Gt, Et, shown, forces, renewed, R, used, S, cross, gain, P, factor, A, B, WE,
        D, state, innovation, x, v, a, lines, responses, readings, motion, wrench,
    )  # fmt: skip


@kernel
def view_inputs(memory: Array, n: int, rows: int) -> Inputs:
    """View one flat array as a sample."""
    return Inputs(
        view(memory, 0, (1,)), view(memory, 1, (n,)), view(memory, 1 + n, (n,)), view(memory, 1 + 2 * n, (n,)),
        view(memory, 1 + 3 * n, (6,)), view(memory, 7 + 3 * n, (rows,)),
    )  # fmt: skip


@kernel
def view_outputs(memory: Array, N: int, rows: int, channels: int) -> Outputs:
    """View one flat array as results."""
    return Outputs(
        view(memory, 0, (N,)), view(memory, N, (N,)), view(memory, 2 * N, (N,)), view(memory, 3 * N, (2 * N,)),
        view(memory, 5 * N, (rows,)), view(memory, 5 * N + rows, (rows,)),
        view(memory, 5 * N + 2 * rows, (channels,)),
    )  # fmt: skip
