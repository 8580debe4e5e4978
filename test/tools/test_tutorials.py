"""Tutorials of docs/ followed word by word: their files and commands, from the page itself, do what the page says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import forked
import numpy as np
import pytest
import yaml
from live import own_domain
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

from flexarm_core.errors import RobotDescriptionError
from flexarm_tools.process.progress import Progress
from flexarm_tools.run.in_process import run_in_process
from flexarm_tools.run.runner import Runner
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.sweep.sweep_file import load_sweep

ROOT = Path(__file__).resolve().parents[2]
LAYOUTS = ROOT / "config" / "layouts"


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def files_of(name: str, folder: Path) -> list[Path]:
    """Write the files of a page: blocks whose first line is a comment with the name of the file."""
    written = []
    for kind, text in re.findall(r"```(python|toml|yaml|xml)\n(.*?)```", page(name), re.DOTALL):
        if named := re.match(r"(?:#|<!--) ([\w.]+)(?: -->)?\n", text):
            written.append(folder / named[1])
            written[-1].write_text(text, encoding="utf-8")
            assert kind
    return written


def flexarm(*arguments: object, folder: Path, path: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, "-m", "flexarm_tools.cli", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_a_behavior_of_ones_own_balances_where_the_page_says(tmp_path):
    names = {file.name for file in files_of("new_behavior", tmp_path)}
    assert names == {"ceiling.py", "pyproject.toml", "scenario.yaml"}
    pip = [sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps", "--target", "site", "."]
    subprocess.run(pip, cwd=tmp_path, check=True, capture_output=True)
    run = ("run", "scenario.yaml", "--engine", "process", "--report", "report")
    done = flexarm(*run, folder=tmp_path, path=str(tmp_path / "site"))
    assert done.returncode == 0, done.stdout + done.stderr
    height = np.load(tmp_path / "report/recordings/scenario.npz")["tool_position"][:, 2]
    end, spring, ceiling = height[0] + 0.15, 1000.0, 20000.0
    balance = (spring * end + ceiling * 0.4) / (spring + ceiling)
    assert height[-1] == pytest.approx(balance, abs=1e-5)
    said = re.search(r"path ends (\d+) mm above .* stops ([\d.]+) mm above", page("new_behavior"), re.DOTALL)
    assert [f"{1e3 * (end - 0.4):.0f}", f"{1e3 * (balance - 0.4):.1f}"] == list(said.groups())
    (tmp_path / "elsewhere").mkdir()
    without = forked.flexarm("run", tmp_path / "scenario.yaml", *run[2:], cwd=tmp_path / "elsewhere")
    assert without.returncode == 2 and "ceiling" in without.stderr


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Path:
    """A folder with the files of the page on an arm of one's own, run without the arm: the suite's on its boom."""
    folder = tmp_path_factory.mktemp("study")
    given = yaml.safe_load((ROOT / "config/boom_7r/scenarios/reactionless.yaml").read_text(encoding="utf-8"))
    given |= {"duration": 0.3, "figures": {"error": {"metric": "tracking_error"}}}
    (folder / "reach.yaml").write_text(yaml.safe_dump(given), encoding="utf-8")
    return folder


def test_the_program_that_reads_a_report_reads_it(study, monkeypatch, capsys):
    done = forked.flexarm("run", "reach.yaml", "--engine", "process", cwd=study)
    assert done.returncode in (0, 1), done.stderr
    (program,) = re.findall(r"```python\n(.*?)```", page("report"), re.DOTALL)
    monkeypatch.chdir(study)
    exec(program, {})
    said = capsys.readouterr().out
    figures = json.loads((study / "flexarm_report/reach/metrics.json").read_text(encoding="utf-8"))["figures"]
    assert [line.split()[0] for line in said.splitlines()[:-1]] == list(figures)
    assert np.load(study / "flexarm_report/reach/recordings/reach.npz")["tool_position"].shape == (150, 3)
    report = (study / "flexarm_report/reach/report.html").read_text(encoding="utf-8")
    for word in ("verdict", "timeline", "details", "footer"):
        assert word in report


def test_the_layouts_name_topics_and_fields_of_a_recording(study):
    with own_domain():
        run = Runner(load_scenario(study / "reach.yaml"), study / "logs", Progress(""), study / "run.mcap").run()
    assert run.ticks == 150
    messages = {}
    with (study / "run.mcap").open("rb") as stream:
        for _, channel, _, message in make_reader(stream, decoder_factories=[DecoderFactory()]).iter_decoded_messages():
            messages[channel.topic] = message

    def has(topic: str, fields: list[str]) -> bool:
        value = messages[topic]
        for field in fields:
            name, index = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", field).groups()
            value = getattr(value, name) if index is None else getattr(value, name)[int(index)]
        return isinstance(value, float)

    panels = json.loads((LAYOUTS / "foxglove.json").read_text(encoding="utf-8"))
    curves = [path["value"] for panel in panels["configById"].values() for path in panel.get("paths", ())]
    assert len(curves) == 23 and all(has(curve.split(".")[0], curve.split(".")[1:]) for curve in curves)
    shown = {panel.get("topicToRender") for panel in panels["configById"].values()} - {None}
    assert shown | {"/robot_description", "/tf"} <= messages.keys()
    for curve in ElementTree.parse(LAYOUTS / "plotjuggler.xml").getroot().iter("curve"):
        topic = max((topic for topic in messages if curve.get("name").startswith(f"{topic}/")), key=len)
        assert has(topic, curve.get("name")[len(topic) + 1 :].split("/"))


def test_the_study_of_a_gain_can_be_run_as_it_stands(tmp_path, packages):
    (file,) = files_of("tuning", tmp_path)
    sweep = load_sweep(file, packages)
    assert sweep.count == 18


def test_nodes_and_trajectory_of_the_page_on_moveit_move_the_arm(tmp_path):
    blocks = re.findall(r"```yaml\n(.*?)```", page("joint_trajectories"), re.DOTALL)
    nodes = next(block for block in blocks if block.startswith("nodes:"))
    trajectory = next(block for block in blocks if block.startswith("joint_names:"))
    (tmp_path / "trajectory.yaml").write_text(trajectory, encoding="utf-8")
    given = yaml.safe_load(nodes)
    given["nodes"][0]["parameters"] |= {"trajectory_file": str(tmp_path / "trajectory.yaml"), "start": 0.1}
    given |= {"title": "planned", "robot": {"description": "package://flexarm/urdf/flexible_2r.urdf.xacro"}}
    given |= {"gravity": [0.0, 0.0, 0.0], "rate": 500.0, "duration": 2.5}
    given["plant"] = {"backend": "flexible_dynamics", "max_step": 5e-4, "initial_position": [0.0, 0.0]}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(given), encoding="utf-8")
    run = run_in_process(load_scenario(tmp_path / "study.yaml"), Progress(""))
    np.testing.assert_allclose(run.position[-1], [0.5, 0.2], atol=0.02)


def test_every_tutorial_is_a_page_and_claims_what_is_tested():
    rows = re.findall(r"^\| [^|]+ \| .*?\]\((\w+)\.md(?:#([\w-]+))?\).*\| (.*?) *\|$", page("tutorials"), re.MULTILINE)
    assert len(rows) == 13
    for name, anchor, _ in rows:
        headings = re.findall(r"^#+ (.*)", page(name), re.MULTILINE)
        assert not anchor or anchor in {heading.lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(("name", "jump"), [("ur", 0.01), pytest.param("franka", 0.02, marks=pytest.mark.long)])
def test_an_arm_driven_by_torque_follows_and_jumps_if_nobody_says_what_its_drives_add(tmp_path, name, jump):
    files_of("torque", tmp_path)
    file = tmp_path / f"{name}.yaml"
    text = file.read_text(encoding="utf-8").replace("duration: 10.0", "duration: 1.5")
    (changes,) = re.findall(r"`(plant_robot: [^`]*)`", page("torque"))
    untold = text.replace("{command_mode: effort, max_", "{command_mode: effort, drive_adds: [none], max_")
    off = []
    for changed in (text, f"{text}{' '.join(changes.split())}\n", untold):
        file.write_text(changed, encoding="utf-8")
        try:
            run = run_in_process(load_scenario(file), Progress(""))
        except RobotDescriptionError as missing:  # the arms are in a package of PyPI
            pytest.skip(str(missing))
        assert run.trips == (changed is untold)  # the gate notices it once the arm has jumped
        assert run.trips or (run.watchdog_stops == 0 and run.position[-1, -1] - run.position[0, -1] > 1e-3)
        off.append(np.abs(run.position - run.position[0])[:, :-1].max())  # of the joints that are to stay
    arm = tmp_path / f"{name}.urdf.xacro"
    lacking = '<param name="drive_adds">gravity friction</param><param name="efforts_lack">gravity friction</param>'
    arm.write_text(arm.read_text().replace('<param name="drive_adds">gravity friction</param>', lacking))
    file.write_text(text, encoding="utf-8")
    run = run_in_process(load_scenario(file), Progress(""))  # efforts that are not whole are made so
    assert np.abs(run.position - run.position[0])[:, :-1].max() < 1e-4
    assert off[0] < 1e-4 and off[1] < 1e-3 and off[2] == pytest.approx(jump, rel=0.3)
