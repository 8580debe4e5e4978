"""Random and malformed goals of benchmark/joint_trajectories.py: as the rules say, in the core and by a real node."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
import robots
from trajectory_arm import PERIOD, TrajectoryArm

FOLDER = Path(__file__).resolve().parents[2] / "benchmark"


@pytest.fixture
def measure(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location("joint_trajectories", FOLDER / "joint_trajectories.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "joint_trajectories", module)
    spec.loader.exec_module(module)
    return module


def test_goals_are_treated_as_the_rules_say(measure):
    assert [said for seed in range(5000, 5250) if (said := measure.outside_of_rules(seed))] == []


def test_a_node_accepts_and_rejects_as_the_rules_say(live, measure, monkeypatch):
    arm = TrajectoryArm(live, "planar_4r", np.zeros(4))
    monkeypatch.setattr(measure, "NAMES", tuple(robots.chain("planar_4r").joint_names))
    monkeypatch.setattr(measure, "SPEED", 3.0)
    monkeypatch.setattr(measure, "NOW", 1_000_000_000)
    arm.hold(measure.NOW // PERIOD)
    answers = {True: 0, False: 0}
    for seed in range(80):
        goal, changes = measure.random_goal(np.random.default_rng(seed), np.zeros(4))
        future = arm.client.send_goal_async(goal)
        live.until(future.done, "an answer")
        accepted, wrong = future.result().accepted, measure.upstream_rejects(goal)
        answers[accepted] += 1
        if wrong:
            assert not accepted, (changes, wrong)
        elif not measure.harmful(goal, np.zeros(4)):
            assert accepted, changes
    assert min(answers.values()) > 20
    arm.hold(10)
