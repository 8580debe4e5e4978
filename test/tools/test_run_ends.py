"""How runs end: what happened is said, and the exit status tells; whoever breaks one off keeps what was recorded."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from forked import Command
from live import LiveGraph, own_domain
from sensor_msgs.msg import JointState

from flexarm_core.errors import ConfigError
from flexarm_nodes.node import topics
from flexarm_tools.graph.quiet_node import listening_node
from flexarm_tools.graph.tapped_topic import TappedTopic
from flexarm_tools.process.exit_status import EXIT_FAILED, EXIT_INTERRUPTED
from flexarm_tools.process.progress import Progress
from flexarm_tools.recording.recording import load_recording
from flexarm_tools.run import session, stall_watch
from flexarm_tools.run.runner import Runner, StalledRunError
from flexarm_tools.run.session import run_file
from flexarm_tools.run.stall_watch import Stall, StallWatch
from flexarm_tools.scenario.file import load_scenario

SCENARIO = """
title: test
robot: {{description: "package://flexarm/urdf/planar_3r.urdf.xacro"}}
gravity: [0.0, 0.0, 0.0]
duration: {duration}
plant:
  initial_position: !degrees [60.0, -60.0, -60.0]
  {plant}
nodes:
  - executable: reference_generator
    parameters: {{displacement: [-0.3, 0.0, 0.0], duration: 2.0, axes: [true, true, false, false, false, false]}}
  - executable: rns_vibration_controller
    parameters: {{joint_damping: 1.0}}
  - executable: hardware_gate
{more}
figures:
  peak_effort: {{metric: peak_effort, goal: ">= 0"}}
"""


@pytest.fixture(autouse=True)
def domain() -> Iterator[None]:
    """A ROS domain of its own."""
    with own_domain():
        yield


def write(folder: Path, duration: float, plant: str = "", more: str = "") -> Path:
    path = folder / "run.yaml"
    path.write_text(SCENARIO.format(duration=duration, plant=plant, more=more))
    return path


NAN = "sensors: {joint_position: {nan_intervals: [0.1, 0.12]}}"


def test_a_stop_that_is_not_expected_is_printed_and_makes_the_exit_status_1_and_one_that_is_does_not(
    tmp_path, capfd, monkeypatch
):
    assert run_file(write(tmp_path, 0.3, NAN), "", tmp_path / "report") == EXIT_FAILED
    said = capfd.readouterr().out
    assert "hardware_gate: controlled stop: joint state position of joint1, joint2, joint3 is not finite" in said
    assert "FAIL run: controlled stops of the gate: 1, expected == 0" in said
    assert "void peak_effort" in said and "ok " not in said
    metrics = json.loads((tmp_path / "report" / "metrics.json").read_text())
    assert any("controlled stops" in text for text in metrics["unexpected"])
    assert "not expected" in (tmp_path / "report" / "report.html").read_text()

    recording = load_recording(tmp_path / "report" / "recordings" / "run.npz")
    monkeypatch.setattr(session, "run_scenario", lambda *_: recording)  # the same run, judged anew
    expect = "expect: {stops: 1, errors: [rns_vibration_controller, reference_generator]}"
    assert run_file(write(tmp_path, 0.3, NAN, expect), "", tmp_path / "report") == 0
    assert "ok   peak_effort" in capfd.readouterr().out


def test_what_is_expected_is_a_number_or_a_goal_and_nodes_of_the_run(tmp_path):
    expected = load_scenario(write(tmp_path, 1.0, more='expect: {stops: 2, trips: ">= 1"}')).expected
    assert (expected.counts["stops"].text, expected.counts["trips"].text) == ("== 2", ">= 1")
    wrong = "expect: {stops: many, errors: [hardware_gaet], stop: 1}"
    with pytest.raises(ConfigError) as error:
        load_scenario(write(tmp_path, 1.0, more=wrong))
    for said in ("expect.stops: 'many' is not a number", "did you mean 'hardware_gate'", "unknown key 'stop'"):
        assert said in str(error.value)


def frozen(tmp_path: Path, name: str) -> str:
    """Why a run ends of which a node is frozen."""
    runner = Runner(load_scenario(write(tmp_path, 60.0)), tmp_path / "logs", Progress("test"))

    def freeze() -> None:
        while "simulated_plant" not in runner._processes or not getattr(runner, "_watch", None):
            time.sleep(0.05)
        time.sleep(0.5)
        runner._processes[name]._process.send_signal(signal.SIGSTOP)

    threading.Thread(target=freeze, daemon=True).start()
    try:
        return runner.run().ended_early
    except StalledRunError as error:  # before there was anything to keep
        return str(error)


@pytest.mark.parametrize("name", [pytest.param("rns_vibration_controller", marks=pytest.mark.long), "simulated_plant"])
def test_a_run_of_which_a_node_neither_answers_nor_works_ends_with_its_name(tmp_path, monkeypatch, name):
    monkeypatch.setattr(stall_watch, "ASLEEP", 2.0)
    assert f"node '{name}' neither answers nor does anything" in frozen(tmp_path, name)


def test_whoever_handles_what_comes_and_yet_does_not_go_on_is_found(tmp_path, monkeypatch, planar_3r_text):
    monkeypatch.setattr(stall_watch, "ROUNDS", 3)
    monkeypatch.setattr(stall_watch, "BETWEEN_ROUNDS", 0.1)
    live = LiveGraph(tmp_path)
    try:
        live.start("hardware_gate", {"robot_description": planar_3r_text, "gravity": [0.0, 0.0, 0.0]})
        watch = StallWatch(live.node, live.processes.values())
        live.until(lambda: watch.look() is Stall.STUCK, "the finding")
        assert watch.reason == "every node is active, has handled what came, and waits"
        watch.moved()
        assert watch.look() is None
        live.graph.transition("hardware_gate", "deactivate")
        live.until(lambda: watch.look() is Stall.ABSENT, "the finding")
        assert watch.reason == "node 'hardware_gate' is inactive"
        live.processes["hardware_gate"].kill()
        watch.moved()
        live.until(lambda: watch.look() is Stall.ABSENT, "the finding")
        assert watch.reason == "node 'hardware_gate' has ended"
    finally:
        live.close()


def begun(tmp_path: Path) -> subprocess.Popen[bytes]:
    """`flexarm run` some way into its run."""
    command = ["run", str(write(tmp_path, 4.0))]
    said = tmp_path / "said"
    with said.open("wb") as file:
        process = Command([*command, "--report", str(tmp_path / "report")], stdout=file, stderr=file)
    deadline = time.monotonic() + 120.0
    while "/ 4 s" not in said.read_text():
        assert time.monotonic() < deadline and process.poll() is None, said.read_text()
        time.sleep(0.1)
    return process


def test_who_breaks_a_run_off_keeps_what_was_recorded_and_gets_the_report(tmp_path):
    process, report = begun(tmp_path), tmp_path / "report"
    process.send_signal(signal.SIGINT)
    assert process.wait(60.0) == EXIT_INTERRUPTED, (tmp_path / "said").read_text()
    recording = load_recording(report / "recordings" / "run.npz")
    assert recording.ended_early == "interrupted by SIGINT"
    assert 1000 <= recording.ticks < 4000 and np.isfinite(recording.position).all()
    assert "interrupted by SIGINT" in (report / "report.html").read_text()


def test_who_asks_twice_need_not_wait(tmp_path):
    process = begun(tmp_path)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.wait(60.0) == EXIT_INTERRUPTED
    assert not (tmp_path / "report" / "metrics.json").exists()


COUNTED = "counted_states"  # nobody else publishes it: runs of other tests may still be ending


def test_messages_that_were_sent_and_never_came_are_counted(tmp_path):
    live = LiveGraph(tmp_path)
    try:
        sender = live.node.create_publisher(JointState, COUNTED, topics.EVERY_SAMPLE)
        tap = TappedTopic(listening_node("ear", live.node.context), JointState, COUNTED)
        live.listen(COUNTED, JointState)
        live.until(lambda: sender.get_subscription_count() == 1, "another listener")
        sender.publish(JointState())  # not for the tap
        live.until(lambda: len(live.received[COUNTED]) == 1, "the first")
        tap.listen(topics.CONTROL)
        live.until(lambda: sender.get_subscription_count() == 2 and tap.hears_all, "each other")
        for number in (3, 40):  # of 40 the middleware keeps the newest 10 for who does not look
            sent = len(live.received[COUNTED]) + number
            for _ in range(number):
                sender.publish(JointState())
            live.until(lambda sent=sent: len(live.received[COUNTED]) == sent, "all of them at the other listener")
            live.spin(0.1)
            tap.take()
        assert (tap.count, tap.missed, tap.lost) == (13, 1, 30)
    finally:
        live.close()
