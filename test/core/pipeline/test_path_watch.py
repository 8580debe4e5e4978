"""The measured tool beside its path: what bent links do to it is known, said and taken off the reference."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from flexarm_core.errors import InputError
from flexarm_core.flexible_dynamics.arm_sample import ArmSample
from flexarm_core.flexible_dynamics.bent_tool import BentTool
from flexarm_core.flexible_dynamics.deflected_arm import DeflectedArm
from flexarm_core.pipeline.path_watch import PathWatch
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState, CartesianReference, FlexibleState

URDF = Path(__file__).resolve().parents[3] / "urdf" / "boom_7r.urdf.xacro"
START = np.array([0.476, 1.311, -1.378, -1.555, -0.054, -1.214, 0.716])
BENT = np.array([3e-3, -1e-3])  # [sqrt(kg)*m]
XYZ = np.array([True, True, True, False, False, False])
TICK = 2_000_000  # [ns]


@cache
def model() -> ArmModel:
    return ArmModel(parse_robot_description(load_robot_description(URDF, {"flexible_forearm": "true"})))


def state(tick: int = 0) -> ArmState:
    deflection = np.array([0.0, 0.01, -0.04, 0.02, 0.0, 0.0])
    return ArmState(tick * TICK, START, np.zeros(7), deflection, np.zeros(6))


def modes(tick: int = 0, bent: np.ndarray = BENT) -> FlexibleState:
    none, zero = np.zeros(6), np.zeros(2)
    return FlexibleState(tick * TICK, none, none, none, bent, zero, zero)


def reference(off: np.ndarray, frame: str | None = None) -> CartesianReference:
    """A reference that the rigid tool is off by (3,) [m]."""
    frame = model().base_frame if frame is None else frame
    tool = model().tool_kinematics(state(), frame)
    return CartesianReference(0, frame, tool.position + off, tool.rotation, np.zeros(6), np.zeros(6), XYZ)


def test_the_displacement_of_the_tool_is_that_of_the_drawn_arm() -> None:
    description = model().description
    drawn, joints = DeflectedArm(description), dict(zip(description.actuated, START, strict=True))
    sample = ArmSample(0.0, joints, modes=dict(zip(("forearm/bending_y_1", "forearm/bending_z_1"), BENT, strict=True)))
    true = drawn.tool(sample, 1.0) - drawn.tool(sample, 0.0)
    assert np.linalg.norm(true) > 5e-4
    turn = model().base_pose(np.zeros(6))[1]
    assert np.allclose(BentTool(description).shift(START, BENT), turn.T @ true, atol=5e-6)  # of second order


def test_modes_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="modal_position"):
        BentTool(model().description).shift(START, np.array([np.nan, 0.0]))


@pytest.mark.parametrize("frame", ["base_link", "world"])
def test_a_tool_off_its_path_is_said_until_it_is_half_way_back(frame: str) -> None:
    watch, frame = PathWatch(model(), bends=True), model().base_frame if frame == "base_link" else model().world_frame
    shift = BentTool(model().description).shift(START, BENT)
    if frame == model().world_frame:
        shift = model().base_pose(state().deflection)[1] @ shift
    said = []
    for tick, far in enumerate((2.9e-3, 3.1e-3, 1.6e-3, 1.4e-3, 2.9e-3)):
        watch.take(modes(tick), state(tick), reference(shift + [0.0, far, 0.0], frame), 3e-3, 0.0)
        said.append(watch.off)
    assert said == ["", "the tool is 3.1 mm from its path, tolerance 3 mm", said[2], "", ""]
    assert said[2] == "the tool is 1.6 mm from its path, tolerance 3 mm, cleared below 1.5 mm"


def test_axes_that_are_not_tracked_do_not_count_and_without_a_tolerance_nothing_does() -> None:
    watch, away = PathWatch(model(), bends=False), reference(np.array([0.0, 0.0, 0.5]))
    watch.take(None, state(), replace(away, axes=np.array([True, True, *[False] * 4])), 3e-3, 0.0)
    assert not watch.off
    watch.take(None, state(1), away, 0.0, 0.0)
    assert not watch.off


def test_what_lasts_of_the_bending_is_taken_off_the_reference_and_no_reference_without_a_bandwidth() -> None:
    watch, shift = PathWatch(model(), bends=True), BentTool(model().description).shift(START, BENT)
    given = reference(np.zeros(3))
    assert watch.take(modes(), state(), given, 0.0, 0.0) is given
    taken = [watch.take(modes(tick), state(tick), given, 0.0, 10.0) for tick in range(1, 1001)]
    assert np.linalg.norm(taken[0].position - given.position) < 0.05 * np.linalg.norm(shift)
    assert np.allclose(taken[-1].position, given.position - shift, atol=1e-8)
    moved = np.array([one.position for one in taken])
    rates = np.array([one.velocity[:3] for one in taken])
    assert np.allclose(np.diff(moved, axis=0) / 2e-3, 0.5 * (rates[1:] + rates[:-1]), rtol=0.03, atol=1e-6)
    watch.reset()
    assert np.allclose(watch.take(modes(), state(), given, 0.0, 10.0).position, given.position)
