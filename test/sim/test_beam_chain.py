"""Beams as chains of rigid pieces in MuJoCo, against closed forms of Euler-Bernoulli beams and the modal data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mujoco
import numpy as np
import pytest
from scipy.optimize import brentq

from flexarm_core.errors import ConfigError, RobotDescriptionError
from flexarm_core.flexible_dynamics.flexible_links import load_flexible_links
from flexarm_core.robot.description import FlexibleLink, RobotDescription
from flexarm_core.types import Array
from flexarm_sim.beam_chain import make_chains
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_sim.mujoco.model import build_model

WEIGHTLESS = (0.0, 0.0, 0.0)
BENDING = 'EIz="20" modes_y="2"'
SPATIAL = 'EIy="30" EIz="20" GJ="1" EA="1000" rho_Ip="2e-4" modes_y="1" modes_z="1" modes_torsion="1" modes_axial="1"'
TURNS = (pytest.param("0 0 0", marks=pytest.mark.long), "0.4 -0.7 1.1")


def compiled(robot: RobotDescription, segments: int = 20, **options: Any) -> Any:
    chains = make_chains(robot, segments)
    return build_model(robot, chains=chains, gravity=WEIGHTLESS, **options)


def mass_matrix(model: Any) -> Array:
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    inverse = np.empty((model.nv, model.nv))
    mujoco.mj_solveM(model, data, inverse, np.eye(model.nv))
    return np.linalg.inv(inverse)


def frequencies(robot: RobotDescription, part: str, segments: int = 20) -> Array:
    """Natural frequencies [rad/s] of the joints whose names hold ``part``, all others held."""
    model = compiled(robot, segments)
    chosen = [i for i in range(model.njnt) if part in model.joint(i).name]
    mass = mass_matrix(model)[np.ix_(chosen, chosen)]
    root = np.sqrt(model.jnt_stiffness[chosen])
    return np.sqrt(np.linalg.eigvalsh(root[:, None] * np.linalg.inv(mass) * root))


def flexibility_matrix(robot: RobotDescription) -> Array:
    """(g, k) strain of every gauge per unit of each mode, from the modal data."""
    blocks = load_flexible_links(robot)
    rows = np.zeros((len(robot.strain_gauges), sum(len(data.modes) for data in blocks.values())))
    start = 0
    for data in blocks.values():
        for name, row in data.strain.items():
            rows[list(robot.strain_gauges).index(name), start : start + len(row)] = row
        start += len(data.modes)
    return rows


def settled(robot: RobotDescription, wrench: Array, duration: float = 1.5) -> MujocoBackend:
    """The beam at rest under a wrench at its tip; it must be damped."""
    backend = MujocoBackend(robot, gravity=WEIGHTLESS, max_step=1e-4)
    backend.set_external_wrench("tool0", wrench)
    backend.step(np.zeros(len(backend.joint_names)), duration)
    return backend


# Frequencies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turn", TURNS)
def test_a_clamped_free_chain_has_the_frequencies_of_a_beam(beam_robot: Any, turn: str) -> None:
    """``cos(a) cosh(a) = -1``; torsion and stretch ``(i - 1/2) pi c``."""
    robot = beam_robot(beam=SPATIAL, rpy=turn)
    for part, stiffness in (("bending_z", 20.0), ("bending_y", 30.0)):
        expected = np.array([1.875104, 4.694091, 7.854757]) ** 2 * np.sqrt(stiffness)
        assert np.allclose(frequencies(robot, part)[:3], expected, rtol=[0.002, 0.006, 0.015])
    for part, ratio in (("torsion", 1.0 / 2e-4), ("axial", 1000.0)):
        expected = np.pi * np.array([0.5, 1.5]) * np.sqrt(ratio)
        assert np.allclose(frequencies(robot, part)[:2], expected, rtol=0.01)


@pytest.mark.parametrize("tip", [0.3, 2.0])
def test_a_chain_with_a_tip_mass_has_the_frequencies_of_a_beam_with_one(beam_robot: Any, tip: float) -> None:
    """``1 + cos a cosh a + m a (cos a sinh a - sin a cosh a) = 0``, and the finite elements of the modal data."""
    robot = beam_robot(tip=tip)
    found = frequencies(robot, "bending_z")

    def characteristic(a: float) -> float:
        return float(1 + np.cos(a) * np.cosh(a) + tip * a * (np.cos(a) * np.sinh(a) - np.sin(a) * np.cosh(a)))

    for mode, bracket in enumerate([(0.5, 2.5), (3.5, 5.0)]):
        root = brentq(characteristic, *bracket)
        assert found[mode] == pytest.approx(root**2 * np.sqrt(20.0), rel=0.006)
    modal = np.sqrt(np.diag(load_flexible_links(robot)["beam"].stiffness))
    assert np.allclose(found[:2], modal, rtol=0.006)


def test_more_segments_come_nearer_with_the_square_of_their_number(beam_robot: Any) -> None:
    exact = 1.875104068711961**2 * np.sqrt(20.0)
    errors = [abs(frequencies(beam_robot(), "bending_z", segments)[0] / exact - 1.0) for segments in (5, 10, 20)]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.15)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.15)


# Statics --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turn", TURNS)
def test_a_tip_force_bends_a_chain_as_a_beam(beam_robot: Any, turn: str) -> None:
    """Deflection ``F L^3 / 3 EI``, slope ``F L^2 / 2 EI``, strain ``-y F (L - x) / EI``; both ways at once."""
    beam = 'EIy="30" EIz="20" modes_y="2" modes_z="2" damping_ratio="0.7"'
    robot = beam_robot(beam=beam, rpy=turn, tip=0.2)
    rotation = make_chains(robot, 4)["beam"].turn
    start = MujocoBackend(robot, gravity=WEIGHTLESS, max_step=1e-4).state().tool_position_in_world
    assert np.allclose(start, rotation[:, 0], atol=1e-12)
    F = 0.02
    state = settled(robot, np.concatenate([rotation @ [0.0, F, F], np.zeros(3)])).state()
    moved = rotation.T @ (state.tool_position_in_world - start)
    assert moved[1] == pytest.approx(F / 60.0, rel=0.01)
    assert moved[2] == pytest.approx(F / 90.0, rel=0.01)
    turned = rotation.T @ state.tool_rotation_in_world @ rotation
    assert turned[1, 0] == pytest.approx(F / 40.0, rel=0.01)
    assert turned[2, 0] == pytest.approx(F / 60.0, rel=0.01)
    expected = -0.01 * F * np.array([0.95 / 20.0, 0.95 / 30.0, 0.5 / 20.0])
    assert np.allclose(state.strain, expected, rtol=0.01)
    # the same as the modes say, which are few and so not quite as curved
    assert np.allclose(flexibility_matrix(robot) @ state.modal_position, state.strain, rtol=0.1)
    data = load_flexible_links(robot)["beam"]
    shape = rotation.T @ data.translation[-1] @ state.modal_position
    assert np.allclose(shape[1:], moved[1:], rtol=0.02)


@pytest.mark.parametrize("turn", TURNS)
def test_a_tip_torque_and_a_pull_twist_and_stretch_a_chain_as_a_beam(beam_robot: Any, turn: str) -> None:
    """Twist ``T L / GJ``, stretch and strain ``F / EA``."""
    robot = beam_robot(beam=SPATIAL + ' damping_ratio="0.7"', rpy=turn, tip=0.2)
    rotation = make_chains(robot, 4)["beam"].turn
    state = settled(robot, np.concatenate([rotation @ [0.5, 0, 0], rotation @ [0.003, 0, 0]]), 0.6).state()
    moved = rotation.T @ state.tool_position_in_world
    assert moved[0] - 1.0 == pytest.approx(0.5e-3, rel=1e-3)
    turned = rotation.T @ state.tool_rotation_in_world @ rotation
    assert turned[2, 1] == pytest.approx(0.003, rel=1e-3)
    assert np.allclose(state.strain, 0.5e-3, rtol=0.01)
    by_name = dict(zip(MujocoBackend(robot, max_step=1e-4).modes, state.modal_position, strict=True))
    data = load_flexible_links(robot)["beam"]
    twist = (rotation.T @ data.rotation[-1])[0, data.modes.index("torsion_1")]
    stretch = (rotation.T @ data.translation[-1])[0, data.modes.index("axial_1")]
    # what of a field that grows like x lies in the mode sin(a x), by least squares; a tan a = 1 / tip mass
    for value, whole, a in (
        (twist * by_name["beam/torsion_1"], 0.003, 0.5 * np.pi),
        (stretch * by_name["beam/axial_1"], 0.5e-3, brentq(lambda a: a * np.tan(a) - 5.0, 1.0, 1.5)),
    ):
        part = np.sin(a) * (np.sin(a) / a**2 - np.cos(a) / a) / (0.5 - np.sin(2 * a) / (4 * a))
        assert value == pytest.approx(part * whole, rel=0.01)


# Modes ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turn", TURNS)
def test_a_chain_bent_as_a_mode_shows_that_mode_only(beam_robot: Any, turn: str) -> None:
    robot = beam_robot(beam=SPATIAL.replace('modes_y="1"', 'modes_y="2"'), rpy=turn, tip=0.5)
    backend = MujocoBackend(robot, gravity=WEIGHTLESS, max_step=1e-4)
    data = load_flexible_links(robot)["beam"]
    assert backend.modes == tuple(f"beam/{name}" for name in data.modes)
    for k in range(len(data.modes)):
        eta = 1e-5 * np.eye(len(data.modes))[k]
        backend.reset(modal_position=eta, modal_rate=3.0 * eta)
        state = backend.state()
        assert np.allclose(state.modal_position, eta, rtol=0.0, atol=1e-9)
        assert np.allclose(state.modal_rate, 3.0 * eta, rtol=0.0, atol=3e-9)
        displacement = state.tool_position_in_world - data.position[-1]
        assert np.allclose(displacement, data.translation[-1] @ eta, rtol=0.0, atol=2e-7 * 1.0)
        scale = np.abs(data.rotation[-1] @ eta).max()
        assert np.allclose(state.tool_twist_in_world[3:], 3.0 * data.rotation[-1] @ eta, atol=0.06 * scale + 1e-8)
        strain = flexibility_matrix(robot) @ eta
        assert np.allclose(state.strain, strain, rtol=0.0, atol=0.01 * np.abs(strain).max() + 1e-10)


def test_modal_rate_is_the_derivative_of_modal_position_on_a_swinging_arm(repository_robot: Any) -> None:
    robot = repository_robot("flexible_3r")
    backend = MujocoBackend(robot, segments=8, max_step=1e-4)
    modal = 1e-3 * np.array([1.0, 0.2, 2.0, 0.2, 3.0, 4.0, 0.1, 5.0, 0.1, 6.0])
    backend.reset([0.3, -0.8, 1.1], [2.0, -3.0, 4.0], modal_position=modal)
    h = 1e-5
    backend.step([5.0, -20.0, 10.0], 0.1)
    before = backend.state()
    backend.step([5.0, -20.0, 10.0], h)
    middle = backend.state()
    backend.step([5.0, -20.0, 10.0], h)
    after = backend.state()
    slope = (after.modal_position - before.modal_position) / (2 * h)
    assert np.abs(slope).max() > 1e-3
    assert np.allclose(slope, middle.modal_rate, rtol=1e-4, atol=1e-4 * np.abs(slope).max())


@pytest.mark.parametrize("ratio", [0.02, 0.2])
@pytest.mark.parametrize("mode", [0, 1])
def test_every_mode_dies_away_at_the_damping_ratio_of_the_beam(beam_robot: Any, ratio: float, mode: int) -> None:
    robot = beam_robot(beam=f'{BENDING} damping_ratio="{ratio}"', tip=0.5)
    data = load_flexible_links(robot)["beam"]
    backend = MujocoBackend(robot, gravity=WEIGHTLESS, max_step=1.5e-4)
    backend.reset(modal_position=1e-4 * np.eye(2)[mode])
    w = np.sqrt(data.stiffness[mode, mode])
    period = 2.0 * np.pi / (w * np.sqrt(1.0 - ratio**2))
    backend.step([0.0], 3 * period)
    left = backend.state().modal_position[mode] / 1e-4
    assert left == pytest.approx(np.exp(-3 * period * ratio * w), rel=0.03)


@pytest.mark.parametrize(("ratio", "lost"), [(0.0, False), (0.01, True)])
def test_only_dampers_take_energy_from_a_swinging_chain(repository_robot: Any, ratio: float, lost: bool) -> None:
    robot = repository_robot("flexible_2r", {'damping_ratio="0.005"': f'damping_ratio="{ratio}"'})
    model = compiled(robot, segments=8, timestep=2e-5)
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    data = mujoco.MjData(model)
    data.qvel[model.joint("shoulder").dofadr[0]] = 0.2
    data.qpos[[model.joint(f"beam/forearm/bending_z/{i + 1}").dofadr[0] for i in range(8)]] = 0.02
    mujoco.mj_forward(model, data)
    before = data.energy.sum()
    mujoco.mj_step(model, data, 10_000)
    mujoco.mj_forward(model, data)
    change = data.energy.sum() / before - 1.0
    assert change < -1e-3 if lost else abs(change) < 1e-6


# The chain in its robot -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["flexible_2r", "flexible_3r"])
def test_a_straight_chain_weighs_and_stands_as_the_rigid_link(repository_robot: Any, name: str) -> None:
    """Inertia of the arm's joints with the hinges held, and the tool's pose, are those of the rigid robot."""
    robot = repository_robot(name)
    rigid = replace(robot, flexible_links={}, strain_gauges={})
    stiff = build_model(rigid)
    model = compiled(robot)
    movable = [joint.name for joint in robot.elastic] + list(robot.actuated)
    rows = [model.joint(joint).dofadr[0] for joint in movable]
    order = [stiff.joint(joint).dofadr[0] for joint in movable]
    expected = mass_matrix(stiff)[np.ix_(order, order)]
    assert np.allclose(mass_matrix(model)[np.ix_(rows, rows)], expected, rtol=0.0, atol=2e-4 * expected.max())
    q = np.linspace(0.4, -0.9, len(robot.actuated))
    one, other = MujocoBackend(robot, max_step=1e-5), MujocoBackend(rigid)
    for backend in (one, other):
        backend.reset(q, 2.0 * q)
    for field in ("tool_position_in_world", "tool_rotation_in_world", "tool_twist_in_world", "tool_position_in_base"):
        assert np.allclose(getattr(one.state(), field), getattr(other.state(), field), atol=1e-12)


@pytest.mark.parametrize("turn", TURNS)
def test_what_a_link_has_beyond_its_beam_is_fixed_to_the_clamped_piece(beam_robot: Any, turn: str) -> None:
    moments = 'ixx="1.3" ixy="0.01" ixz="0" iyy="1.5" iyz="-0.02" izz="1.6"'
    hub = f'<inertial><origin xyz="0.1 0.05 -0.02"/><mass value="4"/><inertia {moments}/></inertial>'
    robot = beam_robot(hub=hub, rpy=turn, beam='EIz="20" EIy="20" modes_y="1" modes_z="1" rho_Ip="1e-4"')
    model = compiled(robot)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    bodies = [i for i in range(model.nbody) if model.body(i).name.startswith(("link/beam", "beam/beam/"))]
    assert len(bodies) == 21
    link = robot.links["beam"]
    mass, center, inertia = model.body_mass[bodies], data.xipos[bodies], np.zeros((3, 3))
    assert mass.sum() == pytest.approx(link.mass, rel=1e-12)
    assert np.allclose(mass @ center / mass.sum(), link.center_of_mass, atol=1e-12)
    for i in bodies:
        axes, arm = data.ximat[i].reshape(3, 3), data.xipos[i] - link.center_of_mass
        inertia += axes @ np.diag(model.body_inertia[i]) @ axes.T
        inertia += model.body_mass[i] * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    assert np.allclose(inertia, link.inertia, atol=1e-9)
    assert frequencies(robot, "bending_z")[0] == pytest.approx(1.875104**2 * np.sqrt(20.0), rel=0.01)


def test_a_joint_in_the_middle_of_a_beam_rides_on_its_piece(repository_robot: Any) -> None:
    """Half way out the deflection under a force at the tip is 5/16 of that of the tip."""
    robot = repository_robot(
        "flexible_2r",
        {
            '<joint name="tool0_joint" type="fixed">': '<joint name="tool1_joint" type="fixed"><parent link="forearm"/>'
            '<child link="tool1"/><origin xyz="0.5 0 0"/></joint><link name="tool1"/>'
            '<joint name="tool0_joint" type="fixed">',
        },
    )
    moved = []
    for tool in ("tool1", "tool0"):
        backend = MujocoBackend(robot, tool_frame=tool, gravity=WEIGHTLESS, max_step=1e-5, segments=10)
        backend.reset(modal_position=[0.0, 0.0, 0.0, 1e-3, 0.0, 0.0])
        moved.append(backend.state().tool_position_in_world[1])
    data = load_flexible_links(robot)["forearm"]
    middle = data.nearest_node(np.array([0.5, 0.0, 0.0]))
    assert moved[0] / moved[1] == pytest.approx(data.translation[middle, 1, 0] / data.translation[-1, 1, 0], rel=0.01)
    assert moved[0] / moved[1] == pytest.approx(5.0 / 16.0, rel=0.02)


def test_a_wrench_on_a_flexible_link_acts_at_its_origin(beam_robot: Any) -> None:
    """On the clamped end it does nothing; on a hinge only its torque turns the link."""
    clamped = MujocoBackend(beam_robot(), gravity=WEIGHTLESS, max_step=1e-4)
    clamped.set_external_wrench("beam", [3.0, -2.0, 1.0, 0.5, 0.4, 0.3])
    assert np.abs(clamped.state().imus["tip_imu"]).max() < 1e-12
    hinged = MujocoBackend(beam_robot(joint="continuous"), gravity=WEIGHTLESS, max_step=1e-5)
    hinged.set_external_wrench("beam", [3.0, -2.0, 1.0, 0.0, 0.0, 0.0])
    assert np.abs(hinged.state().acceleration).max() < 1e-9
    hinged.set_external_wrench("beam", [0.0, 0.0, 0.0, 0.0, 0.0, 0.3])
    other = MujocoBackend(beam_robot(joint="continuous"), gravity=WEIGHTLESS, max_step=1e-5)
    other.reset(effort=[0.3, 0.0])
    assert hinged.state().acceleration[0] == pytest.approx(other.state().acceleration[0], rel=1e-9)
    assert hinged.state().acceleration[0] > 0.3 / (1.0 / 3.0)  # the root moves before the rest of the beam does


# Refusals -------------------------------------------------------------------------------------------------------------


def test_modal_data_cannot_be_cut_into_segments(beam_robot: Any) -> None:
    robot = beam_robot()
    link = FlexibleLink("beam", None, "file:///tmp/beam.npz")
    with pytest.raises(RobotDescriptionError, match="'beam' is given by <modal_data>.* backend flexible_dynamics"):
        MujocoBackend(replace(robot, flexible_links={"beam": link}))


def test_a_step_too_long_for_the_chain_is_refused_with_the_longest(repository_robot: Any) -> None:
    robot = repository_robot("flexible_2r")
    with pytest.raises(ConfigError, match="max_step 0.001 s is too long .* 10 segments: give at most") as refused:
        MujocoBackend(robot, max_step=0.001, segments=10)
    longest = float(str(refused.value).split("at most ")[1].split(" s")[0])
    backend = MujocoBackend(robot, max_step=longest, segments=10)
    backend.reset(velocity=[3.0, -3.0])
    backend.step([0.0, 0.0], 0.5)
    assert np.abs(backend.state().velocity).max() < 30.0


@pytest.mark.parametrize("segments", [1, 0, 2.5, True])
def test_segments_are_a_whole_number_of_at_least_two(beam_robot: Any, segments: Any) -> None:
    with pytest.raises(ConfigError, match="segments is"):
        MujocoBackend(beam_robot(), segments=segments)


def test_modes_need_as_many_segments(beam_robot: Any) -> None:
    with pytest.raises(ConfigError, match="'beam' has 5 modes of a kind"):
        MujocoBackend(beam_robot(beam='EIz="20" modes_y="5"'), segments=4)


def test_less_inertia_than_the_beam_is_refused(beam_robot: Any) -> None:
    light = '<inertial><origin xyz="0.5 0 0"/><mass value="2"/>'
    light += '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>'
    with pytest.raises(RobotDescriptionError, match="less inertia than the beam alone"):
        MujocoBackend(beam_robot(hub=light))


@pytest.mark.parametrize("name", ["modal_position", "modal_rate"])
def test_modes_of_the_wrong_number_are_refused(beam_robot: Any, name: str) -> None:
    backend = MujocoBackend(beam_robot(), max_step=1e-4)
    with pytest.raises(ValueError, match=rf"{name} has shape \(3,\), expected \(2,\)"):
        backend.reset(**{name: np.zeros(3)})


def test_a_joint_with_the_name_of_a_hinge_is_a_clear_error(repository_robot: Any) -> None:
    model = compiled(repository_robot("flexible_2r"), 4)
    hinge = next(model.joint(i).name for i in range(model.njnt) if model.joint(i).name.startswith("beam/"))
    robot = repository_robot("flexible_2r", {'"elbow"': f'"{hinge}"'})
    with pytest.raises(RobotDescriptionError, match=f"cannot simulate robot 'flexible_2r': .*{hinge}"):
        compiled(robot, 4)
