"""Force correction (US 5,546,508, claims 1, 16, 31): find forces whose computed accelerations are the desired ones.

::

    specified forces T -> computed accelerations qdd(T) -> discrepancy e = qdd_des - qdd(T) -> T + alpha Lambda e

until the discrepancy is below a tolerance. ``Lambda`` estimates ``(d qdd / d T)^-1``: exactly, from one residual sweep
per joint, or by the articulated hinge inertias alone (diagonal). The factor ``alpha = e.r / r.r``, with the response
``r`` of the accelerations to ``Lambda e``, makes the discrepancy decrease for either estimate; it is 1 for the exact
estimate.

With desired accelerations of the elastic joints and modes too, there are more accelerations than forces. Then the
forces minimize ``e^T W e``, ``Lambda = (R^T W R)^-1 R^T W`` with the responses ``R`` of all accelerations, the
iteration ends when no forces would make ``e`` smaller, and ``missed`` is what forces of the joints cannot reach.
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
        discrepancy: largest remaining difference of desired and computed acceleration that forces can still remove
            [rad/s^2 | m/s^2].
        iterations: number of corrections.
        missed: desired minus computed accelerations, (n,) of the joints or (h + K,) of all coordinates as desired.
    """

    effort: Array
    discrepancy: float
    iterations: int
    missed: Array


def correct_forces(
    model: FlexibleModel,
    specified: Array,
    wanted: Array,
    *,
    weight: Array | None = None,
    influence: str = "exact",
    tolerance: float = 1e-9,
    iterations: int = 10,
) -> CorrectedForces:
    """Correct efforts until the computed accelerations equal the desired ones, or are as near to them as they can be.

    Args:
        model: model at the state of its last ``articulate``; if that had a step, accelerations are means over the step.
        specified: (n,) initial efforts [N*m | N].
        wanted: (n,) desired accelerations of the actuated joints, or with a weight (h + K,) of all coordinates
            [rad/s^2 | m/s^2].
        weight: (h + K, h + K) symmetric weight of the discrepancies; None: the joints are compared alone.
        influence: ``exact`` or ``diagonal``.
        tolerance: tolerance of the discrepancy, relative to the larger of 1 and the largest desired acceleration.
        iterations: maximum number of corrections.

    Raises:
        ConfigError: unknown influence.
    """
    if influence not in INFLUENCES:
        raise ConfigError(f"influence '{influence}' is unknown; valid: {', '.join(INFLUENCES)}")
    joints = model.actuated
    rows = joints if weight is None else np.arange(model.size)
    response = model.response(joints)[rows]
    effort = np.zeros(len(model.hinge_names))
    effort[joints] = specified
    missed = wanted - model.accelerate(effort)[rows]
    bound = tolerance * max(1.0, float(np.abs(wanted).max(initial=0.0)))
    if weight is None:
        inverse = np.linalg.inv(response)
        estimate = inverse if influence == "exact" else np.diag(model.hinge_inertia()[joints])
    else:
        weighted = response.T @ weight
        normal = weighted @ response
        inverse = np.linalg.solve(normal, weighted)
        estimate = inverse if influence == "exact" else weighted / np.diag(normal)[:, None]

    def removable() -> float:
        part = missed if weight is None else response @ (inverse @ missed)
        return float(np.abs(part).max(initial=0.0))

    done, left = 0, removable()
    while done < iterations and left > bound:
        direction = estimate @ missed
        effect = response @ direction
        compared = effect if weight is None else weight @ effect
        effort[joints] += direction * (missed @ compared) / (effect @ compared)
        missed = wanted - model.accelerate(effort)[rows]
        done, left = done + 1, removable()
    return CorrectedForces(effort[joints], left, done, missed)
