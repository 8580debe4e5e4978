"""A program that changes at every sample does what it does with seldom changes; no change makes the arm run away."""

from __future__ import annotations

import numpy as np
import pytest
from reprogramming import Course, Program, Wall, arm_of, begin, differences, draw, run, violations

from flexarm_core.behavior_impedance.behavior import BehaviorSpec
from flexarm_core.behavior_impedance.config import ImpedanceConfig
from flexarm_core.errors import ConfigError

READY = np.array([0.0, 0.3, 0.0, -1.8, 0.0, 2.1, 0.5])
DT, STEP = 0.002, 2_000_000
LAW = {"damping": (450.0,) * 3 + (20.0,) * 3, "stiffness": (1e4,) * 3 + (400.0,) * 3}
WALL = 2e4  # [N/m]
PATH = BehaviorSpec("path", "path", {"positions": [0.05, 0.05, 0.0], "relative": True})
WRENCH = [0.0, 0.0, 15.0, 0.0, 0.0, 0.0]


# Where a change once held the law to what the joints did not do, or pressed the tool into its wall with 413 N.
AT_SINGULARITIES = ((38, 400), (244, 520), (674, 400), (953, 700), (968, 700))


LONG = [pytest.param(seed, 250, marks=pytest.mark.long) for seed in (*range(2, 12), *range(31, 36))]


@pytest.mark.parametrize(("seed", "samples"), (*((seed, 250) for seed in (0, 1, 30)), *AT_SINGULARITIES, *LONG))
def test_a_random_program_changed_at_every_sample_does_what_it_does_changed_at_every_tenth(seed, samples):
    """Free, pressing and wiping, behaviors of the tool and of the joints; the long form is in the benchmark."""
    program = draw(seed)
    often, seldom = run(program, 1, samples), run(program, 10, samples)
    assert not violations(program, often) and not often.failures and often.held <= seldom.held
    found = differences(program, often, seldom)
    assert max(found.values()) < 0.05, found
    assert often.force.max() <= 1.05 * max(seldom.force.max(), seldom.wanted.max())


def pull(stiffness=1000.0, damping=50.0, at=(0.55, 0.05, 0.45)):
    settings = {"position": list(at), "stiffness": [stiffness] * 3 + [5.0] * 3, "damping": [damping] * 3 + [1.0] * 3}
    return BehaviorSpec("pull", "spring", settings)


def press(damping=2500.0, force=15.0, **more):
    settings = {"wrench": [0.0, 0.0, force, 0.0, 0.0, 0.0], "damping": [damping, 50.0], "frame": "tool"}
    return BehaviorSpec("press", "force", settings | more)


def driven(specs, config=None, changing=400, resting=600, wall=False, robot="panda"):
    """A course whose program changes at every sample of its first part; the controller at its end."""
    arm, rng = arm_of(robot), np.random.default_rng(0)
    normal = -arm.chain.kinematics(READY)[1][:, 2] if wall else None
    program = Program(0, arm, robot, "force" if wall else "free", "tool", READY, [], None, normal, WALL, np.zeros(6))
    made, wall, joints, tool, force, held = begin(arm, READY, ImpedanceConfig(**LAW)), Wall(program), [], [], [], 0
    for k in range(changing + resting):
        if k < changing:
            if config is not None:
                made.set_config(ImpedanceConfig(**LAW | config(k, rng)))
            made.set_behaviors(specs(k, rng))
        elif k == changing:
            made.set_config(ImpedanceConfig(**LAW))
        wrench, pressed = wall.press()
        out = made.update((k + 1) * STEP, DT, wrench)
        wall.advance(made.solver.position)
        joints.append(made.solver.position)
        tool.append(out.position)
        force.append(pressed)
        held += bool(out.held)
    course = Course(np.array(joints), np.array(tool), np.array(force), np.zeros(len(force)), 0.0, held, 0)
    assert not violations(program, course) and not held
    return course, made


def test_a_stiffness_that_changes_by_a_percent_at_every_sample_does_not_move_a_path():
    def specs(k, rng):
        return [PATH, pull(200.0 * (1.0 + 0.01 * (k % 2)))]

    often, _ = driven(specs, changing=1000, resting=0)
    once, _ = driven(lambda k, rng: [PATH, pull(201.0)], changing=1, resting=999)
    assert np.abs(often.tool - once.tool).max() < 1e-4
    assert np.linalg.norm(np.diff(often.tool, axis=0), axis=1).max() / DT < 0.1 * 1.02


def test_a_force_that_changes_at_every_sample_is_exerted():
    course, _ = driven(lambda k, rng: [press(force=15.0 * (1.0 + 0.01 * (k % 2)))], changing=600, resting=0, wall=True)
    assert np.abs(course.force[400:] - 15.075).max() < 0.1


def test_an_obstacle_that_moves_at_every_sample_pushes_the_tool_as_one_that_is_moved_seldom():
    def obstacle(k):
        x = 0.45 + 0.02 * np.sin(0.01 * k)
        settings = {"names": ["a"], "kinds": ["sphere"], "positions": [x, 0.25, 0.5], "sizes": [0.05, 0.0, 0.0]}
        return [BehaviorSpec("o", "obstacles", settings | {"range": 0.3, "tool_range": 0.25})]

    often, _ = driven(lambda k, rng: obstacle(k), changing=600, resting=0)
    seldom, _ = driven(lambda k, rng: obstacle(10 * (k // 10)), changing=600, resting=0)
    way = np.abs(seldom.tool - seldom.tool[0]).max()
    assert way > 1e-3 and np.abs(often.tool - seldom.tool).max() < 0.05 * way


def steep(k: int, rng: np.random.Generator) -> dict:
    return {"stiffness": tuple(value * (0.01, 1.0)[k % 2] for value in LAW["stiffness"])}


def wild(k: int, rng: np.random.Generator) -> dict:
    return {
        "inertia": tuple(value * 10.0 ** rng.uniform(-1, 1) for value in (5.0,) * 3 + (0.2,) * 3),
        "damping": tuple(value * 10.0 ** rng.uniform(-1, 1) for value in LAW["damping"]),
        "stiffness": tuple(value * 10.0 ** rng.uniform(-2, 2) for value in LAW["stiffness"]),
    }


BREAKS = {
    "law a hundred times as stiff": (lambda k, rng: [PATH, pull()], steep),
    "law at random": (lambda k, rng: [PATH, pull()], wild),
    "spring a hundred times as stiff": (lambda k, rng: [PATH, pull((100.0, 10000.0)[k % 2])], None),
    "spring on and off": (lambda k, rng: [PATH, pull(1000.0 * (k % 2), 50.0 * (k % 2))], None),
    "added and removed": (lambda k, rng: [PATH, pull()] if k % 2 else [], None),
    "ends that jump": (lambda k, rng: [PATH, pull(at=np.array([0.55, 0.0, 0.45]) + 0.1 * rng.normal(size=3))], None),
    "frames": (lambda k, rng: [PATH, pull()], lambda k, rng: {"frame": ("base", "tool")[k % 2]}),
    "variants": (lambda k, rng: [PATH, pull()], lambda k, rng: {"variant": ("acceleration", "velocity")[k % 2]}),
    "axes": (lambda k, rng: [PATH, pull()], lambda k, rng: {"axes": (True, *(rng.uniform(size=5) < 0.7).tolist())}),
}  # fmt: skip


@pytest.mark.parametrize("what", BREAKS)
def test_whatever_changes_at_every_sample_the_arm_goes_no_farther_than_it_is_asked_to_and_comes_to_rest(what):
    specs, config = BREAKS[what]
    course, made = driven(specs, config, resting=900)
    assert np.linalg.norm(course.tool - course.tool[0], axis=1).max() < 0.15
    assert np.linalg.norm(np.diff(course.tool, axis=0), axis=1).max() / DT < 0.15
    assert np.linalg.norm(made.output.twist) < 1e-3 and made.transition == 0.0


@pytest.mark.parametrize("force", (15.0, 0.0))
def test_what_makes_up_for_changes_never_presses_the_tool_into_a_wall(force):
    """However large it is and wherever it comes from: 400 N of it are put there by hand."""
    arm = arm_of("panda")
    normal = -arm.chain.kinematics(READY)[1][:, 2]
    wall = Wall(Program(0, arm, "panda", "force", "tool", READY, [], None, normal, WALL, np.zeros(6)))
    made, pressed = begin(arm, READY, ImpedanceConfig(**LAW)), []
    for k in range(600):
        made.set_behaviors([press(2500.0 + k % 2, force)])
        if k == 300:
            made._state.carried[:3] = -400.0 * normal
        wrench, now = wall.press()
        made.update((k + 1) * STEP, DT, wrench)
        wall.advance(made.solver.position)
        pressed.append(now)
    assert 1.0 < max(pressed) < force + 100.0
    assert pressed[-1] < force + 1.0


@pytest.mark.parametrize("length", (1, 2, 3, 5, 10))
def test_a_damping_that_alternates_in_contact_does_not_press_the_arm_into_the_wall(length):
    course, _ = driven(lambda k, rng: [press((1000.0, 5000.0)[(k // length) % 2])], changing=800, resting=0, wall=True)
    assert course.force.max() < 16.0 and course.force[-1] == pytest.approx(15.0, abs=0.1)


def test_one_change_in_the_very_sample_of_touch_makes_no_more_force():
    course, _ = driven(lambda k, rng: [press()], changing=800, resting=0, wall=True)
    touch = int(np.argmax(course.force > 0.0))
    changed, _ = driven(lambda k, rng: [press(2500.0 if k <= touch else 3500.0)], changing=800, resting=0, wall=True)
    assert changed.force.max() < course.force.max() * 1.05 and changed.force[-1] == pytest.approx(15.0, abs=0.1)


@pytest.mark.parametrize(
    ("settings", "why"),
    (({"stiffness": [np.nan] * 6}, "finite"), ({"stiffness": [1e30] * 6}, "no larger than 1e\\+09")),
)
def test_gains_that_are_none_are_refused_and_the_old_program_goes_on(settings, why):
    made = driven(lambda k, rng: [PATH], changing=1, resting=200)[1]
    twin = driven(lambda k, rng: [PATH], changing=1, resting=200)[1]
    with pytest.raises(ConfigError, match=why):
        made.set_behaviors([PATH, BehaviorSpec("pull", "spring", settings)])
    with pytest.raises(ConfigError, match=why):
        made.set_config(ImpedanceConfig(stiffness=tuple(settings["stiffness"])))
    for k in range(50):
        one, other = (each.update((202 + k) * STEP, DT, np.zeros(6)) for each in (made, twin))
        assert (one.position == other.position).all()
    assert not made.output.held
