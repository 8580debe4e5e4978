"""Steps 9 and 10 of `flexarm check`: rate and gains to begin with, and a scenario that is run with them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.flexible_dynamics.modal_data import ModalData
from flexarm_core.reaction_null_space.base_selection import BaseSelection
from flexarm_core.reaction_null_space.sampling import Sampling
from flexarm_core.reaction_null_space.stability import largest_stable_damping_ratio
from flexarm_core.reaction_null_space.vibration_controller import VibrationControllerConfig
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array
from flexarm_sim.backends import make_backend
from flexarm_tools.check_description import random_postures, state_at
from flexarm_tools.check_stages import soft_selection
from flexarm_tools.check_step import CheckStep, Finding
from flexarm_tools.modal_frequencies import modal_frequencies

RATES = (250.0, 500.0, 1000.0)  # [Hz]
SAMPLES_PER_PERIOD = 40  # of what the arm shall damp
LARGEST_ACCELERATION = 20.0  # [rad/s^2 | m/s^2] to begin with
POSTURES = 100  # at random, of which the scenario starts in the best
DAMPING_RATIO = 0.3  # of the base, to begin with
TRAVEL = 0.06  # of the tool, as a part of its distance from the base


@dataclass(frozen=True, slots=True)
class Start:
    """What a first run begins with.

    Attributes:
        rate: [Hz].
        max_acceleration: of every joint [rad/s^2 | m/s^2].
        posture: (n,) in which the tool moves well [rad | m].
        selection: what is kept quiet of the base; None where nothing is.
        realisation: of the accelerations, where something is.
        damping_ratio: of the base; 0 where nothing is to be damped.
    """

    rate: float
    max_acceleration: float
    posture: Array
    selection: BaseSelection | None
    realisation: str = "computed_torque"
    damping_ratio: float = 0.0


def start_steps(
    model: ArmModel, flexible: dict[str, ModalData], path: Path, arguments: dict[str, str]
) -> list[CheckStep]:
    """Rate and gains, and a scenario.

    Args:
        model: of a robot that can be simulated.
        flexible: modes of its flexible links.
        path: of its description.
        arguments: xacro arguments.
    """
    start = find_start(model, flexible)
    findings = []
    lines = [
        f"rate: {start.rate:g} Hz or more, {SAMPLES_PER_PERIOD} samples a period of the softest",
        f"max_acceleration: [{start.max_acceleration:g}], what every joint can do beside its weight, at most"
        f" {LARGEST_ACCELERATION:g}",
    ]
    if start.damping_ratio:
        lines.append(
            f"damping_ratio: {start.damping_ratio:g}, with realisation: {start.realisation};"
            " stable with 1 sample of delay"
        )
    elif start.selection is not None:
        findings.append(
            Finding("warning: no base feedback is stable with these; raise the rate, or leave vibration_damping off")
        )
    lines.append("on a real arm: rate, delay and drive of the node's parameters, whose check refuses unstable gains")
    name = f"{path.name.split('.')[0]}.yaml"
    scenario = Finding(
        f"a first run: save as {name} beside {path.name}, then `flexarm run {name}`",
        tuple(starter_scenario(model, start, bool(flexible), path.name, arguments).splitlines()),
    )
    return [
        CheckStep("Rate and gains", tuple(lines), tuple(findings)),
        CheckStep("Run", (), (scenario,), state="ready"),
    ]


def find_start(model: ArmModel, flexible: dict[str, ModalData]) -> Start:
    """Rate, limits, posture and base feedback to begin with."""
    selection = soft_selection(model)
    postures = random_postures(model, POSTURES)
    room = LARGEST_ACCELERATION
    for q in postures:
        blocks = model.blocks(state_at(model, q))
        room = min(room, float(((model.effort_limit - np.abs(blocks.c_m)) / np.diag(blocks.H_m)).min()))
    best = max(postures, key=lambda q: _quality(model, selection, q))
    fastest = [f for data in flexible.values() for f in modal_frequencies(data)[0][:1]]
    if selection is not None:
        base = np.sort(model.natural_frequencies(state_at(model, best))) / (2.0 * np.pi)
        fastest.append(base[selection.count - 1])
    wanted = SAMPLES_PER_PERIOD * max(fastest, default=0.0)
    rate = next((rate for rate in RATES if rate >= wanted), RATES[-1])
    start = Start(rate, _rounded_down(max(room, 0.1)), np.round(best, 2), selection)
    return start if selection is None else _with_damping(model, start, selection)


def starter_scenario(model: ArmModel, start: Start, bends: bool, description: str, arguments: dict[str, str]) -> str:
    """Text of a scenario that moves the tool a little, and the joints of an arm whose links bend.

    Args:
        model: of the robot.
        start: what to begin with.
        bends: whether it has flexible links.
        description: file name of its description.
        arguments: xacro arguments.
    """
    given = f", arguments: {{{', '.join(f'{key}: {value}' for key, value in arguments.items())}}}" if arguments else ""
    mode = "effort" if bends or start.selection is not None else "position"
    lines = [
        f"title: First steps of {model.description.name}",
        f"robot: {{description: {description}, tool_frame: {model.tool_frame}{given}}}",
        f"rate: {start.rate}  # [Hz]",
        "duration: 4.0  # [s]",
        "plant:",
        f"  initial_position: [{', '.join(f'{q:g}' for q in start.posture)}]  # [rad | m]",
        *_plant_lines(model, bends, mode),
        "nodes:",
        *_node_lines(model, start, bends),
        "  - executable: hardware_gate",
        f"    parameters: {{command_mode: {mode}, max_acceleration: [{start.max_acceleration}]}}",
        "figures:",
    ]
    if model.m:
        lines.append("  peak_base_energy_root: {metric: peak_base_energy_root}")
    lines.append(f"  tracking_error: {{metric: {'joint_tracking_error' if bends else 'tracking_error'}}}")
    return "\n".join([*lines, '  watchdog_stops: {metric: watchdog_stops, goal: "== 0"}', ""])


def _plant_lines(model: ArmModel, bends: bool, mode: str) -> list[str]:
    if not bends:
        return [f"  command_mode: {mode}"]
    step = 0.00025
    while step > 1e-6:
        try:
            make_backend("flexible_dynamics", model.description, tool_frame=model.tool_frame, max_step=step)
        except ConfigError:
            step /= 2.0
        else:
            break
    return ["  backend: flexible_dynamics", f"  max_step: {step:.3g}  # [s] what the stiffest mode allows"]


def _node_lines(model: ArmModel, start: Start, bends: bool) -> list[str]:
    if bends:
        moves = ", ".join(["0.2"] * model.n)
        return [
            "  - executable: reference_generator",
            f"    parameters: {{space: joints, joint_displacement: [{moves}], start: 0.2, duration: 2.0}}",
            "  - executable: flexible_dynamics_estimator",
            "    parameters: {sensor_wait: 1.0}  # [s] in lockstep",
            "  - executable: flexible_dynamics_controller",
            f"    parameters: {{rate: {start.rate}}}",
        ]
    rest = "true, true, true" if start.selection is None and model.n >= 6 else "false, false, false"
    reach = float(np.linalg.norm(model.tool_kinematics(state_at(model, start.posture), model.base_frame).position))
    lines = [
        "  - executable: reference_generator",
        f"    parameters: {{displacement: [0.0, {TRAVEL * reach:.2g}, 0.0], start: 0.2, duration: 2.0,",
        f"      axes: [true, true, true, {rest}]}}",
    ]
    if start.selection is None:
        return [
            *lines,
            "  - executable: ik_redundancy_solver",
            f"    parameters: {{source: stream, max_acceleration: [{start.max_acceleration}]}}",
        ]
    chosen = "selection: [auto], " if start.selection.count < model.m else ""
    damping = f"damping_ratio: {start.damping_ratio:g}" if start.damping_ratio else "vibration_damping: false"
    return [
        *lines,
        "  - executable: rns_vibration_controller",
        f"    parameters: {{law: reactionless, {chosen}realisation: {start.realisation}, position_gain: 100.0,",
        f"      velocity_gain: 20.0, {damping}, rate: {start.rate}}}",
    ]


def _quality(model: ArmModel, selection: BaseSelection | None, q: Array) -> float:
    """Smallest singular value of the tool's translation, of what leaves the base quiet; 0 below the base link."""
    state = state_at(model, q)
    kinematics = model.tool_kinematics(state, model.base_frame)
    if kinematics.position[2] < 0.0:
        return 0.0
    J = kinematics.J_m[:3]
    if selection is None and model.n >= 6:  # the whole pose; turning counts by the tool's distance
        J = np.vstack((J, kinematics.J_m[3:] * np.linalg.norm(kinematics.position)))
    if selection is not None:
        A = selection.at(model.blocks(state), DAMPING_RATIO, 0.0).coupling
        J = J @ (np.eye(model.n) - np.linalg.pinv(A) @ A)
    moved = np.linalg.svd(J, compute_uv=False)
    return float(moved[min(len(J), model.n - (selection.count if selection else 0)) - 1])


def _with_damping(model: ArmModel, start: Start, selection: BaseSelection) -> Start:
    """The realisation and the damping ratio that the check of the gains accepts, half of what it would at most."""
    sampling = Sampling(period=1.0 / start.rate, delay=1.0 / start.rate)
    ways = ("computed_torque", "joint_servo") if selection.count == model.m else ("joint_servo",)
    for realisation in ways:
        config = VibrationControllerConfig(
            task="hold", realisation=realisation, position_gain=100.0, velocity_gain=20.0, damping_ratio=DAMPING_RATIO
        )
        largest = largest_stable_damping_ratio(model, start.posture, config, selection, sampling)
        if largest > 0.0:
            ratio = _rounded_down(min(DAMPING_RATIO, 0.5 * largest))
            return replace(start, realisation=realisation, damping_ratio=ratio)
    return replace(start, realisation=ways[-1])


def _rounded_down(value: float) -> float:
    """Two significant digits, downwards."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.floor(value / unit) * unit:.2g}")
