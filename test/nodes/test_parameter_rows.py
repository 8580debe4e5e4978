"""Parameters come from the settings that a record declares, and a record from parameters."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from flexarm_core.errors import ConfigError
from flexarm_core.settings import Settings, setting
from flexarm_nodes.node.parameters import Parameter, record_of, rows


@dataclass(frozen=True, slots=True)
class Servo(Settings):
    """Settings of a servo."""

    gain: float = setting(2.0, "how stiff it is", "1/s", 0.0)
    axes: tuple[bool, ...] = setting((True, False), "what it moves", size=2)
    period: float = setting(0.1, "how often it moves", "s", 1e-3)


def test_a_row_has_all_that_the_setting_says_and_a_list_as_default():
    assert rows(Servo, prefix="servo.", live=True, but=("axes",), without=("period",)) == (
        Parameter("servo.gain", "double", 2.0, "how stiff it is", "1/s", 0.0, live=True),
        Parameter("servo.axes", "bool[]", [True, False], "what it moves", size=2),
    )
    assert [row.live for row in rows(Servo)] == [False] * 3


def test_a_record_is_made_of_the_values_under_its_prefix_and_of_what_is_given_beside_them():
    values = {"servo.gain": 3.0, "servo.axes": [False, True], "gain": 7.0, "servo.other": 1}
    assert record_of(Servo, values, "servo.", period=0.2) == Servo(3.0, (False, True), 0.2)
    assert record_of(Servo, values) == Servo(gain=7.0)
    with pytest.raises(ConfigError, match="gain must lie in"):
        record_of(Servo, {"gain": -1.0})
