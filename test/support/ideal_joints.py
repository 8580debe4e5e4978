"""A base under joints that move exactly as told: MuJoCo's mass matrix and forces, the joints' motion imposed."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np

from flexarm_core.reaction_null_space.reactionless.path import JointMotion
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import Array
from flexarm_sim.mujoco.model import build_model


class IdealJoints:
    """A robot of which only the elastic joints are free."""

    def __init__(self, text: str, gravity: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> None:
        description = parse_robot_description(text)
        self._model = build_model(description, gravity=gravity)
        self._data = mujoco.MjData(self._model)
        self._arm = np.array([self._model.joint(name).dofadr[0] for name in description.actuated])
        self._base = np.array([self._model.joint(each.name).dofadr[0] for each in description.elastic])
        self._inertia, self._units = np.zeros((self._model.nv, self._model.nv)), np.eye(self._model.nv)

    def reaction(self, motion: JointMotion) -> Array:
        """(m,) ``H_bm qdd + dH_bm/dt qd`` at a base at rest: what the elastic joints must bear."""
        still = np.zeros(len(self._base))
        inertia, forces = self._dynamics(motion, still, still)
        return inertia[np.ix_(self._base, self._arm)] @ motion.acceleration + forces

    def equilibrium(self, motion: JointMotion, stiffness: Array) -> Array:
        """(m,) deflection of a base that rests under the arm's weight, by steps with its stiffness (m, m)."""
        deflection, still = np.zeros((2, len(self._base)))
        for _ in range(30):
            deflection = deflection - np.linalg.solve(stiffness, self._dynamics(motion, deflection, still)[1])
        return deflection

    def deflection(
        self,
        motion: Callable[[float], JointMotion],
        duration: float,
        step: float = 0.002,
        start: Array | None = None,
    ) -> Array:
        """(T, m) of a base that begins at rest, at ``start`` (m,) or 0, by Runge and Kutta's method of fourth order."""
        m = len(self._base)
        start = np.zeros(m) if start is None else start
        state, rows = np.concatenate((start, np.zeros(m))), [start]

        def rate(joints: JointMotion, y: Array) -> Array:
            inertia, forces = self._dynamics(joints, y[:m], y[m:])
            load = inertia[np.ix_(self._base, self._arm)] @ joints.acceleration + forces
            return np.concatenate((y[m:], -np.linalg.solve(inertia[np.ix_(self._base, self._base)], load)))

        count = round(duration / step)
        after = motion(0.0)
        for tick in range(count):
            before, middle, after = after, motion((tick + 0.5) * step), motion((tick + 1.0) * step)
            a = rate(before, state)
            b = rate(middle, state + 0.5 * step * a)
            c = rate(middle, state + 0.5 * step * b)
            d = rate(after, state + step * c)
            state = state + step / 6.0 * (a + 2.0 * b + 2.0 * c + d)
            rows.append(state[:m])
        return np.array(rows)

    def _dynamics(self, motion: JointMotion, deflection: Array, rate: Array) -> tuple[Array, Array]:
        data = self._data
        data.qpos[self._arm], data.qvel[self._arm] = motion.position, motion.velocity
        data.qpos[self._base], data.qvel[self._base] = deflection, rate
        mujoco.mj_forward(self._model, data)
        for column, unit in zip(self._inertia, self._units, strict=True):  # symmetric: rows are columns
            mujoco.mj_mulM(self._model, data, column, unit)
        return self._inertia, (data.qfrc_bias - data.qfrc_passive)[self._base]
