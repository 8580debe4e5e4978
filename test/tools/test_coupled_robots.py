"""A palletizer, whose flange two followers keep level, through check, run and what draws it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pinocchio
import pytest
from other_package import install_package

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.ik_redundancy.solver import RedundancySolver
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState
from flexarm_nodes.registry import added_stages
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_tools.check.arm import find_arm
from flexarm_tools.check.check import check_robot
from flexarm_tools.gazebo.model import gazebo_model
from flexarm_tools.metrics.figures import compute_figures
from flexarm_tools.process.progress import Progress
from flexarm_tools.report.forward_kinematics import link_transforms
from flexarm_tools.run.in_process import run_in_process
from flexarm_tools.scenario.file import load_scenario

ROOT = Path(__file__).resolve().parents[2]
BODY = (
    '<inertial><origin xyz="0.1 0 0"/><mass value="{0}"/><inertia ixx="0.02" iyy="0.03" izz="0.03" ixy="0" ixz="0"'
    ' iyz="0"/></inertial>'
)
# name, kind, parent, child, axis, origin, limits, follows, mass
JOINTS = (
    ("yaw", "revolute", "base", "column", "0 0 1", "0 0 0.4", "-2.1 2.1", "", 8),
    ("shoulder", "revolute", "column", "upper", "0 1 0", "0 0 0.2", "-0.3 1.5", "", 5),
    ("elbow", "revolute", "upper", "fore", "0 1 0", "0.5 0 0", "-0.3 1.2", "", 4),
    ("level_a", "revolute", "fore", "between", "0 1 0", "0.4 0 0", "-3 3", "shoulder", 0),
    ("level_b", "revolute", "between", "flange", "0 1 0", "0 0 0", "-3 3", "elbow", 1),
    ("turn", "revolute", "flange", "hand", "0 0 1", "0.1 0 -0.05", "-3 3", "", 1),
    ("finger", "prismatic", "hand", "left", "0 1 0", "0 0 -0.1", "0 0.02", "", 0.1),
    ("thumb", "prismatic", "hand", "right", "0 1 0", "0 0 -0.1", "-0.02 0", "finger", 0.1),
)


def palletizer() -> str:
    """Description without <ros2_control>, as makers publish them."""
    parts = ['<robot name="palletizer"><link name="base"/>']
    for name, kind, parent, child, axis, origin, limits, follows, mass in JOINTS:
        lower, upper = limits.split()
        mimic = f'<mimic joint="{follows}" multiplier="-1"/>' if follows else ""
        parts.append(
            f'<link name="{child}">{BODY.format(mass) if mass else ""}</link><joint name="{name}" type="{kind}"><parent'
            f' link="{parent}"/><child link="{child}"/><origin xyz="{origin}"/><axis xyz="{axis}"/><limit'
            f' lower="{lower}" upper="{upper}" velocity="2" effort="200"/>{mimic}</joint>'
        )
    return "".join(parts) + "</robot>"


PUSHER = """
import numpy as np
from flexarm_core.pipeline.stage import Stage
from flexarm_core.types import ArmState, JointReference
from flexarm_nodes.node.built_stage import BuiltStage, joint_output
from flexarm_nodes.node.stage.kind import StageKind

SPEED = np.array([0.0, 1.5, -1.5, 0.0])  # [rad/s] of shoulder and elbow, which a joint follows each

class Pusher(Stage):
    name, needs = "pusher", frozenset()

    def __init__(self, model):
        self.model = model

    def reset(self):
        self.start = None

    def update(self, tick):
        state = tick.arm_state("none")
        if self.start is None:
            self.start = state.stamp, state.position
        far = self.start[1] + SPEED * 1e-9 * (state.stamp - self.start[0])
        weight = self.model.gravity_effort(ArmState(0, state.position, 0.0 * SPEED, np.zeros(0), np.zeros(0)))
        motion = (None, None, None) if MODE == "effort" else (far, SPEED, 0.0 * SPEED)
        tick.give_joints(self.name, JointReference(state.stamp, *motion, weight + 20.0 * SPEED))

def build(values, model):
    return BuiltStage(Pusher(model), None, (joint_output("pusher", model),))

PUSHER = StageKind("pusher", "pusher", (), build)
"""
PUSHED = """
title: Followers at their limits
robot: {{description: palletizer.urdf, tool_frame: hand, held: {{finger: 0.0}}}}
mode: lockstep
rate: 1000.0
duration: 1.0
plant: {{backend: mujoco, command_mode: {mode}, initial_position: [0.0, 0.4, 0.6, 0.0]}}
nodes:
  - executable: pusher/pusher
  - executable: hardware_gate
    parameters: {{command_mode: {mode}}}
"""


class Silent(Progress):
    """Shows nothing."""

    def show(self, now: float, end: float) -> None:
        """Show nothing."""


def test_the_arm_of_a_palletizer_ends_behind_the_joints_that_keep_its_flange_level():
    found = find_arm(palletizer())
    assert found.tool_frame == "hand" and found.held == {"finger": 0.0}
    description = parse_robot_description(palletizer(), held=found.held)
    assert description.actuated == ("yaw", "shoulder", "elbow", "turn")
    assert [joint.name for joint in description.coupled] == ["level_a", "level_b"]


@pytest.mark.long
def test_a_palletizer_is_checked_and_run_and_its_flange_stays_level(tmp_path):
    path, study = tmp_path / "palletizer.urdf", tmp_path / "study.yaml"
    path.write_text(palletizer())
    said, usable = check_robot(path, write=study)
    assert usable, said
    assert "level_a          revolute    follows shoulder, times -1" in said
    scenario = load_scenario(study)
    recording = run_in_process(scenario, Silent("palletizer"))
    figures = compute_figures(scenario.figures, recording)
    assert all(figure.holds for figure in figures if figure.goal is not None), figures
    positions = dict(zip(recording.joint_names, recording.position.T, strict=True))
    assert np.ptp(positions["shoulder"]) > 1e-3
    flange = link_transforms(scenario.robot.description, positions)["flange"]
    assert np.allclose(flange[:, :3, 2], (0.0, 0.0, 1.0), atol=1e-12)


def test_the_plant_holds_a_palletizer_whose_weight_is_compensated():
    """The link between its followers has no mass; it fell by 1.5 rad within a second."""
    description = parse_robot_description(palletizer(), held={"finger": 0.0})
    model, plant = ArmModel(description, "hand"), MujocoBackend(description, tool_frame="hand", gravity=(0, 0, -9.81))
    start, none, rng = np.array([0.3, 0.4, 0.6, -0.2]), np.zeros(0), np.random.default_rng(3)
    for _ in range(5):
        q, qd, effort = rng.uniform(-0.2, 1.0, 4), rng.uniform(-1.0, 1.0, 4), rng.uniform(-50.0, 50.0, 4)
        plant.reset(q, qd, none, none, effort)
        wanted = model.forward_dynamics(ArmState(0, q, qd, none, none), effort)
        assert np.abs(plant.state().acceleration - wanted).max() < 1e-3 * np.abs(wanted).max()
    plant.reset(start, np.zeros(4), none, none)
    for _ in range(1000):
        here = plant.state().position
        plant.step(model.gravity_effort(ArmState(0, here, np.zeros(4), none, none)), 1e-3)
    assert np.allclose(plant.state().position, start, atol=1e-6)


def test_limits_of_a_follower_that_narrow_its_driver_are_named(tmp_path):
    path = tmp_path / "palletizer.urdf"
    path.write_text(
        re.sub('lower="-3" upper="3"( velocity="2" effort="200"/><mimic)', r'lower="0" upper="6.3"\1', palletizer())
    )
    said, _ = check_robot(path, first_run=False)
    wanted = "the limits of 'level_a' leave the driver 'shoulder' [-0.3, 0] of its [-0.3, 1.5]: are they meant?"
    assert wanted in " ".join(said.split())


@pytest.mark.parametrize("mode", ["position", "velocity", "effort"])
def test_a_gate_keeps_the_limits_of_followers(tmp_path, monkeypatch, mode):
    """Drivers are pushed up to 1.1 and 0.3 rad beyond what their followers leave them, three times as fast as these."""
    text = palletizer()
    for name, narrow in (("level_a", 'lower="-0.6" upper="0.2" velocity="0.5"'), ("level_b", 'lower="-1" upper="0.1"')):
        own = re.search(rf'<joint name="{name}".*?</joint>', text)[0]
        limit = re.search(r'lower="\S+" upper="\S+"( velocity="\S+")?', own)[0]
        narrow = narrow if "velocity" in narrow else f'{narrow} velocity="0.5"'
        text = text.replace(own, own.replace(limit, narrow))
    (tmp_path / "palletizer.urdf").write_text(text)
    (tmp_path / "study.yaml").write_text(PUSHED.format(mode=mode))
    install_package(tmp_path, monkeypatch, f"MODE = '{mode}'\n{PUSHER}", "flexarm.stages", "pusher = other:PUSHER")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    added_stages.cache_clear()
    try:
        recording = run_in_process(load_scenario(tmp_path / "study.yaml"), Silent("pushed"))
    finally:
        added_stages.cache_clear()
        sys.modules.pop("other", None)
    joints = dict(zip(recording.joint_names, recording.position.T, strict=True))
    speeds = dict(zip(recording.joint_names, recording.velocity.T, strict=True))
    for follower, driver, lower, upper in (("level_a", "shoulder", -0.6, 0.2), ("level_b", "elbow", -1.0, 0.1)):
        beyond = np.maximum(lower + joints[driver], -joints[driver] - upper).max()
        # [rad] what the servos overshoot: as much as where the limits are those of the drivers, without followers
        assert beyond < {"velocity": 2.5e-3}.get(mode, 2e-4), follower
        assert np.abs(speeds[driver]).max() < 0.51, follower
        assert np.abs(speeds[driver]).max() > 0.45, f"{follower}: it was to be pushed"
    assert joints["shoulder"][-1] == pytest.approx(0.6, abs=5e-3)  # it went as far as it may, and is held there
    assert recording.watchdog_stops == 0


def test_gazebo_says_that_its_engine_leaves_followers_free():
    description = parse_robot_description(palletizer())
    with pytest.raises(RobotDescriptionError, match="'level_a' follows 'shoulder' .* hold 'shoulder'"):
        gazebo_model(description, 0.001, tool_frame="hand")


def test_what_draws_the_robot_puts_its_followers_where_pinocchio_has_them():
    text = palletizer()
    description, model = parse_robot_description(text), pinocchio.buildModelFromXML(text)
    data, q = model.createData(), {"yaw": 0.3, "shoulder": 0.5, "elbow": -0.2, "turn": 1.0}
    full = np.zeros(model.nq)
    for name, value in (q | {"level_a": -q["shoulder"], "level_b": -q["elbow"]}).items():
        full[model.joints[model.getJointId(name)].idx_q] = value
    pinocchio.framesForwardKinematics(model, data, full)
    placed = link_transforms(description, q)
    for link in ("between", "flange", "hand"):
        assert np.allclose(placed[link], data.oMf[model.getFrameId(link)].homogeneous, atol=1e-14)


def test_the_tool_of_a_palletizer_follows_a_path_that_pinocchio_sees():
    solver = RedundancySolver.of(parse_robot_description(palletizer(), held={"finger": 0.0}), "hand")
    model = pinocchio.buildModelFromXML(palletizer())
    data, place = model.createData(), {name: model.joints[model.getJointId(name)].idx_q for name in model.names[1:]}
    start, axes = np.array([0.2, 0.1, 0.9, -0.4]), np.array([True, True, True, False, False, True])
    begin, R = solver.chain.pose(start)
    solver.begin(start)
    for step in range(1, 501):
        wanted = begin + 0.1 * (1.0 - np.cos(np.array([1.0, 1.3, 0.7]) * step * 2e-3)) * (-1.0, -1.0, 0.5)
        solver.update(wanted, R, axes, 2e-3)
        yaw, shoulder, elbow, turn = solver.position
        full = np.zeros(model.nq)
        named = {
            "yaw": yaw,
            "shoulder": shoulder,
            "elbow": elbow,
            "level_a": -shoulder,
            "level_b": -elbow,
            "turn": turn,
        }
        for name, value in named.items():
            full[place[name]] = value
        pinocchio.framesForwardKinematics(model, data, full)
        hand = data.oMf[model.getFrameId("hand")]
        assert np.allclose(hand.translation, wanted, atol=1e-5), step
        assert np.allclose(hand.rotation, R, atol=1e-5), step
    assert np.abs(solver.position - start).max() > 0.1


def test_a_coupled_arm_damps_the_vibration_of_its_base(tmp_path):
    text = load_robot_description(ROOT / "urdf/planar_3r.urdf.xacro")
    follows = r'\1<mimic joint="joint2" multiplier="0.7" offset="-0.3"/></joint>'
    text = re.sub(r'(<joint name="joint3" type.*?)</joint>', follows, text, count=1, flags=re.DOTALL)
    text = re.sub(r'<joint name="joint3">.*?</joint>', "", text, flags=re.DOTALL)
    (tmp_path / "robot.urdf").write_text(text)
    study = (ROOT / "config/planar_3r/scenarios/push_damped.yaml").read_text(encoding="utf-8")
    for wrong, right in (
        ("package://flexarm/urdf/planar_3r.urdf.xacro", "robot.urdf"),
        ("[60.0, -60.0, -60.0]", "[60.0, -60.0]"),
        ("rate: 1000.0", "rate: 500.0"),
    ):
        assert wrong in study
        study = study.replace(wrong, right)
    (tmp_path / "study.yaml").write_text(study)
    scenario = load_scenario(tmp_path / "study.yaml")
    assert scenario.robot.description.actuated == ("joint1", "joint2")
    figures = compute_figures(scenario.figures, run_in_process(scenario, Silent("coupled")))
    assert {figure.name for figure in figures if figure.goal is not None and not figure.holds} == set(), figures
