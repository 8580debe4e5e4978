r"""Desired accelerations of elastic joints and modes beside those of the joints (US 5,546,508, claims 1, 16, 31).

With ``y`` the elastic joints and modes, ``K_yy phi = w^2 M_yy phi`` their natural modes at a posture with joints held,
and ``dy`` the deviation from the quasi-static deflection under the reference, desired is the free motion and damping::

    y_dd = y_dd(q_dd desired) - D dyd        D = phi diag(2 zeta w) phi^T M_yy

The joints have to yield for it: ``q_dd* = -S D dyd``, ``S = R_q (R^T W R)^-1 R_y^T W_y``, in weighted least squares.
Their servos work against this motion. A mode swings with ``w``, so ``y`` and ``-yd / w^2`` stand for the integrals of
``yd``, and the predicted reaction of the servos is added to the desired accelerations of the joints::

    q_dd = q_dd servo - k_d S D dy + k_p S D phi diag(1 / w^2) phi^T M_yy dyd

The weight is ``W = diag(H_d, mode_weight M_yy)``: kinetic energies of the discrepancies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.vibration_damping import VibrationDampingConfig
from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class ModalTarget:
    """Desired motion of the N elastic joints and modes at a posture.

    Attributes:
        damping: (N, N) ``D``: desired accelerations per unit of the rates, negated [1/s].
        servo_position: (n, N) accelerations added to those desired of the joints, per unit of ``dy``.
        servo_rate: (n, N) accelerations added to those desired of the joints, per unit of ``dyd``.
        weight: (h + K, h + K) ``W``.
        forces: (n, N) joint efforts of the correction per unit of the modal discrepancy.
    """

    damping: Array
    servo_position: Array
    servo_rate: Array
    weight: Array
    forces: Array


def modal_target(model: FlexibleModel, x: Array, motion: VibrationDampingConfig, period: float) -> ModalTarget:
    """Compute the desired motion of elastic joints and modes.

    Args:
        model: the arm.
        x: (h + K,) coordinates of the posture.
        motion: servo gains, ``mode_damping`` and ``mode_weight``.
        period: control period over which accelerations are means [s].
    """
    joints, bent = model.actuated, model.unmeasured
    M, K, C = model.mass_matrix(x), model.stiffness_matrix(), model.damping_matrix()
    own = M[np.ix_(bent, bent)]
    squares, phi = scipy.linalg.eigh(K[np.ix_(bent, bent)], own)
    omega, back = np.sqrt(np.maximum(squares, 1e-6)), phi.T @ own
    damping = (phi * (2.0 * motion.mode_damping * omega)) @ back
    weight = np.zeros((model.size, model.size))
    weight[joints, joints] = np.diag(M)[joints]
    weight[np.ix_(bent, bent)] = motion.mode_weight * own
    response = np.linalg.inv(M + 0.5 * period * C + 0.25 * period**2 * K)[:, joints]
    forces = np.linalg.solve(response.T @ weight @ response, response[bent].T @ weight[np.ix_(bent, bent)])
    yielding = response[joints] @ forces @ damping
    k_p, k_d = (np.reshape(gain, (-1, 1)) for gain in (motion.position_gain, motion.velocity_gain))
    return ModalTarget(damping, -k_d * yielding, k_p * yielding @ (phi / omega**2) @ back, weight, forces)
