r"""The equations of motion node by node, with nothing of the recursion: rotations as Taylor series in time.

Every node is a point mass, and a rotary inertia constant in the axes of its body, which moves along
``x(t) = x + v t``; positions are polynomials of ``t`` up to ``t^2``, so that velocities and accelerations are exact.
Lagrange's equations are then sums over the nodes of partial velocity times inertial force. Cost grows as N^2 times the
number of nodes.
"""

from __future__ import annotations

import numpy as np

from flexarm_core.flexible_dynamics.modal_data import ModalData
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.types import Array

ORDER = 3  # coefficients of a series


def reference_acceleration(
    model: FlexibleModel,
    gravity: Array,
    x: Array,
    v: Array,
    effort: Array,
    wrenches: dict[str | tuple[str, int], Array],
) -> Array:
    """Accelerations (h + K,) of the robot of a model; its recursion, node sums and mounts are not used."""
    M, forces = equations_of_motion(model, gravity, x, v, wrenches)
    hinges = len(effort)
    forces[:hinges] += effort
    for h, name in enumerate(model.hinge_names):
        joint = model.description.joints[name]
        spring = {elastic.name: elastic for elastic in model.description.elastic}.get(name)
        forces[h] -= spring.stiffness * x[h] + spring.damping * v[h] if spring else joint.damping * v[h]
        forces[h] -= joint.friction * np.tanh(v[h] / 1e-3)
        M[h, h] += joint.armature
    solution: Array = np.linalg.solve(M, forces)
    return solution


def equations_of_motion(
    model: FlexibleModel, gravity: Array, x: Array, v: Array, wrenches: dict[str | tuple[str, int], Array]
) -> tuple[Array, Array]:
    """Mass matrix and all forces but those of the hinges: inertial ones, weight, springs of modes, wrenches."""
    size, hinges = model.size, len(model.hinge_names)
    directions = np.vstack((np.eye(size), v))  # the last one is the real motion
    series = np.zeros((size + 1, ORDER, size))
    series[:, 0], series[:, 1] = x, directions
    frames = {model.description.root: (_constant(size, np.eye(3)), np.zeros((size + 1, ORDER, 3)))}
    first = hinges
    columns = {}
    for link, data in model.modal_data.items():
        columns[link] = slice(first, first + len(data.modes))
        first += len(data.modes)
    M, forces = np.zeros((size, size)), np.zeros(size)
    for joint in model.description.joints.values():
        R, p = frames[joint.parent]
        place = joint.transform_child_to_parent
        if joint.parent in columns:
            data = model.modal_data[joint.parent]
            eta = series[:, :, columns[joint.parent]]
            node = int(np.linalg.norm(data.position - place[:3, 3], axis=1).argmin())
            p = p + _apply(R, _moved(data, node, eta))
            R = _product(R, _exponential(eta @ data.rotation[node].T))
            p = p + R @ (place[:3, 3] - data.position[node])
        else:
            p = p + R @ place[:3, 3]
        R = R @ place[:3, :3]
        if joint.kind != "fixed":
            q = series[:, :, model.hinge_names.index(joint.name), None] * joint.axis
            if joint.kind == "prismatic":
                p = p + _apply(R, q)
            else:
                R = _product(R, _exponential(q))
        frames[joint.child] = R, p
        link = model.description.links[joint.child]
        pieces = [(link.mass, p + R @ link.center_of_mass, link.inertia, np.zeros((size + 1, 3)))]
        if joint.child in columns:
            data, eta = model.modal_data[joint.child], series[:, :, columns[joint.child]]
            for j, mass in enumerate(data.mass):
                # the link as a whole is rigid, less its nodes, plus the nodes where they are
                pieces.append((-mass, p + R @ data.position[j], -data.inertia[j], np.zeros((size + 1, 3))))
                place = p + _apply(R, _moved(data, j, eta))
                pieces.append((mass, place, data.inertia[j], eta[:, 1] @ data.rotation[j].T))
            forces[columns[joint.child]] -= data.stiffness @ eta[-1, 0] + data.damping @ eta[-1, 1]
        w, wd = _spin(R)
        for mass, position, inertia, own in pieces:
            J, acceleration = position[:size, 1], 2.0 * position[-1, 2]
            M += mass * J @ J.T + (w + own)[:size] @ inertia @ (w + own)[:size].T
            forces -= mass * J @ (acceleration - gravity)
            momentum = inertia @ (w[-1] + own[-1])
            forces -= w[:size] @ np.cross(w[-1], momentum) + (w + own)[:size] @ inertia @ wd
    for where, wrench in wrenches.items():
        R, p = frames[where if isinstance(where, str) else where[0]]
        if not isinstance(where, str):
            data, eta = model.modal_data[where[0]], series[:, :, columns[where[0]]]
            p = p + _apply(R, _moved(data, where[1], eta))
            R = _product(R, _exponential(eta @ data.rotation[where[1]].T))
        forces += p[:size, 1] @ wrench[:3] + _spin(R)[0][:size] @ R[-1, 0].T @ wrench[3:]
    return M, forces


def _constant(size: int, matrix: Array) -> Array:
    series = np.zeros((size + 1, ORDER, *matrix.shape))
    series[:, 0] = matrix
    return series


def _moved(data: ModalData, node: int, eta: Array) -> Array:
    """Series of a node's position in its body."""
    moved: Array = eta @ data.translation[node].T
    moved[:, 0] += data.position[node]
    return moved


def _product(A: Array, B: Array) -> Array:
    out = np.zeros_like(A)
    for i in range(ORDER):
        for j in range(ORDER - i):
            out[:, i + j] += A[:, i] @ B[:, j]
    return out


def _apply(A: Array, b: Array) -> Array:
    return _product(A, np.repeat(b[..., None], 3, axis=-1))[..., 0]


def _exponential(phi: Array) -> Array:
    """Series of ``exp(phi^)`` by its power series, halved and squared."""
    A = np.zeros((*phi.shape, 3))
    A[..., 2, 1], A[..., 0, 2], A[..., 1, 0] = np.moveaxis(phi / 8.0, -1, 0)
    A[..., 1, 2], A[..., 2, 0], A[..., 0, 1] = -np.moveaxis(phi / 8.0, -1, 0)
    term = _constant(len(phi) - 1, np.eye(3))
    total = term.copy()
    for n in range(1, 16):
        term = _product(term, A) / n
        total += term
    for _ in range(3):
        total = _product(total, total)
    return total


def _spin(R: Array) -> tuple[Array, Array]:
    """Angular velocities (size + 1, 3) in body axes, and angular acceleration (3,) of the last motion."""
    rate = R[:, 0].transpose(0, 2, 1) @ R[:, 1]
    w = np.stack((rate[:, 2, 1], rate[:, 0, 2], rate[:, 1, 0]), axis=1)
    second = 2.0 * R[-1, 0].T @ R[-1, 2]
    second = 0.5 * (second - second.T)
    return w, np.array([second[2, 1], second[0, 2], second[1, 0]])
