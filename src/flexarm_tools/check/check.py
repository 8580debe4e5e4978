"""`flexarm check`: report the contents of a robot description or modal data file, and what each feature still needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from flexarm_core.errors import ConfigError, FlexarmError
from flexarm_core.flexible_dynamics.flexible_links import load_flexible_links
from flexarm_core.flexible_dynamics.modal_data import ModalData, load_modal_data
from flexarm_core.robot.added_springs import Springs, with_springs
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.joint_limits_file import within_joint_limits
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.robot.xml_reader import read_robot_xml
from flexarm_tools.check.arm import find_arm
from flexarm_tools.check.completion import complete
from flexarm_tools.check.description import description_steps
from flexarm_tools.check.extensions import extension_steps
from flexarm_tools.check.repair import write_new
from flexarm_tools.check.stages import stage_step
from flexarm_tools.check.start import propose, start_steps
from flexarm_tools.metrics.modal_frequencies import modal_frequencies

LIGHTEST, HEAVIEST = 1e-5, 1e5  # [kg/m^3] mass of a link over the cube of its reach: in mm and t a millionth squared


def check_robot(
    path: Path,
    tool_frame: str = "",
    arguments: dict[str, str] | None = None,
    write: Path | None = None,
    first_run: bool = True,
    held: dict[str, float] | None = None,
    say: Callable[[str], None] = lambda line: None,
    joint_limits: Path | None = None,
    springs: Springs | None = None,
) -> tuple[str, bool]:
    """Read a description as all parts of the suite do, and go through the ten steps of docs/own_robot.md.

    Args:
        path: ``.urdf`` or ``.xacro`` file.
        tool_frame: tool link, empty for the default.
        arguments: xacro arguments.
        write: scenario file to write if a first run was found. If the description lacks numbers, estimates are assumed
            (:mod:`completion`): a completed copy is written next to the scenario, and every assumption is reported.
        first_run: whether to search for a first run (steps 9 and 10), which requires dry runs.
        held: positions of joints that are not of the arm, by name [rad | m]; more are held where :func:`find_arm` says.
        say: called with a text before each dry run.
        joint_limits: file of limits that narrow those of the description, in the written scenario, too.
        springs: stiffness and damping of joints that the description does not call elastic, by name.

    Returns:
        Report as text; and whether the description can be used and, if requested, a scenario for it was found and
        written.

    Raises:
        ConfigError: the scenario file cannot be written, or already exists.
    """
    if write is not None and write.exists():
        raise ConfigError(f"'{write}' exists and stays as it is: choose another name, or remove it")
    if write is not None and not write.parent.is_dir():
        raise ConfigError(f"'{write}' cannot be written: there is no folder '{write.parent}'")
    try:
        text = load_robot_description(path, arguments)
    except FlexarmError as error:
        return f"{path.name}: cannot be used\n  error: {error}", False
    completed = complete(text, path.stem.split(".")[0], tool_frame, held)
    if write is None or not completed.needed:
        runs = first_run and not completed.needed
        report, usable = _check_text(
            path, text, write, tool_frame, arguments or {}, runs, held, say, joint_limits, springs or {}
        )
        if not completed.assumed or (runs and usable):
            return report, usable
    if write is None:
        offer = f"  `flexarm check {path.name} --write FIRST.yaml` goes on with a copy in which"
        return "\n".join([report, offer, *(f"    {one}" for one in completed.assumed)]), usable
    copy = write.with_name(f"{write.stem}_robot.urdf")
    write_new(copy, completed.text)
    report, usable = _check_text(
        copy,
        completed.text,
        write,
        tool_frame,
        {},
        first_run,
        held,
        say,
        joint_limits,
        springs or {},
        completed.assumed,
    )
    if not usable:
        copy.unlink()
    told = f"{path.name}: not complete" + (f"; {copy} is a copy with estimates: replace them by data" if usable else "")
    return "\n".join([told, *(f"  assumed: {one}" for one in completed.assumed), report]), usable


def _check_text(
    path: Path,
    text: str,
    write: Path | None,
    tool_frame: str,
    arguments: dict[str, str],
    first_run: bool,
    held: dict[str, float] | None,
    say: Callable[[str], None],
    joint_limits: Path | None,
    springs: Springs,
    assumed: tuple[str, ...] = (),
) -> tuple[str, bool]:
    """Check the text of a description, and write a scenario for its file; see :func:`check_robot`."""
    try:
        arm = find_arm(text, tool_frame, held)
        told = with_springs(text, springs)
        moving = {joint.get("name", "") for joint in read_robot_xml(told).findall("joint")} - springs.keys()
        kept = moving | (held or {}).keys()  # what the user holds is held, or refused
        arm = replace(arm, held={name: position for name, position in arm.held.items() if name in kept})
        description = parse_robot_description(told, massless=True, held=arm.held)
        if joint_limits is not None:
            description = within_joint_limits(description, joint_limits)
        flexible = load_flexible_links(description)
        model = ArmModel(description, arm.tool_frame)
    except FlexarmError as error:
        return f"{path.name}: cannot be used\n  error: {error}", False
    stages, simulated = stage_step(model)
    usable = simulated
    steps = [*description_steps(model, arm), *extension_steps(model, flexible), stages]
    if simulated and first_run:
        proposal = propose(model, flexible, say=say, joint_limits=joint_limits)
        steps += start_steps(proposal, path, arguments, arm.held, write, springs)
        if write is not None:
            usable = proposal.run is not None
            if usable:
                remarks = "".join(f"# assumed: {one}\n" for one in assumed)
                write_new(write, remarks + proposal.scenario(path, write.parent, arguments, arm.held, springs))
    lines = [f"{path.name}: robot '{description.name}'" + ("" if simulated else ": cannot be used for dynamics yet")]
    for number, step in enumerate(steps, start=1):
        lines += step.text(number)
    return "\n".join(lines), usable


def check_modal_data(path: Path) -> tuple[str, bool]:
    """Read a modal data file as the dynamics code does.

    Args:
        path: ``.npz`` file.

    Returns:
        Report as text, and whether the file can be used.
    """
    try:
        data = load_modal_data(path)
    except FlexarmError as error:
        return f"{path.name}: cannot be used\n  error: {error}", False
    reach = np.linalg.norm(data.position, axis=1).max()
    lines = [f"{path.name}: modal data of a flexible link"]
    lines += [f"  nodes        {len(data.mass)}, the farthest {reach:.6g} m from the clamped one"]
    lines += [f"  total mass   {data.mass.sum():.6g} kg", *_mode_lines(data)]
    if reach > 0.0 and not LIGHTEST < data.mass.sum() / reach**3 < HEAVIEST:
        lines.append("  warning: so much mass in so much room: are the units N, m, kg, s? (flexarm modes --units mm)")
    lines.append(f"  strain gauges: {', '.join(data.strain) or 'none'}")
    if not data.damping.any():
        lines.append("  warning: the modes have no damping: they swing for ever")
    return "\n".join(lines), True


def _mode_lines(data: ModalData) -> list[str]:
    frequencies, paired = modal_frequencies(data)
    if paired:
        return ["  modes", *(f"    {mode:<16} {f:.4g} Hz" for mode, f in zip(data.modes, frequencies, strict=True))]
    return [
        f"  modes        {', '.join(data.modes)} (not mass-normalized on the link alone)",
        f"  frequencies  {', '.join(f'{f:.4g}' for f in frequencies)} Hz, clamped, without what hangs outboard",
    ]
