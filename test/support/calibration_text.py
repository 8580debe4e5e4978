"""What a calibration file holds, read as any YAML."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import yaml

from flexarm_core.base_wrench.sensed_bodies import SensedBodies
from flexarm_core.types import Array


def calibration_of(
    path: str | Path, bodies: SensedBodies, node: str = "base_wrench_torque_estimator"
) -> tuple[Array, Array | None]:
    """Bias (6,), and gravity parameters (w, 4) of the bodies that the sensor weighs, None without."""
    parameters = yaml.safe_load(Path(path).read_text(encoding="utf-8"))[node]["ros__parameters"]
    bias = np.array(parameters["wrench_bias"])
    if "gravity_links" not in parameters:
        return bias, None
    assert parameters["gravity_links"] == [bodies.names[k] for k in bodies.weighing]
    moments = np.reshape(parameters["gravity_first_moments"], (-1, 3))
    return bias, np.column_stack((parameters["gravity_masses"], moments))
