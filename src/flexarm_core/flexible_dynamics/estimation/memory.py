"""Memory of the estimator: flat arrays, the cheapest arguments of a kernel, and their layout.

Sizes: N unmeasured coordinates, n actuated joints, size = h + K coordinates of the tree, r rows (scalar readings), q
channels (sensors that are used or left out as a whole), g gauges, c motion sensors, p lasting loads, M = 2N + p states
``[y; yd; w]``, d = n + N + p disturbances. Rows are ordered: gauges, deflections of the elastic joints, their rates,
six for each motion sensor.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from flexarm_core.compiled import Inlined, views
from flexarm_core.flexible_dynamics.tree import BodyTree, Index, Workspace
from flexarm_core.types import Array


class Plan(NamedTuple):
    """Estimated coordinates and the readings that correct them; made once."""

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
    free: Annotated[Index, "N"]  # unmeasured coordinates
    actuated: Annotated[Index, "n"]  # measured coordinates
    body: Annotated[Index, "sensors"]  # body of each motion sensor, -1: the root
    felt: Annotated[Index, "sensors"]  # 1 for a force/torque sensor, 0 for an IMU
    first: Annotated[Index, "channels + 1"]  # first row of each channel
    of_base: Annotated[Index, "channels"]  # 1 if the reading shows the motion of the base, and therefore pushes on it


view_plan = views(Plan)


class Constants(NamedTuple):
    """Arm and sensors; made once."""

    K: Annotated[Array, "N", "N"]  # stiffness
    C: Annotated[Array, "N", "N"]  # damping
    density: Annotated[Array, "n + N"]  # squared spectral densities of the disturbances
    onto: Annotated[Array, "N", "p"]  # forces on the unmeasured coordinates per unit of each lasting load
    # variances of a sudden change of each load, and of a fast one within ``filter.PUSH_TIME``
    push: Annotated[Array, "p"]
    drift: Annotated[Array, "p"]  # squared spectral densities of its slow change
    fading: Annotated[Array, "p"]  # rates at which what is known of it fades [1/s]
    through: Annotated[Array, "p", "r"]  # reading per unit load, without accelerations
    noise: Annotated[Array, "r"]  # variances of the noise of the readings
    initial: Annotated[Array, "2 * N + p"]  # initial variances
    farthest: Annotated[Array, "2 * N"]  # largest state that is no divergence
    frame: Annotated[Array, "c", 5, 3]  # node, offset and axes of IMUs, see imu_reading
    influence: Annotated[Array, "c", 6, "k"]  # modal influence at IMUs


view_constants = views(Constants, "N", "n", "c", "r", "p", "k")


class Settings(NamedTuple):
    """Settings of the correction, see ``EstimatorConfig``."""

    strain_error: float
    gate: float
    push_gate: float
    patience: float
    frozen_samples: float
    frozen_travel: float  # predicted change of strain above which a repeated reading is frozen


class Kept(NamedTuple):
    """State of the filter between samples."""

    x: Annotated[Array, "size"]  # coordinates
    v: Annotated[Array, "size"]  # rates
    a: Annotated[Array, "size"]  # accelerations
    hinge: Annotated[Array, "size"]  # efforts of the newest sample, and the lasting loads on the other hinges
    lasting: Annotated[Array, "size"]  # forces of the loads on the coordinates
    load: Annotated[Array, "p"]  # lasting loads w
    touch: Annotated[Array, 6]  # contact wrench on the touched body
    P: Annotated[Array, "2 * N + p", "2 * N + p"]  # covariance of [y; yd; w]
    shown: Annotated[Array, "2 * N + p", "r"]  # derivative of the readings, a row for each of [y; yd; w]
    forces: Annotated[Array, "size", "r"]  # change of the readings per unit force on each coordinate
    R: Annotated[Array, "r"]  # variances of the noise, of gauges at the newest readings
    used: Annotated[Array, "r"]  # 1 for the rows that corrected the newest estimate
    expected: Annotated[Array, "r"]  # predicted readings of motion sensors when all derivatives were renewed
    rejected: Annotated[Array, "q"]  # consecutive rejections by the gate
    shift: Annotated[Array, "r"]  # whitened innovations of sensors of the base, filtered: 0 if the model is right
    lively: Annotated[Array, 1]  # time for which the loads on the base are still expected to change fast [s]
    watch: Annotated[Array, 4, "g"]  # strain, repetitions, predicted travel since, and largest travel
    # next row of ``shown`` to renew, next row of ``forces``, and how many more times all are renewed
    turn: Annotated[Array, 3]


view_kept = views(Kept, "N", "size", "g", "r", "q", "p")


class Ahead(NamedTuple):
    """Quantities that are prepared for the next sample."""

    step: Annotated[Array, 1]  # expected length of the sampling period [s]
    L: Annotated[Array, "N", "N"]  # mobility of the unmeasured coordinates over the step
    columns: Annotated[Array, "size", "N"]  # the same with all coordinates
    Ft: Annotated[Array, "2 * N + p", "2 * N + p"]  # transition, transposed
    moved: Annotated[Array, "2 * N + p", "2 * N + p"]  # F P F^T
    W: Annotated[Array, "n + N + p"]  # variances of the disturbances
    Gt: Annotated[Array, "n + N + p", "2 * N + p"]  # influence of the disturbances on the state, transposed
    # influence on the readings, transposed: by accelerations, and by the state that they have moved
    Et: Annotated[Array, "n + N + p", "r"]
    shown: Annotated[Array, "2 * N + p", "r"]  # as kept, with rows renewed
    forces: Annotated[Array, "size", "r"]
    renewed: Annotated[Array, 2]  # number of renewed rows of each
    R: Annotated[Array, "r"]
    used: Annotated[Array, "r"]
    S: Annotated[Array, "r", "r"]  # covariance of the innovation
    cross: Annotated[Array, "r", "2 * N + p"]  # covariance of innovation and state
    gain: Annotated[Array, "r", "2 * N + p"]  # gain, transposed
    P: Annotated[Array, "2 * N + p", "2 * N + p"]  # covariance after the correction
    # scratch
    factor: Annotated[Array, "r", "r"]
    A: Annotated[Array, "2 * N + p", "2 * N + p"]
    B: Annotated[Array, "2 * N + p", "2 * N + p"]
    WE: Annotated[Array, "n + N + p", "r"]
    D: Annotated[Array, "n + N + p", "2 * N + p"]
    state: Annotated[Array, "2 * N + p"]
    innovation: Annotated[Array, "r"]
    x: Annotated[Array, "size"]
    v: Annotated[Array, "size"]
    a: Annotated[Array, "size"]
    lines: Annotated[Array, 3, "size"]
    responses: Annotated[Array, "size", "size"]
    readings: Annotated[Array, 2, "c", 6]
    motion: Annotated[Array, 3, "k"]


view_ahead = views(Ahead, "N", "n", "size", "c", "r", "p", "k")


class Filter(NamedTuple):
    """All that lasts longer than a sample."""

    plan: Plan
    tree: BodyTree
    constants: Constants
    settings: Settings
    kept: Kept
    ahead: Ahead
    now: Workspace  # of the tree, at the estimate or where its readings are predicted
    onward: Workspace  # articulated at the estimate for the step that is prepared


_view_filter = views(Filter, "N", "n", "size", "g", "c", "r", "q", "p", "k")


def _filter(integers: Index, memory: Array) -> Any:
    p = view_plan(integers)
    return _view_filter(
        integers, memory, p.N, p.n, p.size, p.gauges, p.sensors, p.rows, p.channels, p.loads, p.modes
    )  # fmt: skip


view_filter = Inlined(_filter)


class Inputs(NamedTuple):
    """One sample; NaN: no reading."""

    step: Annotated[Array, 1]  # time since the last sample [s]; 0: nothing is predicted
    position: Annotated[Array, "n"]
    velocity: Annotated[Array, "n"]
    effort: Annotated[Array, "n"]
    touch: Annotated[Array, 6]  # reading of the contact sensor
    readings: Annotated[Array, "r"]


view_inputs = views(Inputs, "n", "r")


class Outputs(NamedTuple):
    """Results of one sample."""

    y: Annotated[Array, "N"]  # unmeasured coordinates
    yd: Annotated[Array, "N"]  # their rates
    ydd: Annotated[Array, "N"]  # their accelerations
    variances: Annotated[Array, "2 * N"]  # diagonal of the covariance
    innovation: Annotated[Array, "r"]
    variance: Annotated[Array, "r"]  # of the innovation
    reasons: Annotated[Array, "q"]  # why a channel is left out: USED, UNREADABLE, FROZEN or OUTLIER


view_outputs = views(Outputs, "N", "r", "q")


USED, UNREADABLE, FROZEN, OUTLIER = 0, 1, 2, 3
