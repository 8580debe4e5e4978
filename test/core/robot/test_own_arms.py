"""planar_4r and arm_6r: fit for dynamics, and singular where they are said to be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flexarm_core.ik_redundancy.chain import Chain, build_chain
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import ArmState

URDF = Path(__file__).resolve().parents[3] / "urdf"
NOTHING = np.zeros(0)


def model_of(name: str) -> ArmModel:
    return ArmModel(load_robot_description(URDF / f"{name}.urdf.xacro"))


def condition(chain: Chain, position) -> float:
    """Of the Jacobian with a radian as 0.3 m."""
    return float(np.linalg.cond(np.repeat((1.0, 0.3), 3)[:, None] * chain.kinematics(np.array(position))[2]))


@pytest.mark.parametrize(("name", "mass", "joints"), [("planar_4r", 10.0, 4), ("arm_6r", 27.0, 6)])
def test_motors_can_hold_the_arm_and_every_inertia_is_that_of_a_body(name, mass, joints):
    model = model_of(name)
    assert model.n == joints and model.m == 0
    assert sum(link.mass for link in model.description.links.values()) == pytest.approx(mass)
    for link in model.description.links.values():
        if link.mass:
            a, b, c = np.linalg.eigvalsh(link.inertia)
            assert a > 0.0 and c <= a + b
    random = np.random.default_rng(1)
    for _ in range(100):
        q = random.uniform(model.lower, model.upper)
        state = ArmState(0, q, np.zeros(joints), NOTHING, NOTHING)
        assert (np.abs(model.gravity_effort(state)) < 0.6 * model.effort_limit).all()
        inertia = model.blocks(state).H_m
        assert np.linalg.eigvalsh(inertia)[0] > 0.0


def test_the_elbow_arm_is_singular_at_elbow_and_wrist_zero_and_nowhere_near_its_bent_position():
    chain = build_chain(model_of("arm_6r").description)
    assert condition(chain, [0.0, 0.3, 1.2, 0.0, 0.8, 0.0]) < 10.0
    for singular in ([0.0, 0.3, 1.2, 0.0, 0.0, 0.0], [0.0, 0.3, 0.0, 0.0, 0.8, 0.0]):
        assert condition(chain, singular) > 1e10
        assert (np.array(singular) > chain.lower).all() and (np.array(singular) < chain.upper).all()
    position, rotation = chain.pose(np.zeros(6))
    assert np.allclose(position, [0.0, 0.0, 0.36 + 0.45 + 0.42 + 0.12]) and np.allclose(rotation, np.eye(3))


def test_the_planar_arm_reaches_one_and_a_half_metres_in_the_plane():
    chain = build_chain(model_of("planar_4r").description)
    assert np.allclose(chain.pose(np.zeros(4))[0], [1.5, 0.0, 0.0])
    _, _, J = chain.kinematics(np.array([0.3, 0.5, -0.8, 0.4]))
    assert not J[2:5].any() and np.linalg.matrix_rank(J[[0, 1, 5]]) == 3
