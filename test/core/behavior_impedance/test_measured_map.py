"""Map at measured joint positions (patent 002, claims 5, 14, 26): no lag, and the bound of its gain."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
from law_cases import MIDDLE, arm
from robots import find
from scipy.linalg import expm

from flexarm_core.behavior_impedance.measured_map import MeasuredMap, MeasuredMapConfig
from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.limits import MotionLimits

DT = 0.002
START = np.array(MIDDLE["arm_7r"])


class Drives:
    """Position servos ``1 / (1 + L s / 2)^2``, exact, that get each command a number of periods late."""

    def __init__(self, lag: float, late: int, start: np.ndarray) -> None:
        w = 2.0 / lag
        both = np.zeros((3, 3))
        both[:2] = [[0.0, 1.0, 0.0], [-w * w, -2.0 * w, w * w]]
        self._step = expm(both * DT)[:2]
        self._commands, self.state = [start] * late, np.vstack((start, np.zeros(len(start))))

    def advance(self, command: np.ndarray) -> None:
        self._commands.append(command)
        self.state = self._step @ np.vstack((self.state, self._commands.pop(0)))


def path(t: float) -> np.ndarray:
    """Joints that swing with up to 1 rad/s and 2 rad/s^2."""
    return START + 0.5 * np.sin(2.0 * t) * np.array([1.0, 0.5, -1.0, 0.5, 1.0, -0.5, 1.0])


def followed(
    gain: float | None, lag: float = 0.01, late: int = 1, seconds: float = 2.0
) -> tuple[np.ndarray, np.ndarray]:
    """Commanded and real joints, sample by sample; without the map for None."""
    one = arm("arm_7r")
    limits = MotionLimits(one.limits.lower, one.limits.upper, np.full(7, 1e3), one.limits.acceleration)
    made = None
    if gain is not None:
        config = MeasuredMapConfig("measured", 0.0, lag, 1.0 / DT, (late - 1) * DT)
        object.__setattr__(config, "map_gain", gain * config.stability_limit)  # also those that are refused
        made = MeasuredMap(one.chain, limits, one.length_scale, config)
    drives, rows = Drives(lag, late, path(0.0)), []
    for k in range(round(seconds / DT)):
        commanded = path(k * DT)
        rows.append((commanded, drives.state[0].copy()))
        if made is not None:
            made.update(drives.state[0], commanded, DT)
        drives.advance(path((k + 1) * DT) + (0.0 if made is None else made.offset))
    return tuple(np.transpose(rows, (1, 0, 2)))


def tools(joints: np.ndarray) -> np.ndarray:
    """Tool positions by Pinocchio."""
    model = pinocchio.buildModelFromXML(find("arm_7r")[0])
    data, frame, found = model.createData(), model.getFrameId("tool0"), []
    for q in joints:
        pinocchio.framesForwardKinematics(model, data, q)
        found.append(data.oMf[frame].translation.copy())
    return np.array(found)


def test_the_lag_of_the_tool_is_a_tenth_of_that_without_the_map():
    lags = []
    for gain in (None, 0.3):
        commanded, real = followed(gain)
        lags.append(float(np.linalg.norm(tools(commanded) - tools(real), axis=1)[250:].max()))
    assert lags[0] > 3e-3, "the drives lag"
    assert lags[1] < 0.1 * lags[0]


@pytest.mark.parametrize(("lag", "late"), [(0.005, 1), (0.01, 1), (0.01, 3), (0.05, 2)])
def test_the_loop_is_stable_below_the_limit_and_unstable_above(lag, late):
    away = [np.abs(np.diff(followed(gain, lag, late, 6.0), axis=0)[0]).max(axis=1) for gain in (0.5, 0.9, 1.15)]
    assert away[0][-500:].max() < 1.1 * away[0][:500].max()
    assert away[1][-500:].max() < 1.1 * away[1][:1000].max()
    assert not away[2][-500:].max() < 5.0 * away[0][-500:].max()


def test_gains_near_the_limit_are_refused_with_the_largest_one():
    most = 0.5 * MeasuredMapConfig("measured", drive_lag=0.02, delay=0.004).stability_limit
    assert MeasuredMapConfig("measured", 0.999 * most, 0.02, delay=0.004).gain == 0.999 * most
    with pytest.raises(ConfigError, match=rf"stable below {2.0 * most:.4g} 1/s; at most half, {most:.4g}"):
        MeasuredMapConfig("measured", 1.001 * most, 0.02, delay=0.004)
    MeasuredMapConfig("commanded", 1e6)  # not in use


def test_the_reference_stays_within_the_limits_of_the_joints():
    one = arm("arm_7r", velocity=None)
    made = MeasuredMap(one.chain, one.limits, one.length_scale, MeasuredMapConfig("measured"))
    commanded = START.copy()
    commanded[3] = one.limits.lower[3] + 1e-3
    for _ in range(500):  # joints that are blocked
        made.update(START, commanded, DT)
        assert (commanded + made.offset >= one.limits.lower).all()
        assert (np.abs(made.offset) <= 2.0 * 0.012 * one.limits.velocity + 1e-12).all()
    assert made.offset[3] == pytest.approx(-1e-3), "and it does push"
    made.hold()
    assert not made.rate.any()
    made.reset()
    assert not made.offset.any()
