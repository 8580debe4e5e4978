"""Calls all compiled functions once, so that a behavior that is activated later does not delay a sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexarm_core.behavior_impedance.behavior import Arm, BehaviorSpec
from flexarm_core.behavior_impedance.config import ImpedanceConfig
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.behavior_impedance.registry import OWN
from flexarm_core.ik_redundancy.config import RedundancyConfig

FAR = 10.0  # [m]
NEAR = {"range": 9.0, "tool_range": 9.0}  # large ranges, so that the avoidance functions run
OBSTACLES = {
    "names": ["sphere", "box", "half_space"],
    "kinds": ["sphere", "box", "half_space"],
    "positions": [FAR, 0.0, 0.0, 0.0, FAR, 0.0, 0.0, 0.0, -FAR],
    "sizes": [0.1, 0.0, 0.0, 0.1, 0.1, 0.1, 0.0, 0.0, 0.0],
    "range": 2.0 * FAR,
    "tool_range": 2.0 * FAR,
}
SETTINGS: dict[str, dict[str, Any]] = {
    "path": {"positions": [0.0, 0.0, 1e-3], "relative": True},
    "joint_limits": NEAR,
    "obstacles": OBSTACLES,
}


def load_compiled(arm: Arm) -> None:
    """Run every built-in behavior for a few samples in a separate controller, at the middle of the joint ranges."""
    chain = arm.chain
    bounded = np.isfinite(chain.lower) & np.isfinite(chain.upper)
    middle = np.zeros(chain.n)
    middle[bounded] = 0.5 * (chain.lower[bounded] + chain.upper[bounded])
    controller = BehaviorImpedanceController(arm, ImpedanceConfig(), RedundancyConfig(objective_time_constant=0.0))
    controller.begin(middle)
    axes = [row < chain.n for row in range(6)]  # no more axes than joints
    settings = SETTINGS | {"singularity": NEAR | {"axes": axes}}
    controller.set_behaviors([BehaviorSpec(kind.KIND, kind.KIND, settings.get(kind.KIND, {})) for kind in OWN])
    for tick in range(1, 4):
        controller.update(tick * 1_000_000, 1e-3, np.zeros(6))
