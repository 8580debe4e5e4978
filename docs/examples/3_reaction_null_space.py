"""Joint motions that do not shake the base: the tool goes in y, the boom stays at rest."""

import numpy as np

from flexarm_core import ArmModel, ReactionNullSpace, load_robot

quiet = ReactionNullSpace(ArmModel(load_robot("urdf/boom_7r.urdf.xacro")))
posture = np.array([0.5, 1.3, -1.4, -1.6, 0.0, -1.2, 0.7])  # [rad]
translation = np.array([True, True, True, False, False, False])
speed = quiet.joint_velocity(posture, np.array([0.0, 0.1, 0.0, 0.0, 0.0, 0.0]), translation)

print(quiet)
print("joints [rad/s]", speed.round(4))
print("momentum that the base gets", np.abs(quiet.coupling(posture) @ speed).max().round(12))
print("free directions", round(np.trace(quiet.projector(posture))))
