"""The recursion against a dense solve, against sums over the nodes, and against Pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
from node_dynamics import reference_acceleration
from random_trees import Case, random_case

from flexarm_core.errors import InputError
from flexarm_core.flexible_dynamics.model import FlexibleModel


def largest(a, b):
    return np.abs(a - b).max() / max(np.abs(b).max(), 1e-12)


def dense_acceleration(case: Case):
    """``M^-1 (T - bias)`` of the composite mass matrix and the inverse dynamics."""
    model = case.model
    forces = -model.inverse_dynamics(case.x, case.v, np.zeros(model.size), case.wrenches)
    forces[: len(case.effort)] += case.effort
    return np.linalg.solve(model.mass_matrix(case.x), forces)


def accelerations(case: Case):
    return case.model.forward_dynamics(case.x, case.v, case.effort, case.wrenches)


@pytest.mark.parametrize("count", [160, pytest.param(1000, marks=pytest.mark.long)])
def test_forward_dynamics_equals_the_dense_solve_on_random_trees(tmp_path, count):
    rng = np.random.default_rng(1)
    kinds, elastic = set(), 0
    for trial in range(count):
        case = random_case(rng, tmp_path, links=1 + trial % 8)
        kinds |= set(case.model.tree.kind.tolist())
        elastic += len(case.model.elastic)
        assert largest(accelerations(case), dense_acceleration(case)) < 1e-9, f"trial {trial}"
    assert kinds == {0, 1, 2}
    assert elastic > 0.1 * count


def test_forward_dynamics_equals_the_sums_over_the_nodes(tmp_path):
    rng = np.random.default_rng(2)
    for trial in range(60):
        case = random_case(rng, tmp_path, links=1 + trial % 8, flexible=0.7)
        gravity = -case.model.tree.root
        expected = reference_acceleration(case.model, gravity, case.x, case.v, case.effort, case.wrenches)
        assert largest(accelerations(case), expected) < 1e-9, f"trial {trial}"


def test_columns_of_the_mass_matrix_are_inverse_dynamics_of_unit_accelerations(tmp_path):
    rng = np.random.default_rng(3)
    for _ in range(20):
        case = random_case(rng, tmp_path, links=6)
        model, still = case.model, np.zeros(case.model.size)
        bias = model.inverse_dynamics(case.x, still, still)
        M = model.mass_matrix(case.x)
        columns = [model.inverse_dynamics(case.x, still, unit) - bias for unit in np.eye(model.size)]
        assert largest(np.transpose(columns), M) < 1e-11
        assert largest(M, M.T) < 1e-13
        assert np.linalg.eigvalsh(M)[0] > 0.0


def test_inverse_dynamics_of_forward_dynamics_gives_the_efforts_back_and_no_modal_force(tmp_path):
    rng = np.random.default_rng(4)
    for _ in range(20):
        case = random_case(rng, tmp_path, links=6)
        forces = case.model.inverse_dynamics(case.x, case.v, accelerations(case), case.wrenches)
        expected = np.concatenate((case.effort, np.zeros(len(case.model.modal))))
        assert np.abs(forces - expected).max() < 1e-8


def test_response_holds_columns_of_the_inverse_mass_matrix(tmp_path):
    rng = np.random.default_rng(5)
    for _ in range(20):
        case = random_case(rng, tmp_path, links=5)
        case.model.articulate(case.x, case.v, case.wrenches)
        everything = case.model.response(np.arange(case.model.size))
        assert largest(everything, np.linalg.inv(case.model.mass_matrix(case.x))) < 1e-10


@pytest.mark.parametrize("step", [1e-4, 1e-3, 0.1])
def test_implicit_step_equals_the_dense_trapezoidal_formula(tmp_path, step):
    rng = np.random.default_rng(6)
    for _ in range(20):
        case = random_case(rng, tmp_path, links=6)
        model = case.model
        K, C, half = model.stiffness_matrix(), model.damping_matrix(), 0.5 * step
        forces = -model.inverse_dynamics(case.x, case.v, np.zeros(model.size), case.wrenches)  # K x + C v among them
        forces[: len(case.effort)] += case.effort
        dense = np.linalg.solve(model.mass_matrix(case.x) + half * C + half**2 * K, forces - half * K @ case.v)
        model.articulate(case.x, case.v, case.wrenches, step)
        assert largest(model.accelerate(case.effort), dense) < 1e-9


def test_a_step_leaves_no_trace_in_later_accelerations(tmp_path):
    case = random_case(np.random.default_rng(7), tmp_path, links=6)
    before = accelerations(case)
    case.model.articulate(case.x, case.v, step=0.01)
    case.model.accelerate(case.effort)
    assert np.array_equal(accelerations(case), before)


def pinocchio_acceleration(model: FlexibleModel, x, v, effort):
    """``pinocchio.aba`` in our order of hinges, with springs, dampers and friction among the efforts."""
    theirs = pinocchio.buildModelFromXML(model.description.text)
    theirs.gravity.linear = -model.tree.root
    theirs.armature[:] = 0.0
    q, rates, torque = pinocchio.neutral(theirs), np.zeros(theirs.nv), np.zeros(theirs.nv)
    total = effort - model.stiffness_matrix() @ x - model.damping_matrix() @ v
    total -= model.tree.friction * np.tanh(v / 1e-3)
    ids = [theirs.getJointId(name) for name in model.hinge_names]
    place = [theirs.joints[i].idx_v for i in ids]
    for i, h in zip(ids, range(model.size), strict=True):
        first = theirs.joints[i].idx_q
        q[first : first + theirs.joints[i].nq] = x[h] if theirs.joints[i].nq == 1 else (np.cos(x[h]), np.sin(x[h]))
    rates[place], torque[place] = v, total
    return pinocchio.aba(theirs, theirs.createData(), q, rates, torque)[place]


def test_rigid_trees_equal_pinocchio(tmp_path):
    rng = np.random.default_rng(8)
    for trial in range(60):
        case = random_case(rng, tmp_path, links=1 + trial % 8, flexible=0.0)
        ours = case.model.forward_dynamics(case.x, case.v, case.effort)
        assert largest(ours, pinocchio_acceleration(case.model, case.x, case.v, case.effort)) < 1e-9, f"trial {trial}"


def test_flexible_3r_with_rigid_links_equals_pinocchio(flexible_3r_text):
    model, rng = FlexibleModel(flexible_3r_text, rigid=True), np.random.default_rng(9)
    for _ in range(20):
        x, v, effort = rng.uniform(-1, 1, (3, model.size))
        expected = pinocchio_acceleration(model, x, v, 10.0 * effort)
        assert largest(model.forward_dynamics(x, v, 10.0 * effort), expected) < 1e-9


def test_stiff_links_accelerate_as_rigid_ones_with_an_error_that_falls_with_stiffness(flexible_3r_text):
    rigid, rng = FlexibleModel(flexible_3r_text, rigid=True), np.random.default_rng(10)
    hinges = rigid.size
    x, v, effort = rng.uniform(-0.5, 0.5, (3, hinges))
    expected, errors = rigid.forward_dynamics(x, v, effort), []
    for scale in (1e2, 1e3, 1e4):
        model = FlexibleModel(flexible_3r_text)
        model.tree.K[:] *= scale
        bent, rates = np.concatenate((x, np.zeros(model.size - hinges))), np.zeros(model.size)
        rates[:hinges] = v
        K = model.stiffness_matrix()[hinges:, hinges:]
        for _ in range(30):  # until the modes are at rest against the rigid motion
            acceleration, bias = np.zeros(model.size), model.inverse_dynamics(bent, rates, np.zeros(model.size))
            acceleration[:hinges] = np.linalg.solve(model.mass_matrix(bent)[:hinges, :hinges], effort - bias[:hinges])
            bent[hinges:] -= np.linalg.solve(K, model.inverse_dynamics(bent, rates, acceleration)[hinges:])
        errors.append(largest(model.forward_dynamics(bent, rates, effort)[:hinges], expected))
    assert errors[0] < 0.05
    assert errors[1] == pytest.approx(errors[0] / 10.0, rel=0.2)
    assert errors[2] == pytest.approx(errors[1] / 10.0, rel=0.2)


def test_an_arm_without_modes_has_none_anywhere(planar_3r_text):
    model = FlexibleModel(planar_3r_text)
    assert model.mode_names == ()
    assert model.size == len(model.hinge_names) == 4
    assert model.strain_map.shape == (0, 0)
    x, v = np.array([0.01, 0.3, -0.4, 0.2]), np.array([0.1, 0.2, -0.3, 0.4])
    expected = pinocchio_acceleration(model, x, v, np.ones(4))
    assert largest(model.forward_dynamics(x, v, np.ones(4)), expected) < 1e-9


def test_modes_stand_in_the_order_of_the_modal_data_also_where_the_text_names_links_in_another(tmp_path):
    rng = np.random.default_rng(11)
    seen = 0
    for _ in range(30):
        model = random_case(rng, tmp_path, links=7, flexible=0.8).model
        named = [f"{link}/{mode}" for link, data in model.modal_data.items() for mode in data.modes]
        assert list(model.mode_names) == named
        seen += [link for link in model.description.links if link in model.modal_data] != list(model.modal_data)
    assert seen > 5


def test_a_wrench_on_what_does_not_exist_is_refused(flexible_3r_text):
    model = FlexibleModel(flexible_3r_text)
    x = np.zeros(model.size)
    for where, said in (("hand", "link 'hand' does not exist; links: .*forearm"), (("forearm", 99), "no node 99")):
        with pytest.raises(InputError, match=said):
            model.forward_dynamics(x, x, np.zeros(5), {where: np.zeros(6)})
