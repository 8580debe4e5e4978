"""Planned paths: the tool where it belongs at any time, every limit held, the same joints again, or a reason why."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pinocchio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from robots import chain_or_skip, pinocchio_chain
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from flexarm_core.errors import InputError
from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.ik_redundancy.config import RedundancyConfig
from flexarm_core.ik_redundancy.inverse_kinematics import InverseKinematics
from flexarm_core.ik_redundancy.joint_paths import CELL, _cheapest, even_layers, joint_paths, shortest
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.ik_redundancy.path_planner import PathError, PathPlanner
from flexarm_core.ik_redundancy.planned_path import PlannedPath
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.path.pose_path import PosePath
from flexarm_core.types import Array

TOOL = PathLimits(linear_velocity=0.5, linear_acceleration=2.0, angular_velocity=2.0, angular_acceleration=8.0)
ACCELERATION = 10.0  # [rad/s^2] limit of every joint
POSITION_TOLERANCE, ROTATION_TOLERANCE = 1e-4, 1e-3  # [m], [rad]
ALL, POSITION, PLANE = (np.array([c == "1" for c in mask]) for mask in ("111111", "111000", "110000"))
READY = {
    "panda": np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8]),
    "iiwa": np.array([0.3, 0.6, 0.1, -1.2, 0.2, 0.9, 0.3]),
    "ur5": np.array([0.0, -1.2, 1.6, -1.0, 0.8, 0.0]),
    "planar_4r": np.array([0.3, 0.6, 0.5, 0.4]),
    "arm_6r": np.array([0.0, 0.4, 0.9, 0.1, 0.6, 0.2]),
}


def _planner(name: str, **settings: object) -> PathPlanner:
    arm = chain_or_skip(name)
    limits = MotionLimits(arm.lower, arm.upper, arm.velocity_limit, np.full(arm.n, ACCELERATION))
    return PathPlanner(arm, limits, RedundancyConfig(**settings))


def _path(name: str) -> PosePath:
    """A path that begins at the ready position."""
    return PosePath(*chain_or_skip(name).pose(READY[name]))


def _line_and_arc() -> PosePath:
    path = _path("panda")
    p, R = path.end
    turned = Rotation.from_rotvec([0.3, 0.0, 0.4]).as_matrix() @ R
    return path.line(p + [0.1, 0.15, -0.1]).arc(p + [0.1, 0.25, 0.0], p + [0.0, 0.3, 0.1], turned)


def _times(plan: PlannedPath, count: int, seed: int = 0) -> list[float]:
    return [0.0, *np.random.default_rng(seed).uniform(0.0, plan.duration, count).tolist(), plan.duration]


def _missed(name: str, path: PosePath, plan: PlannedPath, times: list[float], axes: Array = ALL) -> tuple[float, float]:
    """Largest distance [m] and angle [rad], by wanted axes, between the path and Pinocchio's tool."""
    judge, errors = pinocchio_chain(name), []
    for time in times:
        wanted, R_wanted = path.pose(plan.timing.at(time)[0])
        p, R = judge.pose(plan.sample(time)[0])
        errors.append(np.where(axes, np.concatenate((wanted - p, pinocchio.log3(R_wanted @ R.T))), 0.0))
    found = np.array(errors).reshape(-1, 2, 3)
    distance, angle = np.linalg.norm(found, axis=2).max(axis=0)
    return float(distance), float(angle)


def _of_limits(planner: PathPlanner, plan: PlannedPath, times: list[float]) -> tuple[float, float]:
    """Largest rate and acceleration of a joint as shares of their limits; position limits are asserted."""
    rate, acceleration = 0.0, 0.0
    for time in times:
        q, v, a = plan.sample(time)
        assert (q >= planner.limits.lower).all() and (q <= planner.limits.upper).all()
        rate = max(rate, float((np.abs(v) / planner.limits.velocity).max()))
        acceleration = max(acceleration, float((np.abs(a) / planner.limits.acceleration).max()))
    return rate, acceleration


def _tool_of_limits(name: str, plan: PlannedPath, times: list[float]) -> float:
    """Largest rate or acceleration of Pinocchio's tool, moved by the joints, as a share of its limit."""
    judge, largest, h = pinocchio_chain(name), 0.0, 1e-5
    for time in times:
        q, v, a = plan.sample(time)
        J, drift = judge.jacobian(q), (judge.jacobian(q + h * v) - judge.jacobian(q - h * v)) @ v / (2.0 * h)
        twist, acceleration = J @ v, J @ a + drift
        largest = max(
            largest,
            np.linalg.norm(twist[:3]) / TOOL.linear_velocity,
            np.linalg.norm(twist[3:]) / TOOL.angular_velocity,
            np.linalg.norm(acceleration[:3]) / TOOL.linear_acceleration,
            np.linalg.norm(acceleration[3:]) / TOOL.angular_acceleration,
        )
    return float(largest)


def _said_fraction(error: PathError) -> float:
    """The fraction that the message names; it must be a reason."""
    found = re.match(r"at (\d+\.\d) % of the path .* would have to", str(error))
    assert found, error
    return float(found[1]) / 100.0


def test_the_tool_keeps_to_a_line_and_an_arc_within_every_limit():
    planner, path = _planner("panda"), _line_and_arc()
    plan = planner.plan(path, READY["panda"], TOOL)
    times = _times(plan, 300)
    distance, angle = _missed("panda", path, plan, times)
    assert distance <= POSITION_TOLERANCE and angle <= ROTATION_TOLERANCE
    assert max(_of_limits(planner, plan, times)) <= 1.0
    assert 0.9 < _tool_of_limits("panda", plan, times) <= 1.0 + 1e-3  # the joints' tool is a tolerance off the path


def test_a_plan_begins_at_the_given_joints_and_ends_at_the_end_both_at_rest():
    planner, path = _planner("panda"), _line_and_arc()
    plan = planner.plan(path, READY["panda"], TOOL)
    q, v, _ = plan.sample(0.0)
    assert np.allclose(q, READY["panda"], rtol=0.0, atol=1e-12) and np.array_equal(v, np.zeros(7))
    q, v, a = plan.sample(plan.duration + 0.1)
    assert np.array_equal(v, np.zeros(7)) and np.array_equal(a, np.zeros(7))
    assert np.array_equal(q, plan.sample(plan.duration)[0])
    p, R = pinocchio_chain("panda").pose(q)
    assert np.allclose(p, path.end[0], rtol=0.0, atol=1e-6) and np.allclose(R, path.end[1], rtol=0.0, atol=1e-6)
    assert plan.fraction(0.0) == 0.0 and plan.fraction(plan.duration) == pytest.approx(1.0, abs=1e-12)
    fractions = [plan.fraction(time) for time in np.linspace(0.0, plan.duration, 50)]
    assert (np.diff(fractions) > 0.0).all()


def test_the_joints_are_smooth_their_rates_the_derivatives_of_their_positions():
    plan, h = _planner("panda").plan(_line_and_arc(), READY["panda"], TOOL), 1e-6
    for time in np.random.default_rng(1).uniform(0.01, plan.duration - 0.01, 100):
        before, after = plan.sample(time - h), plan.sample(time + h)
        assert np.allclose((after[0] - before[0]) / (2.0 * h), plan.sample(time)[1], atol=1e-4)


@pytest.mark.parametrize(("name", "axes"), [("panda", ALL), ("iiwa", POSITION), ("planar_4r", PLANE)])
@pytest.mark.parametrize("turns", [5, 7])
def test_closed_paths_lead_back_to_the_same_joints_turn_after_turn(name, axes, turns):
    path = _path(name)
    path = path.circle(path.end[0] - [0.1, 0.0, 0.0], [0.0, 0.0, 1.0], 2.0 * np.pi * turns)
    plan = _planner(name).plan(path, READY[name], TOOL, axes)
    times, drift = np.linspace(0.0, plan.duration, 20_001), []
    fractions = np.array([plan.fraction(time) for time in times])
    for turn in range(1, turns):  # where each turn ends, however the points lie
        drift.append(plan.sample(float(np.interp(turn / turns, fractions, times)))[0] - READY[name])
    drift.append(plan.sample(plan.duration)[0] - READY[name])
    sizes = np.abs(drift).max(axis=1)
    half = plan.sample(float(np.interp(0.5 / turns, fractions, times)))[0]
    assert np.abs(half - READY[name]).max() > 0.1  # the arm did move
    assert sizes[0] < 1e-4 and sizes[-1] <= sizes[0] + 1e-6


def _lap_behind_a_limit(name: str, seed: int, share: float = 0.25) -> tuple[PathPlanner, PosePath, Array]:
    """A circle, and an arm whose joint that would move most on it has lost a part of what it would need."""
    planner, random = _planner(name), np.random.default_rng(seed)
    limits = planner.limits
    share_of_range = random.uniform(0.2, 0.8, planner.chain.n)
    start = limits.lower + share_of_range * (limits.upper - limits.lower)
    p, R = planner.chain.pose(start)
    first, second = random.uniform(0.05, 0.2) * np.linalg.qr(random.normal(size=(3, 2)))[0].T
    path = PosePath(p, R).arc(p + first + second, p + 2.0 * first).arc(p + first - second, p)
    free = planner.plan(path, start, TOOL)
    q = np.array([free.sample(time)[0] for time in np.linspace(0.0, free.duration, 200)]) - start
    joint = int(np.ptp(q, axis=0).argmax())
    lower, upper = limits.lower.copy(), limits.upper.copy()
    if q[:, joint].max() > -q[:, joint].min():
        upper[joint] = start[joint] + (1.0 - share) * q[:, joint].max()
    else:
        lower[joint] = start[joint] + (1.0 - share) * q[:, joint].min()
    return PathPlanner(planner.chain, replace(limits, lower=lower, upper=upper), RedundancyConfig()), path, start


@pytest.mark.parametrize(("name", "seed"), [("panda", 4), ("panda", 15), ("panda", 23), ("iiwa", 18)])
def test_a_closed_path_leads_back_to_the_same_joints_though_a_limit_is_in_the_way(name, seed):
    planner, path, start = _lap_behind_a_limit(name, seed)
    once = planner.plan(path, start, TOOL)
    times = _times(once, 60)
    _of_limits(planner, once, times)
    distance, angle = _missed(name, path, once, times)
    assert distance < POSITION_TOLERANCE and angle < ROTATION_TOLERANCE
    assert np.abs(once.sample(once.duration)[0] - start).max() < 1e-7 and not once.remark


@pytest.mark.long
def test_a_lap_whose_way_back_opens_for_a_short_part_of_it_is_found_by_search():
    planner = _planner("iiwa")
    start = np.array([1.637964, -0.017607, -0.123217, 0.903731, -0.748211, 0.761717, -0.779501])
    upper = np.where(np.arange(7) == 5, 1.16198716, planner.limits.upper)
    planner = PathPlanner(planner.chain, replace(planner.limits, upper=upper), planner.config)
    first, second = np.array([[-0.087771, 0.092426, -0.031419], [-0.072342, -0.089952, -0.062521]])
    p, R = planner.chain.pose(start)
    path = PosePath(p, R).arc(p + first + second, p + 2.0 * first).arc(p + first - second, p)
    plan = planner.plan(path, start, TOOL)
    times = _times(plan, 200)
    distance, angle = _missed("iiwa", path, plan, times)
    _of_limits(planner, plan, times)
    assert distance < POSITION_TOLERANCE and angle < ROTATION_TOLERANCE
    assert np.abs(plan.sample(plan.duration)[0] - start).max() < 1e-7 and not plan.remark


def test_all_joint_paths_of_a_lap_reach_its_poses_within_limits_and_the_shortest_leads_back():
    planner, path, start = _lap_behind_a_limit("panda", 23)
    limits, judge, grid = planner.limits.table(), pinocchio_chain("panda"), even_layers(path)
    plan = RedundancyConfig(band=0.0).plan(planner.chain.n, ALL)
    layers = joint_paths(planner.chain, limits, plan, ALL, np.full(6, 1e-6), path, start, grid)
    assert [layer.s for layer in layers] == grid.tolist()
    for before, layer in pairwise(layers):
        p, R = path.pose(layer.s)
        for q in layer.position[::5]:
            there, turned = judge.pose(q)
            assert np.allclose(there, p, atol=2e-6) and np.allclose(turned, R, atol=4e-6)
        assert (layer.position >= limits[0]).all() and (layer.position <= limits[1]).all()
        moved = ((layer.position - before.position[layer.before]) ** 2).sum(axis=1) / (layer.s - before.s)
        assert np.allclose(layer.motion, before.motion[layer.before] + moved)
    back, anywhere = shortest(layers, start), shortest(layers)
    assert back is not None and np.array_equal(back[0], start) and np.array_equal(back[-1], start)
    assert np.array_equal(anywhere[0], start) and shortest(layers, start + 1.0) is None
    steps = (np.diff(anywhere, axis=0) ** 2).sum(axis=1) / np.diff(grid)
    assert np.isclose(steps.sum(), layers[-1].motion.min())


def test_a_lap_that_begins_off_the_given_origin_approaches_it_and_the_next_one_returns():
    planner, path = _planner("panda", origin=tuple(READY["panda"] + 0.1)), _path("panda")
    path = path.circle(path.end[0] - [0.1, 0.0, 0.0], [0.0, 0.0, 1.0], 2.0 * np.pi)
    first = planner.plan(path, READY["panda"], TOOL)
    end = first.sample(first.duration)[0]
    assert np.abs(end - READY["panda"]).max() > 0.01 and not first.remark
    second = planner.plan(path, end, TOOL)
    assert np.abs(second.sample(second.duration)[0] - end).max() < 1e-3


def test_a_closed_path_whose_joints_do_not_return_says_so():
    planner, path, start = _lap_behind_a_limit("iiwa", 11)
    plan = planner.plan(path, start, TOOL)
    far = np.abs(plan.sample(plan.duration)[0] - start).max()
    assert (
        far > 1e-3 and plan.remark == f"the path is closed, but the joints end up to {far:.2g} from where they started"
    )


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("panda", [0.6, 0.2, 0.1]),
        ("iiwa", [0.3, 0.6, 0.3]),
        ("ur5", [0.7, 0.2, -0.1]),
        ("arm_6r", [0.5, 0.2, -0.3]),
    ],
)
def test_a_path_out_of_reach_is_refused_with_where_reach_ends(name, way):
    path = _path(name)
    path = path.line(path.end[0] + way)
    with pytest.raises(PathError, match=r"at \d+\.\d % of the path .* the tool would miss it by") as caught:
        _planner(name).plan(path, READY[name], TOOL)
    arm = chain_or_skip(name)
    anywhere = InverseKinematics(arm, arm.lower, arm.upper)

    def reachable(fraction: float) -> bool:
        return anywhere.solve(*path.pose(fraction * path.length), READY[name]).success

    fraction = caught.value.fraction
    assert all(reachable(f) for f in np.linspace(0.0, fraction - 5e-3, 20))
    assert not any(reachable(f) for f in np.linspace(fraction + 5e-3, 1.0, 20))
    assert abs(_said_fraction(caught.value) - fraction) < 2e-3


def test_a_start_that_is_not_usable_is_refused_with_its_reason():
    planner, start, path = _planner("panda"), READY["panda"], _path("panda")
    p, R = path.end
    outside = start + np.array([0.0, 0.0, 0.0, 2.5, 0.0, 0.0, 0.0])
    turned = Rotation.from_rotvec([0.0, 0.1, 0.0]).as_matrix() @ R
    to = p + [0.0, 0.1, 0.0]
    for from_path, joints, said in (
        (PosePath(p + [0.0, 0.01, 0.0], R).line(to), start, "begins 0.01 m and .* rad away from the tool"),
        (PosePath(p, turned).line(to), start, "begins 0 m and 0.1 rad away from the tool: begin it at the tool's"),
        (path.line(to), start * np.nan, "must start from 7 finite joint positions, got .*nan"),
        (path.line(to), np.where(np.arange(7) == 2, np.inf, start), "7 finite joint positions"),
        (path.line(to), start[:6], "must start from 7 finite joint positions"),
        (path.line(to), outside, "panda_joint4 begin outside their position limits: move them back first"),
        (path, start, "the path has no length"),
    ):
        with pytest.raises(InputError, match=said) as caught:
            planner.plan(from_path, joints, TOOL)
        assert not isinstance(caught.value, PathError)


def test_what_the_path_begins_with_matters_only_along_wanted_axes():
    planner, path = _planner("panda"), _path("panda")
    p, R = path.end
    other = PosePath(p, Rotation.from_rotvec([0.0, 0.5, 0.0]).as_matrix() @ R).line(p + [0.0, 0.1, 0.0])
    plan = planner.plan(other, READY["panda"], TOOL, POSITION)
    assert _missed("panda", other, plan, _times(plan, 50), POSITION)[0] <= POSITION_TOLERANCE


@pytest.mark.parametrize("joint", [0, 1, 3])
@pytest.mark.parametrize("beyond", [-1e-4, 0.0])
def test_an_arm_may_begin_at_a_position_limit(joint, beyond):
    planner, start = _planner("panda"), READY["panda"].copy()
    start[joint] = planner.limits.upper[joint] + beyond
    p, R = planner.chain.pose(start)
    path = PosePath(p, R).line(p + [0.1, 0.0, 0.05])
    plan = planner.plan(path, start, TOOL)
    times = _times(plan, 100)
    assert max(_missed("panda", path, plan, times)) <= POSITION_TOLERANCE
    assert max(_of_limits(planner, plan, times)) <= 1.0


def test_a_start_that_lies_outside_by_rounding_is_taken():
    planner, start = _planner("panda"), READY["panda"].copy()
    start[1] = planner.limits.upper[1] + 5e-7
    p, R = planner.chain.pose(start)
    plan = planner.plan(PosePath(p, R).line(p + [0.0, 0.2, 0.0]), start, TOOL)
    for time in _times(plan, 100):
        q = plan.sample(time)[0]
        assert (q >= planner.limits.lower).all() and (q <= np.maximum(planner.limits.upper, start) + 1e-12).all()


@pytest.mark.parametrize("name", ["ur5", "arm_6r"])
@pytest.mark.parametrize("allow_dropped", [False, True])
def test_a_path_of_smooth_joints_through_the_wrist_singularity_is_planned(name, allow_dropped):
    begin, wrist = {"ur5": ([0.0, -1.2, 1.6, -1.0, 0.6, 0.1], 4), "arm_6r": ([0.0, 0.3, 1.2, 0.2, 0.5, 0.1], 4)}[name]
    way = np.array([0.4, 0.2, -0.3, 0.3, -1.1, -0.4])
    part = np.linspace(0.0, 1.0, 60)[:, None]
    joints = begin + way * part + 0.1 * np.sin(np.pi * part) * np.arange(6.0) / 6.0
    assert joints[0, wrist] * joints[-1, wrist] < 0.0
    planner = _planner(name)
    positions, rotations = zip(*(planner.chain.pose(q) for q in joints), strict=True)
    path = PosePath(positions[0], rotations[0]).spline(positions[1:], rotations[1:])
    plan = planner.plan(path, joints[0], TOOL, allow_dropped=allow_dropped)
    times = _times(plan, 150)
    distance, angle = _missed(name, path, plan, times)
    assert distance <= POSITION_TOLERANCE and angle <= ROTATION_TOLERANCE
    assert max(_of_limits(planner, plan, times)) <= 1.0
    assert np.allclose(plan.sample(plan.duration)[0], joints[-1], atol=1e-2)  # through it, not turned about


@pytest.mark.parametrize("way", [(0.0, 0.2, 0.0), (0.1, 0.15, 0.05)])
def test_a_line_through_the_wrist_singularity_is_planned_and_its_dropped_rows_are_told(way):
    planner, name = _planner("arm_6r"), "arm_6r"
    arm, singular = planner.chain, np.array([0.0, 0.3, 1.2, 0.0, 0.0, 0.0])
    middle, R = arm.pose(singular)
    found = InverseKinematics(arm, arm.lower, arm.upper).solve(middle - way, R, singular + [0, 0, 0, 0, 0.1, 0])
    assert found.success
    path = PosePath(middle - way, R).line(middle + way)
    plan = planner.plan(path, found.position, TOOL, allow_dropped=True)
    times = _times(plan, 200)
    assert _missed(name, path, plan, times)[0] <= POSITION_TOLERANCE
    assert max(_of_limits(planner, plan, times)) <= 1.0
    told = {row for time in np.linspace(0.0, plan.duration, 2001) for row in plan.status(time).dropped}
    assert told and told <= {"rx", "ry", "rz"}
    assert plan.status(0.0).dropped == () and plan.status(plan.duration).dropped == ()


@pytest.mark.parametrize(
    ("name", "start", "way"),
    [
        ("arm_6r", [0.0, 0.4, 0.9, 0.0, 0.5, 0.0], [0.12, 0.0, 0.0]),
        ("arm_6r", [0.0, 0.4, 0.9, 0.1, 0.6, 0.2], [0.2, 0.08, -0.12]),
        ("ur5", [0.0, -0.6, 0.6, -1.5, -1.5, 0.0], [0.06, 0.0, 0.0]),
    ],
)
def test_beyond_the_reach_of_the_pose_orientation_gives_and_position_is_kept(name, start, way):
    planner = _planner(name)
    p, R = planner.chain.pose(np.array(start))
    path = PosePath(p, R).line(p + way)
    with pytest.raises(PathError):
        planner.plan(path, np.array(start), TOOL)
    plan = planner.plan(path, np.array(start), TOOL, allow_dropped=True)
    times = _times(plan, 200)
    distance, angle = _missed(name, path, plan, times)
    assert distance <= POSITION_TOLERANCE and angle > 10.0 * ROTATION_TOLERANCE
    assert max(_of_limits(planner, plan, times)) <= 1.0
    end = plan.status(plan.duration)
    assert np.linalg.norm(end.position_error) <= POSITION_TOLERANCE and np.linalg.norm(end.rotation_error) > 1e-2
    assert set(end.dropped + end.damped) and set(end.dropped + end.damped) <= {"rx", "ry", "rz"}


def test_status_tells_the_error_that_pinocchio_sees():
    path = _path("panda")
    path = path.circle(path.end[0] - [0.1, 0.0, 0.0], [0.0, 0.0, 1.0], 6.0 * np.pi)
    plan, judge = _planner("panda").plan(path, READY["panda"], TOOL), pinocchio_chain("panda")
    for time in _times(plan, 30):
        status, (wanted, R_wanted) = plan.status(time), path.pose(plan.fraction(time) * path.length)
        p, R = judge.pose(plan.sample(time)[0])
        assert np.allclose(status.position_error, wanted - p, atol=1e-12)
        assert np.allclose(status.rotation_error, pinocchio.log3(R_wanted @ R.T), atol=1e-9)
        assert status.dropped == () and status.damped == ()


def test_a_stopped_plan_is_the_same_until_then_and_rests_on_the_path_within_limits():
    planner, path = _planner("panda"), _line_and_arc()
    plan = planner.plan(path, READY["panda"], TOOL)
    for time in (0.1, 0.4 * plan.duration, 0.7 * plan.duration):
        stopped = plan.stopped(time)
        for before in np.linspace(0.0, time, 20):
            assert np.allclose(stopped.sample(before)[0], plan.sample(before)[0], rtol=0.0, atol=1e-9)
            assert np.allclose(stopped.sample(before)[1], plan.sample(before)[1], rtol=0.0, atol=1e-6)
        times = _times(stopped, 150)
        distance, angle = _missed("panda", path, stopped, times)
        assert distance <= POSITION_TOLERANCE and angle <= ROTATION_TOLERANCE
        assert max(_of_limits(planner, stopped, times)) <= 1.0
        assert _tool_of_limits("panda", stopped, times) <= 1.0 + 1e-3
        assert time < stopped.duration < plan.duration and stopped.fraction(stopped.duration) < 1.0
        assert stopped.fraction(stopped.duration) > plan.fraction(time)
        assert np.array_equal(stopped.sample(stopped.duration)[1], np.zeros(7))


def test_the_same_question_has_the_same_answer():
    start = READY["iiwa"]
    path = _path("iiwa")
    path = path.line(path.end[0] + [0.1, 0.1, -0.1])
    for settings_ in ({}, {"objective": "joint_range"}, {"origin": tuple(start + 0.3)}):
        first, second = (_planner("iiwa", **settings_).plan(path, start, TOOL) for _ in range(2))
        assert first.duration == second.duration
        for time in _times(first, 20):
            assert np.array_equal(first.sample(time), second.sample(time))


@pytest.mark.long
def test_the_random_attempts_are_repeatable_and_told_apart_by_the_seed():
    reached = []
    for seed in (0, 0, 1):
        planner = _planner("panda")
        planner = PathPlanner(planner.chain, planner.limits, planner.config, seed)
        path, start = _random_path(planner.chain, np.random.default_rng(SECOND_WAY))
        plan = planner.plan(path, start, TOOL)
        reached.append(np.concatenate([plan.sample(t)[0] for t in np.linspace(0.0, plan.duration, 20)]))
    assert np.array_equal(reached[0], reached[1])
    assert not np.array_equal(reached[0], reached[2])


@pytest.mark.long
def test_a_path_with_a_turn_that_finer_points_do_not_smooth_is_given_up_soon(monkeypatch):
    points, solve = [], PathPlanner._solve

    def counted(*given, **named):
        joints = solve(*given, **named)
        points.append(len(joints.position))
        return joints

    monkeypatch.setattr(PathPlanner, "_solve", counted)
    start = np.array([1.873417, -1.51934005, 2.40710644, 0.25685028, -1.57210105, -2.04472969])
    lower = np.array([0.58133069, -2.79508654, 0.8229287, -1.07744873, -2.63493808, -2.4122319])
    upper = np.array([3.355641, -1.46142153, np.pi, 0.62920603, -1.21241667, -0.22785032])
    planner = _planner("ur5")
    planner = PathPlanner(planner.chain, replace(planner.limits, lower=lower, upper=upper), planner.config)
    path = PosePath(*planner.chain.pose(start)).circle(np.zeros(3), [0.0, 0.0, 1.0], 2.0 * np.pi)
    with pytest.raises(PathError, match="turn too sharply"):
        planner.plan(path, start, TOOL, np.arange(6) > 0, allow_dropped=True)
    assert sum(points) < 15_000  # some 56,000 if each of 17 attempts took all five rounds


def test_a_refusal_is_the_same_each_time():
    path, planner = _path("iiwa"), _planner("iiwa")
    path, said = path.line(path.end[0] + [0.3, 0.6, 0.3]), set()
    for _ in range(2):
        with pytest.raises(PathError) as caught:
            planner.plan(path, READY["iiwa"], TOOL)
        said.add((str(caught.value), caught.value.fraction))
    assert len(said) == 1


SECOND_WAY = 269  # seed of a path along which none of the attempts before the random ones gets


def _random_path(arm: Chain, random: np.random.Generator) -> tuple[PosePath, Array]:
    """A path that a smooth motion inside the position limits draws, and the joints (n,) where it begins."""
    low, high = np.maximum(arm.lower, -np.pi) + 0.01, np.minimum(arm.upper, np.pi) - 0.01
    knots = [random.uniform(low, high)]
    for _ in range(3):
        knots.append(np.clip(knots[-1] + random.uniform(-0.5, 0.5, arm.n), low, high))
    joints = np.clip(CubicSpline(np.arange(4.0), np.array(knots))(np.linspace(0.0, 3.0, 73)), low, high)
    positions, rotations = zip(*(arm.pose(q) for q in joints), strict=True)
    return PosePath(positions[0], rotations[0]).spline(positions[1:], rotations[1:]), joints[0]


@pytest.mark.parametrize("count", [8, pytest.param(60, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ["panda", "iiwa", "ur5"])
def test_random_reachable_paths_are_planned_but_few_which_are_refused_with_a_reason(name, count):
    planner, random, whole = _planner(name), np.random.default_rng(20), 0
    for _ in range(count):
        path, start = _random_path(planner.chain, random)
        try:
            plan = planner.plan(path, start, TOOL)
        except PathError as error:
            assert 0.0 <= error.fraction <= 1.0 and abs(_said_fraction(error) - error.fraction) < 2e-3
            continue
        times = _times(plan, 20)
        distance, angle = _missed(name, path, plan, times)
        assert distance <= POSITION_TOLERANCE and angle <= ROTATION_TOLERANCE
        assert max(_of_limits(planner, plan, times)) <= 1.0
        whole += 1
    assert whole >= 0.96 * count - 1


@given(
    st.sampled_from(["ur5", "arm_6r", "planar_4r", "panda"]),
    st.integers(0, 100_000),
    st.floats(-9.0, 1.0),
    st.floats(-9.0, 0.4),
    st.booleans(),
)
@settings(max_examples=16, deadline=None, derandomize=True)
def test_random_lines_are_planned_or_refused_and_nothing_else(name, seed, way, turn, allow_dropped):
    random, planner = np.random.default_rng(seed), _planner(name)
    arm = planner.chain
    start = random.uniform(np.maximum(arm.lower, -np.pi), np.minimum(arm.upper, np.pi))
    p, R = arm.pose(start)
    turned = Rotation.from_rotvec(10.0**turn * _direction(random)).as_matrix() @ R
    path = PosePath(p, R).line(p + 10.0**way * _direction(random), turned)
    try:
        plan = planner.plan(path, start, TOOL, allow_dropped=allow_dropped)
    except PathError as error:
        assert 0.0 <= error.fraction <= 1.0 and abs(_said_fraction(error) - error.fraction) < 2e-3
        return
    times = _times(plan, 20)
    distance, angle = _missed(name, path, plan, times)
    assert allow_dropped or (distance <= POSITION_TOLERANCE * 3.0**0.5 and angle <= ROTATION_TOLERANCE * 3.0**0.5)
    assert max(_of_limits(planner, plan, times)) <= 1.0


def test_of_the_joint_positions_in_a_cell_those_of_least_motion_are_kept():
    cells = CELL * np.array([[0, 0], [3, -2], [0, 0], [0, 0], [3, -2]])
    within = 0.4 * CELL * np.array([[1, -1], [0, 1], [-1, 1], [0, 0], [1, 1]])
    kept = _cheapest(cells + within, np.array([2.0, 1.0, 0.5, 3.0, 4.0]))
    assert sorted(kept) == [1, 2]


def _direction(random: np.random.Generator) -> Array:
    vector = random.normal(size=3)
    return vector / np.linalg.norm(vector)
