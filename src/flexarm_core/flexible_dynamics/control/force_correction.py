"""Force correction (US 5,546,508, claims 1, 16): find forces whose computed accelerations are the desired ones.

::

    specified forces T -> computed accelerations qdd(T) -> discrepancy e = qdd_des - qdd(T) -> T + alpha Lambda e

until the discrepancy is below a tolerance. ``Lambda`` estimates ``(d qdd / d T)^-1``: exactly, from one residual sweep
per joint, or by the articulated hinge inertias alone (diagonal). The factor ``alpha = e.r / r.r``, with the response
``r`` of the accelerations to ``Lambda e``, makes the discrepancy decrease for either estimate; it is 1 for the exact
estimate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.types import Array

INFLUENCES = ("exact", "diagonal")


@dataclass(frozen=True, slots=True)
class CorrectedForces:
    """Result of a force correction.

    Attributes:
        effort: (n,) corrected efforts of the actuated joints [N*m | N].
        discrepancy: largest remaining difference of desired and computed acceleration [rad/s^2 | m/s^2].
        iterations: number of corrections.
    """

    effort: Array
    discrepancy: float
    iterations: int


def correct_forces(
    model: FlexibleModel,
    specified: Array,
    wanted: Array,
    *,
    influence: str = "exact",
    tolerance: float = 1e-9,
    iterations: int = 10,
) -> CorrectedForces:
    """Correct efforts until the computed accelerations of the actuated joints equal the desired ones.

    Args:
        model: model at the state of its last ``articulate``; if that had a step, accelerations are means over the step.
        specified: (n,) initial efforts [N*m | N].
        wanted: (n,) desired accelerations of the actuated joints [rad/s^2 | m/s^2].
        influence: ``exact`` or ``diagonal``.
        tolerance: tolerance of the discrepancy, relative to the larger of 1 and the largest desired acceleration.
        iterations: maximum number of corrections.

    Raises:
        ConfigError: unknown influence.
    """
    if influence not in INFLUENCES:
        raise ConfigError(f"influence '{influence}' is unknown; valid: {', '.join(INFLUENCES)}")
    joints = model.actuated
    response = model.response(joints)[joints]
    effort = np.zeros(len(model.hinge_names))
    effort[joints] = specified
    discrepancy = wanted - model.accelerate(effort)[joints]
    bound = tolerance * max(1.0, float(np.abs(wanted).max(initial=0.0)))
    estimate = np.linalg.inv(response) if influence == "exact" else np.diag(model.hinge_inertia()[joints])
    done = 0
    while done < iterations and float(np.abs(discrepancy).max(initial=0.0)) > bound:
        direction = estimate @ discrepancy
        effect = response @ direction
        effort[joints] += direction * (discrepancy @ effect) / (effect @ effect)
        discrepancy = wanted - model.accelerate(effort)[joints]
        done += 1
    return CorrectedForces(effort[joints], float(np.abs(discrepancy).max(initial=0.0)), done)
