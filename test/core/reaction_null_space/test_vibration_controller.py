"""The acceleration law: no reaction, tool error dynamics, damping, and behavior at singularities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.controller import VibrationController
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, CartesianReference

PLANAR = np.array([True, True, False, False, False, False])


def random_state(model: ArmModel, rng: np.random.Generator, base: float = 0.0) -> ArmState:
    """A state with a bent elbow, away from singularities; the base moves by ``base`` (m, m/s)."""
    position = np.array([rng.uniform(-3.0, 3.0), *rng.uniform(0.5, 2.0, model.n - 1)])
    return ArmState(
        0, position, rng.uniform(-1.0, 1.0, model.n), base * rng.normal(size=model.m), base * rng.normal(size=model.m)
    )


def random_reference(model: ArmModel, state: ArmState, rng: np.random.Generator, frame: str) -> CartesianReference:
    """A reference near the tool."""
    tool = model.tool_kinematics(state, frame)
    return CartesianReference(
        0,
        frame,
        tool.position + 0.01 * rng.normal(size=3),
        tool.rotation,
        rng.normal(size=6),
        rng.normal(size=6),
        PLANAR,
    )


def test_reactionless_motion_leaves_the_base_without_reaction(planar_3r):
    rng = np.random.default_rng(0)
    controller = VibrationController(planar_3r, VibrationControllerConfig(joint_damping=0.0))
    regular = 0
    for _ in range(200):
        state = random_state(planar_3r, rng)
        reference = random_reference(planar_3r, state, rng, planar_3r.base_frame)
        _, reaction = controller.update(state, reference)
        assert reaction.rank == 1
        if reaction.coupling_singular_values[0] > 1.0:
            regular += 1
            assert np.abs(reaction.reaction).max() < 1e-7  # of forces up to 1e4 N
    assert regular > 150


def test_joint_damping_takes_the_coupling_momentum_away_at_its_own_rate(planar_3r):
    """With G_m the momentum obeys dL/dt = -G_m L: the reaction is G_m L and nothing else."""
    rng = np.random.default_rng(1)
    controller = VibrationController(planar_3r, VibrationControllerConfig(joint_damping=3.0))
    for _ in range(50):
        state = random_state(planar_3r, rng)
        reference = random_reference(planar_3r, state, rng, planar_3r.base_frame)
        _, reaction = controller.update(state, reference)
        assert np.allclose(reaction.reaction, 3.0 * reaction.coupling_momentum, atol=1e-8)


@pytest.mark.parametrize("frame", ["base_ft", "world"])
def test_the_tool_error_obeys_the_chosen_dynamics_while_the_base_swings(planar_3r, frame):
    """edd + G_d ed + G_p e = 0 in the reference's own frame, vibration damping in force (the paper's third subtask)."""
    rng = np.random.default_rng(2)
    config = VibrationControllerConfig(position_gain=9.0, velocity_gain=4.0)
    controller = VibrationController(planar_3r, config)
    regular = 0
    for _ in range(200):
        state = random_state(planar_3r, rng, base=0.05)
        reference = random_reference(planar_3r, state, rng, frame)
        joints, reaction = controller.update(state, reference)
        if reaction.damping > 0.0:
            continue  # near-singular: other tests hold it
        regular += 1
        tool, blocks = planar_3r.tool_kinematics(state, frame), planar_3r.blocks(state)
        happens = planar_3r.forward_dynamics(state, joints.effort)
        base = planar_3r.base_acceleration(blocks, state, happens)
        acceleration = tool.J_m @ happens + tool.J_b @ base + tool.dJ_v
        wanted = (
            reference.acceleration
            + 4.0 * (reference.velocity - tool.velocity)
            + 9.0 * np.concatenate((reference.position - tool.position, np.zeros(3)))
        )
        assert np.allclose(acceleration[PLANAR], wanted[PLANAR], atol=1e-7)
    assert regular > 100


def test_the_damped_base_obeys_equation_13(planar_3r):
    """xdd_b + G_b xd_b + H_b^-1 (K_b x_b + D_b xd_b) = 0 for a translating base, whatever the arm does meanwhile."""
    rng = np.random.default_rng(3)
    controller = VibrationController(planar_3r, VibrationControllerConfig(vibration_gain=10.0, joint_damping=0.0))
    for _ in range(100):
        state = random_state(planar_3r, rng, base=0.05)
        reference = random_reference(planar_3r, state, rng, planar_3r.base_frame)
        joints, _ = controller.update(state, reference)
        blocks = planar_3r.blocks(state)
        base = planar_3r.base_acceleration(blocks, state, planar_3r.forward_dynamics(state, joints.effort))
        expected = -10.0 * state.deflection_rate - (100.0 * state.deflection + 0.1 * state.deflection_rate) / 31.0
        assert np.allclose(base, expected, atol=1e-9)


def test_gain_by_damping_ratio_is_the_papers_closed_form(planar_3r):
    """g_b = 2 zeta sqrt(k / (m_b + sum m)) for one direction."""
    rng = np.random.default_rng(4)
    state = random_state(planar_3r, rng, base=0.05)
    by_ratio = VibrationController(planar_3r, VibrationControllerConfig(task="none", damping_ratio=0.7))
    literal = VibrationControllerConfig(task="none", vibration_gain=2 * 0.7 * np.sqrt(100.0 / 31.0))
    a = by_ratio.update(state)[0].acceleration
    b = VibrationController(planar_3r, literal).update(state)[0].acceleration
    assert np.allclose(a, b)


def test_plain_resolved_acceleration_tracks_as_well_but_shakes_the_base(planar_3r):
    rng = np.random.default_rng(5)
    config = VibrationControllerConfig(law="resolved_acceleration", joint_damping=0.0)
    state = replace(random_state(planar_3r, rng), velocity=np.zeros(3))
    reference = random_reference(planar_3r, state, rng, planar_3r.base_frame)
    joints, reaction = VibrationController(planar_3r, config).update(state, reference)
    tool = planar_3r.tool_kinematics(state, planar_3r.base_frame)
    expected = np.linalg.pinv(tool.J_m[:2]) @ (
        reference.acceleration[:2] + 200.0 * reference.velocity[:2] + 400.0 * (reference.position - tool.position)[:2]
    )
    assert np.allclose(joints.acceleration, expected)
    assert np.abs(reaction.reaction).max() > 1.0 and not reaction.vibration_damping


@pytest.mark.parametrize("position", [[0.0, 0.0, 0.0], [np.pi / 2, 0.0, 0.0], [0.3, np.pi, 0.0]])
def test_near_singular_postures_are_damped_and_reported(planar_3r, position):
    """Stretched along the rail H_bm vanishes, stretched across it Jbar loses rank: bounded answers, and said so."""
    controller = VibrationController(planar_3r, VibrationControllerConfig())
    for shift in (0.0, 1e-9, 1e-6, 1e-4, 1e-3):
        state = ArmState(0, np.array(position) + shift, np.zeros(3), np.array([0.01]), np.array([0.1]))
        tool = planar_3r.tool_kinematics(state, planar_3r.base_frame)
        reference = CartesianReference(
            0, planar_3r.base_frame, tool.position + [0.001, 0.001, 0.0], np.eye(3), np.zeros(6), np.zeros(6), PLANAR
        )
        joints, reaction = controller.update(state, reference)
        assert reaction.damping > 0.0
        assert np.abs(joints.acceleration).max() < 1e3


def test_trep_with_one_free_direction_damps_its_base(trep):
    rng = np.random.default_rng(6)
    controller = VibrationController(
        trep, VibrationControllerConfig(task="none", vibration_gain=24.0, joint_damping=0.0)
    )
    for _ in range(50):
        state = ArmState(0, rng.uniform(0.5, 1.5, 2), np.zeros(2), rng.normal(size=1) * 0.01, rng.normal(size=1) * 0.1)
        joints, reaction = controller.update(state)
        blocks = trep.blocks(state)
        base = trep.base_acceleration(blocks, state, trep.forward_dynamics(state, joints.effort))
        passive = -(77.9218 * state.deflection + 0.05 * state.deflection_rate) / 1.225
        assert np.allclose(base, passive - 24.0 * state.deflection_rate, atol=1e-9)
        assert reaction.smallest_restricted_singular_value == 0.0


@pytest.mark.parametrize("field", ["position", "velocity", "acceleration"])
def test_a_reference_with_nan_is_refused(planar_3r, field):
    rng = np.random.default_rng(7)
    state = random_state(planar_3r, rng)
    reference = random_reference(planar_3r, state, rng, planar_3r.base_frame)
    bad = replace(reference, **{field: getattr(reference, field) * np.nan})
    with pytest.raises(InputError, match="not finite"):
        VibrationController(planar_3r, VibrationControllerConfig()).update(state, bad)


def test_a_missing_reference_and_an_unknown_frame_are_refused(planar_3r):
    rng = np.random.default_rng(8)
    state = random_state(planar_3r, rng)
    controller = VibrationController(planar_3r, VibrationControllerConfig())
    with pytest.raises(InputError, match="needs a CartesianReference"):
        controller.update(state)
    reference = random_reference(planar_3r, state, rng, planar_3r.base_frame)
    with pytest.raises(InputError, match="frame 'map' is not usable"):
        controller.update(state, replace(reference, frame="map"))


def test_an_arm_without_elastic_base_or_without_redundancy_is_refused(planar_3r_text):
    start, end = planar_3r_text.index("<flexibility>"), planar_3r_text.index("</flexibility>")
    rigid = planar_3r_text[:start] + "<flexibility>" + planar_3r_text[end:]
    rigid = rigid.replace('<joint name="base_x" type="prismatic">', '<joint name="base_x" type="fixed">')
    with pytest.raises(ConfigError, match="no elastic joint"):
        VibrationController(ArmModel(rigid), VibrationControllerConfig())


@pytest.mark.parametrize(
    "change",
    [{"law": "magic"}, {"task": "dance"}, {"damping_ratio": -1.0}, {"position_gain": np.nan}, {"tool_threshold": 0.0}],
)
def test_settings_without_meaning_are_refused(change):
    with pytest.raises(ConfigError):
        VibrationControllerConfig(**change)
