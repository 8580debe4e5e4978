"""Settings: every kind of illegal value is refused by name, and a record of them checks and describes itself."""

from __future__ import annotations

import array
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from flexarm_core.errors import ConfigError
from flexarm_core.settings import Setting, Settings, declared_settings, setting

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


@dataclass(frozen=True, slots=True)
class Servo(Settings):
    """Settings of a servo.

    Attributes:
        name: what it is called.
    """

    name: str
    gain: float = setting(2.0, "how stiff it is", "1/s", 0.0)
    steps: int = setting(3, "how often it tries", "", 1, 10)
    mode: str = setting("fast", "how it moves", choices=("fast", "slow"))
    axes: tuple[bool, ...] = setting((True, False), "what it moves", size=2)

    def check(self) -> None:
        """A slow servo is soft."""
        if self.mode == "slow" and self.gain > 1.0:
            raise ConfigError("gain of a slow servo must be at most 1")


def test_a_record_declares_each_field_that_has_a_setting():
    assert declared_settings(Servo) == (
        Setting("gain", "double", 2.0, "how stiff it is", "1/s", 0.0),
        Setting("steps", "int", 3, "how often it tries", "", 1, 10),
        Setting("mode", "string", "fast", "how it moves", choices=("fast", "slow")),
        Setting("axes", "bool[]", [True, False], "what it moves", size=2),
    )


def test_a_record_describes_its_fields_after_those_that_its_docstring_describes():
    described = (Servo.__doc__ or "").split("Attributes:")[1].split("\n")
    assert [line.strip() for line in described if line.strip()] == [
        "name: what it is called.",
        "gain: how stiff it is [1/s].",
        "steps: how often it tries.",
        "mode: how it moves.",
        "axes: what it moves.",
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"gain": -1.0}, r"gain must lie in \[0.0, inf\], got -1.0"),
        ({"gain": math.nan}, r"gain must be finite and lie in \[0.0, inf\], got nan"),
        ({"gain": "stiff"}, "gain must be double, got 'stiff'"),
        ({"steps": 11}, r"steps must lie in \[1, 10\], got 11"),
        ({"mode": "wild"}, "mode must be one of fast, slow; got 'wild'"),
        ({"axes": (True,)}, "axes needs 2 values, got 1"),
        ({"mode": "slow"}, "gain of a slow servo must be at most 1"),
    ],
)
def test_a_record_refuses_what_its_settings_or_its_own_check_refuse(change, said):
    good = Servo("one", gain=1, axes=(False, True))
    assert good.gain == 1.0 and replace(good, mode="slow").mode == "slow"
    with pytest.raises(ConfigError, match=said):
        replace(Servo("one"), **change)
