"""Recordings: what is saved comes back, and what does not fit together is refused."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from flexarm_core.errors import InputError
from flexarm_tools.recording.recording import RunEvent, load_recording


def still(time):
    return 0.0 * time


def test_a_saved_recording_comes_back_as_it_was(record, tmp_path):
    events = (RunEvent(0.5, "hardware_gate", "warn", "stopped: no input"),)
    first = record(np.sin, 0.1, events=events, node_deaths=("x (exit 1)",), watchdog_stops=2)
    first.save(tmp_path / "deep" / "run.npz")
    again = load_recording(tmp_path / "deep" / "run.npz")
    for field in fields(first):
        before, after = getattr(first, field.name), getattr(again, field.name)
        if isinstance(before, np.ndarray):
            np.testing.assert_array_equal(before, after)
            assert before.dtype == after.dtype
        else:
            assert before == after


def test_a_saved_recording_of_an_arm_that_bends_comes_back_as_it_was(record_bending, tmp_path):
    rng = np.random.default_rng(3)
    known = {
        "estimated_modal_position": rng.standard_normal((100, 4)),
        "strain": rng.standard_normal((100, 4)),
        "desired_position": rng.standard_normal((100, 2)),
    }
    record_bending(lambda t: np.outer(t, [1.0, 2.0, 3.0, 4.0]), 0.1, **known).save(tmp_path / "run.npz")
    again = load_recording(tmp_path / "run.npz")
    assert again.modes == (
        "upper_arm/bending_y_1", "upper_arm/bending_y_2", "forearm/bending_y_1", "forearm/bending_y_2",
    )  # fmt: skip
    assert again.strain_gauges == ("upper_arm_root", "upper_arm_middle", "forearm_root", "forearm_middle")
    np.testing.assert_allclose(again.modal_position[50], [0.05, 0.1, 0.15, 0.2])
    for name, value in known.items():
        np.testing.assert_array_equal(getattr(again, name), value)
    assert np.isnan(again.modal_rate).all() and again.modal_rate.shape == (100, 4)
    assert again.has_desired.all() and not again.has_reference.any()


def test_an_arm_of_rigid_links_has_no_modes(record):
    recording = record(still, 0.1)
    assert recording.modes == recording.strain_gauges == ()
    assert recording.modal_position.shape == recording.strain.shape == (100, 0)
    assert not recording.has_desired.any()


def test_modes_that_do_not_fit_are_refused(record_bending):
    with pytest.raises(InputError, match=r"modal_position has shape \(100, 3\), expected \(100, 4\)"):
        record_bending(lambda t: np.zeros((len(t), 3)), 0.1)


def test_what_was_not_recorded_is_nan(record):
    recording = record(still, 0.1)
    assert np.isnan(recording.base_wrench).all()
    assert np.isnan(recording.contact_wrench).all() and np.isnan(recording.path_position).all()
    assert np.isnan(recording.true_friction).all() and recording.true_friction.shape == (100, 3)
    assert np.isnan(recording.residual_wrench).all() and np.isnan(recording.estimate_valid).all()
    assert np.isnan(recording.tick_latency).all()
    assert not recording.has_reference.any()


def test_names_units_and_frames_come_from_the_robot(record):
    recording = record(still, 0.1)
    assert recording.joint_names == ("joint1", "joint2", "joint3")
    assert recording.joint_units == ("rad", "rad", "rad")
    assert recording.elastic_units == ("m",)
    assert (recording.root_frame, recording.base_frame) == ("world", "base_ft")


def test_a_recording_cannot_be_changed(record):
    with pytest.raises(ValueError, match="read-only"):
        record(still, 0.1).position[0, 0] = 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"position": np.zeros((99, 3))}, r"position has shape \(99, 3\), expected \(100, 3\)"),
        ({"time": np.zeros(100)}, "time needs at least two ticks and must increase"),
        ({"reference_frame": "tool0"}, "'tool0' is neither the root link 'world' nor the base link 'base_ft'"),
        ({"path_frame": "tool0"}, "path_frame 'tool0' is neither the root link 'world' nor the base link 'base_ft'"),
        ({"contact_wrench": np.zeros((100, 3))}, r"contact_wrench has shape \(100, 3\), expected \(100, 6\)"),
        ({"elastic_units": ("mm",)}, "expected 1 of 'rad' or 'm'"),
        ({"reference_axes": np.zeros(3)}, r"reference_axes has shape \(3,\), expected \(6,\)"),
    ],
)
def test_fields_that_do_not_fit_together_are_refused(record, change, message):
    with pytest.raises(InputError, match=message):
        replace(record(still, 0.1), **change)


def test_the_tracking_error_counts_tracked_axes_in_the_frame_of_the_reference(record):
    time = np.arange(100) / 1000.0
    offset = np.tile([0.03, 0.04, 5.0], (100, 1))
    known = {
        "tool_position": 0.0 * offset,
        "tool_position_in_base": offset,
        "reference_position": 0.0 * offset,
        "reference_axes": np.array([True, True, False, False, False, False]),
    }
    in_base = record(still, time[-1] + 0.001, **known)
    np.testing.assert_allclose(in_base.tracking_error, 0.05)
    in_world = record(still, time[-1] + 0.001, **known, reference_frame="world")
    np.testing.assert_allclose(in_world.tracking_error, 0.0)


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04 broken"])
def test_a_file_that_is_no_recording_is_refused(tmp_path, content):
    path = tmp_path / "run.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match="is not a recording|cannot be read"):
        load_recording(path)


def test_an_archive_of_something_else_is_refused(tmp_path):
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(InputError, match="is not a recording|cannot be read"):
        load_recording(tmp_path / "other.npz")
    with pytest.raises(InputError, match="is not a recording|cannot be read"):
        load_recording(tmp_path / "missing.npz")
