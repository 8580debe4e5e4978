"""Settings: every kind of illegal value is refused, and the message names the setting."""

from __future__ import annotations

import array
import math

import numpy as np
import pytest

from flexarm_core.behavior_impedance.setting import Setting, checked_settings
from flexarm_core.errors import ConfigError

KINDS = {
    "bool": (True, (1, 0.0, "true", None, [True])),
    "int": (3, (True, 3.0, "3", None, [3])),
    "double": (0.5, (True, "0.5", None, [0.5], math.nan, math.inf, -math.inf, 1j, 10**400)),
    "string": ("word", (1, None, b"word", ["word"])),
    "double[]": ([0.5, 1.0], ("12", b"12", 0.5, None, [True], ["1"], [[1.0]], [None], {1.0: 2}, [math.nan], [10**400])),
    "string[]": (["a", "b"], ("ab", [1], None, [b"a"], {"a": 1}, {"a"})),
    "bool[]": ([True, False], (True, [1], [1.0], ["true"], None)),
}
ILLEGAL = [(kind, value) for kind, (_, values) in KINDS.items() for value in values]


@pytest.mark.parametrize("kind", KINDS)
def test_a_legal_value_comes_back_as_it_is(kind):
    value = KINDS[kind][0]
    assert Setting("it", kind, value, "").checked(value) == value


@pytest.mark.parametrize(("kind", "value"), ILLEGAL, ids=[f"{kind}-{value!r:.20}" for kind, value in ILLEGAL])
def test_a_value_of_another_type_is_refused_by_name(kind, value):
    with pytest.raises(ConfigError, match="speed must be"):
        Setting("speed", kind, None, "").checked(value)


def test_whole_numbers_count_as_doubles():
    assert type(Setting("it", "double", 0.0, "").checked(2)) is float
    assert [type(item) for item in Setting("it", "double[]", [], "").checked([1, 2.5])] == [float, float]


@pytest.mark.parametrize("values", ((1.0, 2.0), np.array([1.0, 2.0]), array.array("d", (1.0, 2.0))))
def test_tuples_and_arrays_of_numbers_are_lists(values):
    checked = Setting("it", "double[]", [], "", size=2).checked(values)
    assert checked == [1.0, 2.0] and type(checked) is list and {type(item) for item in checked} == {float}


@pytest.mark.parametrize(
    ("kind", "value"), (("bool", np.True_), ("int", np.int64(3)), ("double", np.float32(0.5)), ("double", np.int32(2)))
)
def test_numbers_of_numpy_are_numbers(kind, value):
    checked = Setting("it", kind, None, "").checked(value)
    assert checked == value and type(checked) in (bool, int, float)


@pytest.mark.parametrize("value", (np.array(1.0), np.ones((2, 2))))
def test_an_array_that_is_no_list_is_refused(value):
    with pytest.raises(ConfigError, match="speed"):
        Setting("speed", "double[]", [], "").checked(value)


def test_bounds_belong_to_what_is_legal_and_what_is_beyond_is_refused():
    row = Setting("speed", "double", 0.0, "", "m/s", -1.0, 2.0)
    assert row.checked(-1.0) == -1.0 and row.checked(2.0) == 2.0
    for value in (math.nextafter(-1.0, -2.0), math.nextafter(2.0, 3.0)):
        with pytest.raises(ConfigError, match=r"speed must lie in \[-1.0, 2.0\]"):
            row.checked(value)


def test_each_item_of_a_list_has_to_be_within_the_bounds():
    with pytest.raises(ConfigError, match="speed"):
        Setting("speed", "double[]", [], "", lower=0.0).checked([1.0, -1e-9])


def test_a_list_of_a_fixed_size_has_that_size():
    row = Setting("axes", "bool[]", [True] * 3, "", size=3)
    for wrong in ([], [True] * 2, [True] * 4):
        with pytest.raises(ConfigError, match=f"axes needs 3 values, got {len(wrong)}"):
            row.checked(wrong)


def test_a_choice_is_one_of_those_that_the_message_lists():
    row = Setting("frame", "string", "base", "", choices=("base", "tool"))
    assert row.checked("tool") == "tool"
    with pytest.raises(ConfigError, match="frame must be one of base, tool; got 'world'"):
        row.checked("world")


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
