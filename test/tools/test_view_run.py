"""Recorded runs in the browser view: files, playing, and what is wrong with either."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from flexarm_core.errors import InputError
from flexarm_core.flexible_dynamics.arm_sample import ArmSample

pytest.importorskip("viser", reason="viser is not installed")

from flexarm_tools.view.command import add_view_arguments, run_view
from flexarm_tools.view.page import ViewPage
from flexarm_tools.view.run_files import find_runs, run_robot, run_surroundings
from flexarm_tools.view.run_signals import run_signals
from flexarm_tools.view.run_view import RunView

WALL = {
    "surfaces.names": ["wall"],
    "surfaces.kinds": ["box"],
    "surfaces.positions": [0.8, 0.0, 0.3],
    "surfaces.rpys": [0.0, 0.0, 0.0],
    "surfaces.half_extents": [0.1, 0.2, 0.3],
}
AVOID = "behavior_impedance_controller.avoid"
BALL = {
    "behavior_impedance_controller.behaviors": ["reach", "avoid"],
    "behavior_impedance_controller.reach.kind": "attractor",
    f"{AVOID}.kind": "obstacles",
    f"{AVOID}.names": ["ball"],
    f"{AVOID}.kinds": ["sphere"],
    f"{AVOID}.positions": [0.5, 0.1, 0.0],
    f"{AVOID}.rpys": [0.0, 0.0, 0.0],
    f"{AVOID}.sizes": [0.25, 0.0, 0.0],
}


@pytest.fixture
def page() -> Iterator[ViewPage]:
    page = ViewPage("127.0.0.1", 0)
    yield page
    page.close()


@pytest.fixture
def folder(tmp_path, record, planar_3r_text) -> Path:
    """A report's folder with one run and one file that is none."""
    time = np.arange(2000) / 1000.0
    position = np.column_stack((time, -time, 0.3 * np.sin(time)))
    run = record(lambda t: 0.004 * np.sin(9.0 * t), 2.0, position=position)
    run.save(tmp_path / "recordings" / "good.npz")
    (tmp_path / "recordings" / "worse.npz").write_bytes(b"nothing")
    logs = tmp_path / "logs" / "good"
    logs.mkdir(parents=True)
    text = {"simulated_plant": {"ros__parameters": {"robot_description": planar_3r_text, "tool_frame": "tool0"} | WALL}}
    (logs / "simulated_plant.yaml").write_text(yaml.safe_dump(text))
    (logs / "control_loop.yaml").write_text(yaml.safe_dump({"control_loop": {"ros__parameters": BALL}}))
    (logs / "broken.yaml").write_text("- nothing")
    return tmp_path


def test_a_folder_and_a_file_are_found_and_the_robot_is_the_one_that_was_simulated(folder):
    assert list(find_runs(folder)) == ["good", "worse"]
    runs = find_runs(folder / "recordings" / "good.npz")
    description, tool = run_robot(runs["good"], None, {})
    assert (description.name, tool) == ("planar_3r", "tool0")
    with pytest.raises(InputError, match="give it with --robot"):
        run_robot(folder / "recordings" / "worse.npz", None, {})
    with pytest.raises(InputError, match="is no recording"):
        find_runs(folder / "logs")


def test_surfaces_and_obstacles_of_a_run_stand_where_its_parameter_files_have_them(folder, page):
    runs = find_runs(folder)
    description, tool = run_robot(runs["good"], None, {})
    around = run_surroundings(runs["good"], description)
    (wall,), (ball,) = around[description.root], around[description.base_frame]
    assert (wall.kind, wall.size, ball.kind, ball.size) == ("box", (0.2, 0.4, 0.6), "sphere", (0.25,))
    np.testing.assert_allclose(wall.transform_shape_to_link[:3, 3], [0.8, 0.0, 0.3])
    np.testing.assert_allclose(ball.transform_shape_to_link[:3, 3], [0.5, 0.1, 0.0])
    page.set_robot(description, tool)
    page.show(ArmSample(0.0, {}, {"base_x": 0.01}))
    page.surround(around)
    assert page.frames is not None
    names = list(page.server.scene._handle_from_node_name)
    assert [name for name in names if name.endswith("/around/0")] == [
        f"/attached/{link}/around/0" for link in (description.root, description.base_frame)
    ]
    moved = page.server.scene._handle_from_node_name[f"/attached/{description.base_frame}"]
    np.testing.assert_allclose(moved.position, [0.01 * page.factor, 0.0, 0.0], atol=1e-6)  # it swings with the base
    assert run_surroundings(folder / "recordings" / "worse.npz", description) == {
        description.root: [],
        description.base_frame: [],
    }


def test_trails_are_as_large_as_they_are_and_ride_on_the_base_that_carries_them(folder, page):
    description, tool = run_robot(find_runs(folder)["good"], None, {})
    page.set_robot(description, tool)
    page.choose_factor(0.01, 2.0)
    assert page.factor == 50.0
    reference = np.array([2.0, 0.1, 0.0])
    samples = [ArmSample(t, {}, {"base_x": 0.01 * t}, reference=reference, reference_in_base=True) for t in range(5)]
    page.show(samples[-1])
    page.show_trail(samples)
    nodes = page.server.scene._handle_from_node_name
    lines = {name: np.asarray(node.points) for name, node in nodes.items() if "/trail/" in name}
    assert sorted(lines) == [f"/attached/{description.base_frame}/trail/{name}" for name in ("actual", "reference")]
    for points in lines.values():
        assert (
            np.ptp(points.reshape(-1, 3), axis=0).max() < 1e-6
        )  # the tool rides on the base, and so does its reference
    page.show_trail([replace(sample, reference_in_base=False) for sample in samples])
    lines = {name: np.asarray(node.points) for name, node in nodes.items() if "/trail/" in name}
    (actual,) = (points for name, points in lines.items() if name.endswith("actual"))
    assert {name.split("/")[2] for name in lines} == {description.root}
    assert np.ptp(actual.reshape(-1, 3)[:, 0]) == pytest.approx(0.04, abs=1e-6)  # not 50 times as large


def test_plots_are_of_what_is_known_only(record):
    titles = [spec.title for spec, _ in run_signals(record(lambda t: 0.004 * np.sin(9.0 * t), 1.0))]
    assert titles == ["Base deflection"]
    spec, values = run_signals(record(lambda t: 0.004 * np.sin(9.0 * t), 1.0))[0]
    assert (spec.unit, spec.labels) == ("mm", ("base_x",))
    assert np.abs(values).max() == pytest.approx(4.0, rel=1e-3)


def test_a_run_plays_over_and_over_and_a_file_that_is_none_gets_a_message(folder, page):
    view = RunView(page, find_runs(folder), None, {})
    view.step()
    assert page.arm is not None and page.factor > 1.0
    assert view.now == 0.0
    view.toggle()
    time.sleep(0.1)
    view.step()
    assert 0.05 < view.now < 2.0
    view.show("worse")
    view.step()
    assert "worse.npz' cannot be read" in page.alarmed
    view.show("good")
    view.step()
    assert page.alarmed == ""


def test_a_robot_without_the_joints_of_the_run_gets_a_message(folder, page):
    other = folder / "other.urdf"
    other.write_text(ONE_JOINT)
    RunView(page, find_runs(folder), other, {}).step()
    assert "robot 'one' has no joint base_x, joint1, joint2, joint3" in page.alarmed


def test_the_command_refuses_what_it_cannot_show(tmp_path):
    parser = argparse.ArgumentParser()
    add_view_arguments(parser)
    options = parser.parse_args([str(tmp_path), "--port", "0"])
    options.arguments = []
    with pytest.raises(InputError, match="is no recording"):
        run_view(options)


ONE_JOINT = """
<robot name="one">
  <link name="base"/>
  <joint name="joint" type="revolute">
    <parent link="base"/><child link="arm"/><axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="10" velocity="1"/>
  </joint>
  <link name="arm">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
</robot>
"""
