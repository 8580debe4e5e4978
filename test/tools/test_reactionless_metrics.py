"""Metrics of a base that swings: on vibrations of known damping, and the plots of runs along reactionless paths."""

from __future__ import annotations

import math

import numpy as np
import pytest

from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_tools.metrics.all import METRICS, MetricOptions
from flexarm_tools.recording.recording import Recording
from flexarm_tools.report.reactionless_plots import family_plot, reactionless_panels
from flexarm_tools.scenario.file import load_scenario

FIRST, SECOND = 0.310 * 0.096 + 0.120 * 0.1, 0.120 * 0.090  # [kg*m] of TREP
RUN = """\
title: A run
robot: {description: "package://flexarm/urdf/trep.urdf.xacro"}
gravity: [0.0, 0.0, 0.0]
rate: 1000.0
duration: 4.0
plant: {initial_position: !degrees [90, 0], command_mode: velocity}
nodes:
  - {executable: reactionless_path_controller, parameters: {task: TASK}}
  - {executable: hardware_gate, parameters: {command_mode: velocity}}
pushes:
  - {link: base_link, start: 1.0, duration: 0.1, force: [5.0, 0.0, 0.0]}
figures:
  momentum: {metric: peak_coupling_momentum}
"""


def measure(name, recording, **options):
    return METRICS[name].measure(recording, MetricOptions(**options)).value


def ringing(rate, frequency, at=0.0, noise=0.0):
    """A damped oscillation that begins at a time, the deflection before it and its noise."""
    rng = np.random.default_rng(0)

    def deflection(time):
        since = np.maximum(time - at, 0.0)
        return 0.01 * np.exp(-rate * since) * np.sin(frequency * since) + noise * rng.standard_normal(len(time))

    return deflection


@pytest.mark.parametrize(("rate", "frequency"), [(0.02, 8.0), (1.0, 5.5), (3.0, 7.0)])
def test_rate_and_damping_ratio_of_a_known_vibration(record, rate, frequency):
    recording = record(ringing(rate, frequency, at=1.0), 9.0)
    for options in ({"threshold": 0.001}, {"threshold": 0.02, "before": 4.0}):
        assert measure("base_decay_rate", recording, after=1.01, **options) == pytest.approx(rate, rel=2e-3, abs=2e-5)
        ratio = rate / math.hypot(rate, frequency)
        assert measure("base_damping_ratio", recording, after=1.01, **options) == pytest.approx(ratio, rel=2e-3)
    details = METRICS["base_decay_rate"].measure(recording, MetricOptions(after=1.01)).details
    assert details["frequency_rad_s"] == pytest.approx(frequency, rel=1e-3)


@pytest.mark.parametrize("rest", [0.0, 0.004, -0.03])
@pytest.mark.parametrize("ratio", [0.005, 0.0275, 0.15])
def test_a_base_that_is_let_go_from_aside_decays_about_its_place_of_rest(record, rest, ratio):
    """The first sample is the farthest from it, and it is not zero where the base sags."""
    frequency, rate = 8.0 * math.sqrt(1.0 - ratio**2), 8.0 * ratio
    recording = record(lambda t: rest + 0.01 * np.exp(-rate * t) * np.cos(frequency * t), 6.0)
    assert measure("base_decay_rate", recording) == pytest.approx(rate, rel=0.01)
    assert measure("base_damping_ratio", recording) == pytest.approx(ratio, rel=0.01)


def test_what_is_below_the_threshold_does_not_count(record):
    """After the vibration has died out there is a slower one, a thousandth as large, that hardly dies out."""
    fast, slow = ringing(2.0, 9.0), ringing(0.01, 6.0)
    recording = record(lambda time: fast(time) + 1e-3 * slow(time), 12.0)
    assert measure("base_decay_rate", recording, threshold=0.05) == pytest.approx(2.0, rel=0.01)
    assert measure("base_decay_rate", recording, threshold=1e-6) < 1.0


def test_a_base_that_stands_or_turns_too_seldom_has_no_rate(record):
    assert math.isnan(measure("base_decay_rate", record(np.zeros_like)))
    assert math.isnan(measure("base_damping_ratio", record(lambda time: 0.01 * np.exp(-time))))
    assert math.isnan(measure("base_decay_rate", record(ringing(0.1, 5.0)), after=19.5))


def test_a_vibration_across_several_directions_is_measured_along_its_line(trep_text):
    second = (
        '<joint name="base_y" type="prismatic"><parent link="frame"/><child link="base_link"/><axis xyz="0 1 0"/>'
        '<limit lower="-0.1" upper="0.1" effort="100" velocity="5"/></joint><link name="frame"><inertial>'
        '<mass value="0.1"/><inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>'
    )
    text = trep_text.replace('<child link="base_link"/>', '<child link="frame"/>', 1)
    text = text.replace("</robot>", second + "</robot>").replace(
        "<flexibility>", '<flexibility><elastic_joint name="base_y" stiffness="50.0" damping="0.1"/>'
    )
    description = parse_robot_description(text)
    time = np.arange(8000) / 1000.0
    along = np.exp(-0.3 * time) * np.sin(6.0 * time)
    recording = Recording.blank(description, time, 1.0, deflection=np.outer(along, [0.003, -0.004]))
    assert measure("base_decay_rate", recording) == pytest.approx(0.3, rel=1e-3)
    assert measure("base_decay_rate", recording, joints=("base_y",)) == pytest.approx(0.3, rel=1e-3)


def test_the_largest_momentum_has_the_unit_of_the_base(record):
    momentum = np.zeros((4000, 1))
    momentum[1500], momentum[3000], momentum[:3] = -0.3, 0.2, np.nan  # before anybody has said anything
    recording = record(np.zeros_like, 4.0, coupling_momentum=momentum)
    assert measure("peak_coupling_momentum", recording) == 0.3
    assert measure("peak_coupling_momentum", recording, after=2.0) == 0.2
    assert METRICS["peak_coupling_momentum"].unit_for(recording, MetricOptions()) == "kg*m/s"


@pytest.fixture
def trep_run(tmp_path, packages):
    """A scenario with TREP of one task."""

    def load(task):
        path = tmp_path / f"{task}.yaml"
        path.write_text(RUN.replace("TASK", task), encoding="utf-8")
        return load_scenario(path, packages)

    return load


def moved(scenario):
    """Its recording, of an arm that swings about where it begins."""
    time = np.arange(4000) / 1000.0
    position = np.array([0.5 * np.pi, 0.0]) + np.outer(np.sin(time), [0.3, -0.2])
    tool = np.column_stack((np.cos(time), np.sin(time), 0.0 * time))
    known = {"position": position, "velocity": np.gradient(position, time, axis=0), "tool_position_in_base": 0.1 * tool}
    description = scenario.robot.description
    return Recording.blank(description, time, 0.8, deflection=0.01 * np.sin(8.0 * time)[:, None], **known)


@pytest.mark.long
def test_arms_that_move_get_a_column_each_and_held_ones_a_row_each(trep_run, load, record):
    held, along = trep_run("hold"), trep_run("path")
    names = ["one", "other"]
    rows = reactionless_panels(names, [held, held], [moved(held), moved(held)])
    columns = reactionless_panels(names, [along, along], [moved(along), moved(along)])
    assert rows.title == "Base deflection" and not rows.legend
    assert columns.title == "Tool, joints (dashed: reference) and base"
    assert [label for _, label, _ in columns.legend] == ["joint1", "joint2"]
    for plot in (rows, columns):
        assert all(f">{name}<" in plot.svg for name in names)
    assert columns.svg.count("base [mm]") == 1 and rows.svg.count("base [mm]") == 2
    assert reactionless_panels(["planar"], [load()], [record(np.zeros_like, 6.0)]) is None


def test_the_family_is_drawn_once_for_arms_of_two_joints_and_lies_on_the_level_sets(trep_run, load):
    plot = family_plot(trep_run("path"))
    assert plot.title == "Reactionless paths" and "joint1 [rad]" in plot.svg and "x in base_ft [m]" in plot.svg
    assert family_plot(load()) is None
