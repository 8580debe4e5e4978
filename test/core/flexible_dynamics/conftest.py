"""The flexible robots of the package, and how to take the losses out of a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.robot.load import load_robot_description

URDF = Path(__file__).resolve().parents[3] / "urdf"


@pytest.fixture(scope="session")
def flexible_2r_text() -> str:
    """URDF of the planar flexible arm."""
    return load_robot_description(URDF / "flexible_2r.urdf.xacro")


@pytest.fixture(scope="session")
def flexible_3r_text() -> str:
    """URDF of the spatial flexible arm on its mast."""
    return load_robot_description(URDF / "flexible_3r.urdf.xacro")


@pytest.fixture
def without_losses() -> Callable[[FlexibleModel], FlexibleModel]:
    """Takes damping and friction out of a model, modes and hinges."""

    def take_out(model: FlexibleModel) -> FlexibleModel:
        model.tree.C[:], model.tree.damping[:], model.tree.friction[:] = 0.0, 0.0, 0.0
        return model

    return take_out
