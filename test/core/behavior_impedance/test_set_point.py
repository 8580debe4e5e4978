"""The set-point that several behaviors make up: its twist and acceleration are those of its poses."""

from __future__ import annotations

import numpy as np
import pytest
from behaviors import Driven
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.behavior import BehaviorSpec

DT = 2e-3
TWIST = np.array([0.05, -0.04, 0.03, 0.1, 0.0, 0.8])
TELE = BehaviorSpec("t", "teleoperation", {"max_angular_lag": 3.0, "max_lag": 10.0})
DITHER = BehaviorSpec("d", "dither", {"amplitude": [0.01, 0.0, 0.0, 0.0, 0.1, 0.0], "frequency": 1.0})
TOOL = BehaviorSpec("e", "dither", {"amplitude": [0.05, 0.0, 0.0, 0.0, 0.0, 0.0], "frequency": 1.0, "frame": "tool"})
TURN = BehaviorSpec("p", "path", {"positions": [0.0, 0.1, 0.1, 0.0, 0.0, 0.0], "rpys": [3.0, 0.3, 0.5, 2.5, -0.5, -0.5],
                                  "relative": True, "repeats": True})  # fmt: skip


@pytest.mark.parametrize(
    "specs", ((TELE,), (DITHER,), (TURN,), (TURN, TELE), (TELE, DITHER), (TURN, DITHER, TELE), (TELE, TOOL)),
    ids=lambda specs: "".join(spec.name for spec in specs),
)  # fmt: skip
def test_twist_and_acceleration_of_the_set_point_are_those_of_its_poses(specs):
    driven, rows = Driven("panda"), []
    driven.ask(*specs)
    for _ in range(2500):  # more than half a turn of what is led by hand
        if any(spec.name == "t" for spec in specs):
            driven.behavior("t").give(driven.stamp, TWIST)
        driven.step()
        rows.append(driven.controller.set_point())
    p, R, twist, acceleration = (np.array(part) for part in zip(*rows, strict=True))
    turns = Rotation.from_matrix(R[2:] @ R[:-2].transpose(0, 2, 1)).as_rotvec()
    rates = np.hstack((p[2:] - p[:-2], turns)) / (2.0 * DT)
    assert twist[1:-1] == pytest.approx(rates, abs=5e-3)
    if TOOL in specs:
        return  # how the tool's own turning changes is not in its acceleration
    errors = np.abs((twist[2:] - twist[:-2]) / (2.0 * DT) - acceleration[1:-1])
    # where an acceleration begins or ends at once a difference over two samples is half of it
    assert np.quantile(errors, 0.98) < 0.02


def test_two_forces_in_one_direction_free_it_once():
    driven = Driven("panda")
    start = driven.controller.output.position
    force = {"axes": [False, False, True, False, False, False], "damping": [250.0, 10.0]}
    tilted = {**force, "axes": [False, True, False, False, False, False], "rpy": [0.3, 0.0, 0.0]}
    path = BehaviorSpec("p", "path", {"positions": [0.1, 0.05, 0.1], "relative": True})
    driven.ask(BehaviorSpec("a", "force", force), BehaviorSpec("b", "force", force), path)
    driven.run(2500)
    assert driven.controller.output.position == pytest.approx(start + [0.1, 0.05, 0.0], abs=1e-5)
    driven.controller.begin(np.array(driven.joints))
    start = driven.controller.output.position
    driven.ask(BehaviorSpec("a", "force", force), BehaviorSpec("b", "force", tilted), path)
    driven.run(2500)
    assert driven.controller.output.position == pytest.approx(start + [0.1, 0.0, 0.0], abs=1e-5)
