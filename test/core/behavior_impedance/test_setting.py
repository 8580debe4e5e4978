"""Settings of a behavior: each has a value, and what is unknown or too large is refused by name."""

from __future__ import annotations

import pytest

from flexarm_core.behavior_impedance.setting import checked_settings
from flexarm_core.errors import ConfigError
from flexarm_core.settings import Setting


def test_what_is_not_given_has_its_default_and_no_two_share_a_list():
    rows = (Setting("a", "double[]", [1.0], ""), Setting("b", "int", 3, ""))
    first, second = checked_settings(rows, {}), checked_settings(rows, {"b": 4})
    assert first == {"a": [1.0], "b": 3} and second == {"a": [1.0], "b": 4}
    first["a"].append(2.0)
    assert second["a"] == [1.0] and rows[0].default == [1.0]


def test_a_name_that_is_not_in_the_table_is_refused_with_those_that_are():
    with pytest.raises(ConfigError, match="'sped' is unknown; valid: speed"):
        checked_settings((Setting("speed", "double", 0.0, ""),), {"sped": 1.0})
    with pytest.raises(ConfigError, match="valid: none"):
        checked_settings((), {"sped": 1.0})


def test_a_number_that_no_quantity_of_an_arm_has_is_refused_unless_the_row_allows_it():
    rows = (Setting("k", "double[]", [0.0], ""), Setting("far", "double", 0.0, "", upper=1e12))
    assert checked_settings(rows, {"k": [1e9], "far": 1e11}) == {"k": [1e9], "far": 1e11}
    with pytest.raises(ConfigError, match="k must be no larger than 1e"):
        checked_settings(rows, {"k": [0.0, -2e9]})
