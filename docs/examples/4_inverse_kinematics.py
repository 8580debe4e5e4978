"""Joint positions for a pose of the tool, within all position limits."""

import numpy as np

from flexarm_core import InverseKinematics, load_robot

solver = InverseKinematics.of(load_robot("urdf/arm_6r.urdf.xacro"))
position, rotation = solver.chain.pose(np.array([0.2, -0.9, 1.1, -0.4, 0.7, 0.1]))
found = solver.solve(position, rotation, np.zeros(6))

print(solver)
print("found", found.success, "at [rad]", found.position.round(4))
print("error [m]", np.linalg.norm(solver.chain.pose(found.position)[0] - position))
