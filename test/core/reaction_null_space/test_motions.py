"""Motions of the joints that leave the base at rest, and how well conditioned they are."""

from __future__ import annotations

import numpy as np
import pytest
from planned_arms import boom_motions, planar_motions

from flexarm_core.errors import ConfigError

BENT = np.array([0.2, 0.6, -0.3, -1.4, 0.4, 0.8, 0.1])


def test_conditioning_is_that_of_the_projected_jacobian():
    """The singular values of ``J (1 - A^+ A)``, formed in full."""
    motions = boom_motions()
    space = motions.at(BENT)
    projector = np.eye(7) - np.linalg.pinv(space.coupling) @ space.coupling
    assert np.allclose(np.linalg.svd(space.jacobian @ projector)[1], space.tool_sigma, atol=1e-9)


def test_more_tasks_than_joints_are_refused():
    with pytest.raises(ConfigError, match="select fewer"):
        planar_motions((True, True, True))
