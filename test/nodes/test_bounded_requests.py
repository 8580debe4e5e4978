"""Requests and goals are bounded before Python objects are made of them, and are whole within the bounds."""

from __future__ import annotations

import ctypes
import time

import numpy as np
import pytest
from filled_messages import fill
from geometry_msgs.msg import Pose
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import SetParameters

from flexarm.action import CalibrateBaseWrench, FollowCartesianPath
from flexarm.msg import Behavior, PathSegment
from flexarm.srv import SetBehaviors, SolveIk
from flexarm_nodes.node import bounded_requests as bounds
from flexarm_nodes.node.bounded_requests import MOST_NUMBERS, MOST_PARTS, is_too_large

KINDS = (
    FollowCartesianPath.Impl.SendGoalService.Request,
    CalibrateBaseWrench.Impl.SendGoalService.Request,
    SolveIk.Request,
    SetBehaviors.Request,
    SetParameters.Request,
)


def through(kind, message):
    """Convert a message to C and back, as rclpy does when a request is taken."""
    pointer, name = bounds._capsule_pointer, bounds._capsule_name

    def function(capsule, result, *arguments):
        return ctypes.PYFUNCTYPE(result, *arguments)(pointer(capsule, name(capsule)))

    bounded = type(bounds._bounded(kind))
    made = function(bounded._CREATE_ROS_MESSAGE, ctypes.c_void_p)()
    try:
        assert function(bounded._CONVERT_FROM_PY, ctypes.c_bool, ctypes.py_object, ctypes.c_void_p)(message, made)
        return function(bounded._CONVERT_TO_PY, ctypes.py_object, ctypes.c_void_p)(made)
    finally:
        function(bounded._DESTROY_ROS_MESSAGE, None, ctypes.c_void_p)(made)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_request_within_the_bounds_comes_through_as_it_is(kind):
    rng = np.random.default_rng(1)
    for _ in range(50):
        message = kind()
        fill(message, rng)
        back = through(kind, message)
        assert type(back) is kind and not is_too_large(back)
        assert str(back) == str(message)


def poses(count):
    goal = FollowCartesianPath.Goal(segments=[PathSegment(kind=2, poses=[Pose() for _ in range(count - 1)])])
    return FollowCartesianPath.Impl.SendGoalService.Request(goal=goal)


def settings(count):
    request = SetBehaviors.Request()
    request.set.behaviors = [Behavior(settings=[Parameter(name="x") for _ in range(count - 1)])]
    return request


def settings_of_several(count):
    request, each = SetBehaviors.Request(), (count - 4) // 4
    sizes = (each, 0, each, count - 4 - 2 * each)
    request.set.behaviors = [Behavior(settings=[Parameter(name="x") for _ in range(size)]) for size in sizes]
    return request


def texts(count):
    value = ParameterValue(type=9, string_array_value=["a"] * (count - 1))
    return SetParameters.Request(parameters=[Parameter(name="behaviors", value=value)])


def numbers(count):
    return CalibrateBaseWrench.Impl.SendGoalService.Request(goal=CalibrateBaseWrench.Goal(poses=[0.0] * count))


@pytest.mark.parametrize(
    ("make", "most"),
    [
        (poses, MOST_PARTS),
        (settings, MOST_PARTS),
        (settings_of_several, MOST_PARTS),
        (texts, MOST_PARTS),
        (numbers, MOST_NUMBERS - 16),
    ],
)
def test_one_that_is_larger_is_empty_and_soon_so(make, most):
    message = make(most)
    kind = type(message)
    assert str(through(kind, message)) == str(message)
    assert is_too_large(through(kind, make(most + 1)))
    large = make(30 * most)
    began = time.thread_time()
    found = through(kind, large)
    whole = time.thread_time() - began  # most of it was to make the message in C
    assert is_too_large(found) and str(found).partition("(")[2] == str(kind()).partition("(")[2]
    assert whole < 1.0
