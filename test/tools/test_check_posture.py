"""Postures that `flexarm check` proposes: over the ground, and clear of the whole robot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from robots import EXAMPLE_ROBOTS

from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot, load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_tools.check.arm import find_arm
from flexarm_tools.check.first_run import POSTURES, clear_postures
from flexarm_tools.check.posture import RobotBodies
from flexarm_tools.report.solids import solids_to_touch

URDF = Path(__file__).resolve().parents[2] / "urdf"


def of_others(name: str) -> ArmModel:
    for folder in Path(pin.__file__).resolve().parents:
        file = folder / EXAMPLE_ROBOTS / name
        if file.is_file():
            text = load_robot_description(file)
            arm = find_arm(text, "", None)
            return ArmModel(parse_robot_description(text, massless=True, held=arm.held), arm.tool_frame)
    pytest.skip("this robot comes with the package example-robot-data: pip install example-robot-data")


def ur10() -> ArmModel:
    return of_others("ur_description/urdf/ur10_robot.urdf")


class Collisions:
    """Pinocchio's collisions of the meshes themselves, beside the hulls in MuJoCo."""

    def __init__(self, model: ArmModel) -> None:
        self.model = pin.buildModelFromXML(model.description.text)
        self.data = self.model.createData()
        self.geometry = pin.buildGeomFromUrdfString(self.model, model.description.text, pin.COLLISION)
        self.geometry.addAllCollisionPairs()
        self.found = self.geometry.createData()
        self.columns = [model.joint_names.index(name) for name in list(self.model.names)[1:]]
        assert self.model.nq == model.n

    def __call__(self, posture: np.ndarray) -> set[tuple[str, str]]:
        q = np.ascontiguousarray(posture[self.columns])
        pin.computeCollisions(self.model, self.data, self.geometry, self.found, q, False)
        touching = set()
        for pair, result in zip(self.geometry.collisionPairs, self.found.collisionResults, strict=True):
            first, second = (self.geometry.geometryObjects[i] for i in (pair.first, pair.second))
            joints = first.parentJoint, second.parentJoint
            beside = self.model.parents[joints[0]] == joints[1] or self.model.parents[joints[1]] == joints[0]
            if result.isCollision() and joints[0] != joints[1] and not beside:
                touching.add((first.name, second.name))
        return touching

    def lowest(self, posture: np.ndarray, links: list[str]) -> float:
        pin.updateGeometryPlacements(
            self.model, self.data, self.geometry, self.found, np.ascontiguousarray(posture[self.columns])
        )
        heights = []
        for shape, pose in zip(self.geometry.geometryObjects, self.found.oMg, strict=True):
            if shape.name.rpartition("_")[0] in links:
                heights.append(min((pose * vertex)[2] for vertex in shape.geometry.vertices()))
        return float(min(heights))


def test_no_link_of_a_bought_arm_is_proposed_below_its_table():
    model = ur10()
    bodies, other = RobotBodies(model), Collisions(model)
    assert bodies.lowest_still == ""
    postures = clear_postures(model, bodies)
    assert len(postures) > 50
    above = ["forearm_link", "wrist_1_link", "wrist_2_link", "wrist_3_link"]
    for q in postures[:20]:
        assert other.lowest(q, above) > 0.04
        assert not other(q)
    everywhere = np.random.default_rng(1).uniform(-3.0, 3.0, (200, 6))
    assert bodies.low(everywhere, -0.3).mean() > 0.1


def test_heights_are_those_of_the_meshes():
    model = ur10()
    bodies, other = RobotBodies(model), Collisions(model)
    q = np.array([0.3, -1.0, 0.8, 0.2, 0.4, 0.1])
    for link in ("upper_arm_link", "forearm_link", "wrist_3_link"):
        height = bodies.heights(q[None])[link][0] + bodies.ground
        assert height == pytest.approx(other.lowest(q, [link]), abs=1.1e-3)  # half a millimeter of skin on each corner
    frame = other.model.getFrameId("tool0")  # without geometry
    pin.framesForwardKinematics(other.model, other.data, q[other.columns])
    height = bodies.heights(q[None])["tool0"][0] + bodies.ground
    assert height == pytest.approx(other.data.oMf[frame].translation[2], abs=1e-9)


def test_the_hand_of_a_humanoid_is_not_proposed_in_the_leg_that_it_stands_on():
    model = of_others("talos_data/robots/talos_reduced.urdf")
    bodies, other = RobotBodies(model), Collisions(model)
    assert bodies.lowest_still.startswith("leg_") and bodies.ground == pytest.approx(-1.083, abs=2e-3)
    spread = np.random.default_rng(1).uniform(
        np.maximum(model.lower, -3.0), np.minimum(model.upper, 3.0), (50, model.n)
    )
    touching = [other(q) for q in spread]
    built = set.intersection(*touching) | {("base_link_0", "torso_2_link_0")}  # the waist, whose hulls always touch
    for q in clear_postures(model, bodies):
        assert not other(q) - built
    legs = [q for q, pairs in zip(spread, touching, strict=True) if any("leg_" in a + b for a, b in pairs)]
    assert len(legs) > 5 and bodies.touches(np.vstack((legs, clear_postures(model, bodies))))[: len(legs)].all()


def test_a_folded_arm_touches_itself_and_a_straight_one_does_not():
    bodies = RobotBodies(ur10())
    straight, folded = np.zeros(6), np.array([0.0, -1.0, 3.1, 0.0, 0.0, 0.0])
    spread = np.random.default_rng(2).uniform(-3.0, 3.0, (50, 6))  # so that what always touches is known
    postures = np.vstack((straight, folded, spread))
    found = bodies.touches(postures)
    assert not found[0] and found[1] and 0 < found.sum() < len(found)


POST = """<robot name="beside_a_post">
  <link name="world"/>
  <link name="foot"/>
  <link name="upper">INERTIAL</link> <link name="lower">INERTIAL</link> <link name="tool0"/>
  <link name="post">INERTIAL<collision><origin xyz="0 0 0.2"/>
    <geometry><box size="0.1 0.1 1.4"/></geometry></collision></link>
  <joint name="bolts" type="fixed"><parent link="world"/><child link="foot"/><origin xyz="0 0 0.3"/></joint>
  <joint name="q1" type="revolute"><parent link="foot"/><child link="upper"/><axis xyz="0 0 1"/>
    <origin xyz="0 0 0.1"/><limit lower="-3" upper="3" effort="50" velocity="2"/></joint>
  <joint name="q2" type="revolute"><parent link="upper"/><child link="lower"/><axis xyz="0 0 1"/>
    <origin xyz="0.4 0 0"/><limit lower="-2" upper="2" effort="50" velocity="2"/></joint>
  <joint name="end" type="fixed"><parent link="lower"/><child link="tool0"/><origin xyz="0.4 0 0"/></joint>
  <joint name="hinge" type="revolute"><parent link="world"/><child link="post"/><axis xyz="0 0 1"/>
    <origin xyz="HINGE 0 0"/><limit lower="-1" upper="1" effort="50" velocity="2"/></joint>
</robot>""".replace(
    "INERTIAL",
    '<inertial><origin xyz="0.2 0 0"/><mass value="1"/>'
    '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>',
)


@pytest.mark.parametrize(("hinge", "first"), [("0.7", False), ("-0.3", True)])
def test_held_bodies_count_also_beside_the_first_link_and_links_without_geometry_are_thick(hinge, first):
    """The post stands in the way of the second link, or of the first."""
    model = ArmModel(parse_robot_description(POST.replace("HINGE", hinge), held={"hinge": 0.0}), "tool0")
    bodies = RobotBodies(model)
    assert bodies.lowest_still == "post" and bodies.ground == pytest.approx(-0.3 - 0.5, abs=1e-3)
    spread = np.random.default_rng(3).uniform((-3.0, -2.0), (3.0, 2.0), (300, 2))
    found = bodies.touches(spread)
    ends = 0.4 * np.stack((np.cos(spread[:, 0]), np.sin(spread[:, 0])), axis=1)
    tips = ends + 0.4 * np.stack((np.cos(spread.sum(axis=1)), np.sin(spread.sum(axis=1))), axis=1)
    along = np.linspace(0.0, 1.0, 200)[:, None, None]
    parts = [along * ends, ends + along * (tips - ends)]
    away = [np.linalg.norm(np.maximum(np.abs(part - [float(hinge), 0.0]) - 0.05, 0.0), axis=-1) for part in parts]
    assert (away[0] < 0.05).any() == first
    gap = np.minimum(*[values.min(axis=0) for values in away])  # of the middle of the links to the box, in the plane
    beside = np.all([(values.argmin(axis=0) % 199 > 5) | (values.min(axis=0) > 0.1) for values in away], axis=0)
    assert found[beside & (gap < 0.055)].sum() > 3 and found[beside & (gap < 0.055)].all()  # rods of 12 cm
    assert not found[gap > 0.062].any()
    near = bodies.touches(spread, 0.1)
    assert near[beside & (gap < 0.155)].all() and not near[gap > 0.162].any()
    assert 5 < found.sum() < 290
    assert not bodies.touches(clear_postures(model, bodies)).any()


def test_shapes_without_a_size_are_points(recwarn):
    """The eyes of an Armar are balls of radius 0."""
    text = load_robot_description(URDF / "arm_6r.urdf.xacro")
    for shape in ('<sphere radius="0"/>', '<cylinder radius="0" length="0"/>', '<box size="0 0 0"/>'):
        geometry = f'<origin xyz="0.1 0 0"/><geometry>{shape}</geometry>'
        first = text.index("<visual", text.index("<link", text.index("<joint")))
        changed = f"{text[:first]}<collision>{geometry}</collision><visual>{geometry}</visual>{text[first:]}"
        model = ArmModel(parse_robot_description(changed))
        touched = [solid.vertices for solids in solids_to_touch(model.description).values() for solid in solids]
        assert all(np.isfinite(vertices).all() for vertices in touched)
        assert any(np.allclose(vertices, [0.1, 0.0, 0.0]) for vertices in touched)
        RobotBodies(model)
    assert not [warning for warning in recwarn if issubclass(warning.category, RuntimeWarning)]


def test_an_arm_that_cannot_leave_its_plane_keeps_every_posture():
    model = ArmModel(load_robot(URDF / "planar_3r.urdf.xacro"))
    bodies = RobotBodies(model)
    assert not bodies.low(np.zeros((3, 3)) + np.arange(3)[:, None], 0.2).any()
    assert len(clear_postures(model, bodies)) == POSTURES
