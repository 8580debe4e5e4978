"""How a link moves at the end of a path of joints, against Pinocchio on random trees."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
from elastic_base_arms import elastic_base_arm
from random_trees import random_robot

from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array

GRAVITY = (1.0, -2.0, 9.0)


class Reference:
    """The tool of a model, by Pinocchio."""

    def __init__(self, model: ArmModel) -> None:
        self.model, self.pin = model, pinocchio.buildModelFromXML(model.description.text)
        self.data = self.pin.createData()
        joints = [*model.joint_names, *model.elastic_joint_names]
        self.columns = [self.pin.joints[self.pin.getJointId(name)].idx_v for name in joints]
        self.tool, self.base = (self.pin.getFrameId(name) for name in (model.tool_frame, model.base_frame))

    def ordered(self, joints: Array, elastic: Array) -> Array:
        values = np.zeros(self.pin.nv)
        values[self.columns] = np.concatenate((joints, elastic))
        return values

    def kinematics(self, state: ArmState, swings: bool) -> tuple[Array, ...]:
        """Pose (4, 4), twist, Jacobian of all coordinates and bias of the tool, axes of the root link."""
        share = 1.0 if swings else 0.0
        q = self.ordered(state.position, share * state.deflection)
        v = self.ordered(state.velocity, share * state.deflection_rate)
        pinocchio.forwardKinematics(self.pin, self.data, q, v, np.zeros(self.pin.nv))
        pinocchio.computeJointJacobians(self.pin, self.data)
        pinocchio.updateFramePlacements(self.pin, self.data)
        axes = pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED
        J = pinocchio.getFrameJacobian(self.pin, self.data, self.tool, axes)
        bias = pinocchio.getFrameClassicalAcceleration(self.pin, self.data, self.tool, axes).vector
        return self.data.oMf[self.tool].homogeneous, J @ v, J[:, self.columns], bias

    def base_pose(self, deflection: Array) -> Array:
        q = self.ordered(np.zeros(self.model.n), deflection)
        pinocchio.framesForwardKinematics(self.pin, self.data, q)
        pose: Array = self.data.oMf[self.base].homogeneous
        return pose.copy()


TILTED = """<link name="world"/><link name="floor"/><joint name="tilt" type="fixed"><parent link="world"/>
  <child link="floor"/><origin xyz="0.1 0.2 0.3" rpy="0.3 -0.4 0.5"/></joint>"""


def on_a_tilted_base(seed: int) -> ArmModel:
    """A random arm on a base that swings in five directions, turned against the root link."""
    text = elastic_base_arm(("x", "y", "z", "rx", "ry"), 5, seed)
    text = text.replace('parent link="world"', 'parent link="floor"').replace('<link name="world"/>', TILTED)
    return ArmModel(text, gravity=GRAVITY)


def random_state(model: ArmModel, rng: np.random.Generator) -> ArmState:
    return ArmState(0, *(rng.uniform(-1.0, 1.0, size) for size in (model.n, model.n, model.m, model.m)))


@pytest.fixture(scope="module", params=range(16))
def case(request, tmp_path_factory) -> tuple[ArmModel, Reference, ArmState]:
    """A random tree, its last link the tool, or an arm on an elastic base; in a random state."""
    rng = np.random.default_rng(request.param)
    if request.param < 4:
        model = on_a_tilted_base(request.param)
    else:
        text = random_robot(rng, tmp_path_factory.mktemp("modes"), 8, flexible=0.0)
        model = ArmModel(text, tool_frame="link_7", gravity=GRAVITY)
    return model, Reference(model), random_state(model, rng)


def test_the_tool_moves_as_pinocchio_says(case):
    model, reference, state = case
    pose, twist, J, bias = reference.kinematics(state, swings=True)
    tool = model.tool_kinematics(state, model.world_frame)
    assert np.allclose(tool.position, pose[:3, 3], rtol=0.0, atol=1e-12)
    assert np.allclose(tool.rotation, pose[:3, :3], rtol=0.0, atol=1e-12)
    assert np.allclose(tool.velocity, twist, rtol=0.0, atol=1e-12)
    assert np.allclose(np.hstack((tool.J_m, tool.J_b)), J, rtol=0.0, atol=1e-12)
    assert np.allclose(tool.dJ_v, bias, rtol=0.0, atol=1e-11)


@pytest.mark.parametrize("seed", range(4))
def test_seen_from_the_base_it_moves_as_if_that_stood_still(seed):
    model = on_a_tilted_base(seed)
    reference, state = Reference(model), random_state(model, np.random.default_rng(seed))
    pose, twist, J, bias = reference.kinematics(state, swings=False)
    base = reference.base_pose(np.zeros(model.m))
    turn = np.kron(np.eye(2), base[:3, :3].T)
    seen = np.linalg.solve(base, pose)
    tool = model.tool_kinematics(state, model.base_frame)
    assert np.allclose(tool.position, seen[:3, 3], rtol=0.0, atol=1e-12)
    assert np.allclose(tool.rotation, seen[:3, :3], rtol=0.0, atol=1e-12)
    assert np.allclose(tool.velocity, turn @ twist, rtol=0.0, atol=1e-12)
    assert np.allclose(tool.J_m, turn @ J[:, : model.n], rtol=0.0, atol=1e-12)
    assert not tool.J_b.any()
    assert np.allclose(tool.dJ_v, turn @ bias, rtol=0.0, atol=1e-11)


def test_the_base_link_is_where_pinocchio_says(case):
    model, reference, state = case
    position, rotation = model.base_pose(state.deflection)
    pose = reference.base_pose(state.deflection)
    assert np.allclose(position, pose[:3, 3], rtol=0.0, atol=1e-12)
    assert np.allclose(rotation, pose[:3, :3], rtol=0.0, atol=1e-12)


def test_the_base_takes_what_passes_through_the_first_joints_of_its_arms(case):
    model, reference, state = case
    acceleration, base = np.linspace(-1.0, 1.0, model.n), np.linspace(0.5, 2.0, model.m)
    wrench = model.wrench_on_base(state, acceleration, base)
    q, v = reference.ordered(state.position, state.deflection), reference.ordered(state.velocity, state.deflection_rate)
    pin, data, names = reference.pin, reference.data, model.joint_names
    pin.gravity.linear = np.array(GRAVITY)
    pinocchio.rnea(pin, data, q, v, reference.ordered(acceleration, base))
    ids = [pin.getJointId(name) for name in names]
    roots = [joint for joint in ids if not set(list(pin.supports[joint])[:-1]) & set(ids)]
    placed = pin.frames[reference.base]
    if any(pin.parents[joint] != placed.parentJoint for joint in roots):
        pytest.skip("an arm sits on another link that swings")
    total = sum(placed.placement.actInv(data.liMi[joint].act(data.f[joint])).vector for joint in roots)
    assert np.allclose(wrench, -total, rtol=0.0, atol=1e-10)
