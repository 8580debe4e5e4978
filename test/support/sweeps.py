"""A short sweep of the planar arm, to change piece by piece."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import forked

CONFIG = Path(__file__).resolve().parents[2] / "config"
SCENARIO = """\
base: scenario.yaml
title: Pushed for a moment
duration: 0.15  # after the first tenth of a second, in which forces on the base are compensated in part only
pushes:
  - {link: base_link, start: 0.11, duration: 0.03, force: [5.0, 0.0, 0.0]}
events: ~
figures:
  settling_periods: ~
  peak_base_deflection: {goal: "<= 4e-4"}
"""
SWEEP = """\
scenario: push.yaml
samples: 6
seed: 1
vary:
  masses: {key: plant_robot.masses.all, uniform: [0.9, 1.1]}
  spring: {key: plant_robot.stiffness.base_x, log: [0.5, 2.0]}
  encoder: {key: plant.sensors.joint_position.noise, log: [1.0e-6, 1.0e-4]}
  push: {key: "pushes[0].force[0]", normal: [5.0, 1.5]}
  damping: {key: nodes.rns_vibration_controller.parameters.damping_ratio, choice: [0.3, 0.7]}
goals:
  all_hold: {share: 0.5}
"""


def write_sweep(folder: Path, *changes: tuple[str, str], text: str = SWEEP, scenario: str = SCENARIO) -> Path:
    """Write a sweep after replacing pieces of its text."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    shutil.copy(CONFIG / "planar_3r" / "scenarios" / "push_damped.yaml", folder / "scenario.yaml")
    (folder / "push.yaml").write_text(scenario, encoding="utf-8")
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    return folder / "study.yaml"


def flexarm(folder: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command of `flexarm` in a folder."""
    return forked.flexarm(*arguments, cwd=folder, timeout=300, **options)
