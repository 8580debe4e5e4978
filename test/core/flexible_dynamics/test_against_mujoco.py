"""Beams as modes against beams as chains of rigid segments in MuJoCo: another engine and another discretization."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_sim.beam_chain import make_chains
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_sim.mujoco.model import build_model

TICK, TICKS = 2e-3, 400


def slew(time):
    """Torques (2,) of a slew: one smooth push and pull."""
    return np.array([12.0, 4.0]) * np.sin(2.0 * np.pi * time / (TICK * TICKS))


def test_tip_of_a_slewing_arm_follows_the_chain_within_2_percent_of_its_deflection(flexible_2r_text):
    description = parse_robot_description(flexible_2r_text)
    chain = MujocoBackend(description, gravity=(0.0, 0.0, 0.0), max_step=1.8e-4, segments=10)
    model = FlexibleModel(description, gravity=(0.0, 0.0, 0.0))
    x, v = np.zeros(model.size), np.zeros(model.size)
    difference, deflection = 0.0, 0.0
    for tick in range(TICKS):
        effort = slew((tick + 0.5) * TICK)
        chain.step(effort, TICK)
        model.integrate(x, v, effort, 2e-4, round(TICK / 2e-4))
        rigid = x.copy()
        rigid[model.modal] = 0.0
        tip = model.frame_motion("tool0", x, v).position
        deflection = max(deflection, np.linalg.norm(tip - model.frame_motion("tool0", rigid, v).position))
        difference = max(difference, np.linalg.norm(tip - chain.state().tool_position_in_world))
    assert deflection > 0.02
    assert difference < 0.02 * deflection


@pytest.mark.parametrize("elbow", [0.0, 1.2])
def test_first_frequencies_are_those_of_the_chain(flexible_2r_text, elbow):
    description = parse_robot_description(flexible_2r_text)
    chains = make_chains(description, 20)
    chain = build_model(description, chains=chains, gravity=(0.0, 0.0, 0.0))
    data = mujoco.MjData(chain)
    names = [chain.joint(i).name for i in range(chain.njnt)]
    data.qpos[names.index("elbow")] = elbow
    mujoco.mj_forward(chain, data)
    inverse = np.empty((chain.nv, chain.nv))
    mujoco.mj_solveM(chain, data, inverse, np.eye(chain.nv))
    bends = [i for i, name in enumerate(names) if name not in description.actuated]
    root = np.sqrt(chain.jnt_stiffness[bends])
    M = np.linalg.inv(inverse)[np.ix_(bends, bends)]
    expected = np.sqrt(np.linalg.eigvalsh(root[:, None] * np.linalg.inv(M) * root))[:3]
    model = FlexibleModel(description)
    x = np.zeros(model.size)
    x[1] = elbow
    ours = model.natural_frequencies(x)
    assert ours[:3] == pytest.approx(expected, rel=0.01)
