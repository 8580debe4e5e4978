"""What the vocabulary says of numbers."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.types import all_finite


@pytest.mark.filterwarnings("ignore:overflow")
def test_numbers_are_finite_also_where_their_squares_are_not():
    assert all_finite(np.zeros(0), np.ones(3), np.array([1e300, -1e300]))


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_one_number_that_is_not_finite_is_found(wrong):
    assert not all_finite(np.array([1.0, wrong, 2.0]))
    assert not all_finite(np.ones(3), np.array([1e300, wrong]))
