"""Contacts against coal and Pinocchio; efforts of avoidance: their sign, work, stiffness and continuity."""

from __future__ import annotations

import numpy as np
import pytest
from collision import CoalArm
from robots import PALLETIZER, chain_or_skip, find
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.avoidance.arm_shape import ArmShape, build_arm_shape
from flexarm_core.behavior_impedance.avoidance.avoidance_force import avoidance_force
from flexarm_core.behavior_impedance.avoidance.obstacles import Obstacle
from flexarm_core.behavior_impedance.avoidance.proximity import Proximity
from flexarm_core.behavior_impedance.motion_space import arm_kinematics
from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.robot.urdf_reader import parse_robot_description

ROBOTS = ("panda", "arm_6r", "slider", "palletizer")
SLIDER = """<robot name="slider"><link name="base"/>
  <joint name="rail" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 0 0"/>
    <limit lower="-0.5" upper="0.5" effort="1" velocity="1"/></joint><link name="cart"/>
  <joint name="turn" type="revolute"><parent link="cart"/><child link="arm"/><origin xyz="0 0 0.4"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
  <link name="arm"><visual><origin xyz="0.2 0 0"/><geometry><box size="0.4 0.05 0.05"/></geometry></visual></link>
  <joint name="boom" type="prismatic"><parent link="arm"/><child link="tip"/><origin xyz="0.4 0 0"/><axis xyz="1 0 0"/>
    <limit lower="-0.3" upper="0.3" effort="1" velocity="1"/></joint>
  <link name="tip"><visual><geometry><sphere radius="0.05"/></geometry></visual></link>
  <joint name="end" type="fixed"><parent link="tip"/><child link="tool0"/></joint><link name="tool0"/></robot>"""


def arm(name):
    """Text, chain and shape."""
    own = {"slider": SLIDER, "palletizer": PALLETIZER}
    if name in own:
        text, tool = own[name], "tool0"
    else:
        chain_or_skip(name)
        text, tool = find(name)
    description = parse_robot_description(text, massless=True)
    chain = build_chain(description, tool)
    return text, chain, build_arm_shape(description, chain)


def frames_of(chain, q):
    frames = np.empty((len(chain.moving) + 1, 12))
    arm_kinematics(chain.links, np.asarray(q, dtype=float), frames, np.empty((6, chain.n)))
    return frames


def random_position(chain, rng):
    return rng.uniform(np.maximum(chain.lower, -3.0), np.minimum(chain.upper, 3.0))


def surroundings(rng) -> list[Obstacle]:
    turns = Rotation.random(3, random_state=rng).as_matrix()
    places = rng.uniform([-0.8, -0.8, 0.0], [0.8, 0.8, 1.0], (2, 3))
    return [
        Obstacle("ball", "sphere", places[0], turns[0], (0.15,)),
        Obstacle("box", "box", places[1], turns[1], (0.1, 0.2, 0.15)),
        Obstacle("floor", "half_space", [0.0, 0.0, -0.1], np.eye(3)),
    ]


@pytest.mark.parametrize("name", ROBOTS)
def test_contacts_are_all_the_pairs_within_the_range_at_the_distances_of_coal(name):
    text, chain, shape = arm(name)
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(60):
        obstacles, q = surroundings(rng), random_position(chain, rng)
        proximity, judge = Proximity(shape, chain, obstacles, 0.2, 0.02), CoalArm(text, chain, shape, obstacles)
        least, distances = proximity.update(frames_of(chain, q)), judge.distances(q)
        near = {}
        for contact in proximity.contacts:
            pair = (int(contact[0]), int(contact[1]))
            near[pair] = min(near.get(pair, np.inf), contact[2])
            assert np.linalg.norm(contact[3:6]) == pytest.approx(1.0)
        expected = {pair: distances[pair] for pair in zip(*np.nonzero(distances < 0.2), strict=True)}
        assert near.keys() == expected.keys()
        assert all(near[pair] == pytest.approx(expected[pair], abs=1e-9) for pair in near)
        assert least == pytest.approx(distances.min(), abs=1e-9)
        link, obstacle = proximity.nearest
        rows = [row for row, owner in enumerate(shape.links) if owner == link]
        assert distances[rows, proximity.obstacles.index(obstacle)].min() == pytest.approx(least, abs=1e-9)
        found += len(near)
    assert found > 50


def test_the_force_begins_at_the_range_without_a_jump_or_a_kink_and_grows_to_its_largest():
    distances = np.linspace(0.3, -0.1, 4001)
    force, stiffness, nearness = np.array([avoidance_force(d, 0.25, 0.05, 7.0) for d in distances]).T
    assert np.all(force[distances >= 0.25] == 0.0) and np.all(stiffness[distances >= 0.25] == 0.0)
    assert np.all(np.diff(force) >= 0.0) and np.all(np.diff(stiffness) >= 0.0)
    assert avoidance_force(0.15, 0.25, 0.05, 7.0)[0] == pytest.approx(7.0)
    assert force[-1] == pytest.approx(2.0 * 7.0 * 0.98**2 / 0.02) and nearness.max() == 0.98
    assert avoidance_force(0.25 - 1e-6, 0.25, 0.05, 7.0)[0] < 1e-8
    growing = (distances < 0.249) & (distances > 0.06)
    assert np.allclose(-np.gradient(force, distances)[growing], stiffness[growing], rtol=1e-3)


def one_sphere(name, rng, **options):
    """One capsule of an arm, which the joints can take away, near one sphere: chain, proximity and joint positions."""
    _, chain, shape = arm(name)
    while True:
        q = random_position(chain, rng)
        k = rng.integers(len(shape.links))
        row = shape.capsules[k]
        frame = frames_of(chain, q)[int(row[0])]
        end, side = frame[9:] + frame[:9].reshape(3, 3) @ row[1:4], rng.normal(size=3)
        place = end + (row[7] + 0.1 + rng.uniform(0.03, 0.15)) * side / np.linalg.norm(side)
        ball = Obstacle("ball", "sphere", place, np.eye(3), (0.1,))
        alone = ArmShape(shape.capsules[k : k + 1], shape.links[k : k + 1])
        proximity = Proximity(alone, chain, [ball], 0.2, 0.02, **options)
        least = proximity.update(frames_of(chain, q))
        if 0.03 < least < 0.15 and np.linalg.norm(gradient_of_distance(chain, proximity, q)) > 0.1:
            return chain, proximity, q, least


def gradient_of_distance(chain, proximity, q, h=1e-6):
    steps = h * np.eye(chain.n)
    ahead = [proximity.update(frames_of(chain, q + step)) for step in steps]
    behind = [proximity.update(frames_of(chain, q - step)) for step in steps]
    return (np.array(ahead) - np.array(behind)) / (2.0 * h)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_effort_is_the_force_times_the_derivative_of_the_distance_and_the_stiffness_that_of_gauss_newton(name):
    rng = np.random.default_rng(2)
    for _ in range(20):
        chain, proximity, q, least = one_sphere(name, rng, force=10.0)
        g, n = gradient_of_distance(chain, proximity, q), chain.n
        effort, stiffness, still = np.full(n, np.nan), np.full((n, n), np.nan), np.zeros(n)
        assert proximity.avoid(frames_of(chain, q), still, effort, stiffness) == pytest.approx(least)
        f, slope, _ = avoidance_force(least, 0.2, 0.02, 10.0)
        assert np.allclose(effort, f * g, atol=1e-5 * f)
        assert np.allclose(stiffness, slope * np.outer(g, g), atol=1e-5 * slope)
        h, there = 1e-6, np.empty(n)
        way = g / np.linalg.norm(g)
        # along g the effort falls as the stiffness says, but for the turning of g, which Gauss-Newton leaves out
        proximity.avoid(frames_of(chain, q + h * way), still, there, np.empty((n, n)))
        turned = gradient_of_distance(chain, proximity, q + h * way, 1e-5) - gradient_of_distance(
            chain, proximity, q, 1e-5
        )
        assert np.allclose((effort + f * turned - there) / h, stiffness @ way, atol=1e-3 * slope + 1e-2 * f)


@pytest.mark.parametrize("name", ROBOTS)
def test_moving_as_the_effort_pushes_takes_the_nearest_pair_apart(name):
    rng = np.random.default_rng(3)
    for _ in range(20):
        chain, proximity, q, least = one_sphere(name, rng, force=10.0)
        effort = np.empty(chain.n)
        proximity.avoid(frames_of(chain, q), np.zeros(chain.n), effort, np.empty((chain.n, chain.n)))
        assert proximity.update(frames_of(chain, q + 1e-4 * effort / np.linalg.norm(effort))) > least


@pytest.mark.parametrize("name", ROBOTS)
def test_damping_takes_energy_while_the_arm_approaches_and_is_not_there_while_it_leaves(name):
    rng = np.random.default_rng(4)
    for _ in range(20):
        chain, proximity, q, least = one_sphere(name, rng, force=0.0, damping=30.0)
        g, v, effort = gradient_of_distance(chain, proximity, q), rng.normal(size=chain.n), np.empty(chain.n)
        rate, s = g @ v, avoidance_force(least, 0.2, 0.02, 0.0)[2]
        proximity.avoid(frames_of(chain, q), v, effort, np.empty((chain.n, chain.n)))
        assert np.allclose(effort, 30.0 * s * max(0.0, -rate) * g, atol=1e-6)
        assert effort @ v <= 0.0


@pytest.mark.parametrize("name", ROBOTS)
def test_all_stiffness_is_symmetric_and_positive_semidefinite(name):
    _, chain, shape = arm(name)
    rng, n = np.random.default_rng(5), chain.n
    for _ in range(50):
        proximity, stiffness = Proximity(shape, chain, surroundings(rng), 0.3, 0.0, 5.0), np.empty((n, n))
        proximity.avoid(frames_of(chain, random_position(chain, rng)), np.zeros(n), np.empty(n), stiffness)
        assert np.array_equal(stiffness, stiffness.T)
        assert np.linalg.eigvalsh(stiffness)[0] >= -1e-9 * max(1.0, np.abs(stiffness).max())


@pytest.mark.parametrize("name", ROBOTS)
def test_along_a_motion_that_touches_nothing_the_effort_has_no_jumps(name):
    _, chain, shape = arm(name)
    rng, n, moved = np.random.default_rng(6), chain.n, 0
    while moved < 15:
        proximity, (q, v) = Proximity(shape, chain, surroundings(rng), 0.25, 0.0, 1.0, 1.0), rng.normal(size=(2, n))
        changes = []
        for pieces in (200, 800):
            efforts, least, size = [], np.inf, 0.0
            for s in np.linspace(0.0, 0.5, pieces + 1):
                effort, stiffness = np.empty(n), np.empty((n, n))
                least = min(least, proximity.avoid(frames_of(chain, q + s * v), v, effort, stiffness))
                size = max(size, np.abs(effort).max())
                efforts.append(effort)
            changes.append(np.abs(np.diff(efforts, axis=0)).max())
        if least > 0.02 and size > 0.1:  # what has no jumps changes a quarter in a quarter of the way
            moved += 1
            assert changes[1] < 0.6 * changes[0]


def test_an_arm_that_turns_through_parallel_with_a_wall_feels_no_jump():
    _, chain, shape = arm("slider")
    box = Obstacle("box", "box", [0.2, 0.0, 0.1], np.eye(3), (0.6, 0.3, 0.1))
    wall = Obstacle("wall", "half_space", [0.2, 0.0, 0.2], np.eye(3))
    for obstacle in (box, wall):
        proximity, efforts = Proximity(shape, chain, [obstacle], 0.3, 0.01, 10.0), []
        for angle in np.linspace(-0.05, 0.05, 2001):
            effort = np.empty(3)
            proximity.avoid(frames_of(chain, [0.0, angle, 0.0]), np.zeros(3), effort, np.empty((3, 3)))
            efforts.append(effort[1])
        assert np.abs(np.diff(efforts)).max() < 0.02 * np.ptp(efforts)


def test_far_away_nothing_acts_and_the_distance_is_told_all_the_same():
    text, chain, shape = arm("slider")
    far = [Obstacle("ball", "sphere", [5.0, 0.0, 0.0], np.eye(3), (0.1,))]
    proximity, effort, stiffness = Proximity(shape, chain, far, 0.2, 0.02, 10.0, 5.0), np.ones(3), np.ones((3, 3))
    least = proximity.avoid(frames_of(chain, np.zeros(3)), np.ones(3), effort, stiffness)
    assert least == pytest.approx(CoalArm(text, chain, shape, far).distances(np.zeros(3)).min())
    assert not effort.any() and not stiffness.any() and len(proximity.contacts) == 0
    assert proximity.nearest == ("tip", "ball")
    proximity.set_obstacles([])
    assert proximity.avoid(frames_of(chain, np.zeros(3)), np.ones(3), effort, stiffness) == np.inf
    assert proximity.nearest == ("", "")


@pytest.mark.parametrize(
    ("change", "message"),
    (
        ({"influence": 0.02}, "margin must lie below the range"),
        ({"margin": -0.1}, "margin must be >= 0 m"),
        ({"force": np.nan}, "force must be >= 0 N"),
        ({"damping": np.inf}, "damping must be >= 0 N\\*s/m"),
        ({"obstacles": [Obstacle("a", "half_space", [0.0] * 3, np.eye(3))] * 2}, "given twice: a"),
    ),
)
def test_settings_without_meaning_are_refused(change, message):
    _, chain, shape = arm("slider")
    settings = {"obstacles": [], "influence": 0.2, "margin": 0.05, "force": 1.0, "damping": 1.0}
    with pytest.raises(ConfigError, match=message):
        Proximity(shape, chain, **settings | change)
