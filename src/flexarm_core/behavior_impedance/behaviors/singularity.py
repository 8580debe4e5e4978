"""Singularity: keeps the arm away from singular configurations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from flexarm_core.behavior_impedance.avoidance.avoidance_force import avoidance_force
from flexarm_core.behavior_impedance.behavior import Arm, Behavior, Contribution, MotionSample
from flexarm_core.behavior_impedance.motion_space import arm_kinematics
from flexarm_core.compiled import allocating_kernel, kernel
from flexarm_core.errors import ConfigError
from flexarm_core.robot.kinematic_chain import KIND, PLACE, PRISMATIC, RATIO
from flexarm_core.settings import Setting
from flexarm_core.types import Array

SWEEPS = 8  # largest number of sweeps of Jacobi's eigenvalue method, which converges quadratically


class Singularity(Behavior):
    """Applies the effort of :mod:`avoidance_force` along the gradient of ``sigma_min(J)``, rotations scaled to lengths.

    ``sigma_min`` is the distance of the Jacobian from the nearest singular matrix (Eckart and Young). With its singular
    vectors ``u`` and ``v``, ``d sigma / d q_k = u^T (dJ / dq_k) v``.
    """

    KIND = "singularity"
    SETTINGS = (
        Setting("range", "double", 0.1,
            "smallest singular value of the tool Jacobian at which the redundant joints begin to yield", "m/rad", 1e-6),
        Setting("tool_range", "double", 0.0,
            "smallest singular value of the tool Jacobian at which the tool also begins to yield; 0: it never does",
            "m/rad", 0.0),
        Setting("margin", "double", 0.01,
            "smallest singular value of the tool Jacobian that should not be reached; repulsion rises steeply toward"
            " it", "m/rad", 0.0),
        Setting("force", "double", 30.0,
            "repulsion from a singularity halfway between range and margin, multiplied by the singular value's"
            " gradient", "N*rad", 0.0),
        Setting("axes", "bool[]", [True] * 6,
            "tool axes x y z rx ry rz in which the arm must remain able to move", size=6),
    )  # fmt: skip

    def __init__(self, arm: Arm, settings: Mapping[str, Any]) -> None:
        """Prepare; see :class:`Behavior`."""
        influence, tool_range, margin = settings["range"], settings["tool_range"], settings["margin"]
        if not margin < influence or (tool_range > 0.0 and not margin < tool_range):
            raise ConfigError(f"margin {margin} must lie below range and tool_range")
        if not 0 < sum(settings["axes"]) <= arm.chain.n:
            raise ConfigError(f"axes: one at least, and no more than the {arm.chain.n} joints can have")
        chain = arm.chain
        self._links, self._spread, self._coupled = chain.links, chain.spread, chain.moving != chain.joint_names
        self._free_links, k = chain.free_links, len(chain.moving)
        self._frames, self._free = np.empty((k + 1, 12)), np.empty((6, k))  # of the joints that move, all of them free
        self._scales = np.array(settings["axes"], dtype=float) * np.repeat((1.0, arm.length_scale), 3)
        self._near, self._nearer = (np.array((far, margin, settings["force"])) for far in (influence, tool_range))
        self._farthest = max(influence, tool_range)
        self._gradient, self._least = np.zeros(arm.chain.n), math.inf

    def update(self, sample: MotionSample, out: Contribution) -> None:
        """Write the efforts on the joints."""
        gradient, frames, free = self._gradient, sample.frames, sample.J
        if self._coupled:
            frames, free = self._frames, self._free
            arm_kinematics(self._free_links, self._spread @ sample.position, frames, free)
        self._least = least_singular_value(sample.J, free, frames, self._links, self._scales, gradient)
        out.measure[0] = self._least
        if self._least >= self._farthest:
            return
        _push(self._least, self._near, gradient, out.effort, out.effort_stiffness)
        if self._least < self._nearer[0]:
            _push(self._least, self._nearer, gradient, out.yielding, out.yielding_stiffness)

    def note(self) -> str:
        """Return the smallest singular value."""
        return f"least singular value {self._least:.3f} m/rad"


@kernel
def _push(least: float, profile: Array, gradient: Array, effort: Array, stiffness: Array) -> None:
    """Write the avoidance effort (n,) along a gradient (n,), and its stiffness (n, n).

    ``profile`` (3,): range, margin and force.
    """
    f, slope, _ = avoidance_force(least, profile[0], profile[1], profile[2])
    for i in range(gradient.shape[0]):
        effort[i] = f * gradient[i]
        for j in range(gradient.shape[0]):
            stiffness[i, j] = slope * gradient[i] * gradient[j]


@allocating_kernel
def least_singular_value(J: Array, free: Array, frames: Array, links: Array, scales: Array, gradient: Array) -> float:
    """Return ``sigma_min`` of the scaled Jacobian [m/rad], and write its gradient with respect to the joints.

    Where joints follow others, ``J = J_k G`` with the Jacobian ``J_k`` of the k joints that move, and
    ``d sigma / d q = G^T (d sigma / d q_k)``.

    Args:
        J: (6, n) tool Jacobian.
        free: (6, k) tool Jacobian of the joints that move; ``J`` itself if none follows another.
        frames: (k + 1, 12) frames of these joints and the tool; the third column of each rotation is the joint axis.
        links: (k + 1, 15) links of the chain.
        scales: (6,) scale factor of each row; 0 for an axis that is not considered.
        gradient: (n,) output.
    """
    n = J.shape[1]
    G, V = np.zeros((6, 6)), np.eye(6)
    for a in range(6):
        for b in range(6):
            for i in range(n):
                G[a, b] += scales[a] * scales[b] * J[a, i] * J[b, i]
    for _ in range(SWEEPS):
        off = 0.0
        for a in range(5):
            for b in range(a + 1, 6):
                off += G[a, b] * G[a, b]
        if off < 1e-30:
            break
        for a in range(5):
            for b in range(a + 1, 6):
                if abs(G[a, b]) < 1e-300:
                    continue
                theta = 0.5 * (G[b, b] - G[a, a]) / G[a, b]
                t = (1.0 if theta >= 0.0 else -1.0) / (abs(theta) + math.sqrt(theta * theta + 1.0))
                c = 1.0 / math.sqrt(t * t + 1.0)
                s = t * c
                for k in range(6):
                    x, y = G[k, a], G[k, b]
                    G[k, a], G[k, b] = c * x - s * y, s * x + c * y
                for k in range(6):
                    x, y = G[a, k], G[b, k]
                    G[a, k], G[b, k] = c * x - s * y, s * x + c * y
                    x, y = V[k, a], V[k, b]
                    V[k, a], V[k, b] = c * x - s * y, s * x + c * y
    least = -1
    for a in range(6):
        counts = 0.0  # an axis with scale 0 has its own eigenvector, with no component along the others
        for k in range(6):
            if scales[k] > 0.0:
                counts += V[k, a] * V[k, a]
        if counts > 0.5 and (least < 0 or G[a, a] < G[least, least]):
            least = a
    sigma, moving = math.sqrt(max(G[least, least], 0.0)), free.shape[1]
    u, v = np.empty(6), np.empty(n)
    for k in range(6):
        u[k] = scales[k] * V[k, least]
    for i in range(n):
        v[i] = gradient[i] = 0.0
        for k in range(6):
            v[i] += J[k, i] * u[k]
        v[i] /= max(sigma, 1e-12)
    for k in range(moving):
        change = 0.0
        for j in range(moving):
            if k <= j:  # joint k rotates column j
                if links[k, KIND] == PRISMATIC:
                    continue
                x, y, z = frames[k, 2], frames[k, 5], frames[k, 8]
                rate = links[j, RATIO] * v[int(links[j, PLACE])]
                for part in range(0, 6, 3):
                    a, b, c = free[part, j], free[part + 1, j], free[part + 2, j]
                    change += rate * (
                        u[part] * (y * c - z * b) + u[part + 1] * (z * a - x * c) + u[part + 2] * (x * b - y * a)
                    )
            elif links[j, KIND] != PRISMATIC:  # joint k moves the tool relative to the axis of joint j
                x, y, z = frames[j, 2], frames[j, 5], frames[j, 8]
                rate = links[j, RATIO] * v[int(links[j, PLACE])]
                a, b, c = free[0, k], free[1, k], free[2, k]
                change += rate * (u[0] * (y * c - z * b) + u[1] * (z * a - x * c) + u[2] * (x * b - y * a))
        gradient[int(links[k, PLACE])] += links[k, RATIO] * change
    return sigma
