"""The check of gains over the whole chain: against the exact linear loop, and by what it says of scenarios."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexarm_core.errors import ConfigError
from flexarm_core.reaction_null_space.stability.sampled_model import SampledModel
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.robot.arm_model import ArmModel
from flexarm_tools.check import chain_gains
from flexarm_tools.check.chain_gains import check_chain, check_file, held, least_stable, with_gains
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import Scenario

CONFIG = Path(__file__).resolve().parents[2] / "config"
RATE = 250.0  # [Hz]
LAW, TORQUES = "rns_vibration_controller", "base_wrench_torque_estimator"
SIGNALS = ("joint_position", "joint_velocity", "deflection", "deflection_rate")
OFF = CONFIG / "boom_7r" / "scenarios" / "inspect_null_space_off.yaml"


def changed(scenario: Scenario, stage: str, **parameters: Any) -> Scenario:
    """The scenario with other parameters of a stage."""
    nodes = (
        replace(node, parameters={**node.parameters, **parameters}) if node.executable == stage else node
        for node in scenario.nodes
    )
    return replace(scenario, nodes=tuple(nodes))


def planar(bandwidth: float, late: int = 0) -> tuple[Scenario, dict[str, Any]]:
    """Planar arm under servos of a bandwidth [rad/s], with sensors late by some samples, and what its law has."""
    law = {
        "law": "reactionless", "task": "hold", "realization": "joint_servo", "position_gain": 100.0,
        "velocity_gain": 20.0, "servo_position_gain": bandwidth**2, "servo_velocity_gain": 2.0 * bandwidth,
        "damping_ratio": 0.4, "joint_damping": 0.4, "vibration_damping": True,
    }  # fmt: skip
    scenario = load_scenario(CONFIG / "planar_3r" / "scenarios" / "push_passive.yaml")
    delays = {f"sensors.{signal}.delay": late / RATE for signal in SIGNALS} if late else {}
    scenario = replace(scenario, rate=RATE, plant={**scenario.plant, **delays}, events=(), pushes=())
    return changed(scenario, LAW, **law, check_gains=False), law


def exact(scenario: Scenario, law: dict[str, Any], late: int) -> complex:
    """Least stable pole [1/s] of the exact sampled loop, but for what drifts."""
    model = ArmModel(scenario.robot.description, scenario.robot.tool_frame, scenario.gravity)
    posture = np.array(scenario.plant["initial_position"])
    sampling = Sampling(1.0 / RATE, late / RATE)
    loop = SampledModel(model, posture, VibrationControllerConfig(**law), BaseSelection(model, ("all",)), sampling)
    poles = np.log(loop.poles().astype(complex)) * RATE
    return complex(poles[np.abs(poles) > 1.0][0])


@pytest.mark.parametrize(
    ("bandwidth", "late"),
    [
        (40.0, 2),
        (90.0, 0),
        (90.0, 2),
        *(pytest.param(*case, marks=pytest.mark.long) for case in ((40.0, 0), (90.0, 1))),
    ],
)
def test_chain_of_law_and_plant_has_the_least_stable_pole_of_the_exact_loop(bandwidth, late):
    """A delay that is left out shows here: with 90 rad/s it makes a stable loop unstable."""
    scenario, law = planar(bandwidth, late)
    pole, found = exact(scenario, law, late), least_stable(scenario)
    assert found.stop == ""
    assert found.growth == pytest.approx(pole.real, abs=0.01 * abs(pole))
    assert found.frequency == pytest.approx(abs(pole.imag) / (2.0 * np.pi), rel=0.01)
    assert found.grows == (pole.real > 0.0)


def test_against_the_clock_a_command_acts_one_sample_later():
    """The same growth as with sensors that are late by one sample."""
    scenario, law = planar(110.0)
    found = least_stable(replace(scenario, mode="real_time"))
    assert found.growth == pytest.approx(exact(scenario, law, 1).real, rel=0.02)


def test_the_gain_to_lower_is_named_and_enough(monkeypatch):
    """Servos that are too stiff for the delay; the law's other gains are not to blame."""
    monkeypatch.setattr(chain_gains, "LONGEST", 2.0)  # [s] enough for the vibration at 23 Hz
    scenario, _ = planar(100.0, 2)
    found = check_chain(scenario)
    assert not found.stable and found.lower is not None
    assert found.lower.stage == LAW
    assert [name for name, _, _ in found.lower.values] == ["servo_position_gain", "servo_velocity_gain"]
    assert "unstable: a motion at" in found.text() and "lower servo_position_gain from 1e+04 to" in found.text()
    lowered = changed(scenario, LAW, **{name: then for name, _, then in found.lower.values})
    assert check_chain(lowered, search=False).stable


def test_gains_within_a_fifth_of_instability_are_refused(monkeypatch):
    """Stable as they are; unstable with all of them raised."""
    monkeypatch.setattr(chain_gains, "LONGEST", 2.0)  # [s]
    scenario, law = planar(55.0, 2)
    raised = law | {"servo_position_gain": (55.0 * 1.2) ** 2, "servo_velocity_gain": 2.0 * 55.0 * 1.2}
    assert exact(scenario, law, 2).real < 0.0 < exact(scenario, raised, 2).real
    found = check_chain(scenario, search=False)
    assert not found.stable and "close to instability: with all gains raised by 20 %" in found.text()


def test_gains_that_an_event_sets_are_examined(monkeypatch):
    monkeypatch.setattr(chain_gains, "LONGEST", 2.0)  # [s]
    scenario, _ = planar(30.0, 2)
    assert check_chain(scenario, search=False).stable
    event = load_scenario(CONFIG / "planar_3r" / "scenarios" / "push_damped.yaml").events[0]
    later = replace(event, parameters={"servo_position_gain": 1.2e4, "servo_velocity_gain": 220.0})
    assert not check_chain(replace(scenario, events=(later,)), search=False).stable


@pytest.mark.long
def test_the_torque_loop_of_a_boom_is_refused_where_it_chatters_and_accepted_as_it_is():
    """At 150 rad/s it drives a vibration at 169 Hz, which no base feedback damps; the scenario has less."""
    scenario = load_scenario(OFF)
    fast = least_stable(changed(scenario, TORQUES, torque_bandwidth=150.0))
    assert fast.grows and fast.frequency == pytest.approx(169.0, rel=0.02)
    assert not least_stable(scenario, 1.2).grows


def test_held_scenarios_keep_delays_and_viscous_friction_only():
    scenario = load_scenario(OFF)
    delayed = replace(scenario, plant={**scenario.plant, "sensors.wrench.delay": 0.004})
    plant, still = held(delayed).plant, held(delayed, 0.1)
    assert plant["sensors.wrench.delay"] == 0.004
    assert not [key for key in plant if key.endswith((".noise", ".resolution", ".coulomb", ".stiction"))]
    assert plant["friction.viscous"] == scenario.plant["friction.viscous"]
    more = np.array(still.plant["friction.viscous"]) - np.array(plant["friction.viscous"])
    assert more == pytest.approx(4.0 / np.pi * np.array(scenario.plant["friction.coulomb"]) / 0.1)
    reach = next(node for node in still.nodes if node.executable == "behavior_impedance_controller").parameters
    assert reach["reach.start"] == chain_gains.LATER and not (still.events or still.pushes)


def test_raised_gains_keep_the_damping_of_servos():
    scenario, law = planar(50.0)
    raised = next(node for node in with_gains(scenario, 1.2).nodes if node.executable == LAW).parameters
    assert raised["servo_position_gain"] == pytest.approx(1.44 * law["servo_position_gain"])
    assert raised["servo_velocity_gain"] == pytest.approx(1.2 * law["servo_velocity_gain"])
    assert raised["damping_ratio"] == pytest.approx(1.2 * law["damping_ratio"])


def test_a_derived_bandwidth_is_scaled_too():
    scenario = changed(load_scenario(OFF), TORQUES, torque_bandwidth=0.0)
    raised = next(node for node in with_gains(scenario, 1.2).nodes if node.executable == TORQUES).parameters
    assert raised["torque_bandwidth"] == pytest.approx(1.2 * 500.0 / 3.0)


@pytest.mark.long
def test_a_file_is_reported_and_a_sweep_is_refused(monkeypatch):
    monkeypatch.setattr(chain_gains, "LONGEST", 2.0)  # [s]
    path = CONFIG / "planar_3r" / "scenarios" / "push_passive.yaml"
    text, fine = check_file(path)
    assert fine and "push_passive: stable, also with all gains raised by 20 %" in text
    with pytest.raises(ConfigError, match="varies a scenario"):
        check_file(CONFIG / "planar_3r" / "push_robust.yaml")


@pytest.mark.parametrize("bandwidth", [200.0, 800.0, 2000.0])  # growth in truth: 100, 241 and 351 1/s
def test_a_chain_that_explodes_at_once_is_refused(bandwidth):
    """A tap grows beyond the linear range within a few samples, too few to tell a growth rate from."""
    scenario, _ = planar(bandwidth, 2)
    found = least_stable(scenario)
    assert found.grows and "grows beyond all bounds within" in found.stop


def test_a_chain_that_does_not_rest_is_refused():
    """Servos that cannot carry the weight: the arm falls, and nothing else would show that."""
    scenario, _ = planar(2.0)
    falling = replace(scenario, gravity=(0.0, -9.81, 0.0))
    found = least_stable(changed(falling, LAW, position_gain=0.0, velocity_gain=0.0, servo_position_gain=1e-3))
    assert found.grows
