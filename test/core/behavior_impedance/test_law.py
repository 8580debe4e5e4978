"""The law on moving arms: against its differential equation, its energy, and what it promises of each space."""

from __future__ import annotations

import numpy as np
import pytest
from law_cases import MIDDLE, arm, controller, coupled, definite, displace
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.behavior import BehaviorSpec
from flexarm_core.behavior_impedance.config import ImpedanceConfig
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController

TICK = 0.002
SIZES = np.array([5.0, 5.0, 5.0, 0.2, 0.2, 0.2])
HEAVY, SOFT = np.repeat((60.0, 3.0), 3), np.repeat((500.0, 25.0), 3)
STILL = np.zeros(6)


def matrices(config):
    return [np.reshape(matrix, (6, 6)) for matrix in (config.inertia, config.damping, config.stiffness)]


def spring(K, way, turn):
    """Gradient of ``e K e / 2``, by differences on SO(3): nothing of the law's own formula."""
    gradient, h = np.zeros(6), 1e-6
    for i in range(6):
        values = []
        for sign in (1.0, -1.0):
            d = np.zeros(6)
            d[i] = sign * h
            phi = (Rotation.from_rotvec(d[3:]) * Rotation.from_rotvec(turn)).as_rotvec()
            e = np.concatenate((way + d[:3], phi))
            values.append(0.5 * e @ K @ e)
        gradient[i] = (values[0] - values[1]) / (2.0 * h)
    return gradient


def integrated(config, way, turn, time):
    """Error (6,) after a time from rest, by scipy, with the rotation as a quaternion."""
    M, B, K = matrices(config)

    def rate(_, z):
        rotation = Rotation.from_quat(z[3:7])
        V = z[7:]
        w = V[3:]
        x, y, z4, s = z[3:7]
        dq = 0.5 * np.array(
            [
                s * w[0] + w[1] * z4 - w[2] * y,
                s * w[1] + w[2] * x - w[0] * z4,
                s * w[2] + w[0] * y - w[1] * x,
                -(w @ z[3:6]),
            ]
        )
        force = -B @ V - spring(K, z[:3], rotation.as_rotvec())
        return np.concatenate((V[:3], dq, np.linalg.solve(M, force)))

    start = np.concatenate((way, Rotation.from_rotvec(turn).as_quat(), np.zeros(6)))
    z = solve_ivp(rate, (0.0, time), start, rtol=1e-9, atol=1e-11).y[:, -1]
    return np.concatenate((z[:3], Rotation.from_quat(z[3:7]).as_rotvec()))


def test_a_small_free_response_is_the_analytic_oscillator():
    rng = np.random.default_rng(0)
    config = coupled(rng, SIZES, HEAVY, SOFT)
    M, B, K = matrices(config)
    z = np.concatenate((1e-4 * rng.normal(size=6), np.zeros(6)))
    made = controller(arm("panda"), MIDDLE["panda"], config)
    displace(made, z[:3], z[3:6])
    flow = np.block([[np.zeros((6, 6)), np.eye(6)], [-np.linalg.solve(M, K), -np.linalg.solve(M, B)]]) * TICK
    once, size = expm(flow), np.abs(z).max()
    for tick in range(400):
        out, z = made.update(tick, TICK, STILL), once @ z
        # the rotation vector's own nonlinearity is of second order in an amplitude of 1e-4
        assert np.abs(out.error - z[:6]).max() < 1e-6 * size + 20.0 * size**2


@pytest.mark.parametrize("seed", range(3))
def test_a_free_response_with_large_turns_is_that_of_the_differential_equation_on_se3(seed):
    rng = np.random.default_rng(seed)
    config = coupled(rng, SIZES, HEAVY, SOFT)
    way, turn = 0.03 * rng.normal(size=3), rng.normal(size=3)
    turn *= 0.8 / np.linalg.norm(turn)
    wanted = integrated(config, way, turn, 0.2)
    errors = []
    for dt in (0.004, 0.002, 0.001):
        made = controller(arm("panda"), MIDDLE["panda"], config)
        displace(made, way, turn)
        for tick in range(round(0.2 / dt)):
            out = made.update(tick, dt, STILL)
        errors.append(np.abs(out.error - wanted).max())
    assert errors[-1] < 2e-5 and errors[1] < 0.5 * errors[0] and errors[2] < 0.5 * errors[1]


def test_the_energy_never_grows_with_set_points_that_rest():
    rng, samples = np.random.default_rng(4), 0
    for case in range(150):
        inertia = np.repeat(10.0 ** rng.uniform(-1, 1.5, 2), 3) * np.repeat((1.0, 0.05), 3)
        config = coupled(rng, inertia, inertia * 10.0 ** rng.uniform(-1, 3), inertia * 10.0 ** rng.uniform(0, 4.5))
        M, _, K = matrices(config)
        name = ("panda", "iiwa", "arm_7r", "arm_6r")[case % 4]
        made = controller(arm(name), MIDDLE[name], config)
        turn = rng.normal(size=3)
        turn *= rng.uniform(0.0, 1.0) / np.linalg.norm(turn)
        displace(made, 0.03 * rng.normal(size=3), turn)
        before = np.inf
        for tick in range(60):
            out = made.update(tick, TICK, STILL)
            if np.abs(made.solver.error).max() > 1e-9:
                break  # the arm's end, not the law's
            energy = 0.5 * out.twist @ M @ out.twist + 0.5 * out.error @ K @ out.error
            assert energy <= before * (1.0 + 1e-9) + 1e-12, (case, tick)
            before, samples = energy, samples + 1
    assert samples > 5000


def test_a_constant_wrench_leads_to_the_static_deflection():
    rng = np.random.default_rng(5)
    config = coupled(rng, SIZES, 3.0 * HEAVY, 4.0 * SOFT)
    wrench = np.array([6.0, -4.0, 3.0, 0.2, -0.3, 0.1])
    made = controller(arm("panda"), MIDDLE["panda"], config)
    for tick in range(2500):
        out = made.update(tick, TICK, wrench)
    assert np.allclose(spring(matrices(config)[2], out.error[:3], out.error[3:]), wrench, atol=1e-5)


@pytest.mark.parametrize("variant", ["acceleration", "velocity"])
def test_a_path_is_followed_exactly_where_nothing_pushes(variant):
    made = controller(arm("panda"), MIDDLE["panda"], ImpedanceConfig(variant=variant))
    goal = {"positions": [0.08, 0.1, -0.05, 0.0, 0.0, 0.0], "rpys": [3.0, 0.2, 0.3, 3.1, 0.0, 0.1], "relative": True}
    made.set_behaviors([BehaviorSpec("path", "path", goal | {"max_linear_velocity": 0.4})])
    for tick in range(3000):
        out = made.update(tick * 2_000_000, TICK, STILL)
        assert np.abs(out.error).max() < 1e-6  # of the begin, where the path has had no past
    assert np.abs(out.error).max() < 1e-10
    assert made.behaviors[0].behavior.note() == "at its end"


def test_the_velocity_variant_follows_its_first_order_equation():
    config = ImpedanceConfig(variant="velocity")
    _, B, K = matrices_of_diagonals(config)
    made = controller(arm("panda"), MIDDLE["panda"], config)
    way = np.array([0.02, -0.01, 0.015])
    displace(made, way, np.zeros(3))
    e = np.concatenate((way, np.zeros(3)))
    for tick in range(200):
        out, e = made.update(tick, TICK, STILL), expm(-np.linalg.solve(B, K) * TICK) @ e
        assert np.abs(out.error - e).max() < 1e-6


def matrices_of_diagonals(config):
    return [np.diag(diagonal) for diagonal in (config.inertia, config.damping, config.stiffness)]


def test_matrices_in_tool_axes_are_those_in_base_axes_turned():
    rng = np.random.default_rng(6)
    M, B, K = (definite(rng, size, 0.5) for size in (SIZES, HEAVY, SOFT))
    R = np.kron(np.eye(2), arm("panda").chain.pose(np.array(MIDDLE["panda"]))[1])
    ends = []
    for frame, turn in (("tool", np.eye(6)), ("base", R)):
        parts = [tuple((turn @ matrix @ turn.T).ravel()) for matrix in (M, B, K)]
        made = controller(arm("panda"), MIDDLE["panda"], ImpedanceConfig(*parts, frame=frame))
        for tick in range(300):
            out = made.update(tick, TICK, np.array([5.0, 3.0, -4.0, 0.3, 0.2, -0.1]))
        ends.append(out.error)
    assert np.allclose(*ends, atol=1e-12) and np.abs(ends[0]).max() > 1e-3


def test_efforts_in_the_redundant_space_move_the_joints_and_not_the_tool():
    made = controller(arm("panda"), MIDDLE["panda"])
    aim = np.array(MIDDLE["panda"]) + np.array([0.4, 0.2, -0.3, 0.1, 0.2, 0.1, -0.2])
    made.set_behaviors([BehaviorSpec("posture", "posture", {"position": list(aim), "stiffness": [60.0]})])
    position, rotation = made.arm.chain.pose(np.array(MIDDLE["panda"]))
    for tick in range(2000):
        out = made.update(tick, TICK, STILL)
        assert np.abs(out.position - position).max() < 1e-9 and np.abs(out.rotation - rotation).max() < 1e-9
    _, _, J = made.arm.chain.kinematics(made.solver.position)
    null = np.linalg.svd(J)[2][6:]
    assert np.abs(made.solver.position - MIDDLE["panda"]).max() > 0.1
    assert np.abs(null @ (aim - made.solver.position)).max() < 1e-3  # as near as the tool allows


def test_a_force_is_exerted_exactly_whatever_the_stiffness_of_what_is_touched():
    for stiffness in (1e3, 1e4, 1e5):
        made, damping = controller(arm("panda"), MIDDLE["panda"]), max(0.03 * stiffness, 300.0)
        start = made.output.position.copy()
        made.set_behaviors(
            [
                BehaviorSpec("path", "path", {"positions": [0.0, 0.1, 0.0], "relative": True, "start": 1.0}),
                BehaviorSpec(
                    "press", "force", {"wrench": [0.0, 0.0, -20.0, 0.0, 0.0, 0.0], "damping": [damping, 50.0]}
                ),
            ]
        )
        wrench = np.zeros(6)
        for tick in range(2500):
            out = made.update(tick * 2_000_000, TICK, wrench)
            wrench[2] = stiffness * max(0.0, start[2] - 0.005 - out.position[2])
        assert wrench[2] == pytest.approx(20.0, rel=1e-6)
        assert out.position[1] == pytest.approx(start[1] + 0.1, abs=1e-9)  # the path goes on where it is free to


def test_what_is_said_is_what_the_joints_do():
    made = controller(arm("panda", 20.0, None), MIDDLE["panda"])
    specs = [
        BehaviorSpec("path", "path", {"positions": [0.1, 0.1, -0.1], "relative": True, "repeats": True}),
        BehaviorSpec("dither", "dither", {"amplitude": [0.001, 0.0, 0.002, 0.01, 0.0, 0.0]}),
        BehaviorSpec("spring", "spring", {"stiffness": [200.0, 0.0, 0.0, 3.0, 0.0, 0.0]}),
    ]
    made.set_behaviors(specs)
    before, was = made.output, made.solver.position
    for tick in range(1500):
        out = made.update(tick * 2_000_000, TICK, STILL)
        position, rotation = made.arm.chain.pose(made.solver.position)
        assert np.allclose(position, out.position, atol=1e-12) and np.allclose(rotation, out.rotation, atol=1e-12)
        mean = 0.5 * (out.twist + before.twist)[:3]
        assert np.abs((out.position - before.position) / TICK - mean).max() < 1e-3
        assert np.allclose(made.solver.velocity * TICK, made.solver.position - was, atol=1e-15)
        before, was = out, made.solver.position


def test_a_tool_whose_joints_cannot_follow_has_the_velocity_that_they_have():
    eager = ImpedanceConfig(damping=(20.0,) * 3 + (5.0,) * 3, transition_acceleration=(1e6, 1e6, 1e6))
    made = controller(arm("panda", 5.0, None), MIDDLE["panda"], eager)
    pull = {"position": [0.1, 0.6, 0.9], "stiffness": [5e4] * 3 + [0.0] * 3, "max_force": 5e3}
    made.set_behaviors([BehaviorSpec("pull", "spring", pull)])
    cut = 0
    for tick in range(600):
        out = made.update(tick * 2_000_000, TICK, STILL)
        J = made.arm.chain.kinematics(made.solver.position)[2]
        actual = J @ made.solver.velocity
        assert np.linalg.norm((out.twist - actual)[:3]) < 0.05 + 0.1 * np.linalg.norm(actual[:3])
        cut += bool(made.solver.status().cut)
    assert cut > 50


def test_without_settings_of_the_mapping_the_controller_takes_the_usual_ones():
    made = BehaviorImpedanceController(arm("panda"), ImpedanceConfig())
    made.begin(np.array(MIDDLE["panda"]))
    assert not made.update(1, TICK, STILL).held
    assert made.solver.config.objective_time_constant == 0.0
