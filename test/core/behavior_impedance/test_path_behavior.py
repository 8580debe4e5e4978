"""Path: it begins where the tool is and ends at rest at its goal; a stream that stops, jumps or is no number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from behaviors import MILLISECOND, READY, Driven, arm_of, asked, assert_within_limits, begun, made, sample_at
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.behavior import BehaviorSpec
from flexarm_core.behavior_impedance.behaviors.path import MOST_WAYPOINTS
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.file_folder import FileFolder

ARM = "panda"
TURN = Rotation.from_euler("xyz", [0.3, -0.2, 0.5])
ZERO = np.zeros(6)


def at_ready(**changes):
    return sample_at(arm_of(ARM), READY[ARM], **changes)


def followed(behavior, seconds, dt=2e-3):
    """Positions, rotations, twists, accelerations of the leading pose."""
    sample, rows = at_ready(dt=dt), []
    for _ in range(round(seconds / dt)):
        out = asked(arm_of(ARM), behavior, sample)
        assert out.lead[0] == 1.0
        rows.append(
            (out.lead_position.copy(), out.lead_rotation.copy(), out.lead_twist.copy(), out.lead_acceleration.copy())
        )
    return tuple(np.array(part) for part in zip(*rows, strict=True))


def test_it_begins_where_the_tool_is_and_ends_at_rest_at_the_goal():
    at = at_ready()
    goal, R = at.tool_position + [0.1, -0.05, 0.1], (TURN * Rotation.from_matrix(at.tool_rotation)).as_matrix()
    rpys = Rotation.from_matrix(R).as_euler("xyz").tolist()
    behavior = begun(arm_of(ARM), "path", at, positions=goal.tolist(), rpys=rpys)
    p, turns, v, a = followed(behavior, 5.0)
    assert p[0] == pytest.approx(at.tool_position, abs=1e-7) and turns[0] == pytest.approx(at.tool_rotation, abs=1e-7)
    assert p[-1] == pytest.approx(goal, abs=1e-9) and turns[-1] == pytest.approx(R, abs=1e-9)
    assert not v[-1].any() or np.abs(v[-1]).max() < 1e-9
    assert behavior.progress == 1.0 and behavior.note() == "at its end"
    assert np.linalg.norm(v[:, :3], axis=1).max() <= 0.1 * (1.0 + 1e-6)
    assert np.linalg.norm(a[:, :3], axis=1).max() <= 0.5 * (1.0 + 1e-6)


def test_relative_positions_count_from_where_the_tool_is_and_the_orientation_stays():
    at = at_ready()
    behavior = begun(arm_of(ARM), "path", at, positions=[0.1, 0.0, 0.0, 0.1, 0.1, 0.0], relative=True)
    p, turns, *_ = followed(behavior, 6.0)
    assert p[-1] == pytest.approx(at.tool_position + [0.1, 0.1, 0.0], abs=1e-9)
    assert turns == pytest.approx(np.broadcast_to(at.tool_rotation, turns.shape), abs=1e-9)
    corner = np.linalg.norm(p - (at.tool_position + [0.1, 0.0, 0.0]), axis=1).min()
    assert corner < 1e-3


def test_it_waits_as_long_as_it_is_told():
    at = at_ready()
    behavior = begun(arm_of(ARM), "path", at, positions=[0.1, 0.0, 0.0], relative=True, start=0.5)
    p, _, v, _ = followed(behavior, 1.0)
    assert p[:249] == pytest.approx(np.tile(at.tool_position, (249, 1)), abs=1e-9) and np.abs(v[:249]).max() < 1e-9
    assert p[-1, 0] > at.tool_position[0] + 0.01


def test_back_and_forth_it_repeats_itself_and_velocity_and_acceleration_stay_those_of_the_positions():
    at, dt = at_ready(), 1e-3
    behavior = begun(arm_of(ARM), "path", at, positions=[0.05, 0.0, 0.0], relative=True, repeats=True, start=0.1)
    duration = behavior._motion.duration
    p, _, v, a = followed(behavior, 4.3 * duration, dt)
    x = p[:, 0] - at.tool_position[0]
    assert x.min() > -1e-9 and x.max() < 0.05 + 1e-9
    for k, wanted in ((1, 0.05), (2, 0.0), (3, 0.05), (4, 0.0)):
        assert x[round((0.1 + k * duration) / dt)] == pytest.approx(wanted, abs=1e-6)
    assert np.diff(x)[1:] / dt == pytest.approx(0.5 * (v[2:, 0] + v[1:-1, 0]), abs=1e-4)
    assert np.diff(v[:, 0])[1:] / dt == pytest.approx(0.5 * (a[2:, 0] + a[1:-1, 0]), abs=1e-2)
    assert behavior.progress == 0.0 and behavior.note() == "under way"


def test_a_goal_where_the_tool_is_already_is_a_path_too():
    at = at_ready()
    for repeats in (False, True):
        behavior = begun(arm_of(ARM), "path", at, positions=[0.0, 0.0, 0.0], relative=True, repeats=repeats)
        p, _, v, _ = followed(behavior, 0.1)
        assert p == pytest.approx(np.broadcast_to(at.tool_position, p.shape), abs=1e-12) and not v.any()


def test_with_other_settings_it_goes_on_from_where_it_led():
    at = at_ready()
    old = begun(arm_of(ARM), "path", at, positions=[0.2, 0.0, 0.0], relative=True)
    p, *_ = followed(old, 1.0)
    new = made(arm_of(ARM), "path", positions=(at.tool_position + [0.0, 0.1, 0.0]).tolist())
    new.take_over(old)
    q, *_ = followed(new, 8.0)
    assert np.abs(q[0] - p[-1]).max() < 1e-5
    assert q[-1] == pytest.approx(at.tool_position + [0.0, 0.1, 0.0], abs=1e-9)


def test_a_waypoint_file_is_followed_and_a_missing_one_refused(tmp_path):
    file = tmp_path / "path.yaml"
    file.write_text("relative: true\nsegments:\n  - line: {position: [0.05, 0.0, 0.0]}\n", encoding="utf-8")
    arm = replace(arm_of(ARM), files=FileFolder(str(tmp_path)))
    try:
        behavior = begun(arm, "path", at_ready(), source="file", file=str(file))
    except ConfigError as wrong:  # pragma: no cover
        pytest.fail(str(wrong))
    p, *_ = followed(behavior, 5.0)
    assert np.linalg.norm(p[-1] - p[0]) == pytest.approx(0.05, abs=1e-6)
    with pytest.raises(ConfigError, match="behavior 'it': .*nowhere"):
        made(arm, "path", source="file", file="nowhere.yaml")
    with pytest.raises(ConfigError, match="set the parameter file_folder"):
        made(arm_of(ARM), "path", source="file", file=str(file))
    with pytest.raises(ConfigError, match="needs a file"):
        made(arm_of(ARM), "path", source="file")


@pytest.mark.parametrize(
    "settings", ({}, {"positions": [0.1, 0.2]}, {"positions": [0.1, 0.2, 0.3], "rpys": [0.0] * 6}, {"source": "radio"})
)
def test_waypoints_that_are_none_are_refused(settings):
    with pytest.raises(ConfigError, match="positions needs three numbers|source must be one of"):
        made(arm_of(ARM), "path", **settings)


# --- stream ---


def stream(**settings):
    at = at_ready()
    return begun(arm_of(ARM), "path", at, source="stream", **settings), at


def test_before_any_reference_a_stream_holds_the_tool_where_it_is():
    behavior, at = stream()
    out = asked(arm_of(ARM), behavior, at)
    assert out.lead_position == pytest.approx(at.tool_position) and not out.lead_twist.any()
    assert behavior.note() == "no references"


def test_a_reference_is_led_as_it_is_until_it_is_too_old_then_held_where_it_was():
    behavior, at = stream(timeout=0.1)
    p, twist, acceleration = at.tool_position + [0.01, 0.0, 0.0], np.arange(1.0, 7.0), np.arange(7.0, 13.0)
    behavior.give(1000 * MILLISECOND, p, TURN.as_matrix() @ at.tool_rotation, twist, acceleration)
    for age in (0, 100):
        out = asked(arm_of(ARM), behavior, at_ready(stamp=(1000 + age) * MILLISECOND))
        assert out.lead_position == pytest.approx(p) and out.lead_twist.tolist() == twist.tolist()
        assert out.lead_acceleration.tolist() == acceleration.tolist() and behavior.note() == "following references"
    out = asked(arm_of(ARM), behavior, at_ready(stamp=1100 * MILLISECOND + 1))
    assert out.lead_position == pytest.approx(p) and not out.lead_twist.any() and not out.lead_acceleration.any()
    assert behavior.note() == "no references"


@pytest.mark.parametrize("first", (True, False))
def test_a_reference_that_jumps_is_refused_the_first_one_too_and_the_one_before_stands(first):
    behavior, at = stream(max_jump=0.05)
    near, R = at.tool_position + [0.04, 0.0, 0.0], at.tool_rotation
    if not first:
        behavior.give(0, near, R, ZERO, ZERO)
    with pytest.raises(InputError, match="jumps by .* more than max_jump 0.05 m"):
        behavior.give(1, at.tool_position + [0.1, 0.0, 0.0], R, ZERO, ZERO)
    out = asked(arm_of(ARM), behavior, at_ready(stamp=2))
    assert out.lead_position == pytest.approx(at.tool_position if first else near)


def test_several_references_in_a_sample_may_be_a_jump_apart_each_from_the_one_before():
    behavior, at = stream(max_jump=0.05)
    for k in range(1, 4):
        behavior.give(k, at.tool_position + [0.04 * k, 0.0, 0.0], at.tool_rotation, ZERO, ZERO)
    out = asked(arm_of(ARM), behavior, at_ready(stamp=4))
    assert out.lead_position == pytest.approx(at.tool_position + [0.12, 0.0, 0.0])


def test_a_turn_counts_as_a_jump_by_the_length_scale():
    behavior, at = stream(max_jump=0.2)
    behavior.give(0, at.tool_position, Rotation.from_rotvec([0.6, 0.0, 0.0]).as_matrix() @ at.tool_rotation, ZERO, ZERO)
    with pytest.raises(InputError, match="jumps"):
        behavior.give(
            1, at.tool_position, Rotation.from_rotvec([2.0, 0.0, 0.0]).as_matrix() @ at.tool_rotation, ZERO, ZERO
        )


@pytest.mark.parametrize(
    ("which", "value"),
    (
        (0, [np.nan, 0.0, 0.0]), (0, [0.3, 0.0]), (0, [[0.3, 0.0, 0.5]]), (0, [0.3, 0.0, 0.5, 0.0]),
        (1, np.full((3, 3), np.nan)), (1, np.ones((3, 3))), (1, np.diag([1.0, 1.0, -1.0])), (1, np.eye(2)),
        (2, [0.0] * 5), (2, [np.inf] + [0.0] * 5), (2, "twist"), (3, [0.0] * 7), (3, None),
    ),
)  # fmt: skip
def test_a_reference_that_is_none_is_refused_and_the_one_before_stands(which, value):
    behavior, at = stream()
    good = [at.tool_position, at.tool_rotation, ZERO, ZERO]
    behavior.give(0, *good)
    wrong = list(good)
    wrong[which] = value
    with pytest.raises(InputError):
        behavior.give(1, *wrong)
    out = asked(arm_of(ARM), behavior, at_ready())
    assert out.lead_position == pytest.approx(at.tool_position) and behavior.note() == "following references"


def test_sizes_that_only_add_up_are_refused():
    behavior, at = stream()
    with pytest.raises(InputError):
        behavior.give(0, [0.3, 0.0, 0.5, 0.0], at.tool_rotation, np.zeros(5), ZERO)


def test_a_stamp_from_the_future_does_not_keep_an_old_reference_alive():
    behavior, at = stream(timeout=0.1)
    behavior.give(10**12, at.tool_position, at.tool_rotation, np.ones(6), ZERO)
    assert not asked(arm_of(ARM), behavior, at_ready(stamp=0)).lead_twist.any()
    assert behavior.note() == "no references"


def test_with_other_settings_a_stream_goes_on():
    behavior, at = stream(timeout=0.1)
    behavior.give(0, at.tool_position + [0.01, 0.0, 0.0], at.tool_rotation, np.ones(6), ZERO)
    new = made(arm_of(ARM), "path", source="stream", timeout=0.2)
    new.take_over(behavior)
    out = asked(arm_of(ARM), new, at_ready(stamp=150 * MILLISECOND))
    assert out.lead_position[0] == pytest.approx(at.tool_position[0] + 0.01) and out.lead_twist.tolist() == [1.0] * 6


# --- in the law ---


@pytest.mark.parametrize("name", ("panda", "arm_6r", "planar_4r"))
def test_the_tool_follows_a_path_to_a_micrometre_and_within_limits(name):
    driven = Driven(name)
    start = driven.controller.output.position
    way = np.array([0.05, -0.08, 0.0 if name == "planar_4r" else 0.06])
    driven.ask(BehaviorSpec("p", "path", {"positions": way.tolist(), "relative": True}))
    run = driven.run(2500)
    assert driven.controller.output.position == pytest.approx(start + way, abs=1e-8)
    assert np.abs(run.of("error")[:, :3]).max() < 1e-4
    assert_within_limits(driven.arm, np.array(READY[name]), run.joints, 2e-3)


def test_removing_a_path_leaves_the_tool_where_it_was_led():
    driven = Driven(ARM)
    start = driven.controller.output.position
    driven.ask(BehaviorSpec("p", "path", {"positions": [0.2, 0.0, 0.0], "relative": True}))
    driven.run(700)
    there = driven.controller.output.position
    assert there[0] > start[0] + 0.05
    driven.ask()
    driven.run(1500)
    assert np.abs(driven.controller.output.position - there).max() < 2e-3
    assert np.abs(driven.controller.output.twist).max() < 1e-6


def test_a_path_half_a_turn_away_is_left_out_and_the_tool_stays():
    driven = Driven(ARM)
    start = driven.controller.output
    half = Rotation.from_matrix(Rotation.from_rotvec([0.0, 0.0, np.pi]).as_matrix() @ start.rotation)
    driven.ask(BehaviorSpec("p", "path", {"positions": start.position.tolist(), "rpys": half.as_euler("xyz").tolist()}))
    driven.run(200)
    assert "half a turn" in driven.failure("p")
    assert driven.controller.output.position == pytest.approx(start.position, abs=1e-9)


def test_more_waypoints_than_can_be_planned_within_a_tick_are_refused(tmp_path):
    many = np.linspace(0.0, 0.1, 3 * MOST_WAYPOINTS + 3).tolist()
    made(arm_of(ARM), "path", positions=many[:-3])
    with pytest.raises(ConfigError, match="101 waypoints are too many: at most 100"):
        made(arm_of(ARM), "path", positions=many)
    segments = "".join(f"  - line: {{position: [0.{k:03d}, 0.1, 0.3]}}\n" for k in range(MOST_WAYPOINTS + 1))
    (tmp_path / "long.yaml").write_text(f"segments:\n{segments}", encoding="utf-8")
    with pytest.raises(ConfigError, match="the file has 101 segments, at most 100 are taken"):
        made(replace(arm_of(ARM), files=FileFolder(str(tmp_path))), "path", source="file", file="long.yaml")
