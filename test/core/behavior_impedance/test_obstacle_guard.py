"""The guard against obstacles: braking in time, judged by coal; neither too bold nor too shy."""

from __future__ import annotations

import numpy as np
import pytest
from collision import CoalArm
from robots import PALLETIZER, chain_or_skip, find
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.avoidance.arm_shape import build_arm_shape
from flexarm_core.behavior_impedance.avoidance.obstacle_guard import ObstacleGuard
from flexarm_core.behavior_impedance.avoidance.obstacles import Obstacle
from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.ik_redundancy.config import RedundancyConfig
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.ik_redundancy.solver import RedundancySolver
from flexarm_core.robot.urdf_reader import parse_robot_description

MARGIN = 0.02
GANTRY = """<robot name="gantry"><link name="base"/>
  <joint name="rail" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 0 0"/>
    <limit lower="-2" upper="2" effort="1" velocity="1"/></joint><link name="cart"/>
  <joint name="turn" type="revolute"><parent link="cart"/><child link="arm"/><origin xyz="0 0 0.4"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
  <link name="arm"><visual><origin xyz="0.2 0 0"/><geometry><box size="0.4 0.05 0.05"/></geometry></visual></link>
  <joint name="boom" type="prismatic"><parent link="arm"/><child link="tip"/><origin xyz="0.4 0 0"/><axis xyz="1 0 0"/>
    <limit lower="-0.3" upper="1.5" effort="1" velocity="1"/></joint>
  <link name="tip"><visual><geometry><sphere radius="0.05"/></geometry></visual></link>
  <joint name="end" type="fixed"><parent link="tip"/><child link="tool0"/></joint><link name="tool0"/></robot>"""
ROBOTS = ("panda", "arm_6r", "gantry", "palletizer")
HEIGHTS = {"gantry": (-1.0, 0.25, 0.55)}  # of the floor, of the lowest and the highest obstacle [m]


class Case:
    """An arm among obstacles, its guard and its judge."""

    def __init__(self, name, rng, acceleration=6.0, margin=MARGIN, obstacles=None):
        own = {"gantry": GANTRY, "palletizer": PALLETIZER}
        if name in own:
            self.text, tool = own[name], "tool0"
        else:
            chain_or_skip(name)
            self.text, tool = find(name)
        description = parse_robot_description(self.text, massless=True)
        self.chain = build_chain(description, tool)
        shape, n = build_arm_shape(description, self.chain), self.chain.n
        self.limits = MotionLimits(
            np.full(n, -np.inf), np.full(n, np.inf), np.full(n, np.inf), np.full(n, acceleration)
        )
        self.margin = margin
        self.obstacles = obstacles or surroundings(rng, *HEIGHTS.get(name, (-0.1, 0.0, 1.0)))
        self.guard = ObstacleGuard(shape, self.chain, self.limits, self.obstacles, margin)
        self.judge = CoalArm(self.text, self.chain, shape, self.obstacles)

    def least(self, q) -> float:
        return self.judge.least(q)

    def random_position(self, rng):
        return rng.uniform(np.maximum(self.chain.lower, -2.5), np.minimum(self.chain.upper, 2.5))

    def free_position(self, rng, clearance=0.01, at_most=np.inf):
        for _ in range(20_000):
            q = self.random_position(rng)
            if clearance < self.guard.least_distance(q)[0] - self.margin < at_most:
                return q
        raise AssertionError("the obstacles leave no such position")

    def gradient(self, q):
        least = self.guard.least_distance
        return np.array([(least(q + h)[0] - least(q - h)[0]) / 2e-6 for h in 1e-6 * np.eye(self.chain.n)])

    def braked(self, v, dt):
        lost = np.minimum(self.limits.acceleration * (1.0 - 1e-9) * dt, np.abs(v))
        return v - np.sign(v) * lost

    def braking(self, q, v, dt, pieces=1):
        """Joint positions of the sample that ended at ``q`` and of braking, each sample cut into pieces."""
        way = [q - v * dt + (k + 1.0) / pieces * v * dt for k in range(-1, pieces)]
        while v.any():
            v = self.braked(v, dt)
            way += [q + (k + 1.0) / pieces * v * dt for k in range(pieces)]
            q = way[-1]
        return way


def surroundings(rng, floor, low, high) -> list[Obstacle]:
    turns = Rotation.random(3, random_state=rng).as_matrix()
    angles, reach = rng.uniform(-np.pi, np.pi, 2), rng.uniform(0.5, 0.9, 2)  # clear of the arm's own column
    places = np.column_stack((reach * np.cos(angles), reach * np.sin(angles), rng.uniform(low, high, 2)))
    return [
        Obstacle("ball", "sphere", places[0], turns[0], (0.15,)),
        Obstacle("box", "box", places[1], turns[1], (0.1, 0.2, 0.15)),
        Obstacle("floor", "half_space", [0.0, 0.0, floor], np.eye(3)),
    ]


def drive(case, rng, dt, samples, towards):
    """Least distance by coal on a motion of random accelerations, or towards the obstacles; refusals, last state."""
    q, v, a, refusals = case.free_position(rng, 0.01, 0.15), np.zeros(case.chain.n), np.zeros(case.chain.n), 0
    strongest, nearest = case.limits.acceleration, case.least(q)
    for sample in range(samples):
        if sample % 10 == 0:
            a = rng.uniform(-1.0, 1.0, case.chain.n)
            if towards:
                a = -np.sign(case.gradient(q)) * rng.uniform(0.3, 1.0, case.chain.n)
            a *= np.where(np.isfinite(strongest), strongest, 3.0)
        wanted = v + a * dt
        if case.guard.admits(q + wanted * dt, wanted, dt):
            v = wanted
        else:
            v, refusals = case.braked(v, dt), refusals + 1
        q = q + v * dt
        nearest = min(nearest, case.least(q))
    return nearest, refusals, q, v


@pytest.mark.parametrize("name", ROBOTS)
def test_however_the_joints_are_driven_the_arm_never_comes_nearer_than_the_margin(name):
    rng, refused, nearest = np.random.default_rng(1), 0, []
    for trial in range(100):
        case = Case(name, rng)
        least, refusals, q, v = drive(case, rng, 0.01, 60, trial % 2)
        rest = case.braking(q, v, 0.01)
        least = min(least, *(case.least(position) for position in rest[:: max(1, len(rest) // 10)]))
        assert least > MARGIN - 1e-6
        refused += refusals > 0
        nearest.append(least)
    assert refused > 20
    assert min(nearest) < MARGIN + 0.001  # and it goes as far as it may


def test_joints_that_may_stop_at_once_do_so_before_the_margin():
    rng, nearest = np.random.default_rng(2), []
    for _ in range(40):
        case = Case("arm_6r", rng, acceleration=np.inf)
        nearest.append(drive(case, rng, 0.01, 60, True)[0])
    assert min(nearest) > MARGIN - 1e-6
    assert np.sort(nearest)[10] < MARGIN + 0.02


@pytest.mark.parametrize("acceleration", (4.0, 50.0, np.inf))
@pytest.mark.parametrize("name", ROBOTS)
def test_it_says_what_looking_closely_at_all_of_the_braking_says(name, acceleration):
    rng, dt, admitted, refused = np.random.default_rng(3), 0.004, 0, 0
    for _ in range(6):
        case = Case(name, rng, acceleration)
        for _ in range(30):
            q = case.free_position(rng, 0.001, 0.08 if acceleration < 5.0 else 0.02)
            towards = rng.normal(size=case.chain.n) - 2.0 * np.sign(case.gradient(q))
            v = towards * 10.0 ** rng.uniform(-1.0, 0.4)
            way = case.braking(q + v * dt, v, dt, 2)
            distances = [case.guard.least_distance(position)[0] for position in way]
            verdict = case.guard.admits(q + v * dt, v, dt)
            if verdict:
                admitted += 1
                assert min(distances) >= MARGIN - 1e-9
            else:
                refused += 1
                assert min(distances) < MARGIN + 1e-3
    assert admitted > 20 and refused > 20


@pytest.mark.parametrize("name", ROBOTS)
def test_distances_and_names_are_those_of_coal(name):
    rng = np.random.default_rng(4)
    for _ in range(60):
        case = Case(name, rng)
        q = case.random_position(rng)
        distance, link, obstacle = case.guard.least_distance(q)
        distances = case.judge.distances(q)
        assert distance == pytest.approx(distances.min(), abs=1e-9)
        rows = [row for row, owner in enumerate(case.judge.shape.links) if owner == link]
        column = [other.name for other in case.obstacles].index(obstacle)
        assert distances[rows, column].min() == pytest.approx(distance, abs=1e-9)


def test_far_away_nothing_is_refused():
    rng = np.random.default_rng(5)
    case = Case("panda", rng, obstacles=[Obstacle("far", "sphere", [3.0, 0.0, 0.5], np.eye(3), (0.1,))])
    for _ in range(300):
        v = rng.normal(size=7)
        assert case.guard.admits(case.random_position(rng), v, 0.001)


@pytest.mark.parametrize("name", ROBOTS)
def test_from_where_it_was_braked_the_arm_may_leave(name):
    rng, left = np.random.default_rng(6), 0
    for _ in range(20):
        case = Case(name, rng)
        _, refusals, q, v = drive(case, rng, 0.01, 60, True)
        q = case.braking(q, v, 0.01)[-1]
        if refusals and case.guard.least_distance(q)[0] < MARGIN + 0.02:
            away = case.gradient(q)
            for speed in (1e-3, 0.02):
                assert case.guard.admits(q + 0.01 * speed * away, speed * away, 0.01)
            assert not case.guard.admits(q - 0.05 * away, -5.0 * away, 0.01)
            left += 1
    assert left > 5


@pytest.mark.parametrize("depth", (0.005, 0.03, 0.2))
def test_an_arm_that_is_too_near_may_rest_and_leave_but_not_come_nearer(depth):
    rng = np.random.default_rng(7)
    case = Case("arm_6r", rng)
    q, dt = case.free_position(rng), 0.001
    place = case.judge.placed(q)[-1].mean(axis=0)
    radius = case.judge.shape.capsules[-1, 7]
    # the tool lies beside a ball, nearer than the margin by the depth
    side = Rotation.random(random_state=rng).apply([1.0, 0.0, 0.0])
    half = 0.5 * np.diff(case.judge.placed(q)[-1], axis=0)[0]
    side -= side @ half / (half @ half) * half
    side /= np.linalg.norm(side)
    ball = Obstacle("ball", "sphere", place + side * (0.25 + radius + MARGIN - depth), np.eye(3), (0.25,))
    case.guard.set_obstacles([ball], MARGIN)
    least = case.guard.least_distance(q)[0]
    assert least <= MARGIN - depth + 1e-9
    g = case.gradient(q)
    assert case.guard.admits(q, np.zeros(6), dt)
    away = g / np.linalg.norm(g)
    for speed in (1e-4, 0.01, 0.1):
        assert not case.guard.admits(q - speed * dt * away, -speed * away, dt)
    assert case.guard.admits(q + 1e-3 * dt * away, 1e-3 * away, dt)


def test_a_column_that_stands_in_the_margin_of_its_table_does_not_hold_the_arm_up():
    rng = np.random.default_rng(8)
    table = Obstacle("table", "half_space", [0.0, 0.0, 0.25], np.eye(3))
    case = Case("arm_6r", rng, obstacles=[table], margin=0.05)
    q, yaw = np.array([0.0, 0.3, 0.8, 0.1, 0.4, 0.0]), np.eye(6)[0]
    # what turns about the column only is above the table by less than the margin, and stays so
    assert case.guard.least_distance(q)[:2] == (pytest.approx(0.36 - 0.083 - 0.25, abs=2e-3), "shoulder")
    for speed in (0.01, 0.3, 3.0):
        assert case.guard.admits(q + 0.001 * speed * yaw, speed * yaw, 0.001)


def test_its_braking_is_that_of_the_solver():
    rng, dt = np.random.default_rng(9), 0.002
    case = Case("panda", rng)
    for _ in range(20):
        q, v = case.random_position(rng), rng.normal(size=7)
        solver = RedundancySolver(case.chain, case.limits, RedundancyConfig())
        solver.begin(q, v)
        while np.any(solver.velocity):
            solver.stop(dt)
        assert np.allclose(case.braking(q, v, dt)[-1], solver.position, atol=1e-12)


def test_obstacles_margins_and_limits_may_change_between_samples():
    rng = np.random.default_rng(10)
    near, far = (Obstacle("ball", "sphere", [x, 0.0, 0.4], np.eye(3), (0.1,)) for x in (0.75, 2.0))
    case = Case("gantry", rng, obstacles=[far])
    q, v, dt = np.zeros(3), np.array([1.0, 0.0, 0.0]), 0.01
    assert case.guard.admits(q, v, dt)
    case.guard.set_obstacles([near, Obstacle("floor", "half_space", [0.0, 0.0, -1.0], np.eye(3))], [0.02, 0.0])
    assert case.guard.least_distance(q) == (pytest.approx(0.2), "tip", "ball")
    assert case.guard.admits(q, v, dt)  # 0.078 m of way, 0.18 m of room
    case.guard.set_obstacles([near], [0.15])
    assert not case.guard.admits(q, v, dt)
    faster = MotionLimits(*(getattr(case.limits, name) for name in ("lower", "upper", "velocity")), np.full(3, 50.0))
    case.guard.set_limits(faster)
    assert case.guard.admits(q, v, dt)
    case.guard.set_obstacles([])
    assert case.guard.admits(q, v, dt)
    assert case.guard.least_distance(q) == (np.inf, "", "")


@pytest.mark.parametrize("margin", (-0.1, np.nan, np.inf, [0.1], [0.1] * 4))
def test_margins_without_meaning_are_refused(margin):
    with pytest.raises(ConfigError, match="margins must be >= 0 m"):
        Case("gantry", np.random.default_rng(0), margin=margin)


def test_limits_of_another_arm_are_refused():
    case = Case("gantry", np.random.default_rng(0))
    with pytest.raises(ConfigError, match="limits are of 2 joints, the chain has 3"):
        case.guard.set_limits(MotionLimits(*([-np.ones(2)] + [np.ones(2)] * 3)))
