"""Articulated-body quantities of one step used in the next (US 5,546,508, claims 6, 21, 36), against Pinocchio."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio
import pytest

from flexarm_core.errors import ConfigError
from flexarm_core.flexible_dynamics.control.carried_over import articulate, correct_carried_over
from flexarm_core.flexible_dynamics.control.controller import FlexibleController, FlexibleControllerConfig
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.vibration_damping import VibrationDampingConfig
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import ArmState, FlexibleState, JointReference

ROOT = Path(__file__).resolve().parents[3]
STEP = 1e-3  # [s]


def arm(**options) -> FlexibleModel:
    return FlexibleModel(load_robot_description(ROOT / "urdf" / "flexible_3r.urdf.xacro"), **options)


def motion(model: FlexibleModel, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates, rates and desired accelerations of the joints of a swing with vibrating modes."""
    size, joints = model.size, model.actuated
    amplitude, w = np.full(size, 2e-3), np.linspace(20.0, 40.0, size)
    amplitude[joints], w[joints] = 0.5, np.linspace(0.5, 1.2, len(joints))
    phase = np.arange(size) * 0.7
    x, v = amplitude * np.sin(w * t + phase), amplitude * w * np.cos(w * t + phase)
    return x, v, (-w * w * x)[joints]


def of_pinocchio(model: FlexibleModel, x: np.ndarray, v: np.ndarray, effort: np.ndarray) -> np.ndarray:
    """Mean accelerations over a step of a model without modes."""
    other = pinocchio.buildModelFromXML(model.description.text)
    data, place = other.createData(), [other.joints[other.getJointId(name)].idx_v for name in model.hinge_names]
    q, rate = np.zeros(model.size), np.zeros(model.size)
    q[place], rate[place] = x, v
    M = pinocchio.crba(other, data, q)
    M = np.triu(M) + np.triu(M, 1).T + np.diag(other.armature)
    bias = pinocchio.nonLinearEffects(other, data, q, rate)[place]
    K, C, half = model.stiffness_matrix(), model.damping_matrix(), 0.5 * STEP
    total = M[np.ix_(place, place)] + half * (C + half * K)
    return np.asarray(np.linalg.solve(total, effort - bias - K @ (x + half * v) - C @ v))


def of_dense_solve(model: FlexibleModel, x: np.ndarray, v: np.ndarray, effort: np.ndarray) -> np.ndarray:
    K, C, half = model.stiffness_matrix(), model.damping_matrix(), 0.5 * STEP
    forces = np.zeros(model.size)
    forces[: len(effort)] = effort
    bias = model.inverse_dynamics(x, v, np.zeros(model.size))  # with springs and dampers of the moment
    total = model.mass_matrix(x) + half * (C + half * K)
    return np.asarray(np.linalg.solve(total, forces - bias - half * K @ v))


@pytest.mark.parametrize(("rigid", "engine"), [(True, of_pinocchio), (False, of_dense_solve)])
def test_carried_over_for_ten_samples_the_forces_cause_the_desired_accelerations(rigid, engine):
    model, carried, uncorrected = arm(rigid=rigid), None, 0.0
    for k in range(200):
        x, v, wanted = motion(model, k * STEP)
        if k % 10 == 0:
            carried = articulate(model, k, x, v, STEP, carried)
        else:
            stale = engine(model, x, v, carried.effort) - carried.acceleration
            uncorrected = max(uncorrected, float(np.abs(stale).max()))
        carried = correct_carried_over(model, carried, x, v, STEP, wanted, 1e-6)
        assert carried is not None
        assert carried.stamp == k - k % 10, "nothing is computed anew between"
        true = engine(model, x, v, carried.effort)
        scale = max(1.0, float(np.abs(true).max()))
        assert np.abs(true - carried.acceleration).max() <= carried.error + 1e-9 * scale
        assert carried.error <= 1e-6 * scale
        assert true[model.actuated] == pytest.approx(wanted, abs=2e-6 * scale)
    assert uncorrected > 1e-3, "what is corrected is not small"


def controllers(model: FlexibleModel, **options) -> tuple[FlexibleController, FlexibleController]:
    """One that computes all at each sample, and one that carries over."""
    motion = VibrationDampingConfig(100.0, 20.0)
    config = {"law": "accelerations", "motion": motion, "check_gains": False, "tolerance": 1e-8, **options}
    return tuple(FlexibleController(model, FlexibleControllerConfig(**config, carry_over=t)) for t in (0.0, 0.01))


def sampled(model: FlexibleModel, stamp: int, x: np.ndarray, v: np.ndarray) -> tuple[ArmState, FlexibleState]:
    elastic, modal, none = model.elastic, model.modal, np.zeros(len(model.elastic))
    joints = ArmState(stamp, x[model.actuated], v[model.actuated], none, none)
    return joints, FlexibleState(stamp, x[elastic], v[elastic], none, x[modal], v[modal], 0 * x[modal])


def test_the_controller_commands_the_efforts_that_it_commands_without_also_after_a_jump():
    model = arm()
    fresh, carrying = controllers(model)
    for k in range(300):
        t = k * STEP + (2.0 if k >= 150 else 0.0)  # a jump to another posture
        x, v, wanted = motion(model, t)
        state = sampled(model, k * 1_000_000, x, v)
        reference = JointReference(state[0].stamp, state[0].position + 1e-3, state[0].velocity, wanted)
        expected, found = (one.update(*state, reference).effort for one in (fresh, carrying))
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-6 * np.abs(expected).max())
        assert fresh.carried_over_error == 0.0


def test_a_rejected_sample_leaves_what_is_carried_over():
    model = arm()
    _, carrying = controllers(model)
    efforts = []
    for broken in (False, True):
        carrying.reset()
        for k in range(5):
            x, v, wanted = motion(model, k * STEP)
            joints, bent = sampled(model, k * 1_000_000, x, v)
            if broken and k == 4:
                beyond = JointReference(joints.stamp, joints.position, 1e308 * np.ones(3), 1e308 * np.ones(3))
                with np.errstate(all="ignore"), pytest.raises(Exception, match="finite"):
                    carrying.update(joints, bent, beyond)
            reference = JointReference(joints.stamp, joints.position, joints.velocity, wanted)
            found = carrying.update(joints, bent, reference)
        efforts.append(found.effort)
    assert np.array_equal(*efforts)


def test_other_laws_carry_nothing_over_and_say_so():
    with pytest.raises(ConfigError, match="carry_over needs law 'accelerations'"):
        FlexibleControllerConfig(carry_over=0.01)
    with pytest.raises(ConfigError, match="mode_damping 0"):
        FlexibleControllerConfig(law="accelerations", carry_over=0.01, motion=VibrationDampingConfig(mode_damping=0.3))
