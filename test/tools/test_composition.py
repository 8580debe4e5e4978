"""What is started: complete parameters for the plant's side and for an arm under ros2_control."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from source_packages import SourcePackages

from flexarm_core.errors import ConfigError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_nodes.flexible_dynamics.parameters import flexible_controller
from flexarm_nodes.node.parameters import ARM_PARAMETERS
from flexarm_nodes.registry import parameters_of
from flexarm_tools.run.composition import (
    compose_simulation,
    compose_stages,
    in_one_process,
    select_stages,
    stage_nodes,
)
from flexarm_tools.run.launch_request import LaunchRequest, requested_robot, requested_scenario, xacro_arguments
from flexarm_tools.run.parameter_file import plain_value, read_parameter_file, write_for_namespace, write_parameter_file
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import EventSpec, NodeSpec

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = SourcePackages({"flexarm": ROOT})
COMBINED = ROOT / "config/planar_3r/scenarios/combined.yaml"
CHAIN = "reference_generator rns_vibration_controller hardware_gate"
PARAMETERS = """
/**: {ros__parameters: {gravity: [0.0, 0.0, 0.0]}}
reference_generator: {ros__parameters: {displacement: [-0.3, 0.0, 0.0]}}
rns_vibration_controller: {ros__parameters: {task: tool_path, position_gain: 100.0}}
hardware_gate: {ros__parameters: {command_mode: effort}}
"""


def test_a_simulation_begins_with_the_plant_and_tells_every_node_of_the_robot():
    composed = compose_simulation(load_scenario(COMBINED, PACKAGES))
    assert [node.name for node in composed.nodes] == ["simulated_plant", *CHAIN.split()]
    assert composed.command_mode == "effort"
    texts = {node.parameters["robot_description"] for node in composed.nodes}
    assert len(texts) == 1 and "<robot" in texts.pop()
    plant, gate = composed.nodes[0].parameters, composed.nodes[-1].parameters
    assert plant["pushes.forces"] == [5.0, 0.0, 0.0] and plant["lockstep"] is True and plant["rate"] == 1000.0
    assert gate["use_sim_time"] is True and gate["lockstep"] is True and gate["rate"] == 1000.0


def test_before_an_arm_nothing_waits_in_lockstep_and_no_clock_is_awaited():
    composed = compose_stages(load_scenario(COMBINED, PACKAGES), use_sim_time=False)
    assert [node.name for node in composed.nodes] == CHAIN.split()
    gate = composed.nodes[-1].parameters
    assert gate["use_sim_time"] is False and gate["lockstep"] is False


def timed(scenario, **changes):
    """Rate and delay of every node of a composed run."""
    nodes = compose_simulation(replace(scenario, **changes)).nodes
    return {n.name: {k: v for k, v in n.parameters.items() if k.endswith(("rate", "delay"))} for n in nodes}


def test_rate_and_delay_of_a_run_reach_every_stage_that_judges_gains():
    scenario = load_scenario(COMBINED, PACKAGES)
    late = scenario.plant | {"sensors.joint_position.delay": 0.004}
    nodes = tuple(
        replace(n, parameters={k: v for k, v in n.parameters.items() if k not in ("rate", "delay")})
        for n in scenario.nodes
    )
    scenario = replace(scenario, nodes=nodes, plant=late)
    found = timed(scenario, rate=100.0)
    assert found["rns_vibration_controller"] == {"rate": 100.0, "delay": 0.004}
    assert found["hardware_gate"]["rate"] == 100.0
    one = timed(in_one_process(scenario), rate=100.0)["control_loop"]
    assert one["rns_vibration_controller.rate"] == one["hardware_gate.rate"] == 100.0
    assert one["rns_vibration_controller.delay"] == 0.004


@pytest.mark.parametrize("name", ["damped", "damped_detuned", "push_damped", "pd", "zv_detuned"])
def test_gains_of_the_arm_that_bends_hold_with_the_estimator_and_the_start_of_their_scenario(name):
    scenario = load_scenario(ROOT / f"config/flexible_2r/scenarios/{name}.yaml", PACKAGES)
    bending, before = "flexible_dynamics_controller", "flexible_dynamics_controller."
    one = in_one_process(scenario).nodes[0]
    apart = next(n for n in compose_simulation(scenario).nodes if n.executable == bending).parameters
    inside = next(n for n in compose_simulation(in_one_process(scenario)).nodes if n.name == one.name).parameters
    given = {key: value for key, value in apart.items() if key.startswith("estimator.") or key == "start_position"}
    assert given["start_position"] == pytest.approx([0.0, 0.7853981633974483])
    assert "estimator.strain_noise" in given or "damped" not in name
    assert {key: inside[before + key] for key in given} == given
    values = {row.name: row.default for row in (*ARM_PARAMETERS, *parameters_of(bending))} | apart
    assert values["check_gains"] and values["stiffness_margin"] == 0.2
    flexible_controller(values, ArmModel(scenario.robot.description))


def test_outside_lockstep_the_arm_that_bends_is_told_that_commands_come_a_period_late():
    scenario = load_scenario(ROOT / "config/flexible_2r/scenarios/pd.yaml", PACKAGES)
    late = replace(scenario, mode="real_time", plant=scenario.plant | {"sensors.joint_position.delay": 0.002})
    for found, delay in ((timed(scenario), 0.0), (timed(late), 0.003), (timed(late, rate=500.0), 0.004)):
        assert found["flexible_dynamics_controller"]["delay"] == pytest.approx(delay)
    one = timed(in_one_process(late))["control_loop"]
    assert one["flexible_dynamics_controller.delay"] == pytest.approx(0.003)
    stages = {node.name: node.parameters for node in compose_stages(scenario, use_sim_time=False).nodes}
    assert stages["flexible_dynamics_controller"]["delay"] == 0.001


def test_how_late_the_rates_of_a_base_are_is_said_by_its_messages_and_not_counted_twice():
    scenario = load_scenario(COMBINED, PACKAGES)

    def delay(loop, law="rns_vibration_controller", **given):
        nodes = [replace(n, parameters=n.parameters | {"base_state_source": "flexible_state"}) for n in scenario.nodes]
        odometry = NodeSpec("flexarm", "base_odometry", "base_odometry", given, {"odom": "/tracker/base"})
        whole = replace(scenario, nodes=(odometry, *nodes))
        found = compose_stages(in_one_process(whole) if loop else whole, use_sim_time=False).nodes
        if loop:
            return found[0].parameters[f"{law}.delay"]
        return next(node.parameters["delay"] for node in found if node.name == law)

    for loop in (False, True):
        assert delay(twist_window=0.05, loop=loop) == delay(loop=loop) == 0.0


@pytest.mark.parametrize(
    ("given", "said"), [({"rate": 1000.0}, "1000 Hz.*100 Hz"), ({"delay": 0.001}, "0.001 s.*0.004 s")]
)
def test_a_rate_or_delay_that_contradicts_the_run_is_refused_with_both(given, said):
    scenario = load_scenario(COMBINED, PACKAGES)
    nodes = tuple(
        replace(n, parameters=n.parameters | given) if n.executable == "rns_vibration_controller" else n
        for n in scenario.nodes
    )
    late = scenario.plant | {"sensors.joint_position.delay": 0.004}
    with pytest.raises(ConfigError, match=said):
        timed(replace(scenario, nodes=nodes, plant=late), rate=100.0)


def test_a_subset_that_cannot_lead_the_arm_is_refused_by_name():
    alone = select_stages(load_scenario(COMBINED, PACKAGES), ["reference_generator", "hardware_gate"])
    for compose in (compose_simulation, lambda scenario: compose_stages(scenario, False)):
        with pytest.raises(ConfigError, match="joint_reference"):
            compose(alone)


def test_unknown_stages_are_refused_with_those_there_are():
    with pytest.raises(ConfigError, match="hardware_gate"):
        stage_nodes(["gate"])
    with pytest.raises(ConfigError, match="twice"):
        stage_nodes(["hardware_gate", "hardware_gate"])
    with pytest.raises(ConfigError, match="rns_vibration_controller"):
        select_stages(load_scenario(COMBINED, PACKAGES), ["gate"])


def test_stages_by_name_take_their_parameters_from_a_ros_parameter_file(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(PARAMETERS)
    request = LaunchRequest(robot="planar_3r", stages=CHAIN, parameters_file=str(file), rate="250")
    scenario = requested_scenario(request, PACKAGES)
    composed = compose_simulation(scenario)
    by_name = {node.name: node.parameters for node in composed.nodes}
    assert by_name["rns_vibration_controller"]["position_gain"] == 100.0
    assert by_name["hardware_gate"]["rate"] == 250.0 and by_name["simulated_plant"]["command_mode"] == "effort"
    assert all(parameters["gravity"] == [0.0, 0.0, 0.0] for parameters in by_name.values())


def test_a_parameter_file_counts_before_the_scenario(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("/rns_vibration_controller: {ros__parameters: {position_gain: 1.5}}")
    scenario = requested_scenario(LaunchRequest(scenario=str(COMBINED), parameters_file=str(file)), PACKAGES)
    assert scenario.nodes[1].parameters["position_gain"] == 1.5
    assert scenario.nodes[1].parameters["velocity_gain"] == 200.0


def test_nested_parameters_are_read_with_dots(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("a: {ros__parameters: {b: {c: 1, d: [2.0]}, e: x}}")
    assert read_parameter_file(file, ["a", "z"]) == {"a": {"b.c": 1, "b.d": [2.0], "e": "x"}, "z": {}}


NAMESPACED = """
/**: {ros__parameters: {x: 0, y: 0, z: 0}}
/left/a: {ros__parameters: {y: 1}}
/**/a: {ros__parameters: {x: 2, y: 2}}
/a: {ros__parameters: {z: 3}}
right: {a: {ros__parameters: {z: 4}}}
/*/a: {ros__parameters: {w: 5}}
"""


@pytest.mark.parametrize(
    ("namespace", "expected"),
    [
        ("", {"x": 2, "y": 2, "z": 3}),
        ("/left", {"x": 2, "y": 1, "z": 0, "w": 5}),
        ("right", {"x": 2, "y": 2, "z": 4, "w": 5}),
        ("/left/arm", {"x": 2, "y": 2, "z": 0}),
    ],
)
def test_parameters_are_those_of_the_namespace_and_plain_names_count_before_wildcards(tmp_path, namespace, expected):
    file = tmp_path / "mine.yaml"
    file.write_text(NAMESPACED)
    assert read_parameter_file(file, ["a"], namespace) == {"a": expected}
    file.write_text("a: {ros__parameters: {x: 1}}")
    assert read_parameter_file(file, ["a"], namespace) == {"a": {"x": 1}}  # a bare name: wherever the nodes are


def test_a_file_with_bare_names_is_written_anew_for_any_namespace(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("a: {ros__parameters: {x: 1}}\n/left/b: {ros__parameters: {}}\nright: {b: {ros__parameters: {}}}")
    (tmp_path / "new").mkdir()
    written = yaml.safe_load(write_for_namespace(file, tmp_path / "new").read_text())
    none = {"ros__parameters": {}}
    assert written == {"/**/a": {"ros__parameters": {"x": 1}}, "/left/b": none, "right": {"b": none}}


@pytest.mark.parametrize("text", ["a: 1", "a: {ros__parameters: 3}", "- 1", "a: ["])
def test_what_is_no_parameter_file_is_refused(tmp_path, text):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"mine\.yaml"):
        read_parameter_file(file, ["a"])


def test_a_written_parameter_file_reads_back_and_mixes_no_whole_numbers_with_others(tmp_path):
    node = compose_simulation(load_scenario(COMBINED, PACKAGES)).nodes[0]
    written = yaml.safe_load(write_parameter_file(node, tmp_path).read_text())["/**/simulated_plant"]["ros__parameters"]
    assert written == {key: plain_value(value) for key, value in node.parameters.items()}
    assert [type(value) for value in plain_value([1, 2.5])] == [float, float]


def test_arguments_of_the_robot_are_added_to_those_of_the_scenario():
    request = LaunchRequest(scenario=str(COMBINED), robot_arguments="hardware:=my_driver/Arm")
    assert "<plugin>my_driver/Arm</plugin>" in requested_robot(request, PACKAGES).description.text
    assert requested_scenario(request, PACKAGES).robot.arguments == {"hardware": "my_driver/Arm"}
    with pytest.raises(ConfigError, match="NAME:=VALUE"):
        xacro_arguments("hardware=mock")


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (LaunchRequest(), "hardware_gate"),
        (LaunchRequest(robot="planar", stages="hardware_gate"), "planar_3r"),
        (LaunchRequest(scenario=str(COMBINED), rate="fast"), "fast"),
        (LaunchRequest(scenario=str(COMBINED), rate="-1"), "-1"),
        (LaunchRequest(scenario=str(COMBINED), gravity="0 0"), "three numbers"),
        (LaunchRequest(scenario=str(COMBINED), parameters_file="/nowhere.yaml"), "nowhere"),
    ],
)
def test_a_request_that_cannot_be_met_says_what_is_valid(request_, said):
    with pytest.raises(ConfigError, match=said):
        requested_scenario(request_, PACKAGES)


REMAPPED = {
    **{"cartesian_reference": "from_the_generator", "base_reaction": "shaking"},
    **{"joint_states": "states", "joint_reference": "quiet"},
}


def test_stages_of_a_scenario_become_one_process_with_their_parameters_and_events():
    scenario = load_scenario(COMBINED, PACKAGES)
    event = EventSpec(1.0, "rns_vibration_controller", {"vibration_damping": False}, "", False)
    marker = NodeSpec("flexarm", "state_markers", "state_markers", {}, {})
    nodes = [
        replace(node, name="quiet", remappings=REMAPPED) if node.executable == "rns_vibration_controller" else node
        for node in scenario.nodes
    ]
    changed = replace(scenario, nodes=(*nodes, marker), events=(replace(event, node="quiet"),))
    one, beside = in_one_process(changed).nodes
    assert beside is marker
    assert one.executable == "control_loop"
    assert one.parameters["stages"] == CHAIN.split()
    assert one.parameters["rns_vibration_controller.position_gain"] == 400.0
    outside = {"base_reaction": "shaking", "joint_states": "states"}
    assert one.remappings == {**outside, "joint_reference": "quiet"}
    behind = replace(nodes[1], name="behind", executable="base_wrench_torque_estimator", remappings={})
    longer = replace(changed, nodes=(*nodes[:2], replace(behind, parameters={}), nodes[2]), events=())
    (loop,) = in_one_process(longer).nodes  # where the reference goes from stage to stage
    assert loop.remappings == {**outside, "rns_vibration_controller/joint_reference": "quiet"}
    assert in_one_process(changed).events == (
        replace(event, node="control_loop", parameters={"rns_vibration_controller.vibration_damping": False}),
    )
    loop = compose_simulation(in_one_process(scenario)).nodes[1].parameters
    assert loop["sensor_wait"] >= 1.0  # lockstep
    waiting = replace(scenario, nodes=stage_nodes(["flexible_dynamics_estimator", *CHAIN.split()]))
    assert compose_simulation(waiting).nodes[1].parameters["sensor_wait"] >= 1.0
    in_time = compose_simulation(replace(waiting, mode="real_time")).nodes[1].parameters
    assert "sensor_wait" not in in_time
    assert loop["hardware_gate.lockstep"] is True


def test_a_stage_that_a_scenario_adds_after_the_gate_comes_before_it_in_one_process():
    scenario = load_scenario(COMBINED, PACKAGES)
    added = replace(scenario, nodes=(*scenario.nodes, *stage_nodes(["flexible_dynamics_estimator"])))
    one = in_one_process(added).nodes[0]
    assert one.parameters["stages"] == [*CHAIN.split()[:-1], "flexible_dynamics_estimator", "hardware_gate"]


def test_what_cannot_be_had_in_one_process_is_refused():
    scenario = load_scenario(COMBINED, PACKAGES)
    twice = replace(scenario, nodes=(*scenario.nodes, replace(scenario.nodes[1], name="again")))
    with pytest.raises(ConfigError, match="a stage once"):
        in_one_process(twice)
    killed = EventSpec(1.0, "rns_vibration_controller", {}, "", True)
    with pytest.raises(ConfigError, match="its own process"):
        in_one_process(replace(scenario, events=(killed,)))


def test_a_composed_scenario_is_launched_as_one_process():
    file = ROOT / "config" / "boom_7r" / "scenarios" / "inspect_all_off.yaml"
    (loop,) = requested_scenario(LaunchRequest(scenario=str(file)), PACKAGES).nodes
    assert loop.executable == "control_loop"
    assert loop.parameters["stages"][0] == "behavior_impedance_controller"
