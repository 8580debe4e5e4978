"""What a launch of Gazebo writes for a scenario, and how it sees that a model has arrived."""

from __future__ import annotations

import importlib
import stat
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import gazebo_stepper
import numpy as np
import pytest
from gazebo_stepper import ROOT, GazeboRun
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from source_packages import SourcePackages

from flexarm_core.errors import ConfigError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState
from flexarm_nodes.messages.conversions import stamp_to_nanoseconds
from flexarm_tools.gazebo.arrival import let_run, models_in, wait_for
from flexarm_tools.gazebo.files import gazebo_paths, write_gazebo_files
from flexarm_tools.gazebo.names import GazeboNames
from flexarm_tools.gazebo.world import SURROUNDINGS, read_world, steps_in_period
from flexarm_tools.run.launch_request import LaunchRequest, own_controllers_file, requested_scenario
from flexarm_tools.run.parameter_file import read_parameter_file

WORLD = ROOT / "config/gazebo/flexarm.sdf"


def scenario(path):
    given = LaunchRequest(scenario=str(ROOT / path), robot_arguments="hardware:=gazebo controllers_file:=/c.yaml")
    return requested_scenario(given, SourcePackages({"flexarm": ROOT}))


def test_a_scenario_begins_in_gazebo_as_in_the_plant_with_its_gravity_and_surfaces(tmp_path):
    wanted = scenario("config/arm_7r/scenarios/behaviors.yaml")
    files = write_gazebo_files(replace(wanted, gravity=(0.0, 0.0, -1.6)), WORLD, False, "/c.yaml", tmp_path)
    assert read_world(files.world.read_text()).gravity == (0.0, 0.0, -1.6)
    assert list(files.models) == ["arm_7r", SURROUNDINGS]
    names = [tag.get("name") for tag in ElementTree.parse(files.models[SURROUNDINGS]).iter("link")]
    assert names == wanted.plant["surfaces.names"]
    root = ElementTree.parse(files.description)
    found, held = (
        [float(tag.findtext("param")) for tag in root.findall(f"ros2_control/joint/state_interface[@name='{name}']")]
        for name in ("position", "effort")
    )
    assert found == wanted.plant["initial_position"]
    model = ArmModel(wanted.robot.description.text, gravity=(0.0, 0.0, -1.6))
    none = np.zeros(0)
    assert np.allclose(held, model.gravity_effort(ArmState(0, np.array(found), np.zeros(7), none, none)))
    assert max(map(abs, held)) > 5.0
    own = write_gazebo_files(replace(wanted, gravity=(0.0, 0.0, -1.6)), WORLD, True, "/c.yaml", tmp_path)
    assert read_world(own.world.read_text()).gravity == (0.0, 0.0, -9.81)


def test_the_robot_of_the_plant_is_the_one_in_gazebo_and_the_nodes_keep_theirs(tmp_path):
    wanted = scenario("config/flexible_2r/scenarios/payload.yaml")
    assert wanted.plant_robot is not None
    files = write_gazebo_files(wanted, WORLD, False, "/c.yaml", tmp_path)
    (model,) = files.models.values()
    masses = {tag.get("name"): float(tag.findtext("inertial/mass")) for tag in ElementTree.parse(model).iter("link")}
    assert masses["payload"] == wanted.plant_robot.description.links["payload"].mass
    assert masses["payload"] != wanted.robot.description.links["payload"].mass
    assert "upper_arm__6" in masses
    assert "upper_arm__" not in files.description.read_text()


@pytest.mark.skipif(bool(gazebo_stepper.missing()), reason=gazebo_stepper.missing())
def test_sdformat_and_physics_take_what_was_written(tmp_path):
    files = write_gazebo_files(scenario("config/arm_7r/scenarios/behaviors.yaml"), WORLD, False, "/c.yaml", tmp_path)
    with GazeboRun([path.read_text() for path in files.models.values()]) as run:
        assert len([name for name in run.joints if not name.endswith("_spring")]) == 7 and "rror" not in run.said


@pytest.mark.parametrize("path", ["arm_7r/scenarios/behaviors", "flexible_2r/scenarios/payload"])
def test_in_a_namespace_an_arm_has_names_of_its_own(tmp_path, path):
    wanted = scenario(f"config/{path}.yaml")
    written = []
    for names in (GazeboNames("/cell/left", "left/"), None):
        files = write_gazebo_files(wanted, WORLD, False, "/c.yaml", tmp_path, names)
        written.append(ElementTree.parse(next(iter(files.models.values()))))
        prefix = "cell_left_" if names else ""
        assert list(files.models)[1:] in ([], [f"{prefix}surroundings"])
    own, shared = written
    robot = wanted.robot.description.name
    assert [tree.find("model").get("name") for tree in (own, shared)] == [f"cell_left_{robot}", robot]
    found, usual = ([(s.findtext("topic"), s.findtext("gz_frame_id")) for s in t.iter("sensor")] for t in (own, shared))
    assert usual and found == [(f"cell/left/{topic}", f"left/{frame}") for topic, frame in usual]
    managers = [tree.findall("model/plugin[@filename='gz_ros2_control-system']") for tree in (own, shared)]
    assert [[plugin.findtext("ros/namespace") for plugin in one] for one in managers] == [["/cell/left"], [None]]
    manager = str(tmp_path / "manager.yaml")
    said = [[tag.text for plugin in one for tag in plugin.findall("parameters")] for one in managers]
    assert said == [["/c.yaml", manager]] * 2


@pytest.mark.parametrize("namespace", ["", "/cell/left"])
def test_controller_manager_clock_and_sensors_have_the_rate_of_the_nodes(tmp_path, namespace):
    wanted = replace(scenario("config/boom_7r/scenarios/push_damped.yaml"), rate=250.0)
    files = write_gazebo_files(wanted, WORLD, False, "/c.yaml", tmp_path, GazeboNames(namespace))
    model = ElementTree.parse(next(iter(files.models.values())))
    (manager,) = model.findall("model/plugin[@filename='gz_ros2_control-system']")
    first, last = (Path(tag.text) for tag in manager.findall("parameters"))
    assert first == Path("/c.yaml")
    (given,) = read_parameter_file(last, ["controller_manager"], namespace).values()
    assert given == {"update_rate": 250, "use_sim_time": True}
    assert {tag.findtext("update_rate") for tag in model.iter("sensor")} == {"250"}
    assert [tag.findtext("rate") for tag in model.findall("model/plugin") if tag.find("rate") is not None] == ["250.0"]


def test_a_rate_that_does_not_go_with_the_step_is_refused_with_those_that_do(tmp_path):
    wanted = replace(scenario("config/arm_7r/scenarios/behaviors.yaml"), rate=300.0)
    with pytest.raises(ConfigError, match="no whole number of steps; use 285.714 or 333.333 Hz"):
        write_gazebo_files(wanted, WORLD, False, "/c.yaml", tmp_path)
    assert steps_in_period(1.0 / 0.003, 0.0005) == 6
    with pytest.raises(ConfigError, match="use 1000 Hz"):
        steps_in_period(2000.0, 0.001)


def test_a_robot_cannot_be_called_as_the_surroundings(tmp_path):
    wanted = scenario("config/arm_7r/scenarios/behaviors.yaml")
    robot = replace(wanted.robot, description=replace(wanted.robot.description, name=SURROUNDINGS))
    with pytest.raises(ConfigError, match="cannot have the name 'surroundings'"):
        write_gazebo_files(replace(wanted, robot=robot), WORLD, False, "/c.yaml", tmp_path)


def test_controllers_of_every_robot_are_found_beside_it():
    for path in (ROOT / "urdf").glob("*.urdf.xacro"):
        assert own_controllers_file(path).is_file()


LISTING = """Requesting state for world [flexarm]...

Available models:
    - ground
    - boom_7r
"""


def test_a_model_that_does_not_arrive_is_named_with_what_is_there(tmp_path, monkeypatch):
    assert models_in(LISTING) == ["ground", "boom_7r"]
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert "`gz model --list`: [Errno 2]" in wait_for(["boom_7r"], 0.0)
    program = tmp_path / "gz"
    program.write_text(f"#!/bin/sh\ncat << EOF\n{LISTING}EOF\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert wait_for(["ground", "boom_7r"], 0.0) == ""
    said = wait_for(["boom_7r", "arm_7r"], 0.0)
    assert "Gazebo did not take model 'arm_7r'" in said and said.endswith("models there: ground, boom_7r")
    program.write_text("#!/bin/sh\necho no world >&2\nexit 1\n")
    assert wait_for(["boom_7r"], 0.0).endswith("above say why; no world")


def test_a_world_that_does_not_begin_to_run_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    program = tmp_path / "gz"
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\necho "data: true"\n')
    program.chmod(0o755)
    assert let_run("flexarm", 0.0) == ""
    asked = (tmp_path / "asked").read_text()
    assert asked.startswith("service -s /world/flexarm/control ") and asked.endswith("3000 --req pause: false\n")
    program.write_text("#!/bin/sh\necho Service call timed out\n")
    assert let_run("flexarm", 0.0) == "Gazebo's world 'flexarm' does not run: Service call timed out"


def test_gazebo_finds_systems_among_the_libraries_and_meshes_in_every_package():
    given = {"LD_LIBRARY_PATH": "/l", "AMENT_PREFIX_PATH": "/a:/b", "GZ_SIM_RESOURCE_PATH": "/mine"}
    assert gazebo_paths(given) == {
        "GZ_SIM_SYSTEM_PLUGIN_PATH": "/l",
        "GZ_SIM_RESOURCE_PATH": "/mine:/a/share:/b/share",
    }


class Joints:
    """Stands for Gazebo's bindings, which are not in Debian: joints of one model by name."""

    def __init__(self, names):
        self.names, self.reset = names, {}

    def Model(self, entity):
        assert entity == 7
        return SimpleNamespace(joint_by_name=lambda ecm, name: name if name in self.names else None)

    def Joint(self, entity):
        return SimpleNamespace(
            valid=lambda ecm: entity is not None,
            reset_position=lambda ecm, positions: self.reset.update({entity: positions}),
        )


def test_every_joint_is_put_where_it_begins_and_a_missing_one_is_named(tmp_path, monkeypatch, capfd):
    wanted = replace(scenario("config/boom_7r/scenarios/push_damped.yaml"), gravity=(0.0, 0.0, -9.81))
    files = write_gazebo_files(wanted, WORLD, False, "/c.yaml", tmp_path)
    plugin = ElementTree.parse(files.models["boom_7r"]).find("model/plugin[start]")
    system = importlib.import_module(plugin.findtext("module_name")).get_system()
    description = wanted.robot.description
    elastic = [joint.name for joint in description.elastic]
    bindings = Joints([*description.actuated, *elastic[1:]])
    monkeypatch.setitem(sys.modules, "gz.sim8", bindings)
    system.configure(7, SimpleNamespace(get_string=plugin.findtext), None, None)
    assert [bindings.reset[name] for name in description.actuated] == [
        [value] for value in wanted.plant["initial_position"]
    ]
    assert set(bindings.reset) == set(bindings.names)
    assert max(abs(bindings.reset[name][0]) for name in elastic[1:]) > 1e-3
    assert f"no joint '{elastic[0]}'" in capfd.readouterr().out


def test_time_is_told_once_a_period_after_a_reset_and_while_it_stands_still(monkeypatch):
    heard, wall = [], [100.0]
    recorder = SimpleNamespace(publish=lambda said: heard.append(stamp_to_nanoseconds(said.clock)))
    made = Node.create_publisher
    monkeypatch.setattr(
        "rclpy.node.Node.create_publisher",
        lambda node, kind, *rest, **named: recorder if kind is Clock else made(node, kind, *rest, **named),
    )
    monkeypatch.setattr("flexarm_tools.gazebo.clock_system.time.monotonic", lambda: wall[0])
    system = importlib.import_module("flexarm_tools.gazebo.clock_system").get_system()
    system.configure(7, SimpleNamespace(get_double={"rate": 400.0}.get), None, None)
    try:
        for microseconds in range(0, 10_001, 500):
            system.post_update(SimpleNamespace(sim_time=timedelta(microseconds=microseconds), paused=False), None)
        assert heard == [0, 2_500_000, 5_000_000, 7_500_000, 10_000_000]
        standing = SimpleNamespace(sim_time=timedelta(seconds=4000, microseconds=3), paused=True)
        for _ in range(20):
            wall[0] += 0.25
            system.post_update(standing, None)
        assert len(heard) == 5 + 5 and heard[-1] == 4_000_000_003_000
        for microseconds in (500, 1000):  # Gazebo's reset
            system.post_update(SimpleNamespace(sim_time=timedelta(microseconds=microseconds), paused=False), None)
        assert heard[10:] == [500_000]
    finally:
        system.shutdown()
