"""Plots laid out as figures 3 and 4 of the paper: what they show, of which runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_tools.recording.recording import Recording
from flexarm_tools.report.null_space_plots import null_space_panels

ROOT = Path(__file__).resolve().parents[2]
NAMES = ["one", "other"]


@pytest.fixture
def runs(load, record):
    """Two runs of 4 and 6 s, their bases swinging by 20 mm, with or without a tool reference."""

    def make(tool):
        recordings = []
        for duration in (4.0, 6.0):
            time = np.arange(round(1000 * duration)) / 1000.0
            place = np.column_stack((np.cos(time), np.sin(time), 0.0 * time))
            known = {"position": np.outer(time, [1.0, 2.0, 3.0]), "velocity": np.ones((len(time), 3))}
            known |= {"coupling_momentum": np.full((len(time), 1), 0.5), "tool_position_in_base": place}
            if tool:
                known |= {"reference_position": place + 1e-6, "reference_axes": np.arange(6) < 2}
            recordings.append(record(lambda t: 0.02 * np.sin(t), duration, **known))
        return [load(), load()], recordings

    return make


def test_a_base_that_is_hit_is_laid_out_as_figure_3(runs):
    plot = null_space_panels(NAMES, *runs(tool=False))
    assert plot.title == "Base, joints and coupling momentum L"
    for label in ("base [mm]", "joints [rad]", "rates [rad/s]", "L [kg·m/s]", "time [s]"):
        assert plot.svg.count(f">{label}<") == (2 if label == "time [s]" else 1)
    assert all(f">{name}<" in plot.svg for name in NAMES)
    assert ">10<" in plot.svg and ">15<" not in plot.svg  # joint3 gets to 12 rad in the shorter run, 18 in the longer
    assert len(plot.legend) == 3


def test_a_tool_that_follows_its_reference_is_laid_out_as_figure_4(runs):
    plot = null_space_panels(NAMES, *runs(tool=True))
    assert plot.title == "Tool x, y, z from where it starts (dashed: reference), joints, base and tool error"
    for label in ("tool [m]", "joints [rad]", "rates [rad/s]", "base [mm]", "tool error [µm]"):
        assert plot.svg.count(f">{label}<") == 1
    assert "stroke-dasharray" in plot.svg and "[kg" not in plot.svg


def test_other_controllers_and_bases_of_more_directions_are_left_to_others(runs, load, packages):
    scenarios, recordings = runs(tool=False)
    renamed = "executable: flexible_dynamics_controller\n    name: rns_vibration_controller"
    other = load(("executable: rns_vibration_controller", renamed))
    assert null_space_panels(NAMES, [scenarios[0], other], recordings) is None
    described = parse_robot_description(load_robot_description(ROOT / "urdf" / "wheel_3r.urdf.xacro"))
    two = Recording.blank(described, recordings[0].time, 1.0)
    assert len(two.elastic_names) == 2
    assert null_space_panels(NAMES[:1], scenarios[:1], [two]) is None
