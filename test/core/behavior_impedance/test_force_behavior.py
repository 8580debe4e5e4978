"""Force: what the tool exerts in a frame, and the directions that it takes from the law."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from behaviors import READY, Driven, arm_of, asked, made, sample_at
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.behavior import BehaviorSpec
from flexarm_core.errors import ConfigError

RPY = [0.4, -0.7, 1.1]
WRENCH, AXES = [1.0, -2.0, 30.0, 0.5, -0.4, 0.3], [False, True, True, True, False, False]
Z = [False, False, True, False, False, False]


def turned(sample, frame):
    R = Rotation.from_euler("xyz", RPY).as_matrix()
    R = sample.tool_rotation @ R if frame == "tool" else R
    return np.kron(np.eye(2), R)


@pytest.mark.parametrize("frame", ("base", "tool"))
def test_force_and_freed_directions_are_those_of_the_frame(frame):
    arm = arm_of("panda")
    sample = sample_at(arm, READY["panda"])
    out = asked(arm, made(arm, "force", wrench=WRENCH, axes=AXES, damping=[700.0, 9.0], frame=frame, rpy=RPY), sample)
    X, S = turned(sample, frame), np.diag(np.array(AXES, dtype=float))
    assert out.force == pytest.approx(X @ S @ WRENCH, abs=1e-12)
    assert out.freed == pytest.approx(X @ S @ X.T, abs=1e-12)
    assert out.freed_damping == pytest.approx(X @ S @ np.diag([700.0] * 3 + [9.0] * 3) @ X.T, abs=1e-10)


def test_the_freed_directions_are_a_projector_and_the_force_lies_in_it():
    arm, rng = arm_of("panda"), np.random.default_rng(1)
    for _ in range(20):
        rpy, axes = rng.uniform(-3.0, 3.0, 3).tolist(), [True, *(rng.random(5) < 0.5).tolist()]
        behavior = made(arm, "force", wrench=rng.standard_normal(6).tolist(), axes=axes, rpy=rpy, frame="tool")
        out = asked(arm, behavior, sample_at(arm, READY["panda"]))
        assert out.freed @ out.freed == pytest.approx(out.freed, abs=1e-12)
        assert out.freed == pytest.approx(out.freed.T, abs=1e-12)
        assert np.trace(out.freed) == pytest.approx(sum(axes))
        assert out.freed @ out.force == pytest.approx(out.force, abs=1e-12)
        assert np.linalg.eigvalsh(out.freed_damping)[0] > -1e-9


def test_the_measure_is_what_is_missing_along_its_axes_only():
    arm = arm_of("panda")
    behavior = made(arm, "force", wrench=[0.0, 0.0, 20.0, 0.0, 0.0, 0.0], axes=Z)
    for along, missing, note in ((-20.0, 0.0, "in contact"), (-15.0, 5.0, "in contact"), (0.0, 20.0, "no contact"),
                                 (-0.5, 19.5, "no contact"), (3.0, 23.0, "no contact")):  # fmt: skip
        wrench = np.array([7.0, 8.0, along, 1.0, 2.0, 3.0])
        out = asked(arm, behavior, sample_at(arm, READY["panda"], wrench=wrench))
        assert out.measure[0] == pytest.approx(missing) and behavior.note() == note


def test_one_axis_at_least_is_in_force():
    with pytest.raises(ConfigError, match="axes: one at least"):
        made(arm_of("panda"), "force", axes=[False] * 6)


def press(driven, stiffness, samples, wall=None):
    """Presses on a spring wall across z, below the tool."""
    height = driven.controller.output.position[2] if wall is None else wall

    def wrench(output):
        depth = max(height - output.position[2], 0.0)
        return np.array([0.0, 0.0, stiffness * depth, 0.0, 0.0, 0.0])

    return driven.run(samples, wrench), wrench


@pytest.mark.parametrize("stiffness", (1e3, 5e4))
def test_at_rest_the_tool_exerts_the_wanted_force_whatever_the_stiffness_of_the_wall(stiffness):
    driven = Driven("panda")
    start = driven.controller.output.position
    driven.ask(
        BehaviorSpec("f", "force", {"wrench": [0.0, 0.0, -20.0, 0.0, 0.0, 0.0], "axes": Z, "damping": [500.0, 10.0]})
    )
    run, wrench = press(driven, stiffness, 4000)
    assert wrench(driven.controller.output)[2] == pytest.approx(20.0, rel=1e-6)
    assert run.of("position")[:, :2] == pytest.approx(np.tile(start[:2], (4000, 1)), abs=1e-6)
    assert not run.of("stalled").any()


def test_in_free_space_the_tool_approaches_at_force_over_damping():
    driven = Driven("panda")
    driven.ask(
        BehaviorSpec("f", "force", {"wrench": [0.0, 0.0, -20.0, 0.0, 0.0, 0.0], "axes": Z, "damping": [500.0, 10.0]})
    )
    assert driven.run(1000).of("twist")[-1] == pytest.approx([0.0, 0.0, -0.04, 0.0, 0.0, 0.0], abs=1e-6)


def test_removing_the_force_leaves_the_tool_where_it_was_pressed_to():
    driven = Driven("panda")
    driven.ask(
        BehaviorSpec("f", "force", {"wrench": [0.0, 0.0, -20.0, 0.0, 0.0, 0.0], "axes": Z, "damping": [500.0, 10.0]})
    )
    driven.run(1500)
    there = driven.controller.output.position
    driven.ask()
    driven.run(2000)
    assert np.abs(driven.controller.output.position - there).max() < 0.01
    assert np.abs(driven.controller.output.twist).max() < 1e-4


def test_two_forces_along_the_same_axis_add_up_and_leave_the_other_directions_to_the_path():
    driven = Driven("panda")
    start = driven.controller.output.position
    settings = {"wrench": [0.0, 0.0, -10.0, 0.0, 0.0, 0.0], "axes": Z, "damping": [250.0, 10.0]}
    path = BehaviorSpec("p", "path", {"positions": [0.05, 0.0, 0.1], "relative": True})
    driven.ask(BehaviorSpec("f", "force", settings), BehaviorSpec("g", "force", settings), path)
    run, wrench = press(driven, 1e4, 3000)
    assert wrench(driven.controller.output)[2] == pytest.approx(20.0, rel=1e-4)
    assert driven.controller.output.position[:2] == pytest.approx(start[:2] + [0.05, 0.0], abs=1e-5)
    assert run.of("position")[:, 2].max() < start[2] + 1e-4


def test_without_a_wrench_the_arm_comes_to_rest_and_says_who_needs_it_then_goes_on_gently():
    driven = Driven("panda")
    driven.ask(
        BehaviorSpec("f", "force", {"wrench": [0.0, 0.0, -20.0, 0.0, 0.0, 0.0], "axes": Z, "damping": [200.0, 10.0]})
    )
    moving = driven.run(800).outputs[-1]
    assert moving.twist[2] < -0.09
    held = [driven.blind() for _ in range(100)]
    assert all(output.held == "no tool wrench for f" for output in held)
    assert not held[-1].twist.any() and (held[-1].position == held[-2].position).all()
    again = driven.run(1500)
    assert not any(output.held for output in again.outputs)
    accelerations = np.vstack(([np.zeros(6)], again.of("acceleration")))
    assert np.linalg.norm(np.diff(accelerations, axis=0)[:, :3], axis=1).max() <= 0.5
    assert again.outputs[-1].twist[2] == pytest.approx(-0.1, abs=1e-3)


def test_a_behavior_that_needs_no_wrench_goes_on_without_one():
    driven = Driven("panda")
    driven.ask(BehaviorSpec("p", "path", {"positions": [0.05, 0.0, 0.0], "relative": True}))
    start = driven.controller.output.position
    assert not any(driven.blind().held for _ in range(2000))
    assert driven.controller.output.position == pytest.approx(start + [0.05, 0.0, 0.0], abs=1e-6)


def complaints(behavior, arm, forces):
    """What it complains of after pressing with forces [N] along z, each for some seconds."""
    free, said = sample_at(arm, READY["panda"]), []
    for force, seconds in forces:
        sample = replace(free, dt=0.01, wrench=np.array([0.0, 0.0, -force, 0.0, 0.0, 0.0]))
        for _ in range(round(100 * seconds)):
            asked(arm, behavior, sample)
        said.append(behavior.complaint())
    return said


def test_an_average_wrench_beyond_its_tolerance_is_an_error():
    arm, asks = arm_of("panda"), {"wrench": [0.0, 0.0, 20.0, 0.0, 0.0, 0.0], "axes": Z}
    behavior = made(arm, "force", tolerance=1.0, **asks)
    approached = ((0.0, 5.0), (5.0, 1.0), (19.5, 5.0), (18.5, 0.3))
    assert complaints(behavior, arm, (*approached, (18.5, 30.0))) == [
        "", "", "", "", "its wrench is off by 1.5 on average, tolerance 1 N | N*m"
    ]  # fmt: skip
    other = made(arm, "force", tolerance=2.0, **asks)
    other.take_over(behavior)
    assert other.complaint() == ""
    assert complaints(made(arm, "force", **asks), arm, ((5.0, 30.0),)) == [""]


def test_a_wrench_that_is_never_reached_is_an_error_and_a_short_blow_is_none():
    arm, asks = arm_of("panda"), {"wrench": [0.0, 0.0, 20.0, 0.0, 0.0, 0.0], "axes": Z, "tolerance": 1.0}
    early, late = complaints(made(arm, "force", **asks), arm, ((15.0, 1.9), (15.0, 3.0)))
    assert early == ""
    assert late.startswith("its wrench is off")
    assert complaints(made(arm, "force", **asks), arm, ((20.0, 1.0), (35.0, 0.1), (20.0, 1.0))) == ["", "", ""]
