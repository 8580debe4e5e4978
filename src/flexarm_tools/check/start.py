"""Steps 9 and 10 of `flexarm check`: a first run verified by a dry run, with its rate and gains."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import yaml

from flexarm_core.errors import ConfigError, FlexarmError, RobotDescriptionError
from flexarm_core.flexible_dynamics.modal_data import ModalData
from flexarm_core.robot.added_springs import Springs
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array
from flexarm_sim.backends import make_backend
from flexarm_tools.check.dry_run import DryRun, dry_run
from flexarm_tools.check.first_run import (
    LARGEST_ACCELERATION,
    SAMPLES_PER_PERIOD,
    FirstRun,
    Gravity,
    clear_postures,
    first_runs,
)
from flexarm_tools.check.posture import RobotBodies
from flexarm_tools.check.step import CheckStep, Finding
from flexarm_tools.graph.packages import Packages
from flexarm_tools.scenario.file import STANDARD_GRAVITY, load_scenario

WEIGHTLESS = (0.0, 0.0, 0.0)
PLAIN = "resolved_acceleration"  # the law without base control
BASE_MOTION = "peak_base_energy_root"  # figure by which it is compared
ENOUGH, MOST = 0.3, 0.7  # share of the base motion under the plain law: good enough; too much to be a gain


@dataclass(frozen=True, slots=True)
class Proposal:
    """Result of the search for a first run."""

    run: FirstRun | None  # first run that passed a dry run; None if none was found
    model: ArmModel  # model of the arm, with the gravity of the run
    bodies: RobotBodies  # of its robot
    refused: tuple[str, ...]  # why earlier candidates were rejected, in the order of the attempts
    shares: tuple[float, ...] = ()  # of the base motion under the plain law that runs left, that of `run` the smallest
    joint_limits: Path | None = None  # file of limits that the run keeps beside those of the description

    def scenario(
        self,
        description: Path,
        folder: Path,
        arguments: dict[str, str],
        held: dict[str, float],
        springs: Springs | None = None,
    ) -> str:
        """Return the text of the scenario for a file in a folder.

        Args:
            description: robot description file.
            folder: folder of the scenario file.
            arguments: xacro arguments of the description.
            held: positions of joints that are not of the arm, by name [rad | m].
            springs: stiffness and damping of joints that the file does not call elastic, by name.

        Raises:
            ConfigError: there is no run.
        """
        if self.run is None:
            raise ConfigError("there is no first run to write; step 10 says what was tried")
        from_there = partial(os.path.relpath, start=folder.resolve())
        limits = None if self.joint_limits is None else from_there(self.joint_limits.resolve())
        return scenario_text(self.model, self.run, from_there(description.resolve()), arguments, held, limits, springs)


def propose(
    model: ArmModel,
    flexible: dict[str, ModalData],
    packages: Packages | None = None,
    say: Callable[[str], None] = lambda line: None,
    joint_limits: Path | None = None,
) -> Proposal:
    """Try first runs until one passes a dry run, within the reaction null space one that gains over the plain law.

    A run within the reaction null space is compared with the same motion under the law ``resolved_acceleration``. The
    first one that leaves at most ``ENOUGH`` of the base motion is taken, otherwise the best of several start postures,
    and none that leaves more than ``MOST``.

    Args:
        model: model of a robot that can be simulated, within its joint limits.
        flexible: modal data of its flexible links.
        packages: locates ROS packages; by default in the sourced ROS 2 environment.
        say: called with a text before each dry run.
        joint_limits: file of the limits that narrow those of the description, which nodes have to read.
    """
    refused: list[str] = []
    say("postures over the ground and clear of the robot ...")
    bodies = RobotBodies(model)
    postures = clear_postures(model, bodies)
    limits = None if joint_limits is None else str(joint_limits.resolve())
    with TemporaryDirectory() as folder:
        (Path(folder) / "robot.urdf").write_text(model.description.text, encoding="utf-8")

        def tried(weighed: ArmModel, run: FirstRun) -> DryRun:
            path = Path(folder) / "first_run.yaml"
            path.write_text(scenario_text(weighed, run, "robot.urdf", joint_limits=limits), encoding="utf-8")
            try:
                return dry_run(load_scenario(path, packages))
            except FlexarmError as error:
                return DryRun(str(error))

        for gravity in (STANDARD_GRAVITY, WEIGHTLESS):
            weighed = ArmModel(model.description, model.tool_frame, gravity)
            best, shares, compared = None, list[float](), -1  # compared: newest start posture
            for run in _possible(weighed, gravity, flexible, postures, refused):
                inside = run.stages == "null_space"
                if inside and (run.choice == compared or (run.choice > 0 and compared < 0)):
                    continue  # a smaller motion gains no more; other postures are tried only if the first one can move
                if best is not None and not inside:
                    break
                say(f"dry run {len(refused) + 1}, {run.duration:g} s: {what_moves(run)} ...")
                found = tried(weighed, run)
                if found.failure:
                    refused.append(f"{what_moves(run)}: {found.failure}")
                    continue
                if not inside:
                    return Proposal(run, weighed, bodies, tuple(refused), tuple(shares), joint_limits)
                compared = run.choice
                say("  the same under the plain law ...")
                share = _share(found, tried(weighed, replace(run, law=PLAIN, damping_ratio=0.0)))
                if share <= MOST and share <= min(shares, default=math.inf):
                    best = run
                shares.append(share)
                if share <= ENOUGH:
                    break
                refused.append(f"{what_moves(run)}: {_compared(share)}")
            if best is not None:
                return Proposal(best, weighed, bodies, tuple(refused), tuple(shares), joint_limits)
    return Proposal(None, model, bodies, tuple(refused))


def _possible(
    model: ArmModel, gravity: Gravity, flexible: dict[str, ModalData], postures: Array, refused: list[str]
) -> Iterator[FirstRun]:
    """Yield first runs (:func:`first_runs`); where the base cannot carry the arm there is none, and that is noted."""
    try:
        yield from first_runs(model, gravity, flexible, postures)
    except RobotDescriptionError as error:
        refused.append(str(error))


def _share(found: DryRun, plain: DryRun) -> float:
    """Return the base motion of a run over that under the plain law.

    It is 0 if the plain law does not reach the end, and 1 if the base does not move with either.
    """
    ours, theirs = (
        next((figure.value for figure in run.figures if figure.name == BASE_MOTION), math.inf) for run in (found, plain)
    )
    return ours / theirs if theirs > 0.0 else 1.0


def _compared(share: float) -> str:
    """Say how far the base moves, compared with the plain law."""
    if share == 0.0:
        return f"the plain law ({PLAIN}) does not reach the end of this motion"
    return f"the base moves {share:.2g} times as far as under the plain law ({PLAIN})"


def start_steps(
    proposal: Proposal,
    path: Path,
    arguments: dict[str, str],
    held: dict[str, float],
    write: Path | None,
    springs: Springs,
) -> list[CheckStep]:
    """Return the steps for rate and gains, and for the scenario.

    Args:
        proposal: result of the search for a first run.
        path: robot description file.
        arguments: xacro arguments.
        held: positions of joints that are not of the arm, by name [rad | m].
        write: scenario file that is written; None: the scenario is printed.
        springs: stiffness and damping of joints that the file does not call elastic, by name.
    """
    run = proposal.run
    if run is None:
        return [CheckStep("Rate and gains", state="to do"), _no_run(proposal)]
    findings = []
    lines = [
        f"rate: {run.rate:g} Hz or more, {SAMPLES_PER_PERIOD} samples a period of the softest",
        f"max_acceleration: [{run.max_acceleration:g}], what every joint can do beside its weight, at most"
        f" {LARGEST_ACCELERATION:g}",
    ]
    if run.damping_ratio:
        lines.append(
            f"damping_ratio: {run.damping_ratio:g}, with realization: {run.realization}; stable with 1 sample of delay"
        )
        lines.append(
            "on a real arm: the node looks at its gains with your rate, delay and drive, and refuses unstable ones"
        )
    elif run.stages == "null_space":
        findings.append(
            Finding("warning: no base feedback is stable with these; raise the rate, or leave vibration_damping off")
        )
    remarks = [f"a dry run of {run.duration:g} s has done it: {what_moves(run)}"]
    if run.stages == "null_space":
        remarks.append(f"  {_compared(min(proposal.shares))}")
    elif proposal.shares:
        remarks.append(
            f"  without the reaction null space, which gains nothing: in the best of {len(proposal.shares)} start"
            f" postures {_compared(min(proposal.shares))}"
        )
    remarks.append(_place(proposal, run))
    remarks += [f"  instead of {reason}" for reason in proposal.refused[-1:] if not proposal.shares]
    warnings = []
    if run.gravity == WEIGHTLESS:
        reason = "; ".join(proposal.refused[:1]) or "see above"
        warnings.append(Finding(f"warning: without gravity, since no run under gravity was found: {reason}"))
    if write is not None:
        scenario = Finding(f"written to {write}: to run it, `flexarm run {write}`")
    else:
        name = f"{path.name.split('.')[0]}_first.yaml"
        scenario = Finding(
            f"to write this scenario: `flexarm check {path.name} --write {name}`; to run it: `flexarm run {name}`",
            tuple(proposal.scenario(path, path.parent, arguments, held, springs).splitlines()),
        )
    return [
        CheckStep("Rate and gains", tuple(lines), tuple(findings)),
        CheckStep("Run", tuple(remarks), (*warnings, scenario), state="ready"),
    ]


def _place(proposal: Proposal, run: FirstRun) -> str:
    """Say where the arm is at the start: heights of its links over the ground."""
    bodies, tool = proposal.bodies, proposal.model.tool_frame
    place = {link: float(values[0]) + 0.0 for link, values in bodies.heights(run.posture[None]).items()}
    link = min(place, key=lambda name: place[name])
    over = f"the lowest point of '{bodies.lowest_still}'" if bodies.lowest_still else "the mounting plane"
    words = f"starts with '{tool}' {place.get(tool, 0.0):.3g} m over {over}"
    return f"{words}, the lowest link '{link}' at {place[link]:.3g} m"


def _no_run(proposal: Proposal) -> CheckStep:
    tried = f"missing: a first run: {len(proposal.refused)} were tried in dry runs, none reached its end"
    return CheckStep("Run", (), (Finding(tried), *(Finding(f"tried: {reason}") for reason in proposal.refused)))


def what_moves(run: FirstRun) -> str:
    """Describe a first run in words."""
    way = ", ".join(f"{value + 0.0:g}" for value in run.displacement)
    what = "the tool" if run.axes else "the joints"
    with_what = {
        "null_space": "inside the reaction null space",
        "ik": "by redundancy resolution",
        "flexible": "by the control of flexible links",
        "joints": "by the drives alone",
    }[run.stages]
    where = "" if any(run.gravity) else " without gravity"
    return f"{what} by [{way}] in {run.time:g} s{where}, {with_what}"


def scenario_text(
    model: ArmModel,
    run: FirstRun,
    description: str,
    arguments: dict[str, str] | None = None,
    held: dict[str, float] | None = None,
    joint_limits: str | None = None,
    springs: Springs | None = None,
) -> str:
    """Return the text of a scenario file.

    Args:
        model: model of the robot.
        run: first run of the scenario.
        description: path of the robot description, relative to the folder of the scenario file.
        arguments: xacro arguments of the description.
        held: positions of joints that are not of the arm, by name [rad | m].
        joint_limits: path of a file of limits, relative to the folder of the scenario file.
        springs: stiffness and damping of joints that the file does not call elastic, by name.
    """
    pairs = ", ".join(f"{_quoted(key)}: {_quoted(value)}" for key, value in (arguments or {}).items())
    robot = f"description: {_quoted(description)}, tool_frame: {_quoted(model.tool_frame)}"
    robot += f", arguments: {{{pairs}}}" if pairs else ""
    stay = ",\n    ".join(f"{_quoted(name)}: {position!r}" for name, position in (held or {}).items())
    robot += f",\n  held: {{{stay}}}" if stay else ""
    for key, which in (("elastic", 0), ("elastic_damping", 1)):
        told = ", ".join(f"{_quoted(name)}: {spring[which]!r}" for name, spring in (springs or {}).items())
        robot += f",\n  {key}: {{{told}}}" if told else ""
    robot += f",\n  joint_limits: {_quoted(joint_limits)}" if joint_limits else ""
    bends = bool(model.description.flexible_links)
    goal = f"<= {run.tolerance:g}"
    lines = [
        f"title: {_quoted(f'First steps of {model.description.name}')}",
        f"robot: {{{robot}}}",
        *([] if any(run.gravity) else ["gravity: [0.0, 0.0, 0.0]  # [m/s^2]"]),
        f"rate: {run.rate}  # [Hz]",
        f"duration: {run.duration}  # [s]",
        "plant:",
        f"  initial_position: {_listed(run.posture)}  # [rad | m]",
        *(["  start_in_equilibrium: true  # where the weight bends it"] if model.m or bends else []),
        *(_bending_plant(model) if bends else []),
        f"  command_mode: {run.command_mode}",
        "nodes:",
        *_node_lines(run),
        "  - executable: hardware_gate",
        f"    parameters: {{command_mode: {run.command_mode}, max_acceleration: [{run.max_acceleration}]}}",
        "figures:",
    ]
    if model.m:
        lines.append(f"  {BASE_MOTION}: {{metric: {BASE_MOTION}}}")
    metric = "tracking_error" if run.axes else "joint_tracking_error"
    lines.append(f'  tracking: {{metric: {metric}, goal: "{goal}"}}')
    return "\n".join([*lines, '  watchdog_stops: {metric: watchdog_stops, goal: "== 0"}', ""])


def _bending_plant(model: ArmModel) -> list[str]:
    step = 0.00025
    while step > 1e-6:
        try:
            make_backend("flexible_dynamics", model.description, tool_frame=model.tool_frame, max_step=step)
        except ConfigError:
            step /= 2.0
        else:
            break
    return ["  backend: flexible_dynamics", f"  max_step: {step:.3g}  # [s] what the stiffest mode allows"]


def _node_lines(run: FirstRun) -> list[str]:
    reference = "  - executable: reference_generator"
    if not run.axes:
        lines = [
            reference,
            f"    parameters: {{space: joints, joint_displacement: {_listed(run.displacement)}, start: 0.2,"
            f" duration: {run.time:g}}}",
        ]
        if run.stages == "joints":
            return lines
        return [
            *lines,
            "  - executable: flexible_dynamics_estimator",
            "  - executable: flexible_dynamics_controller",
            f"    parameters: {{rate: {run.rate}}}",
        ]
    lines = [
        reference,
        f"    parameters: {{displacement: {_listed(run.displacement)}, start: 0.2, duration: {run.time:g},",
        f"      axes: [{', '.join(str(axis).lower() for axis in run.axes)}]}}",
    ]
    if run.stages == "ik":
        return [
            *lines,
            "  - executable: ik_redundancy_solver",
            f"    parameters: {{source: stream, max_acceleration: [{run.max_acceleration}]}}",
        ]
    chosen = "selection: [auto], " if run.auto else ""
    damping = f"damping_ratio: {run.damping_ratio:g}" if run.damping_ratio else "vibration_damping: false"
    return [
        *lines,
        "  - executable: rns_vibration_controller",
        f"    parameters: {{law: {run.law}, {chosen}realization: {run.realization}, position_gain: 100.0,",
        f"      velocity_gain: 20.0, {damping}, rate: {run.rate}}}",
    ]


def _listed(values: np.typing.NDArray[np.float64]) -> str:
    return f"[{', '.join(repr(float(f'{value:.6g}') + 0.0) for value in values)}]"


def _quoted(text: str) -> str:
    """Quote a text unless every reader of YAML takes it for this text, as none, ``on`` and ``1e3`` are not."""
    plain = re.fullmatch(r"(\.{0,2}/|[^\W\d])[\w./ -]*", text, flags=re.ASCII) and yaml.safe_load(text) == text
    return text if plain else yaml.safe_dump(text, default_style='"', width=np.inf, allow_unicode=True).strip()
