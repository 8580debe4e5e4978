"""ParameterControls: a slider, checkbox or field on the page for every parameter that can be changed now."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import viser

from flexarm_core.errors import InputError
from flexarm_tools.view.live_parameter import LiveParameter

REACH = 4.0  # without an upper bound: range of a slider relative to its initial value
STEPS = 200  # approximate number of steps of a slider of floats

Change = Callable[[LiveParameter, Any, Callable[[], None]], None]


class ParameterControls:
    """Folders of controls, one per node."""

    def __init__(self, gui: viser.GuiApi, tab: viser.GuiTabHandle, change: Change, say: Callable[[str], None]) -> None:
        """Start without nodes.

        Args:
            gui: GUI of the page.
            tab: tab for the folders.
            change: called to set a parameter, with a function that restores the control if the node rejects the value.
            say: called with a message about an invalid entry.
        """
        self._gui, self._tab, self._change, self._say = gui, tab, change, say
        self._folders: dict[str, tuple[viser.GuiFolderHandle, tuple[LiveParameter, ...]]] = {}
        with tab:
            self._none = gui.add_markdown("No node with parameters that may change now.")

    def show(self, nodes: Mapping[str, tuple[LiveParameter, ...]]) -> None:
        """Update the folders to the current nodes."""
        for name in [name for name, (_, shown) in self._folders.items() if nodes.get(name) != shown]:
            self._folders.pop(name)[0].remove()
        for name, parameters in nodes.items():
            if parameters and name not in self._folders:
                with self._tab:
                    folder = self._gui.add_folder(name.lstrip("/"), expand_by_default=False)
                with folder:
                    for parameter in parameters:
                        self._add(parameter)
                self._folders[name] = (folder, parameters)
        self._none.visible = not self._folders

    def _add(self, parameter: LiveParameter) -> None:
        handle, state = self._control(parameter), [parameter.value]

        def put_back(value: Any) -> None:
            state[0] = value
            handle.value = _entry(parameter, value)

        def entered(event: viser.GuiEvent) -> None:
            if event.client is None:  # set by the program, not by a user
                return
            before = state[0]
            try:
                state[0] = parameter.parse(handle.value)
            except InputError as error:
                self._say(str(error))
                put_back(before)
                return
            self._change(parameter, state[0], lambda: put_back(before))

        handle.on_update(entered)

    def _control(self, parameter: LiveParameter) -> Any:
        gui, name, value = self._gui, parameter.name, _entry(parameter, parameter.value)
        hint = parameter.description
        if parameter.kind == "bool":
            return gui.add_checkbox(name, value, hint=hint)
        if parameter.choices:
            choices = parameter.choices if value in parameter.choices else (value, *parameter.choices)
            return gui.add_dropdown(name, choices, initial_value=value, hint=hint)
        if parameter.kind in ("string", "double[]"):
            return gui.add_text(name, value, hint=hint)
        span = slider_span(parameter)
        if span is None:
            return gui.add_number(name, value, hint=hint)
        low, high = span
        step = 1 if parameter.kind == "int" else 10.0 ** math.floor(math.log10((high - low) / STEPS))
        return gui.add_slider(name, low, high, step, value, hint=hint)


def slider_span(parameter: LiveParameter) -> tuple[float, float] | None:
    """Return the ends of a slider; None if bounds and value do not determine them, so that a number field is needed."""
    value = float(parameter.value)
    if not math.isfinite(value):
        return None
    low = parameter.lower if parameter.lower is not None and math.isfinite(parameter.lower) else None
    high = parameter.upper if parameter.upper is not None and math.isfinite(parameter.upper) else None
    if low is None:
        return None
    if high is None:
        high = low + REACH * (value - low) if value > low else low + 1.0
    low, high = min(low, value), max(high, value)
    if parameter.kind == "int":
        return int(low), max(int(high), int(low) + 1)
    return (low, high) if high > low else None


def _entry(parameter: LiveParameter, value: Any) -> Any:
    """Return the entry that a control shows for a value."""
    return ", ".join(f"{item:g}" for item in value) if parameter.kind == "double[]" else value
