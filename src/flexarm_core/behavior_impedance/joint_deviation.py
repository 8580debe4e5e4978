"""JointDeviation: whether the joints are where they were sent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexarm_core.types import Array

RESUME = 0.5  # part of the tolerance below which joints that were away count as back


class JointDeviation:
    """Compares measured with commanded joints; once away, they have to come nearer than they had to go.

    Attributes:
        tolerance: largest distance of a joint [rad | m].
    """

    def __init__(self, names: Sequence[str]) -> None:
        """Watch joints of these names."""
        self._names, self.tolerance = tuple(names), np.inf
        self.reset()

    def reset(self) -> None:
        """The joints are where they should be."""
        self._away = False

    def check(self, measured: Array, commanded: Array) -> str:
        """What is wrong with measured joints (n,) after they were sent to (n,) [rad | m]; empty where nothing is."""
        off = np.abs(measured - commanded)
        worst = int(off.argmax())
        self._away = bool(off[worst] > (RESUME * self.tolerance if self._away else self.tolerance))
        if not self._away:
            return ""
        return f"joint '{self._names[worst]}' is {off[worst]:.3f} from where it should be, tolerance {self.tolerance}"
