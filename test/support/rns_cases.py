"""Robots of the reaction null space: arms on elastic bases, trees among them, and MuJoCo as their judge."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import mujoco
import numpy as np
from elastic_base_arms import WEIGHTLESS, elastic_base_arm

from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import ArmState, Array
from flexarm_sim.mujoco.model import build_model

URDF = Path(__file__).resolve().parents[2] / "urdf"
SOFT = ("boom_y", "boom_z", "boom_rx")
# name: (tool frame, selection)
CASES: dict[str, tuple[str, tuple[str, ...]]] = {
    "planar_3r": ("tool0", ("all",)),
    "trep": ("tool0", ("all",)),
    "dual_arm_trep": ("left_tool", ("all",)),
    "wheel_3r": ("tool0", ("all",)),
    "boom_7r": ("tool0", SOFT),
    "planar_4r": ("tool0", ("all",)),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A robot, what of its base counts, and the tool.

    Attributes:
        name: of the robot.
        model: of it.
        selection: motions of its base that count.
    """

    name: str
    model: ArmModel
    selection: BaseSelection

    def state(self, rng: np.random.Generator, swing: float = 0.0) -> ArmState:
        """A random state within the joints' limits, its base moving by ``swing`` (m, rad; per second)."""
        model = self.model
        lower, upper = np.maximum(model.lower, -np.pi), np.minimum(model.upper, np.pi)
        position, velocity = rng.uniform(lower, upper), rng.uniform(-2.0, 2.0, model.n)
        deflection, rate = swing * rng.uniform(-1.0, 1.0, (2, model.m))
        return ArmState(0, position, velocity, deflection, rate)

    def at(self, position: Array) -> ArmState:
        """At rest there."""
        none = np.zeros(self.model.m)
        return ArmState(0, position, np.zeros(self.model.n), none, none)

    def at_rest(self, state: ArmState) -> ArmState:
        """The same over a base at rest."""
        return replace(state, deflection=np.zeros(self.model.m), deflection_rate=np.zeros(self.model.m))

    def coupling(self, state: ArmState) -> tuple[Array, Array]:
        """``S H_bm`` (k, n) and ``S dH_bm qd`` (k,)."""
        selected = self.selection.at(self.model.blocks(state), 0.0, 0.0)
        return selected.coupling, selected.bias


@cache
def text_of(name: str) -> str:
    """URDF of a robot; the planar 4R arm, which stands firmly, is put onto a base that gives way along x, y, yaw."""
    if name == "planar_4r":
        return elastic_base_arm(("x", "y", "rz"), 4)
    return load_robot_description(URDF / f"{name}.urdf.xacro")


def case(name: str, selection: tuple[str, ...] = (), gravity: tuple[float, float, float] = WEIGHTLESS) -> Case:
    """A robot of the list, by default with its own selection and without gravity."""
    tool, chosen = CASES[name]
    model = ArmModel(text_of(name), tool, gravity)
    return Case(name, model, BaseSelection(model, selection or chosen))


def without(name: str, *joints: str) -> Case:
    """A robot of the list with some of its joints made fixed."""
    tool, chosen = CASES[name]
    text = text_of(name)
    for joint in joints:
        text = re.sub(rf'(<joint name="{joint}" type=)"\w+"', r'\1"fixed"', text)
        text = re.sub(rf'<joint name="{joint}">.*?</joint>', "", text, flags=re.DOTALL)
    model = ArmModel(text, tool, WEIGHTLESS)
    return Case(name, model, BaseSelection(model, chosen))


class MujocoJudge:
    """Inertia, forces and accelerations of the same robot by MuJoCo."""

    def __init__(self, model: ArmModel, gravity: tuple[float, float, float] = WEIGHTLESS) -> None:
        """Build it from the robot's description."""
        self._model = build_model(model.description, tool_frame=model.tool_frame, gravity=gravity)
        self._data = mujoco.MjData(self._model)
        self._arm = np.array([self._model.joint(name).dofadr[0] for name in model.joint_names])
        self._base = np.array([self._model.joint(name).dofadr[0] for name in model.elastic_joint_names])

    def inertia(self, state: ArmState) -> tuple[Array, Array, Array]:
        """H_b (m, m), H_bm (m, n) and H_m (n, n) of the full mass matrix."""
        self._set(state)
        H = np.empty((self._model.nv, self._model.nv))
        for row, unit in zip(H, np.eye(self._model.nv), strict=True):  # mj_fullM takes other arguments in version 4
            mujoco.mj_mulM(self._model, self._data, row, unit)
        return H[np.ix_(self._base, self._base)], H[np.ix_(self._base, self._arm)], H[np.ix_(self._arm, self._arm)]

    def reaction(self, state: ArmState, acceleration: Array) -> Array:
        """(m,) ``H_bm qdd + dH_bm qd``, without gravity, of a base at rest."""
        H_bm = self.inertia(state)[1]
        return H_bm @ acceleration + (self._data.qfrc_bias - self._data.qfrc_passive)[self._base]

    def acceleration(self, state: ArmState, effort: Array) -> tuple[Array, Array]:
        """Accelerations of the joints (n,) and of the base (m,) under efforts (n,)."""
        self._data.ctrl[:] = effort
        self._set(state)
        return self._data.qacc[self._arm].copy(), self._data.qacc[self._base].copy()

    def _set(self, state: ArmState) -> None:
        data = self._data
        data.qpos[self._arm], data.qvel[self._arm] = state.position, state.velocity
        data.qpos[self._base], data.qvel[self._base] = state.deflection, state.deflection_rate
        mujoco.mj_forward(self._model, data)
