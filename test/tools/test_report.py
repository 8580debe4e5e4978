"""Reports: one file, complete in itself, whatever the run was like."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from flexarm_core.errors import ConfigError
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_tools.metrics.figures import compute_figures
from flexarm_tools.recording.recording import RunEvent
from flexarm_tools.report.forward_kinematics import link_transforms
from flexarm_tools.report.plots import tool_displacement
from flexarm_tools.report.report import Run, write_run_report, write_study_report
from flexarm_tools.scenario.study import Comparison, Study, StudyFigureSpec, compute_study_figures


class Page(HTMLParser):
    """Tags, attributes and text of a page; unbalanced tags are errors."""

    VOID = frozenset({"meta", "link", "br", "path", "use", "input", "hr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.attributes += [(name, value or "") for name, value in attributes]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.attributes += [(name, value or "") for name, value in attributes]

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture
def finished(load, record):
    """A finished run of the scenario, whose base deflects by a given function."""

    def run(deflection=np.sin, name="run", **known):
        scenario = load()
        recording = record(deflection, 6.0, **known)
        return Run(name, scenario, recording, compute_figures(scenario.figures, recording))

    return run


def read(path):
    return path.read_text(encoding="utf-8")


def animation_data(text):
    return json.loads(re.search(r'id="animation-data">(.*?)</script>', text, re.DOTALL)[1])


def test_a_report_needs_no_other_file_and_no_network(finished, tmp_path):
    write_run_report(tmp_path / "new" / "report.html", finished())
    page = Page(read(tmp_path / "new" / "report.html"))
    for name, value in page.attributes:
        if name in ("src", "href", "xlink:href", "action", "data", "poster"):
            assert value.startswith(("#", "data:")), (name, value)
    text = read(tmp_path / "new" / "report.html")
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    assert not re.search(r"\b(fetch|XMLHttpRequest|importScripts|WebSocket)\b\(", text)


def test_ids_in_a_report_are_unique(finished, tmp_path):
    write_run_report(tmp_path / "report.html", finished())
    ids = [value for name, value in Page(read(tmp_path / "report.html")).attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_a_report_says_title_goal_value_push_and_switch(finished, tmp_path):
    write_run_report(tmp_path / "report.html", finished())
    words = " ".join(Page(read(tmp_path / "report.html")).words)
    for expected in (
        "A run",
        "peak",
        "1\u00a0m",
        "≤ 10\u00a0µm",
        "1 of 1 goals fails",
        "30 N on base_link for 0.1 s",
        "vibration_damping = true",
    ):
        assert expected in words


def test_what_a_file_says_is_shown_and_not_run(finished, tmp_path, load):
    run = finished()
    nasty = "</script><script>alert(1)</script> & <b>"
    events = (RunEvent(0.1, nasty, "error", nasty),)
    scenario = replace(run.scenario, title=nasty, description=nasty, source=nasty)
    run = replace(run, scenario=scenario, recording=replace(run.recording, events=events))
    write_run_report(tmp_path / "report.html", run)
    text = read(tmp_path / "report.html")
    assert "<script>alert" not in text
    assert animation_data(text)["runs"][0]["title"] == nasty
    assert Page(text).words.count(nasty) >= 4


def test_the_same_run_gives_the_same_report(finished, tmp_path):
    run = finished()
    write_run_report(tmp_path / "1.html", run)
    write_run_report(tmp_path / "2.html", run)
    assert read(tmp_path / "1.html") == read(tmp_path / "2.html")


@pytest.mark.parametrize(
    "deflection",
    [
        lambda t: 0.0 * t,
        lambda t: np.where(t < 3.0, np.sin(t), np.nan),
        lambda t: np.where(t < 3.0, np.sin(t), np.inf),
        lambda t: np.exp(100.0 * t),
        lambda t: np.full_like(t, np.nan),
    ],
    ids=["still", "lost", "infinite", "diverged", "never measured"],
)
def test_a_run_that_went_wrong_gets_its_report_all_the_same(finished, tmp_path, deflection):
    ticks = 6000
    run = finished(deflection, position=np.tile(deflection(np.arange(ticks) / 1000.0)[:, None], (1, 3)))
    write_run_report(tmp_path / "report.html", run)
    json.dumps(animation_data(read(tmp_path / "report.html")), allow_nan=False)


def test_deaths_stops_and_lost_samples_are_shown(finished, tmp_path):
    run = finished(node_deaths=("hardware_gate (signal 9)",), watchdog_stops=3, lost_samples=17)
    write_run_report(tmp_path / "report.html", run)
    words = " ".join(Page(read(tmp_path / "report.html")).words)
    for expected in ("Node died hardware_gate (signal 9)", "Watchdog stops 3", "Lost samples 17"):
        assert expected in words


def test_latencies_are_drawn_for_a_run_in_real_time(finished, tmp_path):
    run = finished(tick_latency=np.full(6000, 1e-3))
    write_run_report(tmp_path / "1.html", run)
    write_run_report(tmp_path / "2.html", replace(run, scenario=replace(run.scenario, mode="real_time")))
    assert "Tick latency" not in read(tmp_path / "1.html")
    assert "median 1.00 ms" in read(tmp_path / "2.html")


def study_of(*runs):
    return Study(
        path=runs[0].scenario.path,
        title="Several",
        description="",
        scenarios={run.name: run.scenario for run in runs},
        figures=tuple(StudyFigureSpec(f"peak_{run.name}", run.name, "peak", (), None) for run in runs),
        comparisons=(Comparison("All together", tuple(run.name for run in runs)),),
    )


def test_a_study_compares_its_runs_and_opens_with_the_first_two(finished, tmp_path):
    runs = [
        finished(lambda t, a=a: a * np.sin(t), name) for a, name in ((0.1, "plain"), (1e-6, "quiet"), (0.05, "third"))
    ]
    study = study_of(*runs)
    figures = compute_study_figures(study, {run.name: run.figures for run in runs})
    write_study_report(tmp_path / "report.html", study, runs, figures)
    text = read(tmp_path / "report.html")
    Page(text)
    assert animation_data(text)["shown"] == ["plain", "quiet"]
    assert "All together" in text
    for run in runs:
        assert f'id="run-{run.name}"' in text


def test_a_study_of_which_runs_are_missing_still_gets_its_report(finished, tmp_path):
    runs = [finished(name="plain"), finished(name="quiet")]
    study = study_of(*runs)
    for done in (runs[1:], []):
        figures = compute_study_figures(study, {run.name: run.figures for run in done})
        write_study_report(tmp_path / "report.html", study, done, figures)
        words = " ".join(Page(read(tmp_path / "report.html")).words)
        assert "did not come to its end" in words
        assert "not measured" in words


def test_phases_are_named_in_plots_and_animation(load, record, tmp_path):
    phases = "phases:\n  - {name: swing, start: 2.0}\n  - {name: reach, start: 0.0}\nfigures:\n"
    scenario = load(("figures:\n", phases))
    run = Run("run", scenario, record(np.sin, 6.0), ())
    write_run_report(tmp_path / "report.html", run)
    text = read(tmp_path / "report.html")
    assert animation_data(text)["runs"][0]["phases"] == [[0.0, "reach"], [2.0, "swing"]]
    assert text.count(">swing<") == text.count(">reach<") > 0  # once a plot
    assert Page(text).words.count("1") == text.count(">1<")  # the push keeps its number
    with pytest.raises(ConfigError, match=r"phases\[0\].start: 7 s is not within the run of 6 s"):
        load(("figures:\n", "phases: [{name: late, start: 7.0}]\nfigures:\n"))


def test_a_run_called_as_its_study_is_called_by_its_name(finished, tmp_path):
    runs = [finished(name="all_on"), finished(name="other")]
    runs[1] = replace(runs[1], scenario=replace(runs[1].scenario, title="All off"))
    study = replace(study_of(*runs), title=runs[0].scenario.title)
    write_study_report(tmp_path / "report.html", study, runs, ())
    assert [run["title"] for run in animation_data(read(tmp_path / "report.html"))["runs"]] == ["All on", "All off"]


@pytest.fixture
def bent(load, record_bending):
    """A finished run of the arm of two flexible links: a slew of the tool, then a swing of given size [m]."""

    def run(size=3e-3, name="run", changes=(), **known):
        time = np.arange(6000) / 1000.0
        place = np.where(time < 2.0, 0.3 * time, 0.6 + size * np.sin(9.0 * time) * np.exp(-0.5 * time))
        known = {
            "tool_position": np.column_stack((1.0 + place, place, 0.0 * time)),
            "estimated_modal_position": np.outer(np.sin(9.0 * time), [0.1, 0.02, 0.01, 0.001]),
            "strain": 1e-5 * np.outer(np.sin(9.0 * time), np.ones(4)),
            "desired_position": np.zeros((6000, 2)),
            "position": np.outer(np.sin(time), [1.0, 0.5]),
        } | known
        modes = lambda t: np.outer(np.sin(9.0 * t), [0.1, 0.01, 0.01, 0.002])  # noqa: E731
        robot = ("planar_3r.urdf", "flexible_2r.urdf")
        figure = ("metric: peak_base_deflection", "metric: tool_vibration, after: 2.0")
        scenario = load(robot, figure, *changes)
        recording = record_bending(modes, 6.0, **known)
        return Run(name, scenario, recording, compute_figures(scenario.figures, recording))

    return run


def test_the_motion_of_the_joints_is_not_a_vibration_of_the_tool(load, record, planar_3r_text):
    time = np.arange(6000) / 1000.0
    joints = np.outer(np.sin(time), [1.0, -0.5, 0.3])
    names = [f"joint{i}" for i in (1, 2, 3)]
    description = parse_robot_description(planar_3r_text)
    rigid = link_transforms(description, dict(zip(names, joints.T, strict=True)))["tool0"][:, :3, 3]
    swing = np.where(time < 4.0, 3e-3 * np.sin(9.0 * time), 0.0)
    recording = record(np.zeros_like, 6.0, position=joints, tool_position=rigid + swing[:, None] * [0.0, 0.0, 1.0])
    np.testing.assert_allclose(tool_displacement(load(), recording), np.abs(swing), atol=1e-12)


BENDING_PLOTS = ("Tool vibration", "Modes (dashed: estimated)", "Strain", "Joint positions (dashed: desired)")


def test_a_run_of_an_arm_that_bends_shows_its_modes_and_the_vibration_of_its_tool(bent, tmp_path):
    write_run_report(tmp_path / "report.html", bent())
    text = read(tmp_path / "report.html")
    words = Page(text).words
    for title in (*BENDING_PLOTS, "upper_arm/bending_y_1", "forearm_root"):
        assert title in words
    for label in ("[mm·√kg]", "[µm/m]", "by bending and base [mm]"):
        assert label in text
    assert "flexible_2r, 2 joints on a rigid base, 4 modes" in words
    motion = animation_data(text)["runs"][0]["motion"]
    assert (motion["timeline_of"], motion["timeline_unit"]) == ("Mode upper_arm/bending_y_1", "m·√kg")
    assert max(motion["timeline"][1]) == pytest.approx(0.1, rel=1e-3)


def test_a_run_of_rigid_links_shows_nothing_of_modes(finished, tmp_path):
    write_run_report(tmp_path / "report.html", finished())
    text = read(tmp_path / "report.html")
    assert not any(title in text for title in (*BENDING_PLOTS, "modes"))
    assert animation_data(text)["runs"][0]["motion"]["timeline_of"] == "Base deflection"


def test_a_plant_that_is_not_the_robot_is_said_and_drawn(bent, tmp_path):
    change = ("figures:\n", "plant_robot: {arguments: {payload: 1.5}}\nfigures:\n")
    write_run_report(tmp_path / "report.html", bent(changes=[change]))
    assert "flexible_2r, payload 1.5" in Page(read(tmp_path / "report.html")).words


@pytest.mark.parametrize("lost", [np.nan, np.inf, 1e300])
def test_an_arm_that_bent_beyond_reason_gets_its_report_all_the_same(bent, tmp_path, lost):
    run = bent(tool_position=np.full((6000, 3), lost), estimated_modal_position=np.full((6000, 4), lost))
    run = replace(run, recording=replace(run.recording, modal_position=np.full((6000, 4), lost)))
    write_run_report(tmp_path / "1.html", run)
    write_study_report(tmp_path / "2.html", study_of(run, replace(run, name="other")), [run], ())
    json.dumps(animation_data(read(tmp_path / "1.html")), allow_nan=False)


def test_runs_of_arms_that_bend_are_drawn_over_each_other(bent, tmp_path):
    runs = [bent(3e-3, "plain"), bent(1e-4, "shaped")]
    study = study_of(*runs)
    figures = compute_study_figures(study, {run.name: run.figures for run in runs})
    write_study_report(tmp_path / "report.html", study, runs, figures)
    text = read(tmp_path / "report.html")
    comparison = text[text.index('id="comparisons"') : text.index('id="runs"')]
    titles = re.findall(r"<figcaption><strong>(.*?)</strong>", comparison)
    assert titles == ["Tool vibration", "The same, logarithmic", "Mode upper_arm/bending_y_1"]
    assert comparison.count("var(--series-2)") > 3  # the second run is there


def test_the_report_of_six_runs_of_40_000_ticks_stays_below_four_megabytes(finished, record, tmp_path):
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((40000, 3))
    run = finished()
    long = record(np.sin, 40.0, position=noise, velocity=noise, effort=noise, base_wrench=np.hstack((noise, noise)))
    run = replace(run, recording=long)
    write_run_report(tmp_path / "report.html", run)
    page = (tmp_path / "report.html").stat().st_size
    assert 6 * page < 4e6
