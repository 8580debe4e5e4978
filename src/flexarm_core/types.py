"""The vocabulary: frozen records exchanged between the steps of one tick.

Units are SI, spatial vectors are linear first (twist ``[v; w]``, wrench ``[f; n]``), stamps are integer nanoseconds
so that they can be matched exactly. ``n`` counts the actuated joints, ``m`` the elastic joints under the base.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ArmState:
    """Measured state of the arm and of its base at one stamp.

    Attributes:
        stamp: time of the measurement [ns].
        position: (n,) actuated joints [rad | m].
        velocity: (n,) [rad/s | m/s].
        deflection: (m,) elastic joints of the base, x_b [m | rad].
        deflection_rate: (m,) xd_b [m/s | rad/s].
    """

    stamp: int
    position: Array
    velocity: Array
    deflection: Array
    deflection_rate: Array


@dataclass(frozen=True, slots=True)
class JointReference:
    """What the actuated joints should do at one sample; ``None`` means not given.

    Attributes:
        stamp: stamp of the measurement it answers [ns].
        position: (n,) [rad | m].
        velocity: (n,) [rad/s | m/s].
        acceleration: (n,) [rad/s^2 | m/s^2].
        effort: (n,) motor effort [N*m | N].
    """

    stamp: int
    position: Array | None = None
    velocity: Array | None = None
    acceleration: Array | None = None
    effort: Array | None = None


@dataclass(frozen=True, slots=True)
class CartesianReference:
    """Where the tool frame should be at one sample, expressed in ``frame``.

    Attributes:
        stamp: stamp of the measurement it answers [ns].
        frame: root link of the robot (inertial) or the base link that carries the arm.
        position: (3,) origin of the tool frame [m].
        rotation: (3, 3) orientation of the tool frame.
        velocity: (6,) twist ``[v; w]`` of the tool frame's origin [m/s, rad/s].
        acceleration: (6,) classical acceleration ``[a; alpha]`` [m/s^2, rad/s^2].
        axes: (6,) bool, the components that are to be tracked.
    """

    stamp: int
    frame: str
    position: Array
    rotation: Array
    velocity: Array
    acceleration: Array
    axes: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class BaseReaction:
    """What the arm does to its base and how well the reaction null space is conditioned (MATHS.md section 5).

    Attributes:
        stamp: stamp of the measurement it was computed from [ns].
        wrench_on_base_in_base: (6,) ``[f; n]`` exerted by the arm on the base link, at its origin [N, N*m].
        reaction: (m,) ``-(H_bm qdd + dH_bm/dt qd)`` [N | N*m].
        coupling_momentum: (m,) ``L = H_bm qd``.
        rank: numerical rank of H_bm.
        coupling_singular_values: (min(m, n),) of H_bm, largest first.
        smallest_restricted_singular_value: of ``Jbar = J P_RNS``; 0 where no tool task runs.
        damping: damping factor in force on ``Jbar``, 0 = exact inverse.
        vibration_damping: whether the base feedback G_b is in force.
    """

    stamp: int
    wrench_on_base_in_base: Array
    reaction: Array
    coupling_momentum: Array
    rank: int
    coupling_singular_values: Array
    smallest_restricted_singular_value: float
    damping: float
    vibration_damping: bool
