"""Rotor inertia of geared joints in both backends: against Pinocchio, momentum balances and closed forms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_core.types import ArmState
from flexarm_sim.backend import Backend
from flexarm_sim.backends import BACKENDS, make_backend
from flexarm_sim.flexible_backend import FlexibleBackend
from flexarm_sim.friction.friction import JointFriction
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_sim.mujoco.model import build_model

GRAVITY = (1.0, -2.0, -9.0)
INERTIA = 3.0 * 0.5**2 + 0.02  # [kg*m^2] of the link of one_joint about its joint


def geared(description: RobotDescription, *armatures: float) -> RobotDescription:
    """The robot with these rotors in its actuated joints."""
    joints = dict(description.joints)
    for name, armature in zip(description.actuated, armatures, strict=True):
        joints[name] = replace(joints[name], armature=armature)
    return replace(description, joints=joints)


@pytest.fixture(params=BACKENDS)
def make(request: Any) -> Callable[..., Backend]:
    """Make a backend of a robot: of each kind."""
    return lambda description, **options: make_backend(request.param, description, **options)


@pytest.fixture
def tree(spatial_tree: Any) -> RobotDescription:
    """A random tree on a soft base, every joint kind, with rotors as heavy as its links."""
    return geared(spatial_tree(1), 1.5, 4.0, 0.4, 0.2, 1.0, 0.0)


def random_state(backend: Backend, draw: np.random.Generator) -> None:
    n, m = len(backend.joint_names), len(backend.elastic_joint_names)
    backend.reset(
        draw.uniform(-2, 2, n), draw.uniform(-3, 3, n), draw.uniform(-0.1, 0.1, m), draw.uniform(-1, 1, m),
        draw.uniform(-20, 20, n),
    )  # fmt: skip


def test_only_joints_with_rotors_have_an_armature_in_the_model(tree: RobotDescription, spatial_tree: Any) -> None:
    model = build_model(tree)
    for name, joint in tree.joints.items():
        if joint.kind != "fixed":
            assert model.dof_armature[model.joint(name).dofadr[0]] == joint.armature
    assert not build_model(spatial_tree(1)).dof_armature.any()


def test_accelerations_and_sensors_are_those_of_pinocchio_and_of_the_momentum_balance(
    make: Any, tree: RobotDescription, newton_euler: Any
) -> None:
    """A sensor carries the motion of what is outboard of it and nothing of the rotors themselves."""
    backend, reference, arm_model = (
        make(tree, gravity=GRAVITY),
        newton_euler(tree, GRAVITY),
        ArmModel(tree, "", GRAVITY),
    )
    armature = np.zeros(reference.model.nv)
    armature[reference.indices(tree.actuated)] = [tree.joints[name].armature for name in tree.actuated]
    reference.model.armature = armature
    draw = np.random.default_rng(1)
    for _ in range(30):
        random_state(backend, draw)
        wrench = draw.uniform(-10, 10, 6)
        state = backend.state()
        known = ArmState(0, state.position, state.velocity, state.deflection, state.deflection_rate)
        wanted = arm_model.forward_dynamics(known, state.effort)
        assert state.acceleration == pytest.approx(wanted, rel=1e-9, abs=1e-9 * np.abs(wanted).max())
        backend.set_external_wrench("a2_link", wrench)
        state, push = backend.state(), {"a2_link": wrench}
        arm, base = reference.acceleration(state, push)
        scale = 1.0 + np.abs(np.concatenate([arm, base])).max()
        assert np.allclose(state.acceleration, arm, rtol=0.0, atol=1e-9 * scale)
        assert np.allclose(state.deflection_acceleration, base, rtol=0.0, atol=1e-9 * scale)
        for name, sensor in tree.force_torque_sensors.items():
            expected = reference.sensor_wrench(state, sensor.frame, push)
            assert np.allclose(state.wrenches[name], expected, rtol=0.0, atol=1e-9 * (1.0 + np.abs(expected).max()))


def test_joint_dynamics_hold_the_rotors(make: Any, tree: RobotDescription) -> None:
    backend = make(tree, gravity=GRAVITY)
    bare = make(geared(tree, *np.zeros(6)), gravity=GRAVITY)
    for one in (backend, bare):
        random_state(one, np.random.default_rng(2))
    inertia, bias = backend.joint_dynamics()
    assert np.allclose(inertia - bare.joint_dynamics()[0], np.diag([1.5, 4.0, 0.4, 0.2, 1.0, 0.0]), atol=1e-9)
    state = backend.state()
    assert np.allclose(inertia @ state.acceleration + bias, state.effort, rtol=1e-9, atol=1e-8)


def test_one_joint_turns_as_link_and_rotor_together(make: Any, one_joint: Any) -> None:
    """``qdd = tau / (I + J)``, constant without weight."""
    backend = make(geared(one_joint(), 1.4), gravity=(0.0, 0.0, 0.0))
    for _ in range(200):
        backend.step([3.0], 0.001)
    state = backend.state()
    assert state.acceleration[0] == pytest.approx(3.0 / (INERTIA + 1.4), rel=1e-12)
    assert state.velocity[0] == pytest.approx(0.2 * 3.0 / (INERTIA + 1.4), rel=1e-9)


def test_energy_with_rotors_is_kept(make: Any, tree: RobotDescription, newton_euler: Any) -> None:
    joints = {name: replace(joint, damping=0.0) for name, joint in tree.joints.items()}
    elastic = tuple(replace(spring, damping=0.0) for spring in tree.elastic)
    robot = replace(tree, joints=joints, elastic=elastic)
    backend, reference = make(robot), newton_euler(robot)  # its energy is that of links and springs
    rotors = np.array([robot.joints[name].armature for name in robot.actuated])

    def energy() -> float:
        state = backend.state()
        return float(reference.energy(state) + 0.5 * rotors @ state.velocity**2)

    backend.reset(velocity=[1.0, -0.5, 2.0, 1.0, -2.0, 0.3], deflection=[0.02, -0.02])
    start, kinetic = energy(), 0.5 * rotors @ backend.state().velocity ** 2
    for _ in range(10):
        backend.step(np.zeros(6), 0.02)
        assert energy() == pytest.approx(start, abs=1e-9 * abs(start))
    assert abs(0.5 * rotors @ backend.state().velocity ** 2 - kinetic) > 1e-3  # they do take and give


def test_friction_brakes_and_holds_link_and_rotor_together(make: Any, one_joint: Any) -> None:
    """``(I + J) qdd = -C`` until it stands, and then it stays."""
    backend = make(geared(one_joint(), 1.4), gravity=(0.0, 0.0, 0.0), friction=JointFriction((2.0,)))
    backend.reset(velocity=[0.5])
    stop = 0.5 * (INERTIA + 1.4) / 2.0
    for tick in range(1, 700):
        backend.step([0.0], 0.001)
        assert backend.state().velocity[0] == pytest.approx(max(0.0, 0.5 * (1.0 - 0.001 * tick / stop)), abs=1e-9)
    assert backend.state().position[0] == pytest.approx(0.5 * 0.5 * stop, abs=1e-6)
    for _ in range(100):
        backend.step([1.99], 0.001)
    assert backend.state().position[0] == pytest.approx(0.5 * 0.5 * stop, abs=1e-6)
    assert backend.state().friction[0] == pytest.approx(1.99, rel=1e-9)
    backend.step([2.5], 0.001)
    assert backend.state().acceleration[0] == pytest.approx(0.5 / (INERTIA + 1.4), rel=1e-6)


def test_friction_in_joints_with_rotors_is_coulombs_law_on_a_tree(make: Any, tree: RobotDescription) -> None:
    """What slides is braked by C, what rests is held by no more; the acceleration is that under both efforts."""
    level = np.array([3.0, 8.0, 2.0, 1.0, 2.0, 3.0])
    backend = make(tree, gravity=GRAVITY, friction=JointFriction(tuple(level)))
    model, draw = ArmModel(tree, "", GRAVITY), np.random.default_rng(3)
    for trial in range(20):
        velocity = draw.uniform(-3, 3, 6) * (draw.random(6) < 0.5)
        backend.reset(draw.uniform(-2, 2, 6), velocity, effort=draw.uniform(-20, 20, 6))
        state = backend.state()
        slides = velocity != 0.0
        assert np.allclose(state.friction[slides], np.sign(velocity[slides]) * level[slides], rtol=1e-6), trial
        assert (np.abs(state.friction) <= level * (1.0 + 1e-9)).all()
        held = ~slides & (np.abs(state.friction) < level * (1.0 - 1e-6))
        assert np.abs(state.acceleration[held]).max(initial=0.0) < 1e-6
        known = ArmState(0, state.position, state.velocity, state.deflection, state.deflection_rate)
        wanted = model.forward_dynamics(known, state.effort - state.friction)
        assert state.acceleration == pytest.approx(wanted, rel=1e-9, abs=1e-9 * np.abs(wanted).max())


def test_a_bending_arm_with_rotors_swings_as_mujocos_chain_does(repository_robot: Any) -> None:
    robot = geared(repository_robot("flexible_2r"), 4.0, 1.0)
    bare = repository_robot("flexible_2r")
    still = (0.0, 0.0, 0.0)
    ours, theirs, without = (
        FlexibleBackend(robot, gravity=still, max_step=2e-4),
        MujocoBackend(robot, gravity=still, max_step=1.8e-4, segments=10),
        FlexibleBackend(bare, gravity=still, max_step=2e-4),
    )
    for backend in (ours, theirs, without):
        for tick in range(200):
            backend.step(np.array([12.0, 4.0]) * np.sin(2.0 * np.pi * tick / 200.0), 0.002)
    angles = [backend.state().position for backend in (ours, theirs, without)]
    assert angles[0] == pytest.approx(angles[1], abs=1e-4)
    assert np.abs(angles[0] - angles[2]).min() > 0.02
