"""Rotor inertia of geared joints in the recursion: against sums over the nodes, Pinocchio, closed forms and energy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio
import pytest
from node_dynamics import reference_acceleration
from random_trees import Case, random_case

from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.robot.urdf_reader import parse_robot_description


def geared(model: FlexibleModel, rng: np.random.Generator) -> FlexibleModel:
    """The same robot with a rotor in every actuated joint, as heavy as its links."""
    joints = dict(model.description.joints)
    for name in model.description.actuated:
        joints[name] = replace(joints[name], armature=float(rng.uniform(0.1, 3.0)))
    description = replace(model.description, joints=joints)
    gravity = tuple(float(part) for part in -model.tree.root)
    return FlexibleModel(description, model.tool_frame, (gravity[0], gravity[1], gravity[2]))


def geared_case(rng, folder, links: int, flexible: float = 0.5) -> Case:
    case = random_case(rng, folder, links, flexible)
    return replace(case, model=geared(case.model, rng))


def largest(a, b):
    return np.abs(a - b).max() / max(np.abs(b).max(), 1e-12)


def accelerations(case: Case):
    return case.model.forward_dynamics(case.x, case.v, case.effort, case.wrenches)


def test_accelerations_equal_the_sums_over_the_nodes_with_rotors_on_the_diagonal(tmp_path):
    rng, moved = np.random.default_rng(1), 0.0
    for trial in range(60):
        case = geared_case(rng, tmp_path, links=1 + trial % 8, flexible=0.6)
        gravity = -case.model.tree.root
        expected = reference_acceleration(case.model, gravity, case.x, case.v, case.effort, case.wrenches)
        assert largest(accelerations(case), expected) < 1e-9, f"trial {trial}"
        ours = accelerations(case)
        case.model.tree.armature[:] = 0.0
        moved = max(moved, largest(accelerations(case), ours))
    assert moved > 0.1


def test_rigid_trees_with_rotors_equal_pinocchio(tmp_path):
    rng = np.random.default_rng(2)
    for _ in range(20):
        case = geared_case(rng, tmp_path, links=6, flexible=0.0)
        model = case.model
        theirs = pinocchio.buildModelFromXML(model.description.text)
        theirs.gravity.linear = -model.tree.root
        joints = [theirs.joints[theirs.getJointId(name)] for name in model.hinge_names]
        place = [joint.idx_v for joint in joints]
        q, rates, torque, armature = pinocchio.neutral(theirs), *np.zeros((3, theirs.nv))
        for joint, x in zip(joints, case.x, strict=True):
            q[joint.idx_q : joint.idx_q + joint.nq] = x if joint.nq == 1 else (np.cos(x), np.sin(x))
        armature[place] = [model.description.joints[name].armature for name in model.hinge_names]
        theirs.armature = armature
        rates[place] = case.v
        torque[place] = case.effort - model.stiffness_matrix() @ case.x - model.damping_matrix() @ case.v
        torque[place] -= model.tree.friction * np.tanh(case.v / 1e-3)
        expected = pinocchio.aba(theirs, theirs.createData(), q, rates, torque)[place]
        assert largest(model.forward_dynamics(case.x, case.v, case.effort), expected) < 1e-9


def test_mass_matrix_inverse_and_forward_dynamics_and_response_agree_with_rotors(tmp_path):
    rng = np.random.default_rng(3)
    for _ in range(20):
        case = geared_case(rng, tmp_path, links=6)
        model, still = case.model, np.zeros(case.model.size)
        M = model.mass_matrix(case.x)
        bias = model.inverse_dynamics(case.x, still, still)
        columns = [model.inverse_dynamics(case.x, still, unit) - bias for unit in np.eye(model.size)]
        assert largest(np.transpose(columns), M) < 1e-11
        forces = model.inverse_dynamics(case.x, case.v, accelerations(case), case.wrenches)
        assert np.abs(forces - np.concatenate((case.effort, np.zeros(len(model.modal))))).max() < 1e-8
        model.articulate(case.x, case.v, case.wrenches)
        assert largest(model.response(np.arange(model.size)), np.linalg.inv(M)) < 1e-10
        rotors = np.zeros(model.size)
        rotors[: len(model.hinge_names)] = [model.description.joints[name].armature for name in model.hinge_names]
        inertia = model.hinge_inertia()
        model.tree.armature[:] = 0.0
        assert M - np.diag(rotors) == pytest.approx(model.mass_matrix(case.x), abs=1e-12)
        assert (inertia >= rotors[: len(inertia)]).all()


@pytest.mark.parametrize("step", [1e-3, 0.1])
def test_implicit_step_with_rotors_equals_the_dense_trapezoidal_formula(tmp_path, step):
    rng = np.random.default_rng(4)
    for _ in range(10):
        case = geared_case(rng, tmp_path, links=6)
        model = case.model
        K, C, half = model.stiffness_matrix(), model.damping_matrix(), 0.5 * step
        forces = -model.inverse_dynamics(case.x, case.v, np.zeros(model.size), case.wrenches)
        forces[: len(case.effort)] += case.effort
        dense = np.linalg.solve(model.mass_matrix(case.x) + half * C + half**2 * K, forces - half * K @ case.v)
        model.articulate(case.x, case.v, case.wrenches, step)
        assert largest(model.accelerate(case.effort), dense) < 1e-9


def test_energy_with_rotors_is_kept_and_grows_by_the_power_of_the_motors(flexible_3r_text, without_losses):
    model = without_losses(geared(FlexibleModel(flexible_3r_text), np.random.default_rng(5)))
    rng = np.random.default_rng(6)
    start, rate = rng.uniform(-0.5, 0.5, (2, model.size))
    start[model.modal] *= 0.05
    moving = 0.5 * rate @ model.mass_matrix(start) @ rate
    lying = model.energy(start, np.zeros(model.size))
    assert model.energy(start, rate) - lying == pytest.approx(moving, rel=1e-10)
    x, v, kinetic, drift = start.copy(), rate.copy(), moving, 0.0
    for _ in range(10):
        model.integrate(x, v, np.zeros(5), 1.25e-4, 400)
        kinetic = max(kinetic, 0.5 * v @ model.mass_matrix(x) @ v)
        drift = max(drift, abs(model.energy(x, v) - lying - moving))
    assert drift < 1e-6 * kinetic
    effort, ends = np.array([0.0, 0.0, 5.0, -20.0, 8.0]), []
    for h in (1e-5, -1e-5):
        x, v = start.copy(), rate.copy()
        model.integrate(x, v, effort, h, 1)
        ends.append(model.energy(x, v))
    assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(effort @ rate[:5], rel=1e-6)


def test_sensors_and_modes_feel_rotors_through_the_motion_alone(flexible_3r_text):
    plain, rng = FlexibleModel(flexible_3r_text), np.random.default_rng(7)
    heavy = geared(plain, rng)
    rotors = np.array([heavy.description.joints[name].armature for name in heavy.hinge_names])
    assert (rotors[heavy.elastic] == 0.0).all() and (rotors[heavy.actuated] > 0.0).all()
    for _ in range(10):
        x, v, a = rng.uniform(-0.5, 0.5, (3, plain.size))
        for name, wrench in plain.sensor_wrenches(x, v, a).items():
            assert np.array_equal(heavy.sensor_wrenches(x, v, a)[name], wrench)
        more = heavy.inverse_dynamics(x, v, a) - plain.inverse_dynamics(x, v, a)
        assert more[:5] == pytest.approx(rotors * a[:5], abs=1e-9) and not more[5:].any()
        # locked, motors do not turn
        assert heavy.natural_frequencies(x) == pytest.approx(plain.natural_frequencies(x), rel=1e-12)


def test_one_joint_accelerates_as_link_and_rotor_together():
    """``qdd = tau / (I + J)``; the link's 3 kg at 0.5 m and 0.02 kg*m^2 about its center."""
    text = """<robot name="one"><link name="ground"/>
      <joint name="joint" type="continuous"><parent link="ground"/><child link="link"/><axis xyz="0 1 0"/></joint>
      <link name="link"><inertial><origin xyz="0.5 0 0"/><mass value="3"/>
        <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
      <ros2_control name="one" type="system"><joint name="joint"><command_interface name="effort"/>
        <param name="armature">1.4</param></joint></ros2_control></robot>"""
    model = FlexibleModel(parse_robot_description(text), gravity=(0.0, 0.0, 0.0))
    found = model.forward_dynamics(np.array([0.3]), np.array([2.0]), np.array([5.0]))
    assert found[0] == pytest.approx(5.0 / (0.77 + 1.4), rel=1e-12)
    assert model.hinge_inertia() == pytest.approx([0.77 + 1.4], rel=1e-12)
