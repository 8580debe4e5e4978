"""The estimator of the flexible state at a state of its own choosing, and a look at what it has prepared."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexarm_core.flexible_dynamics.estimation.estimator import FlexibleEstimator
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.types import Array, FlexibleSample, FlexibleState

GAP = 1_000_000_000  # [ns] longer than max_gap: the estimate stays, nothing is predicted


class FilterProbe:
    """An estimator and its memory.

    Attributes:
        estimator: the estimator, which has had one sample.
        kept: what it keeps, see ``memory.Kept``.
        ahead: what it prepares, see ``memory.Ahead``.
    """

    def __init__(self, model: FlexibleModel, config: Any) -> None:
        """Give the estimator its first sample."""
        self.model, self.estimator, self._stamp = model, FlexibleEstimator(model, config), 0
        still = np.zeros(len(model.actuated))
        self.estimator.update(FlexibleSample(0, still, still, still))
        memory = self.estimator._filter
        self.kept, self.ahead, self.linear = memory.kept, memory.ahead, int(memory.plan.linear)

    def put(self, x: Array, v: Array, P: Array | None = None) -> None:
        """Set the estimate."""
        self.kept.x[:], self.kept.v[:] = self.model.of_tree(x), self.model.of_tree(v)
        if P is not None:
            self.kept.P[: len(P), : len(P)] = P

    def at(self, x: Array, v: Array, effort: Array, **sensors: Any) -> FlexibleState:
        """Give a sample at a state, without any prediction: the innovation is the reading minus that of the state."""
        self._stamp += GAP
        self.put(x, v)
        joints = self.model.actuated
        return self.estimator.update(FlexibleSample(self._stamp, x[joints], v[joints], effort, **sensors))
