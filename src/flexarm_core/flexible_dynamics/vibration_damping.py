r"""Desired motion of a flexible arm: a reference that the modes can follow, and error dynamics that decay quickly.

With ``y = [x_b; eta]`` (elastic joints and modes, stiffness ``K_y``) and joints ``q``::

    y_s = -K_y^-1 f_y(z, zd, zdd)         quasi-static deflection under the joint reference z
    q_r = z - W (y_s - y_0)               joint motion with which y follows y_s: M_yq (q_rdd - zdd) = -M_yy y_sdd, so
                                          W = (M_yq^T K_y^-1 M_yq)^-1 M_yq^T K_y^-1 M_yy

where ``y_0`` is the static deflection under the arm's weight. With one mode per joint, ``[q_r; y_s]`` corresponds to
the trajectory of a flat output: if the effects of deflection and joint motion cancel, the arm follows the reference
without residual vibration at its end. The specified forces are the inverse dynamics of this reference. Deviations
``dx`` from it obey ``M dxdd + C dxd + K dx = B dT``. The servo ``dT = -H_d (k_p dq + k_d dqd)`` is the inner loop; the
outer loop is the linear-quadratic regulator, discretized at the control period, that minimizes ::

    1/2 int  eta^T K eta + etad^T M_ff etad + k_t |dp_tool|^2 + rho dT^T H_d^-1 dT   dt

The desired accelerations are those of this closed loop, and the force correction realizes them. The modeled stiffness
appears in both the desired and the computed accelerations, so an error of the stiffness does not affect the forces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from flexarm_core.entrance import finite, number
from flexarm_core.errors import ConfigError
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.settings import Settings, setting
from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class VibrationDampingConfig(Settings):
    """Settings of the desired motion.

    Attributes:
        position_gain: gain k_p of the joint servo; one value, or one per joint [1/s^2]. If velocity_gain is also 0,
            both gains are derived from the model.
        velocity_gain: gain k_d of the joint servo; one value, or one per joint [1/s].
    """

    # fmt: off
    position_gain: float | tuple[float, ...] = 0.0
    velocity_gain: float | tuple[float, ...] = 0.0
    tool_stiffness: float = setting(1e4,
        "weight of the deviation of the tool in the cost of the vibration damping (linear-quadratic)", "N/m", 0.0)
    effort_weight: float = setting(0.0,
        "weight of efforts in the cost of the vibration damping, smaller is faster; 0: derived from the model",
        "s^2", 0.0)
    gain_period: float = setting(0.02,
        "time after which the gains of the vibration damping are redesigned for the present posture", "s", 1e-4)
    mode_damping: float = setting(0.0,
        "desired damping ratio of elastic joints and modes in law accelerations; 0: only accelerations of joints are"
        " desired and compared", "", 0.0, 1.0)
    mode_weight: float = setting(1.0,
        "weight of the accelerations of elastic joints and modes relative to those of the joints in the force"
        " correction of law accelerations; 0: compared and published, but not corrected", "", 0.0)
    # fmt: on

    def check(self) -> None:
        """Raise ConfigError for gains that are negative or not finite."""
        for name in ("position_gain", "velocity_gain"):
            value = np.asarray(getattr(self, name))
            if not (np.isfinite(value).all() and (value >= 0.0).all()):
                raise ConfigError(f"{name} must be >= 0, got {getattr(self, name)}")


def flexible_reference(model: FlexibleModel, position: Array, velocity: Array, acceleration: Array) -> Array:
    """Compute the reference coordinates (h + K,) with which the modes follow a joint reference without vibration.

    Args:
        model: the arm.
        position: (n,) reference positions of the actuated joints [rad | m].
        velocity: (n,) reference velocities [rad/s | m/s].
        acceleration: (n,) reference accelerations [rad/s^2 | m/s^2].
    """
    x, v, a = np.zeros(model.size), np.zeros(model.size), np.zeros(model.size)
    joints, free = model.actuated, model.unmeasured
    x[joints], v[joints], a[joints] = position, velocity, acceleration
    if not free.size:
        return x
    stiffness = model.stiffness_matrix()[np.ix_(free, free)]
    x[free] = -np.linalg.solve(stiffness, model.inverse_dynamics(x, v, a)[free])
    M = model.mass_matrix(x)
    coupling, own = M[np.ix_(free, joints)], M[np.ix_(free, free)]
    weighted = np.linalg.solve(stiffness, np.column_stack((coupling, own)))
    n = len(joints)
    gram = coupling.T @ weighted[:, :n]
    deflected = x[free] - static_deflection(model, position)
    x[joints] -= np.linalg.lstsq(gram, coupling.T @ weighted[:, n:] @ deflected, rcond=1e-9)[0]
    return x


def static_deflection(model: FlexibleModel, position: Array) -> Array:
    """Compute the static deflection (m + K,) under the arm's weight alone, joints at rest at ``position`` (n,)."""
    x, none, free = np.zeros(model.size), np.zeros(model.size), model.unmeasured
    x[model.actuated] = position
    stiffness = model.stiffness_matrix()[np.ix_(free, free)]
    bent: Array = -np.linalg.solve(stiffness, model.inverse_dynamics(x, none, none)[free])
    return bent


def servo_inertia(model: FlexibleModel, x: Array) -> Array:
    """Compute the inertia ``H_d`` (n,) that scales each joint's servo: the actuated diagonal of the mass matrix."""
    inertia: Array = np.diag(model.mass_matrix(x))[model.actuated]
    return inertia


def servo_gains(model: FlexibleModel, x: Array, config: VibrationDampingConfig) -> Array:
    """Compute the gains (n, 2 (h + K)) of the joint servos alone on ``[dx; dxd]``, for a posture."""
    H_d, joints = servo_inertia(model, x), model.actuated
    servo, rows = np.zeros((len(joints), 2 * model.size)), np.arange(len(joints))
    servo[rows, joints] = config.position_gain * H_d
    servo[rows, model.size + joints] = config.velocity_gain * H_d
    return servo


def damping_gains(model: FlexibleModel, x: Array, config: VibrationDampingConfig, period: float) -> Array:
    """Compute the feedback gains (n, 2 (h + K)) on ``[dx; dxd]``, servo included, for a posture and control period [s].

    Raises:
        ValueError: the Riccati equation has no solution, or the solution cannot be computed.
    """
    size, joints, modes = model.size, model.actuated, model.modal
    x, period = finite("x", x, size), number("period", period, 0.0, 10.0)
    n = len(joints)
    at = x.copy()
    at[model.unmeasured] = 0.0
    M, K, C = model.mass_matrix(at), model.stiffness_matrix(), model.damping_matrix()
    H_d = np.diag(M)[joints]
    inverse = np.linalg.inv(M)
    flow = np.zeros((2 * size + n, 2 * size + n))
    flow[:size, size : 2 * size] = np.eye(size)
    flow[size : 2 * size, :size], flow[size : 2 * size, size : 2 * size] = -inverse @ K, -inverse @ C
    flow[size : 2 * size, 2 * size :] = inverse[:, joints]
    sampled = scipy.linalg.expm(flow * period)
    F, G = sampled[: 2 * size, : 2 * size], sampled[: 2 * size, 2 * size :]
    servo = servo_gains(model, at, config)
    J = np.column_stack([model.frame_motion(model.tool_frame, at, unit).velocity[:3] for unit in np.eye(size)])
    Q = np.zeros((2 * size, 2 * size))
    Q[:size, :size] = config.tool_stiffness * J.T @ J
    Q[np.ix_(modes, modes)] += K[np.ix_(modes, modes)]
    Q[np.ix_(size + modes, size + modes)] += M[np.ix_(modes, modes)]
    Q += 1e-9 * np.trace(Q) / len(Q) * np.eye(len(Q))
    R = config.effort_weight * np.diag(1.0 / H_d)
    closed = F - G @ servo
    P = scipy.linalg.solve_discrete_are(closed, G, Q * period, R * period)
    gains: Array = servo + np.linalg.solve(R * period + G.T @ P @ G, G.T @ P @ closed)
    return gains
