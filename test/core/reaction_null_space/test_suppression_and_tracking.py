"""Tool paths during which the base is hit and damped (the paper's third subtask), on MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest
from elastic_robots import with_wrong_inertia
from tracked_hits import follow, is_unstable, undamped
from tracking_cases import FIGHT, TrackingCase, random_tracking_cases

from flexarm_core.errors import ConfigError


def paths(name, seed):
    """Accepted paths of a robot, and before each why others were refused."""
    refused = []
    for each in random_tracking_cases(name, np.random.default_rng(seed)):
        try:
            assert isinstance(each, TrackingCase)  # these robots have joints to spare
            each.check()
        except ConfigError as error:
            refused.append(str(error))
        else:
            yield each, refused


LONG = [pytest.param(*case, marks=pytest.mark.long) for case in (("boom_7r", True), ("wheel_3r", False))]


@pytest.mark.parametrize(("name", "exact"), [("boom_7r", False), ("wheel_3r", True), *LONG])
def test_the_tool_keeps_to_its_path_while_the_base_is_brought_to_rest(name, exact):
    path, _ = next(paths(name, 1))
    wrong = None if exact else with_wrong_inertia(path.case.text, np.random.default_rng(2))
    run = follow(path, 3, wrong)
    assert not is_unstable(path, run, 3, wrong)
    assert run.error.max() < 0.02 * (1.0 + np.linalg.norm(path.displacement))
    assert run.error[-1] < 1e-3
    assert follow(undamped(path), 3, wrong).lifetime(path.hit_at) > 1.5 * run.lifetime(path.hit_at)


def test_paths_on_which_the_two_tasks_fight_are_found_and_say_so():
    _, refused = next(paths("planar_3r", 4))
    fights = [text for text in refused if text.startswith(FIGHT)]
    assert fights
    for text in fights:
        below, regular = (float(part.split(" m")[0]) for part in (text.split("below ")[1], text.split("J is ")[1]))
        assert regular > below
