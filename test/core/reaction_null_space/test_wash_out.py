"""WashOut: the rate of the base without what lasts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flexarm_core.reaction_null_space.vibration.wash_out import CORNER, LATEST, WashOut
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import ArmState

URDF = Path(__file__).resolve().parents[3] / "urdf" / "boom_7r.urdf.xacro"
START = np.array([0.476, 1.311, -1.378, -1.555, -0.054, -1.214, 0.716])
TICK = 2_000_000  # [ns]


@pytest.fixture(scope="module")
def arm() -> ArmModel:
    return ArmModel(load_robot_description(URDF))


def state(stamp: int, rate: np.ndarray) -> ArmState:
    return ArmState(stamp, START, np.zeros(7), np.zeros(6), rate)


def softest(arm: ArmModel) -> float:
    return float(arm.natural_frequencies(state(0, np.zeros(6)))[0])


def washed(arm: ArmModel, rates: np.ndarray) -> np.ndarray:
    wash_out = WashOut(arm)
    return np.array([wash_out.clean(state(k * TICK, rate)).deflection_rate for k, rate in enumerate(rates)])


def test_a_lasting_rate_vanishes(arm: ArmModel) -> None:
    periods = 2.0 * np.pi / (CORNER * softest(arm))
    out = washed(arm, np.full((round(2.0 * periods / 2e-3), 6), 0.01))
    assert out[0] == pytest.approx(0.01)
    assert np.abs(out[-1]).max() < 1e-4


def test_a_swing_passes_with_the_lead_of_a_first_order(arm: ArmModel) -> None:
    w, time = softest(arm), 2e-3 * np.arange(10_000)
    out = washed(arm, np.sin(w * time)[:, None].repeat(6, 1))[-4000:, 0]
    basis = np.stack((np.sin(w * time), np.cos(w * time)), axis=1)[-4000:]
    a, b = np.linalg.lstsq(basis, out, rcond=None)[0]
    expected = 1j * w / (1j * w + CORNER * w)
    assert complex(a, b) == pytest.approx(expected, abs=2e-3)


def test_after_a_gap_the_rate_is_taken_as_it_is(arm: ArmModel) -> None:
    wash_out = WashOut(arm)
    for k in range(1000):
        wash_out.clean(state(k * TICK, np.full(6, 0.01)))
    late = 999 * TICK + round(1.1e9 * LATEST)
    assert wash_out.clean(state(late, np.full(6, 0.01))).deflection_rate == pytest.approx(0.01)
