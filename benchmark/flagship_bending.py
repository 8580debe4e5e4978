"""The flagship with `flexible_dynamics_controller` between reaction null space and torque loop, over itself without.

`accelerations` corrects the forces until the joints accelerate as desired on the arm that bends, with the servo gains
of the flagship; `vibration_damping` also damps boom and forearm by its own feedback. Ratios above 1: worse with it.
`setup/run python benchmark/flagship_bending.py`
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read at NumPy's import

import table

from flexarm_tools.metrics.figures import Figure, compute_figures
from flexarm_tools.run.in_process import ProcessRun
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import NodeSpec, Scenario

FLAGSHIP = Path(__file__).resolve().parents[1] / "config" / "boom_7r" / "scenarios" / "inspect_and_wipe.yaml"
LAW, CONTROLLER, LED = "rns_vibration_controller", "flexible_dynamics_controller", "led_reference"
SETTINGS: dict[str, dict[str, Any]] = {
    "accelerations": {"position_gain": 1600.0, "velocity_gain": 80.0, "check_gains": False},
    "vibration_damping": {},
}
SHOWN = ("path_peak", "path_peak_reach", "wipe_force_error", "modal_vibration_bump", "modal_vibration_on_the_way_back",
         "peak_base_energy_root_reach", "peak_base_energy_root_after_bump", "base_settling_time")  # fmt: skip


def with_controller(flagship: Scenario, law: str) -> Scenario:
    """The flagship with the controller of flexible links after the reaction null space."""
    nodes: list[NodeSpec] = []
    for node in flagship.nodes:
        if node.executable != LAW:
            nodes.append(node)
            continue
        nodes.append(replace(node, remappings={**node.remappings, "joint_reference": LED}))
        parameters = {"law": law, "rate": flagship.rate, **SETTINGS[law]}
        names = {"desired_joint_reference": LED, "joint_reference": "desired_joint_reference"}
        nodes.append(NodeSpec(node.package, CONTROLLER, CONTROLLER, parameters, names))
    return replace(flagship, nodes=tuple(nodes))


def compared() -> Iterator[Figure]:
    """Figures with the controller over those without."""
    flagship = load_scenario(FLAGSHIP)
    runs = {"": flagship} | {law: with_controller(flagship, law) for law in SETTINGS}
    found = {
        law: {one.name: one for one in compute_figures(run.figures, ProcessRun(run).run(lambda tick: ""))}
        for law, run in runs.items()
    }
    for law in SETTINGS:
        for name in SHOWN:
            ours, without = found[law][name].value, found[""][name].value
            details: dict[str, bool | float | str] = {"with": ours, "without": without}
            yield Figure(
                f"{law}_{name}", ours / without, "1", None, "with the controller over without", details=details
            )


if __name__ == "__main__":
    sys.exit(table.run("flagship_bending", (compared,)))
