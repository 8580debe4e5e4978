"""FlexibleModel.step: energy, an independent engine, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

from flexarm_core.errors import InputError
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.robot.load import load_robot

URDF = Path(__file__).resolve().parents[3] / "urdf"


@pytest.mark.parametrize("robot", ["flexible_2r", "flexible_3r"])
def test_energy_is_kept_for_800_steps_of_a_millisecond(robot, without_losses):
    model = without_losses(FlexibleModel(load_robot(URDF / f"{robot}.urdf.xacro")))
    rng = np.random.default_rng(5)
    x, v = rng.uniform(-0.5, 0.5, (2, model.size))
    x[model.modal] *= 0.02
    before, effort = model.energy(x, v), np.zeros(len(model.hinge_names))
    swing = 0.5 * v @ model.mass_matrix(x) @ v
    for _ in range(800):
        x, v = model.step(x, v, effort, 1e-3)
        swing = max(swing, 0.5 * v @ model.mass_matrix(x) @ v)
    assert abs(model.energy(x, v) - before) <= 1e-5 * swing


def test_an_arm_on_an_elastic_base_moves_as_pinocchio_says():
    description = load_robot(URDF / "planar_3r.urdf.xacro")
    model = FlexibleModel(description, gravity=(0.0, -9.81, 0.0))
    other = pin.buildModelFromXML(description.text)
    other.gravity.linear = np.array([0.0, -9.81, 0.0])
    data, size = other.createData(), model.size
    place = [other.joints[other.getJointId(name)].idx_v for name in model.hinge_names]
    for name, at in zip(model.hinge_names, place, strict=True):
        other.armature[at] = description.joints[name].armature
    K, D = np.diag(model.stiffness_matrix()), np.diag(model.damping_matrix())
    effort = np.zeros(size)
    effort[model.actuated] = 2.0, -1.0, 0.5

    def rates(_, state):
        x, v = state[:size], state[size:]
        q, qd, tau = np.zeros((3, size))
        q[place], qd[place], tau[place] = x, v, effort - K * x - D * v
        return np.concatenate((v, pin.aba(other, data, q, qd, tau)[place]))

    x, v = np.zeros(size), np.zeros(size)
    x[model.actuated] = 0.4, -0.7, 0.3
    x[model.elastic[0]] = 0.01
    wanted = solve_ivp(rates, (0.0, 0.8), np.concatenate((x, v)), method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    for _ in range(800):
        x, v = model.step(x, v, effort, 1e-3)
    assert np.abs(wanted[:size]).max() > 0.5
    assert np.concatenate((x, v)) == pytest.approx(wanted, abs=1e-4)  # of rates up to 11 rad/s


def test_arguments_stay_and_wrong_ones_are_refused(flexible_2r_text):
    model = FlexibleModel(flexible_2r_text)
    x, v = np.full(model.size, 0.1), np.full(model.size, 0.2)
    moved, _ = model.step(x, v, np.zeros(2), 0.01)
    assert (x == 0.1).all() and (v == 0.2).all() and not np.allclose(moved, x)
    assert (model.step(x, v, np.zeros(2), 0.0)[0] == x).all()
    for duration in (-1e-3, np.nan, np.inf):
        with pytest.raises(InputError, match="duration"):
            model.step(x, v, np.zeros(2), duration)
