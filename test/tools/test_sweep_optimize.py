"""Sweeps that optimize: the optimum of a case that is known, one table whatever happens, and mistakes in files."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet
from sweeps import SCENARIO, flexarm, write_sweep

from flexarm_core.errors import ConfigError
from flexarm_tools.sweep.optimization import Optimization
from flexarm_tools.sweep.results import LINES, TABLE, read_rows
from flexarm_tools.sweep.session import run_sweep
from flexarm_tools.sweep.sweep_file import load_sweep

TWICE = SCENARIO.replace(  # a second push can take back the first one
    "events: ~", "  - {link: base_link, start: 0.11, duration: 0.03, force: [1.0, 0.0, 0.0]}\nevents: ~"
)
OPTIMIZE = """\
scenario: push.yaml
seed: 1
optimize:
  choose:
    force: {key: "pushes[1].force[0]", uniform: [-9.0, 3.0]}
  minimize: peak_base_deflection
  trials: 24
"""
GAIN = "nodes.rns_vibration_controller.parameters.joint_damping"
ROBUST = """\
samples: 2
vary:
  push: {key: "pushes[0].force[0]", uniform: [4.0, 6.0]}
"""


def loaded(folder, packages, *changes, text=OPTIMIZE) -> Optimization:
    sweep = load_sweep(write_sweep(folder, *changes, text=text, scenario=TWICE), packages)
    assert isinstance(sweep, Optimization)
    return sweep


@pytest.mark.long
def test_the_optimum_of_a_known_case_is_found(tmp_path, packages):
    sweep = loaded(tmp_path, packages, ("trials: 24", "trials: 40"))
    rows, ended = run_sweep(sweep, tmp_path / "out", 2)
    assert not ended and len(rows) == sweep.count == 40
    best = sweep.best(rows)
    assert best[0].values["force"] == pytest.approx(-5.0, abs=0.1)
    assert best[0].value == min(row.figures["peak_base_deflection"] for row in rows.values())
    away = np.abs([rows[number].inputs["force"] + 5.0 for number in range(40)])
    assert np.median(away[-16:]) < 0.7 * np.median(away[:16])  # equal for draws at random


def test_a_trial_has_the_runs_of_the_study_and_the_goals_are_its_constraints(tmp_path, packages):
    goal = 'goals:\n  small: {figure: peak_base_deflection, goal: "<= 5e-4", share: 1.0}\n'
    text = OPTIMIZE.replace("minimize", "take: worst\n  maximize").replace("trials: 24", "trials: 16") + ROBUST + goal
    sweep = loaded(tmp_path, packages, text=text)
    rows, _ = run_sweep(sweep, tmp_path / "out", 2)
    assert sweep.runs == 2 and len(rows) == 32
    for trial in range(16):
        one, other = rows[2 * trial], rows[2 * trial + 1]
        assert one.inputs["force"] == other.inputs["force"]
        assert (one.inputs["push"], one.seed) == (rows[0].inputs["push"], rows[0].seed)
    assert rows[0].inputs["push"] != rows[1].inputs["push"]
    best = sweep.best(rows)
    peaks = [rows[2 * best[0].number + k].figures["peak_base_deflection"] for k in (0, 1)]
    assert best[0].shortfall == 0.0 and best[0].value == min(peaks) and max(peaks) <= 5e-4
    assert any(trial.shortfall for trial in best) and best[0].value > 2e-4
    assert {trial.shortfall > 0.0 for trial in best[: sum(not t.shortfall for t in best)]} == {False}
    assert set(sweep.judged(rows)) == {2 * best[0].number, 2 * best[0].number + 1}


@pytest.mark.long
def test_equal_tables_for_any_number_of_workers_and_after_kill_9(tmp_path, packages):
    sweep = loaded(tmp_path, packages, text=OPTIMIZE + ROBUST)
    run_sweep(sweep, tmp_path / "whole", 1)
    whole = (tmp_path / "whole" / TABLE).read_bytes()
    command = [sys.executable, "-m", "flexarm_tools.cli", "sweep", "study.yaml", "--workers", "3"]
    lines = tmp_path / "flexarm_sweep" / "study" / LINES
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        until = time.monotonic() + 120.0
        while not lines.exists() or lines.read_bytes().count(b"\n") < 19:
            assert process.poll() is None and time.monotonic() < until
            time.sleep(0.02)
        process.kill()
    kept = len(read_rows(lines.parent, sweep))
    assert 19 <= kept < 48
    done = flexarm(tmp_path, "sweep", "study.yaml", "--workers", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(rf"of {48 - kept} hold", done.stdout), "runs that were done are run again"
    assert (lines.parent / TABLE).read_bytes() == whole
    shown = flexarm(tmp_path, "sweep", "show", "study.yaml")
    best = sweep.best(read_rows(lines.parent, sweep))[0]
    assert "best of 24 trials (smallest peak_base_deflection, mean of 2 runs each)" in shown.stdout
    assert f"force = {best.values['force']:.6g}  (run {2 * best.number})" in shown.stdout
    played = flexarm(tmp_path, "run", "--of", "study.yaml", str(2 * best.number + 1))
    value = parquet.read_table(lines.parent / TABLE)["peak_base_deflection"][2 * best.number + 1].as_py()
    assert f"{value:.4g}" in played.stdout, played.stdout + played.stderr


def test_trials_whose_runs_cannot_be_run_lose(tmp_path, packages):
    text = OPTIMIZE.replace('"pushes[1].force[0]", uniform: [-9.0, 3.0]', f'"{GAIN}", log: [1.0, 1.0e+5]')
    sweep = loaded(tmp_path, packages, ("trials: 24", "trials: 12"), text=text)
    rows, _ = run_sweep(sweep, tmp_path / "out", 2)
    outcomes = {row.outcome for row in rows.values()}
    assert "error" in outcomes and len(outcomes) > 1  # gains that the node rejects
    best = sweep.best(rows)
    assert np.isfinite(best[0].value) and not np.isfinite(best[-1].value)


def test_results_of_other_trials_are_refused(tmp_path, packages):
    sweep = loaded(tmp_path, packages, ("trials: 24", "trials: 4"))
    run_sweep(sweep, tmp_path / "out", 1)
    rows = read_rows(tmp_path / "out", sweep)
    sweep._sampled = 2
    with pytest.raises(ConfigError, match="results of trials with other values"):
        list(sweep.batches(rows))
    other = loaded(tmp_path, packages, ("trials: 24", "trials: 4"), ("-9.0, 3.0", "-9.0, 3.5"))
    with pytest.raises(ConfigError, match="results of another sweep"):
        run_sweep(other, tmp_path / "out", 1)
    fresh = loaded(tmp_path, packages)
    with pytest.raises(ConfigError, match="the trials before it say"):
        fresh.inputs(0)
    with pytest.raises(ConfigError, match="it has runs 0 to 23"):
        fresh.inputs(24)


def test_without_optuna_the_reason_is_said(tmp_path, packages, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ConfigError, match="`optimize` needs Optuna: python3 -m pip install optuna"):
        loaded(tmp_path, packages)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("minimize: peak_base_deflection", "minimize: peak_base", "optimize.minimize: the scenario has no figure"),
        ("minimize: peak_base_deflection", "minimize: peak_base_deflexion", "did you mean 'peak_base_deflection'?"),
        ("minimize: peak_base_deflection", "take: mean", "expected exactly one of minimize, maximize; it has: none"),
        (
            "  trials",
            "  maximize: lockstep_timeouts\n  trials",
            "one of minimize, maximize; it has: minimize, maximize",
        ),
        ("minimize", "minimise", "study.yaml:6: optimize.minimise: unknown key 'minimise'; did you mean 'minimize'?"),
        ("trials: 24", "trials: 2.5", "study.yaml:7: optimize.trials: expected a whole number, got 2.5"),
        ("trials: 24", "trials: 0", "optimize.trials: expected number >= 1"),
        ("trials: 24", "take: best", "optimize.take: expected one of mean, median, worst, got 'best'"),
        ("uniform: [-9.0, 3.0]", "normal: [0.0, 3.0]", "unknown key 'normal'"),
        ("uniform: [-9.0, 3.0]", "uniform: [3.0, -9.0]", "optimize.choose.force.uniform: the first number must be the"),
        ("pushes[1]", "pushes[7]", "study.yaml:5: optimize.choose.force.key: 'pushes' is a list of 2"),
        ("    force:", "    outcome:", "optimize.choose.outcome: the table has another column of this name"),
        (
            "optimize:",
            'vary: {push: {key: "pushes[1].force[0]", grid: [1.0]}}\noptimize:',
            "optimize.choose.force.key: vary.push has this key already",
        ),
        ("scenario: push.yaml", "scenario: posh.yaml", "study.yaml:1: scenario: file '"),
        ("optimize:", "vary: {force: {key: rate, grid: [500.0]}}\noptimize:", "another column of this name"),
    ],
)
def test_a_mistake_is_reported_with_line_key_and_remedy(tmp_path, packages, old, new, message):
    with pytest.raises(ConfigError) as error:
        loaded(tmp_path, packages, (old, new))
    assert message in str(error.value)


def test_all_mistakes_are_reported_together(tmp_path, packages):
    with pytest.raises(ConfigError, match="4 problems in the sweep"):
        loaded(tmp_path, packages, ("uniform", "unifrom"), ("trials: 24", "trials: 0"), ("seed: 1", "seed: -1"))
    empty = "scenario: push.yaml\noptimize: {choose: {}, minimize: peak_base_deflection}\n"
    with pytest.raises(ConfigError, match="an optimizer needs at least one key that it chooses"):
        loaded(tmp_path, packages, text=empty)
    with pytest.raises(ConfigError, match="vary: is missing: expected sections by name, or `optimize`"):
        load_sweep(write_sweep(tmp_path, text="scenario: push.yaml\n"), packages)


def test_the_example_of_the_page_is_the_one_in_config(packages):
    root = Path(__file__).resolve().parents[2]
    page = (root / "docs" / "studies.md").read_text(encoding="utf-8")
    example = re.search(r"```yaml\n(samples: 3\n\noptimize:.*?)```", page, re.DOTALL)[1]
    file = root / "config" / "planar_3r" / "push_tuned.yaml"
    text = file.read_text(encoding="utf-8").replace("seed: 1\n", "", 1)
    assert all(line in text for line in example.splitlines())
    sweep = load_sweep(file, packages)
    assert isinstance(sweep, Optimization) and sweep.count == 48 and sweep.runs == 3
