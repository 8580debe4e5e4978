"""ArmSample: one instant of an arm, as it is drawn."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class ArmSample:
    """One instant; what is not known is left out of the dictionaries, or NaN.

    Attributes:
        time: [s].
        position: of joints that are not elastic, by name [rad | m].
        deflection: of elastic joints, by name [rad | m].
        modes: of flexible links, ``link/mode`` [sqrt(kg)*m].
        reference: (3,) where the tool should be, in the root link or the base link [m].
        reference_in_base: whether the reference is in the base link, which swings.
        base_wrench: (6,) exerted by the arm on its base, ``[f; n]`` in axes and at the origin of the frame of the
            force/torque sensor under the arm, of the base link where there is no such sensor [N, N*m].
        contact_force: (3,) of surfaces on the tool, in axes of the root link [N].
    """

    time: float
    position: dict[str, float]
    deflection: dict[str, float] = field(default_factory=dict)
    modes: dict[str, float] = field(default_factory=dict)
    reference: Array = field(default_factory=lambda: np.full(3, np.nan))
    reference_in_base: bool = False
    base_wrench: Array = field(default_factory=lambda: np.full(6, np.nan))
    contact_force: Array = field(default_factory=lambda: np.full(3, np.nan))
