"""Joints of the arm that follow others (``<mimic>``): limits, kinematics and dynamics compared with Pinocchio."""

from __future__ import annotations

import re

import numpy as np
import pinocchio
import pytest
from coupled_arms import FreeJoints, coupled_arm

from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.errors import ConfigError, RobotDescriptionError
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.ik_redundancy.inverse_kinematics import InverseKinematics
from flexarm_core.reaction_null_space.coupling.coupling_momentum import CouplingMomentum
from flexarm_core.reaction_null_space.vibration.arm_dynamics import (
    ArmMotion,
    Terms,
    equation_of_motion,
    pack_arm,
    view_arm,
)
from flexarm_core.reaction_null_space.vibration.arm_dynamics import wrench_on_base as compiled_wrench
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState

GRAVITY = (1.0, 2.0, -9.0)
SEEDS = range(12)


def case(seed: int):
    arm = coupled_arm(seed)
    model, free, rng = (
        ArmModel(arm.text, gravity=GRAVITY),
        FreeJoints(arm, np.array(GRAVITY)),
        np.random.default_rng(seed),
    )
    state = ArmState(0, *rng.uniform(-2.0, 2.0, (2, model.n)), *rng.uniform(-0.3, 0.3, (2, model.m)))
    q, v = np.concatenate((state.position, state.deflection)), np.concatenate((state.velocity, state.deflection_rate))
    return arm, model, free, state, q, v, rng


@pytest.mark.parametrize("seed", SEEDS)
def test_the_dynamics_are_those_of_all_joints_reduced_to_the_driven_ones(seed):
    arm, model, free, state, q, v, rng = case(seed)
    assert model.joint_names == arm.driven and model.elastic_joint_names == arm.elastic
    H, c = free.equation(q, v)
    n = model.n
    H[:n, :n] += np.diag(model.armature)
    blocks = model.blocks(state)
    assert np.allclose(np.block([[blocks.H_m, blocks.H_bm.T], [blocks.H_bm, blocks.H_b]]), H, rtol=1e-12, atol=1e-12)
    assert np.allclose(np.concatenate((blocks.c_m, blocks.c_b)), c, rtol=1e-12, atol=1e-11)
    efforts = rng.uniform(-9.0, 9.0, (3, n))
    for effort, acceleration in zip(efforts, model.forward_dynamics(state, efforts), strict=True):
        pushed = effort - model.D_m * state.velocity
        held = -model.K_b @ state.deflection - model.D_b @ state.deflection_rate
        wanted = np.linalg.solve(H, np.concatenate((pushed, held)) - c)
        assert np.allclose(acceleration, wanted[:n], rtol=1e-9, atol=1e-9)
        assert np.allclose(model.inverse_dynamics(blocks, state, acceleration), effort, atol=1e-9)
    still = ArmState(0, state.position, 0.0 * state.velocity, state.deflection, 0.0 * state.deflection_rate)
    assert np.allclose(model.gravity_effort(still), free.equation(q, 0.0 * v)[1][:n], atol=1e-11)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pose_alone_has_the_bits_of_that_with_its_motion(seed):
    _, model, _, state, q, v, _ = case(seed)
    position, rotation, *_ = model.world_to_tool.motion_of(q, v)
    for alone in (model.world_to_tool.pose_of(q), model.tool_pose(state, model.world_frame)):
        assert np.array_equal(alone[0], position) and np.array_equal(alone[1], rotation)


@pytest.mark.parametrize("seed", SEEDS)
def test_damping_friction_and_rotor_of_a_follower_are_felt_by_its_driver(seed):
    arm, model, *_ = case(seed)
    damping = dict.fromkeys(arm.driven, 0.0)
    for name, (leader, a, _) in arm.ways.items():
        own = re.search(rf'<joint name="{name}" type.*?damping="(.*?)"', arm.text)
        assert own
        damping[leader] += a * a * float(own[1])
    assert np.allclose(model.D_m, [*damping.values()], rtol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_tool_is_where_the_followers_put_it(seed):
    arm, model, free, state, q, v, _ = case(seed)
    tool = model.tool_kinematics(state, model.world_frame)
    position, rotation = free.pose(q, "tool0")
    assert np.allclose(tool.position, position, atol=1e-12) and np.allclose(tool.rotation, rotation, atol=1e-12)
    assert np.allclose(np.hstack((tool.J_m, tool.J_b)), free.jacobian(q, "tool0"), atol=1e-12)
    assert np.allclose(tool.velocity, free.jacobian(q, "tool0") @ v, atol=1e-11)
    h = 1e-6
    ahead, behind = (free.jacobian(q + s * h * v, "tool0") @ v for s in (1.0, -1.0))
    assert np.allclose(tool.dJ_v, (ahead - behind) / (2.0 * h), rtol=1e-6, atol=1e-6)
    chain = build_chain(model.description)
    inside = [model.joint_names.index(name) for name in chain.joint_names]
    p, R, J = chain.kinematics(state.position[inside])
    base = model.tool_kinematics(state, model.base_frame)
    assert np.allclose(p, base.position, atol=1e-12) and np.allclose(R, base.rotation, atol=1e-12)
    assert np.allclose(J, base.J_m[:, inside], atol=1e-12)
    assert len(chain.moving) > chain.n or "branch" not in {arm.ways[name][0] for name in chain.moving}


@pytest.mark.parametrize("seed", SEEDS)
def test_inverse_kinematics_finds_poses_that_the_coupled_arm_has(seed):
    _, model, *_, rng = case(seed)
    chain = build_chain(model.description)
    solver, axes = InverseKinematics(chain, chain.lower, chain.upper), np.arange(6) < min(chain.n, 3)
    for _ in range(5):
        wanted = rng.uniform(-1.0, 1.0, chain.n)
        p, R = chain.pose(wanted)
        found = solver.solve(p, R, wanted + 0.1 * rng.standard_normal(chain.n), axes)
        assert found.success and np.allclose(chain.pose(found.position)[0][axes[:3]], p[axes[:3]], atol=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_compiled_law_and_the_wrench_on_the_base_know_the_followers(seed):
    _, model, _, state, *_, rng = case(seed)
    n, m = model.n, model.m
    arm = view_arm(*pack_arm(model))
    moving = ArmMotion(state.position, state.velocity, state.deflection, state.deflection_rate)
    terms = Terms(*(np.empty(shape) for shape in ((m, m), (m, n), (n, n), m, n, m, m)))
    equation_of_motion(arm, moving, terms)
    blocks = model.blocks(state)
    for name in ("H_b", "H_bm", "H_m", "c_b", "c_m", "dH_bm_qd"):
        assert np.allclose(getattr(terms, name), getattr(blocks, name), atol=1e-11), name
    qdd, xdd, wrench = rng.standard_normal(n), rng.standard_normal(m), np.empty(6)
    compiled_wrench(arm, moving, qdd, xdd, wrench)
    assert np.allclose(wrench, model.wrench_on_base(state, qdd, xdd), atol=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_torques_from_the_sensor_under_the_base_are_those_of_the_motors(seed):
    _, model, free, _, q, v, rng = case(seed)
    bodies = build_sensed_bodies(model.description)
    assert bodies.sensed.all()
    acceleration = rng.standard_normal(model.n + model.m)
    dynamics = SensorDynamics(bodies, GRAVITY)
    # the sensor measures what `foot` and all that it carries do, without the link `base` that holds it
    full = free.G @ acceleration
    pinocchio.rnea(free.model, free.data, free.G @ q + free.b, free.G @ v, full)
    frame = free.model.frames[free.model.getFrameId("foot")]
    inboard = free.model.getJointId("spring_r")
    base = model.description.links["base"]
    alone = pinocchio.Inertia(base.mass, base.center_of_mass, base.inertia)
    spin = free.data.v[inboard]
    through = free.data.f[inboard] - (alone * free.data.a_gf[inboard] + spin.cross(alone * spin))
    torques = dynamics.torques(q, v, acceleration, -frame.placement.actInv(through).vector)
    H, c = free.equation(q, v)
    wanted = (H @ acceleration + c)[: model.n]
    gravity = free.equation(q, 0.0 * v)[1][: model.n]
    assert np.allclose(torques.gravity, gravity, atol=1e-9)
    assert np.allclose(torques.torque, wanted - gravity, atol=1e-8)
    assert np.allclose(torques.model_torque, wanted - gravity, atol=1e-8)
    assert np.allclose(torques.residual_wrench, 0.0, atol=1e-8)


def test_a_torque_is_sensed_only_if_the_sensor_carries_all_joints_that_a_motor_moves():
    sensor = '<sensor name="base_ft_sensor"><state_interface name="force.x"/><param name="frame_id">l0</param></sensor>'
    held = f'<ros2_control name="a" type="sensor">{sensor}</ros2_control></robot>'
    for other, sensed in (("j0", [False, True]), ("j1", [False, True]), ("", [False, True, True])):
        text = three(third=f'<mimic joint="{other}"/>' if other else "").replace("</robot>", held)
        assert build_sensed_bodies(parse_robot_description(text)).sensed.tolist() == sensed
    backwards = three(second='<mimic joint="j2"/>').replace("</robot>", held.replace(">l0<", ">l1<"))
    with pytest.raises(ConfigError, match="carries no actuated joint"):
        build_sensed_bodies(parse_robot_description(backwards))


def test_momenta_of_the_base_are_differentiated_by_the_driven_joints():
    arm = coupled_arm(3)
    model, rng = ArmModel(arm.text, gravity=(0.0, 0.0, 0.0)), np.random.default_rng(1)
    momentum = CouplingMomentum(model)
    q, v = rng.uniform(-1.0, 1.0, (2, 1, model.n))
    found, turning, coupling = momentum.derivatives(q, v)
    assert np.allclose(found, momentum.at(q, v)) and turning.shape == coupling.shape == (1, model.m, model.n)
    for i, unit in enumerate(np.eye(model.n)):
        rate = (momentum.at(q + 1e-6 * unit, v) - momentum.at(q - 1e-6 * unit, v)) / 2e-6
        assert np.allclose(turning[:, :, i], rate, atol=1e-7)
        assert np.allclose(coupling[:, :, i], momentum.at(q, unit[None]), atol=1e-9)


THREE = """<robot name="r"><link name="base"/>{}</robot>"""


def three(second: str = "", third: str = "", kind: str = "revolute", limits: str = 'lower="-1" upper="2"') -> str:
    """Three links in a row whose second and third joint have these tags."""
    found, parent = "", "base"
    for i, (more, own) in enumerate((("", kind), (second, "revolute"), (third, "revolute"))):
        found += (
            f'<link name="l{i}"><inertial><origin xyz="0.1 0 0"/><mass value="1"/><inertia ixx="0.01" iyy="0.01"'
            f' izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j{i}" type="{own}"><parent'
            f' link="{parent}"/><child link="l{i}"/><origin xyz="0.3 0 0"/><axis xyz="0 1 0"/><limit {limits}'
            f' velocity="2" effort="9"/><dynamics damping="0.5" friction="0.2"/>{more}</joint>'
        )
        parent = f"l{i}"
    return THREE.format(found)


def test_limits_and_losses_of_a_follower_are_its_drivers():
    text = three(third='<mimic joint="j1" multiplier="-2" offset="1"/>')
    joint = parse_robot_description(text).joints["j1"]
    assert (joint.lower, joint.upper) == (-0.5, 1.0)  # of [-1, 2], and (q3 - 1) / -2 with q3 in [-1, 2]
    assert (joint.velocity_limit, joint.damping, joint.friction) == (1.0, 2.5, pytest.approx(0.6))
    assert parse_robot_description(text).actuated == ("j0", "j1")
    geared = text.replace(
        "</robot>",
        '<ros2_control name="a" type="system"><joint name="j0"><command_interface name="effort"/></joint><joint'
        ' name="j1"><command_interface name="effort"/><param name="armature">1.0</param></joint><joint name="j2"><param'
        ' name="armature">0.25</param></joint></ros2_control></robot>',
    )
    assert parse_robot_description(geared).joints["j1"].armature == 2.0


@pytest.mark.parametrize(("multiplier", "offset"), [("-2", "1"), ("1", "1.5"), ("0.7", "-0.4"), ("0", "1")])
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_limits_are_the_same_in_the_text_that_nodes_get(multiplier, offset, kind):
    """An offset moves the position 0 of a follower, so its limits move, too."""
    text = three(third=f'<mimic joint="j1" multiplier="{multiplier}" offset="{offset}"/>')
    once = parse_robot_description(text.replace('"j2" type="revolute"', f'"j2" type="{kind}"'))
    again, joint = parse_robot_description(once.text), once.joints["j1"]
    a, b, read = float(multiplier), float(offset), again.joints["j1"]
    ends = sorted(((-1.0 - b) / a, (2.0 - b) / a)) if a else (-1.0, 2.0)
    assert (joint.lower, joint.upper) == (max(-1.0, ends[0]), min(2.0, ends[1]))
    assert (read.lower, read.upper) == (joint.lower, joint.upper)
    assert again.text == once.text


def test_a_chain_of_followers_leads_to_one_driver():
    text = three(
        '<mimic joint="j0" multiplier="0.5" offset="0.2"/>', '<mimic joint="j1" multiplier="-2" offset="0.4"/>'
    )
    description = parse_robot_description(text)
    last = description.joints["j2"]
    assert description.actuated == ("j0",) and (last.mimic, last.multiplier, last.offset) == ("j0", -1.0, 0.0)
    chain, free = build_chain(description), pinocchio.buildModelFromXML(text)
    data, q = free.createData(), 0.3
    pinocchio.framesForwardKinematics(free, data, np.array([q, 0.5 * q + 0.2, -2.0 * (0.5 * q + 0.2) + 0.4]))
    assert np.allclose(chain.pose(np.array([q]))[0], data.oMf[free.getFrameId("l2")].translation, atol=1e-14)
    # what is read again is the same robot, as a run hands it to its nodes
    again = parse_robot_description(description.text)
    assert np.allclose(build_chain(again).pose(np.array([q]))[0], chain.pose(np.array([q]))[0], atol=1e-14)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (three(third='<mimic joint="j1" offset="9"/>'), "'j2' follows 'j1' .* leave 'j1' no room"),
        (three(third='<mimic joint="j1" multiplier="0" offset="3"/>'), "'j2' follows 'j1' .* no room"),
        (three(third='<mimic joint="j9"/>'), "mimics 'j9', which does not exist"),
        (three(third='<mimic joint="j2"/>'), "mimics itself"),
        (three(third='<mimic joint="j1"/><mimic joint="j0"/>'), "'j2' has several <mimic>"),
        (three(third='<mimic joint=""/>'), "'j2': <mimic> has no joint: add it"),
        (
            three(third='<mimic joint="j1"/>').replace('"j1" type="revolute"', '"j1" type="fixed"'),
            "'j2' follows 'j1' .*, which does not move: make 'j2' fixed",
        ),
    ],
)
def test_followers_that_cannot_be_are_refused(text, said):
    with pytest.raises(RobotDescriptionError, match=said):
        parse_robot_description(text)


def endless(multiplier: str) -> str:
    text = three(second=f'<mimic joint="j0" multiplier="{multiplier}"/>', kind="continuous")
    return re.sub(r'(name="j1" type=)"revolute"', r'\1"continuous"', text)


def test_a_joint_without_end_leads_only_what_is_back_after_a_turn():
    with pytest.raises(RobotDescriptionError, match="'j1' follows 'j0' .* after a whole turn 'j1' is elsewhere"):
        parse_robot_description(endless("0.5"))
    assert parse_robot_description(endless("-2")).joints["j0"].endless


def test_a_follower_of_a_joint_that_nobody_drives_is_refused():
    motors = "".join(f'<joint name="{name}"><command_interface name="effort"/></joint>' for name in ("j1",))
    text = three(third='<mimic joint="j0"/>').replace(
        "</robot>", f'<ros2_control name="a" type="system">{motors}</ros2_control></robot>'
    )
    with pytest.raises(RobotDescriptionError, match="'j0' moves joints of the arm but is neither actuated nor elastic"):
        parse_robot_description(text)


def test_what_ros2_control_says_about_a_follower_holds():
    text = three(third='<mimic joint="j1"/>')
    control = '<ros2_control name="a" type="system">{}</ros2_control></robot>'
    tags = [f'<joint name="j{i}"{{}}><command_interface name="effort"/></joint>' for i in range(3)]
    with pytest.raises(RobotDescriptionError, match="'j2' follows 'j1' .* has a command interface"):
        parse_robot_description(text.replace("</robot>", control.format("".join(tags).replace("{}", ""))))
    for word in ("false", "False"):
        apart = "".join(tag.format(f' mimic="{word}"' if i == 2 else "") for i, tag in enumerate(tags))
        description = parse_robot_description(text.replace("</robot>", control.format(apart)))
        assert description.actuated == ("j0", "j1", "j2") and not description.coupled
        assert parse_robot_description(description.text).actuated == ("j0", "j1", "j2")


def test_a_follower_has_no_elastic_drive_of_its_own():
    drive = '<flexibility><elastic_drive joint="j2" stiffness="900"/></flexibility></robot>'
    text = three(third='<mimic joint="j1"/>').replace("</robot>", drive)
    with pytest.raises(RobotDescriptionError, match="elastic drive of joint 'j2' needs a motor: actuated joints are"):
        parse_robot_description(text, massless=True)
