"""A result does not depend on which compiled functions a process loaded before, so not on the order of messages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

URDF = Path(__file__).resolve().parents[3] / "urdf" / "flexible_2r.urdf.xacro"
SCRIPT = """
import sys
import numpy as np
from flexarm_core.flexible_dynamics import kinematics, recursion, tree
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.robot.load import load_robot_description

model = FlexibleModel(load_robot_description(sys.argv[1]), gravity=(0.0, 0.0, -9.81))
integers, constants, memory = model.arrays
views = tree.view_tree(integers, constants), tree.view_workspace(memory)
for name in sys.argv[2:]:
    getattr(recursion, name)(*views)
random = np.random.default_rng(1)
for _ in range(200):
    x, v = random.normal(size=(2, model.size))
    model.articulate(x, v)
    print(model.response(model.actuated).tobytes().hex(), model.accelerate(random.normal(size=2)).tobytes().hex())
"""


def test_results_do_not_depend_on_what_was_loaded_before():
    def printed(*names: str) -> str:
        command = [sys.executable, "-c", SCRIPT, str(URDF), *names]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    alone = printed()
    assert len(alone.splitlines()) == 200
    assert printed("articulate") == alone
