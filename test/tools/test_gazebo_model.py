"""The model that Gazebo is told: read by sdformat and stepped by gz-physics where they are installed."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import gazebo_stepper
import numpy as np
import pytest
from gazebo_cases import (
    ARM_START,
    BOOM_START,
    DOWN,
    ROBOTS,
    STEP,
    WEIGHTLESS,
    at_rest_wrench_error,
    beside_the_plant,
    boom_modes,
    boom_sag,
    converted,
    error,
    flexible_modes,
    flexible_sag,
    moving,
    robot,
)
from gazebo_stepper import GazeboRun
from random_arms import random_arm
from random_flexible_arms import flexible_arm
from random_trees import random_robot

from flexarm_core.errors import ConfigError, RobotDescriptionError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.static_equilibrium import static_equilibrium
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_sim.surfaces import Surface
from flexarm_tools.gazebo.model import GazeboStart, gazebo_losses, gazebo_model, with_start
from flexarm_tools.gazebo.start import gazebo_start
from flexarm_tools.gazebo.world import read_world, surroundings_model, world_with

PHYSICS = pytest.mark.skipif(bool(gazebo_stepper.missing()), reason=gazebo_stepper.missing())
HELD = 1e-6  # [rad | m] by which an arm that begins in equilibrium and is held may move


@pytest.fixture(scope="module")
def boom():
    return robot("boom_7r")


def parsed(text):
    return ElementTree.fromstring(text).find("model")


# ---- what is written


def test_every_elastic_joint_has_its_spring_and_as_much_damping_as_dart_does_not_add(boom):
    joints = {tag.get("name"): tag for tag in parsed(gazebo_model(boom, STEP)).findall("joint")}
    assert len(boom.elastic) == 6
    for elastic in boom.elastic:
        dynamics = joints[elastic.name].find("axis/dynamics")
        assert float(dynamics.findtext("spring_stiffness")) == elastic.stiffness
        wanted = max(0.0, elastic.damping - STEP * elastic.stiffness)
        assert float(dynamics.findtext("damping")) == wanted


def test_sensors_are_in_frames_that_the_nodes_accept_on_topics_where_they_listen(boom):
    model = parsed(gazebo_model(boom, STEP, rate=250.0))
    sensors = {tag.get("name"): tag for tag in model.iter("sensor")}
    assert set(sensors) == {"base_ft_sensor", "tool_ft_sensor", "base_imu"}
    for name, sensor in (boom.force_torque_sensors | boom.imus).items():
        assert sensors[name].findtext("gz_frame_id") == sensor.frame
        assert sensors[name].findtext("update_rate") == "250"
    assert sensors["base_ft_sensor"].findtext("topic") == "base_wrench"
    assert sensors["base_ft_sensor"].findtext("force_torque/measure_direction") == "child_to_parent"
    assert sensors["base_ft_sensor"].findtext("force_torque/frame") == "child"
    assert sensors["base_imu"].findtext("topic") == "base_imu"


@pytest.mark.parametrize(("rate", "said"), [(1000.0, 1000.0), (125.0, 125.0), (400.0, 0.0), (2000.0, 0.0)])
def test_sensors_measure_when_the_controllers_do(boom, rate, said):
    """gz-sensors 8 cuts a period down to whole milliseconds, 2 kHz to none, for ever; 0 is every step."""
    sensors = list(parsed(gazebo_model(boom, STEP, rate=rate)).iter("sensor"))
    assert [float(sensor.findtext("update_rate")) for sensor in sensors] == [said] * 3


@pytest.mark.parametrize("name", ["arm_6r", "arm_7r", "flexible_2r", "planar_4r"])
def test_a_sensor_joint_at_the_root_has_a_link_on_either_side(name):
    description = robot(name)
    model = parsed(gazebo_model(description, STEP))
    links = {tag.get("name") for tag in model.findall("link")}
    joints = [tag for tag in model.findall("joint") if tag.find("sensor") is not None]
    assert joints
    for joint in joints:
        assert joint.findtext("parent") in links and joint.findtext("child") in links
    fixed = [joint for joint in model.findall("joint") if joint.findtext("parent") == "world"]
    assert [(joint.get("name"), joint.get("type")) for joint in fixed] == [("fixed_to_world", "fixed")]


def test_a_sensor_in_the_root_link_is_refused(boom):
    sensor = replace(boom.force_torque_sensors["base_ft_sensor"], frame="world")
    wrong = replace(boom, force_torque_sensors={"s": sensor})
    with pytest.raises(RobotDescriptionError, match="sits in the root link 'world'"):
        gazebo_model(wrong, STEP)


def test_no_speed_is_a_wall_and_motors_keep_their_efforts(boom):
    for tag in parsed(gazebo_model(boom, STEP)).findall("joint"):
        assert tag.find("axis/limit/velocity") is None
        if tag.get("name") in boom.actuated:
            joint = boom.joints[tag.get("name")]
            assert float(tag.findtext("axis/limit/effort")) == joint.effort_limit
            assert float(tag.findtext("axis/limit/lower")) == joint.lower


def test_tool_and_surfaces_can_touch(boom):
    model = parsed(gazebo_model(boom, STEP, tip_radius=0.02))
    touching = [link.get("name") for link in model.findall("link") if link.find("collision") is not None]
    assert touching == ["tool0"]
    assert float(model.findtext("link[@name='tool0']/collision/geometry/sphere/radius")) == 0.02
    wall = Surface("wall", "box", (1.0, 0.0, 0.5), (0.0, 0.0, 0.3), 1e4, 10.0, 0.2, (0.1, 0.5, 0.5))
    floor = Surface("floor", "plane", (0.0, 0.0, -0.1), (0.0, 0.0, 0.0), 1e4)
    model = parsed(surroundings_model([wall, floor], STEP))
    assert model.find("static") is None
    assert model.findtext("link[@name='wall']/collision/geometry/box/size") == "0.2 1.0 1.0"
    assert model.findtext("link[@name='wall']/collision/surface/friction/ode/mu") == "0.2"
    assert model.find("link[@name='floor']/collision/geometry/box") is not None
    found = {tag.get("name"): tag.find("axis") for tag in model.findall("joint")}
    assert list(found) == ["wall__x_spring", "wall__y_spring", "wall__z_spring", "floor__z_spring"]
    stiff = [float(axis.findtext("dynamics/spring_stiffness")) for axis in found.values()]
    assert all(1e4 < value < 1.34e4 for value in stiff)  # as DART makes less of it


@pytest.mark.parametrize(("rate", "bandwidth"), [(500.0, 200.0), (1000.0, 50.0)])
def test_a_position_drive_of_gazebo_is_as_fast_as_that_of_the_plant(boom, rate, bandwidth):
    """gz_ros2_control commands in a period the velocity ``gain rate error``: of an error ``1 - gain`` remains."""
    model = parsed(gazebo_model(boom, STEP, rate=rate, drive_bandwidth=bandwidth))
    gain = float(model.findtext("plugin/position_proportional_gain"))
    assert np.isclose((1.0 - gain) ** rate, np.exp(-bandwidth))


def test_own_collisions_and_tags_of_a_urdf_stay():
    text = robot("arm_7r").text.replace(
        '<link name="tool0"/>',
        '<link name="tool0"><collision><origin xyz="0 0 0.1"/><geometry><box size="1 2 3"/></geometry></collision>'
        '<visual><geometry><mesh filename="package://mine/hand.stl"/></geometry></visual></link>'
        '<gazebo reference="tool0"><sensor name="eye" type="camera"/><mu1>0.3</mu1></gazebo>'
        '<gazebo><plugin filename="mine" name="mine"/></gazebo>',
    )
    description = parse_robot_description(text)
    model = parsed(gazebo_model(description, STEP))
    assert model.findtext("link[@name='tool0']/collision/geometry/box/size") == "1.0 2.0 3.0"
    assert model.findtext("link[@name='tool0']/visual/geometry/mesh/uri") == "model://mine/hand.stl"
    assert model.find("link[@name='tool0']/sensor[@name='eye']") is not None
    assert {tag.get("name") for tag in model.findall("plugin")} == {
        "mine",
        "gz_ros2_control::GazeboSimROS2ControlPlugin",
        "gz::sim::systems::PythonSystemLoader",
    }
    assert list(gazebo_losses(description)) == ['<gazebo reference="tool0">: mu1']


def test_what_gazebo_lacks_is_said():
    assert list(gazebo_losses(robot("boom_7r"))) == []
    (said,) = gazebo_losses(robot("arm_7r", armature="true"))
    assert said.startswith("armature of shoulder_yaw, ")


def test_the_start_is_that_of_the_scenario_in_equilibrium_and_within_limits(boom):
    start = gazebo_start(boom, DOWN, {"initial_position": list(BOOM_START)})
    rest = static_equilibrium(ArmModel(boom, gravity=DOWN), np.array(BOOM_START))
    assert [start.joints[name] for name in boom.actuated] == list(BOOM_START)
    assert [start.joints[one.name] for one in boom.elastic] == pytest.approx(rest.tolist(), abs=1e-9)
    assert np.abs(rest).max() > 0.01
    given = gazebo_start(boom, DOWN, {"initial_deflection": [0.01, 0, 0, 0, 0, 0]})
    assert given.joints[boom.elastic[0].name] == 0.01
    flat = gazebo_start(boom, DOWN, {"start_in_equilibrium": False})
    assert {flat.joints[one.name] for one in boom.elastic} == {0.0}
    with pytest.raises(ConfigError, match="initial_position has 2 values, but the robot has 7"):
        gazebo_start(boom, DOWN, {"initial_position": [0.0, 0.0]})
    elbow = boom.joints["elbow"]
    moved = replace(boom, joints=boom.joints | {"elbow": replace(elbow, lower=-2.0, upper=-0.5)})
    assert gazebo_start(moved, WEIGHTLESS, {}).joints["elbow"] == -0.5


def test_a_base_under_links_that_gazebo_cannot_bend_begins_in_equilibrium_too():
    bends = robot("flexible_3r")
    links = {name: replace(link, beam=None, modal_data="x.npz") for name, link in bends.flexible_links.items()}
    stiff = replace(bends, flexible_links=links)
    start, bent = gazebo_start(stiff, DOWN, {}), gazebo_start(bends, DOWN, {})
    assert not start.hinges and len(bent.hinges) == 36
    assert start.joints["mast_y"] == pytest.approx(bent.joints["mast_y"], rel=0.02)
    assert start.joints["mast_y"] > 0.005
    assert list(gazebo_losses(stiff)) == ["bending of upper_arm, forearm (<modal_data> has no pieces)"]


def test_gz_ros2_control_is_told_the_start_and_nodes_read_the_same_robot(boom):
    start = gazebo_start(boom, DOWN, {"initial_position": list(BOOM_START)})
    text = with_start(boom, start)
    found = {}
    for joint in ElementTree.fromstring(text).iterfind("ros2_control/joint"):
        for param in joint.iterfind("state_interface[@name='position']/param[@name='initial_value']"):
            found[joint.get("name")] = float(param.text)
    assert found == dict(start.joints)
    again = parse_robot_description(text)
    assert (again.actuated, again.elastic, list(again.links)) == (boom.actuated, boom.elastic, list(boom.links))


def test_a_world_is_read_and_gets_another_gravity():
    text = (gazebo_stepper.ROOT / "config/gazebo/flexarm.sdf").read_text()
    assert read_world(text).step == STEP and read_world(text).gravity == DOWN
    assert read_world(world_with(text, (0.0, 1.0, 0.0))).gravity == (0.0, 1.0, 0.0)
    assert read_world("<sdf><world name='w'/></sdf>").step == 0.001
    for wrong in ("<sdf/>", "no", "<sdf><world name='w'><gravity>1 2</gravity></world></sdf>"):
        with pytest.raises(ConfigError, match="world"):
            read_world(wrong)


# ---- what sdformat and gz-physics make of it


@PHYSICS
@pytest.mark.parametrize("name", ROBOTS)
def test_every_robot_gets_in_with_every_joint_and_stands_where_it_is_put(name):
    description, text, start = converted(name)
    with GazeboRun([text], STEP, DOWN) as run:
        assert set(moving(description)) <= set(run.joints), run.said
        hinges = len(run.joints) - len(moving(description))
        assert hinges == len(start.hinges)
        assert "rror" not in run.said
        run.set(dict(start.joints))
        run.hold(description.actuated)
        positions, _, _ = run.run(0.5, 100)
    names = [name for name in run.joints if name in start.joints]
    columns = [run.joints.index(name) for name in names]
    wanted = [start.joints[name] for name in names]
    # a joint that is held by its velocity lets stiff springs beside it give way a little (docs/gazebo.md)
    held = 1e-3 if name == "flexible_3r" else HELD
    assert positions[:, columns] == pytest.approx(np.tile(wanted, (len(positions), 1)), abs=held)


@PHYSICS
@pytest.mark.parametrize("seed", range(12))
def test_random_robots_get_in_with_every_joint(seed, tmp_path):
    rng = np.random.default_rng(seed)
    tree = random_robot(rng, tmp_path, int(rng.integers(2, 9)), flexible=0.5)  # with modal data, which cannot bend
    for text in (random_arm(seed)[1], flexible_arm(seed).urdf(), tree):
        description = parse_robot_description(text)
        start = gazebo_start(description, WEIGHTLESS, {})
        model = gazebo_model(description, STEP, start, tool_frame=description.tip_links()[0])
        with GazeboRun([model], STEP, WEIGHTLESS) as run:
            assert set(moving(description)) <= set(run.joints), run.said
            assert len(run.joints) == len(moving(description)) + len(start.hinges)


@PHYSICS
def test_names_and_masses_that_sdformat_refuses_get_in():
    text = """<robot name="odd"><link name="world"/><link name="x"/><link name="__y__"/><link name="a::b">
      <inertial><mass value="1"/><inertia ixx="0" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="x" type="continuous"><parent link="world"/><child link="x"/><axis xyz="0 0 1"/></joint>
      <joint name="y" type="fixed"><parent link="x"/><child link="__y__"/></joint>
      <joint name="z" type="fixed"><parent link="__y__"/><child link="a::b"/>
        <origin rpy="0 1.5707963267948966 0"/></joint>
      </robot>"""
    with GazeboRun([gazebo_model(parse_robot_description(text), STEP)], STEP, DOWN) as run:
        assert run.joints == ("x",)
        run.effort({"x": 0.1})
        _, velocity, _ = run.run(0.5, 1000)
    # 0.1 N*m on a rod that stands upright along its own x axis: nothing but its thinness resists
    assert velocity[-1, 0] > 10.0
    with pytest.raises(RobotDescriptionError, match="joint 'world': Gazebo cannot have that name"):
        gazebo_model(parse_robot_description(text.replace('name="x" type', 'name="world" type')), STEP)


@PHYSICS
def test_soft_modes_of_the_boom_have_their_frequency_and_damping():
    modes = boom_modes()[:3]
    assert [mode.measured_frequency for mode in modes] == pytest.approx([mode.frequency for mode in modes], rel=0.01)
    assert [mode.measured_damping for mode in modes] == pytest.approx([mode.damping for mode in modes], rel=0.01)
    raw = boom_modes(compensated=False)[0]
    assert raw.measured_damping > 1.3 * raw.damping  # what the compensation is for


@PHYSICS
@pytest.mark.parametrize(("name", "position"), [("flexible_2r", (0.0, 0.785)), ("flexible_3r", (0.0, 0.5, 0.5))])
def test_links_that_bend_have_their_modes(name, position):
    modes = flexible_modes(name, position, 3)
    assert [mode.measured_frequency for mode in modes] == pytest.approx([mode.frequency for mode in modes], rel=0.01)
    assert modes[0].measured_damping == pytest.approx(modes[0].damping, rel=0.1)


@PHYSICS
def test_the_boom_sags_as_the_model_says():
    assert boom_sag() < 1e-4


@PHYSICS
def test_flexible_links_sag_as_in_the_plant():
    assert flexible_sag() < 5e-4


@PHYSICS
def test_wrenches_of_sensors_are_those_of_the_plant():
    here, there = beside_the_plant("arm_7r", ARM_START, [0.0] * 7, 0.3)
    assert error(here, there, "base_ft_sensor") < 0.01
    assert error(here, there, "tool_ft_sensor") < 0.01
    for name, position in (("boom_7r", BOOM_START), ("arm_7r", ARM_START)):
        at_rest = at_rest_wrench_error(name, position)
        assert len(at_rest) == 2 and max(at_rest.values()) < 0.001


@PHYSICS
def test_an_arm_falls_as_in_the_plant_until_a_limit():
    here, there = beside_the_plant("arm_7r", ARM_START, [0.0] * 7, 0.6)
    assert here["time"][-1] > 0.35 and np.ptp(there["position"], axis=0).max() > 0.5
    assert error(here, there, "position") < 0.005


@PHYSICS
def test_links_that_bend_do_so_in_gazebo_too():
    efforts, position = [20.0, 0.0], [0.0, 0.785]
    bent = error(*beside_the_plant("flexible_2r", position, efforts, 0.5, WEIGHTLESS), "velocity")
    rigid = error(*beside_the_plant("flexible_2r", position, efforts, 0.5, WEIGHTLESS, rigid=True), "velocity")
    assert bent < 0.03 < 0.15 < rigid


@PHYSICS
def test_a_tool_that_falls_on_a_floor_stays_above_it(boom):
    description = robot("arm_7r")
    start = GazeboStart(dict(zip(description.actuated, ARM_START, strict=True)))
    text = gazebo_model(description, STEP, start)
    with GazeboRun([text], STEP, DOWN) as run:
        run.set(dict(start.joints))
        height = run.where("tool0")[2] - 0.1
    floor = Surface("floor", "plane", (0.0, 0.0, height), (0.0, 0.0, 0.0), 1e6, 1e3)
    lowest = {}
    for surfaces in ([], [floor]):
        with GazeboRun([text, *([surroundings_model(surfaces, STEP)] if surfaces else [])], STEP, DOWN) as run:
            run.set(dict(start.joints))
            heights = []
            for _ in range(40):
                run.run(0.01, 20)
                heights.append(run.where("tool0")[2])
        lowest[bool(surfaces)] = min(heights)
    assert lowest[True] > height > lowest[False]  # of the center of the tip, which has a radius of 15 mm


BALL = """<sdf version="1.9"><model name="ball"><pose>0.1 0 0.051 0 0 0</pose><link name="ball">
<inertial><mass>MASS</mass><inertia><ixx>0.002</ixx><iyy>0.002</iyy><izz>0.002</izz></inertia></inertial>
<collision name="c"><geometry><sphere><radius>0.05</radius></sphere></geometry></collision></link></model></sdf>"""


@PHYSICS
@pytest.mark.parametrize("kind", ["plane", "box"])
@pytest.mark.parametrize("stiffness", [1e4, 1e6])
def test_a_surface_gives_way_by_its_stiffness(kind, stiffness):
    """The difference of two weights: Debian's gz-physics 5 does not know that the surface itself has none."""
    half, sunk = (0.5, 0.5, 0.1), []
    place, extents = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)) if kind == "plane" else ((0.0, 0.0, -half[2]), half)
    surface = Surface("floor", kind, place, (0.0, 0.0, 0.0), stiffness, 100.0, 0.5, extents)
    for mass in (1.0, 3.0):
        ball = BALL.replace("MASS", repr(mass))
        with GazeboRun([ball, surroundings_model([surface], STEP)], STEP, DOWN) as run:
            run.run(2.0, 4000)
            sunk.append(0.05 - run.where("ball")[2])
    assert np.isclose(sunk[1] - sunk[0], 2.0 * 9.81 / stiffness, rtol=0.01)
