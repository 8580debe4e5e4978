"""A planner's trajectory in a scenario: the same in one process without ROS, and as nodes; shaped, the boom rests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from live import own_domain

from flexarm_core.errors import ConfigError
from flexarm_tools.process.progress import Progress
from flexarm_tools.run.in_process import run_in_process
from flexarm_tools.run.runner import run_scenario
from flexarm_tools.scenario.file import load_scenario

CONFIG = Path(__file__).resolve().parents[2] / "config"
START = np.array([0.476, 1.311, -1.378, -1.555, -0.054, -1.214, 0.716])
WAY = np.array([0.2, 0.1, -0.2, 0.3, 0.2, -0.2, 0.3])
NAMES = ["shoulder_yaw", "shoulder_pitch", "shoulder_roll", "elbow", "wrist_roll", "wrist_pitch", "tool_roll"]


def scenario(folder: Path, duration: float, names=NAMES, time: float = 2.5, **follow):
    """The boom's arm follows a trajectory by servos of its joints."""
    given = yaml.safe_load((CONFIG / "boom_7r" / "scenarios" / "pd_zvd.yaml").read_text(encoding="utf-8"))
    still = [0.0] * 7
    points = [{"positions": q.tolist(), "velocities": still, "accelerations": still, "time_from_start": t}
              for q, t in ((START, 0.0), (START + WAY, time))]  # fmt: skip
    file = folder / "trajectory.yaml"
    file.write_text(yaml.safe_dump({"joint_names": list(names), "points": points}), encoding="utf-8")
    follow |= {"trajectory_file": str(file), "start": 0.05}
    given["nodes"] = [{"executable": "joint_trajectory_follower", "parameters": follow}, *given["nodes"][2:]]
    given |= {"duration": duration, "figures": {}}
    study = folder / "study.yaml"
    study.write_text(yaml.safe_dump(given), encoding="utf-8")
    return load_scenario(study)


def test_it_is_followed_to_its_end_and_shaped_the_boom_rests(tmp_path):
    left = {}
    for name, follow in {"none": {}, "base_modes": {"shaper": "base_modes", "shaper_share": 0.19}}.items():
        (tmp_path / name).mkdir()
        run = run_in_process(scenario(tmp_path / name, 3.6, **follow), Progress(name))
        assert np.abs(run.position[-1] - START - WAY).max() < 2e-3
        said = [event.message for event in run.events if event.source == "joint_trajectory_follower"]
        assert said == ["holding", "following a trajectory", "holding"]
        left[name] = run.base_energy_root[run.time - run.time[0] > 0.05 + 1.19 * 2.5].max()
    assert left["base_modes"] < 0.1 * left["none"]


@pytest.mark.long
def test_nodes_do_the_same(tmp_path):
    given = scenario(tmp_path, 0.4, time=0.5)
    alone = run_in_process(given, Progress("alone"))
    with own_domain():
        nodes = run_scenario(given, Progress("nodes"))
    assert np.abs(alone.position[-1] - START).max() > 0.05
    assert np.allclose(alone.position, nodes.position, atol=1e-9)


def test_a_trajectory_of_other_joints_or_without_a_base_that_swings_is_refused(tmp_path):
    run = run_in_process(scenario(tmp_path, 0.2, [*NAMES[:6], "gripper"]), Progress("wrong"))
    assert any("joint 'gripper' is none of the arm's" in event.message for event in run.events)
    given = scenario(tmp_path, 0.2, shaper="zv")
    with pytest.raises(ConfigError, match="needs the frequency"):
        run_in_process(given, Progress("wrong"))
