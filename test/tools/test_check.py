"""What `flexarm check` says of flexible robots and of modal data files."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import random_arms
from random_arms import random_arm

from flexarm_core.errors import ConfigError, RobotDescriptionError
from flexarm_core.flexible_dynamics.beam import Load, beam_modes
from flexarm_core.flexible_dynamics.modal_data import ModalData, save_modal_data
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import Beam
from flexarm_core.robot.dynamics_check import impossible_inertia
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_tools.check import first_run, start
from flexarm_tools.check.arm import Arm, find_arm
from flexarm_tools.check.check import check_modal_data, check_robot
from flexarm_tools.check.description import description_steps
from flexarm_tools.check.dry_run import DryRun, dry_run
from flexarm_tools.check.repair import nearest_inertia, repair
from flexarm_tools.check.start import scenario_text
from flexarm_tools.metrics.figures import compute_figures
from flexarm_tools.metrics.modal_frequencies import modal_frequencies
from flexarm_tools.process.progress import Progress
from flexarm_tools.run.in_process import run_in_process
from flexarm_tools.scenario.file import STANDARD_GRAVITY, load_scenario

URDF = Path(__file__).resolve().parents[2] / "urdf"
BEAM = Beam(
    length=2.0, EIy=0.0, EIz=100.0, GJ=0.0, EA=0.0, rho_A=0.5, rho_Ip=0.0, modes_y=2, modes_z=0, modes_torsion=0,
    modes_axial=0, damping_ratio=0.01, elements=40, tip_mass=None, transform_beam_to_link=np.eye(4),
)  # fmt: skip
# clamped and free: (beta L)^2 sqrt(EI / rho A L^4), beta L = 1.8751 and 4.6941 (Blevins)
FREE = np.array([1.87510407, 4.69409113]) ** 2 * np.sqrt(100.0 / (0.5 * 2.0**4)) / (2.0 * np.pi)


@pytest.fixture
def free() -> ModalData:
    """A beam with nothing at its tip."""
    return beam_modes(BEAM)


def saved(path: Path, data: ModalData) -> Path:
    save_modal_data(path / "modes.npz", data)
    return path / "modes.npz"


def test_a_modal_data_file_is_described_with_its_frequencies(tmp_path, free):
    text, usable = check_modal_data(saved(tmp_path, free))
    assert usable
    assert "nodes        41, the farthest 2 m" in text and "total mass   1 kg" in text
    found = [float(number) for number in re.findall(r"bending_y_\d +([\d.]+) Hz", text)]
    assert np.allclose(found, FREE, rtol=2e-3)
    asked = "are the units N, m, kg, s?"
    assert asked not in text
    long, heavy = (
        replace(free, position=1e3 * free.position, mass=1e-3 * free.mass),
        replace(free, mass=1e9 * free.mass),
    )
    for wrong in (long, heavy):
        assert asked in check_modal_data(saved(tmp_path, wrong))[0]


def test_modes_that_are_not_normalized_have_the_same_frequencies(tmp_path, free):
    turn = np.array([[3.0, 1.0], [-0.5, 2.0]])  # any other basis of the same shapes
    other = replace(
        free,
        translation=free.translation @ turn,
        rotation=free.rotation @ turn,
        stiffness=turn.T @ free.stiffness @ turn,
        damping=turn.T @ free.damping @ turn,
    )
    found, paired = modal_frequencies(other)
    assert not paired and np.allclose(found, modal_frequencies(free)[0], rtol=1e-9)
    text, usable = check_modal_data(saved(tmp_path, other))
    assert usable and "not mass-normalized" in text and f"{found[0]:.4g}, {found[1]:.4g} Hz" in text


def test_a_file_of_a_beam_with_a_load_gives_the_frequencies_of_the_beam_alone():
    loaded = beam_modes(BEAM, [Load(5.0)])
    assert np.sqrt(loaded.stiffness[0, 0]) / (2.0 * np.pi) < 0.5 * FREE[0]
    found, paired = modal_frequencies(loaded)
    assert not paired and found[0] == pytest.approx(FREE[0], rel=0.02)  # its shapes are nearly those without a load


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"stiffness": np.zeros((2, 2))}, "leave out rigid-body modes"),
        ({"mass": np.zeros(41)}, "the nodes have no mass"),
        ({"damping": np.zeros((3, 3))}, "damping has shape"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, free, change, said):
    text, usable = check_modal_data(saved(tmp_path, replace(free, **change)))
    assert not usable and "cannot be used" in text and said in text


def test_a_file_that_is_none_is_refused_and_one_without_damping_is_warned_of(tmp_path, free):
    (tmp_path / "no.npz").write_bytes(b"nothing")
    for name in ("no.npz", "missing.npz"):
        text, usable = check_modal_data(tmp_path / name)
        assert not usable and "cannot be read" in text
    assert "have no damping" in check_modal_data(saved(tmp_path, replace(free, damping=np.zeros((2, 2)))))[0]


def test_a_flexible_robot_is_described_with_its_modes_gauges_and_imus():
    text, usable = check_robot(URDF / "flexible_2r.urdf.xacro", first_run=False)
    assert usable
    for expected in ("upper_arm", "bending_y_2", "forearm_root on forearm", "tool_imu at tool0"):
        assert expected in text
    # how MuJoCo's chain of segments must be set is said, and does not make the robot wrong
    assert "simulated_plant (mujoco): can run" in text and "cannot run" not in text
    # softer by four: half the frequencies
    softer, _ = check_robot(URDF / "flexible_2r.urdf.xacro", "", {"stiffness_scale": "0.25"}, first_run=False)
    numbers = [np.array(re.findall(r"bending_y_\d ([\d.]+) Hz", page), dtype=float) for page in (text, softer)]
    assert len(numbers[0]) == 6 and np.allclose(numbers[1], numbers[0] / 2.0, rtol=2e-3)


def test_a_rigid_robot_says_nothing_of_modes():
    text, usable = check_robot(URDF / "planar_3r.urdf.xacro", first_run=False)
    assert usable and "flexible links" not in text and "strain gauges" not in text and "bending" not in text


def test_a_modal_data_file_that_a_robot_names_and_that_is_not_there_is_an_error(tmp_path):
    text = (URDF / "flexible_2r.urdf.xacro").read_text()
    begin = text.index("<beam length", text.index('<flexible_link name="forearm">'))
    text = text[:begin] + '<modal_data uri="/nowhere/forearm.npz"/>' + text[text.index("/>", begin) + 2 :]
    for name in ("flexible_beam.xacro", "ros2_control.xacro"):
        (tmp_path / name).write_text((URDF / name).read_text())
    (tmp_path / "arm.urdf.xacro").write_text(text)
    said, usable = check_robot(tmp_path / "arm.urdf.xacro", first_run=False)
    assert not usable and "forearm.npz" in said


def test_rotor_inertia_is_said_of_the_joints_that_have_one():
    heavy, usable = check_robot(URDF / "arm_7r.urdf.xacro", "", {"armature": "true"}, first_run=False)
    assert usable and heavy.count(", armature ") == 7
    (elbow,) = (line for line in heavy.splitlines() if line.strip().startswith("elbow "))
    assert elbow.endswith("armature 1 kg*m^2")
    assert ", armature " not in check_robot(URDF / "arm_7r.urdf.xacro", first_run=False)[0]


def test_what_gazebo_does_not_get_is_said(tmp_path):
    said, _ = check_robot(URDF / "boom_7r.urdf.xacro", first_run=False)
    assert "Gazebo       gets all 13 joints that move; it lacks: nothing" in said
    said, _ = check_robot(URDF / "arm_7r.urdf.xacro", "", {"armature": "true"}, first_run=False)
    assert "it lacks: armature of shoulder_yaw, shoulder_pitch" in said
    text = load_robot_description(URDF / "arm_7r.urdf.xacro")
    (tmp_path / "arm.urdf").write_text(text.replace('"shoulder_yaw"', '"a::b"'))
    said, usable = check_robot(tmp_path / "arm.urdf", first_run=False)
    assert usable and "warning: gazebo.launch.py refuses it: joint 'a::b': Gazebo cannot have that name" in said


def steps_of(text: str) -> list[str]:
    return re.findall(r"^ *\d+\. ([^:]+): ", text, re.MULTILINE)


STEPS = [
    *(
        "Frames",
        "Tool",
        "Masses and inertias",
        "Limits of the joints",
        "Elastic parts",
        "Sensors",
        "Commands",
        "Stages",
    ),
    *("Rate and gains", "Run"),
]


LONG = pytest.mark.long


@pytest.mark.parametrize(
    "name", ["planar_3r", *(pytest.param(name, marks=LONG) for name in ("arm_7r", "flexible_2r", "trep"))]
)
def test_it_leads_through_ten_steps_to_a_scenario_that_a_dry_run_does(tmp_path, packages, name):
    study = tmp_path / "elsewhere" / "study.yaml"
    study.parent.mkdir()
    text, usable = check_robot(URDF / f"{name}.urdf.xacro", write=study)
    assert usable and steps_of(text) == STEPS and f"written to {study}" in text
    scenario = load_scenario(study, packages)
    assert scenario.robot.description.name == name
    assert {figure.name for figure in scenario.figures if figure.goal} == {"tracking", "watchdog_stops"}
    if name == "flexible_2r":  # a run of links that bend takes long, and the check has done it
        assert "10. Run: ready" in text
    else:
        assert not dry_run(scenario).failure


def test_a_point_mass_on_the_last_axis_is_a_warning_beside_a_run_that_is_ready(tmp_path):
    """No line says error or missing where the first run is ready."""
    text = load_robot_description(URDF / "arm_7r.urdf.xacro")
    spin = '<link name="bit"><inertial><mass value="0.5"/></inertial></link>'
    spin += '<joint name="spin" type="revolute"><parent link="tool0"/>'
    spin += (
        '<child link="bit"/><axis xyz="0 0 1"/><limit lower="-2" upper="2" velocity="2" effort="20"/></joint></robot>'
    )
    driven = '<joint name="spin"><command_interface name="effort"/></joint></ros2_control>'
    path = tmp_path / "arm.urdf"
    path.write_text(text.replace("</ros2_control>", driven).replace("</robot>", spin))
    said, usable = check_robot(path, "bit")
    assert usable and "10. Run: ready" in said and "warning: 'spin' moves next to no inertia" in said
    assert not [line for line in said.splitlines() if line.lstrip().startswith(("missing:", "error:"))]


def test_what_is_printed_is_what_is_written(tmp_path):
    model = ArmModel(load_robot_description(URDF / "planar_4r.urdf.xacro"))
    path = tmp_path / "arm.urdf"
    path.write_text(model.description.text)
    text, _ = check_robot(path)
    check_robot(path, write=tmp_path / "study.yaml")
    lines = (tmp_path / "study.yaml").read_text().splitlines()
    assert [line[10:] for line in text[text.index("          title: ") :].splitlines()] == lines


TEXTS = ("", " left ", "on", "~", "1e3", "0x1f", "- a", "a: b", "a #b", "it's", "{x}", "!x", "*a", "a,b", 'é\n"b"')


def test_arguments_are_read_from_what_is_written_as_they_were_given(tmp_path, packages):
    model = ArmModel(load_robot_description(URDF / "planar_4r.urdf.xacro"))
    given = {f"a{i}": text for i, text in enumerate(TEXTS)} | {"on": "x"}
    declared = "".join(f'<xacro:arg name="{name}" default="?"/>' for name in given)
    text = re.sub(
        "<robot [^>]*>", f'<robot name="arm" xmlns:xacro="http://ros.org/wiki/xacro">{declared}', model.description.text
    )
    (tmp_path / "arm.urdf.xacro").write_text(text)
    run, study = (
        next(first_run.first_runs(model, STANDARD_GRAVITY, {}, np.zeros((1, model.n)))),
        tmp_path / "study.yaml",
    )
    study.write_text(scenario_text(model, run, "arm.urdf.xacro", given), encoding="utf-8")
    assert load_scenario(study, packages).robot.arguments == given


def scaled(text: str, name: str, factor: float) -> str:
    """The numbers of an attribute times a factor."""

    def change(found: re.Match[str]) -> str:
        return f'{name}="{" ".join(repr(factor * float(number)) for number in found[1].split())}"'

    return re.sub(rf'\b{name}="([^"]*)"', change, text)


INERTIAS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


ALL = Arm("", guessed=False, held={})


@pytest.mark.parametrize("name", ["arm_7r", "flexible_2r", "trep"])
@pytest.mark.parametrize(
    ("attributes", "factor", "said"),
    [
        ((), 1.0, ""),
        (("lower", "upper"), 57.3, "is it in degrees"),
        (("velocity",), 57.3, "is it in degrees"),
        (("lower", "upper"), 1e6, ""),  # no limits
        (INERTIAS, 1e6, "is the inertia in kg"),
        (("xyz",), 1e3, "are lengths in millimeters"),
        (("value", "rho_A"), 1e3, "are masses in grams"),
    ],
)
def test_numbers_in_other_units_are_warned_of(tmp_path, name, attributes, factor, said):
    text = load_robot_description(URDF / f"{name}.urdf.xacro")
    for attribute in attributes:
        text = scaled(text, attribute, factor)
    model = ArmModel(parse_robot_description(text, massless=True))
    told = [finding.text for step in description_steps(model, ALL) for finding in step.findings]
    asked = "is it in", "are lengths", "is the inertia", "are masses"
    odd = [line for line in told if any(question in line for question in asked)]
    assert (said in odd[0] and all(line.startswith("warning: ") for line in odd)) if said else not odd


@pytest.mark.parametrize("name", ["arm_7r", "arm_6r", "flexible_3r", "trep", "boom_7r"])
def test_effort_limits_out_of_proportion_are_asked_about(name):
    text = load_robot_description(URDF / f"{name}.urdf.xacro")
    for factor, asked in ((1.0, False), (1e3 if name[:3] == "arm" else 1e5, True), (1e12, False)):
        model = ArmModel(parse_robot_description(scaled(text, "effort", factor), massless=True))
        told = [finding.text for step in description_steps(model, ALL) for finding in step.findings]
        odd = [line for line in told if "are they in N*mm, or placeholders?" in line]
        assert len(odd) == asked and all(line.startswith("warning: ") for line in odd)


def test_angles_of_origins_in_degrees_and_decimal_points_that_were_lost_are_warned_of():
    text = load_robot_description(URDF / "arm_6r.urdf.xacro")
    limit = re.search(r' upper="[^"]*"', text).group()
    for old, new, said in (
        (limit, ' upper="31.4159"', "moves up to 31.42 rad: is it in degrees, or is pi meant, with another decimal"),
        (limit, ' upper="628.3"', "moves up to 628.3 rad: is it in degrees, or is 2 pi meant"),
        (limit, ' upper="180"', "moves up to 180 rad: is it in degrees?"),
        (
            "<axis",
            '<origin rpy="0 90 0"/><axis',
            "'shoulder_yaw': <origin rpy> has an angle of 90 rad: is it in",
        ),
    ):
        changed = text.replace(old, new, 1)
        if "<origin" in new:
            begin = text.index('<joint name="shoulder_yaw"')
            end = text.index("</joint>", begin)
            joint = re.sub(r"<origin[^>]*>", "", text[begin:end]).replace(old, new, 1)
            changed = text[:begin] + joint + text[end:]
        model = ArmModel(parse_robot_description(changed, massless=True))
        told = [finding.text for step in description_steps(model, ALL) for finding in step.findings]
        assert [line for line in told if said in line], (said, told)


def test_what_stands_still_is_no_moving_mass_and_a_root_of_many_directions_is_not_called_held():
    text = load_robot_description(URDF / "arm_6r.urdf.xacro")
    model = ArmModel(parse_robot_description(text))
    moved = [line for step in description_steps(model, ALL) for line in step.lines if "kg moving" in line]
    free = with_root(text, "floating")
    fixed = ArmModel(parse_robot_description(free, held={"to_world": 0.0}))
    assert moved == [line for step in description_steps(fixed, ALL) for line in step.lines if "kg moving" in line]
    for kind, parts in (("floating", "three prismatic and three"), ("planar", "two prismatic joints and a revolute")):
        elastic = "<flexibility><elastic_joint name='to_world' stiffness='1'/></flexibility></robot>"
        bent = with_root(text, kind).replace("</robot>", elastic)
        assert not find_arm(bent).held
        with pytest.raises(RobotDescriptionError, match=f"'to_world' is {kind}.*{parts}"):
            parse_robot_description(bent)


def with_root(text: str, kind: str) -> str:
    """A robot whose root link hangs on a joint of several directions."""
    root = parse_robot_description(text, massless=True).root
    joint = f"<joint name='to_world' type='{kind}'><parent link='map'/><child link='{root}'/></joint>"
    return text.replace("</robot>", f"<link name='map'/>{joint}</robot>")


def test_a_point_mass_is_a_warning_and_does_not_keep_an_arm_from_its_first_run(tmp_path, recwarn):
    text = load_robot_description(URDF / "arm_7r.urdf.xacro")
    last = text.rindex("<inertia ")
    end = text.index("/>", last)
    path = tmp_path / "arm.urdf"
    path.write_text(text[:last] + re.sub(r'"[^"]*"', '"0"', text[last:end]) + text[end:])
    said, usable = check_robot(path)
    assert usable and "warning: link" in said and "a point mass" in said and "  error:" not in said
    assert not [warning for warning in recwarn if issubclass(warning.category, RuntimeWarning)]


def test_a_file_that_is_there_is_never_written_over(tmp_path):
    (tmp_path / "study.yaml").write_text("mine")
    with pytest.raises(ConfigError, match="stays as it is"):
        check_robot(URDF / "arm_7r.urdf.xacro", write=tmp_path / "study.yaml")
    assert (tmp_path / "study.yaml").read_text() == "mine"


@pytest.mark.long
def test_where_nothing_can_be_proposed_it_says_what_was_tried_and_writes_nothing(tmp_path, monkeypatch):
    """Velocity limits that no motion keeps: every dry run is held back by the gate."""
    monkeypatch.setattr(first_run, "SIZES", (0.1,))  # it gives up sooner
    monkeypatch.setattr(first_run, "CHOICES", 1)
    path = tmp_path / "stuck.urdf"
    text = load_robot_description(URDF / "planar_4r.urdf.xacro")
    path.write_text(re.sub(r'velocity="[\d.]+"', 'velocity="1e-5"', text))
    said, usable = check_robot(path, write=tmp_path / "study.yaml")
    assert not usable and "missing: a first run" in said and "tried: " in said
    assert not (tmp_path / "study.yaml").exists()


@pytest.mark.parametrize("seed", [6, *(pytest.param(seed, marks=LONG) for seed in (0, 4))])
def test_an_arm_that_is_planar_slides_or_sags_gets_a_run_within_its_limits(tmp_path, packages, seed):
    """A planar arm is led in its plane, a gantry along its slides; a base that sags begins where it rests."""
    name, text = random_arm(seed)
    (tmp_path / "arm.urdf").write_text(text)
    said, usable = check_robot(tmp_path / "arm.urdf", write=tmp_path / "study.yaml")
    assert usable, f"{name}: {said}"
    assert not dry_run(load_scenario(tmp_path / "study.yaml", packages)).failure


def changed(tmp_path: Path, old: str, new: str) -> Path:
    path = tmp_path / "arm.urdf"
    text = load_robot_description(URDF / "arm_7r.urdf.xacro")
    assert re.search(old, text, re.DOTALL)
    path.write_text(re.sub(old, new, text, count=1, flags=re.DOTALL))
    return path


def test_every_joint_that_moves_no_mass_is_named_with_the_lines_to_add(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(
        re.sub(r"<inertial>.*?</inertial>", "", load_robot_description(URDF / "arm_7r.urdf.xacro"), flags=re.DOTALL)
    )
    text, usable = check_robot(path, first_run=False)
    assert not usable and "cannot be used for dynamics yet" in text
    assert text.count("has no <inertial> with a mass") == 7 and text.count("<mass value=") == 7
    assert "ik_redundancy_solver: can run" in text and text.count("cannot run: joints move no mass") == 1
    assert steps_of(text) == STEPS[:8]


def test_an_inertia_of_no_body_is_said(tmp_path):
    text, usable = check_robot(changed(tmp_path, r'izz="[\d.e-]+"', 'izz="7.0"'), first_run=False)
    assert not usable and "are of no body" in text  # MuJoCo refuses it too
    assert text.count("cannot run: ") == 1 and "simulated_plant, rns_vibration_controller" in text


def test_a_limit_that_is_not_there_is_warned_of_with_its_line(tmp_path):
    endless = changed(tmp_path, r'type="revolute"(.*?)<limit [^>]*>', r'type="continuous"\1')
    text, usable = check_robot(endless, first_run=False)
    assert usable and 'no <limit velocity="..."> for shoulder_yaw' in text and '<joint name="shoulder_yaw">' in text


def test_a_limit_of_zero_is_refused(tmp_path):
    text, usable = check_robot(changed(tmp_path, r' velocity="[\d.]+"', ' velocity="0"'))
    assert not usable and "'shoulder_yaw': <limit velocity> is 0" in text
    text, usable = check_robot(changed(tmp_path, r' effort="[\d.]+"', ' effort="0"'))
    assert not usable and "<limit effort> of 'shoulder_yaw' is 0" in text and "ik_redundancy_solver: can run" in text


def test_limits_that_are_not_kept_are_said(tmp_path):
    text = load_robot_description(URDF / "arm_6r.urdf.xacro")
    soft = '<safety_controller soft_lower_limit="-1" soft_upper_limit="1" k_position="9" k_velocity="9"/>'
    endless = text.replace('type="revolute"', 'type="continuous"', 1)
    ends = '<param name="min">-1</param><param name="max">1</param></command_interface>'
    narrow = text.replace('<command_interface name="effort"/>', f'<command_interface name="effort">{ends}', 1)
    for changed, said in (
        (text.replace("<limit", f"{soft}<limit", 1), "soft limits (<safety_controller>) are not kept: 'shoulder_yaw'"),
        (endless, "position limits of continuous joints mean nothing in URDF, and are not kept: 'shoulder_yaw' [-3"),
        (narrow, "min and max of a <command_interface> are not kept: 'shoulder_yaw' effort [-1, 1]; if they must be"),
        (endless.replace('"effort"/>', f'"position">{ends}', 1), "are not kept: 'shoulder_yaw' position [-1, 1]"),
    ):
        (tmp_path / "arm.urdf").write_text(changed)
        assert said in check_robot(tmp_path / "arm.urdf")[0]


def test_a_joint_that_cannot_hold_its_weight_is_warned_of(tmp_path):
    text, usable = check_robot(
        changed(tmp_path, r'(<joint name="shoulder_pitch".*?effort=)"[\d.]+"', r'\1"20"'), first_run=False
    )
    assert usable and "'shoulder_pitch' carries up to" in text


def test_a_robot_of_several_tips_is_shown_how_one_is_named(tmp_path):
    path = changed(tmp_path, '"tool0"', '"flange_of_mine"')
    path.write_text(
        path.read_text()
        .replace('"tool0"', '"flange_of_mine"')
        .replace(
            "</robot>",
            '<link name="camera"/><joint name="mount" type="fixed"><parent link="base_link"/>'
            '<child link="camera"/></joint></robot>',
        )
    )
    text, usable = check_robot(path, first_run=False)
    assert (
        usable and "tool frame   flange_of_mine" in text and "is a guess: choose another link with --tool-frame" in text
    )
    assert "no joint moves tool frame 'camera'" in check_robot(path, "camera", first_run=False)[0]
    assert check_robot(path, "flange_of_mine", first_run=False)[1]


def test_sensors_and_commands_that_a_real_arm_needs_are_given_as_lines(tmp_path):
    text, usable = check_robot(changed(tmp_path, "<ros2_control.*</ros2_control>", ""), first_run=False)
    assert usable and "DRIVER_OF_THE_ARM" in text and 'name="base_ft_sensor"' in text
    assert "base_wrench_torque_estimator: needs a force/torque sensor under the base link" in text


def test_a_base_that_its_weight_bends_beyond_its_limits_is_warned_of(tmp_path):
    path = tmp_path / "boom.urdf"
    text = load_robot_description(URDF / "boom_7r.urdf.xacro")
    path.write_text(text.replace('stiffness="8000.0"', 'stiffness="80.0"'))
    sagging, usable = check_robot(path, first_run=False)
    (line,) = (line for line in sagging.splitlines() if "'boom_z' rests at" in line)
    weight = 9.81 * float(re.search(r"mass +([\d.]+) kg", sagging)[1])
    lighter = 9.81 * 3e-3  # what hangs inboard of it
    assert float(re.search(r"rests at (-[\d.]+) m", line)[1]) == pytest.approx(-(weight - lighter) / 80.0, rel=2e-3)
    assert "rests at" not in check_robot(URDF / "boom_7r.urdf.xacro", first_run=False)[0] and usable


TREE = """<robot name="r"><link name="base"/>{}</robot>"""
JOINT = """<link name="{1}"/><joint name="{0}" type="{3}"><parent link="{2}"/><child link="{1}"/>{4}</joint>"""


def tree(*joints: tuple[str, str, str, str, str]) -> str:
    """Description with these joints: name, child, parent, type, more."""
    return TREE.format("".join(JOINT.format(*joint) for joint in joints))


LIMITS = '<limit lower="0.2" upper="0.5" velocity="1" effort="1"/>'
FULL = '<limit lower="-1" upper="1" velocity="1" effort="1"/>'
ARM = (("a", "l1", "base", "revolute", FULL), ("b", "l2", "l1", "revolute", FULL), ("c", "l3", "l2", "revolute", FULL))
FOLLOWS = f'{FULL}<mimic joint="f"/>'


@pytest.mark.parametrize(
    ("joints", "given", "tool", "guessed", "held"),
    [
        ((), "", "l3", False, {}),
        ((("e", "camera", "l1", "fixed", ""),), "", "l3", True, {}),
        ((("e", "flange", "l3", "fixed", ""), ("g", "my_tcp", "l3", "fixed", "")), "", "my_tcp", True, {}),
        ((("e", "tool0", "l3", "fixed", ""), ("h", "hat", "base", "revolute", LIMITS)), "", "tool0", False, {"h": 0.2}),
        ((("w", "wheel", "base", "continuous", LIMITS),), "l3", "l3", False, {"w": 0.0}),
        ((("s", "ship", "l3", "floating", ""),), "l2", "l2", False, {"c": 0.0, "s": 0.0}),
        ((("f", "f1", "l3", "prismatic", FULL), ("m", "f2", "l3", "prismatic", FOLLOWS)), "", "l3", False, {"f": 0.0}),
    ],
)
def test_the_arm_is_found_and_the_rest_is_held(joints, given, tool, guessed, held):
    found = find_arm(tree(*ARM, *joints), given)
    assert (found.tool_frame, found.guessed, found.held) == (tool, guessed, held)


def test_what_the_description_says_is_driven_is_driven():
    said = tree(*ARM, ("h", "head", "base", "revolute", FULL)).replace(
        "</robot>", '<ros2_control><joint name="h"><command_interface name="effort"/></joint></ros2_control></robot>'
    )
    assert find_arm(said, "l3").held == {} and find_arm(said, "l3", {"h": 0.3}).held == {"h": 0.3}


def test_a_scenario_holds_the_joints_that_check_held(tmp_path):
    path = changed(tmp_path, "<ros2_control.*</ros2_control>", "")
    head = """<link name="head"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
      </inertial></link><joint name="nod" type="revolute"><parent link="base_link"/><child link="head"/>
      <limit lower="0.1" upper="1" velocity="0" effort="0"/></joint></robot>"""
    text = re.sub("<flexibility>.*?</flexibility>", "", path.read_text(), flags=re.DOTALL)
    path.write_text(text.replace("</robot>", head))
    study = tmp_path / "study.yaml"
    said, usable = check_robot(path, "tool0", write=study)
    assert usable and "not of the arm, read as fixed: at 0.1 nod" in said
    scenario = load_scenario(study)
    assert scenario.robot.held == {"nod": 0.1} and "nod" not in scenario.robot.description.actuated
    assert dry_run(scenario).failure == ""


def test_inertias_of_no_body_are_repaired_in_a_copy(tmp_path):
    path, copy = changed(tmp_path, r'izz="[\d.e-]+"', 'izz="7.0"'), tmp_path / "copy.urdf"
    said = repair(path, copy)
    assert "1 inertias changed" in said and "are of no body" in said
    assert check_robot(copy, first_run=False)[1]
    with pytest.raises(ConfigError, match="exists and stays as it is"):
        repair(path, copy)
    assert "nothing was written" in repair(copy, tmp_path / "other.urdf") and not (tmp_path / "other.urdf").exists()


def test_the_nearest_inertia_is_nearer_than_any_other_body():
    rng = np.random.default_rng(3)
    for _ in range(20):
        given = rng.normal(size=(3, 3))
        given = given + given.T
        nearest = nearest_inertia(given)
        assert not impossible_inertia(nearest)
        points = rng.normal(size=(2000, 4, 3)) * rng.uniform(0.0, 1.0, (2000, 1, 1))
        second = np.einsum("nki,nkj->nij", points, points)
        bodies = np.trace(second, axis1=1, axis2=2)[:, None, None] * np.eye(3) - second
        distances = np.linalg.norm(bodies - given, axis=(1, 2))
        assert np.linalg.norm(nearest - given) <= distances.min()


def test_a_joint_in_honey_and_one_that_moves_nothing_are_named(tmp_path):
    path = changed(tmp_path, "<limit ", '<dynamics damping="1e6"/><limit ')
    assert "decimal point?" in check_robot(path, first_run=False)[0]
    text = load_robot_description(URDF / "arm_7r.urdf.xacro")
    point = '<link name="{}"><inertial><mass value="0.1"/></inertial></link><joint name="{}" type="{}">{}</joint>'
    spin = point.format("bit", "spin", "continuous", '<parent link="tool0"/><child link="bit"/><axis xyz="0 0 1"/>')
    driven = '<joint name="spin"><command_interface name="effort"/></joint></ros2_control>'
    path.write_text(text.replace("</ros2_control>", driven).replace("</robot>", f"{spin}</robot>"))
    assert "warning: 'spin' moves next to no inertia" in check_robot(path, "bit", first_run=False)[0]


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("tol0", "there is no link for tool frame 'tol0'; did you mean 'tool0'?"),
        ("world", "no joint moves tool frame 'world'; links that move: "),
    ],
)
def test_a_tool_frame_that_is_no_tool_is_said_with_the_links_that_may_be_one(tool: str, said: str):
    text, usable = check_robot(URDF / "arm_6r.urdf.xacro", tool_frame=tool)
    assert not usable and said in text


@pytest.mark.long
def test_a_run_within_the_reaction_null_space_says_what_it_gains(tmp_path):
    """The base moves a hundredth of what it moves under the plain law, in the same dry run."""
    said, _ = check_robot(URDF / "planar_3r.urdf.xacro", write=tmp_path / "study.yaml")
    share = re.search(r"the base moves ([\d.]+) times as far as under the plain law \(resolved_acceleration\)", said)
    assert share is not None and float(share[1]) < 0.01
    plain = (tmp_path / "study.yaml").read_text().replace("law: reactionless", "law: resolved_acceleration")
    plain = re.sub(r"damping_ratio: [\d.]+", "damping_ratio: 0.0", plain)
    motions = []
    for text in ((tmp_path / "study.yaml").read_text(), plain):
        (tmp_path / "again.yaml").write_text(text)
        figures = dry_run(load_scenario(tmp_path / "again.yaml")).figures
        motions.append(next(figure.value for figure in figures if figure.name == "peak_base_energy_root"))
    assert motions[0] / motions[1] == pytest.approx(float(share[1]), rel=0.02)


def test_where_the_reaction_null_space_gains_nothing_the_run_is_without_it(tmp_path, monkeypatch):
    """A gantry that slides across the only direction in which its base gives way."""
    monkeypatch.setattr(first_run, "CHOICES", 2)
    slides = [random_arms.Link("prismatic", axis, (0.0, 0.0, -0.1), 8.0, -0.6, 0.6) for axis in "xyz"]
    arm = random_arms.Arm("gantry", slides, base={"x": (5.0, 0.016)})
    (tmp_path / "arm.urdf").write_text(random_arms.urdf(arm, np.random.default_rng(0)))
    said, usable = check_robot(tmp_path / "arm.urdf", write=tmp_path / "study.yaml")
    assert usable and "without the reaction null space, which gains nothing: in the best of 2 start postures" in said
    assert "rns_vibration_controller" not in (tmp_path / "study.yaml").read_text()


def test_a_makers_floating_root_is_an_elastic_base_by_name(tmp_path, arm_on_ship):
    """The file stays as it is; check finds a quiet run, and the scenario that it writes has the springs."""
    study = tmp_path / "study.yaml"
    springs = {"afloat_x": (2e4, 100.0), "afloat_rz": (4e3, 20.0)}
    said, usable = check_robot(arm_on_ship, write=study, springs=springs)
    assert usable, said
    text = study.read_text()
    assert "elastic: {afloat_x: 20000.0, afloat_rz: 4000.0}" in text
    assert "elastic_damping: {afloat_x: 100.0, afloat_rz: 20.0}" in text and "afloat:" not in text
    scenario = load_scenario(study)
    assert [joint.name for joint in scenario.robot.description.elastic] == list(springs)
    figures = compute_figures(scenario.figures, run_in_process(scenario, Progress("ship")))
    assert all(figure.holds for figure in figures if figure.goal is not None), figures
    study.write_text(f"{text}plant_robot: {{elastic_damping: {{afloat_x: 50.0}}}}\n")
    with pytest.raises(ConfigError, match="elastic_damping: 'afloat_x' has no stiffness in elastic"):
        load_scenario(study)
    study.write_text(text.replace("elastic: {afloat_x: 20000.0", "elastic: {afloat_q: 20000.0"))
    with pytest.raises(ConfigError, match="elastic: 'afloat_q' is not a joint that moves.*|afloat_x' has no stiffness"):
        load_scenario(study)


@pytest.mark.parametrize(("stiffness", "instead"), [(1e-300, "write 0 if it floats"), (1e15, "make it fixed or hold")])
def test_a_spring_that_cannot_be_meant_is_an_error_with_the_range_that_can(arm_on_ship, tmp_path, stiffness, instead):
    springs = {"afloat_x": (stiffness, 0.0)}
    said, usable = check_robot(arm_on_ship, write=tmp_path / "study.yaml", springs=springs)
    assert (
        not usable and f"error: elastic joint 'afloat_x': with a stiffness of {stiffness:g} N/m the 107 kg" in said
    ), said
    assert instead in said and "Hz; it may be 4.2e-15 to 3.8e+10 N/m (usual: 4.2e+03 to 3.8e+06, 1 to 30 Hz)" in said


def test_a_base_that_nothing_holds_is_asked_for_its_spring_or_for_what_measures_it(arm_on_ship, monkeypatch):
    tried = []
    monkeypatch.setattr(start, "dry_run", lambda scenario: tried.append(scenario.gravity) or DryRun("not tried"))
    said, usable = check_robot(arm_on_ship, springs={"afloat_z": (0.0, 0.0)})
    assert usable and set(map(tuple, tried)) == {(0.0, 0.0, 0.0)}
    assert (
        "tried: no spring holds afloat_z (stiffness 0) against the weight: give the stiffness of one that does" in said
    )
    assert "or one on wheels, whose pose and twist somebody measures: base_odometry tells them to the stages" in said


def test_a_spring_beside_the_arm_is_warned_of(tmp_path):
    """A panel that swings on the base of the arm, which is no base under it."""
    panel = """<link name="panel"><inertial><mass value="3"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
      </inertial></link><joint name="hinge" type="revolute"><parent link="{}"/><child link="panel"/><axis xyz="0 1 0"/>
      <limit lower="-1" upper="1" velocity="9" effort="0"/></joint>"""
    text = load_robot_description(URDF / "arm_6r.urdf.xacro")
    path = tmp_path / "panel.urdf"
    path.write_text(text.replace("</robot>", panel.format(parse_robot_description(text).root) + "</robot>"))
    said, usable = check_robot(path, "tool0", first_run=False, springs={"hinge": (900.0, 1.0)})
    assert (
        usable and "warning: hinge carries no joint of the arm: what swings there counts as a direction of" in said
    ), said


@pytest.mark.parametrize("springs", [{}, {"afloat_x": (2e4, 100.0)}])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("elbwo", "held: 'elbwo' is not a joint that moves"),
        ("afloat_x", "held: .*afloat_x.* (is elastic|is not a joint that moves)"),
    ],
)
def test_a_joint_that_is_held_by_hand_is_held_or_refused(arm_on_ship, springs, name, said):
    """Only joints that the check holds by itself give way to springs."""
    report, usable = check_robot(arm_on_ship, first_run=False, held={name: 0.0}, springs=springs)
    assert not usable and re.search(said, report), report


@pytest.fixture
def arm_on_ship(tmp_path):
    """A robot whose root joint is floating, as a maker gives it."""
    text = load_robot_description(URDF / "arm_6r.urdf.xacro")
    root = parse_robot_description(text).root
    body = """<link name="hull"><inertial><mass value="80"/><inertia ixx="9" iyy="9" izz="9" ixy="0" ixz="0" iyz="0"/>
      </inertial></link>"""
    more = f"""<link name="sea"/>{body}
      <joint name="afloat" type="floating"><parent link="sea"/><child link="hull"/></joint>
      <joint name="bolts" type="fixed"><parent link="hull"/><child link="{root}"/></joint>"""
    path = tmp_path / "ship.urdf"
    path.write_text(text.replace("</robot>", f"{more}</robot>"))
    return path
