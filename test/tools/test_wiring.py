"""Wiring: every scenario of the suite can lead its arm, and each way in which one cannot is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from flexarm_core.errors import ConfigError
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import NodeSpec
from flexarm_tools.wiring.chain import chain, chained, wired_nodes
from flexarm_tools.wiring.table import node_ports, ros2_control_ports
from flexarm_tools.wiring.wiring import FAULTS, check_wiring

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = sorted((ROOT / "config").glob("*/scenarios/*.yaml"))


def node(executable, name="", remappings=None, package="flexarm", **parameters):
    """A node of a run; ``__`` in a parameter's name stands for a dot."""
    given = {key.replace("__", "."): value for key, value in parameters.items()}
    return NodeSpec(package, executable, name or executable, given, remappings or {})


GENERATOR = node("reference_generator")
JOINTS = node("reference_generator", space="joints")
RNS = node("rns_vibration_controller")
FOLLOWING = node("rns_vibration_controller", task="joint_path")
WRENCH = node("base_wrench_torque_estimator")
FLEXIBLE = node("flexible_dynamics_controller", law="joint_pd")
IK = node("ik_redundancy_solver", source="stream")
GATE = node("hardware_gate")


@pytest.fixture(scope="module")
def arm(packages):
    """An arm with a sensor under its base and one at its tool."""
    return load_scenario(ROOT / "config" / "arm_7r" / "scenarios" / "behaviors.yaml", packages).robot.description


@pytest.fixture
def faults(arm):
    """Faults of nodes beside ros2_control as (kind, nodes, topic), each known and with words of its own."""

    def found(*nodes, mode="effort", **options):
        options.setdefault("around", {"ros2_control": ros2_control_ports(arm, mode)})
        said = check_wiring(nodes, arm, **options)
        assert all(fault.kind in FAULTS and str(fault) for fault in said)
        assert all(name in str(fault) for fault in said for name in (*fault.nodes, fault.topic))
        return [(fault.kind, fault.nodes, fault.topic) for fault in said]

    return found


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_every_scenario_of_the_suite_is_wired_and_chaining_changes_nothing_of_it(path, packages):
    scenario = load_scenario(path, packages)
    assert wired_nodes(scenario) == scenario.nodes


def test_without_its_gate_a_scenario_is_refused_with_every_fault_named(load):
    with pytest.raises(ConfigError) as error:
        wired_nodes(load())
    said = str(error.value)
    assert "run.yaml" in said
    assert "no hardware_gate" in said
    assert "'rns_vibration_controller' leads by JointReference on 'joint_reference', which nobody reads" in said
    assert "'simulated_plant' needs Float64MultiArray on 'forward_effort_controller/commands'" in said


def test_two_writers_of_a_topic_are_named(faults):
    two = faults(GENERATOR, RNS, node("rns_vibration_controller", "other"), GATE)
    names = ("rns_vibration_controller", "other")
    assert two == [("two_writers", names, topic) for topic in ("joint_reference", "base_reaction")]
    assert faults(RNS, GENERATOR, GATE, replace(GATE, name="second")) == [
        ("two_writers", ("hardware_gate", "second"), topic)
        for topic in ("forward_effort_controller/commands", "commanded_reference")
    ]


def test_a_needed_input_that_nobody_writes_is_named_with_who_could(faults, arm):
    assert faults(RNS, GATE) == [("missing_input", ("rns_vibration_controller",), "cartesian_reference")]
    (fault,) = check_wiring([RNS, GATE], arm, around={"ros2_control": ros2_control_ports(arm, "effort")})
    assert "task 'tool_path'" in str(fault)
    assert "reference_generator" in str(fault)
    estimated = node("rns_vibration_controller", base_state_source="flexible_state")
    assert faults(GENERATOR, estimated, GATE) == [("missing_input", (estimated.name,), "flexible_state")]
    assert faults(node("flexible_dynamics_estimator"), GENERATOR, estimated, GATE) == []
    assert faults(JOINTS, node(WRENCH.executable, sensor="ankle_ft_sensor"), GATE) == [
        ("missing_input", (WRENCH.name,), "ankle_wrench")
    ]


def test_what_could_write_with_other_parameters_and_what_writes_elsewhere_is_pointed_out(arm):
    around = {"ros2_control": ros2_control_ports(arm, "effort")}
    missing, unread = check_wiring([JOINTS, RNS, GATE], arm, around=around)
    assert "'reference_generator' could, but not with these parameters" in str(missing)
    assert "'rns_vibration_controller' ignores it by its task 'tool_path'" in str(unread)
    elsewhere = replace(JOINTS, remappings={"desired_joint_reference": "wished"})
    missing, unread = check_wiring([elsewhere, FOLLOWING, GATE], arm, around=around)
    assert "remap it to what nobody reads, 'reference_generator' on 'wished'" in str(missing)
    assert (unread.kind, unread.topic) == ("unread_reference", "wished")


def test_a_reference_that_nobody_reads_is_named(faults):
    held = node("rns_vibration_controller", task="hold")
    assert faults(held, GATE) == []
    assert faults(GENERATOR, held, GATE) == [("unread_reference", ("reference_generator",), "cartesian_reference")]


def test_commands_of_another_mode_than_the_drives_take_reach_nobody(faults):
    assert faults(GENERATOR, RNS, GATE, mode="velocity") == [
        ("missing_input", ("ros2_control",), "forward_velocity_controller/commands"),
        ("unread_reference", ("hardware_gate",), "forward_effort_controller/commands"),
    ]


def test_a_reference_without_what_its_reader_commands_by_is_named(faults):
    by_position = node("hardware_gate", command_mode="position")
    assert faults(GENERATOR, RNS, by_position, mode="position") == [
        ("lacking_fields", ("rns_vibration_controller", "hardware_gate"), "joint_reference")
    ]
    led = node("rns_vibration_controller", realization="joint_servo")
    assert faults(GENERATOR, led, by_position, mode="position") == []
    assert faults(GENERATOR, IK, GATE) == [
        ("lacking_fields", ("ik_redundancy_solver", "hardware_gate"), "joint_reference")
    ]


def test_what_a_stage_passes_on_counts_as_given(faults, arm):
    nodes = chained([GENERATOR, node("rns_vibration_controller", realization="joint_servo"), WRENCH, GATE], arm)
    by_velocity = [*nodes[:-1], replace(nodes[-1], parameters={"command_mode": "velocity"})]
    assert faults(*by_velocity, mode="velocity") == []
    bare = chained([GENERATOR, RNS, WRENCH, by_velocity[-1]], arm)
    assert faults(*bare, mode="velocity") == [("lacking_fields", (WRENCH.name, "hardware_gate"), "joint_reference")]


def test_stages_in_the_wrong_order_are_named(faults, arm):
    assert faults(*chained([JOINTS, FOLLOWING, WRENCH, GATE], arm)) == []
    found = faults(*chained([JOINTS, FLEXIBLE, FOLLOWING, GATE], arm))
    assert found == [("wrong_order", (FLEXIBLE.name, FOLLOWING.name), "flexible_dynamics_controller/joint_reference")]
    ring = replace(FOLLOWING, remappings={"desired_joint_reference": "joint_reference"})
    assert ("wrong_order", (ring.name, ring.name), "joint_reference") in faults(ring, GATE)


def test_a_remapping_of_no_topic_is_named(faults):
    misspelt = replace(RNS, remappings={"joint_refrence": "elsewhere"})
    assert faults(GENERATOR, misspelt, GATE) == [("no_topic", (RNS.name,), "joint_refrence")]
    shown = replace(RNS, remappings={"~/markers": "shown", "/base_reaction": "reaction"})
    assert faults(GENERATOR, shown, GATE) == []


def test_what_an_event_makes_a_stage_read_counts_as_read(faults):
    held = node("rns_vibration_controller", task="hold")
    changes = {held.name: [{"task": "tool_path"}, {"task": "none"}]}
    assert faults(GENERATOR, held, GATE, changes=changes) == []
    assert faults(held, GATE, changes=changes) == [("missing_input", (held.name,), "cartesian_reference")]


def test_beside_a_node_that_nobody_knows_nothing_is_missing_but_two_writers_remain(faults):
    foreign = node("my_controller", package="my_package")
    assert faults(RNS, foreign) == []
    assert [kind for kind, *_ in faults(RNS, replace(RNS, name="other"), foreign)] == ["two_writers"] * 2


def test_stages_in_order_lead_from_one_to_the_next_and_the_last_keeps_its_name(arm, faults):
    stages = [
        node("reference_generator"),
        node("behavior_impedance_controller", behaviors=["follow"], follow__kind="path", follow__source="stream"),
        node("rns_vibration_controller", task="joint_path", realization="joint_servo"),
        FLEXIBLE,
        WRENCH,
        GATE,
    ]
    assert chain(stages, arm) == {
        "reference_generator": {"cartesian_reference": "reference_generator/cartesian_reference"},
        "behavior_impedance_controller": {
            "path_reference": "reference_generator/cartesian_reference",
            "joint_reference": "behavior_impedance_controller/joint_reference",
        },
        "rns_vibration_controller": {
            "desired_joint_reference": "behavior_impedance_controller/joint_reference",
            "joint_reference": "rns_vibration_controller/joint_reference",
        },
        "flexible_dynamics_controller": {
            "desired_joint_reference": "rns_vibration_controller/joint_reference",
            "joint_reference": "flexible_dynamics_controller/joint_reference",
        },
        "base_wrench_torque_estimator": {"desired_joint_reference": "flexible_dynamics_controller/joint_reference"},
        "hardware_gate": {},
    }
    assert faults(*chained(stages, arm)) == []


@pytest.mark.parametrize("left_out", [(), (1,), (2,), (3,), (1, 2), (2, 3), (1, 3)])
def test_any_subset_of_stages_in_order_is_a_working_chain(arm, faults, left_out):
    stages = [
        GENERATOR,
        IK,
        node(
            "rns_vibration_controller", task="tool_path" if 1 in left_out else "joint_path", realization="joint_servo"
        ),
        WRENCH,
        GATE,
    ]
    kept = [stage for place, stage in enumerate(stages) if place not in left_out]
    if {1, 2} <= set(left_out):
        kept[0] = JOINTS
    mode = "position" if {2, 3} <= set(left_out) else "effort"
    kept[-1] = node("hardware_gate", command_mode=mode)
    assert faults(*chained(kept, arm), mode=mode) == []


def test_stages_in_one_process_are_wired_as_separate_ones(faults):
    assert faults(node("control_loop")) == []
    torque = ["reference_generator", "rns_vibration_controller", "base_wrench_torque_estimator", "hardware_gate"]
    assert faults(node("control_loop", stages=torque)) == []
    blind = node("control_loop", stages=["rns_vibration_controller", "hardware_gate"])
    assert faults(blind) == [("missing_input", ("control_loop",), "cartesian_reference")]
    led = node("reference_generator", space="tool", displacement=[0.1, 0.0, 0.0])
    assert faults(led, blind) == []
    assert faults(replace(blind, parameters=blind.parameters | {"rns_vibration_controller.task": "hold"})) == []
    assert faults(GATE, node("control_loop"), GENERATOR)[:1] == [
        ("two_writers", ("hardware_gate", "control_loop"), "forward_effort_controller/commands")
    ]


def test_what_a_node_remaps_itself_stays(arm):
    own = replace(JOINTS, remappings={"desired_joint_reference": "wished"})
    assert chain([own, FOLLOWING, GATE], arm) == {
        "reference_generator": {},
        "rns_vibration_controller": {"desired_joint_reference": "wished"},
        "hardware_gate": {},
    }


def test_an_executable_that_the_suite_does_not_have_has_no_ports(arm):
    assert node_ports("coffee_machine", {}, arm) is None
