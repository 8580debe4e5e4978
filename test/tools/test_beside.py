"""Scenarios of a study in processes beside."""

import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flexarm_tools.process.progress import Quiet
from flexarm_tools.recording.recording import load_recording
from flexarm_tools.run.beside import Beside
from flexarm_tools.run.in_process import run_in_process
from flexarm_tools.run.session import run_file
from flexarm_tools.scenario.file import load_scenario

CONFIG = Path(__file__).parents[2] / "config"
NAMES = [f"run_{i}" for i in range(8)]


def slow(name: str) -> tuple[str, int] | None:
    time.sleep(0.05)
    return None if name == "run_3" else (name.upper(), os.getpid())


def test_each_name_is_run_once_here_or_in_one_of_the_processes():
    done: dict[str, int] = {}
    with Beside(slow, NAMES, 2) as beside:
        while (name := beside.take()) is not None:
            done[name] = (slow(name) or ("", os.getpid()))[1]
            beside.known(name)
            done |= {name: place for name, (_, place) in beside.results()}
        for name, (said, place) in beside.results(lambda: False):
            assert name not in done and said == name.upper()
            done[name] = place
        left = list(beside.rest())
    assert left in ([], ["run_3"]) and sorted({*done, *left}) == NAMES
    assert os.getpid() in done.values() and len(set(done.values())) == 3


def test_what_a_killed_process_had_taken_is_given_back():
    def hang(name: str) -> str:
        if name == "run_0":
            os.kill(os.getpid(), signal.SIGKILL)
        return name

    with Beside(hang, NAMES, 1) as beside:
        assert list(beside.results(lambda: False)) == []
        assert beside.take() == "run_1"  # the others are not lost either
        assert list(beside.rest()) == NAMES


def test_the_end_does_not_wait_for_the_processes():
    began = time.monotonic()
    with Beside(lambda name: time.sleep(60), NAMES, 2) as beside:
        assert list(beside.results(lambda: time.monotonic() - began > 0.5)) == []
    assert time.monotonic() - began < 10.0


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_a_study_has_the_recordings_of_its_scenarios_alone(tmp_path):
    base = CONFIG / "planar_3r" / "scenarios" / "push_damped.yaml"
    for i in range(4):
        given = f"base: {base}\nduration: {0.1 * (i + 1):.1f}\nevents: ~\npushes: ~\nfigures: {{settling_periods: ~}}\n"
        (tmp_path / f"run_{i}.yaml").write_text(given, encoding="utf-8")
    runs = "".join(f"  run_{i}: run_{i}.yaml\n" for i in range(4))
    study, report = tmp_path / "study.yaml", tmp_path / "report"
    study.write_text(
        f"title: Four\nruns:\n{runs}figures:\n  peak: {{run: run_3, figure: peak_base_deflection}}\n"
        "comparisons:\n  - {title: Two, runs: [run_0, run_3]}\n"
    )
    assert run_file(study, "", report, engine="process") == 0
    for i in range(4):
        found = load_recording(report / "recordings" / f"run_{i}.npz")
        scenario = replace(load_scenario(tmp_path / f"run_{i}.yaml"), figures=())
        alone = run_in_process(scenario, Quiet("alone"))
        assert found.ticks == 100 * (i + 1) and found.position.tobytes() == alone.position.tobytes()
        assert np.array_equal(found.effort, alone.effort, equal_nan=True)
        assert (report / "logs" / f"run_{i}").is_dir()
    assert "peak" in json.loads((report / "metrics.json").read_text())["figures"]


def test_a_scenario_that_cannot_run_so_says_it_once(tmp_path, capfd):
    base = CONFIG / "planar_3r" / "scenarios" / "push_damped.yaml"
    events = {"good": "~", "other": "~", "bad": "[{at: 0.05, node: simulated_plant, transition: deactivate}]"}
    for name, event in events.items():
        given = f"base: {base}\nduration: 0.1\nevents: {event}\npushes: ~\nfigures: {{settling_periods: ~}}\n"
        (tmp_path / f"{name}.yaml").write_text(given, encoding="utf-8")
    study = tmp_path / "study.yaml"
    runs = "".join(f"  {name}: {name}.yaml\n" for name in events)
    study.write_text(f"title: Three\nruns:\n{runs}figures:\n  peak: {{run: good, figure: peak_base_deflection}}\n")
    status = run_file(study, "", tmp_path / "report", engine="process")
    said = capfd.readouterr()
    assert status == 1 and said.err.count("  bad: the event at 0.05 s needs node 'simulated_plant'") == 1
    assert said.out.count("FAIL bad: ") == 1
