"""Figures that README and pages name, and the runs that they are from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from flexarm_core.uri import resolve_uri
from flexarm_tools.metrics.figures import compute_figures
from flexarm_tools.process.progress import Progress
from flexarm_tools.run.in_process import run_in_process
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.study import compute_study_figures, load_study

ROOT = Path(__file__).resolve().parents[2]
ARM = "package://example-robot-data/robots/ur_description/urdf/ur10_robot.urdf"
BOX, DEMO = "own_robot", "inspect"
# Runs of docs/own_robot.md: what is replaced in its scenario by what.
VARIANTS = {
    "reach": ("", ""),
    "plain": ("law: reactionless", "law: resolved_acceleration, vibration_damping: false"),
    "wrist": ("150.0, -90.0", "-150.0, -90.0"),
}
# Figures that pages name: page, text with a number in a group, run or study, figure of it, factor from SI units.
CLAIMS: tuple[tuple[str, str, str, str, float], ...] = (
    ("own_robot.md", r"sway of the box while the arm moves \| ([\d.]+) µm", BOX, "sway_by_motion", 1e6),
    ("own_robot.md", r"settling after the push, to 5 % \| ([\d.]+) periods", BOX, "settling_periods", 1.0),
    ("own_robot.md", r"largest error of the tool, push included \| ([\d.]+) mm", BOX, "tracking_error", 1e3),
    ("own_robot.md", r"sway of the box .*? µm \| ([\d.]+) µm", BOX, "plain.sway_by_motion", 1e6),
    ("own_robot.md", r"push included .*? mm \| ([\d.]+) mm", BOX, "plain.tracking_error", 1e3),
    ("own_robot.md", r"the tool is then ([\d.]+) mm", BOX, "wrist.tracking_error", 1e3),
    (
        "inspect_and_wipe.md",
        r"during reach, relative to all off .*? \| ([\d.]+) \|",
        "",
        "deflection_ratio_all_off",
        1.0,
    ),
    (
        "inspect_and_wipe.md",
        r"without the reaction null space \| ([\d.]+) \|",
        "",
        "deflection_ratio_null_space_off",
        1.0,
    ),
    ("inspect_and_wipe.md", r"bump included \| ([\d.]+) % \| 5 %", DEMO, "wipe_force_error", 100.0),
    ("inspect_and_wipe.md", r"RMS error of the tool, reach \| ([\d.]+) mm", DEMO, "path_rms_free", 1e3),
    ("inspect_and_wipe.md", r"whole run, bump included \| ([\d.]+) mm", DEMO, "all_on.path_peak", 1e3),
    ("inspect_and_wipe.md", r"relative to the run without the torque loop \| ([\d.]+) ", DEMO, "friction_ratio", 1.0),
    ("inspect_and_wipe.md", r"decayed to a tenth \| ([\d.]+) s", DEMO, "settling", 1.0),
    ("inspect_and_wipe.md", r"decayed to a tenth \|.*?\| ([\d.]+) s without", DEMO, "settling_estimator_off", 1.0),
    ("inspect_and_wipe.md", r"press, 2 to 5 s \|.*\| ([\d.]+) \| `", DEMO, "deflection_ratio_press", 1.0),
    ("inspect_and_wipe.md", r"wipe, 5 to 6.5 s \|.*\| ([\d.]+) \| `", DEMO, "deflection_ratio_wipe", 1.0),
    ("inspect_and_wipe.md", r"bump, 6.5 to 7 s \|.*\| ([\d.]+) \| `", DEMO, "deflection_ratio_bump", 1.0),
    ("inspect_and_wipe.md", r"after the bump, 7 to 9 s \|.*\| ([\d.]+) \| `", DEMO, "deflection_ratio_after_bump", 1.0),
    ("inspect_and_wipe.md", r"way back, 9 to 12 s \|.*\| ([\d.]+) \| `", DEMO, "deflection_ratio_back", 1.0),
    ("../README.md", r"\| reach \| ([\d.]+) times", DEMO, "1/deflection_ratio_all_off", 1.0),
    ("../README.md", r"\| press \| ([\d.]+) times", DEMO, "1/deflection_ratio_press", 1.0),
    ("../README.md", r"before the bump \| ([\d.]+) times", DEMO, "1/deflection_ratio_wipe", 1.0),
    ("../README.md", r"\| bump: the first swing \| ([\d.]+) times", DEMO, "1/deflection_ratio_bump", 1.0),
    ("../README.md", r"until the way back \| ([\d.]+) times", DEMO, "1/deflection_ratio_after_bump", 1.0),
    ("../README.md", r"\| way back \| ([\d.]+) times", DEMO, "1/deflection_ratio_back", 1.0),
    ("../README.md", r"mean force error is ([\d.]+) %", DEMO, "wipe_force_error", 100.0),
    ("../README.md", r"stays within ([\d.]+) mm \(RMS\)", DEMO, "path_rms_free", 1e3),
    ("../README.md", r"joints is ([\d.]+) times the error without", DEMO, "friction_ratio", 1.0),
)


def stale(run: str, values: Mapping[str, float]) -> dict[str, str]:
    """Return which figures of a run are not what a page says, to the digits that it gives."""
    found = {}
    for page, pattern, source, name, factor in CLAIMS:
        if source != run:
            continue
        said = re.search(pattern, (ROOT / "docs" / page).read_text(encoding="utf-8"))
        value = factor * (1.0 / values[name[2:]] if name.startswith("1/") else values[name])
        if said is None:
            found[f"{page}: {name}"] = "the page does not say it any more"
        elif abs(float(said[1]) - value) > 0.501 * 10.0 ** -len(said[1].partition(".")[2]):
            found[f"{page}: {name}"] = f"says {said[1]}, is {value:.4g}"
    return found


def demo_values() -> dict[str, float]:
    """Run the demo `inspect`, and return its figures."""
    study = load_study(ROOT / "config/boom_7r/demo_inspect.yaml")
    figures = {
        name: compute_figures(scenario.figures, run_in_process(scenario, Progress(name)))
        for name, scenario in study.scenarios.items()
    }
    return {figure.name: figure.value for figure in compute_study_figures(study, figures)}


def box_values(folder: Path) -> dict[str, float]:
    """Run the scenario of docs/own_robot.md and its variants in an empty folder, and return their figures.

    Raises:
        RobotDescriptionError: the package of the arm is not installed.
    """
    page = (ROOT / "docs/own_robot.md").read_text(encoding="utf-8")
    for name in ("arm_on_box.urdf.xacro", "reach.yaml"):
        (text,) = re.findall(rf"```\w+\n((?:# |<!-- ){re.escape(name)}.*?)```", page, re.DOTALL)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "arm.urdf").write_text(resolve_uri(ARM).read_text(encoding="utf-8"), encoding="utf-8")
    text, values = (folder / "reach.yaml").read_text(encoding="utf-8"), {}
    for run, (old, new) in VARIANTS.items():
        assert old in text
        (folder / f"{run}.yaml").write_text(text.replace(old, new), encoding="utf-8")
        scenario = load_scenario(folder / f"{run}.yaml")
        figures = compute_figures(scenario.figures, run_in_process(scenario, Progress(run)))
        values |= {figure.name if run == "reach" else f"{run}.{figure.name}": figure.value for figure in figures}
    return values
