"""Sweep files: what varies, how it is drawn, and mistakes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sweeps import CONFIG, SCENARIO, SWEEP, write_sweep

from flexarm_core.errors import ConfigError
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.tables import SWEEP_TABLES
from flexarm_tools.sweep.sweep_file import load_sweep
from flexarm_tools.yaml_file.schema import markdown_keys

ONE = """\
scenario: push.yaml
samples: 64
vary:
  x: {key: "pushes[0].force[0]", uniform: [2.0, 4.0]}
"""
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "studies.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SWEEP_TABLES)
def test_every_section_stands_in_the_page_as_in_the_schema(name):
    table = markdown_keys(SWEEP_TABLES[name])
    assert table in PAGE, f"put this table into docs/studies.md, section {name}:\n{table}"


def test_the_example_in_the_page_is_the_one_in_config(packages):
    example = re.search(r"```yaml\n(title: .*?)```", PAGE, re.DOTALL)[1]
    file = CONFIG / "planar_3r" / "push_robust.yaml"
    assert example in file.read_text(encoding="utf-8")
    assert load_sweep(file, packages).count == 200


def drawn(tmp_path, packages, *changes, count=64):
    sweep = load_sweep(write_sweep(tmp_path, *changes, text=ONE), packages)
    assert sweep.count == count
    return np.array([sweep.inputs(number)["x"] for number in range(count)])


@pytest.mark.parametrize("method", ["latin_hypercube", "sobol"])
def test_each_part_of_a_range_gets_its_share_of_the_samples(tmp_path, packages, method):
    values = drawn(tmp_path, packages, ("samples: 64", f"samples: 64\nmethod: {method}"))
    counts, _ = np.histogram(values, bins=64, range=(2.0, 4.0))
    assert np.all(counts == 1)


def test_random_samples_lie_in_the_range(tmp_path, packages):
    values = drawn(tmp_path, packages, ("samples: 64", "samples: 64\nmethod: random"))
    assert 2.0 <= values.min() < 2.5 and 3.5 < values.max() <= 4.0
    assert np.histogram(values, bins=64, range=(2.0, 4.0))[0].max() > 1


def test_a_logarithm_is_uniform_and_a_normal_input_has_its_deviation(tmp_path, packages):
    logarithm = np.log10(drawn(tmp_path, packages, ("uniform: [2.0, 4.0]", "log: [0.01, 100.0]")))
    assert np.all(np.histogram(logarithm, bins=64, range=(-2.0, 2.0))[0] == 1)
    normal = drawn(tmp_path, packages, ("uniform: [2.0, 4.0]", "normal: [3.0, 0.5]"))
    assert normal.mean() == pytest.approx(3.0, abs=0.02) and normal.std() == pytest.approx(0.5, rel=0.05)


def test_choices_are_drawn_equally_often(tmp_path, packages):
    values = drawn(tmp_path, packages, ("uniform: [2.0, 4.0]", "choice: [1.0, 2.0, 3.0, 4.0]"))
    assert [int(np.sum(values == one)) for one in (1.0, 2.0, 3.0, 4.0)] == [16] * 4


def test_grids_are_crossed_and_each_point_gets_the_same_samples_and_noise(tmp_path, packages):
    text = (
        ONE.replace("64", "3")
        + '  y: {key: rate, grid: [500.0, 1000.0]}\n  z: {key: "gravity[2]", grid: [0.0, -9.81]}\n'
    )
    sweep = load_sweep(write_sweep(tmp_path, text=text), packages)
    assert sweep.count == 12
    inputs = [sweep.inputs(number) for number in range(12)]
    assert [(one["y"], one["z"]) for one in inputs[::3]] == [
        (500.0, 0.0),
        (500.0, -9.81),
        (1000.0, 0.0),
        (1000.0, -9.81),
    ]
    assert len({one["x"] for one in inputs}) == 3
    assert inputs[1]["x"] == inputs[10]["x"] and sweep.seed(1) == sweep.seed(10) != sweep.seed(2)


def test_a_run_is_the_scenario_with_its_values(tmp_path, packages):
    sweep = load_sweep(write_sweep(tmp_path), packages)
    scenario, inputs = sweep.scenario(3, source=True), sweep.inputs(3)
    before = load_scenario(tmp_path / "push.yaml", packages)
    assert scenario.pushes[0].force == (inputs["push"], 0.0, 0.0)
    assert scenario.plant["sensors.joint_position.noise"] == [inputs["encoder"]]
    assert scenario.plant["seed"] == sweep.seed(3)
    assert scenario.nodes[0].parameters == before.nodes[0].parameters | {"damping_ratio": inputs["damping"]}
    links, plain = scenario.true_robot.description.links, before.robot.description.links
    assert links["link2"].mass == pytest.approx(plain["link2"].mass * inputs["masses"])
    assert links["link2"].inertia == pytest.approx(plain["link2"].inertia * inputs["masses"])
    assert scenario.true_robot.description.elastic[0].stiffness == pytest.approx(100.0 * inputs["spring"])
    assert scenario.robot.description.text == before.robot.description.text  # what the nodes are told stays
    (tmp_path / "played.yaml").write_text(scenario.source, encoding="utf-8")
    played = load_scenario(tmp_path / "played.yaml", packages)
    assert (played.pushes, played.plant, played.nodes) == (scenario.pushes, scenario.plant, scenario.nodes)
    assert sweep.scenario(0) != sweep.scenario(1)


def test_a_payload_hangs_on_the_tool_of_the_plant_alone(tmp_path, packages):
    text = SCENARIO + "plant_robot: {payload: 2.0, masses: {link1: 0.5}}\n"
    write_sweep(tmp_path, scenario=text)
    scenario = load_scenario(tmp_path / "push.yaml", packages)
    plant, told = scenario.true_robot.description, scenario.robot.description
    assert sum(link.mass for link in plant.links.values()) == pytest.approx(
        sum(link.mass for link in told.links.values()) + 2.0 - 0.5 * told.links["link1"].mass
    )


def test_items_of_lists_in_degrees_vary_in_radians(tmp_path, packages):
    text = ONE.replace(
        '"pushes[0].force[0]", uniform: [2.0, 4.0]', '"plant.initial_position[1]", uniform: !degrees [-70, -50]'
    )
    sweep = load_sweep(write_sweep(tmp_path, text=text), packages)
    position = sweep.scenario(5).plant["initial_position"]
    assert position[1] == pytest.approx(sweep.inputs(5)["x"]) and np.radians(-70) < position[1] < np.radians(-50)
    assert position[0] == pytest.approx(np.radians(60.0))


def test_figures_of_the_sweep_are_laid_over_those_of_the_scenario(tmp_path, packages):
    text = ONE + 'figures:\n  effort: {metric: peak_effort}\n  peak_base_deflection: {goal: "<= 7"}\n'
    sweep = load_sweep(write_sweep(tmp_path, text=text), packages)
    goals = {spec.name: spec.goal and spec.goal.text for spec in sweep.figures}
    assert goals == {"peak_base_deflection": "<= 7", "lockstep_timeouts": "== 0", "effort": None}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "plant_robot.masses.all", "plant_robt.masses.all",
            "study.yaml:5: vary.masses.key: there is no key 'plant_robt'; did you mean 'plant_robot'?",
        ),
        (
            "plant_robot.masses.all", "plant_robot.masses.link9",
            "study.yaml:5: vary.masses: with 0.9: plant_robot: masses: there is no link 'link9' with a mass; "
            "did you mean 'link3'?",
        ),
        (
            "stiffness.base_x", "stiffness.base_y",
            "study.yaml:6: vary.spring: with 0.5: plant_robot: stiffness: there is no elastic joint or drive 'base_y'; "
            "did you mean 'base_x'? valid: all, base_x",
        ),
        (
            "plant_robot.masses.all", "plant_robot.masses",
            "'plant_robot.masses' holds several values: name one, as plant_robot.masses.NAME",
        ),
        (
            "joint_position.noise", "joint_positon.noise",
            "simulated_plant has no parameter 'sensors.joint_positon.noise'; "
            "did you mean 'sensors.joint_position.noise'?",
        ),
        ("pushes[0].force[0]", "pushes[1].force[0]", "'pushes' is a list of 1: name an item, as pushes[0]"),
        ("pushes[0].force[0]", "pushes[0].force[3]", "'pushes[0].force' is a list of 3"),
        ("pushes[0].force[0]", "pushes[0].force", "'pushes[0].force' is a list of 3"),
        ("pushes[0].force[0]", "pushes[0].link", "vary.push: with 5.0: pushes[0].link: link '5.0' does not exist"),
        (
            "rns_vibration_controller.par", "rns_vibration.par",
            "'nodes' has no 'rns_vibration' in the scenario; did you mean 'rns_vibration_controller'?",
        ),
        (
            "parameters.damping_ratio", "parameters.damping_ratios",
            "has no parameter 'damping_ratios'; did you mean 'damping_ratio'?",
        ),
        ("uniform: [0.9, 1.1]", "uniform: [1.1, 0.9]", "vary.masses.uniform: the first number must be the smaller one"),
        ("uniform: [0.9, 1.1]", "uniform: [0.9]", "expected two numbers, got 1"),
        ("uniform: [0.9, 1.1]", "uniform: [a, b]", "vary.masses.uniform: expected list of numbers, got a, b"),
        (
            "uniform: [0.9, 1.1]", "uniform: [-0.9, 1.1]",
            "study.yaml:5: vary.masses: with -0.9: plant_robot.masses.all: expected number > 0, got '-0.9'",
        ),
        ("uniform: [0.9, 1.1]", "unifrom: [0.9, 1.1]", "unknown key 'unifrom'; did you mean 'uniform'?"),
        (
            "uniform: [0.9, 1.1]", "uniform: [0.9, 1.1], choice: [1.0]",
            "expected exactly one of uniform, log, normal, choice, grid",
        ),
        ("log: [0.5, 2.0]", "log: [0.0, 2.0]", "a logarithm needs numbers > 0"),
        ("normal: [5.0, 1.5]", "normal: [5.0, 0.0]", "the standard deviation must be > 0"),
        ("choice: [0.3, 0.7]", "choice: [0.3, 0.3]", "a value is given twice"),
        ("  masses: {", "  lockstep_timeouts: {", "the table has another column of this name"),
        ("samples: 6", "samples: 6.5", "samples: expected a whole number"),
        ("share: 0.5", "share: 1.5", "goals.all_hold.share: expected a share of all runs, 0 to 1"),
        ("share: 0.5", "share: 0.5, figure: peak_base_deflexion", "did you mean 'peak_base_deflection'?"),
        ("share: 0.5", 'share: 0.5, goal: "<= 3"', "whose goal?"),
        ("scenario: push.yaml", "scenario: posh.yaml", "study.yaml:1: scenario: file '"),
        ("scenario: push.yaml", "title: no scenario", "scenario: is missing"),
        ("seed: 1", "sede: 1", "unknown key 'sede'; did you mean 'seed'?"),
        ("choice: [0.3, 0.7]", "choice: [a, b]", "study.yaml:9: vary.damping: with a: damping_ratio must be double"),
        ("choice: [0.3, 0.7]", "choice: [0.3, -0.7]", "with -0.7: damping_ratio must lie in [0.0, inf]"),
        ("damping_ratio, choice: [0.3, 0.7]", "law, choice: [torque, torqe]", "with torqe: law must be one of"),
        ("masses.all, uniform: [0.9, 1.1]", "payload, choice: [heavy]", "with heavy: plant_robot.payload"),
        ("plant_robot.masses.all, uniform: [0.9, 1.1]", "plant.seed, uniform: [0.9, 1.1]", "seed must be int"),
        ("plant_robot.masses.all, uniform: [0.9, 1.1]", "plant.backend, choice: [mujoco, ode]", "must be one of"),
        (
            "plant_robot.masses.all, uniform: [0.9, 1.1]", "mode, choice: [real_time, lockstep]",
            "vary.masses.key: every run of a sweep is in lockstep",
        ),
        (
            "plant_robot.masses.all, uniform: [0.9, 1.1]", '"nodes[0].parameters.damping_ratio", choice: [0.1, 0.2]',
            "study.yaml:5: vary.masses.key: its values are lost: another variable sets the same",
        ),
        (
            "plant_robot.masses.all, uniform: [0.9, 1.1]", "nodes.hardware_gate.parameters.command_mode, choice: [x]",
            "vary.masses: with x: ",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_with_line_key_and_remedy(tmp_path, packages, old, new, message):
    with pytest.raises(ConfigError) as error:
        load_sweep(write_sweep(tmp_path, (old, new)), packages)
    assert message in str(error.value)


def test_all_mistakes_are_reported_together_those_of_the_scenario_too(tmp_path, packages):
    changes = (
        ("samples", "sampels"),
        ("masses.all", "masses.link9"),
        ("damping_ratio", "damping"),
        ("share: 0.5", "share: 2"),
    )
    with pytest.raises(ConfigError, match="4 problems in the sweep"):
        load_sweep(write_sweep(tmp_path, *changes), packages)
    scenario = SCENARIO.replace("duration: 0.15", "duration: -1").replace("title:", "titel:")
    with pytest.raises(ConfigError) as error:
        load_sweep(write_sweep(tmp_path, ("samples", "sampels"), scenario=scenario), packages)
    text = str(error.value)
    assert "push.yaml:3: duration" in text and "push.yaml:2: titel" in text and "study.yaml:2: sampels" in text


def test_only_grids_need_no_samples(tmp_path, packages):
    text = "scenario: push.yaml\nsamples: 3\nvary:\n  y: {key: rate, grid: [500.0, 1000.0]}\n"
    with pytest.raises(ConfigError, match="nothing is drawn: all that varies is a grid"):
        load_sweep(write_sweep(tmp_path, text=text), packages)
    assert load_sweep(write_sweep(tmp_path, text=text.replace("samples: 3\n", "")), packages).count == 2
    assert SWEEP.count("samples") == 1
