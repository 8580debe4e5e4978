"""The command as a user meets it: exit status, messages, and nothing left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import forked
import pytest
from live import own_domain

import flexarm_core
from flexarm_core.errors import FlexarmError
from flexarm_core.flexible_dynamics.flexible_links import load_flexible_links
from flexarm_core.flexible_dynamics.modal_data import save_modal_data
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_tools.cli import run_command
from flexarm_tools.process.domain import alone_in_domain
from flexarm_tools.recording.recording import load_recording
from flexarm_tools.run import session

ROOT = Path(__file__).resolve().parents[2]
RUN = """
title: test
robot: {description: "package://flexarm/urdf/planar_3r.urdf.xacro"}
gravity: [0.0, 0.0, 0.0]
duration: DURATION
plant: {initial_position: [1.0, -1.0, -1.0]}
nodes:
  - {executable: rns_vibration_controller, parameters: {task: none}}
  - {executable: hardware_gate}
figures:
  deflection: {metric: peak_base_deflection, goal: "GOAL"}
"""


@pytest.fixture(autouse=True)
def domain() -> Iterator[None]:
    """A ROS domain of its own."""
    with own_domain():
        yield


def flexarm(*arguments: str, **options) -> subprocess.CompletedProcess:
    """Run the command."""
    command = [sys.executable, "-m", "flexarm_tools.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)


def scenario(folder: Path, goal: str = "<= 1e-3", duration: float = 0.05) -> Path:
    """A scenario file."""
    path = folder / "still.yaml"
    path.write_text(RUN.replace("GOAL", goal).replace("DURATION", str(duration)))
    return path


def node_processes(marker: str) -> list[str]:
    """Command lines of living nodes that this run started."""
    lines = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                environment = (folder / "environ").read_bytes()
            except OSError:
                continue
            if "lib/flexarm/" in line and f"FLEXARM_TEST={marker}".encode() in environment:
                lines.append(line)
    return lines


def test_whatever_a_command_does_linear_algebra_has_one_thread():
    """NumPy reads the variable at its import, so not before that."""
    code = (
        "import atexit, os, sys; from flexarm_tools.cli import main; before = 'numpy' in sys.modules;"
        "atexit.register(lambda: print(before, os.environ['OPENBLAS_NUM_THREADS'])); main()"
    )
    given = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True, env=given)
    assert done.stdout.splitlines()[-1] == "False 1", done.stderr


def test_the_version_is_printed():
    done = flexarm("--version")
    assert (done.returncode, done.stdout) == (0, f"flexarm {flexarm_core.__version__}\n")


def test_a_run_writes_its_figures_and_a_report_and_exits_with_0_and_with_1_where_an_expectation_fails(
    tmp_path, capfd, monkeypatch
):
    # in this process, whose nodes are forked: starting them anew takes four times as long as the test
    assert run_command(["run", str(scenario(tmp_path)), "--report", str(tmp_path / "out")]) == 0
    figures = json.loads((tmp_path / "out" / "metrics.json").read_text())["figures"]
    assert figures["deflection"]["holds"] and figures["deflection"]["unit"] == "m"
    assert "<html" in (tmp_path / "out" / "report.html").read_text().lower()
    recording = load_recording(tmp_path / "out" / "recordings" / "still.npz")
    monkeypatch.setattr(session, "run_scenario", lambda *_: recording)  # the same run, judged by another goal
    assert run_command(["run", str(scenario(tmp_path, ">= 1.0")), "--report", str(tmp_path / "out")]) == 1
    assert "FAIL deflection" in capfd.readouterr().out


def test_a_wrong_key_is_named_with_its_line_and_exits_with_2(tmp_path):
    path = scenario(tmp_path)
    path.write_text(path.read_text().replace("duration:", "durration:"))
    done = flexarm("run", str(path))
    assert done.returncode == 2
    assert "still.yaml:5" in done.stderr and "durration" in done.stderr and "duration" in done.stderr


def test_a_bad_node_parameter_ends_the_run_with_its_reason(tmp_path, capfd):
    path = scenario(tmp_path)
    path.write_text(path.read_text().replace("task: none", "task: dance"))
    with pytest.raises(FlexarmError, match="task must be one of tool_path, joint_path, hold, none; got 'dance'"):
        run_command(["run", str(path), "--report", str(tmp_path / "out")])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("check a.urdf --tool-frame flange --tool-frame tip", "--tool-frame is given twice: flange, tip"),
        ("check a.urdf --hold lift:=0.1 --hold head:=1 --hold lift:=0.2", "--hold lift is given twice: 0.1, 0.2"),
        ("check a.urdf --elastic x:=1,2 --elastic x:=3", "--elastic x is given twice: 1.0 2.0, 3.0 0.0"),
        ("check a.xacro size:=1 color:=red size:=2", "argument size is given twice: 1, 2"),
        ("sweep none.yaml --workers 3 --out a --workers 4", "--workers is given twice: 3, 4"),
        ("faults --show none --kind a b --kind c", "--kind is given twice: a b, c"),
        ("modes a.inp --inboard A --rpy 0 0 0 --rpy 0 0 1", "--rpy is given twice: 0.0 0.0 0.0, 0.0 0.0 1.0"),
    ],
)
def test_an_option_that_is_given_twice_is_an_error(given, said, capsys):
    """The last one would win without a word."""
    with pytest.raises(SystemExit) as ended:
        run_command(given.split())
    assert ended.value.code == 2 and said in capsys.readouterr().err


def test_an_unknown_demo_lists_those_there_are():
    done = flexarm("demo", "ballet")
    assert done.returncode == 2
    known = "boom, drives, dual_arm, flexible_slew, friction, inspect, planar, singular_path, trep, wheel, wipe"
    assert f"there is no demo 'ballet'; demos: {known}" in done.stderr


def test_a_slip_of_the_pen_is_answered_by_what_was_meant():
    assert "there is no demo 'planer'; did you mean 'planar'? demos:" in flexarm("demo", "planer").stderr
    done = flexarm("rnu")
    assert (
        done.returncode == 2
        and done.stderr == "flexarm: there is no command 'rnu'; did you mean 'run'? see flexarm --help\n"
    )
    for given, said in (
        (("run", "first.yaml", "--real-tme"), "run does not know '--real-tme'; did you mean '--real-time'?"),
        (("check", "arm.urdf", "--wirte", "x"), "check does not know '--wirte'; did you mean '--write'?"),
        (("demo", "planar", "twice"), "demo does not know 'twice'; see flexarm demo --help"),
    ):
        with pytest.raises(FlexarmError, match=re.escape(said)):
            run_command(list(given))


def test_a_folder_that_is_not_there_is_said_before_the_dry_runs(tmp_path):
    with pytest.raises(FlexarmError, match="there is no folder"):
        run_command(["check", str(tmp_path / "arm.urdf"), "--write", str(tmp_path / "none" / "first.yaml")])


def test_a_bare_command_shows_its_help_and_a_list_of_demos_their_titles():
    done = flexarm()
    assert done.returncode == 0 and "replay" in done.stdout
    shown = r"^planar +A quiet base \(7 runs, about \d+ min\)\n +A planar arm of three links [^.]*\.$"
    assert re.search(shown, flexarm("demo", "--list").stdout, re.MULTILINE)


def test_a_report_that_cannot_be_written_is_said_before_the_run(tmp_path):
    path = scenario(tmp_path, duration=600.0)
    with pytest.raises(FlexarmError, match=r"cannot be made \(Not a directory\): choose another one"):
        run_command(["run", str(path), "--report", str(path / "out")])


class EndlessRun:
    """A run that goes on until it is ended."""

    def __init__(self, folder: Path) -> None:
        self._marker = f"{folder.name}-{os.getpid()}"
        command = [sys.executable, "-m", "flexarm_tools.cli", "run", str(scenario(folder, duration=600.0))]
        self._process = subprocess.Popen(
            command,
            env={**os.environ, "FLEXARM_TEST": self._marker},
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        deadline = time.monotonic() + 60.0
        while len(node_processes(self._marker)) < 3 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert len(node_processes(self._marker)) == 3

    def end(self, number: int) -> None:
        """Nothing stays behind, whatever signal ends it."""
        self._process.send_signal(number)
        output, _ = self._process.communicate(timeout=30.0)
        deadline = time.monotonic() + 30.0
        while node_processes(self._marker) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert node_processes(self._marker) == []
        if number != signal.SIGKILL:
            assert self._process.returncode == 130 and b"interrupted by" in output, output.decode()


@pytest.mark.parametrize(("number", "after"), [(signal.SIGTERM, 0.0), (signal.SIGKILL, 2.0)])
def test_a_run_that_is_ended_leaves_no_process_behind(tmp_path, number, after):
    run = EndlessRun(tmp_path)
    time.sleep(after)  # it starts up, or runs
    run.end(number)


def test_a_second_run_on_the_same_domain_is_refused_and_the_first_goes_on_until_it_is_ended(tmp_path):
    run = EndlessRun(tmp_path)
    try:
        second = flexarm("run", str(scenario(tmp_path)))
        assert second.returncode == 2 and "already runs in ROS domain" in second.stderr
    finally:
        run.end(signal.SIGINT)


def test_a_taken_domain_is_said_before_anything_heavy_is_loaded(tmp_path):
    program = """
import sys
from flexarm_tools import cli
sys.argv[1:] = ["run", "none.yaml"]
try:
    cli.main()
except SystemExit as end:
    print(end.code, sorted({"numpy", "numba", "rclpy", "mujoco"} & set(sys.modules)))
"""
    with alone_in_domain():
        done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "2 []\n" and "already runs in ROS domain" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("robot", ["planar_3r", "trep"])
def test_check_says_what_a_robot_holds(robot, capsys):
    assert run_command(["check", str(ROOT / "urdf" / f"{robot}.urdf.xacro")]) == 0
    said = capsys.readouterr().out
    assert "rns_vibration_controller: can run" in said and "base_x" in said


def test_check_names_the_joint_whose_link_has_no_inertia(tmp_path, planar_3r_text):
    start = planar_3r_text.index("<inertial>", planar_3r_text.index('<link name="link2">'))
    end = planar_3r_text.index("</inertial>", start) + len("</inertial>")
    path = tmp_path / "hollow.urdf"
    path.write_text(planar_3r_text[:start] + planar_3r_text[end:])
    done = flexarm("check", str(path))
    assert done.returncode == 1 and "joint 'joint2' moves link 'link2', which has no <inertial>" in done.stdout


def test_check_takes_a_modal_data_file_and_exits_with_1_where_it_cannot_be_used(tmp_path, capsys):
    description = parse_robot_description(load_robot_description(ROOT / "urdf" / "flexible_2r.urdf.xacro"))
    save_modal_data(tmp_path / "forearm.npz", load_flexible_links(description)["forearm"])
    assert run_command(["check", str(tmp_path / "forearm.npz")]) == 0
    said = capsys.readouterr().out
    assert "modes        bending_y_1, bending_y_2" in said
    assert "total mass   0.8 kg" in said and "strain gauges: forearm_root, forearm_middle" in said
    (tmp_path / "forearm.npz").write_bytes(b"nothing")
    assert run_command(["check", str(tmp_path / "forearm.npz")]) == 1
    assert "error: modal data file" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "offered"),
    [("flexarm de", {"demo"}), ("flexarm demo pla", {"planar"}), ("flexarm check --tool", {"--tool-frame"})],
)
def test_a_shell_is_told_what_may_follow(line, offered, tmp_path):
    pytest.importorskip("argcomplete")
    asked = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_IFS": "\n"}
    asked |= {"_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "said"), "_ARGCOMPLETE_COMP_WORDBREAKS": " "}
    subprocess.run([sys.executable, "-m", "flexarm_tools.cli"], env=os.environ | asked, timeout=120.0, check=False)
    assert {word.strip() for word in (tmp_path / "said").read_text().split("\n")} == offered


@pytest.mark.parametrize("spring", ["mast_x=3", "mast_x:=", "mast_x:=3,", "mast_x:=3,4,5", "mast_x:=nan", ":=3"])
def test_a_spring_that_cannot_be_read_is_said_as_it_was_written(tmp_path, spring):
    done = forked.flexarm("check", "arm.urdf", "--elastic", spring, cwd=tmp_path)
    assert done.returncode == 2 and f"'{spring}' is not of the form JOINT:=STIFFNESS[,DAMPING]" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("check", "still.yaml", "--write", "first.yaml"), "--write is for robot descriptions, and 'still.yaml'"),
        (("check", "still.yaml", "--tool-frame", "tool0"), "--tool-frame is for robot descriptions"),
        (("check", "modes.npz", "--hold", "joint1:=0.5"), "--hold is for robot descriptions, and 'modes.npz' is none"),
        (("check", "still.yaml", "payload:=2"), "NAME:=VALUE is for robot descriptions"),
        (("sweep", "pair.yaml"), "'pair.yaml' is a study, a few scenarios in one report: flexarm run pair.yaml"),
    ],
)
def test_an_option_or_a_kind_of_file_that_a_command_does_not_take_is_refused_in_one_line(tmp_path, arguments, said):
    scenario(tmp_path)
    (tmp_path / "pair.yaml").write_text("title: a pair\nruns: {still: still.yaml}\n")
    done = forked.flexarm(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pair.yaml", "still.yaml"]
