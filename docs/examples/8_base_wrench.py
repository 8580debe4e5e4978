"""Friction in the joints from a force/torque sensor under the base: the second joint rubs with 2 N*m while it moves."""

import numpy as np

from flexarm_core import ArmModel, BaseWrenchEstimator, BaseWrenchSample, FlexibleModel, load_robot

robot = load_robot("urdf/arm_7r.urdf.xacro")
estimator, plant = BaseWrenchEstimator.of(ArmModel(robot)), FlexibleModel(robot)
posture, way = np.array([0.0, 0.4, 0.0, -1.6, 0.0, 1.0, 0.0]), np.array([0.3, 0.3, 0.0, 0.3, 0.0, 0.2, 0.0])  # [rad]
for tick in range(400):
    t = 2e-3 * tick
    q, v, a = posture + way * (1.0 - np.cos(3.0 * t)), 3.0 * way * np.sin(3.0 * t), 9.0 * way * np.cos(3.0 * t)
    effort = plant.inverse_dynamics(q, v, a) + 2.0 * np.sign(v) * np.eye(7)[1]
    wrench = plant.sensor_wrenches(q, v, a)[estimator.bodies.sensor]
    estimate = estimator.update(BaseWrenchSample(2_000_000 * tick, q, v, effort, wrench))

print(estimator)
print("friction [N*m]", estimate.friction.round(2), "valid:", estimate.valid)
