"""One rule for numbers of parameters: finite, unless the row itself says infinite."""

from __future__ import annotations

import math

import pytest

from flexarm_core.errors import ConfigError
from flexarm_nodes.node.parameters import ARM_PARAMETERS, Parameter

ROWS = (
    Parameter("gain", "double", 1.0, "a gain"),
    Parameter("least", "double", 1.0, "bounded", lower=0.0),
    Parameter("gains", "double[]", [1.0], "gains"),
    next(row for row in ARM_PARAMETERS if row.name == "gravity"),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused(row, wrong):
    value = [0.0, 0.0, wrong] if row.kind.endswith("[]") else wrong
    with pytest.raises(ConfigError, match=row.name):
        row.checked(value)


def test_a_row_whose_default_is_infinite_takes_it_and_no_nan():
    row = Parameter("height", "double", -math.inf, "least height")
    assert row.checked(-math.inf) == -math.inf
    for wrong in (math.nan, math.inf):
        with pytest.raises(ConfigError, match="height"):
            row.checked(wrong)
