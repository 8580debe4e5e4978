"""Surfaces: what none can be is refused, with its reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flexarm_core.errors import ConfigError
from flexarm_sim.backends import make_backend
from flexarm_sim.surfaces import Surface

TABLE = {"name": "table", "kind": "plane", "position": (0.0, 0.0, 0.2), "rpy": (0.0, 0.0, 0.0), "stiffness": 1e4}
BLOCK = TABLE | {"name": "block", "kind": "box", "half_extents": (0.1, 0.2, 0.3)}
NAN = float("nan")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": ""}, "a surface has no name"),
        ({"kind": "sphere"}, "surface 'table': kind 'sphere' is unknown; kinds: plane, box"),
        ({"position": (0.0, 0.0)}, "position is .* expected three finite numbers"),
        ({"position": (0.0, NAN, 0.0)}, "position is .* expected three finite numbers"),
        ({"rpy": (0.0, 0.0, float("inf"))}, "rpy is .* expected three finite numbers"),
        ({"stiffness": 0.0}, r"stiffness is 0.0, expected a positive number \[N/m\]"),
        ({"stiffness": NAN}, "stiffness is nan"),
        ({"stiffness": -1e4}, "stiffness is -10000.0"),
        ({"damping": -1.0}, r"damping is -1.0, expected a number of at least 0 \[N\*s/m\]"),
        ({"damping": NAN}, "damping is nan"),
        ({"friction": -0.1}, "friction is -0.1"),
        ({"friction": NAN}, "friction is nan"),
        ({"half_extents": (0.1, 0.1, 0.1)}, "expected zeros: a plane has no end"),
        ({"kind": "box"}, "half_extents of a box are .* expected positive numbers"),
        ({"kind": "box", "half_extents": (0.1, 0.1, -0.1)}, "half_extents of a box"),
    ],
)
def test_what_is_no_surface_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Surface(**(TABLE | change))


def test_the_normal_of_a_surface_is_the_z_axis_of_its_frame() -> None:
    wall = Surface(**(TABLE | {"rpy": (0.0, -np.pi / 2, 0.0)}))
    assert np.allclose(wall.rotation[:, 2], [-1.0, 0.0, 0.0])


def test_surfaces_have_names_of_their_own(one_joint: Any) -> None:
    surfaces = [Surface(**TABLE), Surface(**BLOCK), Surface(**TABLE)]
    with pytest.raises(ConfigError, match="names of their own; given more than once: table"):
        make_backend("mujoco", one_joint(), surfaces=surfaces)


@pytest.mark.parametrize("radius", [0.0, -0.01, NAN])
def test_a_tip_has_a_size(one_joint: Any, radius: float) -> None:
    with pytest.raises(ConfigError, match="tip_radius is .* expected a positive number"):
        make_backend("mujoco", one_joint(), surfaces=[Surface(**TABLE)], tip_radius=radius)


def test_a_backend_that_knows_no_contact_says_so(one_joint: Any) -> None:
    with pytest.raises(ConfigError, match="flexible_dynamics has no contact: remove the surfaces table, block"):
        make_backend("flexible_dynamics", one_joint(), surfaces=[Surface(**TABLE), Surface(**BLOCK)])


@pytest.mark.parametrize("harder", [{"stiffness": 1e9}, {"damping": 1e5}])
def test_a_surface_too_hard_for_the_step_is_refused_and_the_step_that_is_named_will_do(
    one_joint: Any, harder: dict[str, float]
) -> None:
    surfaces = [Surface(**TABLE), Surface(**(TABLE | {"name": "anvil"} | harder))]
    with pytest.raises(ConfigError, match=r"too long for surface 'anvil' .* give at most .* s, or") as refused:
        make_backend("mujoco", one_joint(), surfaces=surfaces)
    possible = float(str(refused.value).split("at most ")[1].split(" s")[0])
    make_backend("mujoco", one_joint(), surfaces=surfaces, max_step=possible)
