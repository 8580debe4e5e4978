"""Scenario files that vary another one: the whole is that of both, and every mistake is reported where it is."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from flexarm_core.errors import ConfigError
from flexarm_tools.run.launch_request import LaunchRequest, requested_scenario
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import Scenario
from flexarm_tools.scenario.study import is_study, load_study

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "scenario.md").read_text(encoding="utf-8")
HEAD = "base: base.yaml\n"
BASE = """\
title: A run
robot:
  description: package://flexarm/urdf/flexible_2r.urdf.xacro
  arguments: {payload: 1.0, stiffness_scale: 2.0}
gravity: [0.0, 0.0, 0.0]
duration: 6.0
plant: {backend: mujoco, sensors: {imu: {noise: 1e-3}, strain: {noise: '1e-3'}}}
nodes:
  - executable: reference_generator
    parameters: {displacement: [-0.3, 0.0, 0.0], angle: !degrees 90}
    remappings: {joint_reference: wanted}
  - executable: flexible_dynamics_controller
    parameters: {gain: 1.0, filter: {order: 2, corner: 30.0}}
  - executable: hardware_gate
pushes:
  - {link: payload, start: 1.0, duration: 0.1, force: [30.0, 0.0, 0.0]}
events:
  - {at: 3.0, node: flexible_dynamics_controller, set: {gain: 2.0}}
figures:
  error: {metric: tracking_error, after: 1.0, goal: "<= 1e-5"}
  effort: {metric: peak_effort}
"""

Variation = Callable[..., Scenario]


@pytest.fixture
def vary(tmp_path: Path, packages) -> Variation:
    """Load what is laid over the file above; others by name."""

    def load(text: str, base: str = BASE, **others: str) -> Scenario:
        for name, content in {"base": base, **others, "variant": HEAD + text}.items():
            (tmp_path / f"{name}.yaml").write_text(content, encoding="utf-8")
        return load_scenario(tmp_path / "variant.yaml", packages)

    return load


def problems(vary: Variation, *texts: str, **others: str) -> list[tuple[str, int, str, str]]:
    """Name of the file, line, key and message of everything that is wrong."""
    with pytest.raises(ConfigError) as error:
        vary(*texts, **others)
    lines = str(error.value).splitlines()[1:]
    found = [re.fullmatch(r"\s*\S*?(\w+)\.yaml:(\d+): (?:([\w\[\].-]+): )?(.*)", line).groups() for line in lines]
    return [(file, int(line), key, message) for file, line, key, message in found]


def content(scenario: Scenario) -> dict[str, object]:
    """What a scenario says, without where it stands."""
    robot = (scenario.robot.path.resolve(), scenario.robot.arguments, scenario.robot.tool_frame)
    names = [field.name for field in dataclasses.fields(scenario) if field.name not in ("path", "source", "robot")]
    return {"robot": robot} | {name: getattr(scenario, name) for name in names}


def test_a_file_that_changes_nothing_is_its_base(vary, tmp_path, packages):
    scenario = vary("")
    assert content(scenario) == content(load_scenario(tmp_path / "base.yaml", packages))
    assert scenario.path == tmp_path / "variant.yaml"


def test_mappings_are_merged_and_other_values_replaced(vary):
    scenario = vary(
        "title: Another\nrobot: {arguments: {payload: 1.5}}\nplant: {sensors: {imu: {noise: 0.5}}, max_step: 1e-4}\n"
        "pushes:\n  - {link: tool0, start: 2.0, duration: 0.5, torque: [0.0, 0.0, 1.0]}\n"
        'figures: {error: {goal: "<= 1e-2"}, rms: {metric: tracking_error_rms}}\n'
    )
    assert (scenario.title, scenario.duration) == ("Another", 6.0)
    assert scenario.robot.arguments == {"payload": "1.5", "stiffness_scale": "2.0"}
    assert scenario.plant == {
        "backend": "mujoco",
        "sensors.imu.noise": 0.5,
        "sensors.strain.noise": "1e-3",
        "max_step": 1e-4,
    }
    assert [push.link for push in scenario.pushes] == ["tool0"]
    assert [figure.name for figure in scenario.figures] == ["error", "effort", "rms"]
    assert (scenario.figures[0].metric, scenario.figures[0].options.after) == ("tracking_error", 1.0)
    assert scenario.figures[0].goal.bound == 1e-2


def test_an_empty_value_deletes_what_the_base_says(vary):
    scenario = vary(
        "gravity: ~\npushes:\nevents: ~\nfigures: {effort: ~, error: {after: ~, goal: ~}}\n"
        "nodes:\n  - {executable: reference_generator, parameters: {angle: ~}, remappings: ~}\n"
    )
    assert scenario.gravity == (0.0, 0.0, -9.81)
    assert scenario.pushes == scenario.events == ()
    (error,) = scenario.figures
    assert (error.name, error.options.after, error.goal) == ("error", 0.0, None)
    assert scenario.nodes[0].parameters == {"displacement": [-0.3, 0.0, 0.0]}
    assert scenario.nodes[0].remappings == {}


def test_nodes_are_merged_by_executable_and_keep_their_order(vary):
    scenario = vary(
        "nodes:\n  - {executable: flexarm/hardware_gate, parameters: {command_mode: effort}}\n"
        "  - {executable: my_package/extra}\n"
        "  - {executable: flexible_dynamics_estimator, before: flexible_dynamics_controller}\n"
        "  - executable: flexible_dynamics_controller\n    parameters: {filter: {corner: 50.0}}\n"
        "    remappings: {joint_reference: wanted}\n"
    )
    assert [node.name for node in scenario.nodes] == [
        *("reference_generator", "flexible_dynamics_estimator", "flexible_dynamics_controller"),
        *("hardware_gate", "extra"),
    ]
    controller, gate = scenario.nodes[2:4]
    assert controller.parameters == {"gain": 1.0, "filter.order": 2, "filter.corner": 50.0}
    assert controller.remappings == {"joint_reference": "wanted"}
    assert gate.parameters == {"command_mode": "effort"}


def test_a_node_is_left_out_or_moved(vary):
    scenario = vary(
        "nodes:\n  - {executable: reference_generator, remove: true}\n"
        "  - {executable: hardware_gate, before: flexible_dynamics_controller}\n"
    )
    assert [node.name for node in scenario.nodes] == ["hardware_gate", "flexible_dynamics_controller"]


TWICE = BASE.replace("  - executable: hardware_gate\n", "  - {executable: reference_generator, name: second}\n")


def test_a_name_tells_nodes_of_one_executable_apart(vary):
    both = "nodes:\n  - {executable: reference_generator, name: second, parameters: {a: 2}}\n"
    scenario = vary(both + "  - {executable: reference_generator, name: third, before: second}\n", TWICE)
    names = ["reference_generator", "flexible_dynamics_controller", "third", "second"]
    assert [node.name for node in scenario.nodes] == names
    assert scenario.nodes[3].parameters == {"a": 2}
    assert "a" not in scenario.nodes[0].parameters
    scenario = vary("nodes:\n  - {executable: reference_generator, parameters: {a: 2}}\n", TWICE)
    assert (scenario.nodes[0].parameters["a"], scenario.nodes[2].parameters) == (2, {})


def test_a_base_may_have_a_base(vary):
    middle = "base: bottom.yaml\nduration: 5.0\nnodes: [{executable: hardware_gate, parameters: {a: 1}}]\n"
    top = "title: Top\nnodes: [{executable: hardware_gate, parameters: {b: 2}}, {executable: my_package/extra}]\n"
    scenario = vary(top, middle, bottom=BASE)
    assert (scenario.title, scenario.duration, len(scenario.nodes)) == ("Top", 5.0, 4)
    assert scenario.nodes[2].parameters == {"a": 1, "b": 2}
    assert scenario.source.startswith("# variant.yaml laid over base.yaml laid over bottom.yaml\n")


def test_the_source_is_a_scenario_that_says_the_same_alone(vary, tmp_path, packages):
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "arm.xacro").symlink_to(ROOT / "urdf" / "flexible_2r.urdf.xacro")
    base = BASE.replace("package://flexarm/urdf/flexible_2r.urdf.xacro", "arm.xacro")
    (tmp_path / "below" / "low.yaml").write_text(base, encoding="utf-8")
    scenario = vary(
        "title: 'Größe: a > b'\ngravity: ~\nplant: {sensors: {imu: ~}}\nnodes:\n"
        "  - {executable: reference_generator, parameters: {angle: !degrees 45}}\n"
        "  - {executable: my_package/extra, parameters: &same {small: 1e-7, word: '1e-7'}, before: hardware_gate}\n"
        "  - {executable: hardware_gate, parameters: *same}\n",
        "base: below/low.yaml\n",
    )
    assert "base:" not in scenario.source
    (tmp_path / "alone.yaml").write_text(scenario.source, encoding="utf-8")
    (tmp_path / "base.yaml").unlink()
    assert content(load_scenario(tmp_path / "alone.yaml", packages)) == content(scenario)
    assert scenario.nodes[0].parameters["angle"] == pytest.approx(0.7853981633974483, abs=0.0)
    assert scenario.nodes[2].parameters == scenario.nodes[3].parameters == {"small": 1e-7, "word": "1e-7"}


def test_a_base_is_found_in_a_package(tmp_path, packages):
    path = tmp_path / "variant.yaml"
    path.write_text("base: package://flexarm/config/planar_3r/scenarios/combined.yaml\nduration: 7.0\n")
    assert load_scenario(path, packages).ticks == 7000


def test_the_example_in_the_page_varies_the_scenario_that_it_names(tmp_path, packages):
    example = re.search(r"```yaml\n(base: combined.*?)```", PAGE, re.DOTALL)[1]
    folder = ROOT / "config/planar_3r/scenarios"
    (tmp_path / "combined.yaml").write_text((folder / "combined.yaml").read_text("utf-8"), encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(example, encoding="utf-8")
    base, scenario = (load_scenario(tmp_path / name, packages) for name in ("combined.yaml", "mine.yaml"))
    assert [node.name for node in scenario.nodes] == ["my_reference", "rns_vibration_controller", "hardware_gate"]
    changed = {**base.nodes[1].parameters, "damping_ratio": 0.3}
    del changed["joint_damping"]
    assert scenario.nodes[1].parameters == changed
    assert base.pushes and not scenario.pushes
    assert {figure.name for figure in base.figures} - {figure.name for figure in scenario.figures} == {"tracking_error"}


def test_a_launch_file_and_a_study_take_it_as_any_other(vary, tmp_path, packages):
    vary("mode: real_time\n")
    assert requested_scenario(LaunchRequest(str(tmp_path / "variant.yaml")), packages).mode == "real_time"
    (tmp_path / "study.yaml").write_text("title: Both\nruns: {a: base.yaml, b: variant.yaml}\n", encoding="utf-8")
    assert not is_study(tmp_path / "variant.yaml")
    modes = [scenario.mode for scenario in load_study(tmp_path / "study.yaml", packages).scenarios.values()]
    assert modes == ["lockstep", "real_time"]


@pytest.mark.parametrize(
    ("text", "line", "key", "message"),
    [
        ("duration: -1\n", 2, "duration", "expected number > 0 [s], got '-1'"),
        ("titel: A\n", 2, "titel", "unknown key 'titel'; did you mean 'title'?"),
        ("rate: ~\n", 2, "rate", "deletes nothing: the base has no such key; "),
        ("figures:\n  eror: ~\n", 3, "figures.eror", "no such key; did you mean 'error'? its keys: error, effort"),
        ("figures:\n  error: {metric: ~}\n", 3, "figures.error.metric", "is missing: expected text"),
        ("base: base.yaml\n", 2, "base", "duplicate key, first given in line 1"),
        ("title: A\ntitle: B\n", 3, "title", "duplicate key, first given in line 2"),
        ("nodes:\n  - {name: a}\n", 3, "nodes[0].executable", "is missing: expected text"),
        ("nodes:\n  - gate\n", 3, "nodes[0]", "expected a mapping with the keys executable, name, "),
        (
            "nodes:\n  - executable: hardware_gate\n    paramters: {a: 1}\n",
            *(4, "nodes[0].paramters", "unknown key 'paramters'; did you mean 'parameters'? "),
        ),
        (
            "nodes:\n  - executable: hardware_gate\n    parameters: {a: [1, x]}\n",
            *(4, "nodes[0].parameters.a", "a ROS parameter list holds one type"),
        ),
        (
            "nodes:\n  - {executable: my_package/a, before: reference_generator}\n  - {executable: hardware_gaet}\n",
            *(4, "nodes[1].executable", "package 'flexarm' has no executable 'hardware_gaet'; did you mean"),
        ),
        (
            "nodes:\n  - {executable: hardware_gaet, remove: true}\n",
            *(3, "nodes[0].remove", "the base has no such node; did you mean 'hardware_gate'? nodes: reference_gen"),
        ),
        (
            "nodes:\n  - {executable: hardware_gate, before: reference}\n",
            *(3, "nodes[0].before", "node 'reference' is not in this run; "),
        ),
        (
            "nodes:\n  - {executable: hardware_gate, remove: true}\n  - {executable: hardware_gate}\n",
            *(4, "nodes[1]", "changes the same node of the base as nodes[0]"),
        ),
        ("nodes: []\nevents: ~\nfigures: {a: {metric: x}}\n", 4, "figures.a.metric", "metric 'x' does not exist; "),
    ],
)
def test_a_mistake_in_a_variation_is_reported_in_its_own_file(vary, text, line, key, message):
    ((file, *where, said),) = problems(vary, text)
    assert (file, *where) == ("variant", line, key)
    assert message in said
    assert "base of" not in said


@pytest.mark.parametrize(
    ("text", "old", "new", "line", "key", "message"),
    [
        ("title: B\n", "gravity: [0.0, 0.0, 0.0]", "gravity: [0.0]", 5, "gravity", "expected three numbers"),
        ("duration: 4.0\n", "at: 3.0", "at: 5.0", 18, "events[0].at", "5 s is not within the run of 4 s"),
        (
            "nodes:\n  - {executable: my_package/extra, before: reference_generator}\n",
            *("gain: 1.0", "gain: ~", 13, "nodes[1].parameters.gain", "has no value"),
        ),
        (
            "nodes:\n  - {executable: flexible_dynamics_controller, parameters: {a: 1}}\n",
            *("gain: 1.0", "gain: ~", 13, "nodes[1].parameters.gain", "has no value"),
        ),
        (
            "nodes:\n  - {executable: flexible_dynamics_controller, parameters: {gain: 2.0}}\n",
            *("gain: 1.0", "gain: 1.0, gain: 2.0", 13, "nodes[1].parameters.gain", "duplicate key, first given in"),
        ),
        (
            "nodes: [{executable: flexible_dynamics_controller, remove: true}]\n",
            *("title: A run", "title: C", 18, "events[0].node", "'flexible_dynamics_controller' is not in this run"),
        ),
        ("title: B\n", "hardware_gate\n", "hardware_gate\n    remove: true\n", 15, "nodes[2].remove", "unknown key"),
    ],
)
def test_a_mistake_in_a_base_is_reported_there_with_the_file_that_varies_it(vary, text, old, new, line, key, message):
    assert old in BASE
    ((file, *where, said),) = problems(vary, text, BASE.replace(old, new))
    assert (file, *where) == ("base", line, key)
    assert message in said
    assert re.search(r" \(base of \S*variant\.yaml\)$", said)


def test_several_nodes_of_the_base_ask_for_a_name(vary):
    base = TWICE.replace("- executable: reference_generator\n", "- executable: reference_generator\n    name: first\n")
    ((*where, message),) = problems(vary, "nodes:\n  - {executable: reference_generator}\n", base)
    assert where == ["variant", 3, "nodes[0]"]
    assert message == "the base has several nodes 'reference_generator': choose by 'name' from first, second"


def test_mistakes_of_both_files_are_reported_together_and_once_in_a_study(vary, tmp_path, packages):
    wrong = BASE.replace("gravity: [0.0, 0.0, 0.0]", "gravity: 1")
    found = problems(vary, "duration: 0.0\n", wrong)
    assert [place[:2] for place in found] == [("base", 5), ("variant", 2)]
    (tmp_path / "study.yaml").write_text("title: A\nruns: {a: base.yaml, b: variant.yaml}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"^2 problems in the study:"):
        load_study(tmp_path / "study.yaml", packages)


@pytest.mark.parametrize(
    ("base", "file", "line", "message"),
    [
        ("title: A\nbase: variant.yaml\n", "base", 2, "own base: variant.yaml -> base.yaml -> variant.yaml"),
        ("base: ./base.yaml\n", "base", 1, "a scenario cannot be its own base: base.yaml -> base.yaml"),
        ("base: missing.yaml\n", "base", 1, "missing.yaml' does not exist"),
        ("base: package://unknown_package/a.yaml\n", "base", 1, "package 'unknown_package' is not installed"),
        ("base: [a.yaml]\n", "base", 1, "expected a scenario file, got a list"),
        ("title: A\n  b: [\n", "base", 2, "not valid YAML"),
        ("- a\n- b\n", "base", 1, "expected the keys of a scenario, got a list"),
        ("", "base", 1, "the file is empty"),
    ],
)
def test_a_base_that_cannot_be_used_is_refused(vary, base, file, line, message):
    (found,) = problems(vary, "title: A\n", base)
    assert found[:2] == (file, line)
    assert message in found[3]
