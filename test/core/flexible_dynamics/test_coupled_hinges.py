"""Flexible arms in which joints follow others: reduced equations against constraint forces, Pinocchio and MuJoCo."""

from __future__ import annotations

import re

import numpy as np
import pytest
from coupled_arms import FreeJoints, coupled_arm
from driven_arms import driven_arm
from filter_probe import FilterProbe
from flexible_loop import run_flexible
from random_flexible_arms import flexible_arm

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.flexible_dynamics.arm_sample import ArmSample
from flexarm_core.flexible_dynamics.bent_tool import BentTool
from flexarm_core.flexible_dynamics.control.controller import FlexibleController, FlexibleControllerConfig
from flexarm_core.flexible_dynamics.deflected_arm import DeflectedArm
from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.flexible_dynamics.estimation.estimator import FlexibleEstimator
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.vibration_damping import VibrationDampingConfig
from flexarm_core.hardware_gate.softness import softness
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState, FlexibleSample, JointReference
from flexarm_sim.flexible_backend import FlexibleBackend
from flexarm_sim.mujoco.backend import MujocoBackend

GRAVITY = (0.3, -0.5, -9.81)


def coordinates(model: FlexibleModel, rng, size: float = 0.7):
    x, v = size * rng.normal(size=(2, model.size))
    x[model.unmeasured] *= 0.02
    v[model.unmeasured] *= 0.02
    return x, v


@pytest.mark.parametrize("seed", range(12))
def test_rigid_arms_have_the_equations_of_pinocchio(seed):
    arm, rng = coupled_arm(seed), np.random.default_rng(seed)
    free, model = FreeJoints(arm, np.array(GRAVITY)), FlexibleModel(arm.text, gravity=GRAVITY)
    order = [model.hinge_names.index(name) for name in (*arm.driven, *arm.elastic)]
    x, v = coordinates(model, rng)
    H, c = free.equation(x[order], v[order])
    M = model.mass_matrix(x)
    armature = np.zeros(model.size)
    for name in arm.driven:
        armature[model.hinge_names.index(name)] = model.description.joints[name].armature
    assert (M - np.diag(armature))[np.ix_(order, order)] == pytest.approx(H, rel=1e-9, abs=1e-9)
    forces = model.damping_matrix() @ v + model.stiffness_matrix() @ x
    bias = model.inverse_dynamics(x, v, np.zeros(model.size)) - forces
    assert bias[order] == pytest.approx(c, rel=1e-9, abs=1e-8)
    effort = rng.normal(size=len(model.hinge_names))
    a = model.forward_dynamics(x, v, effort)
    assert model.inverse_dynamics(x, v, a) == pytest.approx(effort, abs=1e-7)
    assert model.response(np.arange(model.size)) == pytest.approx(np.linalg.inv(M), rel=1e-7, abs=1e-9)


def coupled_flexible(seed: int) -> tuple[str, str, float, float, str, str]:
    """A random arm with flexible links whose last joint follows another one, and the same one without that."""
    rng = np.random.default_rng(seed)
    text = flexible_arm(seed).urdf()
    joints = parse_robot_description(text).actuated
    leader, follower = str(rng.choice(joints[:-1])), joints[-1]
    a, b = (
        float(rng.uniform(0.3, 1.5) * rng.choice((-1, 1))),
        0.0,
    )  # an offset changes the load of a beam, and its modes
    mimic = f'<mimic joint="{leader}" multiplier="{a!r}" offset="{b!r}"/>'
    start = text.index(f'<joint name="{follower}" type=')
    end = text.index("</joint>", start)
    coupled = text[:end] + mimic + text[end:]
    coupled = re.sub(
        rf'<joint name="{follower}">\s*(<command_interface[^>]*/>\s*)+', f'<joint name="{follower}">', coupled
    )
    return coupled, text, a, b, leader, follower


MOVING = [seed for seed in range(30) if flexible_arm(seed).urdf().count('type="revolute"') > 1]


@pytest.mark.parametrize("seed", MOVING[:12])
def test_flexible_arms_move_as_with_the_force_of_a_constraint(seed):
    coupled, free, a, b, leader, follower = coupled_flexible(seed)
    one, other, rng = (
        FlexibleModel(coupled, gravity=GRAVITY),
        FlexibleModel(free, gravity=GRAVITY),
        np.random.default_rng(seed),
    )
    assert one.size == other.size - 1 and len(one.modal) > 0 and follower not in one.hinge_names
    x, v = coordinates(one, rng)
    names, all_names = (*one.hinge_names, *one.mode_names), (*other.hinge_names, *other.mode_names)
    full, rate, effort = np.zeros(other.size), np.zeros(other.size), rng.normal(size=len(one.hinge_names))
    efforts = np.zeros(len(other.hinge_names))
    for i, name in enumerate(names):
        full[all_names.index(name)], rate[all_names.index(name)] = x[i], v[i]
        if i < len(effort):
            efforts[all_names.index(name)] = effort[i]
    k, m = all_names.index(follower), all_names.index(leader)
    full[k], rate[k] = a * full[m] + b, a * rate[m]
    G = np.zeros(other.size)  # of the constraint
    G[k], G[m] = 1.0, -a
    wrench = {other.tool_frame: rng.normal(size=6)}
    alone = other.forward_dynamics(full, rate, efforts, wrench)
    M = other.mass_matrix(full)
    push = np.linalg.solve(M, G)
    exact = alone - push * (G @ alone) / (G @ push)
    moved = one.forward_dynamics(x, v, effort, wrench)
    chosen = [all_names.index(name) for name in names]
    assert moved == pytest.approx(exact[chosen], rel=1e-6, abs=1e-6 * np.abs(exact).max())
    forces = one.inverse_dynamics(x, v, moved, wrench)
    assert forces[: len(effort)] == pytest.approx(effort, abs=1e-6 * (1.0 + np.abs(effort).max() + np.abs(moved).max()))
    at, its = one.frame_motion(one.tool_frame, x, v, moved), other.frame_motion(other.tool_frame, full, rate, exact)
    for part in ("position", "rotation", "velocity", "acceleration"):
        expected = getattr(its, part)
        assert getattr(at, part) == pytest.approx(expected, rel=1e-6, abs=1e-6 * (1.0 + np.abs(expected).max()))
    assert one.energy(x, v) == pytest.approx(other.energy(full, rate), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_plant_moves_as_mujoco_with_an_equality_constraint(seed):
    arm, rng = coupled_arm(seed, joints=4, followers=2), np.random.default_rng(seed)
    description = parse_robot_description(arm.text)
    plants = [
        kind(description, tool_frame="tool0", gravity=GRAVITY, max_step=2e-4)
        for kind in (FlexibleBackend, MujocoBackend)
    ]
    n = len(description.actuated)
    start, effort = 0.3 * rng.normal(size=n), rng.normal(size=n)
    for plant in plants:
        plant.reset(position=start)
        plant.step(effort, 0.1)
    one, other = (plant.state() for plant in plants)
    moved = np.abs(one.position - start).max()
    assert moved > 1e-3
    assert one.position == pytest.approx(other.position, abs=2e-2 * moved)
    assert one.deflection == pytest.approx(other.deflection, abs=2e-2 * np.abs(other.deflection).max())


@pytest.mark.parametrize("seed", [1, 3])
def test_the_plant_with_flexible_links_moves_as_chains_of_bodies_in_mujoco(seed):
    description = parse_robot_description(coupled_flexible(seed)[0])
    one = FlexibleBackend(description, tool_frame="tool0", gravity=GRAVITY, max_step=1e-4)
    other = MujocoBackend(description, tool_frame="tool0", gravity=GRAVITY, max_step=2e-5, segments=12)
    rng, n = np.random.default_rng(seed), len(description.actuated)
    start, effort = 0.3 * rng.normal(size=n), 20.0 * rng.normal(size=n)
    for plant in (one, other):
        plant.reset(position=start, at_rest=True)
        plant.step(effort, 0.1)
    moved = one.state().position - start
    assert np.abs(moved).max() > 1e-3
    assert moved == pytest.approx(other.state().position - start, rel=0.02)


def test_a_gate_finds_how_soft_such_an_arm_is():
    model = ArmModel(coupled_flexible(MOVING[0])[0])
    soft = softness(model, model.velocity_limit, np.full(model.n, 20.0), 0.001)
    assert (soft.rise > 0.0).all() and (soft.bandwidth > 0.0).all() and np.isfinite(soft.bandwidth).all()


def geared(seed: int) -> tuple[str, str]:
    """A random flexible arm whose first joint turns a flywheel, and the same arm with a larger rotor instead."""
    text, a, wheel = flexible_arm(seed).urdf(), -3.0, 0.02
    robot = parse_robot_description(text)
    first = robot.actuated[0]
    turned = (
        '<link name="wheel"><inertial><mass value="1"/><inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0"'
        f' iyz="0"/></inertial></link><joint name="gear" type="continuous"><parent link="{robot.root}"/><child'
        f' link="wheel"/><axis xyz="0 0 1"/><mimic joint="{first}" multiplier="{a}"/></joint></robot>'
    )
    motors = "".join(f'<joint name="{name}"><command_interface name="effort"/></joint>' for name in robot.actuated)
    text = text.replace("</robot>", f'<ros2_control name="all" type="system">{motors}</ros2_control></robot>')
    rotor = f'<param name="armature">{a * a * wheel}</param>'
    merged = text.replace(f'<joint name="{first}"><command', f'<joint name="{first}">{rotor}<command')
    return text.replace("</robot>", turned), merged


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("law", ["vibration_damping", "accelerations"])
def test_estimator_and_controller_take_a_flywheel_as_a_larger_rotor(seed, law):
    drawn = flexible_arm(seed)
    n = len(drawn.position)
    gains = VibrationDampingConfig(position_gain=(4.0,) * n, velocity_gain=(3.0,) * n)
    carry = {"motion": gains, "carry_over": 0.01, "check_gains": False} if law == "accelerations" else {}
    answers = []
    for text in geared(seed):
        model = FlexibleModel(text, tool_frame=FlexibleModel(drawn.urdf()).tool_frame, gravity=drawn.gravity)
        estimator = FlexibleEstimator(FlexibleModel(text, tool_frame=model.tool_frame, gravity=drawn.gravity))
        controller = FlexibleController(model, FlexibleControllerConfig(law=law, **carry))
        rng, rows = np.random.default_rng(seed), []
        none = np.zeros(len(model.elastic))
        for k in range(30):
            stamp, q, qd = k * 1_000_000, drawn.position + 1e-4 * k, np.full(n, 0.1)
            strain = {name: 1e-5 * rng.normal() for name in model.description.strain_gauges}
            effort = rng.normal(size=n)
            state = estimator.update(FlexibleSample(stamp, q, qd, effort, strain=strain))
            wanted = JointReference(stamp, q + 1e-3, qd, np.full(n, 0.2), None)
            answer = controller.update(ArmState(stamp, q, qd, none, none), state, wanted)
            rows.append(
                np.concatenate((state.modal_position, state.modal_rate, state.modal_acceleration, answer.effort))
            )
        answers.append(np.array(rows))
    one, other = answers
    assert one == pytest.approx(other, rel=1e-6, abs=1e-7 * np.abs(other).max(axis=0).min() + 1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_predicted_readings_and_their_derivatives_are_those_of_the_reduced_equations(seed):
    """Sensor readings, and their central differences, at accelerations that Pinocchio's reduced equations confirm."""
    arm, rng = coupled_arm(seed), np.random.default_rng(seed)
    model = FlexibleModel(arm.text, gravity=GRAVITY)
    config = EstimatorConfig(use_wrench=True, use_deflection=True, use_imu=False)
    probe, (x, v) = FilterProbe(FlexibleModel(arm.text, gravity=GRAVITY), config), coordinates(model, rng, 0.4)
    names = sorted(config.wrench_sensors(model.description.force_torque_sensors))
    assert names
    effort, efforts = rng.normal(size=len(model.actuated)), np.zeros(len(model.hinge_names))
    efforts[model.actuated] = effort

    def readings(x, v):
        found = model.sensor_wrenches(x, v, model.forward_dynamics(x, v, efforts))
        return np.concatenate([found[name] for name in names])

    probe.at(x, v, effort, wrenches={name: np.zeros(6) for name in names})
    N, step, shown = len(model.unmeasured), 1e-5, probe.ahead.shown[:, probe.linear :]
    for row, at in enumerate(model.unmeasured):
        change = step * np.eye(model.size)[at]
        by_x = (readings(x + change, v) - readings(x - change, v)) / (2.0 * step)
        by_v = (readings(x, v + change) - readings(x, v - change)) / (2.0 * step)
        assert shown[row] == pytest.approx(by_x, rel=1e-3, abs=1e-5 * np.abs(by_x).max())
        assert shown[N + row] == pytest.approx(by_v, rel=1e-3, abs=1e-5 * np.abs(by_x).max())


@pytest.mark.parametrize("seed", MOVING[:4])
def test_articulated_inertias_are_pivots_of_the_elimination_from_tip_to_base(seed):
    """With a flywheel in place of a rotor the recursion itself gives them."""
    coupled, merged = (FlexibleModel(text, gravity=GRAVITY) for text in geared(seed))
    x, v = coordinates(coupled, np.random.default_rng(seed))
    for model in (coupled, merged):
        model.articulate(x, v, step=1e-3)
    assert coupled.hinge_inertia() == pytest.approx(merged.hinge_inertia(), rel=1e-9)


def driven_and_coupled(seed: int) -> tuple[str, str, str, str, float] | None:
    """An arm whose last joint follows one with an elastic drive, the same without that, leader, follower, ratio."""
    arm, rng = driven_arm(seed), np.random.default_rng(seed)
    follower, a = f"j{arm.n - 1}", float(rng.uniform(0.3, 1.0) * rng.choice((-1, 1)))
    if arm.n - 1 in arm.driven or arm.driven == ():
        return None
    leader = f"j{arm.driven[int(rng.integers(len(arm.driven)))]}"
    command = re.compile(rf'<joint name="{follower}"><command_interface name="effort"/>.*?</joint>')
    end = arm.text.index("</joint>", arm.text.index(f'<joint name="{follower}" type='))
    mimic = f'<mimic joint="{leader}" multiplier="{a!r}"/>'
    bare = f'<joint name="{follower}"><command_interface name="effort"/></joint>'
    return command.sub("", arm.text[:end] + mimic + arm.text[end:]), command.sub(bare, arm.text), leader, follower, a


DRIVEN = [seed for seed in range(60) if driven_and_coupled(seed)]


@pytest.mark.parametrize("seed", DRIVEN[:10])
def test_what_follows_an_elastic_drive_follows_its_link_and_not_its_motor(seed):
    coupled, free, leader, follower, a = driven_and_coupled(seed)
    one, other, rng = FlexibleModel(coupled), FlexibleModel(free), np.random.default_rng(seed)
    x, v = rng.uniform(-0.6, 0.6, (2, one.size))
    x[one.modal] *= 0.3
    names, all_names = (*one.hinge_names, *one.mode_names), (*other.hinge_names, *other.mode_names)
    chosen = [all_names.index(name) for name in names]
    k, m, bent = (all_names.index(name) for name in (follower, leader, f"{leader}_drive/deflection"))
    full, rate, effort = np.zeros(other.size), np.zeros(other.size), rng.normal(size=len(one.hinge_names))
    full[chosen], rate[chosen] = x, v
    full[k], rate[k] = a * (full[m] + full[bent]), a * (rate[m] + rate[bent])
    efforts = np.zeros(other.size)
    efforts[chosen[: len(effort)]] = effort
    G = np.zeros(other.size)  # of the constraint
    G[k], G[m], G[bent] = 1.0, -a, -a
    alone = other.forward_dynamics(full, rate, efforts[: len(other.hinge_names)])
    push = np.linalg.solve(other.mass_matrix(full), G)
    exact = alone - push * (G @ alone) / (G @ push)
    assert one.forward_dynamics(x, v, effort) == pytest.approx(exact[chosen], rel=1e-7, abs=1e-7 * np.abs(exact).max())
    assert one.frame_motion("tool0", x, v).position == pytest.approx(other.frame_motion("tool0", full, rate).position)


@pytest.mark.parametrize("seed", DRIVEN[:2])
def test_the_plant_with_a_follower_of_an_elastic_drive_moves_as_mujoco_with_an_equality_constraint(seed):
    description = parse_robot_description(driven_and_coupled(seed)[0])
    plants = [kind(description, tool_frame="tool0", max_step=5e-5) for kind in (FlexibleBackend, MujocoBackend)]
    rng, n = np.random.default_rng(seed), len(description.actuated)
    start, effort = 0.3 * rng.normal(size=n), rng.normal(size=n)
    for plant in plants:
        plant.reset(position=start)
        plant.step(effort, 0.1)
    one, other = (plant.state() for plant in plants)
    moved = np.abs(one.position - start).max()
    assert moved > 1e-3
    assert one.position == pytest.approx(other.position, abs=2e-2 * moved)


@pytest.mark.parametrize("seed", DRIVEN[:5])
def test_the_deflection_of_a_drive_moves_what_follows_its_link_wherever_the_tool_is_computed(seed):
    model, rng = FlexibleModel(driven_and_coupled(seed)[0]), np.random.default_rng(seed)
    x, still = rng.uniform(-1.0, 1.0, model.size), np.zeros(model.size)
    x[model.modal] *= 1e-4
    rigid = x.copy()
    rigid[model.modal] = 0.0
    there, here = (model.frame_motion("tool0", at, still).position for at in (x, rigid))
    position = dict(zip(model.description.actuated, x[model.actuated], strict=True))
    sample = ArmSample(0.0, position, modes=dict(zip(model.mode_names, x[model.modal], strict=True)))
    assert DeflectedArm(model.description, "tool0").tool(sample, 1.0) == pytest.approx(there, abs=1e-12)
    shift = BentTool(model.description, "tool0").shift(x[model.actuated], x[model.modal])
    assert shift == pytest.approx(there - here, abs=1e-3 * np.abs(there - here).max())


def test_a_rotor_on_a_follower_of_an_elastic_drive_is_refused():
    coupled, _, _, follower, _ = driven_and_coupled(DRIVEN[0])
    rotor = f'<joint name="{follower}"><param name="armature">0.1</param></joint></ros2_control>'
    with pytest.raises(RobotDescriptionError, match=f"'{follower}' follows .* armature: add that to the inertia"):
        parse_robot_description(coupled.replace("</ros2_control>", rotor))


@pytest.mark.parametrize("seed", [pytest.param(MOVING[0], marks=pytest.mark.long), MOVING[1]])
def test_an_arm_with_a_follower_stands_still_after_a_slew_where_joint_servos_leave_it_swinging(seed):
    """Plant: chains of bodies in MuJoCo with an equality constraint."""
    description = parse_robot_description(coupled_flexible(seed)[0])
    n = len(description.actuated)
    swings = []
    for law in ("vibration_damping", "joint_pd"):
        config = FlexibleControllerConfig(law=law)
        run = run_flexible(description, description, np.zeros(n), np.full(n, 0.4), 0.8, config, time=2.0)
        swings.append(run.swing(after=1.4))
    assert swings[0] < 0.5 * swings[1]
