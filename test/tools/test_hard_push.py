"""Real nodes under a push forty times harder than the planar arm's own: limits hold, the law gives up and says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import yaml
from live import own_domain

from flexarm_tools.recording.recording import load_recording
from flexarm_tools.run.session import run_file
from flexarm_tools.scenario.file import load_scenario

COMBINED = Path(__file__).resolve().parents[2] / "config" / "planar_3r" / "scenarios" / "combined.yaml"
LARGEST_DEFLECTION, FASTEST, STRONGEST = 0.5, 4.0, 500.0  # of the planar arm's URDF [m], [rad/s], [N*m]
CHANGED = """
duration: 1.2
pushes:
  - {link: base_link, start: 0.2, duration: 0.1, force: [200.0, 0.0, 0.0]}
expect: {errors: [rns_vibration_controller]}
figures:
  peak_base_deflection: {metric: peak_base_deflection, goal: "<= 0.45"}
  lockstep_timeouts: {metric: lockstep_timeouts, goal: "== 0"}
"""


def without(text: str, keys: tuple[str, ...]) -> str:
    """A scenario's text without some of its top-level keys."""
    lines, kept = [], True
    for line in text.splitlines():
        if line[:1].strip():
            kept = not line.startswith(keys)
        if kept:
            lines.append(line)
    return "\n".join(lines)


def test_a_push_that_is_far_too_hard_stays_within_the_limits_and_is_reported(tmp_path, capfd):
    file = tmp_path / "hard_push.yaml"
    file.write_text(without(COMBINED.read_text(), tuple(yaml.safe_load(CHANGED))) + CHANGED)
    assert load_scenario(file).pushes[0].force == (200.0, 0.0, 0.0)
    with own_domain():
        assert run_file(file, "", tmp_path / "report") == 0
    said = capfd.readouterr().out
    assert "as expected, rns_vibration_controller reports errors" in said
    run = load_recording(tmp_path / "report" / "recordings" / "hard_push.npz")
    given_up = "gave up and holds the arm at rest until it is activated anew"
    assert any(event.source == "rns_vibration_controller" and given_up in event.message for event in run.events)
    assert 0.2 < np.abs(run.deflection).max() < LARGEST_DEFLECTION
    assert np.abs(run.velocity).max() <= FASTEST and np.nanmax(np.abs(run.effort)) <= STRONGEST
    assert np.abs(run.velocity[-1]).max() < 0.5 * FASTEST and run.trips == 0
