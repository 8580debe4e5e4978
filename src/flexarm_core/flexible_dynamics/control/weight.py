r"""Weight in the linear loop of a flexible arm: a spring between the coordinates that may be negative.

With the forces ``g(x)`` that hold the arm at rest, springs and modal stiffness not counted, small deviations obey ::

    M dxdd + C dxd + (K + G) dx = B dT,        G = d g / d x

``joint_pd`` holds the weight of the undeflected arm, ``dT = d g_q / d q dq``. The other laws give the joints the
accelerations that they would have without weight: ``dT = (S M^-1 B)^-1 S M^-1 G dx``, with the joints ``S``.
"""

from __future__ import annotations

import numpy as np

from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.vibration_damping import static_deflection
from flexarm_core.types import Array

STEP = 1e-4  # [rad | m | 1] half the difference over which forces are differentiated


def resting(model: FlexibleModel, joints: Array) -> Array:
    """Return the coordinates (h + K,) of the arm at rest at joint positions (n,), deflected by its weight."""
    x = np.zeros(model.size)
    x[model.actuated] = joints
    x[model.unmeasured] = static_deflection(model, joints)
    return x


def weight_stiffness(model: FlexibleModel, x: Array) -> Array:
    """Compute ``G`` (h + K, h + K) at coordinates (h + K,), by central differences."""
    still = np.zeros(model.size)

    def forces(at: Array) -> Array:
        return model.inverse_dynamics(at, still, still)

    columns = [(forces(x + one) - forces(x - one)) / (2.0 * STEP) for one in STEP * np.eye(model.size)]
    G: Array = np.column_stack(columns) - model.stiffness_matrix()
    return G


def weight_moment(model: FlexibleModel, joints: Array) -> Array:
    """Compute ``hypot(g_i, d g_i / d q_i)`` (n,) of each joint at joint positions (n,) [N*m/rad | N/m].

    For a revolute joint this is the largest stiffness that the weight has while the joint alone turns, whatever the
    direction of gravity at the given position.
    """
    x, still = resting(model, joints), np.zeros(model.size)
    held, stiffness = model.inverse_dynamics(x, still, still), np.diag(weight_stiffness(model, x))
    moment: Array = np.hypot(held, stiffness)[model.actuated]
    return moment


def weight_gains(model: FlexibleModel, joints: Array, law: str, period: float) -> Array:
    """Compute the efforts (n, 2 (h + K)) per ``[dx; dxd]`` with which a law holds the weight; period [s]."""
    gains, places = np.zeros((len(model.actuated), 2 * model.size)), model.actuated
    x = np.zeros(model.size)
    x[places] = joints
    if law == "joint_pd":
        gains[:, places] = weight_stiffness(model, x)[np.ix_(places, places)]
        return gains
    t = period if law == "accelerations" else 0.0
    M = model.mass_matrix(x) + 0.5 * t * model.damping_matrix() + 0.25 * t * t * model.stiffness_matrix()
    response = np.linalg.inv(M)[places]
    G = weight_stiffness(model, resting(model, joints))
    gains[:, : model.size] = np.linalg.solve(response[:, places], response @ G)
    return gains
