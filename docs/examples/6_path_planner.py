"""A whole tool path at once: a line and back, as fast as the joints and the tool may go."""

import numpy as np

from flexarm_core import PathLimits, PathPlanner, PosePath, load_robot

planner = PathPlanner.of(load_robot("urdf/arm_7r.urdf.xacro"))
posture = np.array([0.0, 0.4, 0.0, -1.6, 0.0, 1.0, 0.0])  # [rad]
start, rotation = planner.chain.pose(posture)
path = PosePath(start, rotation).line(start + np.array([0.0, 0.15, -0.05])).line(start)
plan = planner.plan(path, posture, PathLimits(linear_velocity=0.25))

print(planner)
print("length [m]", round(path.length, 4), "time [s]", round(plan.duration, 3))
print("half-way [rad]", plan.sample(0.5 * plan.duration)[0].round(4))
