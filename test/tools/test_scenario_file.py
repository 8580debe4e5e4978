"""Scenario files: what they say arrives, and every mistake is reported where it is."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from flexarm_core.errors import ConfigError
from flexarm_tools.graph.packages import AmentPackages
from flexarm_tools.scenario.file import load_scenario

CONFIG = Path(__file__).resolve().parents[2] / "config"


def problems(load, *changes):
    """Lines, keys and messages of everything that is wrong after changes."""
    with pytest.raises(ConfigError) as error:
        load(*changes)
    lines = str(error.value).splitlines()[1:]
    return [re.fullmatch(r"\s*.*run\.yaml:(\d+): (?:([\w\[\].-]+): )?(.*)", line).groups() for line in lines]


def test_a_scenario_says_what_its_file_says(load):
    scenario = load()
    assert (scenario.title, scenario.rate, scenario.ticks, scenario.mode) == ("A run", 1000.0, 6000, "lockstep")
    assert scenario.robot.tool_frame == "tool0"
    assert scenario.robot.description.actuated == ("joint1", "joint2", "joint3")
    assert [node.name for node in scenario.nodes] == ["reference_generator", "rns_vibration_controller"]
    assert scenario.nodes[0].package == "flexarm"
    assert scenario.pushes[0].force == (30.0, 0.0, 0.0)
    assert scenario.events[0].parameters == {"vibration_damping": True}
    assert scenario.figures[0].goal.bound == 1e-5


def test_degrees_become_radians(load):
    assert load().plant["initial_position"] == pytest.approx([math.pi / 3, -math.pi / 3, -math.pi / 3], abs=0.0)
    scenario = load(("{displacement: [-0.3, 0.0, 0.0]}", "{angle: !degrees 90, list: [!degrees 180, 1.0]}"))
    assert scenario.nodes[0].parameters == {"angle": math.pi / 2, "list": [math.pi, 1.0]}


def test_an_angle_is_not_taken_where_no_angle_belongs(load):
    ((line, key, message),) = problems(load, ("duration: 6.0", "duration: !degrees 60"))
    assert (line, key) == ("6", "duration")
    assert message == "expected number > 0 [s], got the angle 60 deg"


def test_gravity_points_down_unless_it_is_given(load):
    assert load().gravity == (0.0, 0.0, 0.0)
    assert load(("gravity: [0.0, 0.0, 0.0]\n", "")).gravity == (0.0, 0.0, -9.81)


def test_stages_are_processes_unless_the_file_says_otherwise(load):
    assert load().composed is False
    assert load(("duration: 6.0", "duration: 6.0\ncomposed: true")).composed is True


def test_nested_parameters_get_dotted_names(load):
    scenario = load(("{displacement: [-0.3, 0.0, 0.0]}", "{a: {b: {c: 1}, d: x}}"))
    assert scenario.nodes[0].parameters == {"a.b.c": 1, "a.d": "x"}


def test_a_number_in_exponent_notation_is_a_number_and_a_quoted_one_is_text(load):
    scenario = load(("{displacement: [-0.3, 0.0, 0.0]}", "{a: 1e-5, b: '1e-5', c: [1, 2.5]}"))
    assert scenario.nodes[0].parameters == {"a": 1e-5, "b": "1e-5", "c": [1.0, 2.5]}


def test_a_robot_is_found_beside_the_scenario_file(load, tmp_path: Path, planar_3r_text: str):
    (tmp_path / "arm.urdf").write_text(planar_3r_text, encoding="utf-8")
    assert load(("package://flexarm/urdf/planar_3r.urdf.xacro", "arm.urdf")).robot.path == tmp_path / "arm.urdf"


def test_events_are_put_in_order_of_time(load):
    change = ("events:\n", "events:\n  - {at: 5.0, node: simulated_plant, kill: true}\n")
    assert [event.at for event in load(change).events] == [3.0, 5.0]


def test_an_alias_repeats_a_value(load):
    scenario = load(
        ("{displacement: [-0.3, 0.0, 0.0]}", "&same {gain: 2.0}"),
        ("parameters: {vibration_damping: false}", "parameters: *same"),
    )
    assert scenario.nodes[0].parameters == scenario.nodes[1].parameters == {"gain": 2.0}


BENDING = ("package://flexarm/urdf/planar_3r.urdf.xacro", "package://flexarm/urdf/flexible_2r.urdf.xacro")
TAIL = 'figures:\n  peak: {metric: peak_base_deflection, goal: "<= 1e-5"}\n'


def test_the_plant_is_the_robot_unless_it_is_given_another(load):
    scenario = load()
    assert scenario.plant_robot is None and scenario.true_robot is scenario.robot


def test_the_plants_robot_takes_the_robots_file_and_adds_its_own_arguments(load):
    robot = (BENDING[0], BENDING[1] + "\n  arguments: {payload: 1.0, stiffness_scale: 2.0}")
    plant = (TAIL, TAIL + "plant_robot: {arguments: {payload: 1.5}}\n")
    scenario = load(robot, plant)
    assert scenario.true_robot is scenario.plant_robot
    assert scenario.plant_robot.arguments == {"payload": "1.5", "stiffness_scale": "2.0"}
    assert scenario.plant_robot.path == scenario.robot.path and scenario.plant_robot.tool_frame == "tool0"
    told, true = scenario.robot.description, scenario.plant_robot.description
    assert (told.links["payload"].mass, true.links["payload"].mass) == (1.0, 1.5)
    beams = [robot.flexible_links["forearm"].beam for robot in (told, true)]
    assert beams[0].EIz == beams[1].EIz == 240.0


def test_the_plants_robot_may_be_another_file_that_gets_no_arguments_of_the_robot(load, tmp_path, planar_3r_text):
    (tmp_path / "soft.urdf").write_text(planar_3r_text.replace('stiffness="100.0"', 'stiffness="50.0"'))
    plant = (TAIL, TAIL + "plant_robot: {description: soft.urdf}\n")
    scenario = load((BENDING[0], BENDING[0] + "\n  arguments: {hardware: topic}"), plant)
    assert scenario.robot.description.elastic[0].stiffness == 100.0
    assert scenario.plant_robot.description.elastic[0].stiffness == 50.0


@pytest.mark.parametrize(
    ("plant", "key", "message"),
    [
        ("{description: soft.urdf}", "plant_robot.description", "soft.urdf' does not exist"),
        ("{payload: -1.0}", "plant_robot.payload", "expected number >= 0 [kg], got '-1.0'"),
        ("{mases: {all: 1.1}}", "plant_robot.mases", "unknown key 'mases'; did you mean 'masses'? valid keys:"),
        ("{masses: {all: heavy}}", "plant_robot.masses.all", "expected number > 0, got 'heavy'"),
        (
            "{masses: {link9: 1.1}}",
            "plant_robot",
            "masses: there is no link 'link9' with a mass; did you mean 'link3'?",
        ),
        ("{arguments: {hardware: [}", "", "not valid YAML"),
        (
            '{description: "package://flexarm/urdf/trep.urdf.xacro"}',
            "plant_robot",
            "its actuated joints must be those of the robot, joint1 (revolute), joint2 (revolute), joint3 (revolute)",
        ),
        (
            '{description: "package://flexarm/urdf/flexible_2r.urdf.xacro"}',
            "plant_robot",
            "its elastic joints must be those of the robot, base_x (prismatic); it has none",
        ),
        (
            "{description: floating.urdf}",
            "plant_robot",
            "'base_x' has stiffness 0: the plant's base would float freely, the robot's not",
        ),
    ],
)
def test_a_plant_that_cannot_stand_for_the_robot_is_reported_with_its_line(
    load, tmp_path, planar_3r_text, plant, key, message
):
    (tmp_path / "floating.urdf").write_text(planar_3r_text.replace('stiffness="100.0"', 'stiffness="0.0"'))
    with pytest.raises(ConfigError) as error:
        load((TAIL, TAIL + f"plant_robot: {plant}\n"))
    found = str(error.value).splitlines()[1:]
    place = f"run.yaml:20: {key}: " if key else "run.yaml:"
    assert any(place in one and message in one for one in found), "\n".join(found)


def test_a_push_acts_on_a_link_of_the_plant(load, tmp_path, planar_3r_text):
    (tmp_path / "other.urdf").write_text(planar_3r_text.replace('"base_link"', '"sledge"'))
    plant = (TAIL, TAIL + "plant_robot: {description: other.urdf}\n")
    ((line, key, _),) = problems(load, plant)
    assert (line, key) == ("15", "pushes[0].link")
    assert load(plant, ("link: base_link", "link: sledge")).pushes[0].link == "sledge"


def test_a_final_window_needs_its_length_where_no_base_has_a_period(load):
    figure = ("peak: {metric: peak_base_deflection,", "peak: {metric: tool_settling_time, since: 1.0,")
    ((line, key, message),) = problems(load, BENDING, figure)
    assert (line, key) == ("19", "figures.peak.last") and "has no natural period" in message
    assert load(BENDING, (figure[0], figure[1] + " last: 0.5,")).figures[0].options.last == 0.5
    assert load(figure).figures[0].options.last is None


def test_a_modal_data_file_that_is_missing_is_said_before_the_run(load, tmp_path):
    text = load(BENDING).robot.description.text
    begin = text.index("<beam ", text.index('<flexible_link name="forearm">'))
    text = text[:begin] + '<modal_data uri="/nowhere/forearm.npz"/>' + text[text.index("/>", begin) + 2 :]
    (tmp_path / "arm.urdf").write_text(text, encoding="utf-8")
    ((line, key, message),) = problems(load, (BENDING[0], "arm.urdf"))
    assert (line, key) == ("3", "robot.description") and "forearm.npz" in message


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "message"),
    [
        ("title: A run", "titel: A run", 1, "titel", "unknown key 'titel'; did you mean 'title'? valid keys: base"),
        ("title: A run", "title:", 1, "title", "has no value"),
        ("rate: 1000.0", "rate: fast", 5, "rate", "expected number > 0 [Hz], got 'fast'"),
        ("rate: 1000.0", "rate: .nan", 5, "rate", "expected number > 0 [Hz]"),
        ("rate: 1000.0", "rate: yes", 5, "rate", "expected number > 0 [Hz]"),
        ("rate: 1000.0", "rate: -2", 5, "rate", "expected number > 0 [Hz], got '-2'"),
        ("rate: 1000.0", "rate: [1, 2]", 5, "rate", "expected a single value, got a list"),
        ("rate: 1000.0", "rate: !knots 5", 5, "rate", "the only tag that is known is !degrees"),
        ("rate: 1000.0", "rate: 1000.0\nrate: 500.0", 6, "rate", "duplicate key, first given in line 5"),
        ("rate: 1000.0", "mode: loose", 5, "mode", "expected one of lockstep, real_time, got 'loose'"),
        ("gravity: [0.0, 0.0, 0.0]", "gravity: [0.0, 0.0]", 4, "gravity", "as [x, y, z], got 2 values"),
        ("gravity: [0.0, 0.0, 0.0]", "gravity: [0.0, down, 0.0]", 4, "gravity[1]", "three numbers [m/s^2], got 'down'"),
        ("duration: 6.0", "duration: 6.0004", 6, "duration", "6.0004 s is not a whole number of ticks of 0.001 s"),
        ("  initial_position: !degrees [60, -60, -60]", "  - 1", 8, "plant", "a mapping of parameters, got a list"),
        ("!degrees [60, -60, -60]", "[1.0, [2.0]]", 8, "plant.initial_position[1]", "holds single values, got a list"),
        ("!degrees [60, -60, -60]", "[1.0, x]", 8, "plant.initial_position", "mixes number and text"),
        ("!degrees [60, -60, -60]", "[]", 8, "plant.initial_position", "empty list has no type"),
        ("!degrees [60, -60, -60]", "!degrees [x]", 8, "plant.initial_position[0]", "!degrees needs a number, got 'x'"),
        ("!degrees [60, -60, -60]", "!degrees [inf]", 8, "plant.initial_position[0]", "needs a number, got 'inf'"),
        ("!degrees [60, -60, -60]", "", 8, "plant.initial_position", "has no value: give one"),
        ("initial_position: !degrees [60, -60, -60]", "a.b: 1\n  a: {b: 2}", 9, "plant.a", "'a.b' is given twice"),
        ("  description: package", "  path: package", 3, "robot.description", "is missing: expected text"),
        ("planar_3r.urdf.xacro", "planar_9r.urdf.xacro", 3, "robot.description", "does not exist"),
        ("package://flexarm", "package://nowhere", 3, "robot.description", "package 'nowhere' is not installed"),
        ("package://flexarm/urdf/", "http://x/", 3, "robot.description", "only package:// and"),
        (".urdf.xacro\n", ".urdf.xacro\n  tool_frame: hand\n", 4, "robot.tool_frame", "'hand' is not a link"),
        ("e: reference_generator", "e: reference_genrator", 10, "nodes[0].executable", "mean 'reference_generator'?"),
        ("e: reference_generator", "e: simulated_plant\n    name: p", 10, "nodes[0].executable", "always"),
        ("e: reference_generator", "e: rns_vibration_controller", 12, "nodes[1].name", "is taken"),
        ("    parameters: {disp", "    name: 3d\n    parameters: {disp", 11, "nodes[0].name", "not a node name"),
        ("    parameters: {d", "    remappings: {a: b c}\n    parameters: {d", 11, "nodes[0].remappings.a", "b c"),
        ("link: base_link", "link: base_lnk", 15, "pushes[0].link", "did you mean 'base_link'?"),
        ("start: 1.0", "start: 5.95", 15, "pushes[0].start", "ends at 6.05 s, after the run"),
        ("force: [30.0, 0.0, 0.0]", "force: [0.0, 0.0, 0.0]", 15, "pushes[0].force", "that is not zero"),
        ("at: 3.0", "at: 6.0", 17, "events[0].at", "not within the run of 6 s"),
        ("at: 3.0", "at: 3.0004", 17, "events[0].at", "two ticks of 0.001 s: take 3"),
        ("node: rns_vibration", "node: rns_vibratory", 17, "events[0].node", "mean 'rns_vibration_controller'?"),
        ("set: {vibration_damping: true}", "transition: stop", 17, "events[0].transition", "one of configure"),
        ("set: {vibration_damping: true}", "kill: false", 17, "events[0].kill", "expected true"),
        (", set: {vibration_damping: true}", "", 17, "events[0]", "this one has: none"),
        ("set: {vibration_damping: true}", "set: {a: 1}, kill: true", 17, "events[0]", "this one has: set, kill"),
        ("metric: peak_base", "metric: peak_bass", 19, "figures.peak.metric", "did you mean 'peak_base_deflection'?"),
        ('goal: "<= 1e-5"', 'goal: "about 3"', 19, "figures.peak.goal", "is not a comparison and a number"),
        ('goal: "<= 1e-5"', "since: 1.0", 19, "figures.peak.since", "valid keys: metric, goal, after, before, joints"),
        ('goal: "<= 1e-5"', "after: 7.0", 19, "figures.peak.after", "nothing is measured"),
        ('goal: "<= 1e-5"', "joints: [base_y]", 19, "figures.peak.joints", "elastic joint 'base_y' does not exist"),
        ("  peak: {", "  peak of it: {", 19, "figures.peak of it", "is not a figure's name: letters, digits and _"),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_with_line_key_and_remedy(load, old, new, line, key, message):
    with pytest.raises(ConfigError) as error:
        load((old, new))
    found = str(error.value).splitlines()[1:]
    assert any(f"run.yaml:{line}: {key}: " in one and message in one for one in found), "\n".join(found)


SHARES = 4


@pytest.mark.parametrize("share", [0, *(pytest.param(share, marks=pytest.mark.long) for share in range(1, SHARES))])
def test_a_parameter_that_a_node_of_ours_does_not_have_is_refused_in_every_scenario(tmp_path, share):
    rng = np.random.default_rng([7, share])
    for file in sorted(CONFIG.glob("*/scenarios/*.yaml"))[share::SHARES]:
        scenario = load_scenario(file)  # what is there, is known
        node = scenario.nodes[rng.integers(len(scenario.nodes))]
        given = scenario.plant if rng.random() < 0.3 else node.parameters
        name = list(given)[rng.integers(len(given))] if given else "gain"
        wrong = {f"{name}x": 1.0}
        change = {"plant": wrong} if given is scenario.plant else {"nodes": [{"executable": node.executable}]}
        if "nodes" in change:
            change["nodes"][0] |= {"name": node.name} if node.name != node.executable else {}
            change["nodes"][0]["parameters"] = wrong
        (tmp_path / "run.yaml").write_text(yaml.safe_dump({"base": str(file), **change}, sort_keys=False))
        with pytest.raises(ConfigError, match=rf"1 problem .*\n.*has no parameter '{name}x'; "):
            load_scenario(tmp_path / "run.yaml")


def test_parameters_of_stages_and_behaviors_are_known_and_those_of_other_packages_are_not_judged():
    known = AmentPackages().parameters
    law = "behavior_impedance_controller"
    given = {"stages": [law], f"{law}.behaviors": ["press"], f"{law}.press.kind": "force"}
    loop = known("flexarm", "control_loop", given)
    assert {f"{law}.press.kind", f"{law}.press.wrench", f"{law}.rate"} <= set(loop)
    assert f"{law}.press.wrenc" not in loop and "press.wrench" not in loop
    assert not known("their_package", "hardware_gate", {})


def test_all_mistakes_are_reported_at_once_in_order_of_lines(load):
    found = problems(load, ("at: 3.0", "at: soon"), ("rate: 1000.0", "rate: 0"), ("link: base_link", "lnk: base_link"))
    assert [(line, key) for line, key, _ in found] == [
        ("5", "rate"),
        ("15", "pushes[0].lnk"),
        ("15", "pushes[0].link"),
        ("17", "events[0].at"),
    ]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("title: [1, 2\nrate: 3\n", 2, "not valid YAML"),
        ("", 1, "the file is empty: expected a scenario"),
        ("- a\n- b\n", 1, "expected a mapping with the keys base, title, description, robot"),
        ("title: a\n---\ntitle: b\n", 2, "not valid YAML: but found another document"),
        ("title: x\n<<: {rate: 1}\n", 2, "merge keys (<<) are not supported"),
        ("title: \t\x07\n", 1, "not valid YAML"),
    ],
)
def test_what_is_not_a_scenario_at_all_is_refused(tmp_path, packages, text, line, message):
    path = tmp_path / "run.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=re.escape(f"run.yaml:{line}: ")) as error:
        load_scenario(path, packages)
    assert message in str(error.value)


def test_an_alias_that_contains_itself_is_refused(tmp_path, packages):
    path = tmp_path / "run.yaml"
    path.write_text("title: a\nplant: &a {b: [*a]}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"run.yaml' has an alias that contains itself \(line 2\)"):
        load_scenario(path, packages)


def test_a_file_that_is_not_there_is_named(tmp_path, packages):
    with pytest.raises(ConfigError, match=r"scenario file '.*missing\.yaml' does not exist"):
        load_scenario(tmp_path / "missing.yaml", packages)


def test_a_robot_description_is_not_taken_for_a_scenario(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text('<?xml version="1.0"?>\n<robot name="arm"/>\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"arm\.urdf' is XML, not a scenario file: of a robot, `flexarm check "):
        load_scenario(file)


def test_packages_and_their_executables_come_from_the_sourced_environment(tmp_path, monkeypatch):
    (tmp_path / "share/ament_index/resource_index/packages").mkdir(parents=True)
    (tmp_path / "share/ament_index/resource_index/packages/my_robot").touch()
    (tmp_path / "lib/my_robot").mkdir(parents=True)
    (tmp_path / "lib/my_robot/my_node").touch()
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    assert AmentPackages().share("my_robot") == tmp_path / "share/my_robot"
    assert AmentPackages().executables("my_robot") == ("my_node",)
    assert AmentPackages().share("other_robot") is None
    assert AmentPackages().executables("other_robot") is None
    monkeypatch.delenv("AMENT_PREFIX_PATH")
    assert AmentPackages().share("my_robot") is None


def test_elastic_joints_of_two_units_must_be_chosen_from(load, tmp_path, planar_3r_text):
    second = """<joint name="base_turn" type="revolute"><parent link="cart"/><child link="base_link"/>
      <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="9" velocity="9"/></joint>
      <link name="cart"><inertial><mass value="1"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>"""
    text = planar_3r_text.replace('<child link="base_link"/>', '<child link="cart"/>', 1)
    text = text.replace("</robot>", second + "</robot>")
    text = text.replace("<flexibility>", '<flexibility><elastic_joint name="base_turn" stiffness="50"/>')
    (tmp_path / "arm.urdf").write_text(text, encoding="utf-8")
    robot = ("package://flexarm/urdf/planar_3r.urdf.xacro", "arm.urdf")
    ((line, key, message),) = problems(load, robot)
    assert (line, key) == ("19", "figures.peak.joints")
    assert "choose those of one unit with 'joints'" in message
    assert load(robot, ('goal: "<= 1e-5"', "joints: [base_turn]")).figures[0].options.joints == ("base_turn",)
