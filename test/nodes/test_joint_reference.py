"""JointReference as record and as message: both say the same, whatever the order of the joints."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from flexarm.msg import JointReference as JointReferenceMessage
from flexarm_core.errors import InputError
from flexarm_core.types import JointReference
from flexarm_nodes.messages.conversions import doubles, joint_reference_form, joint_reference_from_message

NAMES = ("joint1", "joint2", "joint3")
FIELDS = tuple(field.name for field in fields(JointReference) if field.name != "stamp")
WHOLE = JointReference(1_500_000_000, **{name: np.array([1.0, 2.0, 3.0]) + 10.0 * i for i, name in enumerate(FIELDS)})


def test_a_message_has_every_field_of_the_record_and_no_other():
    assert sorted(JointReferenceMessage.get_fields_and_field_types()) == sorted(("header", "names", *FIELDS))


def test_every_field_survives_the_way_there_and_back():
    back = joint_reference_from_message(joint_reference_form(WHOLE, NAMES).message(), NAMES)
    assert back.stamp == WHOLE.stamp
    for name in FIELDS:
        assert np.array_equal(getattr(back, name), getattr(WHOLE, name)), name


def test_every_field_is_put_into_the_order_that_is_asked_for():
    back = joint_reference_from_message(joint_reference_form(WHOLE, NAMES).message(), ("joint3", "joint1", "joint2"))
    for name in FIELDS:
        assert np.array_equal(getattr(back, name), getattr(WHOLE, name)[[2, 0, 1]]), name


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_that_is_not_given_is_empty_and_comes_back_as_none(name):
    only = JointReference(0, **{name: np.ones(3)})
    message = joint_reference_form(only, NAMES).message()
    assert all(len(getattr(message, other)) == (3 if other == name else 0) for other in FIELDS)
    back = joint_reference_from_message(message, NAMES)
    assert [other for other in FIELDS if getattr(back, other) is not None] == [name]


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_of_another_length_than_the_names_is_refused(name):
    message = JointReferenceMessage(names=list(NAMES), **{name: doubles(np.ones(2))})
    with pytest.raises(InputError, match=f"3 names and 2 {name} values"):
        joint_reference_from_message(message, NAMES)
