"""The torque law (16): closed loop on serial arms and trees, energy, gravity, tool path, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rns_cases import MujocoJudge, case
from rns_identities import total_energy
from rns_loop import close_loop
from scipy.integrate import solve_ivp

from flexarm_core.path.line import fifth_order
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.controller import VibrationController
from flexarm_core.reaction_null_space.vibration.torque_law import effective_inertia, torque_law_gain
from flexarm_core.types import ArmState, CartesianReference, JointReference

START = np.radians([60.0, -60.0, -60.0])
FREE = VibrationControllerConfig(law="torque", task="none", joint_damping=0.0, vibration_gain=20.0)
EARTH = (0.0, 0.0, -9.81)


def test_twenty_newton_seconds_a_meter_take_a_centimetre_to_a_tenth_of_a_micrometre_in_six_seconds():
    robot = case("planar_3r")
    blocks = robot.model.blocks(robot.at(START))
    assert 4.0 < effective_inertia(blocks)[0, 0] < 5.0 and np.allclose(blocks.H_b, 31.0)
    run = close_loop(robot, FREE, START, 6.0, deflection=np.array([0.01]))
    assert np.abs(run.deflection[0, 0]) == 0.01
    assert np.abs(run.deflection[-100:]).max() < 1e-7


@pytest.mark.parametrize(
    ("name", "selection", "gravity"),
    [
        ("planar_3r", ("all",), (0.0, 0.0, 0.0)),
        ("dual_arm_trep", ("all",), (3.0, 1.0, 0.0)),
        ("wheel_3r", ("all",), (1.0, 0.0, 0.0)),
        ("boom_7r", ("all",), EARTH),
        ("boom_7r", ("boom_y", "boom_z", "boom_rx"), EARTH),
        ("boom_7r", ("auto",), EARTH),
    ],
)
def test_the_base_obeys_the_closed_form_whatever_the_arm_does_meanwhile(name, selection, gravity):
    """S [M xdd + D xd + K x + g] + G xd = S H_bm G_m qd, accelerations by MuJoCo under the efforts."""
    rng, robot = np.random.default_rng(0), case(name, selection, gravity)
    model, judge = robot.model, MujocoJudge(robot.model, gravity)
    config = replace(FREE, vibration_gain=0.0, damping_ratio=0.4, joint_damping=1.5, task="joint_path")
    config = replace(config, coupling_threshold=1e-5)
    controller, regular = VibrationController(model, config, robot.selection), 0
    for _ in range(100):
        state = robot.state(rng, swing=0.02)
        wanted = JointReference(0, *rng.normal(size=(3, model.n)))
        joints, reaction = controller.update(state, joints=wanted)
        if reaction.damping > 0.0:
            continue
        regular += 1
        happens, base = judge.acceleration(state, joints.effort)
        assert np.allclose(joints.acceleration, happens, rtol=1e-7, atol=1e-7 * np.abs(happens).max())
        blocks = model.blocks(state)
        weight = model.blocks(replace(robot.at(state.position), deflection=state.deflection))
        S = robot.selection.at(blocks, 0.0, 0.0).rows
        terms = np.array(
            [
                S @ effective_inertia(blocks) @ base,
                S @ model.D_b @ state.deflection_rate,
                S @ model.K_b @ state.deflection,
                S @ weight.c_b,
                torque_law_gain(blocks, model.K_b, S, 0.4) @ state.deflection_rate,
                -1.5 * S @ blocks.H_bm @ state.velocity,
            ]
        )
        assert np.abs(terms.sum(axis=0)).max() < 1e-9 * max(1.0, np.abs(terms).max())
    assert regular > 20


def test_the_gain_gives_the_swing_its_damping_ratio_on_the_effective_inertia():
    robot = case("wheel_3r")
    model, blocks = robot.model, robot.model.blocks(robot.at(np.array([1.0, 0.0, -1.0, -1.0])))
    M, K = effective_inertia(blocks), model.K_b
    G = torque_law_gain(blocks, K, np.eye(2), 0.3)
    poles = np.linalg.eigvals(
        np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, G)]])
    )
    assert np.allclose(-poles.real / np.abs(poles), 0.3)
    assert np.allclose(torque_law_gain(blocks, K, np.eye(2)[1:], 0.3, 7.0), [[0.0, 7.0]])


def test_the_motors_work_and_the_dampers_account_for_the_energy_and_the_gain_for_that_of_the_swing():
    """dE/dt = tau . qd - xd D xd; d/dt (xd M xd + x K x) / 2 = -xd (D + G) xd + xd dM xd / 2."""
    robot = case("planar_3r")
    model, controller = robot.model, VibrationController(robot.model, FREE, robot.selection)

    def moving(y):
        return ArmState(0, y[:3], y[4:7], y[3:4], y[7:8])

    def inertia(state):
        return effective_inertia(model.blocks(state))[0, 0]

    def rate(_, y):
        state = moving(y)
        joints, _ = controller.update(state)
        happens = model.forward_dynamics(state, joints.effort)
        base = model.base_acceleration(model.blocks(state), state, happens)
        step = 1e-6 * state.velocity
        ahead, behind = (inertia(replace(state, position=state.position + s)) for s in (step, -step))
        xd = y[7]
        dissipated = 0.1 * xd**2
        work = joints.effort @ state.velocity - dissipated
        swing = -dissipated - 20.0 * xd**2 + 0.5 * xd**2 * (ahead - behind) / 2e-6
        return np.concatenate((y[4:8], happens, base, [work, swing]))

    begin = np.concatenate((START, [0.05], np.zeros(6)))
    end = solve_ivp(rate, (0.0, 2.0), begin, rtol=1e-10, atol=1e-12).y[:, -1]

    def swing(state):
        return 0.5 * (inertia(state) * state.deflection_rate[0] ** 2 + 100.0 * state.deflection[0] ** 2)

    first, last = moving(begin), moving(end)
    assert total_energy(robot, last) - total_energy(robot, first) == pytest.approx(end[8], abs=1e-9)
    assert swing(last) - swing(first) == pytest.approx(end[9], abs=1e-8)
    assert swing(last) < 1e-3 * swing(first)


def test_an_arm_at_rest_on_bent_springs_is_left_at_rest():
    """What gravity does to the base is not for the arm to make up for: it would have to accelerate for ever."""
    boom = case("boom_7r", ("auto",), EARTH)
    q = np.array([-0.638, 1.929, 1.177, -1.514, -0.918, -1.682, 0.131])
    bent = boom.at(q)
    for _ in range(50):  # a bent base weighs otherwise on its springs
        bent = replace(bent, deflection=-np.linalg.solve(boom.model.K_b, boom.model.blocks(bent).c_b))
    assert np.abs(bent.deflection).max() > 0.01
    controller = VibrationController(boom.model, replace(FREE, vibration_gain=0.0), boom.selection)
    assert np.abs(controller.update(bent)[0].acceleration).max() < 1e-8


def test_the_tool_follows_its_path_and_the_base_stays_where_it_is():
    robot = case("planar_3r")
    first = robot.model.tool_kinematics(robot.at(START), "world")
    axes = np.array([True, True, False, False, False, False])

    def line(time, stamp):
        s, rate, acceleration = fifth_order(time, 2.0)
        way = np.array([-0.3, 0.0, 0.0, 0.0, 0.0, 0.0])
        return CartesianReference(
            stamp, "base_ft", first.position + s * way[:3], first.rotation, rate * way, acceleration * way, axes
        )

    config = replace(FREE, task="tool_path", joint_damping=1.0)
    run = close_loop(robot, config, START, 2.5, goal=line)
    end = run.truth[-1].tool_position_in_base - first.position
    assert np.abs(end - [-0.3, 0.0, 0.0]).max() < 1e-5
    plain = close_loop(robot, replace(config, law="resolved_acceleration"), START, 2.5, goal=line)
    assert np.abs(run.deflection).max() < 1e-3 * np.abs(plain.deflection).max()


def test_joint_servos_lead_the_arm_as_the_bare_efforts_do():
    robot = case("planar_3r")
    runs = [
        close_loop(robot, replace(FREE, realization=realization), START, 1.5, deflection=np.array([0.01]))
        for realization in ("computed_torque", "joint_servo")
    ]
    bare, served = runs
    assert np.abs(bare.deflection).max() == 0.01 and np.abs(bare.deflection[-200:]).max() < 1e-3
    assert np.abs(served.deflection - bare.deflection).max() < 2e-4
    ways = [np.array([truth.position for truth in run.truth]) - START for run in runs]
    assert np.abs(ways[0]).max() > 0.01 and np.abs(ways[1] - ways[0]).max() < 0.02 * np.abs(ways[0]).max()


def test_joint_servos_brake_a_boom_by_the_torque_law_and_stiff_directions_stay_still():
    boom = case("boom_7r", ("auto",))
    config = replace(FREE, task="hold", realization="joint_servo", vibration_gain=0.0, damping_ratio=0.5)
    config = replace(config, joint_damping=0.4, position_gain=100.0, velocity_gain=20.0)
    posture = np.array([0.476, 1.311, -1.378, -1.555, -0.054, -1.214, 0.716])
    swung = np.array([0.0, 5e-3, 5e-3, 0.0, 0.0, 0.0])
    run = close_loop(boom, config, posture, 1.0, deflection=swung, period=0.002)
    energy = 0.5 * np.einsum("ti,ij,tj->t", run.deflection, boom.model.K_b, run.deflection)
    assert np.sqrt(energy[-50:].max() / energy[0]) < 0.03
