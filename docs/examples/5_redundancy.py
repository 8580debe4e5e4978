"""A tool path sample by sample: seven joints follow 10 cm in 1 s, within position, velocity and acceleration limits."""

import numpy as np

from flexarm_core import RedundancySolver, load_robot

solver = RedundancySolver.of(load_robot("urdf/arm_7r.urdf.xacro"))
solver.begin(np.array([0.0, 0.4, 0.0, -1.6, 0.0, 1.0, 0.0]))
start, rotation = solver.chain.pose(solver.position)
for tick in range(501):
    s = tick / 500.0
    way = 0.1 * s**3 * (10.0 - 15.0 * s + 6.0 * s**2)  # at rest at both ends [m]
    status = solver.update(start + np.array([0.0, way, 0.0]), rotation, dt=2e-3)

print(solver)
print("joints [rad]", solver.position.round(4))
print("error of the tool [m]", np.linalg.norm(status.position_error), "at a limit:", status.limited)
