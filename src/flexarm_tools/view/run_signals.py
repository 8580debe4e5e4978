"""Signals of a recorded run for the plots, and its samples."""

from __future__ import annotations

import numpy as np

from flexarm_core.flexible_dynamics.arm_sample import ArmSample
from flexarm_core.types import Array
from flexarm_tools.recording.recording import Recording
from flexarm_tools.report.svg_plot import engineering, within_reason
from flexarm_tools.view.plots import PlotSpec


def run_signals(recording: Recording) -> list[tuple[PlotSpec, Array]]:
    """Return the plots of a run with their curves (T, c), only for known signals, in suitably prefixed units."""
    found: list[tuple[PlotSpec, Array]] = []

    def add(title: str, unit: str, labels: tuple[str, ...], values: Array) -> None:
        known = np.atleast_1d(np.isfinite(values).any(axis=0))
        if not known.any():
            return
        shown = within_reason(values[:, known])
        factor, prefixed = engineering(float(np.nanmax(np.abs(shown), initial=0.0)), unit)
        names = tuple(label for label, there in zip(labels, known, strict=True) if there)
        found.append((PlotSpec(title, prefixed, names), factor * shown))

    for unit, title in (("m", "Base deflection"), ("rad", "Base rotation")):
        chosen = [i for i, each in enumerate(recording.elastic_units) if each == unit]
        add(title, unit, tuple(recording.elastic_names[i] for i in chosen), recording.deflection[:, chosen])
    add("Modes of the links", "m*sqrt(kg)", recording.modes, recording.modal_position)
    add("Force on the base", "N", ("x", "y", "z"), recording.base_wrench[:, :3])
    add("Torque on the base", "N*m", ("x", "y", "z"), recording.base_wrench[:, 3:])
    for unit, title in (("rad", "Joint torque"), ("m", "Joint force")):
        chosen = [i for i, each in enumerate(recording.joint_units) if each == unit]
        names = tuple(recording.joint_names[i] for i in chosen)
        force = "N*m" if unit == "rad" else "N"
        add(title, force, names, recording.effort[:, chosen])
        add(f"Friction, {title[6:]}", force, names, recording.true_friction[:, chosen])
    add("Tool error", "m", ("distance",), recording.tracking_error[:, None])
    add("Contact force", "N", ("x", "y", "z"), recording.contact_wrench[:, :3])
    return found


def run_sample(recording: Recording, tick: int) -> ArmSample:
    """Return the arm sample of one tick."""
    rows = (
        dict(zip(names, within_reason(values[tick]).tolist(), strict=True))
        for names, values in (
            (recording.joint_names, recording.position),
            (recording.elastic_names, recording.deflection),
            (recording.modes, recording.modal_position),
        )
    )
    position, deflection, modes = ({k: v for k, v in row.items() if np.isfinite(v)} for row in rows)
    return ArmSample(
        float(recording.time[tick]),
        position,
        deflection,
        modes,
        within_reason(recording.reference_position[tick]),
        recording.reference_frame != recording.root_frame,
        within_reason(recording.base_wrench[tick]),
        within_reason(recording.contact_wrench[tick, :3]),
    )
