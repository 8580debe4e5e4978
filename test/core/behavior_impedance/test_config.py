"""Matrices of the law: symmetric, definite, of the right size, or refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.behavior_impedance.config import ImpedanceConfig
from flexarm_core.behavior_impedance.layout import view_settings
from flexarm_core.errors import ConfigError

TOOL, JOINTS = ("inertia", "damping", "stiffness"), ("joint_inertia", "joint_damping")


def definite(k, seed=0, scale=None):
    """Symmetric and positive definite, fully coupled."""
    root = np.random.default_rng(seed).standard_normal((k, k))
    matrix = root @ root.T + 0.1 * np.eye(k)
    roots = np.ones(k) if scale is None else np.array(scale)
    return matrix * np.outer(roots, roots)


def words(matrix):
    return tuple(matrix.ravel().tolist())


def test_what_is_given_stands_where_the_law_reads_it():
    matrices = {name: definite(6, seed) for seed, name in enumerate(TOOL)}
    joints = {name: definite(7, seed) for seed, name in enumerate(JOINTS)}
    given = {name: words(matrix) for name, matrix in {**matrices, **joints}.items()}
    axes = (True, False, True, True, False, True)
    table = ImpedanceConfig(
        **given, axes=axes, frame="tool", transition_acceleration=(1.0, 2.0, 3.0), mapping_damping=0.04
    ).table(7)
    settings = view_settings(table, 7)
    assert settings.in_tool_frame and settings.mapping_damping == 0.04
    assert settings.steps.tolist() == [1.0, 2.0, 3.0]
    assert settings.axes.tolist() == [1.0, 0.0, 1.0, 1.0, 0.0, 1.0]
    for name in (*TOOL, *JOINTS):
        assert getattr(settings, name).tolist() == (matrices | joints)[name].tolist()
    assert settings.joint_damping.ctypes.data + settings.joint_damping.nbytes == table.ctypes.data + table.nbytes


def test_diagonals_and_single_numbers_are_matrices_too():
    table = ImpedanceConfig(
        stiffness=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), joint_inertia=(2.0,), joint_damping=(1.0, 3.0)
    ).table(2)
    settings = view_settings(table, 2)
    assert settings.stiffness.tolist() == np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).tolist()
    assert settings.joint_inertia.tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert settings.joint_damping.tolist() == [[1.0, 0.0], [0.0, 3.0]]


def test_without_inertia_the_law_of_velocities_has_none_in_its_table():
    table = ImpedanceConfig(variant="velocity").table(6)
    assert not view_settings(table, 6).inertia.any()


@pytest.mark.parametrize("name", TOOL)
@pytest.mark.parametrize("values", ((), (1.0,) * 5, (1.0,) * 7, (1.0,) * 35, (float("nan"),) * 6, (float("inf"),) * 36,
                                    ("a",) * 6, (None,) * 6, ((1.0,) * 6,) * 6, None, "123456"))  # fmt: skip
def test_a_tool_matrix_of_another_size_or_not_finite_is_refused_by_name(name, values):
    with pytest.raises(ConfigError, match=f"{name} (needs 6 or 36 finite numbers|must be double|must be finite)"):
        ImpedanceConfig(**{name: values})


@pytest.mark.parametrize("name", JOINTS)
@pytest.mark.parametrize("size", (0, 2, 6, 8, 48, 50))
def test_a_joint_matrix_of_another_number_of_joints_is_refused_by_name(name, size):
    with pytest.raises(ConfigError, match=f"{name} needs 1 or 7 or 49 finite numbers"):
        ImpedanceConfig(**{name: (1.0,) * size}).table(7)


@pytest.mark.parametrize("name", TOOL)
def test_a_matrix_that_is_not_symmetric_is_refused_by_name(name):
    matrix = definite(6)
    matrix[0, 4] += 1e-6
    with pytest.raises(ConfigError, match=f"{name} must be symmetric"):
        ImpedanceConfig(**{name: words(matrix)})


@pytest.mark.parametrize("name", TOOL)
@pytest.mark.parametrize("scale", ((1.0,) * 6, (1e3, 1e3, 1e3, 1e-3, 1e-3, 1e-3)))
def test_an_indefinite_matrix_is_refused_even_where_only_its_coupling_makes_it_so(name, scale):
    matrix = np.eye(6)
    matrix[1, 4] = matrix[4, 1] = 1.01
    with pytest.raises(ConfigError, match=f"{name} must be positive"):
        ImpedanceConfig(**{name: words(matrix * np.outer(scale, scale))})


@pytest.mark.parametrize("name", TOOL)
def test_a_negative_diagonal_is_refused(name):
    with pytest.raises(ConfigError, match=f"{name} must be positive"):
        ImpedanceConfig(**{name: (1.0, 1.0, 1.0, 1.0, 1.0, -1e-6)})


def test_inertia_has_to_be_positive_where_damping_and_stiffness_may_vanish():
    vanishing = (1.0, 1.0, 1.0, 1.0, 1.0, 0.0)
    with pytest.raises(ConfigError, match="inertia must be positive definite"):
        ImpedanceConfig(inertia=vanishing)
    ImpedanceConfig(damping=vanishing, stiffness=(0.0,) * 6)
    with pytest.raises(ConfigError, match="damping must be positive definite"):
        ImpedanceConfig(damping=vanishing, variant="velocity")


def test_joints_too_need_an_inertia_and_no_negative_damping():
    with pytest.raises(ConfigError, match="joint_inertia must be positive definite"):
        ImpedanceConfig(joint_inertia=(0.0,)).table(4)
    ImpedanceConfig(joint_damping=(0.0,)).table(4)
    with pytest.raises(ConfigError, match="joint_damping must be positive semidefinite"):
        ImpedanceConfig(joint_damping=(1.0, 1.0, 1.0, -1.0)).table(4)


@pytest.mark.parametrize(
    ("name", "value"),
    (
        ("frame", "world"), ("variant", "position"), ("axes", (True,) * 5), ("axes", (False,) * 6),
        ("transition_acceleration", (1.0, 1.0)), ("transition_acceleration", (1.0, 0.0, 1.0)),
        ("transition_acceleration", (1.0, float("nan"), 1.0)), ("transition_acceleration", (1.0, 1.0, float("inf"))),
        ("transition_acceleration", (1.0, -1.0, 1.0)), ("mapping_damping", 0.0), ("mapping_damping", float("nan")),
    ),
)  # fmt: skip
def test_a_setting_without_meaning_is_refused_by_its_name(name, value):
    with pytest.raises(ConfigError, match=name):
        ImpedanceConfig(**{name: value})


@pytest.mark.parametrize("name", ("frame", "variant"))
def test_the_refusal_names_what_is_valid(name):
    with pytest.raises(ConfigError, match=getattr(ImpedanceConfig(), name)):
        ImpedanceConfig(**{name: "other"})
