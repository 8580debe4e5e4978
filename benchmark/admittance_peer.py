r"""The admittance law of ros2_controllers' admittance_controller, written down from its documentation, to compare with.

In the axes of a control frame, with diagonal mass, stiffness and damping ratio, and X the pose of the measured joints
against that of the reference joints::

    M X'' + D X' + K X = F,    D = 2 zeta sqrt(M K)
    q_a'' = J#(q) X'' - d q_a',    J# = (J^T J + alpha 1)^-1 J^T,    X' = J q_a'

The joint offsets q_a are integrated by Euler's method and added to the reference. F passes a first-order filter. There
is no term in dJ/dt; ``jdot`` adds it: ``q_a'' = J# (X'' - J' q_a') - d q_a'``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.types import Array

DIFFERENCE = 1e-6  # [s] over which the Jacobian is differenced


@dataclass(frozen=True, slots=True)
class AdmittanceSettings:
    """Parameters as the documentation names them.

    Attributes:
        mass: (6,) [kg, kg*m^2].
        damping_ratio: (6,) zeta.
        stiffness: (6,) [N/m, N*m/rad].
        selected_axes: (6,) of the control frame whose force counts.
        joint_damping: d [1/s].
        filter_coefficient: share of a new measurement in the filtered one, 0 to 1.
        alpha: damping of the inverse.
        jdot: whether the term in dJ/dt is added, which the original lacks.
    """

    mass: tuple[float, ...]
    damping_ratio: tuple[float, ...]
    stiffness: tuple[float, ...]
    selected_axes: tuple[bool, ...] = (True,) * 6
    joint_damping: float = 0.0
    filter_coefficient: float = 1.0
    alpha: float = 1e-6
    jdot: bool = False


class AdmittancePeer:
    """Keeps the joint offsets.

    Attributes:
        offset: (n,) q_a [rad].
        rate: (n,) q_a' [rad/s].
    """

    def __init__(self, chain: Chain, settings: AdmittanceSettings) -> None:
        """Begin at rest on the reference."""
        self.chain, self.settings = chain, settings
        self.offset, self.rate, self._wrench = np.zeros(chain.n), np.zeros(chain.n), np.zeros(6)

    def update(self, reference: Array, measured: Array, wrench: Array, dt: float) -> Array:
        """Joint command (n,) of one sample.

        Args:
            reference: (n,) joints of the trajectory [rad].
            measured: (n,) joints [rad].
            wrench: (6,) on the tool, base axes [N, N*m].
            dt: [s].
        """
        given = self.settings
        p_wanted, R_wanted = self.chain.pose(reference)
        p, R, J = self.chain.kinematics(measured)
        turn = np.kron(np.eye(2), R)  # the tool is the control frame
        M = np.array(given.mass)
        K = turn @ np.diag(given.stiffness) @ turn.T
        D = turn @ np.diag(2.0 * np.array(given.damping_ratio) * np.sqrt(M * np.array(given.stiffness))) @ turn.T
        self._wrench += given.filter_coefficient * (wrench - self._wrench)
        force = turn @ (np.array(given.selected_axes) * (turn.T @ self._wrench))
        X = np.concatenate((p - p_wanted, Rotation.from_matrix(R @ R_wanted.T).as_rotvec()))
        acceleration = (force - D @ (J @ self.rate) - K @ X) / M
        if given.jdot:
            ahead = self.chain.kinematics(measured + self.rate * DIFFERENCE)[2]
            acceleration -= (ahead - J) / DIFFERENCE @ self.rate
        joints = np.linalg.solve(J.T @ J + given.alpha * np.eye(self.chain.n), J.T @ acceleration)
        self.rate = self.rate + (joints - given.joint_damping * self.rate) * dt
        self.offset = self.offset + self.rate * dt
        return reference + self.offset
