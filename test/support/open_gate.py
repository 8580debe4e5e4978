"""A gate that is none: what it lets pass, a campaign must find."""

from __future__ import annotations

from flexarm_core.types import ArmState
from flexarm_tools.faults.gate_under_test import GateUnderTest, Seen


class OpenGate(GateUnderTest):
    """A gate that lets everything pass and never stops."""

    @property
    def seen(self) -> Seen:
        return Seen("running", "", 0)

    def on_state(self, state, now, clock):
        answer = self._source(state) if self.loop and isinstance(state, ArmState) else None
        return None if answer is None else getattr(answer, self._mode)

    def on_reference(self, reference, now):
        return getattr(reference, self._mode)

    def on_tick(self, now, clock):
        return None

    def end(self, reason, now):
        return None

    def __init__(self, model, mode, rate, layout, answer):
        super().__init__(model, mode, rate, layout, answer)
        self._mode, self._source = mode, answer
