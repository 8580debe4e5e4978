"""Public robot descriptions that were not made for flexarm: how many get in, and whether they are read right.

`strangers.py [NAME ...]` takes every URDF file of the packages example-robot-data and rtb-data of PyPI and dart-doc of
Debian, or those whose path contains a name (82 files, 7 min). What Debian has is taken from where it is installed, or
downloaded by apt-get to `build/strangers`; where there is no apt-get, it is left out. Each goes through `flexarm check
--write`; the scenario that it writes is run; and the model is compared with that of Pinocchio, which reads the file by
itself and locks the held joints. Where the check has completed a description, the file is its copy, in which every part
that differs from the original must be named in what the check says and in the scenario. Then come drives that add
efforts by themselves, which `strangers.py drives` runs alone, and the measures of ``joint_trajectories.py`` (15 min;
`strangers.py planners`).
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process per core

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
import table
from joint_trajectories import measure_goals, measure_swing, measure_type_hash

from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.xml_reader import with_prefixes
from flexarm_core.types import ArmState
from flexarm_tools.check.check import check_robot
from flexarm_tools.metrics.figures import Figure, compute_figures, parse_goal
from flexarm_tools.process.progress import Progress
from flexarm_tools.run.in_process import run_in_process
from flexarm_tools.scenario.file import load_scenario

ROOT = Path(__file__).resolve().parents[1]
SITE = Path(np.__file__).resolve().parents[1]
EQUAL = 1e-8  # largest relative difference of mass matrices and weights
PROPOSAL = re.compile(r"\b(add|give|make|name|hold|remove|write|writes|needs|choose)\b|is continuous")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a description."""

    file: str
    got_in: bool  # a scenario was written, and its run reached its goals
    said: str  # why not
    difference: float  # of mass matrix and weight from those of Pinocchio's own model, relative
    assumed: int = 0  # number of estimates in place of what the description lacks
    unnamed: tuple[str, ...] = ()  # changed links and joints that no estimate names


class Silent(Progress):
    """Shows nothing."""

    def show(self, now: float, end: float) -> None:
        """Show nothing."""


def descriptions(names: list[str]) -> list[Path]:
    """The files."""
    folders = [SITE / "cmeel.prefix/share/example-robot-data/robots", SITE / "rtbdata/xacro", *debian_folders()]
    found = sorted({path for folder in folders for path in folder.rglob("*.urdf")})
    found = [path for path in found if path.name != "ground.urdf" and "test" not in path.parts]  # no robots
    return [path for path in found if not names or any(name in str(path) for name in names)]


def debian_folders() -> list[Path]:
    """Folders of the robots in packages of Debian."""
    data = Path("usr/share/doc/dart/data")
    if (Path("/") / data).is_dir():
        return [Path("/") / data]
    folder = ROOT / "build" / "strangers"
    if not (folder / data).is_dir() and which("apt-get") and which("dpkg"):
        folder.mkdir(parents=True, exist_ok=True)
        if subprocess.run(["apt-get", "download", "-qq", "dart-doc"], cwd=folder, check=False).returncode == 0:
            for package in folder.glob("dart-doc_*.deb"):
                subprocess.run(["dpkg", "-x", str(package), str(folder)], check=True)
                package.unlink()
    return [folder / data] if (folder / data).is_dir() else []


def try_one(file: Path) -> Outcome:
    """Check, run and compare a description."""
    with TemporaryDirectory() as folder:
        study = Path(folder) / "study.yaml"
        said, usable = check_robot(file, write=study)
        if not usable:
            wrong = re.findall(r"^ *((?:error|missing): .*(?:\n +add to .*)?)", said, flags=re.MULTILINE)
            return Outcome(file.name, False, " | ".join(" ".join(one.split()) for one in wrong), 0.0)
        scenario = load_scenario(study)
        figures = compute_figures(scenario.figures, run_in_process(scenario, Silent(file.name)))
        copy = study.with_name(f"{study.stem}_robot.urdf")
        used = copy if copy.exists() else file
        estimates = [line.removeprefix("# assumed: ") for line in study.read_text().splitlines() if line[0] == "#"]
        unnamed = [name for name in changed_parts(file, used) if not any(f"'{name}'" in one for one in estimates)]
        unnamed += [one for one in estimates if one not in said]
        failed = [figure.name for figure in figures if figure.goal is not None and not figure.holds]
        model = ArmModel(scenario.robot.description, scenario.robot.tool_frame, scenario.gravity)
        missed = f"goals missed: {failed}" if failed else ""
        return Outcome(file.name, not failed, missed, difference(used, model), len(estimates), tuple(unnamed))


def read(file: Path) -> ElementTree.Element:
    """The robot in a file, as URDF readers take it: a prefix of a name need not be declared."""
    return ElementTree.fromstring(with_prefixes(file.read_text(encoding="utf-8")))


def changed_parts(file: Path, copy: Path) -> list[str]:
    """Names of the links and joints that are not alike in two files, and of the robot if its name is not."""

    def row(tag: ElementTree.Element) -> tuple[str, tuple[tuple[str, str], ...], str]:
        values = dict(tag.items())
        if tag.tag == "mesh":  # the copy names it by its path
            values["filename"] = Path(values["filename"]).name
        return tag.tag, tuple(sorted(values.items())), (tag.text or "").strip()

    def parts(path: Path) -> dict[str, list[tuple[str, tuple[tuple[str, str], ...], str]]]:
        root, found = read(path), {}
        for part in (*root.findall("link"), *root.findall("joint"), *root.findall("./ros2_control/joint")):
            found.setdefault(part.get("name", ""), []).extend(sorted(row(tag) for tag in part.iter()))
        return found | {"": [("robot", tuple(sorted(root.items())), "")]}

    before, after = parts(file), parts(copy)
    robot = read(copy).get("name", "")
    return [name or robot for name in before.keys() | after.keys() if before.get(name) != after.get(name)]


def difference(file: Path, model: ArmModel) -> float:
    """Largest relative difference of mass matrix, weight and tool position from those of the file in random postures.

    Where the other joints stand still, mass matrix and weight of the arm are parts of those of the whole robot.
    """
    whole = pin.buildModelFromXML(file.read_text(encoding="utf-8"))
    whole.gravity.linear = model.gravity
    armature = np.zeros(whole.nv)
    for tag in read(file).findall("./ros2_control/joint"):
        for value in tag.findall("./param[@name='armature']"):
            armature[whole.joints[whole.getJointId(tag.get("name", ""))].idx_v] = float(value.text or "nan")
    whole.armature = armature
    data, frame, worst = whole.createData(), whole.getFrameId(model.tool_frame, pin.FrameType.BODY), 0.0
    rows = [whole.joints[whole.getJointId(name)].idx_v for name in model.joint_names]
    given, rng = other_joints(file, model, whole), np.random.default_rng(0)
    for _ in range(5):
        q = rng.uniform(np.maximum(model.lower, -2.0), np.minimum(model.upper, 2.0))
        for name, value in zip(model.joint_names, q, strict=True):
            put(whole, given, name, value)
        H = pin.crba(whole, data, given)
        H = (np.triu(H) + np.triu(H, 1).T)[np.ix_(rows, rows)]
        weight = pin.computeGeneralizedGravity(whole, data, given)[rows]
        pin.framesForwardKinematics(whole, data, given)
        state = ArmState(0, q, np.zeros(model.n), np.zeros(0), np.zeros(0))
        blocks, tool = model.blocks(state), model.tool_kinematics(state, model.world_frame).position
        for ours, theirs in ((blocks.H_m, H), (blocks.c_m, weight), (tool, data.oMf[frame].translation)):
            worst = max(worst, float(np.abs(ours - theirs).max() / max(1e-3, np.abs(theirs).max())))
    return worst


def put(whole: pin.Model, q: np.ndarray, name: str, position: float) -> None:
    """Write the position of a joint to the configuration of the whole robot."""
    joint = whole.joints[whole.getJointId(name)]
    q[joint.idx_q : joint.idx_q + joint.nq] = position if joint.nq == 1 else (np.cos(position), np.sin(position))


def other_joints(file: Path, model: ArmModel, whole: pin.Model) -> np.ndarray:
    """Configuration of the whole robot, with the joints that are not of the arm as the text of the model fixes them."""
    given = {tag.get("name", ""): tag for tag in read(file).findall("joint")}
    fixed = {tag.get("name", ""): tag for tag in ElementTree.fromstring(model.description.text).findall("joint")}
    q = pin.neutral(whole)
    for name, joint in zip(list(whole.names)[1:], list(whole.joints)[1:], strict=True):
        if name not in model.joint_names and joint.nv == 1:
            put(whole, q, name, moved_by(given[name], fixed[name]))
    return q


def moved_by(given: ElementTree.Element, read: ElementTree.Element) -> float:
    """Position at which a joint was fixed, from its two transforms."""
    before, after = (pin.SE3(*_origin(tag)) for tag in (given, read))
    tag = given.find("axis")
    axis = np.array([float(word) for word in (tag.get("xyz", "1 0 0") if tag is not None else "1 0 0").split()])
    axis /= np.linalg.norm(axis)
    motion = before.actInv(after)
    turns = given.get("type") != "prismatic"
    return float(axis @ (pin.log3(motion.rotation) if turns else motion.translation))


def _origin(joint: ElementTree.Element) -> tuple[np.ndarray, np.ndarray]:
    tag = joint.find("origin")
    values = {} if tag is None else tag.attrib
    rpy, xyz = (np.array([float(word) for word in values.get(key, "0 0 0").split()]) for key in ("rpy", "xyz"))
    return pin.rpy.rpyToMatrix(*rpy), xyz


def tracking_error(folder: Path, plant: str, gate: str) -> float:
    """Largest tool error of a motion of `boom_7r` by effort commands, with damped joints [m].

    Args:
        folder: folder for files.
        plant: what the simulated drives add.
        gate: what the gate takes off.
    """
    robot, study = folder / "boom.urdf", folder / "study.yaml"
    if not robot.exists():
        text = load_robot_description(ROOT / "urdf" / "boom_7r.urdf.xacro")
        robot.write_text(text.replace("<limit ", '<dynamics damping="3"/><limit '))
        check_robot(robot, write=study)
    text, given = study.read_text(), "parameters: {command_mode: effort,"
    text = text.replace("  command_mode: effort\n", f"  command_mode: effort\n  drive_adds: [{plant}]\n")
    (folder / "run.yaml").write_text(text.replace(given, f"{given} drive_adds: [{gate}],"))
    scenario = load_scenario(folder / "run.yaml")
    figures = compute_figures(scenario.figures, run_in_process(scenario, Silent("boom")))
    return next(figure.value for figure in figures if figure.name == "tracking")


def measure_drive_kinds() -> Iterator[Figure]:
    """Tracking with drives that add efforts by themselves, beside that with drives that do not."""
    kinds = ("none", "gravity", "gravity, friction", "gravity, coriolis, friction")
    with TemporaryDirectory() as folder:
        found = {kind: tracking_error(Path(folder), kind, kind) for kind in kinds}
        wrong = tracking_error(Path(folder), "gravity", "none")
    change = max(abs(found[kind] / found["none"] - 1.0) for kind in kinds)
    yield Figure(
        *("drive_kinds", change, "", parse_goal("<= 0.1")),
        "largest change of the tracking error with drives that add efforts",
        details={
            **{f"{kind} [m]": value for kind, value in found.items()},
            "gravity, and the gate not told [m]": wrong,
        },
    )


def measure(names: list[str]) -> Iterator[Figure]:
    """The figures."""
    files = descriptions(names)
    with get_context("spawn").Pool(2, maxtasksperchild=15) as pool:
        outcomes = list(pool.imap(try_one, files))
    refused = [one for one in outcomes if not one.got_in]
    helped = [one for one in refused if PROPOSAL.search(one.said)]
    wrong = [one for one in outcomes if one.got_in and not (one.difference <= EQUAL and not one.unnamed)]
    yield Figure("descriptions_tried", len(outcomes), "", parse_goal(">= 60"), "public descriptions")
    yield Figure(
        *("descriptions_in", (len(outcomes) - len(refused)) / len(outcomes), "", parse_goal(">= 0.95")),
        "share that check and run bring to a quiet motion, unedited",
        details={one.file: one.said[:300] for one in refused},
    )
    estimated = {one.file: one.assumed for one in outcomes if one.got_in and one.assumed}
    yield Figure("descriptions_completed", len(estimated), "", None, "got in by estimates, named", details=estimated)
    yield Figure(
        *("refused_with_proposal", len(helped) / max(1, len(refused)), "", parse_goal("== 1")),
        "share of the others that are told what to do",
        details={one.file: one.said[:300] for one in refused if one not in helped},
    )
    yield Figure(
        *("silently_wrong", len(wrong), "", parse_goal("== 0")),
        "models that differ from Pinocchio's of the same file, or in what no estimate names",
        details={one.file: f"{one.difference:.3g} {', '.join(one.unnamed)}" for one in wrong},
    )


def main() -> int:
    """Run the measure."""
    if sys.argv[1:2] == ["drives"]:
        return table.run("strangers_drives", [measure_drive_kinds])
    if sys.argv[1:2] == ["planners"]:
        return table.run("strangers_planners", [measure_type_hash, measure_goals, measure_swing])
    measures = [measure_drive_kinds, measure_type_hash, measure_goals, measure_swing]
    return table.run("strangers", [lambda: measure(sys.argv[1:]), *measures])


if __name__ == "__main__":
    sys.exit(main())
