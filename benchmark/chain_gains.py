"""The check of gains over the whole chain on random chains: what it decides, against nonlinear runs of the real chain.

Arms of the usual kinds, on bases that give way or not, with links that bend, rotors, estimator, torque loop, friction
and delays of 0 to 2 samples, get gains from too soft to too hard. The stages' own checks are off. A chain that the
check accepts is run after a blow on the motors, without dry friction: no motion may grow. One that it refuses is run
with the viscous friction that the check names, with the gains as they are and with all of them raised by the margin,
and with a blow at rest and one as it starts: in one of these runs a motion must grow. Accepted chains with dry
friction are also run with it, and counted apart: a torque loop that is stable in the small may chatter after a blow
that sets it going. `chain_gains.py [CHAINS [FIRST_SEED]]`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "support"))

import numpy as np
import random_arms
import table
import yaml
from random_flexible_arms import flexible_arm

from flexarm_core.errors import FlexarmError
from flexarm_core.types import ArmState, Array
from flexarm_tools.check.chain_gains import MARGIN, check_chain, held, with_gains
from flexarm_tools.metrics.figures import Figure, parse_goal
from flexarm_tools.run.in_process import ProcessRun
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import Scenario

CHAINS = 300
RATES = (200.0, 250.0)  # [Hz]
DURATION, BLOW, PAST = 4.0, 0.6, 0.05  # [s] of a run, when its blow begins, and how long it lasts
START = 0.02  # [s] a blow while estimators still settle, which throws some refused chains to their limits
SEEN, LONGEST = 3.0, 40.0  # a run lasts as long as a refused motion needs to grow by exp(3), at most so long [s]
FAR = 100.0  # times the rates that a blow gives to the joints
GROWN = 1.3  # ratio of the rates at the end of a run to those soon after the blow
SIGNALS = (
    "joint_position",
    "joint_velocity",
    "joint_effort",
    "deflection",
    "deflection_rate",
    "strain",
    "wrench",
    "imu",
)
WRENCH = "".join(f'<state_interface name="{kind}.{axis}"/>' for kind in ("force", "torque") for axis in "xyz")
IMU = "".join(
    f'<state_interface name="{kind}.{axis}"/>' for kind in ("angular_velocity", "linear_acceleration") for axis in "xyz"
)


def random_chain(seed: int, folder: Path) -> Scenario:
    """A chain, with its robot and scenario in a folder."""
    rng = np.random.default_rng([seed, 36])
    kind = ("law", "law", "both", "friction", "bending")[seed % 5]
    rate, late = float(rng.choice(RATES)), int(rng.integers(0, 3))
    plant: dict[str, Any] = {"backend": "mujoco", "segments": 3, "max_step": 0.00025}
    if late:
        plant["sensors"] = {signal: {"delay": late / rate} for signal in SIGNALS}
    gravity = [0.0, 0.0, 0.0]
    if kind == "bending":
        text, position, nodes = _bending(rng)
        plant["backend"] = "flexible_dynamics"
    else:
        arm = (random_arms._planar, random_arms._six, random_arms._seven, random_arms._gantry)[rng.integers(4)](rng)
        if kind != "friction":
            chosen = sorted(rng.choice(6, int(rng.integers(1, 3)), replace=False))
            arm.base = {
                random_arms.DIRECTIONS[i]: (float(rng.uniform(1.5, 8.0)), float(rng.uniform(0.003, 0.03)))
                for i in chosen
            }
            while len(arm.links) < len(arm.base):
                arm.links.append(random_arms.Link("revolute", "y", (0.2, 0.0, 0.0), 1.0))
        elif rng.random() < 0.5:
            gravity = [0.0, 0.0, -9.81]
        text = _equipped(random_arms.urdf(arm, rng), rng)
        position = [
            float(rng.uniform(max(link.lower, -1.5) + 0.1, min(link.upper, 1.5) - 0.1))
            if link.kind != "prismatic" else 0.5 * (link.lower + link.upper)
            for link in arm.links
        ]  # fmt: skip
        nodes = _stages(kind, rng, rate, plant, len(arm.links), text)
    path = folder / f"chain_{seed}.urdf"
    path.write_text(text, encoding="utf-8")
    mode = plant.get("command_mode", "effort")
    nodes.append({"executable": "hardware_gate", "parameters": {"command_mode": mode, "max_acceleration": [1e4]}})
    content = {
        "title": f"chain {seed}", "robot": {"description": str(path)}, "gravity": gravity, "mode": "lockstep",
        "rate": rate, "duration": DURATION, "plant": plant | {"initial_position": [float(q) for q in position]},
        "nodes": nodes,
    }  # fmt: skip
    file = folder / f"chain_{seed}.yaml"
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    return load_scenario(file)


def _equipped(text: str, rng: np.random.Generator) -> str:
    """The robot with rotors, or not, and with a force/torque sensor and an IMU on the link that carries the arm."""
    robot = ElementTree.fromstring(text)
    control, inertia = "", 10.0 ** rng.uniform(-2.0, 0.3) if rng.random() < 0.5 else 0.0
    for joint in robot.findall("joint"):
        if joint.get("name", "").startswith("joint_"):
            control += (
                f'<joint name="{joint.get("name")}"><command_interface name="effort"/>'
                f'<param name="armature">{inertia:.4g}</param></joint>'
            )
    for name, interfaces in (("base_ft_sensor", WRENCH), ("base_imu", IMU)):
        control += f'<sensor name="{name}"><param name="frame_id">mount</param>{interfaces}</sensor>'
    if not any(link.get("name") == "mount" for link in robot.findall("link")):
        raise ValueError("a robot without a mount")
    robot.append(ElementTree.fromstring(f'<ros2_control name="arm" type="system">{control}</ros2_control>'))
    return ElementTree.tostring(robot, encoding="unicode")


def _stages(
    kind: str, rng: np.random.Generator, rate: float, plant: dict[str, Any], joints: int, text: str
) -> list[dict[str, Any]]:
    """The stages of a chain of a rigid arm; sets friction and drives of the plant."""
    nodes: list[dict[str, Any]] = []
    servo = float(10.0 ** rng.uniform(0.8, np.log10(0.6 * rate)))
    limits = [
        float(joint.find("limit").get("effort"))  # type: ignore[union-attr, arg-type]
        for joint in ElementTree.fromstring(text).findall("joint")
        if joint.get("name", "").startswith("joint_")
    ]
    estimated = kind != "friction" and rng.random() < 0.5
    if kind in ("law", "both"):
        if estimated:
            inertial = bool(rng.random() < 0.5)
            parameters = {"use_imu": True, "use_deflection": False} if inertial else {"use_deflection": True}
            nodes.append({"executable": "flexible_dynamics_estimator", "parameters": parameters})
        law = {
            "law": str(rng.choice(["reactionless", "torque", "resolved_acceleration"])), "task": "hold",
            "realization": "joint_servo" if kind == "both" or rng.random() < 0.8 else "computed_torque",
            "base_state_source": "flexible_state" if estimated else "joint_states", "check_gains": False,
            "position_gain": 100.0, "velocity_gain": 20.0, "servo_position_gain": servo**2,
            "servo_velocity_gain": 2.0 * servo, "damping_ratio": float(10.0 ** rng.uniform(-1.0, 0.3)),
            "joint_damping": 1.0, "vibration_damping": bool(rng.random() < 0.8),
        }  # fmt: skip
        if law["law"] == "resolved_acceleration":
            law["vibration_damping"] = False
        if kind == "law" and law["realization"] == "joint_servo" and rng.random() < 0.3:
            plant["command_mode"] = "velocity"
        nodes.append({"executable": "rns_vibration_controller", "parameters": law})
    else:
        nodes.append(_resting(joints))
    if kind in ("both", "friction"):
        loop = {
            "torque_bandwidth": float(10.0 ** rng.uniform(1.3, np.log10(1.5 * rate))), "max_friction": 0.5,
            "velocity_bandwidth": 1000.0, "base_motion": ("flexible_state" if estimated else "joint_states")
            if kind == "both" else "none", "position_gain": servo**2, "velocity_gain": 2.0 * servo,
        }  # fmt: skip
        nodes.append({"executable": "base_wrench_torque_estimator", "parameters": loop})
        if rng.random() < 0.6:
            share = float(rng.uniform(0.01, 0.1))
            plant["friction"] = {
                "coulomb": [share * limit for limit in limits], "viscous": [0.02 * share * limit for limit in limits]
            }  # fmt: skip
    return nodes


def _bending(rng: np.random.Generator) -> tuple[str, list[float], list[dict[str, Any]]]:
    """An arm with links that bend, its estimator and controller."""
    arm = flexible_arm(int(rng.integers(1_000_000)))
    servo = float(10.0 ** rng.uniform(0.5, 2.2))
    law = str(rng.choice(["joint_pd", "vibration_damping"]))
    controller = {
        "law": law, "position_gain": servo**2, "velocity_gain": 2.0 * servo, "check_gains": False,
        "effort_weight": float(10.0 ** rng.uniform(-3.0, 1.0)),
    }  # fmt: skip
    nodes = [_resting(len(arm.position))]
    if law != "joint_pd":
        nodes.append({"executable": "flexible_dynamics_estimator", "parameters": {"strain_error": 0.003}})
    nodes.append({"executable": "flexible_dynamics_controller", "parameters": controller})
    return arm.urdf(), arm.position.tolist(), nodes


def _resting(joints: int) -> dict[str, Any]:
    """A stage that has the joints stay."""
    parameters = {"space": "joints", "joint_displacement": [0.1] * joints, "duration": 1.0, "start": 1000.0}
    return {"executable": "reference_generator", "parameters": parameters}


def blow_of(scenario: Scenario, run: ProcessRun, strength: float) -> Array:
    """A blow on the motors that gives the joints a share of their largest velocity; with dry friction on the first."""
    model, sides = run.model, np.resize((1.0, -0.7), run.model.n)
    if scenario.plant.get("command_mode", "effort") == "velocity":
        return strength * model.velocity_limit * sides
    still = run.plant.state()
    rest = ArmState(0, still.position, np.zeros(model.n), np.zeros(model.m), np.zeros(model.m))
    dry = np.array(scenario.plant.get("friction.coulomb", [0.0]))
    push = model.effort_limit * (sides if not dry.any() else np.eye(model.n)[0])
    moved = np.abs(np.linalg.solve(model.blocks(rest).H_m, push)) * PAST / model.velocity_limit
    return strength * push / moved.max() + dry * np.sign(push)


def grows(scenario: Scenario, strength: float, rate_of_growth: float = np.inf, at: float = BLOW) -> str:
    """How a motion grows in a run after a blow; empty: none does.

    Args:
        scenario: the chain.
        strength: of the blow.
        rate_of_growth: at which a motion is said to grow: the run is long enough to see that [1/s].
        at: when the blow begins [s].
    """
    longer = min(max(SEEN / max(rate_of_growth, 1e-9), 0.0), LONGEST)
    scenario = replace(scenario, duration=max(DURATION, round((at + 1.0 + longer) * scenario.rate) / scenario.rate))
    run = ProcessRun(scenario)
    blow = blow_of(scenario, run, strength)
    rate, sizes = scenario.rate, []
    begin, end = round(at * rate), round((at + PAST) * rate)
    try:
        for row in range(scenario.ticks):
            command = run.answer(row)
            if run.gate.status.stops:
                return run.gate.status.reason
            state = run.plant.state()
            sizes.append(np.concatenate((state.velocity, state.deflection_rate, state.modal_rate)))
            run.plant.advance(command + blow if command is not None and begin <= row < end else command)
    except FlexarmError as error:
        return str(error)
    rates = np.array(sizes)
    half = round(0.5 * rate)
    first = float(np.sqrt(np.mean(rates[end : end + half // 10] ** 2)))
    early, late = (float(np.sqrt(np.mean(rates[a : a + half] ** 2))) for a in (end + half, len(rates) - half))
    if "friction.coulomb" in scenario.plant:  # joints that stick may move on later, to where they should be
        early = max(early, 0.3 * first)
    if np.abs(rates).max() > FAR * strength * run.model.velocity_limit.max():  # though a law may have given up since
        return f"rates of {np.abs(rates).max():.3g}"
    if late > GROWN * early or (late > 0.5 * early and late > 3.0 * first):
        return f"rates of {first:.3g}, {early:.3g} and {late:.3g}"
    return ""


def judged(seed: int, folder: Path) -> dict[str, Any]:
    """What the check decides of a chain, and whether that is wrong."""
    row: dict[str, Any] = {"seed": seed, "kind": ("law", "law", "both", "friction", "bending")[seed % 5]}
    try:
        scenario = random_chain(seed, folder)
        found = check_chain(scenario, search=False)
    except FlexarmError as error:
        return row | {"decision": "no chain", "why": str(error).splitlines()[-1][:150]}
    row |= {"growth": found.worst.growth, "frequency": found.worst.frequency, "margin": found.worst.margin,
            "slip": found.worst.slip, "stop": found.worst.stop}  # fmt: skip
    try:
        if found.stable:
            why, rubs = grows(held(scenario), 1e-2), "friction.coulomb" in scenario.plant
            dry = grows(scenario, 1e-2) if rubs else ""
            return row | {"decision": "accepted", "wrong": bool(why), "why": why, "rubs": rubs, "dry": dry}
        for margin in (1.0, MARGIN):
            raised = scenario if margin == 1.0 else with_gains(scenario, margin)
            for at in (BLOW, START):
                if why := grows(held(raised, found.worst.slip), 1e-4, found.worst.growth, at):
                    return row | {"decision": "refused", "wrong": False, "unstable": margin == 1.0, "why": why}
    except FlexarmError as error:
        return row | {"decision": "no chain", "why": str(error).splitlines()[-1][:150]}
    return row | {"decision": "refused", "wrong": True, "unstable": False}


def measure(chains: int, first: int) -> Iterator[Figure]:
    """Chains until enough are judged."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + 2 * chains):
            row = judged(seed, Path(folder))
            print(row, file=sys.stderr, flush=True)
            rows += [row] if row["decision"] != "no chain" else []
            if len(rows) == chains:
                break
    count = Counter(row["decision"] for row in rows)
    wrong = [row["seed"] for row in rows if row["wrong"]]
    unstable = sum(bool(row.get("unstable")) for row in rows)
    details = {
        **count,
        "refused_and_unstable_as_they_are": unstable,
        "wrong_seeds": ", ".join(map(str, wrong)) or "none",
    }
    details |= {f"{kind}": count for kind, count in Counter(row["kind"] for row in rows).items()}
    yield Figure(
        "gain_check_wrong", float(len(wrong)), "1", parse_goal("== 0"),
        "chains that are accepted and grow, or refused and do not, nor with 20 % more gain", details=details,
    )  # fmt: skip
    rubbing = [row for row in rows if row.get("rubs")]
    yield Figure(
        "dry_friction_chatters", float(sum(bool(row["dry"]) for row in rubbing)), "1", None,
        f"of {len(rubbing)} accepted chains with dry friction, after a blow",
    )  # fmt: skip
    yield Figure("chains", float(len(rows)), "1", parse_goal(f">= {chains}"), "random chains that were judged")


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    chains, first = (*given, *(CHAINS, 0)[len(given) :])[:2]
    sys.exit(table.run("chain_gains", (partial(measure, chains, first),)))
