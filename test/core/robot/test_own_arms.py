"""planar_4r, arm_6r and arm_7r: fit for dynamics, and singular where they are said to be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flexarm_core.ik_redundancy.chain import Chain, build_chain
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState

URDF = Path(__file__).resolve().parents[3] / "urdf"
NOTHING = np.zeros(0)


def model_of(name: str) -> ArmModel:
    return ArmModel(load_robot_description(URDF / f"{name}.urdf.xacro"))


def condition(chain: Chain, position) -> float:
    """Of the Jacobian with a radian as 0.3 m."""
    return float(np.linalg.cond(np.repeat((1.0, 0.3), 3)[:, None] * chain.kinematics(np.array(position))[2]))


@pytest.mark.parametrize(("name", "mass", "joints"), [("planar_4r", 10.0, 4), ("arm_6r", 27.0, 6), ("arm_7r", 19.8, 7)])
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


def test_shoulder_and_wrist_of_the_seven_joint_arm_are_spherical_and_its_elbow_bends_to_one_side():
    chain = build_chain(model_of("arm_7r").description)
    assert chain.upper[3] < 0.0 and condition(chain, [0.0, 0.3, 0.0, -1.8, 0.0, 1.04, 0.0]) < 10.0
    random = np.random.default_rng(2)
    for _ in range(20):
        q = random.uniform(chain.lower, chain.upper)
        tool, rotation, J = chain.kinematics(q)
        shoulder, wrist = np.array([0.0, 0.0, 0.34]), tool - 0.23 * rotation[:, 2]
        assert np.linalg.norm(wrist - shoulder) < 0.8 or abs(q[3]) < 0.7
        for center, joints in ((shoulder, (0, 1, 2)), (wrist, (4, 5, 6))):
            # a joint whose axis runs through a point does not move that point
            moved = [J[:3, i] + np.cross(J[3:, i], center - tool) for i in joints]
            assert np.allclose(moved, 0.0, atol=1e-12)
    assert np.linalg.norm(chain.pose(chain.upper * [0, 0, 0, 1, 0, 0, 0])[0]) == pytest.approx(1.39, abs=0.005)


def test_the_planar_arm_reaches_one_and_a_half_meters_in_the_plane():
    chain = build_chain(model_of("planar_4r").description)
    assert np.allclose(chain.pose(np.zeros(4))[0], [1.5, 0.0, 0.0])
    _, _, J = chain.kinematics(np.array([0.3, 0.5, -0.8, 0.4]))
    assert not J[2:5].any() and np.linalg.matrix_rank(J[[0, 1, 5]]) == 3


@pytest.mark.parametrize("said", ["true", "True", "1"])
def test_arguments_of_our_robots_may_say_true_in_every_way_of_xacro(said):
    def read(name: str, argument: str):
        return parse_robot_description(load_robot_description(URDF / f"{name}.urdf.xacro", {argument: said}))

    assert read("arm_7r", "armature").joints["elbow"].armature == 1.0
    assert len(read("arm_7r", "elastic_drives").elastic_drives) == 7
    assert [read("wheel_3r", "free").joints[name].upper for name in ("base_x", "base_yaw")] == [100.0, 100.0]
