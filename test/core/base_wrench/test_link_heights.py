"""Heights of links over the base link: Pinocchio's, of all links that rise or sink."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
import robots
import weighed_robots

from flexarm_core.base_wrench.link_heights import LinkHeights
from flexarm_core.errors import ConfigError


@pytest.mark.parametrize("name", ["arm_7r", "vertical_3r", "tilting_3r"])
def test_heights_are_those_of_pinocchio_in_the_frame_of_the_base_link(name):
    description, bodies = weighed_robots.description(name), weighed_robots.bodies(name)
    heights = LinkHeights(description, bodies, 0.0)
    model = pinocchio.buildModelFromXML(description.text)
    data = model.createData()
    names = [joint for joint in model.names if joint != "universe"]
    for position in np.random.default_rng(1).uniform(-2.0, 2.0, (10, bodies.n)):
        q = [dict(zip(bodies.coordinates, position, strict=False)).get(joint, 0.0) for joint in names]
        pinocchio.framesForwardKinematics(model, data, np.array(q))
        base = data.oMf[model.getFrameId(description.base_frame)]
        expected = [base.actInv(data.oMf[model.getFrameId(link)]).translation[2] for link in description.links]
        assert heights.heights(position) == pytest.approx(expected, abs=1e-12)


def test_the_tool_counts_and_the_foot_of_the_arm_does_not():
    description, bodies = weighed_robots.description("arm_7r"), weighed_robots.bodies("arm_7r")
    upright, hanging = np.zeros(7), np.array([0.0, 2.0, 0.0, -0.5, 0.0, 0.0, 0.0])
    tool, _ = robots.chain("arm_7r").pose(hanging)
    assert LinkHeights(description, bodies, 0.2)(upright)  # the first joint's origin lies at 0.1 m
    lowest = LinkHeights(description, bodies, 0.0).heights(hanging)[list(description.links).index("tool0")]
    assert lowest == pytest.approx(tool[2])
    assert not LinkHeights(description, bodies, tool[2] + 1e-3)(hanging)
    assert LinkHeights(description, bodies, tool[2] - 1e-3)(hanging)
    assert LinkHeights(description, bodies, -np.inf)(hanging)
    with pytest.raises(ConfigError, match="min_height must be a number"):
        LinkHeights(description, bodies, np.nan)
