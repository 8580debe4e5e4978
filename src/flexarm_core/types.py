"""Common data types: frozen records exchanged between the processing stages of one control tick.

Units are SI. Spatial vectors have the linear part first (twist ``[v; w]``, wrench ``[f; n]``). Stamps are integer
nanoseconds so that they can be matched exactly. ``n`` is the number of actuated joints, ``m`` the number of elastic
joints under the base.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flexarm_core.records import quick

Array = NDArray[np.float64]

SHORT = 16  # largest size at which Python's sum is faster than NumPy's product


def all_finite(*arrays: Array) -> bool:
    """Return whether all elements of the given (k,) arrays are finite.

    This runs on every record at every step, so it is made cheap: if the sum of all elements, or of their squares, is
    finite, all elements are. If not, the sum may only have overflowed, and the elements are checked individually.
    """
    total = 0.0
    for array in arrays:
        total = sum(array.tolist(), total) if len(array) <= SHORT else total + array.dot(array)
    return math.isfinite(total) or all(np.isfinite(array).all() for array in arrays)


@quick
@dataclass(frozen=True, slots=True)
class ArmState:
    """Measured state of the arm and of its base at one stamp.

    Attributes:
        stamp: time of the measurement [ns].
        position: (n,) positions of the actuated joints [rad | m].
        velocity: (n,) velocities of the actuated joints [rad/s | m/s].
        deflection: (m,) deflections of the elastic base joints, x_b [m | rad].
        deflection_rate: (m,) deflection rates of the elastic base joints, xd_b [m/s | rad/s].
    """

    stamp: int
    position: Array
    velocity: Array
    deflection: Array
    deflection_rate: Array


@quick
@dataclass(frozen=True, slots=True)
class JointReference:
    """Reference for the actuated joints at one sample; ``None`` means that the quantity is not given.

    Attributes:
        stamp: stamp of the measurement that this reference was computed from [ns].
        position: (n,) joint positions [rad | m].
        velocity: (n,) joint velocities [rad/s | m/s].
        acceleration: (n,) joint accelerations [rad/s^2 | m/s^2].
        effort: (n,) motor efforts [N*m | N].
        friction: (n,) part of ``effort`` that compensates joint friction, excluding the viscous damping in the robot
            description; ``effort - friction`` drives the links and that damping [N*m | N].
    """

    stamp: int
    position: Array | None = None
    velocity: Array | None = None
    acceleration: Array | None = None
    effort: Array | None = None
    friction: Array | None = None


@quick
@dataclass(frozen=True, slots=True)
class CartesianReference:
    """Reference for the tool frame at one sample, expressed in ``frame``.

    Attributes:
        stamp: stamp of the measurement that this reference was computed from [ns].
        frame: name of the reference frame: the robot's root link (inertial) or the base link that carries the arm.
        position: (3,) origin of the tool frame [m].
        rotation: (3, 3) orientation of the tool frame.
        velocity: (6,) twist ``[v; w]`` of the tool frame's origin [m/s, rad/s].
        acceleration: (6,) classical acceleration ``[a; alpha]`` [m/s^2, rad/s^2].
        axes: (6,) bool, true for each tool-space component that is to be tracked.
    """

    stamp: int
    frame: str
    position: Array
    rotation: Array
    velocity: Array
    acceleration: Array
    axes: NDArray[np.bool_]


@quick
@dataclass(frozen=True, slots=True)
class BaseReaction:
    """Reaction of the arm on its base, and the conditioning of the reaction null space (Nenchev et al. 1999).

    Attributes:
        stamp: stamp of the measurement that this was computed from [ns].
        wrench_on_base_in_base: (6,) ``[f; n]`` exerted by the arm on the base link, at its origin [N, N*m].
        reaction: (m,) reaction on the elastic base joints, ``-(H_bm qdd + dH_bm/dt qd)`` [N | N*m].
        coupling_momentum: (m,) coupling momentum ``L = H_bm qd``.
        rank: numerical rank of H_bm.
        coupling_singular_values: (min(m, n),) singular values of H_bm, largest first.
        smallest_restricted_singular_value: smallest singular value of ``Jbar = J P_RNS``; 0 if no tool task is active.
        damping: damping factor applied to the inverse of ``Jbar``; 0 means exact inverse.
        vibration_damping: whether the base feedback G_b is active.
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


@quick
@dataclass(frozen=True, slots=True)
class FlexibleSample:
    """Sensor readings of a flexible arm at one stamp; ``None``, a missing name or NaN means no reading.

    Attributes:
        stamp: time of the measurement [ns].
        position: (n,) positions of the actuated joints [rad | m].
        velocity: (n,) velocities of the actuated joints [rad/s | m/s].
        effort: (n,) motor efforts applied up to the stamp [N*m | N].
        deflection: (m,) deflections of the elastic base joints [m | rad].
        deflection_rate: (m,) deflection rates of the elastic base joints [m/s | rad/s].
        strain: strain by gauge name, tension positive [1].
        wrenches: by force/torque sensor name, (6,) wrench ``[f; n]`` that the outboard side exerts on the inboard side,
            in sensor axes [N, N*m].
        imus: by IMU name, (6,) ``[specific force; angular velocity]`` in IMU axes [m/s^2, rad/s].
        other_wrenches: for force/torque sensors without a reading at this stamp, by name: stamp [ns] and value of the
            newest reading before it, else of the first one after it; None: that reading was rejected.
        rejected: by name, why a reading that has come could not be used.
        turned: (n,) reading of the encoders minus ``position``: whole turns of endless joints; None: zero [rad | m].
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
    other_wrenches: Mapping[str, tuple[int, Array | None]] = field(default_factory=dict)
    rejected: Mapping[str, str] = field(default_factory=dict)
    turned: Array | None = None


@quick
@dataclass(frozen=True, slots=True)
class FlexibleState:
    """Estimated state of all flexible coordinates: ``m`` elastic base joints and ``K`` elastic modes of the links.

    Attributes:
        stamp: stamp of the measurement that the estimate belongs to [ns].
        deflection: (m,) deflections of the elastic base joints [m | rad].
        deflection_rate: (m,) deflection rates of the elastic base joints [m/s | rad/s].
        deflection_acceleration: (m,) base joint accelerations under the effort applied up to the stamp
            [m/s^2 | rad/s^2].
        modal_position: (K,) modal coordinates [sqrt(kg)*m].
        modal_rate: (K,) modal velocities [sqrt(kg)*m/s].
        modal_acceleration: (K,) modal accelerations under the effort applied up to the stamp [sqrt(kg)*m/s^2].
        innovation: (c,) measurement minus prediction for each scalar measurement that corrected the estimate, in the
            unit of that measurement.
        innovation_names: (c) name of the measurement behind each innovation.
        innovation_variance: (c,) predicted variance of each innovation, the diagonal of ``S``, in the squared unit of
            the measurement.
        covariance_diagonal: (2 (m + K),) variances of [deflection, modal position, deflection rate, modal rate].
        left_out: ``name: reason`` for each reading that should have corrected the estimate but was not used.
        rate_delay: how much older the rates are than the stamp [s].
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
    rate_delay: float = 0.0


@quick
@dataclass(frozen=True, slots=True)
class BaseWrenchSample:
    """Measurements at one stamp of an arm that is mounted on a force/torque sensor.

    Attributes:
        stamp: time of the measurement [ns].
        position: (n,) positions of the actuated joints [rad | m].
        velocity: (n,) velocities of the actuated joints [rad/s | m/s].
        effort: (n,) motor efforts applied up to the stamp, None if unknown [N*m | N].
        wrench: (6,) raw sensor reading ``[f; n]``, None if missing [N, N*m].
        deflection: (m,) deflections of the elastic base joints [m | rad].
        deflection_rate: (m,) deflection rates of the elastic base joints [m/s | rad/s].
        deflection_acceleration: (m,) deflection accelerations of the elastic base joints [m/s^2 | rad/s^2].
    """

    stamp: int
    position: Array
    velocity: Array
    effort: Array | None
    wrench: Array | None
    deflection: Array = field(default_factory=lambda: np.zeros(0))
    deflection_rate: Array = field(default_factory=lambda: np.zeros(0))
    deflection_acceleration: Array = field(default_factory=lambda: np.zeros(0))


@quick
@dataclass(frozen=True, slots=True)
class BaseWrenchEstimate:
    """Joint torques and friction estimated from a force/torque sensor under the base.

    Wrenches are ``[f; n]`` exerted by the robot on its base, in the sensor frame [N, N*m]. Unknown quantities are NaN.

    Attributes:
        stamp: stamp of the measurement that the estimate belongs to [ns].
        torque: (n,) effort that reaches the links at each joint, with gravity compensated [N*m | N].
        friction: (n,) motor effort that neither reaches the links nor accelerates the rotors [N*m | N].
        gravity: (n,) gravity effort at each joint according to the model [N*m | N].
        model_torque: (n,) value of ``torque`` according to the model [N*m | N].
        wrench: (6,) measured wrench without bias.
        gravity_wrench: (6,) gravity part of ``wrench``.
        residual_wrench: (6,) part of ``wrench`` that gravity and the accelerations of the arm do not explain.
        bias: (6,) bias that was subtracted, in the sensor's own sign convention.
        contact: whether the arm is in contact with something.
        left_out: ``name: reason`` for each reading that could not be used.
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
