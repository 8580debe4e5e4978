"""Rotor inertia of geared joints, ``armature``: how it is read, and what of the rigid-body dynamics feels it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio
import pytest

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState

URDF = Path(__file__).resolve().parents[3] / "urdf"
NOTHING = np.zeros(0)
ROTORS = {"joint1": "7.5", "joint2": "2.0", "joint3": "0.25"}


def geared(text: str, armatures: dict[str, str]) -> str:
    """A description whose ``<ros2_control>`` joints get armatures."""
    for name, armature in armatures.items():
        begin, control = f'<joint name="{name}">', text.index("<ros2_control")
        at = text.index(begin, control) + len(begin)
        text = f'{text[:at]}<param name="armature">{armature}</param>{text[at:]}'
    return text


@pytest.fixture(scope="module")
def models() -> tuple[ArmModel, ArmModel]:
    """The planar arm on its rail under gravity along the plane, without rotors and with them."""
    text = load_robot_description(URDF / "planar_3r.urdf.xacro")
    gravity = (1.0, -9.0, 2.0)
    return ArmModel(text, gravity=gravity), ArmModel(geared(text, ROTORS), gravity=gravity)


def states(model: ArmModel, seed: int):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        motion, base = rng.uniform(-2.0, 2.0, (2, model.n)), rng.uniform(-0.5, 0.5, (2, model.m))
        yield ArmState(0, *motion, *base), rng.uniform(-5.0, 5.0, model.n)


def test_armatures_are_read_by_joint_and_are_zero_where_none_is_given(planar_3r_text):
    description = parse_robot_description(geared(planar_3r_text, {"joint2": " 2.5\n"}))
    assert description.joints["joint2"].armature == 2.5
    assert all(joint.armature == 0.0 for name, joint in description.joints.items() if name != "joint2")
    assert ArmModel(description).armature.tolist() == [0.0, 2.5, 0.0]
    assert parse_robot_description(geared(planar_3r_text, {"joint2": "0"})).joints["joint2"].armature == 0.0


@pytest.mark.parametrize("value", ["-0.1", "nan", "inf", "much", ""])
def test_an_armature_that_is_no_inertia_is_refused(planar_3r_text, value):
    with pytest.raises(RobotDescriptionError, match=f"joint 'joint2': armature is '{value}', expected a finite number"):
        parse_robot_description(geared(planar_3r_text, {"joint2": value}))


def test_only_an_actuated_joint_takes_an_armature(planar_3r_text):
    said = "joint '{}' has an armature but no motor: only actuated joints take one: joint1, joint2, joint3"
    with pytest.raises(RobotDescriptionError, match=said.format("base_x")):
        parse_robot_description(geared(planar_3r_text, {"base_x": "1"}))
    fixed = '<joint name="tool0_joint"><param name="armature">1</param></joint></ros2_control>'
    assert '<joint name="tool0_joint" type="fixed">' in planar_3r_text
    with pytest.raises(RobotDescriptionError, match=said.format("tool0_joint")):
        parse_robot_description(planar_3r_text.replace("</ros2_control>", fixed))


def test_an_armature_adds_to_the_diagonal_of_the_arms_inertia_and_to_nothing_else(models):
    plain, heavy = models
    assert heavy.armature.tolist() == [7.5, 2.0, 0.25]
    for state, _ in states(plain, 1):
        without, with_rotors = plain.blocks(state), heavy.blocks(state)
        assert np.allclose(with_rotors.H_m, without.H_m + np.diag([7.5, 2.0, 0.25]), rtol=0.0, atol=1e-12)
        for name in ("H_b", "H_bm", "c_b", "c_m", "dH_bm_qd"):
            assert np.array_equal(getattr(with_rotors, name), getattr(without, name)), name
        assert np.array_equal(heavy.gravity_effort(state), plain.gravity_effort(state))
    zero = ArmState(0, np.zeros(3), np.zeros(3), np.zeros(1), np.zeros(1))
    assert np.array_equal(heavy.natural_frequencies(zero), plain.natural_frequencies(zero))


def test_forward_dynamics_undoes_inverse_dynamics_with_rotors(models):
    heavy = models[1]
    for state, wanted in states(heavy, 2):
        effort = heavy.inverse_dynamics(heavy.blocks(state), state, wanted)
        assert np.allclose(heavy.forward_dynamics(state, effort), wanted, rtol=0.0, atol=1e-10)


def test_rotors_ask_for_effort_in_proportion_to_their_joints_acceleration(models):
    """With what the base does left as it is: ``tau' - tau = J qdd``."""
    plain, heavy = models
    for state, wanted in states(plain, 3):
        without = plain.inverse_dynamics(plain.blocks(state), state, wanted)
        with_rotors = heavy.inverse_dynamics(heavy.blocks(state), state, wanted)
        assert np.allclose(with_rotors - without, [7.5, 2.0, 0.25] * wanted, rtol=0.0, atol=1e-10)


def test_the_base_feels_rotors_through_the_motion_alone(models):
    plain, heavy = models
    for state, wanted in states(plain, 4):
        base = plain.base_acceleration(plain.blocks(state), state, wanted)
        assert np.array_equal(heavy.base_acceleration(heavy.blocks(state), state, wanted), base)
        assert np.array_equal(heavy.wrench_on_base(state, wanted, base), plain.wrench_on_base(state, wanted, base))


def test_one_joint_accelerates_as_link_and_rotor_together():
    """``qdd = (tau - D qd) / (I + J)``; the link's 3 kg at 0.5 m and 0.02 kg*m^2 about its center."""
    text = """<robot name="one"><link name="ground"/>
      <joint name="joint" type="continuous"><parent link="ground"/><child link="link"/><axis xyz="0 1 0"/>
        <dynamics damping="0.5"/></joint>
      <link name="link"><inertial><origin xyz="0.5 0 0"/><mass value="3"/>
        <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
      <ros2_control name="one" type="system"><joint name="joint"><command_interface name="effort"/></joint>
      </ros2_control></robot>"""
    model = ArmModel(geared(text, {"joint": "1.4"}), gravity=(0.0, 0.0, 0.0))
    state = ArmState(0, np.array([0.3]), np.array([2.0]), NOTHING, NOTHING)
    assert model.forward_dynamics(state, np.array([6.0]))[0] == pytest.approx(5.0 / (0.77 + 1.4), rel=1e-12)
    # the base carries the link's inertia only
    wrench = model.wrench_on_base(ArmState(0, np.zeros(1), np.zeros(1), NOTHING, NOTHING), np.array([4.0]), NOTHING)
    assert wrench == pytest.approx([0.0, 0.0, 3 * 0.5 * 4.0, 0.0, -0.77 * 4.0, 0.0], abs=1e-12)


def test_a_pinocchio_that_knows_no_armature_is_not_asked_for_one(planar_3r_text, monkeypatch):
    """Setting what its model does not have would be silent."""

    class OldModel:
        def __init__(self, model: Any) -> None:
            self.model = model

        def __getattr__(self, name: str) -> Any:
            if name == "armature":
                raise AttributeError(name)
            return getattr(self.model, name)

    build = pinocchio.buildModelFromXML
    monkeypatch.setattr(pinocchio, "buildModelFromXML", lambda text: OldModel(build(text)))
    with pytest.raises(RobotDescriptionError, match="joint 'joint2' has an armature, which Pinocchio .* does not know"):
        ArmModel(geared(planar_3r_text, {"joint2": "1"}))


def test_arm_7r_has_rotors_only_where_they_are_asked_for():
    path = URDF / "arm_7r.urdf.xacro"
    plain, heavy = (load_robot_description(path, arguments) for arguments in ({}, {"armature": "true"}))
    assert not parse_robot_description(plain).joints["elbow"].armature and 'name="armature"' not in plain
    assert ArmModel(heavy).armature.tolist() == [1.5, 1.5, 1.0, 1.0, 0.4, 0.4, 0.2]
    assert re.sub(r'\s*<param name="armature">[\d.]+</param>', "", heavy) == plain
    assert load_robot_description(path, {"armature": "false"}) == plain
