"""Friction in the joints of both backends against closed forms, scipy and Pinocchio."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from flexarm_core.errors import ConfigError
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_sim.backend import Backend
from flexarm_sim.backends import BACKENDS, make_backend
from flexarm_sim.drives import DriveConfig
from flexarm_sim.friction.friction import JointFriction
from flexarm_sim.plant import Plant, PlantConfig

MASS = 3.0  # [kg] of the slider of one_joint
LEVEL = (0.0, 0.0, -9.81)
SLOPE = (0.0, 5.0, -9.81)  # 15 N along the slider
FULL = JointFriction(
    coulomb=(6.0,),
    stiction=(8.0,),
    viscous=(3.0,),
    stribeck_velocity=(0.02,),
    position_amplitude=(2.0,),
    position_period=(0.5,),
    position_phase=(0.4,),
)

# A mass of 2 kg on a spring of 200 N/m, dragged by a belt so heavy that nothing slows it.
BELT = """
<robot name="belt">
  <link name="ground"/>
  <joint name="spring" type="prismatic">
    <parent link="ground"/><child link="cart"/><axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="9" velocity="9"/>
  </joint>
  <link name="cart">
    <inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <joint name="rub" type="prismatic">
    <parent link="cart"/><child link="belt"/><axis xyz="1 0 0"/><limit lower="-9" upper="9" effort="9" velocity="9"/>
  </joint>
  <link name="belt">
    <inertial><mass value="1e9"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <flexibility><elastic_joint name="spring" stiffness="200" damping="1"/></flexibility>
</robot>"""


@pytest.fixture(params=BACKENDS)
def slide(request: Any, one_joint: Any) -> Callable[..., Backend]:
    """A mass on a slide with friction: ``slide(friction, gravity)``."""

    def make(friction: JointFriction | None, gravity: tuple[float, ...] = LEVEL) -> Backend:
        return make_backend(request.param, one_joint(kind="prismatic"), gravity=gravity, friction=friction)

    return make


def spread(state: Any, friction: JointFriction) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Dry level now, level at rest and viscous effort by joint."""
    zeros = np.zeros(len(state.position))
    c, s, b, w, a, p, phase = (
        zeros + getattr(friction, name)
        for name in (
            "coulomb", "stiction", "viscous", "stribeck_velocity", "position_amplitude", "position_period",
            "position_phase",
        )
    )  # fmt: skip
    wave = a * np.sin(2 * np.pi * state.position / p + phase)
    return c + (s - c) * np.exp(-((state.velocity / w) ** 2)) + wave, s + wave, b * state.velocity


def test_on_a_slope_a_mass_sticks_for_good_up_to_the_stiction_and_not_above(slide: Any) -> None:
    """15.01 N hold 15 N without any creep, 14.99 N do not, and the mass then speeds away from the Coulomb level."""
    held = slide(JointFriction((8.0,), (15.01,), (), (0.05,)), SLOPE)
    for _ in range(1500):
        held.step([0.0], 0.001)
    assert abs(held.state().position[0]) < 1e-12 and abs(held.state().velocity[0]) < 1e-12
    assert held.state().friction[0] == pytest.approx(15.0, rel=1e-12)
    assert held.state().acceleration[0] == pytest.approx(0.0, abs=1e-9)
    gone = slide(JointFriction((8.0,), (14.99,), (), (0.05,)), SLOPE)
    for _ in range(1500):
        gone.step([0.0], 0.001)
    assert gone.state().acceleration[0] == pytest.approx((15.0 - 8.0) / MASS, rel=1e-9)


def test_a_sliding_mass_stops_where_coulomb_and_viscous_friction_say_and_stays(slide: Any) -> None:
    """m v' = -C - B v: v = (v0 + C/B) e^(-B t/m) - C/B."""
    c, b, start = 6.0, 4.0, 2.0
    backend = slide(JointFriction((c,), (), (b,)))
    backend.reset(velocity=[start])
    stop = MASS / b * np.log(1.0 + b * start / c)
    way = MASS / b * (start + c / b) * (1.0 - np.exp(-b / MASS * stop)) - c / b * stop
    for tick in range(1, 1000):
        backend.step([0.0], 0.001)
        state, time = backend.state(), tick * 0.001
        expected = (start + c / b) * np.exp(-b / MASS * time) - c / b if time < stop else 0.0
        assert state.velocity[0] == pytest.approx(expected, abs=2e-8)
    assert state.position[0] == pytest.approx(way, abs=5e-8)
    assert state.friction[0] == pytest.approx(0.0, abs=1e-12)  # nothing pulls any more


def test_break_away_comes_at_the_stiction_of_the_place(slide: Any) -> None:
    """A load that grows by 1 mN a millisecond, at places of other friction, both ways."""
    for place in (0.0, 0.1, 0.2, 0.35):
        for sign in (1.0, -1.0):
            backend = slide(FULL)
            backend.reset(position=[place])
            stiction = 8.0 + 2.0 * np.sin(2 * np.pi * place / 0.5 + 0.4)
            load = stiction - 0.05
            while backend.state().velocity[0] * sign < 1e-7 and load < stiction + 1.0:
                assert abs(backend.state().position[0] - place) < 1e-12
                load += 0.001
                backend.step([sign * load], 0.001)
            assert load == pytest.approx(stiction, abs=0.002)


def test_slow_even_motion_measures_the_stribeck_curve(slide: Any) -> None:
    """A servo stiff enough to keep the motion even; 25 % drop over 0.02 m/s."""
    friction = JointFriction((6.0,), (8.0,), (3.0,), (0.02,))
    for speed in (0.002, 0.01, 0.02, 0.04, 0.1, -0.01, -0.1):
        backend = slide(friction)
        expected = np.sign(speed) * (6.0 + 2.0 * np.exp(-((speed / 0.02) ** 2))) + 3.0 * speed
        backend.reset([-expected / 2e4], [speed])  # no long wait until the servo pulls
        for tick in range(1500):
            state = backend.state()
            effort = 2e4 * (speed * tick * 2.5e-4 - state.position[0]) + 300.0 * (speed - state.velocity[0])
            backend.step([effort], 0.00025)
        assert backend.state().velocity[0] == pytest.approx(speed, rel=1e-6)
        assert effort == pytest.approx(expected, rel=1e-5)
        assert backend.state().friction[0] == pytest.approx(expected, rel=1e-5)


def belt_reference(friction: JointFriction, speed: float, end: float, times: np.ndarray) -> tuple[np.ndarray, list]:
    """Place of the mass at times, and intervals in which it sticks; event by event with tolerances of 1e-11."""
    c, s, w = friction.coulomb[0], friction.stiction[0], friction.stribeck_velocity[0]

    def slip(_t: float, y: np.ndarray) -> list[float]:
        relative = speed - y[1]
        level = c + (s - c) * np.exp(-((relative / w) ** 2))
        return [y[1], (-200.0 * y[0] - y[1] + level) / 2.0]

    def stick(_t: float, y: np.ndarray) -> list[float]:
        return [speed, 0.0]

    def caught(_t: float, y: np.ndarray) -> float:
        return speed - y[1]

    def torn(_t: float, y: np.ndarray) -> float:
        return s - 200.0 * y[0] - speed

    caught.terminal = torn.terminal = True  # type: ignore[attr-defined]
    caught.direction = torn.direction = -1  # type: ignore[attr-defined]
    places, sticking, now, y, sticks = np.zeros(len(times)), [], 0.0, np.array([0.0, speed]), True
    while now < end:
        rule, event = (stick, torn) if sticks else (slip, caught)
        part = solve_ivp(rule, (now, end), y, "DOP853", events=event, rtol=1e-11, atol=1e-13, dense_output=True)
        inside = (times >= now) & (times <= part.t[-1])
        places[inside] = part.sol(times[inside])[0]
        if sticks:
            sticking.append((now, part.t[-1]))
        now, y, sticks = part.t[-1], part.y[:, -1], not sticks
        if not sticks:
            y[1] -= 1e-9  # off the edge, on the side to which it is torn
    return places, sticking


@pytest.mark.parametrize("backend_name", BACKENDS)
def test_stick_slip_of_a_mass_on_a_belt_is_that_of_an_event_by_event_solution(backend_name: str) -> None:
    friction, speed = JointFriction((6.0,), (8.0,), (), (0.02,)), 0.05
    backend = make_backend(backend_name, parse_robot_description(BELT), friction=friction)
    backend.reset(velocity=[0.0], deflection_rate=[speed])
    times = np.arange(1, 3001) * 0.001
    expected, sticking = belt_reference(friction, speed, times[-1], times)
    assert len(sticking) >= 4  # several cycles, or nothing is shown
    place, relative = np.zeros(len(times)), np.zeros(len(times))
    for tick in range(len(times)):
        backend.step([0.0], 0.001)
        state = backend.state()
        place[tick], relative[tick] = state.deflection[0], state.velocity[0]
    swing = np.ptp(expected)
    assert np.abs(place - expected).max() < 1e-4 * swing
    well_inside = np.any([(times > a + 0.005) & (times < b - 0.005) for a, b in sticking], axis=0)
    assert np.abs(relative[well_inside]).max() < 1e-7


@pytest.mark.parametrize("name", ["planar_3r", "arm_7r", "tree"])
@pytest.mark.parametrize("backend_name", BACKENDS)
def test_every_joint_obeys_coulombs_law_under_the_accelerations_of_pinocchio(
    repository_robot: Any, spatial_tree: Any, newton_euler: Any, name: str, backend_name: str
) -> None:
    """Random states, some joints at rest: those that slide are braked by their level, those at rest hold or break."""
    robot = spatial_tree(1) if name == "tree" else repository_robot(name)
    friction = replace(FULL, position_period=(2.0,))
    backend, reference, draw = (
        make_backend(backend_name, robot, friction=friction), newton_euler(robot), np.random.default_rng(4),
    )  # fmt: skip
    n, m, held, broken = len(backend.joint_names), len(backend.elastic_joint_names), 0, 0
    for _ in range(60):
        rest = draw.random(n) < 0.6
        velocity = np.where(rest, 0.0, draw.choice((-1.0, 1.0), n) * draw.uniform(0.3, 2.0, n))
        _, bias = backend.joint_dynamics()
        backend.reset(draw.uniform(-2, 2, n), velocity, np.zeros(m), np.zeros(m), 0.5 * bias + draw.uniform(-15, 15, n))
        state = backend.state()
        level, at_rest, viscous = spread(state, friction)
        arm, _ = reference.acceleration(replace(state, effort=state.effort - state.friction), {})
        assert np.allclose(state.acceleration, arm, rtol=0.0, atol=1e-8 * (1.0 + np.abs(arm).max()))
        wanted = np.sign(velocity) * level + viscous
        assert np.allclose(state.friction[~rest], wanted[~rest], rtol=1e-4, atol=1e-5)
        stays = rest & (np.abs(arm) < 1e-7 * (1.0 + np.abs(arm).max()))
        breaks = rest & ~stays
        assert (np.abs(state.friction)[stays] <= at_rest[stays] + 1e-9).all()
        assert np.allclose(np.sign(arm[breaks]) * state.friction[breaks], at_rest[breaks], rtol=1e-4)
        held, broken = held + stays.sum(), broken + breaks.sum()
    assert held > 10 and broken > 10


@pytest.mark.parametrize("name", ["planar_3r", "arm_7r"])
@pytest.mark.parametrize("backend_name", BACKENDS)
def test_friction_only_takes_energy(repository_robot: Any, newton_euler: Any, name: str, backend_name: str) -> None:
    """Work of the motors less what the arm holds never falls, step by step, through many stops and reversals."""
    robot = repository_robot(name, {'damping="0.1"': 'damping="0"'} if name == "planar_3r" else {})
    friction = replace(FULL, coulomb=(4.0,), stiction=(5.0,), viscous=(0.5,), position_period=(1.0,))
    backend, reference, draw = (
        make_backend(backend_name, robot, friction=friction), newton_euler(robot), np.random.default_rng(1),
    )  # fmt: skip
    n = len(backend.joint_names)
    backend.reset(np.linspace(0.2, 0.8, n))
    amplitude, phase = draw.uniform(8.0, 16.0, n), draw.uniform(0.0, 6.0, n)
    before, stops, lost = backend.state(), 0, []
    for tick in range(1500):
        effort = backend.joint_dynamics()[1] + amplitude * np.sin(2.0 * np.pi * 3.0 * tick * 0.001 + phase)
        backend.step(effort, 0.00025)
        after = backend.state()
        work = effort @ (after.position - before.position)
        lost.append(work - (reference.energy(after) - reference.energy(before)))
        stops += int(((np.abs(before.velocity) > 1e-3) & (np.abs(after.velocity) < 1e-5)).sum())
        before = after
    assert min(lost) > -1e-6 * max(lost)
    assert sum(lost) > 0.1 and stops >= 3


def test_a_joint_that_turns_within_one_step_loses_energy_too(slide: Any) -> None:
    """Braked by 100 N on its way there and back, whatever sign its speed has at the end of the step."""
    for start in np.linspace(0.005, 0.07, 14):
        backend = slide(JointFriction((100.0,)))
        backend.reset(velocity=[start])
        backend.step([-1000.0], 0.00025)
        state = backend.state()
        end = state.velocity[0]
        assert end < 0.0
        lost = -1000.0 * state.position[0] - 0.5 * MASS * (end**2 - start**2)
        way = 0.5 * 0.00025 * (start**2 + end**2) / (start - end)
        assert -1e-15 < lost <= 100.0 * way


@pytest.mark.parametrize(
    ("name", "settings", "bound"),
    [
        ("planar_3r", {}, 1e-10),
        ("arm_7r", {}, 1e-7),
        ("flexible_3r", {"max_step": 1e-4, "segments": 8}, 1e-6),  # its links ring under the joint that slides
    ],
)
@pytest.mark.parametrize("backend_name", BACKENDS)
def test_joints_that_stick_do_not_creep_while_others_swing(
    repository_robot: Any, backend_name: str, name: str, settings: Any, bound: float
) -> None:
    """The first joint is thrown to and fro, the others hold it; gravity, Coriolis and centrifugal loads change."""
    robot = repository_robot(name)
    n = len(robot.actuated)
    friction = JointFriction((1.0, *[1e4] * (n - 1)), (1.2, *[1.2e4] * (n - 1)), (), (0.1,))
    backend = make_backend(backend_name, robot, friction=friction, **settings)
    start = np.linspace(0.3, 0.9, n)
    backend.reset(start)
    bias, travel, drift = backend.joint_dynamics()[1][0], 0.0, 0.0
    for tick in range(500):
        swing = 20.0 * np.sin(4.0 * np.pi * tick * 0.001)
        backend.step([bias + swing, *[0.0] * (n - 1)], 0.001)
        moved = np.abs(backend.state().position - start)
        travel, drift = max(travel, moved[0]), max(drift, moved[1:].max())
    assert travel > 0.01
    assert drift < bound


def test_both_backends_agree_through_stops_and_reversals(repository_robot: Any) -> None:
    robot = repository_robot("arm_7r")
    friction = replace(FULL, position_period=(1.0,))
    one, other = (make_backend(name, robot, friction=friction) for name in BACKENDS)
    for backend in (one, other):
        backend.reset(np.linspace(0.2, 0.8, 7))
    for tick in range(400):
        effort = one.joint_dynamics()[1] + 15.0 * np.sin(0.02 * tick + np.arange(7.0))
        for backend in (one, other):
            backend.step(effort, 0.001)
    assert np.allclose(one.state().position, other.state().position, rtol=0.0, atol=1e-9)
    assert np.allclose(one.state().friction, other.state().friction, rtol=0.0, atol=1e-6)


def test_the_servo_of_the_drives_does_not_know_of_it(repository_robot: Any) -> None:
    """joint_dynamics stay those of a plant without friction, so that a position drive holds with an error."""
    robot = repository_robot("arm_7r")
    smooth, rough = (make_backend("mujoco", robot, friction=friction) for friction in (None, FULL))
    for backend in (smooth, rough):
        backend.reset(np.full(7, 0.3), np.full(7, 0.5))
    for one, other in zip(smooth.joint_dynamics(), rough.joint_dynamics(), strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(smooth.state().friction, np.zeros(7))
    plant = Plant(robot, rough, PlantConfig(drive=DriveConfig("position", 50.0)))
    for _ in range(500):
        plant.advance(np.full(7, 1e-4))
    assert 1e-5 < np.abs(plant.state().position - 1e-4).max() <= 1.01e-4


def test_friction_changes_from_the_next_step_on_and_adds_to_that_of_the_description(one_joint: Any) -> None:
    robot = one_joint(kind="prismatic", dynamics='<dynamics friction="2.0"/>')
    backend = make_backend("mujoco", robot, friction=JointFriction((4.0,)))
    for _ in range(100):
        backend.step([5.9], 0.001)
    assert abs(backend.state().position[0]) < 1e-3  # held by 4 N here and 2 N there
    backend.change_friction(JointFriction((1.0,)))
    for _ in range(200):
        backend.step([6.0], 0.001)
    assert backend.state().acceleration[0] == pytest.approx((6.0 - 3.0) / MASS, rel=0.02)
    with pytest.raises(ConfigError, match="stiction is 0"):
        backend.change_friction(JointFriction((1.0,), (0.0,)))
    assert backend.state().friction[0] == pytest.approx(1.0, rel=1e-9)


def test_a_reset_forgets_what_stuck(slide: Any) -> None:
    fresh, used = slide(FULL, SLOPE), slide(FULL, SLOPE)
    used.reset(velocity=[0.3])
    for _ in range(500):
        used.step([-15.0], 0.001)
    assert used.state().velocity[0] == pytest.approx(0.0, abs=1e-12)
    used.reset()
    for backend in (fresh, used):
        backend.step([3.0], 0.01)
    assert np.array_equal(fresh.state().position, used.state().position)
    assert np.array_equal(fresh.state().friction, used.state().friction)


def test_a_plant_that_was_made_without_friction_gets_none_later(slide: Any) -> None:
    backend = slide(None)
    with pytest.raises(ConfigError, match="made without friction"):
        backend.change_friction(FULL)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"coulomb": (1.0, 2.0)}, "coulomb has 2 values, expected none, one, or one a joint: 3"),
        ({"coulomb": (-1.0,)}, r"coulomb must lie in \[0.0, inf\], got -1.0"),
        ({"viscous": (float("nan"),)}, "viscous must be finite"),
        ({"coulomb": (2.0,), "stiction": (1.9,)}, "joint 1: stiction is 1.9, expected at least the Coulomb level 2"),
        ({"coulomb": (2.0,), "stiction": (2.0, 2.0, 3.0)}, "joint 3: .* give a positive stribeck_velocity"),
        ({"coulomb": (2.0,), "position_amplitude": (-2.1,)}, "joint 1: position_amplitude is -2.1"),
        ({"position_period": (0.0,)}, "position_period is 0.0, expected a positive number"),
    ],
)
def test_impossible_friction_is_refused(repository_robot: Any, values: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_backend("mujoco", repository_robot("planar_3r"), friction=JointFriction(**values))
