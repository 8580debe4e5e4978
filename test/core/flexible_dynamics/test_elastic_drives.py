"""Elastic drives: equal to Spong's equations on Pinocchio's rigid arm, to closed forms, and refused where not whole."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pinocchio
import pytest
from driven_arms import LINK, WEIGHT, driven_arm, one_link

from flexarm_core.errors import ConfigError, RobotDescriptionError
from flexarm_core.flexible_dynamics.bent_tool import BentTool
from flexarm_core.flexible_dynamics.control.gain_check import GainCheck, LoopConditions
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.vibration_damping import VibrationDampingConfig
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState


@pytest.mark.parametrize("seed", range(20))
def test_motors_and_links_move_as_spongs_equations_say_on_pinocchios_arm(seed):
    """``B thetadd = tau - tau_J`` and ``M qdd + c = tau_J``, with deflections as large as 0.3 rad."""
    arm = driven_arm(seed)
    model, rng = FlexibleModel(arm.text), np.random.default_rng(seed)
    rigid = pinocchio.buildModelFromXML(arm.rigid)
    data = rigid.createData()
    joints, drives = model.description.joints, model.description.elastic_drives
    rotor, elastic = np.array([joints[f"j{i}"].armature for i in range(arm.n)]), np.isin(range(arm.n), arm.driven)
    k, d = np.zeros((2, arm.n))
    for drive in drives.values():
        k[int(drive.joint[1:])], d[int(drive.joint[1:])] = drive.stiffness, drive.damping
    assert model.mode_names == tuple(f"j{i}_drive/deflection" for i in arm.driven)
    for _ in range(5):
        x, v = rng.uniform(-1.0, 1.0, (2, model.size))
        x[arm.n :] *= 0.3
        effort = rng.uniform(-50.0, 50.0, arm.n)
        delta, rate = np.zeros((2, arm.n))
        delta[elastic], rate[elastic] = x[model.modal], v[model.modal]
        q, qd, spring = x[: arm.n] + delta, v[: arm.n] + rate, -(k * delta + d * rate)
        M = pinocchio.crba(rigid, data, q)
        M = np.triu(M) + np.triu(M, 1).T + np.diag(np.where(elastic, 0.0, rotor))
        bias = pinocchio.rnea(rigid, data, q, qd, np.zeros(arm.n))
        link = np.linalg.solve(M, np.where(elastic, spring, effort) - bias)
        motor = np.where(elastic, (effort - spring) / rotor, link)
        wanted = np.concatenate((motor, (link - motor)[elastic]))
        found = model.forward_dynamics(x, v, effort)
        assert found == pytest.approx(wanted, rel=1e-10, abs=1e-10 * np.abs(wanted).max())
        forces = model.inverse_dynamics(x, v, found)
        assert forces == pytest.approx(np.concatenate((effort, np.zeros(len(arm.driven)))), abs=1e-9)
        pinocchio.framesForwardKinematics(rigid, data, q)
        place = data.oMf[rigid.getFrameId("tool0")].translation
        assert model.frame_motion("tool0", x, v).position == pytest.approx(place, abs=1e-12)


def test_energy_is_kept():
    text = re.sub(r'damping="[^"]*"', 'damping="0"', driven_arm(3).text)
    model, rng = FlexibleModel(text), np.random.default_rng(0)
    x, v = 0.05 * rng.normal(size=model.size), rng.normal(size=model.size)
    start = model.energy(x, v)
    stored = [0.5 * x[model.modal] @ (model.stiffness_matrix()[np.ix_(model.modal, model.modal)] @ x[model.modal])]
    for _ in range(10):
        x, v = model.step(x, v, np.zeros(len(model.actuated)), 0.02)
        assert model.energy(x, v) == pytest.approx(start, abs=1e-4 * abs(start))
        stored.append(
            0.5 * x[model.modal] @ (model.stiffness_matrix()[np.ix_(model.modal, model.modal)] @ x[model.modal])
        )
    assert np.ptp(stored) > 0.1 * abs(start)  # springs take and give


def test_frequencies_of_motor_and_link_are_the_closed_forms():
    """``sqrt(k / I)`` with the motor locked, ``sqrt(k (1/B + 1/I))`` with both free."""
    model = FlexibleModel(one_link(), gravity=(0.0, 0.0, 0.0))
    assert model.natural_frequencies(np.zeros(2)) == pytest.approx([np.sqrt(2000.0 / LINK)])
    squares = np.linalg.eigvals(np.linalg.solve(model.mass_matrix(np.zeros(2)), model.stiffness_matrix()))
    assert np.sort(squares) == pytest.approx([0.0, 2000.0 * (1.0 / 0.4 + 1.0 / LINK)], rel=1e-12)


def test_the_weight_deflects_the_link_by_its_torque_over_the_stiffness():
    model = FlexibleModel(one_link(damping=50.0))
    x, v = np.zeros((2, 2))
    x, v = model.step(x, v, np.array([WEIGHT]), 1.5)  # the motor bears the weight; the link comes to rest below it
    held = np.array([WEIGHT * np.cos(x.sum())])
    assert x[1] == pytest.approx(-held[0] / 2000.0, rel=0.02)
    tool = model.frame_motion("tool0", x, v).position
    assert tool[2] == pytest.approx(np.sin(x.sum()))
    bent = BentTool(model.description)
    assert bent.modes == ("hinge_drive/deflection",)
    assert bent.shift(np.zeros(1), np.array([1e-3])) == pytest.approx([0.0, 0.0, 1e-3])


def test_the_rigid_model_is_that_of_stiff_drives():
    """Links and rotors of the rigid arm turn as one, as those behind stiff springs do on the average."""
    arm = driven_arm(1)
    rotors = re.sub("<flexibility>.*</flexibility>", "", arm.text)
    state = ArmState(0, *np.random.default_rng(1).uniform(-1.0, 1.0, (2, arm.n)), np.zeros(0), np.zeros(0))
    elastic, rigid = (ArmModel(text).blocks(state) for text in (arm.text, rotors))
    assert elastic.H_m == pytest.approx(rigid.H_m, abs=1e-12)
    assert elastic.c_m == pytest.approx(rigid.c_m, abs=1e-12)


def test_a_description_is_read_again_as_it_was():
    once = parse_robot_description(driven_arm(2).text)
    again = parse_robot_description(once.text)
    assert (again.text, again.joints.keys(), again.elastic_drives.keys()) == (
        once.text,
        once.joints.keys(),
        once.elastic_drives.keys(),
    )
    assert once.tip_links() == ["tool0"]
    stiff = once.with_rigid_drives()
    assert not stiff.flexible_links
    assert not stiff.strain_gauges
    assert not FlexibleModel(stiff).mode_names


def test_encoders_of_the_link_side_read_the_deflection():
    model = FlexibleModel(one_link(more='link_encoder="behind"'))
    assert tuple(model.description.strain_gauges) == ("behind",)
    assert model.strain_map.tolist() == [[1.0]]
    same = re.sub('link_encoder="e[0-9]"', 'link_encoder="e"', driven_arm(3).text)
    with pytest.raises(RobotDescriptionError, match="two encoders have the name 'e'"):
        parse_robot_description(same)


@pytest.mark.parametrize("law", ["joint_pd", "vibration_damping"])
def test_the_gain_check_knows_that_a_motor_feels_its_rotor_first(law):
    """A rotor of 0.05 before a link of 0.8 kg*m^2: gains that a rigid drive takes shake a soft one."""
    soft = one_link(stiffness=600.0, damping=0.3, rotor=0.05)
    gains = VibrationDampingConfig(position_gain=(100.0,), velocity_gain=(60.0,))
    conditions = LoopConditions(period=0.002, delay=0.002)
    elastic, rigid = FlexibleModel(soft), FlexibleModel(parse_robot_description(soft).with_rigid_drives())
    GainCheck(rigid, conditions).settled("joint_pd", gains)
    with pytest.raises(ConfigError, match=r"the largest that do are 14.13 and 22.55"):
        GainCheck(elastic, conditions).settled(law, gains)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('armature">0.4', 'armature">0.0', "elastic drive of joint 'hinge' needs the inertia of its rotor"),
        ('stiffness="2000.0"', 'stiffness="0"', "elastic drive of joint 'hinge' needs stiffness > 0 and damping >= 0"),
        ('damping="0.0"', 'damping="-1"', "elastic drive of joint 'hinge' needs stiffness > 0 and damping >= 0"),
        ('damping="0.0"', 'encoder="link"', "has no attribute 'encoder'; did you mean 'link_encoder'?"),
        ('stiffness="2000.0"', "", "<elastic_drive joint='hinge'>: stiffness is 'None', expected a number"),
        ('joint="hinge"', 'joint="tip"', "<elastic_drive>: joint 'tip' is not one that moves; joints: hinge"),
        ('"tool0"', '"hinge_drive"', "needs the names 'hinge_drive' and 'hinge_drive_output': rename what has them"),
        ('"arm"', '"hinge_drive"', "needs the names 'hinge_drive' and 'hinge_drive_output': rename what has them"),
        ("</flexibility>", '<elastic_drive joint="hinge" stiffness="1"/></flexibility>', "is described twice"),
        (
            "</flexibility>",
            '<elastic_joint name="hinge" stiffness="1"/></flexibility>',
            "joint 'hinge' is elastic and has a command interface",
        ),
    ],
)
def test_a_drive_that_is_not_whole_is_refused_in_one_line(old, new, message):
    assert old in one_link()
    with pytest.raises(RobotDescriptionError) as error:
        parse_robot_description(one_link().replace(old, new))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_kinematics_needs_no_rotor():
    text = one_link(rotor=0.0)
    assert parse_robot_description(text, massless=True).actuated == ("hinge",)


def test_a_beam_behind_an_elastic_drive_hangs_on_its_spring():
    """The frequency of the spring falls as the beam, its load, is added: both are in one model."""
    text = one_link().replace(
        "</flexibility>",
        '<flexible_link name="arm"><beam length="1.0" EIz="80" EIy="80" rho_A="0.5" modes_y="1" modes_z="1"'
        ' tip_mass="0"/></flexible_link></flexibility>',
    )
    model = FlexibleModel(text, gravity=(0.0, 0.0, 0.0))
    assert len(model.mode_names) == 3
    drive = model.natural_frequencies(np.zeros(model.size))[0]
    alone = np.sqrt(2000.0 / LINK)
    assert drive < alone
    stiff = {
        name: replace(link, beam=replace(link.beam, EIy=8e6, EIz=8e6)) if link.beam else link
        for name, link in model.description.flexible_links.items()
    }
    straight = FlexibleModel(replace(model.description, flexible_links=stiff), gravity=(0.0, 0.0, 0.0))
    assert straight.natural_frequencies(np.zeros(model.size))[0] == pytest.approx(alone, rel=1e-3)
