"""The JSON Schema of scenario and study files: what the reader accepts, editors accept, and they see plain mistakes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import fuzzing
import mutations
import numpy as np
import pytest
import yaml
from jsonschema import Draft7Validator

from flexarm_core.errors import ConfigError
from flexarm_tools.cli import run_command
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.json_schema import schema_text

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "config" / "scenario.schema.json"
SCHEMA = Draft7Validator(json.loads(schema_text()))
SCENARIO, STUDY = fuzzing.SCENARIO.decode(), fuzzing.STUDY.decode()
VARIATION = """\
base: combined.yaml
nodes:
  - {executable: reference_generator, remove: true}
  - {executable: my_package/my_reference, before: rns_vibration_controller}
  - {executable: rns_vibration_controller, parameters: {damping_ratio: 0.3, joint_damping: ~}}
pushes: ~
figures:
  final_base_deflection: {goal: "<= 2e-3"}
  tracking_error: ~
"""


class EditorLoader(yaml.SafeLoader):
    """YAML 1.2, as editors read it: 1e-5 is a number, and a day is a text."""


EditorLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$")
EditorLoader.add_implicit_resolver("tag:yaml.org,2002:float", NUMBER, list("-+.0123456789"))


def untagged(loader: EditorLoader, node: yaml.Node) -> object:
    sequence = isinstance(node, yaml.SequenceNode)
    return loader.construct_sequence(node) if sequence else loader.construct_scalar(node)


EditorLoader.add_constructor("!degrees", untagged)


def mistakes(text: str) -> list[str]:
    """Everything that an editor marks in a file."""
    return [f"{error.json_path}: {error.message}" for error in SCHEMA.iter_errors(yaml.load(text, EditorLoader))]


def shipped_files() -> list[Path]:
    every = sorted((ROOT / "config").rglob("*.yaml"))
    return [path for path in every if re.search("^(robot|base|runs):", path.read_text(encoding="utf-8"), re.MULTILINE)]


def test_it_is_a_schema_and_the_shipped_one_is_what_the_command_prints(capsys):
    Draft7Validator.check_schema(SCHEMA.schema)
    assert run_command(["schema"]) == 0
    printed = capsys.readouterr().out
    assert SHIPPED.read_text(encoding="utf-8") == printed, f"run flexarm schema > {SHIPPED.relative_to(ROOT)}"


def test_every_shipped_scenario_and_study_fits():
    assert len(shipped_files()) > 60
    for path in shipped_files():
        assert not mistakes(path.read_text(encoding="utf-8")), path


def test_what_the_tests_of_the_reader_begin_with_fits():
    assert [mistakes(text) for text in (SCENARIO, STUDY, VARIATION)] == [[], [], []]


def test_what_the_reader_accepts_fits(tmp_path, packages):
    generator, accepted = np.random.default_rng(3), 0
    path = tmp_path / "mutant.yaml"
    for _ in range(200):
        path.write_bytes(mutations.mutate_yaml(generator, fuzzing.SCENARIO))
        try:
            load_scenario(path, packages)
        except ConfigError:
            continue
        accepted += 1
        assert not mistakes(path.read_text(encoding="utf-8")), path.read_text(encoding="utf-8")
    assert accepted > 16


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (SCENARIO, "title: A run", "titel: A run"),
        (SCENARIO, "title: A run", "title:"),
        (SCENARIO, "title: A run\n", ""),
        (SCENARIO, "title: A run", "title: ' '"),
        (SCENARIO, "rate: 1000.0", "rate: fast"),
        (SCENARIO, "rate: 1000.0", "rate: 0"),
        (SCENARIO, "rate: 1000.0", "mode: loose"),
        (SCENARIO, "rate: 1000.0", "composed: 1"),
        (SCENARIO, "gravity: [0.0, 0.0, 0.0]", "gravity: [0.0, 0.0]"),
        (SCENARIO, "gravity: [0.0, 0.0, 0.0]", "gravity: [0.0, down, 0.0]"),
        (SCENARIO, "!degrees [60, -60, -60]", "[1.0, [2.0]]"),
        (SCENARIO, "!degrees [60, -60, -60]", "[1.0, x]"),
        (SCENARIO, "!degrees [60, -60, -60]", "[]"),
        (SCENARIO, "!degrees [60, -60, -60]", ""),
        (SCENARIO, "  description: package", "  path: package"),
        (SCENARIO, "    parameters: {disp", "    paramters: {disp"),
        (SCENARIO, "    parameters: {disp", "    name: 3d\n    parameters: {disp"),
        (SCENARIO, "    parameters: {disp", "    remove: true\n    parameters: {disp"),
        (SCENARIO, "    parameters: {disp", "    remappings: {a: b c}\n    parameters: {disp"),
        (SCENARIO, "    parameters: {disp", "    remappings: {a b: c}\n    parameters: {disp"),
        (SCENARIO, "start: 1.0", "start: -1.0"),
        (SCENARIO, "start: 1.0, ", ""),
        (SCENARIO, "set: {vibration_damping: true}", "transition: stop"),
        (SCENARIO, "metric: peak_base", "metric: peak_bass"),
        (SCENARIO, 'goal: "<= 1e-5"', 'goal: "about 3"'),
        (SCENARIO, 'goal: "<= 1e-5"', "since: 1.0"),
        (SCENARIO, 'goal: "<= 1e-5"', "after: -1.0"),
        (SCENARIO, "  peak: {", "  peak of it: {"),
        (SCENARIO, "figures:", "expect: {stops: many}\nfigures:"),
        (SCENARIO, "figures:", "expect: {errors: []}\nfigures:"),
        (STUDY, "damped: package", "../damped: package"),
        (STUDY, "title: A study\n", ""),
        (STUDY, "title: A study", "title: A study\nrate: 3"),
        (STUDY, "figure: peak_base_deflection", "metric: peak_base_deflection"),
        (STUDY, "runs: [damped]}", "runs: damped}"),
        (VARIATION, "executable: reference_generator, remove", "name: reference_generator, remove"),
        (VARIATION, "remove: true", "remove: it"),
        (VARIATION, "damping_ratio: 0.3", "damping_ratio: []"),
        (VARIATION, 'goal: "<= 2e-3"', "gaol: 2"),
        (VARIATION, "pushes: ~", "pushes: [{link: payload}]"),
    ],
)
def test_a_mistake_is_marked(text, old, new):
    assert old in text
    assert mistakes(text.replace(old, new, 1))


def test_a_metric_takes_its_own_options_only():
    figures = "figures:\n  still: {metric: tool_settling_time, since: 1.0, threshold: 0.1}\n"
    assert not mistakes(SCENARIO.split("figures:")[0] + figures)
    assert mistakes(SCENARIO.split("figures:")[0] + figures.replace("since", "resolution"))


def test_an_editor_explains_every_key():
    properties = SCHEMA.schema["definitions"]["scenario"]["properties"]
    assert properties["duration"]["description"] == "length of the run, a whole number of ticks [s]"
    assert properties["plant_robot"]["description"].endswith("from that of the nodes; default: the robot")
    for value in properties.values():
        assert value["description"] and "](" not in value["description"]
