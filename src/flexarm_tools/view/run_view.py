"""RunView: recorded runs on the page, with a time slider, play and pause."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from flexarm_core.errors import FlexarmError, InputError
from flexarm_tools.recording.recording import Recording, load_recording
from flexarm_tools.view.page import TRAIL_POINTS, ViewPage
from flexarm_tools.view.plots import PlotColumn
from flexarm_tools.view.run_files import run_robot, run_surroundings
from flexarm_tools.view.run_signals import run_sample, run_signals

SPEEDS = ("1/20", "1/5", "1/2", "1", "2", "5")
SHOWN_EVENTS = 6
MARK_PERIOD = 0.2  # [s] wall time between two updates of the time line in the plots


class RunView:
    """Plays recorded runs."""

    def __init__(
        self, page: ViewPage, runs: Mapping[str, Path], robot: Path | None, arguments: Mapping[str, str]
    ) -> None:
        """Add the controls and show the first run.

        Args:
            page: the page.
            runs: recordings by name.
            robot: robot file; None: the one kept beside each recording.
            arguments: xacro arguments.
        """
        self._page, self._runs, self._robot, self._arguments = page, dict(runs), robot, dict(arguments)
        gui = page.server.gui
        page.parameters.remove()
        with page.controls:
            self._run = gui.add_dropdown("Recording", tuple(self._runs), visible=len(self._runs) > 1)
            self._time = gui.add_slider("Time [s]", 0.0, 1.0, 0.001, 0.0)
            self._play = gui.add_button("Play")
            self._speed = gui.add_dropdown("Speed", SPEEDS, initial_value="1")
            self._again = gui.add_checkbox("Over and over", True)
            self._events = gui.add_markdown("")
        self._play.on_click(lambda _: self.toggle())
        self._playing = False
        self._shown = ""
        self._recording: Recording | None = None
        self._plots: PlotColumn | None = None
        self._now = self._last = self._marked = 0.0
        self._drawn: tuple[object, ...] = ()
        self._trail: tuple[object, ...] = ()

    def step(self) -> None:
        """Update the page; called about 30 times per second."""
        if self._shown != self._run.value:
            self._load(str(self._run.value))
        if self._recording is None:
            return
        self._move_on(self._recording)
        tick = int(np.clip(np.searchsorted(self._recording.time, self._now), 0, self._recording.ticks - 1))
        # always redrawn: the checkboxes of the page may have changed
        self._page.show(run_sample(self._recording, tick))
        if self._trail != (self._shown, self._page.trail_shown):
            self._trail = (self._shown, self._page.trail_shown)
            ticks = np.unique(np.linspace(0, self._recording.ticks - 1, TRAIL_POINTS).astype(int))
            self._page.show_trail([run_sample(self._recording, int(tick)) for tick in ticks])
        self._tell_events(self._recording)
        wall = time.monotonic()
        if self._plots is not None and self._drawn != (self._now,) and wall - self._marked > MARK_PERIOD:
            self._drawn, self._marked = (self._now,), wall
            self._plots.mark(self._now)

    def toggle(self) -> None:
        """Start or pause playing."""
        self._playing = not self._playing
        self._play.label = "Pause" if self._playing else "Play"

    def show(self, name: str) -> None:
        """Select another recording."""
        self._run.value = name

    @property
    def now(self) -> float:
        """Displayed instant [s]."""
        return self._now

    def _move_on(self, recording: Recording) -> None:
        """Update the time from the slider and, while playing, from the clock."""
        wall = time.monotonic()
        if abs(self._time.value - self._now) > 0.0015:  # the user moved it: its value is rounded to 1 ms
            self._now = float(self._time.value)
        if self._playing:
            upper, whole = str(self._speed.value).partition("/")[::2]
            self._now += (wall - self._last) * float(upper) / float(whole or 1.0)
            end = float(recording.time[-1])
            if self._now >= end:
                self._now = float(recording.time[0]) if self._again.value else end
                if not self._again.value:
                    self.toggle()
            self._time.value = round(self._now, 3)
        self._last = wall

    def _tell_events(self, recording: Recording) -> None:
        """Show the last events before the displayed instant."""
        past = [event for event in recording.events if event.time <= self._now][-SHOWN_EVENTS:]
        text = "\n\n".join(f"`{event.time:.3f} s` {event.source}: {event.message}" for event in reversed(past))
        if self._events.content != text:
            self._events.content = text

    def _load(self, name: str) -> None:
        self._shown, self._recording = name, None
        try:
            recording = load_recording(self._runs[name])
            description, tool = run_robot(self._runs[name], self._robot, self._arguments)
            lacking = {*recording.joint_names, *recording.elastic_names} - set(description.joints)
            if lacking:
                raise InputError(
                    f"robot '{description.name}' has no joint {', '.join(sorted(lacking))} of run '{name}'"
                )
            self._page.set_robot(description, tool)
            self._page.surround(run_surroundings(self._runs[name], description))
        except FlexarmError as error:
            self._page.alarm(str(error))
            return
        self._page.alarm("")
        self._recording, self._trail, self._drawn = recording, (), ()
        begin, end = float(recording.time[0]), float(recording.time[-1])
        self._time.max, self._time.min = max(end, begin + 1e-3), begin
        self._now = self._time.value = begin
        signals = run_signals(recording)
        self._plots = self._page.set_plots([spec for spec, _ in signals], (begin, max(end, begin + 1e-3)))
        for spec, values in signals:
            self._plots.set(spec.title, recording.time, values)
        self._page.title(f"**{name}** · {description.name}, {end - begin:.3g} s recorded")
        first = run_sample(recording, 0)
        self._page.look(first)
        deflection = recording.deflection[np.isfinite(recording.deflection)]
        if deflection.size and self._page.arm is not None:
            placed = [pose[:3, 3] for pose in self._page.arm.place(first, 0.0).values()]
            size = float(np.linalg.norm(np.ptp(placed, axis=0)))
            self._page.choose_factor(float(np.abs(deflection).max()), size)
