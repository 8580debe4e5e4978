"""ViewSample: one instant of an arm, as the page draws it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class ViewSample:
    """One instant; what is not known is left out of the dictionaries, or NaN.

    Attributes:
        time: [s].
        position: of joints that are not elastic, by name [rad | m].
        deflection: of elastic joints, by name [rad | m].
        modes: of flexible links, ``link/mode`` [sqrt(kg)*m].
        reference: (3,) where the tool should be, in the root link or the base link [m].
        reference_in_base: whether the reference is in the base link, which swings.
        base_force: (3,) exerted by the robot on its base, in axes of the force/torque sensor there [N].
    """

    time: float
    position: dict[str, float]
    deflection: dict[str, float] = field(default_factory=dict)
    modes: dict[str, float] = field(default_factory=dict)
    reference: Array = field(default_factory=lambda: np.full(3, np.nan))
    reference_in_base: bool = False
    base_force: Array = field(default_factory=lambda: np.full(3, np.nan))
