"""Metrics of the redundancy resolution against motions of known speed and errors of known size."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_tools.metrics.all import METRICS, MetricOptions

TICKS, PERIOD = 4000, 0.001  # [1], [s]


def measure(name, recording, **options):
    return METRICS[name].measure(recording, MetricOptions(**options)).value


@pytest.fixture
def resolved(record_bending):
    """Recording of 4 s: the tool reference moves at 0.1 m/s, joint references at 0.5 rad/s, but for what is given."""

    def recording(**known):
        time = np.arange(TICKS) * PERIOD
        usual = {
            "reference_position": np.outer(time, [0.1, 0.0, 0.0]),
            "reference_axes": np.ones(6, dtype=bool),
            "reference_velocity": np.full((TICKS, 2), 0.5),
        }
        return record_bending(lambda t: np.zeros((len(t), 4)), duration=TICKS * PERIOD, **(usual | known))

    return recording


def test_joints_that_stand_while_the_tool_should_move_are_counted(resolved):
    assert measure("standstill", resolved()) == 0.0
    velocity = np.full((TICKS, 2), 0.5)
    velocity[500:600] = 0.0
    velocity[700:800, 0] = 0.0  # one joint moves on
    assert measure("standstill", resolved(reference_velocity=velocity)) == 100.0


def test_joints_may_stand_where_the_tool_should(resolved):
    velocity = np.zeros((TICKS, 2))
    assert measure("standstill", resolved(reference_velocity=velocity, reference_position=np.ones((TICKS, 3)))) == 0.0


def test_errors_of_the_resolution_are_the_largest_in_the_window(resolved):
    error = np.zeros(TICKS)
    error[100], error[1500] = 3e-3, 1e-3
    recording = resolved(resolution_position_error=error, resolution_orientation_error=2.0 * error)
    assert measure("resolution_position_error", recording) == 3e-3
    assert measure("resolution_orientation_error", recording) == 6e-3
    assert measure("resolution_position_error", recording, after=1.0) == 1e-3


def test_the_condition_number_is_the_largest_known_one(resolved):
    values = np.full(TICKS, 7.0)
    values[10], values[11] = np.nan, 250.0
    assert measure("largest_condition_number", resolved(condition_number=values)) == 250.0


def test_velocity_and_acceleration_are_those_of_the_joint_references(resolved):
    time = np.arange(TICKS) * PERIOD
    velocity = np.column_stack((np.zeros(TICKS), -2.0 * np.maximum(time - 1.0, 0.0)))
    recording = resolved(reference_velocity=velocity)
    assert measure("peak_reference_velocity", recording) == pytest.approx(2.0 * (time[-1] - 1.0))
    assert measure("peak_reference_acceleration", recording) == pytest.approx(2.0)


def test_a_reference_that_nothing_answered_is_passed_over_and_its_step_spans_it(resolved):
    time = np.arange(TICKS) * PERIOD
    velocity = np.column_stack((np.zeros(TICKS), -2.0 * np.maximum(time - 1.0, 0.0)))
    velocity[[0, 2000, 2001, 3000]] = np.nan
    recording = resolved(reference_velocity=velocity)
    assert measure("peak_reference_velocity", recording) == pytest.approx(2.0 * (time[-1] - 1.0))
    assert measure("peak_reference_acceleration", recording) == pytest.approx(2.0)
    velocity[2000:] -= 0.3  # hidden in the gap: over 3 ms
    assert measure("peak_reference_acceleration", resolved(reference_velocity=velocity)) == pytest.approx(102.0)
    velocity[3000] = np.inf  # a reference that diverges is none that is missing
    assert measure("peak_reference_velocity", resolved(reference_velocity=velocity)) == np.inf


def test_joints_return_to_where_they_began(resolved):
    position = np.tile([0.3, -0.2], (TICKS, 1))
    position[500:1000] += 0.4
    position[-100:, 1] += 1e-3
    assert measure("joint_return", resolved(position=position), last=0.1) == pytest.approx(1e-3)


def test_the_distance_of_a_joint_is_from_where_it_should_be_at_the_end(resolved):
    position = np.tile([0.3, -0.2], (TICKS, 1))
    position[-100:, 1] = -0.05
    recording = resolved(position=position)
    name = recording.joint_names[1]
    assert measure("joint_distance", recording, joint=name, last=0.05) == pytest.approx(0.05)
    assert measure("joint_distance", recording, joint=name, position=-0.2, last=0.05) == pytest.approx(0.15)
    assert measure("joint_distance", recording, joint=name, last=0.5) == pytest.approx(0.2)
