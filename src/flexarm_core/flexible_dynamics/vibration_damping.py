r"""Desired motion of an arm that bends: a reference its modes can follow, and error dynamics that die out quickly.

With ``y = [x_b; eta]`` (elastic joints and modes, stiffness ``K_y``) and joints ``q``::

    y_s = -K_y^-1 f_y(z, zd, zdd)         quasi-static deflection under the joint reference z
    q_r = z - W y_s                       joints that let y follow y_s: M_yq (q_rdd - zdd) = -M_yy y_sdd, so
                                          W = (M_yq^T K_y^-1 M_yq)^-1 M_yq^T K_y^-1 M_yy

``[q_r; y_s]`` is what a flat output is for one mode a joint: where bending and joint motion cancel, the reference is
followed, and nothing is left to swing at its end. The forces specified for it are its inverse dynamics. About
it the arm obeys ``M dxdd + C dxd + K dx = B dT``; the servo ``dT = -H_d (k_p dq + k_d dqd)`` is closed first, on it
the linear-quadratic regulator, sampled at the tick, that minimises ::

    1/2 int  eta^T K eta + etad^T M_ff etad + k_t |dp_tool|^2 + rho dT^T H_d^-1 dT   dt

The desired accelerations are those of this closed loop, and the force correction makes them happen: modelled stiffness
enters wanted and computed accelerations alike, so that its error does not pass into the forces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from flexarm_core.entrance import finite, number
from flexarm_core.errors import ConfigError
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class VibrationDampingConfig:
    """Settings of the desired motion.

    Attributes:
        position_gain: of the joint servo, k_p [1/s^2]; one, or one a joint. With velocity_gain 0 too: by the model.
        velocity_gain: of the joint servo, k_d [1/s].
        tool_stiffness: weight k_t of the tool's deviation [N/m].
        effort_weight: weight rho of the efforts: smaller is quicker [s^2]; 0: by the model.
        gain_period: time after which the gains are designed anew for the present posture [s].
    """

    position_gain: float | tuple[float, ...] = 0.0
    velocity_gain: float | tuple[float, ...] = 0.0
    tool_stiffness: float = 1e4
    effort_weight: float = 0.0
    gain_period: float = 0.02

    def __post_init__(self) -> None:
        """Raise ConfigError for values that have no meaning."""
        for name in ("position_gain", "velocity_gain", "tool_stiffness", "effort_weight"):
            value = np.asarray(getattr(self, name))
            if not (np.isfinite(value).all() and (value >= 0.0).all()):
                raise ConfigError(f"{name} must be >= 0, got {getattr(self, name)}")
        if not (np.isfinite(self.gain_period) and self.gain_period > 0.0):
            raise ConfigError(f"gain_period must be > 0, got {self.gain_period}")


def flexible_reference(model: FlexibleModel, position: Array, velocity: Array, acceleration: Array) -> Array:
    """Coordinates (h + K,) that let the modes follow a joint reference without swinging.

    Args:
        model: the arm.
        position: (n,) of the actuated joints.
        velocity: (n,).
        acceleration: (n,).
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
    """(m + K,) what the arm's weight alone bends, joints at rest at ``position`` (n,)."""
    x, none, free = np.zeros(model.size), np.zeros(model.size), model.unmeasured
    x[model.actuated] = position
    stiffness = model.stiffness_matrix()[np.ix_(free, free)]
    bent: Array = -np.linalg.solve(stiffness, model.inverse_dynamics(x, none, none)[free])
    return bent


def servo_inertia(model: FlexibleModel, x: Array) -> Array:
    """(n,) inertia ``H_d`` that each joint's servo is scaled with: diagonal of the mass matrix, all else held."""
    inertia: Array = np.diag(model.mass_matrix(x))[model.actuated]
    return inertia


def servo_gains(model: FlexibleModel, x: Array, config: VibrationDampingConfig) -> Array:
    """Gains (n, 2 (h + K)) of the joint servos alone on ``[dx; dxd]``, for a posture."""
    H_d, joints = servo_inertia(model, x), model.actuated
    servo, rows = np.zeros((len(joints), 2 * model.size)), np.arange(len(joints))
    servo[rows, joints] = config.position_gain * H_d
    servo[rows, model.size + joints] = config.velocity_gain * H_d
    return servo


def damping_gains(model: FlexibleModel, x: Array, config: VibrationDampingConfig, period: float) -> Array:
    """Feedback gains (n, 2 (h + K)) on ``[dx; dxd]``, servo included, for a posture and a control period [s].

    Raises:
        ValueError: there is no solution that can be computed.
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
