"""BehaviorSets: the active behaviors, from the node's parameters first, then from behavior sets and parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flexarm_core.behavior_impedance.behavior import BehaviorSpec
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.behavior_impedance.registry import make_behavior
from flexarm_core.errors import ConfigError, FlexarmError
from flexarm_nodes.behavior_impedance.parameters import MOST_BEHAVIORS, declared_specs
from flexarm_nodes.messages.behavior import BehaviorChange

MOST_WAITING = 100  # largest number of pending behavior sets


class BehaviorSets:
    """Applies changes at once or at their sample; each change is accepted or rejected as a whole."""

    def __init__(self, controller: BehaviorImpedanceController, values: dict[str, Any]) -> None:
        """Start with the behaviors of the parameters.

        Raises:
            ConfigError: they cannot be created.
        """
        self._controller, self._values = controller, values
        self._waiting: list[BehaviorChange] = []
        controller.set_behaviors(list(declared_specs(values, values["behaviors"]).values()))

    @property
    def _specs(self) -> list[BehaviorSpec]:
        return [active.spec for active in self._controller.behaviors]

    @property
    def waits(self) -> bool:
        """Whether changes are pending until their sample."""
        return bool(self._waiting)

    def begin(self) -> None:
        """Recreate every behavior, without state from an earlier motion, and discard pending changes."""
        self._waiting = []
        self.renew()

    def renew(self) -> None:
        """Recreate every behavior, without state from an earlier motion."""
        specs = self._specs
        self._controller.set_behaviors([])
        self._controller.set_behaviors(specs)

    def take(self, change: BehaviorChange, answered: int) -> str:
        """Apply a change, or keep it until its sample arrives; return a remark, which may be empty.

        Args:
            change: requested change.
            answered: stamp of the newest processed sample [ns]; -1: none.

        Raises:
            ConfigError: the change is not possible; nothing changes.
        """
        if change.stamp == 0 or change.stamp <= answered:
            self._carry_out(change)
            return ""
        if len(change.specs) > MOST_BEHAVIORS:
            raise ConfigError(f"{len(change.specs)} behaviors are too many: at most {MOST_BEHAVIORS} take part")
        for spec in change.specs:  # report at once what can be checked now
            _made(spec, self._controller)
        if len(self._waiting) >= MOST_WAITING:
            raise ConfigError(f"{MOST_WAITING} behavior sets wait for their stamps already")
        self._waiting.append(change)
        self._waiting.sort(key=lambda waiting: waiting.stamp)  # stable: changes of one stamp stay in order
        ahead = "" if answered < 0 else f", {(change.stamp - answered) * 1e-9:.3f} s after the newest sample"
        return f"waits for its stamp{ahead}"

    def due(self, stamp: int) -> list[str]:
        """Apply the changes that waited for a sample of this stamp [ns]; return the reasons for rejected changes."""
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
                raise ConfigError(f"behavior '{name}' cannot be removed; there is: {', '.join(present) or 'none'}")
            del present[name]
        self._set(list((present | {spec.name: spec for spec in change.specs}).values()))

    def _set(self, specs: Sequence[BehaviorSpec]) -> None:
        if len(specs) > MOST_BEHAVIORS:
            raise ConfigError(f"{len(specs)} behaviors are too many: at most {MOST_BEHAVIORS} take part")
        try:
            self._controller.set_behaviors(specs)
        except FlexarmError:
            raise
        except Exception as error:  # a defect in a behavior of another package rejects the change
            raise ConfigError(f"behaviors cannot be set: {type(error).__name__}: {error}") from error

    def change(self, values: dict[str, Any]) -> None:
        """Apply changed parameters to the active behaviors; ``behaviors`` adds and removes behaviors.

        Raises:
            ConfigError: a change is not possible, or a behavior set has given the name another kind; nothing changes.
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
                continue  # takes effect when the behavior becomes active
            if spec.kind != values[f"{name}.kind"]:
                raise ConfigError(f"behavior '{name}' is now of kind '{spec.kind}', by a set: retune it by a set")
            specs[name] = BehaviorSpec(name, spec.kind, {**spec.settings, setting: value})
        self._set(list(specs.values()))
        self._values = values


def _made(spec: BehaviorSpec, controller: BehaviorImpedanceController) -> None:
    """Create a behavior only to check that this is possible."""
    try:
        make_behavior(spec, controller.arm)
    except FlexarmError:
        raise
    except Exception as error:  # a defect in a behavior of another package
        raise ConfigError(f"behavior '{spec.name}': {type(error).__name__}: {error}") from error
