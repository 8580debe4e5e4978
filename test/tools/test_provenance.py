"""Provenance: what a reader of a report needs to repeat the run."""

from __future__ import annotations

import platform
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numba
import numpy as np

from flexarm_tools.metrics.figures import Figure, write_figures
from flexarm_tools.report.report import Run, write_run_report
from flexarm_tools.run import provenance as module
from flexarm_tools.run.provenance import provenance

ROOT = Path(__file__).resolve().parents[2]


def test_versions_commit_date_seed_and_machine_are_named(load):
    seeded = replace(load(), plant={"seed": 7})
    found = provenance([seeded, load()])
    assert (found["python"], found["numpy"], found["numba"]) == (
        platform.python_version(), np.__version__, numba.__version__,
    )  # fmt: skip
    assert found["seed"] == "0, 7"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", found["date"])
    assert "cores" in found["machine"] and "rclpy" in found["ros"] and found["flexarm"]


def test_the_commit_is_that_of_the_clone_and_empty_outside_of_one(tmp_path):
    command = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    head = subprocess.run(command, capture_output=True, text=True, check=False)
    if head.returncode == 0:
        assert head.stdout.startswith(module._commit(ROOT).removesuffix("+"))
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    inside = tmp_path / "lib" / "python3"  # an environment in a repository of somebody else
    inside.mkdir(parents=True)
    assert module._commit(inside) == ""


def test_report_and_figures_hold_it(load, record, tmp_path):
    origin = {"flexarm": "1.2.3", "commit": "0123456789ab"}
    write_figures(tmp_path / "m.json", [Figure("a", 1.0, "m")], provenance=origin)
    assert '"commit": "0123456789ab"' in (tmp_path / "m.json").read_text()
    write_run_report(tmp_path / "report.html", Run("run", load(), record(np.sin, 1.0), ()), origin)
    assert "<dd>0123456789ab</dd>" in (tmp_path / "report.html").read_text(encoding="utf-8")
