"""BehaviorSets: which behaviours take part, from the node's parameters at first, then from sets and parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flexarm_core.behavior_impedance.behavior import BehaviorSpec
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.behavior_impedance.registry import make_behavior
from flexarm_core.errors import ConfigError, FlexarmError
from flexarm_nodes.behavior_impedance.parameters import declared_specs
from flexarm_nodes.messages.behavior import BehaviorChange

MOST_WAITING = 100  # sets of the future


class BehaviorSets:
    """Takes changes, at once or when their sample comes; each is accepted as a whole or refused as a whole."""

    def __init__(self, controller: BehaviorImpedanceController, values: dict[str, Any]) -> None:
        """Begin with what the parameters ask for.

        Raises:
            ConfigError: it cannot be had.
        """
        self._controller, self._values = controller, values
        self._waiting: list[BehaviorChange] = []
        controller.set_behaviors(list(declared_specs(values, values["behaviors"]).values()))

    @property
    def _specs(self) -> list[BehaviorSpec]:
        return [active.spec for active in self._controller.behaviors]

    @property
    def waits(self) -> bool:
        """Whether changes wait for their sample."""
        return bool(self._waiting)

    def begin(self) -> None:
        """Make every behaviour anew, with nothing carried from an earlier motion, and forget sets that wait."""
        self._waiting = []
        self.renew()

    def renew(self) -> None:
        """Make every behaviour anew, with nothing carried from an earlier motion."""
        specs = self._specs
        self._controller.set_behaviors([])
        self._controller.set_behaviors(specs)

    def take(self, change: BehaviorChange, answered: int) -> str:
        """Carry out a change, or keep it until its sample comes; what there is to say of it.

        Args:
            change: what is asked for.
            answered: stamp of the newest sample that was answered [ns]; -1: none.

        Raises:
            ConfigError: it cannot be had; nothing changes.
        """
        if change.stamp == 0 or change.stamp <= answered:
            self._carry_out(change)
            return ""
        for spec in change.specs:  # what can be told now is told now
            _made(spec, self._controller)
        if len(self._waiting) >= MOST_WAITING:
            raise ConfigError(f"{MOST_WAITING} behaviour sets wait for their stamps already")
        self._waiting.append(change)
        self._waiting.sort(key=lambda waiting: waiting.stamp)  # stable: those of one stamp stay in their order
        ahead = "" if answered < 0 else f", {(change.stamp - answered) * 1e-9:.3f} s after the newest sample"
        return f"waits for its stamp{ahead}"

    def due(self, stamp: int) -> list[str]:
        """Carry out what waited for a sample of this stamp [ns]; why some were refused."""
        refused = []
        while self._waiting and self._waiting[0].stamp <= stamp:
            try:
                self._carry_out(self._waiting.pop(0))
            except FlexarmError as error:
                refused.append(str(error))
        return refused

    def _carry_out(self, change: BehaviorChange) -> None:
        present = {} if change.replaces else {spec.name: spec for spec in self._specs}
        for name in change.removed:
            if name not in present:
                raise ConfigError(f"behaviour '{name}' cannot be removed; there is: {', '.join(present) or 'none'}")
            del present[name]
        self._set(list((present | {spec.name: spec for spec in change.specs}).values()))

    def _set(self, specs: Sequence[BehaviorSpec]) -> None:
        try:
            self._controller.set_behaviors(specs)
        except FlexarmError:
            raise
        except Exception as error:  # a defect of a behaviour of another package refuses the change
            raise ConfigError(f"behaviours cannot be set: {type(error).__name__}: {error}") from error

    def change(self, values: dict[str, Any]) -> None:
        """Take changed parameters: of those that take part, what changed; ``behaviors`` adds and removes.

        Raises:
            ConfigError: a change cannot be had, or is of a name that a set has given to another kind; nothing changes.
        """
        before, specs = self._values, {spec.name: spec for spec in self._specs}
        listed, earlier = values["behaviors"], before["behaviors"]
        for name in earlier:
            if name not in listed:
                specs.pop(name, None)
        specs |= declared_specs(values, [name for name in listed if name not in earlier])
        changed = {name: value for name, value in values.items() if "." in name and before.get(name) != value}
        for key, value in changed.items():
            name, _, setting = key.partition(".")
            spec = specs.get(name)
            if spec is None:
                continue  # takes effect when it takes part
            if spec.kind != values[f"{name}.kind"]:
                raise ConfigError(f"behaviour '{name}' is now of kind '{spec.kind}', by a set: retune it by a set")
            specs[name] = BehaviorSpec(name, spec.kind, {**spec.settings, setting: value})
        self._set(list(specs.values()))
        self._values = values


def _made(spec: BehaviorSpec, controller: BehaviorImpedanceController) -> None:
    """Make a behaviour to see whether it can be had."""
    try:
        make_behavior(spec, controller.arm)
    except FlexarmError:
        raise
    except Exception as error:  # a defect of a behaviour of another package
        raise ConfigError(f"behaviour '{spec.name}': {type(error).__name__}: {error}") from error
