"""Rotors that keep MuJoCo's mass matrix regular where a joint that follows another one carries next to nothing itself.

A link without a mass between two followers, as in a palletizer, moves freely in MuJoCo's coordinates: without the
equality constraints the mass matrix is singular. The constraint forces, which are solved for with its inverse, were so
inexact that an arm whose weight was compensated fell. A rotor ``J`` on the follower ``q_f = a q_m + b``, and ``-a^2 J``
on its driver, make it regular and change nothing: the reduced inertia is that of ``a^2 J - a^2 J``.
"""

from __future__ import annotations

import mujoco
import numpy as np

from flexarm_core.robot.description import Joint, RobotDescription
from flexarm_core.types import Array

LIGHT = 0.1  # share of the inertia that a follower moves, below which it has too little of its own
PARTS = 0.3, 0.1, 0.01, 1e-3  # the rotor as shares of that inertia: the largest that leaves the driver REST of its own
REST = 0.5
POSTURES, WIDTH = 6, 1.5  # in which this is looked at, random about that of the description [rad | m]


def deflection_joint(link: str) -> str:
    """Return the name of the joint that is the deflection of an elastic drive."""
    return f"deflection/{link}"


def leaders(description: RobotDescription, joint: Joint) -> tuple[str, ...]:
    """Return the joints of the model whose sum a joint follows: its driver, and the deflection of that one's drive."""
    drives = [link for link, drive in description.elastic_drives.items() if drive.joint == joint.mimic]
    return joint.mimic, *(deflection_joint(link) for link in drives)


def add_follower_rotors(description: RobotDescription, model: mujoco.MjModel) -> None:
    """Add rotors to light followers of a compiled model, and take them off at their drivers.

    A follower behind an elastic drive follows two coordinates of the model, of which no rotors could take its own off:
    it is left as it is.
    """
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    postures = [model.qpos0, *(model.qpos0 + rng.uniform(-WIDTH, WIDTH, (POSTURES, model.nq)))]
    for joint in description.coupled:
        if len(leaders(description, joint)) > 1:
            continue
        follower, driver = (model.joint(name).dofadr[0] for name in (joint.name, joint.mimic))
        own, moved = _inertias(model, data, postures, follower)
        if (own >= LIGHT * moved).all():
            continue
        before = _inertias(model, data, postures, driver)[0]
        given = model.dof_armature.copy()
        for part in PARTS:
            rotor = part * moved.max()
            model.dof_armature[follower] = given[follower] + rotor
            model.dof_armature[driver] = given[driver] - joint.multiplier**2 * rotor
            if (_inertias(model, data, postures, driver)[0] > REST * before).all():
                break
            model.dof_armature[:] = given
    mujoco.mj_setConst(model, data)


def _inertias(model: mujoco.MjModel, data: mujoco.MjData, postures: list[Array], dof: int) -> tuple[Array, Array]:
    """Return the inertia of a coordinate with all others free, and with all others held, in each posture (k,)."""
    found, unit, column = [], np.eye(model.nv), np.empty(model.nv)
    for q in postures:
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        columns = []
        for way in unit:
            mujoco.mj_mulM(model, data, column, way)
            columns.append(column.copy())
        H, others = np.array(columns), np.arange(model.nv) != dof
        h = H[others, dof]
        free = H[dof, dof] - h @ np.linalg.lstsq(H[np.ix_(others, others)], h, rcond=1e-13)[0]
        found.append((free, H[dof, dof]))
    own, moved = np.array(found).T
    return own, moved
