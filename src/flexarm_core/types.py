"""The vocabulary: frozen records exchanged between the steps of one tick.

Units are SI, spatial vectors are linear first (twist ``[v; w]``, wrench ``[f; n]``), stamps are integer nanoseconds
so that they can be matched exactly. ``n`` counts the actuated joints, ``m`` the elastic joints under the base.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def all_finite(*arrays: Array) -> bool:
    """Whether every number of some (k,) arrays is finite: the cheap test that every record goes through at every step.

    A finite sum of squares says so at once; where it is not, a number may only be large, and each is looked at.
    """
    for array in arrays:  # noqa: SIM110 (a generator takes twice as long)
        if not math.isfinite(array.dot(array)) and not np.isfinite(array).all():
            return False
    return True


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
        friction: (n,) part of ``effort`` that joint friction takes, beyond the damping of the robot description:
            ``effort - friction`` is what is left for the links and that damping [N*m | N].
    """

    stamp: int
    position: Array | None = None
    velocity: Array | None = None
    acceleration: Array | None = None
    effort: Array | None = None
    friction: Array | None = None


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


@dataclass(frozen=True, slots=True)
class FlexibleSample:
    """What the sensors of a flexible arm say at one stamp; ``None``, a missing name and NaN mean no reading.

    Attributes:
        stamp: time of the measurement [ns].
        position: (n,) actuated joints [rad | m].
        velocity: (n,) [rad/s | m/s].
        effort: (n,) motor effort that acted until now [N*m | N].
        deflection: (m,) elastic joints of the base [m | rad].
        deflection_rate: (m,) [m/s | rad/s].
        strain: by gauge, tension positive [1].
        wrenches: by force/torque sensor, (6,) ``[f; n]`` of the outboard side on the inboard one, sensor axes [N, N*m].
        imus: by IMU, (6,) ``[specific force; angular velocity]`` in its axes [m/s^2, rad/s].
    """

    stamp: int
    position: Array
    velocity: Array
    effort: Array
    deflection: Array | None = None
    deflection_rate: Array | None = None
    strain: Mapping[str, float] = field(default_factory=dict)
    wrenches: Mapping[str, Array] = field(default_factory=dict)
    imus: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FlexibleState:
    """Estimated state of all that bends: ``m`` elastic joints of the base and ``K`` modes of the links.

    Attributes:
        stamp: stamp of the measurement it belongs to [ns].
        deflection: (m,) [m | rad].
        deflection_rate: (m,) [m/s | rad/s].
        deflection_acceleration: (m,) under the effort that acted until now [m/s^2 | rad/s^2].
        modal_position: (K,) [sqrt(kg)*m].
        modal_rate: (K,) [sqrt(kg)*m/s].
        modal_acceleration: (K,) under the effort that acted until now [sqrt(kg)*m/s^2].
        innovation: (c,) measurement minus prediction of what corrected the estimate, unit of each measurement.
        innovation_names: (c) what each of them is of.
        innovation_variance: (c,) as predicted, the diagonal of ``S``; squared unit of each measurement.
        covariance_diagonal: (2 (m + K),) variances of [deflection, modal position, deflection rate, modal rate].
        left_out: ``name: reason`` of each reading that should have corrected the estimate and did not.
    """

    stamp: int
    deflection: Array
    deflection_rate: Array
    deflection_acceleration: Array
    modal_position: Array
    modal_rate: Array
    modal_acceleration: Array
    innovation: Array = field(default_factory=lambda: np.zeros(0))
    innovation_names: tuple[str, ...] = ()
    innovation_variance: Array = field(default_factory=lambda: np.zeros(0))
    covariance_diagonal: Array = field(default_factory=lambda: np.zeros(0))
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BaseWrenchSample:
    """What is measured of an arm on a force/torque sensor at one stamp.

    Attributes:
        stamp: time of the measurement [ns].
        position: (n,) actuated joints [rad | m].
        velocity: (n,) [rad/s | m/s].
        effort: (n,) motor effort that acted until now, None where it is not known [N*m | N].
        wrench: (6,) ``[f; n]`` as the sensor reads it, None where it is missing [N, N*m].
        deflection: (m,) elastic joints of the base [m | rad].
        deflection_rate: (m,) [m/s | rad/s].
        deflection_acceleration: (m,) [m/s^2 | rad/s^2].
    """

    stamp: int
    position: Array
    velocity: Array
    effort: Array | None
    wrench: Array | None
    deflection: Array = field(default_factory=lambda: np.zeros(0))
    deflection_rate: Array = field(default_factory=lambda: np.zeros(0))
    deflection_acceleration: Array = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, slots=True)
class BaseWrenchEstimate:
    """What a force/torque sensor under the base says of the joints (MATHS.md section 4).

    Wrenches are ``[f; n]`` exerted by the robot on its base, in the sensor's frame [N, N*m]. What is not known is not a
    number.

    Attributes:
        stamp: stamp of the measurement it belongs to [ns].
        torque: (n,) that reaches the links at each joint, gravity compensated [N*m | N].
        friction: (n,) motor effort that neither reaches the links nor turns the rotors [N*m | N].
        gravity: (n,) that gravity takes at each joint, by the model [N*m | N].
        model_torque: (n,) what ``torque`` should be by the model [N*m | N].
        wrench: (6,) without bias.
        gravity_wrench: (6,) part of gravity in it.
        residual_wrench: (6,) what gravity and the accelerations of the arm do not explain.
        bias: (6,) that was taken off, in the sensor's own convention.
        contact: whether something touches the arm.
        left_out: ``name: reason`` of a reading that could not be used.
    """

    stamp: int
    torque: Array
    friction: Array
    gravity: Array
    model_torque: Array
    wrench: Array
    gravity_wrench: Array
    residual_wrench: Array
    bias: Array
    contact: bool
    left_out: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether the wrench could be used."""
        return not self.left_out
