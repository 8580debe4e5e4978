"""StaticPose: mean sensor wrench and joint positions while the arm is at rest."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from flexarm_core.entrance import ANY, finite
from flexarm_core.errors import InputError
from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class StaticPose:
    """Means over samples at rest.

    Attributes:
        position: (n,) positions of the actuated joints [rad | m].
        wrench: (6,) ``[f; n]`` of the robot on the base, in the sensor frame [N, N*m].
        deviation: (6,) standard deviation of the mean wrench, from the scatter of the samples [N, N*m].
        samples: number of wrench samples in the mean.
        fastest: largest absolute joint velocity among the samples [rad/s | m/s].
        deflection: (m,) positions of the elastic joints of the base; empty if there are none [m | rad].
    """

    position: Array
    wrench: Array
    deviation: Array = field(default_factory=lambda: np.zeros(6))
    samples: int = 1
    fastest: float = 0.0
    deflection: Array = field(default_factory=lambda: np.zeros(0))


def mean_pose(positions: Array, velocities: Array, wrenches: Array, deflections: Array | None = None) -> StaticPose:
    """Average samples at rest to a static pose.

    Args:
        positions: (k, n) joint positions [rad | m].
        velocities: (k, n) joint velocities [rad/s | m/s].
        wrenches: (j, 6) sensor wrenches; j may differ from k [N, N*m].
        deflections: (k, m) positions of the elastic joints [m | rad].

    Raises:
        InputError: there is no sample.
    """
    positions, wrenches = finite("positions", positions, ANY, ANY), finite("wrenches", wrenches, ANY, 6)
    velocities = finite("velocities", velocities, *positions.shape)
    if deflections is not None:
        deflections = finite("deflections", deflections, ANY, ANY)
    if not len(positions) or not len(wrenches):
        raise InputError("a static pose needs at least one joint state and one wrench")
    samples = len(wrenches)
    spread = wrenches.std(axis=0, ddof=1) if samples > 1 else np.zeros(6)
    return StaticPose(
        position=positions.mean(axis=0),
        wrench=wrenches.mean(axis=0),
        deviation=spread / np.sqrt(samples),
        samples=samples,
        fastest=float(np.abs(velocities).max(initial=0.0)),
        deflection=np.zeros(0) if deflections is None else deflections.mean(axis=0),
    )
