"""A robot with meshes is seen in the report: as it is described, in little room, and what is missing is named."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import trimesh
from browser import CHROMIUM, Browser

from flexarm_core.robot.load import load_robot
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.uri import with_own_meshes
from flexarm_tools.report.report import MOST_TRIANGLES, Run, _missing, write_run_report
from flexarm_tools.report.solids import Solid, further_solids, link_solids, simplified

SIZE = (0.9, 0.16, 0.12)  # [m] of the mesh


@pytest.fixture
def report(load, record, planar_3r_text, tmp_path):
    """The report of an arm whose links are drawn by meshes, of which that of link3 is lost."""
    ball = trimesh.creation.icosphere(subdivisions=5)  # 20,480 triangles
    ball.apply_transform(np.diag([*(0.5 * np.array(SIZE)), 1.0]))
    ball.apply_translation([0.5, 0.0, 0.0])
    ball.export(tmp_path / "link.stl")
    text = planar_3r_text
    for name, file in (("link1", "link.stl"), ("link2", "link.stl"), ("link3", "lost.stl")):
        mesh = f'<visual><geometry><mesh filename="file://{tmp_path}/{file}"/></geometry></visual>'
        own = re.search(rf'<link name="{name}">.*?</link>', text, re.DOTALL)[0]
        drawn = re.sub(r"<visual>.*</visual>|<collision>.*</collision>", "", own, flags=re.DOTALL)
        text = text.replace(own, drawn.replace("</link>", f"{mesh}</link>"))
    scenario = load()
    scenario = replace(scenario, robot=replace(scenario.robot, description=parse_robot_description(text)))
    write_run_report(tmp_path / "report.html", Run("run", scenario, record(np.zeros_like, 1.0), ()))
    return tmp_path / "report.html"


def test_meshes_are_in_it_as_large_as_they_are_and_a_lost_one_is_a_rod_and_named(report):
    page = report.read_text(encoding="utf-8")
    robot = json.loads(re.search(r'id="animation-data">(.*?)</script>', page, re.DOTALL)[1])["robots"][0]
    meshes = [shape for shape in robot["tree"]["shapes"] if shape["kind"] == "mesh"]
    balls = [mesh for mesh in meshes if np.allclose(mesh["size"], SIZE, atol=0.01)]
    assert len(balls) == 2
    assert 1000 < sum(len(mesh["faces"]) for mesh in meshes) / 3 <= MOST_TRIANGLES
    for mesh in balls:
        points = np.reshape(mesh["points"], (-1, 3)) * mesh["grain"]
        np.testing.assert_allclose(np.ptp(points, axis=0), mesh["size"], atol=2.0 * mesh["grain"])
        assert max(mesh["faces"]) == len(points) - 1
        np.testing.assert_allclose(np.array(mesh["origin"])[[3, 7, 11]], [0.5, 0.0, 0.0], atol=0.01)
    (said,) = re.findall(r'class="hint missing">(.*?)</p>', page)
    assert "link3" in said and "lost.stl" in said and "link1" not in said


def test_a_simplified_solid_has_its_shape_and_turns_its_faces_outwards():
    ball = trimesh.creation.icosphere(subdivisions=5)
    for most in (3000, 300, 30):
        (solid,) = simplified({"ball": [Solid(np.array(ball.vertices), np.array(ball.faces), (1.0, 0.0, 0.0))]}, most)[
            "ball"
        ]
        assert 0 < len(solid.faces) <= most and solid.color == (1.0, 0.0, 0.0)
        if most == 30:
            continue
        left = trimesh.Trimesh(solid.vertices, solid.faces, process=False)
        assert left.volume == pytest.approx(ball.volume, rel=0.1 if most > 1000 else 0.4)
    assert simplified({}, 100) == {} and simplified({"none": []}, 100) == {"none": []}


@pytest.mark.parametrize("scale", [(1, -1, 1), (-0.5, 2, 3), (-1, -1, 1), (-1, -2, -1)], ids=str)
def test_a_mesh_with_a_negative_scale_is_a_mirror_image_whose_faces_turn_outwards(tmp_path, planar_3r_text, scale):
    """A left hand is the right one with a negative scale: report and view take the same solids, and light its outside.

    An odd number of negative factors turns triangles inside out, unless their corners change places.
    """
    hand = trimesh.creation.box((0.3, 0.1, 0.05))
    hand.apply_translation((0.4, 0.2, -0.1))
    hand = trimesh.util.concatenate([hand, trimesh.creation.icosphere(subdivisions=2, radius=0.2)])
    hand.export(tmp_path / "hand.stl")
    words = " ".join(map(str, scale))
    mesh = f'<mesh filename="file://{tmp_path}/hand.stl" scale="{words}"/>'
    visual = f'<visual><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><geometry>{mesh}</geometry></visual>'
    text = planar_3r_text.replace("</link>", f"{visual}</link>", 1)
    description, said = parse_robot_description(text), []
    (link,) = [name for name in description.links if name in further_solids(description, said.append)][:1]
    (read,) = [one for one in further_solids(description, said.append)[link] if len(one.faces) == len(hand.faces)]
    (shown,) = [one for one in link_solids(description, said.append)[link] if len(one.faces) >= len(hand.faces)]
    turn = trimesh.transformations.euler_matrix(0.1, 0.2, 0.3)[:3, :3]
    wanted = (hand.vertices * scale) @ turn.T + (1.0, 2.0, 3.0)
    for axis in np.vstack((np.eye(3), np.random.default_rng(0).normal(size=(9, 3)))):  # extent in several directions
        assert (read.vertices @ axis).max() == pytest.approx((wanted @ axis).max(), abs=1e-6)
        assert (read.vertices @ axis).min() == pytest.approx((wanted @ axis).min(), abs=1e-6)
    for solid in (read, shown, simplified({"hand": [read]}, 100)["hand"][0]):
        volume = trimesh.Trimesh(solid.vertices, solid.faces, process=False).volume
        assert volume == pytest.approx(hand.volume * abs(np.prod(scale)), rel=0.6 if len(solid.faces) < 101 else 1e-6)
    assert not said


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_a_mesh_is_drawn(report, tmp_path):
    browser = Browser(tmp_path / "profile", f"{report.as_uri()}#t=0&x=1&view=0,90")
    try:
        browser.wait(lambda: browser.value("document.querySelector('.clock')?.textContent"), "the player")
        counted = browser.value("""(() => {
          const canvas = document.querySelector("canvas.stage"), context = canvas.getContext("2d");
          const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
          let gray = 0;
          for (let i = 0; i < data.length; i += 4) {
            const [red, green, blue] = data.slice(i, i + 3);
            if (red === green && blue > red && blue - red < 20 && red > 70 && red < 165) gray += 1;
          }
          return gray;
        })()""")
        assert counted > 2000 and browser.errors == []
    finally:
        browser.close()


def test_meshes_of_a_package_that_is_not_installed_are_found_above_the_description(tmp_path, planar_3r_text):
    ball, robot = trimesh.creation.icosphere(), tmp_path / "some_arm" / "urdf" / "arm.urdf"
    for folder in ("some_arm/meshes", "some_arm/urdf", "other"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("some_arm/meshes/a link.stl", "some_arm/urdf/b.stl", "other/c.stl"):
        ball.export(tmp_path / file)
    robot.write_text("")
    uris = {
        "link1": "package://some_arm/meshes/a link.stl",
        "link2": "b.stl",
        "link3": "package://some_arm/../other/c.stl",
    }
    text = planar_3r_text
    for name, uri in uris.items():
        mesh = f'<visual><geometry><mesh filename="{uri}"/></geometry></visual>'
        text = text.replace(f'<link name="{name}">', f'<link name="{name}">{mesh}')
    description, said = parse_robot_description(text), []
    found = further_solids(description, said.append, robot)
    assert {name for name, solids in found.items() if any(len(one.faces) == len(ball.faces) for one in solids)} == {
        *("link1", "link2")
    }
    assert len(said) == 1 and "link3" in said[0]
    said.clear()
    further_solids(parse_robot_description(with_own_meshes(text, robot)), said.append)  # in another folder
    assert len(said) == 1 and "link3" in said[0]
    said.clear()
    renamed = parse_robot_description(text.replace("package://some_arm/", "package://some_arm_support/"))
    further_solids(renamed, said.append, robot)
    assert len(said) == 1 and "link3" in said[0]
    said.clear()
    further_solids(description, said.append)
    assert len(said) == 3


def test_a_mesh_has_the_unit_and_the_colors_of_its_file_and_else_those_of_the_description(tmp_path, planar_3r_text):
    box, ball = trimesh.creation.box((10.0, 2.0, 3.0)), trimesh.creation.icosphere()
    for part, color in ((box, [200, 100, 0, 255]), (ball, [0, 0, 0, 255])):
        part.visual = trimesh.visual.TextureVisuals(material=trimesh.visual.material.PBRMaterial(baseColorFactor=color))
    text = trimesh.exchange.dae.export_collada([box, ball]).decode()
    assert '<unit name="meter" meter="1"' in text or "<unit" not in text
    inches = '<unit name="inch" meter="0.0254"/>'
    text = re.sub(r"<unit[^>]*/>", inches, text) if "<unit" in text else text.replace("<up_axis", f"{inches}<up_axis")
    (tmp_path / "parts.dae").write_text(text)
    ball.export(tmp_path / "ball.stl")
    robot = planar_3r_text.replace("<link ", '<material name="paint"><color rgba="0 1 0 1"/></material><link ', 1)
    for name, file in (("link1", "parts.dae"), ("link2", "ball.stl")):
        mesh = f'<mesh filename="file://{tmp_path}/{file}"/></geometry><material name="paint"/>'
        robot = robot.replace(f'<link name="{name}">', f'<link name="{name}"><visual><geometry>{mesh}</visual>')
    said: list[str] = []
    found = further_solids(parse_robot_description(robot), said.append)
    assert said == []
    by_color = {tuple(round(255 * value) for value in one.color): one for one in found["link1"]}
    np.testing.assert_allclose(np.ptp(by_color[200, 100, 0].vertices, axis=0), np.array([10.0, 2.0, 3.0]) * 0.0254)
    np.testing.assert_allclose(np.ptp(by_color[76, 76, 76].vertices, axis=0), 2.0 * 0.0254, rtol=0.02)
    (painted,) = found["link2"]
    assert painted.color == (0.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("name", "said_as"),
    [
        ("link.stl", 'filename="../meshes/link.stl"'),
        ("link.stl", "filename = '../meshes/link.stl'"),
        ("a & b.stl", 'filename="../meshes/a &amp; b.stl"'),
    ],
)
def test_meshes_beside_a_description_are_found_from_what_nodes_and_recordings_get_of_it(
    tmp_path, planar_3r_text, name, said_as
):
    """Also through ``..``, as in the robots of Dexmate; out of a package it leads nowhere."""
    (tmp_path / "meshes").mkdir()
    (tmp_path / "robots").mkdir()
    trimesh.creation.icosphere().export(tmp_path / "meshes" / name)
    mesh = f"<visual><geometry><mesh {said_as}/></geometry></visual>"
    file = tmp_path / "robots" / "arm.urdf"
    file.write_text(planar_3r_text.replace('<link name="link1">', f'<link name="link1">{mesh}'))
    said: list[str] = []
    found = further_solids(load_robot(file), said.append)
    assert not said and len(found["link1"][0].faces) == len(trimesh.creation.icosphere().faces)


def test_the_report_names_three_meshes_that_are_not_found_and_counts_the_others():
    said = [f"mesh {i}.stl of link 'l{i}' is not shown: '../{i}.stl' is not there" for i in range(20)]
    line = _missing([{"missing": said}])
    assert "../2.stl" in line and "../3.stl" not in line and "; and 17 more." in line
    assert line.count("mesh") == 3
