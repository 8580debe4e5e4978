"""Sweeps run for real: one table, whatever the number of workers, and whoever kills what."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from forked import Command
from pyarrow import parquet
from sweeps import SCENARIO, flexarm, write_sweep

from flexarm_core.errors import ConfigError
from flexarm_tools.cli import run_command
from flexarm_tools.process.exit_status import EXIT_INTERRUPTED
from flexarm_tools.sweep.page import write_sweep_page
from flexarm_tools.sweep.results import LINES, TABLE, Results, read_rows
from flexarm_tools.sweep.row import CRASHED, Row
from flexarm_tools.sweep.session import run_sweep, sweep_file
from flexarm_tools.sweep.summary import summary
from flexarm_tools.sweep.sweep_file import load_sweep
from flexarm_tools.sweep.workers import run_local

RUNS = 20
MANY = ("samples: 6", f"samples: {RUNS}")


def children(parent: int) -> list[int]:
    """The processes that a process has started."""
    return [int(one) for one in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def begun(folder: Path, runs: int) -> subprocess.Popen[str]:
    """A sweep that has done some of its runs."""
    command = ["sweep", "study.yaml", "--workers", "2"]
    process = Command(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines, until = folder / "flexarm_sweep" / "study" / LINES, time.monotonic() + 120.0
    while not lines.exists() or lines.read_bytes().count(b"\n") < runs:
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.02)
    return process


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> tuple[Path, bytes]:
    """Folder of a sweep of RUNS runs by one worker, and its table."""
    folder = tmp_path_factory.mktemp("whole")
    write_sweep(folder, MANY)
    done = flexarm(folder, "sweep", "study.yaml", "--workers", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{RUNS} / {RUNS} runs" in done.stdout and re.search(r"[0-9.]+ a second, 0 s left", done.stdout)
    return folder, (folder / "flexarm_sweep" / "study" / TABLE).read_bytes()


def test_a_row_has_inputs_figures_outcome_reason_seed_and_version(whole):
    folder, _ = whole
    table = parquet.read_table(folder / "flexarm_sweep" / "study" / TABLE)
    inputs, figures = ["masses", "spring", "encoder", "push", "damping"], ["peak_base_deflection", "lockstep_timeouts"]
    assert table.column_names == ["run", *inputs, *figures, "outcome", "reason", "seed", "version"]
    rows = table.to_pylist()
    assert [row["run"] for row in rows] == list(range(RUNS))
    assert {row["outcome"] for row in rows} == {"holds", "fails"}
    for row in rows:
        assert (row["peak_base_deflection"] <= 4e-4) == (row["outcome"] == "holds") == (row["reason"] == "")
    assert len({row["peak_base_deflection"] for row in rows}) == len({row["seed"] for row in rows}) == RUNS
    said = json.loads(table.schema.metadata[b"flexarm"])
    assert (
        said["keys"]["spring"] == "plant_robot.stiffness.base_x" and said["goals"]["peak_base_deflection"] == "<= 4e-4"
    )
    failed = next(row for row in rows if row["outcome"] == "fails")
    log = (folder / "flexarm_sweep" / "study" / "logs" / f"{failed['run']}.txt").read_text()
    assert failed["reason"] in log and "rns_vibration_controller: controlling" in log


def test_the_page_shows_shares_distributions_what_figures_depend_on_and_how_to_play_the_worst_runs(whole):
    folder, _ = whole
    results = folder / "flexarm_sweep" / "study"
    rows = parquet.read_table(results / TABLE).to_pylist()
    page = (results / "index.html").read_text()
    holds = sum(row["outcome"] == "holds" for row in rows)
    assert f"<td>holds</td><td>{holds}</td><td>{holds / RUNS:.4f}</td>" in page
    assert f"distribution of peak_base_deflection: {holds} runs as wanted, {RUNS - holds} not" in page
    assert "peak_base_deflection over push" in page and "<p>0 in all runs.</p>" in page  # lockstep_timeouts
    worst = sorted(rows, key=lambda row: -row["peak_base_deflection"])[:3]
    assert [int(run) for run in re.findall(r"flexarm run --of \S*study.yaml (\d+)", page)[:3]] == [
        row["run"] for row in worst
    ]
    (results / "index.html").unlink()
    shown = flexarm(folder, "sweep", "show", "study.yaml")
    assert str(Path("flexarm_sweep") / "study" / "index.html") in shown.stdout
    assert (results / "index.html").read_text() == page


@pytest.mark.parametrize("values", [(1.0, 1.0 + 2e-16), (1e-4, 1e300, -1e300), (1e300, 2e300), (float("nan"),) * 2])
def test_figures_that_are_equal_huge_or_missing_have_a_page_too(values, tmp_path, packages):
    sweep = load_sweep(write_sweep(tmp_path), packages)
    rows = {
        run: Row(run, sweep.inputs(run), {"peak_base_deflection": value, "lockstep_timeouts": 0.0}, "fails", "", 1, "0")
        for run, value in enumerate(values)
    }
    page = write_sweep_page(tmp_path, sweep, rows).read_text()
    assert page.count("study.yaml 0</code>") or "No run gave a value." in page


def test_after_kill_9_the_same_command_goes_on_and_the_table_of_two_workers_is_that_of_one(whole, tmp_path, packages):
    sweep = load_sweep(write_sweep(tmp_path, MANY), packages)
    process = begun(tmp_path, 8)
    workers = children(process.pid)
    process.kill()
    process.wait()
    assert len(workers) == 2
    until = time.monotonic() + 10.0
    while any(Path(f"/proc/{one}").exists() and "Z" not in state(one) for one in workers):
        assert time.monotonic() < until, "a worker outlives the command"
        time.sleep(0.02)
    lines = tmp_path / "flexarm_sweep" / "study" / LINES
    kept = lines.read_text().count("\n")
    assert 8 <= kept < RUNS
    with lines.open("a") as file:
        file.write(f'{{"run": {RUNS - 1}, "inputs": {{"mas')  # a line that was not written to its end
    assert len(read_rows(lines.parent, sweep)) == kept
    done = flexarm(tmp_path, "sweep", "study.yaml", "--workers", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(rf"of {RUNS - kept} hold", done.stdout), "runs that were done are run again"
    assert (tmp_path / "flexarm_sweep" / "study" / TABLE).read_bytes() == whole[1]


def state(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


def test_ctrl_c_keeps_what_was_run(tmp_path):
    write_sweep(tmp_path, MANY)
    process = begun(tmp_path, 5)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == EXIT_INTERRUPTED and "interrupted by SIGINT; the same command goes on" in output
    table = parquet.read_table(tmp_path / "flexarm_sweep" / "study" / TABLE)
    assert 5 <= table.num_rows < RUNS


def test_a_worker_that_is_killed_loses_no_run(whole, tmp_path):
    write_sweep(tmp_path, MANY)
    process = begun(tmp_path, 5)
    os.kill(children(process.pid)[0], signal.SIGKILL)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert (tmp_path / "flexarm_sweep" / "study" / TABLE).read_bytes() == whole[1]


def test_a_run_that_kills_each_worker_is_a_row_and_the_others_go_on(tmp_path, packages, monkeypatch):
    def deadly(sweep, number):
        if number == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return Row(number, sweep.inputs(number), {}, "holds", "", 0, "")

    monkeypatch.setattr("flexarm_tools.sweep.workers.run_row", deadly)
    sweep = load_sweep(write_sweep(tmp_path), packages)
    rows = {row.run: row for row in run_local(sweep, range(6), 2, lambda: False)}
    assert sorted(rows) == list(range(6))
    assert rows[2].outcome == CRASHED and rows[2].reason == "its process ended by SIGKILL, 3 times"
    assert sum(row.outcome == "holds" for row in rows.values()) == 5


def test_a_run_that_cannot_be_run_is_a_row_with_the_reason(tmp_path, packages):
    change = ("uniform: [0.9, 1.1]", "normal: [0.5, 0.5]")  # some masses are negative, the median is not
    sweep = load_sweep(write_sweep(tmp_path, change), packages)
    rows, ended = run_sweep(sweep, tmp_path / "out", 1)
    failed = [row for row in rows.values() if row.inputs["masses"] <= 0.0]
    assert not ended and 0 < len(failed) < len(rows) == 6
    for row in failed:
        assert row.outcome == "error" and "plant_robot.masses.all: expected number > 0" in row.reason
        assert (tmp_path / "out" / "logs" / f"{row.run}.txt").is_file()


def test_show_prints_shares_quantiles_worst_runs_and_what_they_depend_on(whole, packages):
    folder, _ = whole
    shown = flexarm(folder, "sweep", "show", "study.yaml")
    assert shown.returncode == 0
    sweep = load_sweep(folder / "study.yaml", packages)
    rows = read_rows(folder / "flexarm_sweep" / "study", sweep)
    worst = sorted(rows.values(), key=lambda row: -row.figures["peak_base_deflection"])[:3]
    held = sum(row.outcome == "holds" for row in rows.values()) / RUNS
    assert f"ok   all_hold  {held:.4g}  goal >= 0.5" in shown.stdout
    line = next(line for line in shown.stdout.splitlines() if line.startswith("  peak_base_deflection"))
    assert ", ".join(str(row.run) for row in worst) in line and "depends on push +" in line
    assert "\n".join(summary(sweep, rows)) in shown.stdout


def test_a_share_that_is_not_met_fails_the_sweep(whole, tmp_path, packages, capsys):
    goals = "  all_hold: {share: 0.99}\n  never_late: {share: 1.0, figure: lockstep_timeouts}\n"
    path = write_sweep(tmp_path, MANY, ("  all_hold: {share: 0.5}\n", goals))
    folder = whole[0] / "flexarm_sweep" / "study"  # goals are no part of the runs
    assert sweep_file(path, folder, 1, "local", False) == 1
    shown = capsys.readouterr().out
    assert "FAIL all_hold" in shown and "ok   never_late  1" in shown
    assert "a second" not in shown, "runs that were done are run again"


def test_a_run_is_played_with_the_figures_of_its_row(whole, packages):
    folder, _ = whole
    done = flexarm(folder, "run", "--of", "study.yaml", "7")
    rows = read_rows(folder / "flexarm_sweep" / "study", load_sweep(folder / "study.yaml", packages))
    report = folder / "flexarm_report" / "study_7"
    figures = json.loads((report / "metrics.json").read_text())["figures"]
    assert {name: one["value"] for name, one in figures.items()} == rows[7].figures
    assert done.returncode == (rows[7].outcome != "holds")
    assert "a run of study.yaml" in (report / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "--of", "study.yaml", "20"), "there is no run 20 in study.yaml: it has runs 0 to 19"),
        (("run", "--of", "study.yaml", "first"), "expected the number of a run, got 'first'"),
        (("run", "study.yaml"), "varies a scenario: flexarm sweep study.yaml"),
        (("sweep", "show", "study.yaml", "--out", "elsewhere"), "there are no results in elsewhere"),
        (("sweep", "push.yaml"), "unknown key 'base'"),
    ],
)
def test_a_wrong_command_says_what_is_right(whole, monkeypatch, arguments, words):
    monkeypatch.chdir(whole[0])
    with pytest.raises(ConfigError, match=re.escape(words)):
        run_command(list(arguments))


@pytest.mark.long
def test_results_of_something_else_are_not_mixed(whole, tmp_path, packages):
    path = write_sweep(tmp_path)
    run_sweep(load_sweep(path, packages), tmp_path / "out", 1)
    write_sweep(tmp_path, scenario=SCENARIO.replace("start: 0.11", "start: 0.115"))
    with pytest.raises(ConfigError, match="another sweep, scenario, robot or version of flexarm: --fresh deletes them"):
        run_sweep(load_sweep(path, packages), tmp_path / "out", 1)
    write_sweep(tmp_path, ("seed: 1", "seed: 2"))
    with pytest.raises(ConfigError, match="other samples"):
        run_sweep(load_sweep(path, packages), tmp_path / "out", 1)
    rows, _ = run_sweep(load_sweep(path, packages), tmp_path / "out", 1, fresh=True)
    assert len(rows) == 6


def test_two_commands_do_not_write_to_one_folder(tmp_path, packages):
    sweep = load_sweep(write_sweep(tmp_path), packages)
    with Results(tmp_path / "out", sweep), pytest.raises(ConfigError, match="another flexarm sweep writes to"):
        Results(tmp_path / "out", sweep)


def test_a_scenario_that_needs_nodes_is_refused_before_the_first_run(tmp_path, packages):
    scenario = SCENARIO.replace("events: ~", "events: [{at: 0.02, node: hardware_gate, kill: true}]")
    sweep = load_sweep(write_sweep(tmp_path, scenario=scenario), packages)
    with pytest.raises(ConfigError, match="needs its own process"):
        run_sweep(sweep, tmp_path / "out")
