"""An arm on a boom: how its base swings, and how far a motion of the arm pushes it."""

import numpy as np

from flexarm_core import ArmModel, ArmState, load_robot

model = ArmModel(load_robot("urdf/boom_7r.urdf.xacro"), gravity=(0.0, 0.0, 0.0))
posture = np.array([0.5, 1.3, -1.4, -1.6, 0.0, -1.2, 0.7])  # [rad]
state = ArmState(0, posture, np.zeros(model.n), np.zeros(model.m), np.zeros(model.m))
blocks = model.blocks(state)
push = np.zeros(model.n)
push[0] = 1.0  # [rad/s^2] of the first joint

print(model)
print("the boom swings at [Hz]", (model.natural_frequencies(state) / (2.0 * np.pi)).round(2))
print("its acceleration [m/s^2, rad/s^2]", model.base_acceleration(blocks, state, push).round(3))
print("efforts [N*m]", model.inverse_dynamics(blocks, state, push).round(3))
