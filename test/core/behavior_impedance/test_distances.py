"""Distances of a segment to obstacles, against coal, closed forms and their own derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from collision import coal_distance
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.avoidance.distances import segment_distance
from flexarm_core.behavior_impedance.avoidance.obstacles import Obstacle, pack

KINDS = ("sphere", "box", "half_space")


def random_obstacle(rng, kind: str) -> Obstacle:
    size = {"sphere": (rng.uniform(0.05, 0.5),), "box": tuple(rng.uniform(0.02, 0.5, 3)), "half_space": ()}[kind]
    return Obstacle("it", kind, 0.3 * rng.normal(size=3), Rotation.random(random_state=rng).as_matrix(), size)


def measured(a, b, obstacle, steadiness=0.0):
    """Distance, direction (3,), nearest point of the segment (3,), t."""
    distance, x, y, z, t = segment_distance(np.array([[*a, *b]]), 0, pack([obstacle]), 0, steadiness)
    return distance, np.array([x, y, z]), a + t * (np.asarray(b) - a), t


@pytest.mark.parametrize("kind", KINDS)
def test_the_distance_outside_and_inside_is_that_of_coal(kind):
    rng, worst, inside = np.random.default_rng(1), 0.0, 0
    for _ in range(3000):
        obstacle, (a, b) = random_obstacle(rng, kind), rng.uniform(0.1, 1.0) * rng.normal(size=(2, 3))
        distance, *_ = measured(a, b, obstacle)
        worst = max(worst, abs(distance - 0.05 - coal_distance(a, b, 0.05, obstacle)))
        inside += distance < 0.0
    assert worst < 1e-12
    assert inside > 200


@pytest.mark.parametrize("kind", KINDS)
def test_the_distance_grows_along_the_direction_as_fast_as_the_segment_moves(kind):
    rng, h = np.random.default_rng(2), 1e-7
    for _ in range(1000):
        obstacle, (a, b) = random_obstacle(rng, kind), 0.5 * rng.normal(size=(2, 3))
        distance, u, *_ = measured(a, b, obstacle)
        assert np.linalg.norm(u) == pytest.approx(1.0, abs=1e-9)
        assert measured(a + h * u, b + h * u, obstacle)[0] - distance == pytest.approx(h, rel=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_leaving_along_the_direction_by_the_depth_ends_the_touch(kind):
    rng, count = np.random.default_rng(3), 0
    while count < 300:
        obstacle, (a, b) = random_obstacle(rng, kind), 0.3 * rng.normal(size=(2, 3))
        distance, u, *_ = measured(a, b, obstacle)
        if distance < 0.0:
            count += 1
            assert measured(a - distance * u, b - distance * u, obstacle)[0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_as_the_segment_turns_the_distance_changes_as_the_nearest_point_moves(kind):
    rng, h, worst = np.random.default_rng(4), 1e-6, []
    for _ in range(1000):
        obstacle, (a, b), twist = random_obstacle(rng, kind), 0.5 * rng.normal(size=(2, 3)), rng.normal(size=6)
        _, u, point, _ = measured(a, b, obstacle)
        turn = [Rotation.from_rotvec(side * h * twist[3:]).as_matrix() for side in (1.0, -1.0)]
        after = measured(turn[0] @ a + h * twist[:3], turn[0] @ b + h * twist[:3], obstacle)[0]
        before = measured(turn[1] @ a - h * twist[:3], turn[1] @ b - h * twist[:3], obstacle)[0]
        rate = u @ (twist[:3] + np.cross(twist[3:], point))
        worst.append(abs((after - before) / (2.0 * h) - rate))
    # at an edge of the function, where two ways are as short, there is no derivative
    assert np.mean(np.array(worst) < 1e-4) > 0.995


@pytest.mark.parametrize("kind", KINDS)
def test_the_segment_has_no_first_and_last_end(kind):
    rng = np.random.default_rng(5)
    for _ in range(300):
        obstacle, (a, b) = random_obstacle(rng, kind), 0.5 * rng.normal(size=(2, 3))
        one, other = measured(a, b, obstacle), measured(b, a, obstacle)
        assert one[0] == pytest.approx(other[0], abs=1e-12)
        assert np.allclose(one[1], other[1], atol=1e-6)
        assert np.allclose(one[2], other[2], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_distance_changes_by_no_more_than_the_segment_moves(kind):
    rng = np.random.default_rng(6)
    for _ in range(20):
        obstacle, ends, velocity = random_obstacle(rng, kind), 0.5 * rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
        fastest, last = np.linalg.norm(velocity, axis=1).max(), None
        for s in np.linspace(-1.0, 1.0, 401):
            now = measured(*(ends + s * velocity), obstacle)[0]
            assert last is None or abs(now - last) <= 0.005 * fastest * (1.0 + 1e-9) + 1e-9
            last = now


def test_known_distances_to_a_box_at_a_face_an_edge_and_a_corner():
    box = Obstacle("box", "box", [0.0] * 3, np.eye(3), (1.0, 2.0, 3.0))
    distance, u, point, _ = measured(np.array([1.5, 0.3, 0.2]), np.array([3.0, 0.4, 0.1]), box)
    assert distance == pytest.approx(0.5) and np.allclose(u, [1, 0, 0]) and np.allclose(point, [1.5, 0.3, 0.2])
    distance, u, point, _ = measured(np.array([2.0, 3.0, -1.0]), np.array([2.0, 3.0, 5.0]), box)
    assert distance == pytest.approx(np.sqrt(2.0)) and np.allclose(u, np.array([1, 1, 0]) / np.sqrt(2.0))
    distance, u, _, t = measured(np.array([2.0, 3.0, 4.0]), np.array([9.0, 9.0, 9.0]), box)
    assert distance == pytest.approx(np.sqrt(3.0)) and np.allclose(u, 1.0 / np.sqrt(3.0)) and t == 0.0
    distance, u, point, _ = measured(
        np.array([0.0, -2.0, 0.0]), np.array([4.0, 2.0, 0.0]), box
    )  # past an edge? through it
    assert distance == pytest.approx(-1.0 / np.sqrt(2.0)) and np.allclose(u, np.array([1, -1, 0]) / np.sqrt(2.0))
    distance, u, point, t = measured(np.array([0.8, -0.2, 0.5]), np.array([0.2, 0.2, 0.3]), box)
    assert distance == pytest.approx(-0.8) and np.allclose(u, [1, 0, 0]) and t == 1.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direction", ([0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, -1, 0], [1e-9, 0, 0], [1, 2, 3]))
def test_where_the_center_is_hit_the_answer_is_finite_and_leads_out(kind, direction):
    size = {"sphere": (0.3,), "box": (0.3, 0.2, 0.4), "half_space": ()}[kind]
    obstacle, half = Obstacle("it", kind, [0.1, 0.2, 0.3], np.eye(3), size), 0.5 * np.array(direction, dtype=float)
    for steadiness in (0.0, 0.01):
        distance, u, point, t = measured(obstacle.position - half, obstacle.position + half, obstacle, steadiness)
        assert np.isfinite([distance, t, *u, *point]).all() and 0.0 <= t <= 1.0
        assert np.linalg.norm(u) == pytest.approx(1.0)
        moved = [obstacle.position + side * half + (1e-3 - distance) * u for side in (-1.0, 1.0)]
        assert measured(*moved, obstacle)[0] == pytest.approx(1e-3, abs=1e-9)


def test_a_steady_point_does_not_jump_where_the_segment_turns_through_parallel():
    box, steps = Obstacle("box", "box", [0.0] * 3, np.eye(3), (0.5, 0.5, 0.1)), np.linspace(-0.1, 0.1, 2001)
    for steadiness, largest in ((0.0, 0.9), (0.01, 0.01)):
        at = []
        for angle in steps:
            half = 0.25 * np.array([np.cos(angle), 0.0, np.sin(angle)])
            distance, *_, t = measured(
                np.array([0.05, 0.0, 0.2]) - half, np.array([0.05, 0.0, 0.2]) + half, box, steadiness
            )
            assert distance == pytest.approx(0.1 - abs(half[2]), abs=1e-12)
            at.append(t)
        jump = np.abs(np.diff(at)).max()
        assert jump > largest if steadiness == 0.0 else jump < largest
        assert at[0] == pytest.approx(1.0) and at[-1] == pytest.approx(0.0)


def test_a_steady_point_is_the_nearest_one_where_there_is_no_doubt():
    rng = np.random.default_rng(7)
    for _ in range(500):
        obstacle, (a, b) = random_obstacle(rng, "box"), rng.normal(size=(2, 3))
        exact, steady = measured(a, b, obstacle), measured(a, b, obstacle, 0.01)
        assert steady[0] == exact[0]
        length = np.linalg.norm(b - a)
        if exact[0] > 0.05:
            reached = coal_distance(steady[2], steady[2], 1e-3, obstacle) + 1e-3
            # the least of d^2 + 0.01 L^2 (t - 1/2)^2 is no more than at the nearest point
            bound = exact[0] ** 2 + 0.01 * length**2 * ((exact[3] - 0.5) ** 2 - (steady[3] - 0.5) ** 2)
            assert exact[0] - 1e-9 <= reached <= np.sqrt(bound) + 1e-9
