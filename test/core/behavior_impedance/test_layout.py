"""Memory of the impedance law: the views cover it, each number once, and kernels read what Python writes."""

import numpy as np
import pytest

from flexarm_core.behavior_impedance.behavior import Contribution
from flexarm_core.behavior_impedance.layout import view_parts, view_state
from flexarm_core.compiled import allocate


@pytest.mark.parametrize("n", (1, 7))
@pytest.mark.parametrize("views", (view_parts, view_state))
def test_the_views_cover_the_memory_once_and_are_those_of_the_kernels(views, n):
    memory, named = allocate(views, n)
    memory[:] = np.arange(memory.size)
    assert np.array_equal(np.concatenate([part.ravel() for part in named]), memory)
    for part, compiled in zip(named, views(memory, n), strict=True):
        assert part.base is memory and np.array_equal(part, compiled)


def test_a_contribution_shows_its_row_and_the_motion_of_its_lead():
    memory, named = allocate(view_parts, 7)
    memory[:] = np.arange(memory.size)
    out = Contribution(memory, 7)
    assert out.row is memory
    for name, part in named._asdict().items():
        assert np.array_equal(getattr(out, name), part) and np.shares_memory(getattr(out, name), part)
    lead = (out.lead_position, out.lead_rotation, out.lead_twist, out.lead_acceleration)
    assert np.array_equal(out.lead_motion, np.concatenate([part.ravel() for part in lead]))
    assert np.array_equal(out.offset_motion, (out.offset, out.twist, out.acceleration))
