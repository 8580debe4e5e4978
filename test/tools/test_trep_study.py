"""The study of reactionless paths: what it asks for, what its runs share, and its graph along half a path."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from live import own_domain

from flexarm_core.reaction_null_space.reactionless.trace import trace
from flexarm_core.robot.arm_model import ArmModel
from flexarm_tools.metrics.all import METRICS, MetricOptions
from flexarm_tools.process.progress import Progress
from flexarm_tools.run.runner import run_scenario
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.study import load_study

FOLDER = Path(__file__).resolve().parents[2] / "config" / "trep"
GOALS = {"fig11_ratio": ">= 50", "fig11_ratio_slow": ">= 50", "fig12_decay_ratio": ">= 8"}
CONTROLLER = "reactionless_path_controller"
GAINS = ("vibration_gain", "momentum_gain", "path_gain", "feed_forward", "drive_lag")


@pytest.fixture(scope="module")
def study(packages):
    return load_study(FOLDER / "demo_trep.yaml", packages)


def parameters(scenario):
    (node,) = (node for node in scenario.nodes if node.executable == CONTROLLER)
    return node.parameters


def test_every_figure_that_the_suite_is_held_to_is_asked_for_with_its_goal(study):
    asked = {spec.name: spec.goal.text for spec in study.figures if spec.goal}
    assert GOALS.items() <= asked.items()
    assert {"fig12_decay_ratio_paper", "fig11_momentum"} <= {spec.name for spec in study.figures}


@pytest.mark.parametrize("figure", ["fig10", "fig12"])
def test_runs_of_one_figure_get_the_same_hit_and_differ_in_gains_alone(study, figure):
    without, split, paper = (study.scenarios[f"{figure}_{name}"] for name in ("without", "split", "paper"))
    for other in (split, paper):
        assert other.pushes == without.pushes and len(other.pushes) == 1
        assert other.plant == without.plant and other.duration == without.duration
        ours, theirs = ({k: v for k, v in parameters(run).items() if k not in GAINS} for run in (other, without))
        assert ours == theirs
    assert parameters(without)["vibration_gain"] == 0.0


def test_the_papers_runs_have_the_papers_gains(study):
    for name, gain in (("fig10_paper", 20.0), ("fig11_fast", 50.0), ("fig11_slow", 50.0), ("fig12_paper", 50.0)):
        given = parameters(study.scenarios[name])
        assert [given[key] for key in GAINS[:4]] == [24.0, gain, gain, False]
        assert "drive_lag" not in given
    assert parameters(study.scenarios["fig12_split"])["speed"] == 30.0


def test_the_path_and_link_2_alone_have_equal_ends_and_equal_time(study):
    scenario = study.scenarios["fig11_fast"]
    start = np.array(scenario.plant["initial_position"])
    path = trace(ArmModel(scenario.robot.description.text, gravity=scenario.gravity), start)
    for speed in ("fast", "slow"):
        along, alone = study.scenarios[f"fig11_{speed}"], study.scenarios[f"fig11_link_2_{speed}"]
        motion = parameters(along)
        (generator,) = (node for node in alone.nodes if node.executable == "reference_generator")
        assert [generator.parameters[key] for key in ("start", "duration")] == [
            motion[key] for key in ("start", "duration")
        ]
        assert motion["span"][0] == 0.0 and generator.parameters["time_law"] == "fifth_order"
        assert motion.get("speed_law", "fifth_order") == "fifth_order"
        np.testing.assert_allclose(
            path.position(motion["span"][1]), start + generator.parameters["joint_displacement"], atol=1e-9
        )
        assert along.duration == alone.duration and along.plant == alone.plant


@pytest.mark.parametrize("path", sorted(FOLDER.glob("scenarios/*.yaml")), ids=lambda path: path.stem)
def test_every_scenario_can_be_read_on_its_own(path, packages):
    assert load_scenario(path, packages).figures


@pytest.mark.long
def test_the_graph_runs_half_a_path_and_the_base_stays_where_it_is(study, tmp_path, monkeypatch):
    scenario = replace(study.scenarios["fig11_fast_split"], duration=1.4, figures=())
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "ros"))
    with own_domain():
        recording = run_scenario(scenario, Progress("test"), tmp_path / "logs")
    assert recording.lost_samples == 0 and recording.lockstep_timeouts == 0
    assert recording.watchdog_stops == 0 and recording.node_deaths == ()

    def measure(name, **options):
        return METRICS[name].measure(recording, MetricOptions(**options)).value

    assert measure("peak_base_deflection") < 1e-6
    assert measure("peak_coupling_momentum") < 1e-5
    assert measure("joint_tracking_error") < 2e-3
    assert np.abs(recording.position[-1] - [0.5 * np.pi, np.pi]).max() < 1e-4
    assert np.abs(recording.velocity).max() > 5.0
