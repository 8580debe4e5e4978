"""An arm that bends: let it swing for 0.8 s, and see where its tool is and how its links bend."""

import numpy as np

from flexarm_core import FlexibleModel, load_robot

model = FlexibleModel(load_robot("urdf/flexible_2r.urdf.xacro"), gravity=(0.0, 0.0, 0.0))
x, v = np.zeros(model.size), np.zeros(model.size)  # [joints; modes]
effort = np.array([5.0, 0.0])  # [N*m]
for _ in range(800):
    x, v = model.step(x, v, effort, 1e-3)

print(model)
print("tool [m]", model.frame_motion("tool0", x, v).position.round(4))
print("strain of the gauges", model.strain_map @ x[model.modal])
print("energy [J]", round(model.energy(x, v), 4))
