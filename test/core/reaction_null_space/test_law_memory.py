"""Memory of the vibration law: the views cover it, each number once, and kernels read what Python writes."""

import numpy as np
import pytest
import robots

from flexarm_core.compiled import allocate, pack
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.law_memory import (
    TORQUE,
    are_finite,
    pack_constants,
    pack_settings,
    view_constants,
    view_inputs,
    view_sample,
    view_settings,
    view_state,
)
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description


@pytest.fixture(scope="module")
def boom() -> ArmModel:
    return ArmModel(load_robot_description(robots.URDF / "boom_7r.urdf.xacro"), gravity=(0.0, 0.0, 0.0))


def arrays(record) -> list[np.ndarray]:
    """The arrays of a record and of the records in it."""
    return [part for field in record for part in (arrays(field) if hasattr(field, "_fields") else [field])]


@pytest.mark.parametrize(
    ("views", "sizes"),
    [
        (view_inputs, (7, 6)),
        (view_inputs, (2, 1)),
        (view_sample, (7, 6, 3)),
        (view_state, (7, 6)),
        (view_state, (2, 1)),
    ],
)
def test_the_views_cover_the_memory_once_and_are_those_of_the_kernels(views, sizes):
    memory, named = allocate(views, *sizes)
    memory[:] = np.arange(memory.size)
    assert np.array_equal(pack(named), memory)
    for part, compiled in zip(arrays(named), arrays(views(memory, *sizes)), strict=True):
        assert part.base is memory and np.array_equal(part, compiled)


@pytest.mark.parametrize("sizes", [(7, 6), (2, 1)])
def test_every_input_that_the_caller_writes_must_be_finite(sizes):
    memory, named = allocate(view_inputs, *sizes)
    given = named._fields.index("approach_time") + 1
    for place, part in enumerate(arrays(named)):
        for value in (np.nan, np.inf):
            part.flat[-1] = value
            assert are_finite(memory, *sizes) == (place >= given)
            part.flat[-1] = 0.0
    assert are_finite(memory, *sizes)


@pytest.mark.parametrize("chosen", [("auto",), ("boom_y", "boom_z")])
@pytest.mark.parametrize("bounded", [False, True])
def test_constants_are_read_as_they_were_packed(boom, chosen, bounded):
    selection, limits = BaseSelection(boom, chosen), np.arange(4.0 * boom.n).reshape(4, -1) if bounded else None
    memory = pack_constants(boom, selection, limits, weighs=True)
    constants = view_constants(memory)
    assert (constants.n, constants.m, constants.selected) == (boom.n, boom.m, selection.count)
    assert (constants.soft, constants.bounded, constants.weighs) == (selection.soft > 0, bounded, True)
    for name in ("K_b", "D_b", "D_m"):
        assert np.array_equal(getattr(constants, name), getattr(boom, name))
    assert np.array_equal(constants.S, selection.rows)
    assert np.array_equal(constants.limits, np.empty((4, 0)) if limits is None else limits)


def test_settings_are_read_as_they_were_packed():
    gains = (
        "damping_ratio",
        "vibration_gain",
        "coupling_threshold",
        "tool_threshold",
        "position_gain",
        "velocity_gain",
    )
    gains += ("posture_gain", "servo_position_gain", "servo_velocity_gain", "joint_damping")
    chosen = {name: 0.01 * (1 + k) for k, name in enumerate(gains)}
    config = VibrationControllerConfig(law="torque", task="hold", load_bandwidth=1.0, **chosen)
    settings = view_settings(pack_settings(config, rests=False))
    assert {name: getattr(settings, name) for name in chosen} == chosen
    assert (settings.law, settings.led, settings.damped, settings.wholly) == (TORQUE, False, True, True)


def test_an_arm_at_rest_is_braked_by_servos_and_follows_no_goal():
    config = VibrationControllerConfig(law="torque", joint_damping=1.0)
    following, resting = (view_settings(pack_settings(config, rests=rests)) for rests in (False, True))
    assert resting.led and not following.led
    assert resting.goal != following.goal and resting.law != following.law
    assert resting.joint_damping > following.joint_damping
