"""Study files: several scenarios, figures across them, and comparisons."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from flexarm_core.errors import ConfigError
from flexarm_tools.metrics.figures import Figure, parse_goal
from flexarm_tools.scenario.study import compute_study_figures, is_study, load_study

RUN = """\
title: A run
robot: {description: "package://flexarm/urdf/planar_3r.urdf.xacro"}
duration: 1.0
nodes: [{executable: hardware_gate}]
figures:
  peak: {metric: peak_base_deflection, goal: "<= 1e-3"}
  error: {metric: tracking_error, goal: "<= 1e-4"}
  effort: {metric: peak_effort}
"""
STUDY = """\
title: Two runs
runs: {plain: plain.yaml, quiet: quiet.yaml}
figures:
  ratio: {ratio: [quiet, plain], goal: "<= 1e-3"}
  quiet: {run: quiet, figure: peak, goal: "<= 1e-5"}
  plain: {run: plain, figure: peak}
comparisons:
  - {title: Both, runs: [plain, quiet]}
"""


@pytest.fixture
def study_file(tmp_path: Path):
    """Write a study of two runs after replacing pieces of its text."""

    def write(*changes: tuple[str, str], run: str = RUN) -> Path:
        text = STUDY
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        (tmp_path / "study.yaml").write_text(text, encoding="utf-8")
        (tmp_path / "plain.yaml").write_text(RUN, encoding="utf-8")
        (tmp_path / "quiet.yaml").write_text(run, encoding="utf-8")
        return tmp_path / "study.yaml"

    return write


def measured(peak: float) -> tuple[Figure, ...]:
    return (
        Figure("peak", peak, "m", parse_goal("<= 1e-3")),
        Figure("error", 2e-5, "m", parse_goal("<= 1e-4")),
        Figure("effort", 7.0, "N*m"),
    )


def test_a_study_runs_its_scenarios_in_the_order_of_its_file(study_file, packages):
    study = load_study(study_file(), packages)
    assert list(study.scenarios) == ["plain", "quiet"]
    assert study.comparisons[0].runs == ("plain", "quiet")
    assert [figure.name for figure in study.figures] == ["ratio", "quiet", "plain"]


def test_without_comparisons_all_runs_are_shown_together(study_file, packages):
    change = ("comparisons:\n  - {title: Both, runs: [plain, quiet]}\n", "")
    assert load_study(study_file(change), packages).comparisons[0].runs == ("plain", "quiet")


def test_a_study_is_told_from_a_scenario_by_its_runs(study_file, tmp_path):
    assert is_study(study_file())
    assert not is_study(tmp_path / "plain.yaml")


def test_ratios_and_taken_figures_come_out_in_the_order_of_the_file(study_file, packages):
    study = load_study(study_file(), packages)
    figures = compute_study_figures(study, {"plain": measured(4e-2), "quiet": measured(4e-6)})
    by_name = {figure.name: figure for figure in figures}
    assert [figure.name for figure in figures][:3] == ["ratio", "quiet", "plain"]
    assert by_name["ratio"].value == pytest.approx(1e-4)
    assert by_name["ratio"].unit == "1"
    assert by_name["ratio"].holds


def test_the_goal_of_a_taken_figure_is_the_runs_unless_the_study_gives_one(study_file, packages):
    study = load_study(study_file(), packages)
    figures = compute_study_figures(study, {"plain": measured(4e-2), "quiet": measured(4e-6)})
    by_name = {figure.name: figure for figure in figures}
    assert by_name["quiet"].goal.text == "<= 1e-5"
    assert by_name["plain"].goal.text == "<= 1e-3"
    assert not by_name["plain"].holds


def test_no_goal_of_a_run_is_lost_in_a_study(study_file, packages):
    study = load_study(study_file(), packages)
    figures = compute_study_figures(study, {"plain": measured(4e-2), "quiet": measured(4e-6)})
    assert [figure.name for figure in figures][3:] == ["plain.error", "quiet.error"]


def test_a_run_that_did_not_finish_leaves_figures_that_do_not_hold(study_file, packages):
    study = load_study(study_file(), packages)
    figures = {figure.name: figure for figure in compute_study_figures(study, {"plain": measured(4e-2)})}
    assert math.isnan(figures["quiet"].value)
    assert not figures["quiet"].holds
    assert math.isnan(figures["ratio"].value)
    assert not figures["ratio"].holds


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("quiet: quiet.yaml", "quiet: quite.yaml", "study.yaml:2: runs: quiet: file '"),
        ("runs: {plain: plain.yaml, quiet: quiet.yaml}", "runs: {}", "a study needs at least one run"),
        ("run: quiet, figure: peak", "run: quite, figure: peak", "run: run 'quite' does not exist; did you mean"),
        ("run: quiet, figure: peak", "run: quiet, figure: peek", "'peek' does not exist; did you mean 'peak'?"),
        ("run: quiet, figure: peak", "run: quiet", "study.yaml:5: figures.quiet: expected both 'run' and 'figure'"),
        ("run: quiet, figure: peak", "ratio: [plain, plain], run: quiet", "either 'run' and 'figure', or 'ratio'"),
        ("ratio: [quiet, plain]", "ratio: [quiet]", "figures.ratio.ratio: expected two figures, got 1"),
        ("ratio: [quiet, plain]", "ratio: [quiet, ratio]", "figure of a run 'ratio' does not exist"),
        ("runs: [plain, quiet]", "runs: [plain, loud]", "run 'loud' does not exist; valid: plain, quiet"),
        ("title: Two runs", "title: Two runs\nrate: 3", "unknown key 'rate'; "),
    ],
)  # fmt: skip
def test_a_mistake_in_a_study_is_reported_with_line_key_and_remedy(study_file, packages, old, new, message):
    with pytest.raises(ConfigError) as error:
        load_study(study_file((old, new)), packages)
    assert message in str(error.value)


def test_mistakes_in_the_study_and_in_its_scenarios_are_reported_together(study_file, packages):
    path = study_file(("title: Two runs", "titel: Two runs"), run=RUN.replace("duration: 1.0", "duration: -1.0"))
    with pytest.raises(ConfigError) as error:
        load_study(path, packages)
    assert "quiet.yaml:3: duration: expected number > 0 [s], got '-1.0'" in str(error.value)
    assert "study.yaml:1: titel: unknown key" in str(error.value)


def test_a_ratio_says_in_words_what_it_compares(study_file):
    study = load_study(study_file(run=RUN.replace("A run", "A quiet run")))
    peak = [Figure("peak", value, "m", meaning="Largest deflection of the base") for value in (1e-5, 1e-2)]
    found = compute_study_figures(study, {"quiet": (peak[0],), "plain": (peak[1],)})
    assert found[0].name == "ratio"
    assert found[0].meaning == "Largest deflection of the base: “A quiet run” / “A run”"
