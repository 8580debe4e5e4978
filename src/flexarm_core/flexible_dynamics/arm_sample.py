"""ArmSample: state of an arm at one instant, for drawing."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class ArmSample:
    """State at one instant; unknown values are absent from the dictionaries, or NaN.

    Attributes:
        time: time of the sample [s].
        position: positions of the joints that are not elastic, by name [rad | m].
        deflection: deflections of the elastic joints, by name [rad | m].
        modes: modal coordinates of the flexible links, by ``link/mode`` [sqrt(kg)*m].
        reference: (3,) reference position of the tool, in the root link or the base link [m].
        reference_in_base: whether the reference is expressed in the base link, which oscillates.
        base_wrench: (6,) wrench ``[f; n]`` of the arm on its base, at the origin and in axes of the frame of the
            force/torque sensor under the arm, or of the base link if there is no such sensor [N, N*m].
        contact_force: (3,) force of surfaces on the tool, in axes of the root link [N].
    """

    time: float
    position: dict[str, float]
    deflection: dict[str, float] = field(default_factory=dict)
    modes: dict[str, float] = field(default_factory=dict)
    reference: Array = field(default_factory=lambda: np.full(3, np.nan))
    reference_in_base: bool = False
    base_wrench: Array = field(default_factory=lambda: np.full(6, np.nan))
    contact_force: Array = field(default_factory=lambda: np.full(3, np.nan))
