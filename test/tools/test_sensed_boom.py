"""The boom that is not measured: its scenarios differ from those with measured elastic joints in the sensors alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexarm_tools.scenario.file import load_scenario

FOLDER = Path(__file__).resolve().parents[2] / "config" / "boom_7r" / "scenarios"
USES = {"imu": {"use_imu"}, "wrench": {"use_wrench"}, "both": {"use_imu", "use_wrench"}, "strain": {"use_deflection"}}
SWITCHES = ("use_imu", "use_wrench", "use_deflection")


def nodes(scenario):
    return {node.executable: dict(node.parameters) for node in scenario.nodes}


@pytest.mark.parametrize("sensor", USES)
@pytest.mark.parametrize(("end", "peer"), [("", "push_damped"), ("_real", "reactionless_real")])
def test_the_run_is_that_with_measured_joints_but_for_its_sensors(sensor, end, peer, packages):
    sensed = load_scenario(FOLDER / f"sensed_{sensor}{end}.yaml", packages)
    measured = load_scenario(FOLDER / f"{peer}.yaml", packages)
    for name in ("gravity", "rate", "duration", "pushes", "events"):
        assert getattr(sensed, name) == getattr(measured, name)
    ours, theirs = nodes(sensed), nodes(measured)
    estimator = ours.pop("flexible_dynamics_estimator")
    assert {name for name in SWITCHES if estimator.get(name, name == "use_deflection")} == USES[sensor]
    for name in ("rns_vibration_controller", "reference_generator"):
        if name in ours:
            assert ours[name].pop("base_state_source") == "flexible_state"
    assert ours["hardware_gate"]["base_state_source"] == "none"
    assert ours == theirs


def test_the_noise_is_that_of_real_sensors(packages):
    plant = load_scenario(FOLDER / "sensed_both.yaml", packages).plant
    assert plant["sensors.imu.noise"] == [0.02] * 3 + [1e-3] * 3
    assert plant["sensors.wrench.noise"] == [0.1] * 3 + [0.01] * 3
    assert plant["sensors.joint_position.resolution"] == pytest.approx(2.0 * 3.14159 / 2**20, rel=2e-3)
