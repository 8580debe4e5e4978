"""Contact of the tool's tip: surfaces are as stiff and as rough as they say, in every pose; nothing else is touched."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio
import pytest
from robots import find, pinocchio_chain
from scipy.integrate import solve_ivp

from flexarm_core.errors import ConfigError
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import Array
from flexarm_sim.friction.friction import JointFriction
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_sim.surfaces import Surface

RADIUS = 0.02  # [m] of the tip
MASS = 2.0  # [kg] on the gantry
STIFFNESSES = (1e3, 1e4, 1e5, 1e6)  # [N/m]
POSES = {
    "bent": (0.0, 0.3, 0.0, -1.8, 0.0, 1.04, 0.0),
    "turned": (0.7, 0.9, 0.5, -1.2, 0.4, 1.2, -1.0),
    "almost stretched": (-0.5, 1.5, 0.3, -0.06, 0.2, 0.6, 1.0),
    "folded": (0.0, -0.6, 0.0, -2.6, 0.0, 0.3, 0.0),
}
NOTHING = (0.0, 0.0, 0.0)


def plane(stiffness: float, position: Any = NOTHING, rpy: Any = NOTHING, **rest: Any) -> Surface:
    x, y, z = (float(value) for value in position)
    return Surface("floor", "plane", (x, y, z), rpy, stiffness, **rest)


@pytest.fixture(scope="module")
def gantry() -> RobotDescription:
    """A point mass that slides freely along x, y and z; its origin is the tip's center."""
    links, parent = '<link name="ground"/>', "ground"
    for axis, direction in zip("xyz", ("1 0 0", "0 1 0", "0 0 1"), strict=True):
        mass, inertia = (MASS, 1.0) if axis == "z" else (1e-6, 1e-6)
        links += f"""
        <joint name="{axis}" type="prismatic"><parent link="{parent}"/><child link="to_{axis}"/>
          <axis xyz="{direction}"/><limit lower="-9" upper="9" effort="1e3" velocity="9"/></joint>
        <link name="to_{axis}"><inertial><mass value="{mass}"/>
          <inertia ixx="{inertia}" ixy="0" ixz="0" iyy="{inertia}" iyz="0" izz="{inertia}"/></inertial></link>"""
        parent = f"to_{axis}"
    return parse_robot_description(f'<robot name="gantry">{links}</robot>')


def on(robot: RobotDescription, *surfaces: Surface, **settings: Any) -> MujocoBackend:
    settings = {"gravity": NOTHING, "tip_radius": RADIUS} | settings
    return MujocoBackend(robot, surfaces=surfaces, **settings)


def hold(backend: MujocoBackend, effort: Any, duration: float) -> None:
    for _ in range(round(duration * 1000)):
        backend.step(effort, 0.001)


# Along the normal -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stiffness", STIFFNESSES)
@pytest.mark.parametrize("pose", POSES)
def test_an_arm_that_presses_with_a_force_sinks_in_by_force_over_stiffness(pose: str, stiffness: float) -> None:
    """There, with Pinocchio's efforts for weight and force, nothing accelerates and the surface bears the force."""
    text, tool = find("arm_7r")
    description, judge = parse_robot_description(text), pinocchio_chain("arm_7r")
    q, force, rpy = np.array(POSES[pose]), 25.0, (0.6, -0.5, 0.0)
    normal = plane(1.0, rpy=rpy).rotation[:, 2]
    place = judge.pose(q)[0] + (force / stiffness - RADIUS) * normal
    backend = on(
        description, plane(stiffness, place, rpy, damping=10.0, friction=0.5), tool_frame=tool, gravity=(0, 0, -9.81)
    )
    weight = pinocchio.computeGeneralizedGravity(judge.model, judge.data, judge.configuration(q))
    effort = weight - judge.jacobian(q)[:3].T @ (force * normal)
    backend.reset(q, effort=effort)
    state = backend.state()
    contact = state.contacts["floor"]
    assert np.abs(state.acceleration).max() < 1e-5
    assert np.allclose(contact[:3], force * normal, rtol=0.0, atol=1e-6 * force)
    assert np.allclose(contact[3:], 0.0, atol=1e-6)
    # and it stays there
    hold(backend, effort, 0.02)
    assert np.linalg.norm(backend.state().tool_position_in_world - judge.pose(q)[0]) < 0.01 * force / stiffness


@pytest.mark.parametrize("stiffness", STIFFNESSES)
def test_a_mass_that_is_pressed_comes_to_rest_at_force_over_stiffness(
    gantry: RobotDescription, stiffness: float
) -> None:
    backend = on(gantry, plane(stiffness, damping=0.7 * np.sqrt(stiffness * MASS)))
    backend.reset([0.0, 0.0, RADIUS])
    hold(backend, [0.0, 0.0, -20.0], 1.0)
    state = backend.state()
    assert RADIUS - state.position[2] == pytest.approx(20.0 / stiffness, rel=1e-4)
    assert state.contacts["floor"] == pytest.approx([0.0, 0.0, 20.0, 0.0, 0.0, 0.0], rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("damping", [0.0, 20.0, 150.0])
def test_a_bounce_is_that_of_a_spring_and_a_damper_that_never_pull(gantry: RobotDescription, damping: float) -> None:
    """Course of force and speed against scipy's solution."""
    stiffness, speed, duration = 1e4, -0.5, 0.06
    backend = on(gantry, plane(stiffness, damping=damping), max_step=5e-5)

    def force(depth: float, rate: float) -> float:
        return max(0.0, stiffness * depth + damping * rate) if depth > 0.0 else 0.0

    def motion(_: float, x: Array) -> list[float]:
        return [x[1], force(-x[0], -x[1]) / MASS]

    judge = solve_ivp(motion, (0.0, duration), [0.0, speed], max_step=2e-5, dense_output=True).sol
    backend.reset([0.0, 0.0, RADIUS], [0.0, 0.0, speed])
    for tick in range(1, 61):
        backend.step(np.zeros(3), 0.001)
        state, (height, rate) = backend.state(), judge(tick * 0.001)
        assert state.velocity[2] == pytest.approx(rate, abs=2e-3 * abs(speed))
        assert state.contacts["floor"][2] == pytest.approx(force(-height, -rate), abs=0.3)
        assert state.contacts["floor"][2] >= 0.0
    assert 0.0 < state.velocity[2] < 1.0001 * abs(speed)


@pytest.mark.parametrize("start", np.linspace(1e-3, 1.25e-3, 6))
@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_a_bounce_off_the_hardest_surface_that_a_step_allows_creates_no_energy(
    gantry: RobotDescription, friction: float, start: float
) -> None:
    """Wherever in a step the tip arrives; with damping of 2 %, without which a step's length shows in the speed."""
    stiffness = MASS * (0.59 / 0.00025) ** 2
    damping = 2.0 * 0.02 * np.sqrt(stiffness * MASS)
    backend = on(gantry, plane(stiffness, damping=damping, friction=friction))
    backend.reset([0.0, 0.0, RADIUS + start], [0.3, 0.0, -1.0])
    hold(backend, np.zeros(3), 0.02)
    after = backend.state().velocity
    assert after[2] > 0.9  # it did bounce
    assert np.linalg.norm(after) < np.linalg.norm([0.3, 1.0])


def test_nothing_is_felt_without_contact(gantry: RobotDescription) -> None:
    free, beside = on(gantry), on(gantry, plane(1e5, friction=0.5))
    for backend in (free, beside):
        backend.reset([0.0, 0.0, RADIUS + 1e-6], [1.0, 0.0, 0.0])
        hold(backend, [3.0, 1.0, 2.0], 0.1)
    assert np.allclose(free.state().position, beside.state().position, rtol=0.0, atol=1e-13)
    assert not beside.state().contacts["floor"].any() and free.state().contacts == {}


# Across the normal ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stiffness", STIFFNESSES)
@pytest.mark.parametrize("heading", np.radians([0.0, 45.0, 110.0, 200.0]))
def test_sliding_is_braked_by_friction_times_normal_force_in_every_direction(
    gantry: RobotDescription, stiffness: float, heading: float
) -> None:
    friction, pressing, pull = 0.4, 20.0, 14.0
    along = np.array([np.cos(heading), np.sin(heading), 0.0])
    backend = on(gantry, plane(stiffness, damping=100.0, friction=friction))
    backend.reset([0.0, 0.0, RADIUS - pressing / stiffness])
    hold(backend, pull * along - [0.0, 0.0, pressing], 0.3)
    state = backend.state()
    braking = friction * pressing
    assert state.velocity @ along == pytest.approx((pull - braking) / MASS * 0.3, rel=2e-3)
    force, moment = np.split(state.contacts["floor"], 2)
    assert force @ along == pytest.approx(-braking, rel=2e-3)
    # it acts midway between the tip's lowest point and the plane
    arm = np.array([0.0, 0.0, 0.5 * pressing / stiffness - RADIUS])
    assert np.allclose(moment, np.cross(arm, force), rtol=0.0, atol=2e-3 * braking * RADIUS)


def test_what_slides_comes_to_rest_after_the_distance_of_coulombs_law(gantry: RobotDescription) -> None:
    speed, friction, pressing = 0.5, 0.3, 30.0
    backend = on(gantry, plane(1e5, damping=200.0, friction=friction))
    backend.reset([0.0, 0.0, RADIUS - pressing / 1e5], [speed, 0.0, 0.0])
    hold(backend, [0.0, 0.0, -pressing], 0.3)
    state = backend.state()
    assert state.position[0] == pytest.approx(0.5 * speed**2 * MASS / (friction * pressing), rel=0.01)
    assert abs(state.velocity[0]) < 1e-6


@pytest.mark.parametrize("part", [0.3, 0.95])
def test_below_the_friction_the_tip_sticks(gantry: RobotDescription, part: float) -> None:
    pull = part * 0.4 * 20.0
    backend = on(gantry, plane(1e5, damping=200.0, friction=0.4))
    backend.reset([0.0, 0.0, RADIUS - 20.0 / 1e5])
    hold(backend, [0.6 * pull, 0.8 * pull, -20.0], 1.0)
    state = backend.state()
    assert np.linalg.norm(state.position[:2]) < 2e-7 * pull  # 0.1 um/s per newton
    assert state.contacts["floor"][:2] == pytest.approx([-0.6 * pull, -0.8 * pull], rel=1e-3)


def test_a_surface_without_friction_only_presses(gantry: RobotDescription) -> None:
    backend = on(gantry, plane(1e5))
    backend.reset([0.0, 0.0, RADIUS - 20.0 / 1e5], [0.3, 0.0, 0.0])
    hold(backend, [0.0, 0.0, -20.0], 0.2)
    assert backend.state().velocity[0] == pytest.approx(0.3, rel=1e-12)
    assert not backend.state().contacts["floor"][[0, 1, 3, 4, 5]].any()


def test_what_slides_costs_few_iterations_of_the_solver(gantry: RobotDescription) -> None:
    """Forces are wanted to the last digits, but not beyond: in round-off it would go on to its limit of 100."""
    backend = on(gantry, plane(1e5, damping=200.0, friction=0.3))
    backend.reset([0.0, 0.0, RADIUS - 30.0 / 1e5], [0.5, 0.1, 0.0])
    iterations = []
    for _ in range(100):
        backend.step([1.0, 2.0, -30.0], 0.001)
        force = backend.state().contacts["floor"][:3]
        assert np.hypot(*force[:2]) == pytest.approx(0.3 * force[2], rel=1e-13)
        iterations.append(int(backend._data.solver_niter[0]))
    assert max(iterations) < 10


@pytest.mark.parametrize("rubs", [False, True])
def test_reading_a_plant_changes_nothing(gantry: RobotDescription, rubs: bool) -> None:
    """With steps of several lengths, and surfaces, friction and wrenches that change between them."""
    friction = JointFriction(coulomb=(1.0,), viscous=(0.5,)) if rubs else None
    floor = plane(1e4, damping=50.0, friction=0.3)
    read, blind = (on(gantry, floor, friction=friction) for _ in range(2))
    touches = 0
    for backend in (read, blind):
        draw = np.random.default_rng(4)
        backend.reset([0.0, 0.0, RADIUS + 1e-4], [0.5, 0.1, -0.3])
        for tick in range(60):
            if tick == 20:
                backend.change_surfaces([replace(floor, stiffness=2e4)])
            if tick == 30 and friction:
                backend.change_friction(replace(friction, coulomb=(2.0,)))
            if tick in (40, 50):
                backend.set_external_wrench("to_z", draw.normal(size=6))
            backend.step([*draw.normal(size=2), -20.0], draw.choice([0.0005, 0.001, 0.0012]))
            if backend is read:
                backend.sensed()
                touches += backend.state().contacts["floor"].any()
    one, other = read.state(), blind.state()
    assert 10 < touches < 60
    for name in ("position", "velocity", "acceleration", "friction"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


# Boxes, and several surfaces ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_box_is_touched_at_its_faces(gantry: RobotDescription, axis: int, side: float) -> None:
    size, depth = (0.1, 0.2, 0.05), 2e-4
    box = Surface("block", "box", (0.3, -0.1, 0.4), (0.2, 0.5, -0.7), 1e5, half_extents=size)
    backend = on(gantry, box)
    outward = side * box.rotation[:, axis]
    beside = 0.3 * size[axis - 1] * box.rotation[:, axis - 1]  # not in the middle of the face
    for gap in (-depth, 1e-6):
        backend.reset(np.array(box.position) + (size[axis] + RADIUS + gap) * outward + beside)
        force = backend.state().contacts["block"]
        assert np.allclose(force[:3], max(0.0, -1e5 * gap) * outward, atol=2e-3)
        assert np.allclose(force[3:], 0.0, atol=1e-9)


def test_a_corner_presses_away_from_itself(gantry: RobotDescription) -> None:
    box = Surface("block", "box", NOTHING, NOTHING, 1e5, half_extents=(0.1, 0.1, 0.1))
    backend = on(gantry, box)
    away = np.array([1.0, 2.0, 2.0]) / 3.0
    backend.reset(np.full(3, 0.1) + (RADIUS - 1e-4) * away)
    assert np.allclose(backend.state().contacts["block"][:3], 10.0 * away, atol=2e-3)


def test_each_surface_gives_its_own_wrench(gantry: RobotDescription) -> None:
    wall = Surface("wall", "plane", (0.5, 0.0, 0.0), (0.0, -np.pi / 2, 0.0), 2e4)
    backend = on(gantry, plane(1e4), wall, Surface("far", "plane", (0.0, 0.0, -1.0), NOTHING, 1e4))
    backend.reset([0.5 - RADIUS + 1e-3, 0.0, RADIUS - 2e-3])
    contacts = backend.state().contacts
    assert list(contacts) == ["floor", "wall", "far"]
    # 0.1 g that appear in contact bear their part of the acceleration, 1e-4 / MASS
    assert contacts["floor"][:3] == pytest.approx([0.0, 0.0, 20.0], abs=2e-3)
    assert contacts["wall"][:3] == pytest.approx([-20.0, 0.0, 0.0], abs=2e-3)
    assert not contacts["far"].any()


# With a whole arm -----------------------------------------------------------------------------------------------------


def test_sensors_read_weight_and_contact_of_a_tool_at_rest() -> None:
    """Tool sensor and base sensor, child side on parent side, against sums of forces and moments."""
    text, tool = find("arm_7r")
    description, judge = parse_robot_description(text), pinocchio_chain("arm_7r")
    q, force = np.array(POSES["turned"]), 30.0
    normal = plane(1.0, rpy=(0.6, -0.5, 0.0)).rotation[:, 2]
    place = judge.pose(q)[0] + (force / 1e5 - RADIUS) * normal
    backend = on(description, plane(1e5, place, (0.6, -0.5, 0.0)), tool_frame=tool, gravity=(0, 0, -9.81))
    weight = pinocchio.computeGeneralizedGravity(judge.model, judge.data, judge.configuration(q))
    backend.reset(q, effort=weight - judge.jacobian(q)[:3].T @ (force * normal))
    state = backend.state()
    tip, rotation = judge.pose(q)
    link = description.links["tool_sensor_link"]
    down = rotation.T @ [0.0, 0.0, -9.81 * link.mass]
    pressed = rotation.T @ (force * normal)
    lever = np.array([0.0, 0.0, 0.15])  # from the sensor to the tip
    expected = np.concatenate([down + pressed, np.cross(link.center_of_mass, down) + np.cross(lever, pressed)])
    assert np.allclose(state.wrenches["tool_ft_sensor"], expected, rtol=0.0, atol=1e-4)
    total = sum(body.mass for body in description.links.values())
    center = pinocchio.centerOfMass(judge.model, judge.data, judge.configuration(q))
    gravity = np.array([0.0, 0.0, -9.81 * total])
    on_base = np.concatenate([gravity + force * normal, np.cross(center, gravity) + np.cross(tip, force * normal)])
    assert np.allclose(state.wrenches["base_ft_sensor"], on_base, rtol=0.0, atol=1e-3)


def test_only_the_tip_touches() -> None:
    """A box around elbow and forearm is not felt."""
    text, tool = find("arm_7r")
    around = Surface("cage", "box", (0.2, 0.0, 0.6), NOTHING, 1e5, half_extents=(0.2, 0.2, 0.2))
    backend = on(parse_robot_description(text), around, tool_frame=tool)
    backend.reset(POSES["bent"])
    assert backend.state().tool_position_in_world[2] < 0.4 - RADIUS
    assert not backend.state().contacts["cage"].any()
    assert np.abs(backend.state().acceleration).max() < 1e-9


def test_an_arm_that_bends_presses_as_deep_as_its_tip_is(repository_robot: Any) -> None:
    """``N = K p + B dp/dt`` of its true tip, while it swings on the surface."""
    robot, q = repository_robot("flexible_3r"), np.array([0.2, 0.3, 0.6])
    settings: dict[str, Any] = {"segments": 5, "max_step": 1e-4}
    loose = on(robot, **settings)
    loose.reset(q)
    height = loose.state().tool_position_in_world[2] - RADIUS
    backend = on(robot, plane(1e5, (0.0, 0.0, height), damping=50.0, friction=0.3), **settings)
    backend.reset(q)
    forces = []
    for _ in range(60):
        backend.step([0.0, 20.0, 10.0], 0.001)
        state = backend.state()
        depth = height + RADIUS - state.tool_position_in_world[2]
        expected = max(0.0, 1e5 * depth - 50.0 * state.tool_twist_in_world[2]) if depth > 0.0 else 0.0
        forces.append(state.contacts["floor"][2])
        assert forces[-1] == pytest.approx(expected, rel=0.01, abs=0.05)
    assert max(forces) > 5.0


def test_a_surface_may_get_softer_and_smoother_in_a_run(gantry: RobotDescription) -> None:
    hard = plane(1e5, damping=200.0, friction=0.4)
    backend = on(gantry, hard)
    backend.reset([0.0, 0.0, RADIUS - 2e-4])
    hold(backend, [5.0, 0.0, -20.0], 0.1)
    assert abs(backend.state().velocity[0]) < 1e-6  # sticks
    backend.change_surfaces([replace(hard, stiffness=1e4, friction=0.0)])
    hold(backend, [5.0, 0.0, -20.0], 0.5)
    state = backend.state()
    assert RADIUS - state.position[2] == pytest.approx(20.0 / 1e4, rel=1e-3)
    assert state.velocity[0] == pytest.approx(0.5 * 5.0 / MASS, rel=1e-3)
    backend.change_surfaces([replace(hard, stiffness=1e4, friction=0.2)])
    hold(backend, [0.0, 0.0, -20.0], 0.1)
    assert state.velocity[0] - backend.state().velocity[0] == pytest.approx(0.1 * 0.2 * 20.0 / MASS, rel=0.02)


@pytest.mark.parametrize(
    ("change", "message"),
    [({"stiffness": 1e9}, "too long for surface 'floor'"), ({"position": (0.0, 0.0, 0.1)}, "only stiffness, damping")],
)
def test_a_change_that_cannot_be_is_refused_and_changes_nothing(
    gantry: RobotDescription, change: dict[str, Any], message: str
) -> None:
    backend = on(gantry, plane(1e5))
    with pytest.raises(ConfigError, match=message):
        backend.change_surfaces([replace(plane(1e4), **change)])
    backend.reset([0.0, 0.0, RADIUS - 1e-4])
    assert backend.state().contacts["floor"][2] == pytest.approx(10.0, abs=2e-3)


def test_the_same_contact_gives_the_same_bits_and_a_reset_ends_it(gantry: RobotDescription) -> None:
    floor = plane(1e5, damping=50.0, friction=0.4)
    one, two = on(gantry, floor), on(gantry, floor)
    two.reset([0.0, 0.0, RADIUS - 1e-3], [1.0, 1.0, 0.0])
    hold(two, [0.0, 0.0, -50.0], 0.05)
    for backend in (one, two):
        backend.reset([0.0, 0.0, RADIUS + 1e-3], [0.2, 0.1, -0.3])
        hold(backend, [1.0, 0.0, -30.0], 0.05)
    assert np.array_equal(one.state().position, two.state().position)
    assert np.array_equal(one.state().contacts["floor"], two.state().contacts["floor"])
    one.reset([0.0, 0.0, 1.0])
    assert not one.state().contacts["floor"].any()
