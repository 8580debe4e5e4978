"""What bends bounds a stop: against the exact modal solution, MuJoCo's frequencies, and a crane on MuJoCo."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest
import scipy.linalg
from crane import crane_urdf
from robots import URDF
from stopped_crane import PERIOD, stopped_crane

from flexarm_core.hardware_gate import gate as gate_module
from flexarm_core.hardware_gate.config import HardwareGateConfig
from flexarm_core.hardware_gate.gate import HardwareGate
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.softness import Softness, needed_deceleration, softest_period, softness
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import ArmState, JointReference
from flexarm_sim.backends import make_backend
from flexarm_sim.mujoco.model import build_model

LONG = 4.0  # periods that are looked at


def swing(deceleration: np.ndarray, step: float) -> float:
    """Largest deflection of an undamped mode of period 1 over the static one of a deceleration of 1, exactly."""
    flow = np.array([[0.0, 1.0, 0.0], [-((2.0 * np.pi) ** 2), 0.0, (2.0 * np.pi) ** 2], [0.0, 0.0, 0.0]])
    map_, state, largest = scipy.linalg.expm(flow * step), np.zeros(3), 0.0
    for value in deceleration:
        state[2] = value
        state = map_ @ state
        largest = max(largest, abs(state[0]))
    return largest


@pytest.mark.parametrize(("rise", "peak"), [(0.0, 2.0), (0.5, 1.0 + 2.0 / np.pi), (1.0, 1.0)])
def test_a_deceleration_that_rises_within_a_period_does_not_overshoot(rise, peak):
    one, time = np.ones(1), np.arange(0.0, LONG, 1e-3)
    soft = Softness(rise * one, np.inf * one, np.inf * one, 0.0 * one)
    decelerations = np.array([soft.deceleration(one, 0.0 * one, t)[0] for t in time + 5e-4])
    assert swing(decelerations, 1e-3) == pytest.approx(peak, abs=2e-3)


def test_a_stop_that_is_short_beside_the_period_is_an_impulse_whatever_its_shape():
    time = np.arange(0.0, LONG, 1e-3)
    at_once = np.where(time < 0.06, 1.0, 0.0)
    rising = np.where(time < 0.06 * np.sqrt(2.0), time / 0.06, 0.0)  # the same speed is taken away
    assert swing(rising, 1e-3) == pytest.approx(swing(at_once, 1e-3), rel=0.02)


def test_a_stop_takes_as_long_as_its_slowest_joint_with_its_rise_and_its_servo():
    soft = Softness(np.array([0.0, 1.0]), np.array([2.0, 0.5]), np.array([np.inf, 4.0]), np.zeros(2))
    assert soft.stopping_time(np.array([1.0, -0.2]), np.array([1.0, 3.0])) == pytest.approx(0.2 / 0.5 + 1.0 + 2.0 / 4.0)
    assert soft.stopping_time(np.array([-5.0, 0.2]), np.array([1.0, 3.0])) == pytest.approx(5.0 / 1.0)


def test_limits_are_kept_before_the_deceleration_has_risen():
    two = np.ones(2)
    soft = Softness(two, 0.5 * two, np.inf * two, 0.0 * two)
    state = ArmState(0, np.array([0.9, 0.0]), np.array([0.4, 1.2]), np.zeros(0), np.zeros(0))
    needed = needed_deceleration(state, -two, two, two, 3.0 * two)
    assert needed == pytest.approx([0.8, 3.0])  # 0.4^2 / (2 * 0.1); beyond the velocity limit: all
    assert soft.deceleration(3.0 * two, needed, 0.0) == pytest.approx(needed)
    assert soft.deceleration(3.0 * two, 0.0 * two, 0.25) == pytest.approx([0.125, 0.125])
    assert soft.deceleration(3.0 * two, 0.0 * two, 9.0) == pytest.approx([0.5, 0.5])


def weight_slopes(judge: mujoco.MjModel, data: mujoco.MjData, base: list[int], step: float = 1e-5) -> np.ndarray:
    """Stiffness of the weight: what MuJoCo's gravity changes with the deflection of the base."""
    slopes, start = [], data.qpos.copy()
    for i in base:  # joints of one coordinate: positions and velocities have the same places
        sides = []
        for sign in (1.0, -1.0):
            data.qpos[i] = start[i] + sign * step
            mujoco.mj_forward(judge, data)
            sides.append(data.qfrc_bias[base].copy())
        slopes.append((sides[0] - sides[1]) / (2.0 * step))
        data.qpos[:] = start
    return np.array(slopes).T


@pytest.mark.parametrize("name", ["planar_3r", "boom_7r", "trep"])
def test_the_softest_period_of_a_base_is_that_of_mujoco(name):
    model = ArmModel(load_robot_description(URDF / f"{name}.urdf.xacro"))
    judge = build_model(model.description)
    data, longest = mujoco.MjData(judge), 0.0
    lower, upper = np.clip(model.lower, -np.pi, np.pi), np.clip(model.upper, -np.pi, np.pi)
    drawn = np.random.default_rng(0).uniform(lower, upper, (8, model.n))
    base = [judge.jnt_dofadr[judge.joint(joint).id] for joint in model.elastic_joint_names]
    for posture in (0.5 * (lower + upper), *drawn):
        for joint, value in zip(model.joint_names, posture, strict=True):
            data.qpos[judge.jnt_qposadr[judge.joint(joint).id]] = value
        mujoco.mj_forward(judge, data)
        M = np.zeros((judge.nv, judge.nv))
        for row, unit in zip(M, np.eye(judge.nv), strict=True):
            mujoco.mj_mulM(judge, data, row, unit)
        stiffness = model.K_b + weight_slopes(judge, data, base)
        squares = scipy.linalg.eigh(stiffness, M[np.ix_(base, base)], eigvals_only=True)
        longest = max(longest, 2.0 * np.pi / np.sqrt(squares[0]))
    assert softest_period(model) == (pytest.approx(longest, rel=1e-6), 0.0)


@pytest.mark.parametrize("load", [100.0, 200.0, 400.0])
def test_the_softest_period_of_a_boom_counts_its_load(load):
    """A clamped beam with a tip mass: a spring 3 EI / L^3 under the load and 0.24 of the beam's mass."""
    expected = np.sqrt((load + 0.24 * 720.0) / (200.0 + 0.24 * 720.0)) / 0.8
    everything, links = softest_period(ArmModel(crane_urdf(load), "tool0"))
    assert everything == links == pytest.approx(expected, rel=0.01)


def test_what_does_not_bend_stops_as_before_and_soft_bases_are_not_waited_for():
    for name, deceleration in (("planar_3r", 20.0), ("arm_6r", 20.0)):
        model = ArmModel(load_robot_description(URDF / f"{name}.urdf.xacro"))
        n, most = model.n, np.full(model.n, deceleration)
        soft = softness(model, np.full(n, 2.0), most, PERIOD)
        assert np.array_equal(soft.deceleration(most, 0.0 * most, PERIOD), most)
        assert np.isinf(soft.bandwidth).all() and not soft.stiffness.any()
    model = ArmModel(load_robot_description(URDF / "planar_3r.urdf.xacro"))
    slow = softness(model, np.full(3, 2.0), np.full(3, 0.5), PERIOD)
    assert slow.rise == pytest.approx(np.full(3, softest_period(model)[0]))  # a stop of 4 s over a quicker base


@pytest.mark.parametrize("load", [100.0, 400.0])
def test_the_servo_of_a_boom_is_no_softer_than_its_weight_in_any_posture(load):
    """The weight's moment ``w cos q`` and its slope ``-w sin q`` together are ``w``; nothing weighs on the slew."""
    length, mass, hub = 20.0, 720.0, 60.0
    weight = 9.81 * (load * length + 0.5 * (mass + 1.0) * length)
    inertia = load * length**2 + 5.0 + (mass + 1.0) * length**2 / 4.0 + mass * length**2 / 12.0 + hub
    soft = softness(ArmModel(crane_urdf(load), "tool0"), np.full(2, 0.3), np.full(2, 1.0), PERIOD)
    assert soft.stiffness == pytest.approx([0.0, weight / inertia], rel=0.02, abs=1e-9)


def slowest_decay(bandwidth: float) -> float:
    """Rate of the motion that decays slowest: a servo on a hub without inertia, and a link of frequency 1 [1/s].

    The servo moves the hub by ``x``, its link by ``y``: ``(2 w s + w^2) x = y - x`` and ``s^2 y = x - y``.
    """
    w = bandwidth
    flow = np.array([[-(w**2 + 1.0) / (2.0 * w), 1.0 / (2.0 * w), 0.0], [0.0, 0.0, 1.0], [1.0, -1.0, 0.0]])
    return float(-np.linalg.eigvals(flow).real.max())


def test_the_servo_of_a_link_is_the_one_that_damps_it_fastest():
    fastest = max(np.linspace(0.05, 4.0, 80), key=slowest_decay)
    assert fastest == pytest.approx(0.5, abs=0.06)
    assert slowest_decay(0.5) == pytest.approx(0.37, abs=0.005) and slowest_decay(3.0) < 0.025
    model = ArmModel(load_robot_description(URDF / "flexible_2r.urdf.xacro"), gravity=(0.0, 0.0, 0.0))
    soft = softness(model, model.velocity_limit, np.full(2, 20.0), PERIOD)
    assert soft.bandwidth == pytest.approx(0.5 * 2.0 * np.pi / softest_period(model)[1])  # its hubs bear more
    assert soft.slowest < 0.5 / soft.bandwidth.max()


@pytest.mark.parametrize("load", [180.0, 220.0])
def test_a_stop_of_a_crane_ends_at_rest_and_steps_no_effort(load):
    stop = stopped_crane(load)
    assert stop.reason == "no reference" and stop.trips == 0
    assert stop.speed <= 1.0 and stop.last_speed < 0.3
    assert stop.effort <= 0.3 and stop.step <= 0.1


def test_without_its_softness_the_same_crane_is_thrown_about(monkeypatch):
    def rigid(model: ArmModel, velocity: np.ndarray, acceleration: np.ndarray, period: float) -> Softness:
        found = softness(model, velocity, acceleration, period)
        n = np.full(model.n, np.inf)
        return replace(found, rise=0.0 * found.rise, acceleration=n, bandwidth=n, stiffness=0.0 * found.rise)

    monkeypatch.setattr(gate_module, "softness", rigid)
    stop = stopped_crane(200.0, seconds=3.0)
    assert stop.speed > 2.0 and stop.step > 1.0


PUSH, PUSHED, UNSEEN = np.array([-100.0, -36.0]), 0.4, 0.35  # [N*m], [s] for which, [s] without joint states
FADES = 3.5  # [1/s] of the larger one at most: half a period of the links is 0.43 s, and fading begins after 0.075 s


def test_an_arm_whose_links_bend_is_not_thrown_while_nothing_is_measured():
    """What the links have stored is let go slowly; a stop by the rigid model would drive them against it."""
    model = ArmModel(load_robot_description(URDF / "flexible_2r.urdf.xacro"), gravity=(0.0, 0.0, 0.0))
    plant = make_backend("mujoco", model.description, gravity=(0.0, 0.0, 0.0), max_step=PERIOD / 4, segments=6)
    plant.reset(np.array([0.3, 0.5]))
    limits = JointLimits(
        model.lower, model.upper, model.velocity_limit, np.full(2, 20.0), model.effort_limit, np.full(2, np.inf)
    )
    now, command, changes, fastest, newest = [0.0], np.zeros(2), [], 0.0, PUSHED - PERIOD
    gate = HardwareGate(model, limits, HardwareGateConfig(period=PERIOD), clock=lambda: now[0])
    while now[0] < PUSHED + UNSEEN:
        sensed, before, given = plant.sensed(), command, [None]
        if now[0] < PUSHED:
            state = ArmState(round(now[0] * 1e9), sensed.position, sensed.velocity, *np.zeros((2, 0)))
            given = [gate.on_state(state, 0.0), gate.on_reference(JointReference(state.stamp, effort=PUSH))]
        else:
            given = [gate.on_tick()]
            fastest = max(fastest, float(np.max(np.abs(sensed.velocity) / model.velocity_limit)))
        command = next((one for one in reversed(given) if one is not None), command)
        if now[0] >= PUSHED and command is not before:
            changes.append(np.abs(command - before) / (now[0] - newest))
            newest = now[0]
        plant.step(command, PERIOD)
        now[0] += PERIOD
    assert gate.status.stops == 1
    assert gate.status.blind
    assert np.max(changes) <= FADES * np.abs(PUSH).max()
    assert fastest <= 1.1


LED, PACE, STRENGTH = 0.8, 1.2, 25.0  # [rad], [rad/s], [rad/s]: how far beyond a limit a joint is led, and how
OVERRUN = 0.02  # [s] at the velocity limit, as in the campaign of faults


def test_a_path_beyond_a_position_limit_does_not_lead_a_joint_beyond_it_whose_links_bend():
    """The law pushes on, as it knows no limits; what the links have stored pushes with it."""
    model = ArmModel(load_robot_description(URDF / "flexible_2r.urdf.xacro"), gravity=(0.0, 0.0, 0.0))
    plant = make_backend("mujoco", model.description, gravity=(0.0, 0.0, 0.0), max_step=PERIOD / 4, segments=6)
    led, reach = np.array([0.0, 1.0]), 0.5 * STRENGTH**-2 * np.full(2, 20.0)
    start = np.array([0.4, model.upper[1] - 0.6 * PACE])
    plant.reset(start)
    limits = JointLimits(
        model.lower, model.upper, model.velocity_limit, np.full(2, 20.0), model.effort_limit, np.full(2, np.inf)
    )
    gate, farthest = HardwareGate(model, limits, HardwareGateConfig(period=PERIOD)), -np.inf
    for tick in range(round(2.0 / PERIOD)):
        sensed, ahead = plant.sensed(), min(PACE * tick * PERIOD, 0.6 * PACE + LED)
        state = ArmState(tick * round(1e9 * PERIOD), sensed.position, sensed.velocity, *np.zeros((2, 0)))
        error = np.clip(start + ahead * led - sensed.position, -reach, reach)
        asked = STRENGTH**2 * error + 2.0 * STRENGTH * (PACE * led * (ahead > 0.0) - sensed.velocity)
        blocks = model.blocks(state)
        reference = JointReference(state.stamp, effort=blocks.H_m @ asked + blocks.c_m)
        given = [gate.on_state(state, 0.0), gate.on_reference(reference)]
        plant.step(next((one for one in reversed(given) if one is not None), np.zeros(2)), PERIOD)
        farthest = max(farthest, sensed.position[1] - model.upper[1])
    assert gate.status.stops == 0
    assert 0.0 < farthest <= OVERRUN * model.velocity_limit[1]


STOPPING, LOOKED, RESTS = 1.6, 1.0, 0.05  # [s] for the stop, and at rest afterwards: up to which share of the limit


@pytest.mark.parametrize("push", [(100.0, 40.0), (60.0, -30.0)])
def test_a_stop_damps_links_that_bend(push):
    """The links store what the push gave them; a joint held stiffly would only clamp them, and they swing on."""
    model = ArmModel(load_robot_description(URDF / "flexible_2r.urdf.xacro"), gravity=(0.0, 0.0, 0.0))
    plant = make_backend("mujoco", model.description, gravity=(0.0, 0.0, 0.0), max_step=PERIOD / 4, segments=6)
    plant.reset(np.array([0.3, 0.5]))
    limits = JointLimits(
        model.lower, model.upper, model.velocity_limit, np.full(2, 20.0), model.effort_limit, np.full(2, np.inf)
    )
    gate, command, shares = HardwareGate(model, limits, HardwareGateConfig(period=PERIOD)), np.zeros(2), []
    for tick in range(round((PUSHED + STOPPING + LOOKED) / PERIOD)):
        sensed = plant.sensed()
        state = ArmState(tick * round(1e9 * PERIOD), sensed.position, sensed.velocity, *np.zeros((2, 0)))
        given = [gate.on_state(state, 0.0)]
        if tick * PERIOD < PUSHED:
            given.append(gate.on_reference(JointReference(state.stamp, effort=np.array(push))))
        elif gate.status.stops == 0:
            given.append(gate.on_unusable_reference("no reference"))
        command = next((one for one in reversed(given) if one is not None), command)
        plant.step(command, PERIOD)
        shares.append(float(np.max(np.abs(sensed.velocity) / model.velocity_limit)))
    assert gate.status.stops == 1
    assert max(shares[: round(PUSHED / PERIOD)]) > 0.3
    assert max(shares[-round(LOOKED / PERIOD) :]) <= RESTS


def test_a_stop_of_links_that_bend_over_an_elastic_base_ends_at_rest():
    """So slow a servo moves the whole arm, not a fifteenth of it as it would if the mast gave way: it took 1.2 s."""
    model = ArmModel(load_robot_description(URDF / "flexible_3r.urdf.xacro"), gravity=(0.0, 0.0, 0.0))
    plant = make_backend("flexible_dynamics", model.description, gravity=(0.0, 0.0, 0.0), max_step=PERIOD / 4)
    plant.reset(np.array([-0.3, 0.6, 0.4]), np.array([0.0, 0.15, -0.1]) * model.velocity_limit)
    limits = JointLimits(
        model.lower, model.upper, model.velocity_limit, np.full(3, 20.0), model.effort_limit, np.full(3, np.inf)
    )
    gate, command, shares = HardwareGate(model, limits, HardwareGateConfig(period=PERIOD)), np.zeros(3), []
    for tick in range(round(STOPPING / PERIOD)):
        sensed = plant.sensed()
        state = ArmState(
            tick * round(1e9 * PERIOD), sensed.position, sensed.velocity, sensed.deflection, sensed.deflection_rate
        )
        given = [gate.on_state(state, 0.0)]
        if tick < 20:
            given.append(gate.on_reference(JointReference(state.stamp, effort=np.zeros(3))))
        elif gate.status.stops == 0:
            given.append(gate.on_unusable_reference("no reference"))
        command = next((one for one in reversed(given) if one is not None), command)
        plant.step(command, PERIOD)
        shares.append(float(np.max(np.abs(sensed.velocity) / model.velocity_limit)))
    assert gate.status.stops == 1
    assert max(shares[round(0.6 / PERIOD) :]) <= RESTS
