"""Ensemble: the set of active behaviors and the sum of their contributions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexarm_core.behavior_impedance.behavior import (
    ActiveBehavior,
    Arm,
    Behavior,
    BehaviorSpec,
    Contribution,
    MotionSample,
)
from flexarm_core.behavior_impedance.law import add_up
from flexarm_core.behavior_impedance.layout import view_parts
from flexarm_core.behavior_impedance.registry import make_behavior
from flexarm_core.behavior_impedance.setting import plain_settings
from flexarm_core.errors import ConfigError, FlexarmError
from flexarm_core.types import Array


class Ensemble:
    """Updates every active behavior at every sample; a behavior that fails is excluded, and the others continue.

    Attributes:
        active: active behaviors, in the order in which they were requested.
        total: sum of the contributions at the last sample.
        last_total: sum of the contributions one sample earlier.
    """

    def __init__(self, arm: Arm) -> None:
        """Create an ensemble without behaviors."""
        self._arm, self._n, self._size = arm, arm.chain.n, view_parts.size(arm.chain.n)
        self.sum_to(*np.zeros((2, self._size)))
        self._table = np.zeros((0, self._size))
        self.active: list[ActiveBehavior] = []

    def sum_to(self, total: Array, last_total: Array) -> None:
        """Write the sums to two rows, see ``layout.Parts``."""
        self.total, self.last_total = Contribution(total, self._n), Contribution(last_total, self._n)

    def change(self, specs: Sequence[BehaviorSpec]) -> list[ActiveBehavior] | None:
        """Replace the set of active behaviors; a behavior that keeps its name and class continues.

        Returns:
            Previously active behaviors that continue; None if nothing has changed.

        Raises:
            ConfigError: a behavior is not available or not valid, a name is empty or used twice, or several behaviors
                lead; nothing is changed then.
        """
        specs = [BehaviorSpec(spec.name, spec.kind, plain_settings(spec.settings)) for spec in specs]
        names = [spec.name for spec in specs]
        for name in names:
            if not name or names.count(name) > 1:
                raise ConfigError(f"each behavior needs a name of its own, got {', '.join(names)}")
        made = [self._made(spec) for spec in specs]
        leading = [spec.name for spec, (behavior, *_) in zip(specs, made, strict=True) if behavior.LEADS]
        if len(leading) > 1:
            raise ConfigError(f"one behavior at most can lead the tool, got {', '.join(leading)}")
        if [active.spec for active in self.active] == specs and all(same for *_, same in made):
            return None
        for spec, (behavior, old, same) in zip(specs, made, strict=True):
            if old is not None and not same:
                try:
                    behavior.take_over(old.behavior)
                except Exception as error:  # a user-defined behavior may raise anything
                    raise ConfigError(f"behavior '{spec.name}' cannot take over: {error}") from error
        self._table = np.zeros((len(made), self._size))
        self.active = [
            ActiveBehavior(spec, behavior, Contribution(row, self._n), joined=old is not None and old.joined)
            for spec, (behavior, old, _), row in zip(specs, made, self._table, strict=True)
        ]
        return [old for _, old, _ in made if old is not None]

    def _made(self, spec: BehaviorSpec) -> tuple[Behavior, ActiveBehavior | None, bool]:
        """Return a behavior for a spec, the active behavior that it continues, and whether it is the same object."""
        old = next((active for active in self.active if active.spec.name == spec.name), None)
        if old is not None and old.spec == spec and not old.failure:
            return old.behavior, old, True
        behavior = make_behavior(spec, self._arm)
        heir = old is not None and old.joined and not old.failure and type(old.behavior) is type(behavior)
        return behavior, old if heir else None, False

    def renew(self) -> None:
        """Create every behavior again, without any state of the old instances."""
        self.total.row[:] = 0.0
        for active in self.active:
            active.joined, active.failure, active.out.row[:] = False, "", 0.0
            try:
                active.behavior = make_behavior(active.spec, self._arm)
            except ConfigError as error:
                active.failure = str(error)

    def gather(self, sample: MotionSample) -> bool:
        """Update every behavior and sum the contributions; return whether another behavior has failed."""
        self._table[:] = 0.0
        self.last_total.row[:] = self.total.row
        sound = [active.failure for active in self.active].count("")
        for active in self.active:
            if active.failure:
                continue
            try:
                if not active.joined:
                    active.joined = True
                    active.behavior.begin(sample)
                active.behavior.update(sample, active.out)
            except FlexarmError as error:
                _fail(active, str(error))
            except Exception as error:  # an error in a user-defined behavior must not stop the control of the arm
                _fail(active, f"{type(error).__name__}: {error}")
        while (wrong := add_up(self._table, self.total.row, self._n)) >= 0:
            _fail(self.active[wrong], "it contributed a number that is not finite")
        if self.total.lead.item() not in (0.0, 1.0):
            for active in self.active:
                if active.out.lead[0] != float(active.behavior.LEADS):
                    _fail(active, "it wrote lead, and its class does not say so by LEADS")
            add_up(self._table, self.total.row, self._n)
        return [active.failure for active in self.active].count("") < sound

    @property
    def sound(self) -> list[ActiveBehavior]:
        """Active behaviors that have not failed."""
        return [active for active in self.active if not active.failure]

    def without_wrench(self) -> list[str]:
        """Return the names of the behaviors that need a measured wrench and have not failed."""
        return [active.spec.name for active in self.sound if active.behavior.NEEDS_WRENCH]

    def forbids(self, position: Array, velocity: Array, dt: float) -> tuple[str, str] | None:
        """Return the behavior that rejects the joint positions (n,) and velocities (n,), and the reason; None if none.

        A behavior that may reject motions and has failed rejects every motion.
        """
        for active in self.active:
            if active.behavior.FORBIDS and (reason := _objection(active, position, velocity, dt)):
                return active.spec.name, reason
        return None


def _objection(active: ActiveBehavior, position: Array, velocity: Array, dt: float) -> str:
    try:
        if not active.failure and active.behavior.admits(position, velocity, dt):
            return ""
        return active.failure or active.behavior.note() or "it does not admit the motion"
    except Exception as error:  # an error in a user-defined behavior must not stop the control of the arm
        _fail(active, f"{type(error).__name__}: {error}")
        return active.failure


def _fail(active: ActiveBehavior, reason: str) -> None:
    active.failure = reason
    active.out.row[:] = 0.0
