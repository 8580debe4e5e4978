"""Behaviors in one law: hold a place softly and press with 20 N; in free air the tool gives way until both balance."""

import numpy as np

from flexarm_core import BehaviorImpedanceController, BehaviorSpec, load_robot

controller = BehaviorImpedanceController.of(load_robot("urdf/arm_7r.urdf.xacro"))
controller.begin(np.array([0.0, 0.4, 0.0, -1.6, 0.0, 1.0, 0.0]))
start, _ = controller.arm.chain.pose(controller.solver.position)
controller.set_behaviors([BehaviorSpec("press", "force", {"wrench": [0.0, 0.0, -20.0, 0.0, 0.0, 0.0]})])
for tick in range(1, 1001):
    controller.update(tick * 2_000_000, 2e-3, np.zeros(6))

moved = controller.arm.chain.pose(controller.solver.position)[0] - start
print(controller)
print("moved [mm]", (1e3 * moved).round(2))
