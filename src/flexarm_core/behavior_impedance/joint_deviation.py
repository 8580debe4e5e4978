"""JointDeviation: detects whether the measured joints deviate from the commanded positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexarm_core.types import Array

RESUME = 0.5  # fraction of the tolerance below which a deviation that was reported is cleared


class JointDeviation:
    """Compares measured with commanded joint positions, with hysteresis.

    Attributes:
        tolerance: largest allowed deviation of a joint [rad | m].
    """

    def __init__(self, names: Sequence[str]) -> None:
        """Monitor the joints with these names."""
        self._names, self.tolerance = tuple(names), np.inf
        self.reset()

    def reset(self) -> None:
        """Clear the deviation."""
        self._away = False

    def check(self, measured: Array, commanded: Array) -> str:
        """Compare measured (n,) and commanded (n,) joint positions [rad | m].

        Returns:
            Description of the largest deviation if it is out of tolerance, else an empty string.
        """
        off = np.abs(measured - commanded)
        worst = int(off.argmax())
        self._away = bool(off[worst] > (RESUME * self.tolerance if self._away else self.tolerance))
        if not self._away:
            return ""
        return f"joint '{self._names[worst]}' is {off[worst]:.3f} from where it should be, tolerance {self.tolerance}"
