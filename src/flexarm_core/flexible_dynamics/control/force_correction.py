"""Force correction (patent 000, claims 1 and 16): forces whose computed accelerations are the ones that are wanted.

::

    specified forces T -> computed accelerations qdd(T) -> discrepancy e = qdd_des - qdd(T) -> T + alpha Lambda e

until the discrepancy is below a tolerance. ``Lambda`` estimates ``(d qdd / d T)^-1``: exactly, from a residual sweep a
joint, or by the articulated hinge inertias alone (diagonal). ``alpha = e.r / r.r`` with the response ``r`` of the
accelerations to ``Lambda e`` lets the discrepancy shrink whichever is taken; it is 1 for the exact one.
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
        discrepancy: largest difference of wanted and computed acceleration that is left [rad/s^2 | m/s^2].
        iterations: corrections that were made.
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
    """Correct efforts until the computed accelerations of the actuated joints are the wanted ones.

    Args:
        model: at the state of its last ``articulate``; with a step, mean accelerations over it are meant.
        specified: (n,) efforts to begin with [N*m | N].
        wanted: (n,) accelerations of the actuated joints [rad/s^2 | m/s^2].
        influence: ``exact`` or ``diagonal``.
        tolerance: of the discrepancy, relative to the largest of 1 and the wanted accelerations.
        iterations: largest number of corrections.

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
