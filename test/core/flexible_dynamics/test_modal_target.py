"""Accelerations of modes and joints compared with desired ones (US 5,546,508, claims 1, 16, 31), against Pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
from modal_slew import START, URDF, arm, controller_of, sampled, slew

from flexarm_core.errors import ConfigError
from flexarm_core.flexible_dynamics.control.controller import FlexibleController, FlexibleControllerConfig
from flexarm_core.flexible_dynamics.control.force_correction import correct_forces
from flexarm_core.flexible_dynamics.control.gain_check import law_gains
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.vibration_damping import static_deflection
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import JointReference


@pytest.mark.parametrize(("influence", "most"), [("exact", 2), ("diagonal", 300)])
def test_weighted_forces_are_the_least_squares_of_another_engine(influence, most):
    """The arm on its elastic mast with rigid links: responses and accelerations by Pinocchio, forces by lstsq."""
    model, random = arm(rigid=True), np.random.default_rng(5)
    other = pinocchio.buildModelFromXML(model.description.text)
    data, place = other.createData(), [other.joints[other.getJointId(name)].idx_v for name in model.hinge_names]
    stiffness, damping = model.stiffness_matrix(), model.damping_matrix()
    for _ in range(5):
        x, v = random.normal(size=5) * [0.02, 0.02, 1, 1, 1], random.normal(size=5)
        wanted, weight = 10.0 * random.normal(size=5), np.diag(random.uniform(0.1, 3.0, 5))
        q, rate = np.zeros(5), np.zeros(5)
        q[place], rate[place] = x, v
        M = pinocchio.crba(other, data, q)
        M = np.triu(M) + np.triu(M, 1).T + np.diag(other.armature)
        bias = pinocchio.nonLinearEffects(other, data, q, rate)[place]
        inverse = np.linalg.inv(M[np.ix_(place, place)])
        free = -inverse @ (bias + stiffness @ x + damping @ v)
        root, response = np.sqrt(weight), inverse[:, model.actuated]
        expected = np.linalg.lstsq(root @ response, root @ (wanted - free), rcond=None)[0]
        model.articulate(x, v)
        found = correct_forces(
            model, np.zeros(3), wanted, weight=weight, influence=influence, iterations=most, tolerance=1e-10
        )
        assert found.effort == pytest.approx(expected, rel=1e-6, abs=1e-6)
        assert found.missed == pytest.approx(wanted - free - response @ expected, abs=1e-6)
        assert np.abs(found.missed).max() > 0.1, "three efforts do not reach five accelerations, and that is reported"
        assert found.discrepancy < 1e-6, "nothing is left that efforts could remove"


@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_the_checked_gains_are_those_of_the_controller(damping):
    model = arm(gravity=(0.0, 0.0, 0.0))
    controller, size, step = controller_of(model, damping), model.size, 1e-6
    x = np.zeros(size)
    x[model.actuated] = START
    still, found = JointReference(0, START, np.zeros(3), np.zeros(3)), []
    for unit in step * np.eye(2 * size):
        efforts = []
        for way in (unit, -unit):
            controller.reset()
            efforts.append(controller.update(*sampled(model, 0, x + way[:size], way[size:]), still).effort)
        found.append((efforts[1] - efforts[0]) / (2.0 * step))
    expected = law_gains(model, x, "accelerations", controller.config.motion, controller.config.conditions.period)
    assert np.allclose(np.transpose(found), expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())


def test_exact_accelerations_on_links_softer_than_told_are_refused_and_do_swing_up():
    """The check once had the sign of the stiffness wrong, and accepted them."""
    told = load_robot_description(URDF / "flexible_2r.urdf.xacro", {"stiffness_scale": "1.25"})
    model = FlexibleModel(told, gravity=(0.0, 0.0, 0.0))
    plant = FlexibleModel(load_robot_description(URDF / "flexible_2r.urdf.xacro"), gravity=(0.0, 0.0, 0.0))
    with pytest.raises(ConfigError, match=r"no gains hold with stiffness times 0\.8"):
        FlexibleController(model, FlexibleControllerConfig(law="accelerations"))
    controller, start = controller_of(model, 0.0), np.array([0.0, 0.8])
    x, v, swing = np.zeros(model.size), np.zeros(model.size), []
    x[model.actuated], v[model.modal] = start, 1e-3
    for tick in range(2000):
        joints, flexible = sampled(model, tick * 1_000_000, x, v)
        effort = controller.update(joints, flexible, JointReference(joints.stamp, start, 0 * start, 0 * start)).effort
        plant.set_wrenches(x, v, None)
        plant.integrate(x, v, effort, 2.5e-4, 4)
        swing.append(float(np.abs(x[model.modal]).max()))
    assert max(swing[1500:]) > 10.0 * max(swing[:500])


def test_comparing_modes_too_leaves_less_than_half_of_their_discrepancy_and_stops_the_swing():
    alone, swinging, exact = slew(0.3, 0.0)
    both, calm, yielded = slew(0.3, 1.0)
    ratio = float(np.sqrt((both**2).mean() / (alone**2).mean()))
    assert both.shape == (2000, 12), "one value for each elastic joint and mode"
    assert ratio < 0.5
    assert np.ptp(calm[-500:], axis=0).max() < 0.2 * np.ptp(swinging[-500:], axis=0).max()
    assert exact < 1e-3 < yielded < 0.05, "joints yield for it, and by how much"


def test_without_weight_modes_are_compared_but_forces_are_those_of_the_joints_alone():
    model, random = arm(), np.random.default_rng(2)
    x, v = np.zeros(model.size), 0.1 * random.normal(size=model.size)
    x[model.actuated], x[model.unmeasured] = START, static_deflection(model, START)
    reference = JointReference(0, START, np.zeros(3), np.ones(3))
    answers = []
    for damping in (0.0, 0.3):
        controller = controller_of(model, damping, 0.0)
        answers.append(controller.update(*sampled(model, 0, x, v), reference).effort)
        assert controller.missed.shape == ((12,) if damping else (0,))
    assert answers[0] == pytest.approx(answers[1], rel=1e-9)
