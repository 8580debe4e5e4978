"""LiveView: display of a running graph on the page."""

from __future__ import annotations

import math
import time
from collections import deque
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.context import Context

from flexarm_core.errors import FlexarmError
from flexarm_core.flexible_dynamics.arm_sample import ArmSample
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import Array
from flexarm_nodes.messages.conversions import stamp_to_nanoseconds
from flexarm_nodes.node import topics
from flexarm_tools.graph.graph import GraphError
from flexarm_tools.scenario.surroundings import BEHAVIORS, obstacle_shapes, surface_shapes
from flexarm_tools.view.live_graph import PLANT, LiveGraph
from flexarm_tools.view.live_inputs import LiveInputs
from flexarm_tools.view.live_signals import LiveSignals, live_sample
from flexarm_tools.view.marker_scene import MarkerScene
from flexarm_tools.view.page import ViewPage
from flexarm_tools.view.parameter_controls import ParameterControls
from flexarm_tools.view.plots import PlotColumn
from flexarm_tools.view.softest_push import softest_push

KEPT = 20.0  # [s] simulation time shown by plots and trails
MOST_SAMPLES = 600  # largest number of samples in this time
PLOT_PERIOD = 0.25  # [s] wall time between two updates of plots and trails
SILENT_AFTER = 1.0  # [s] wall time
PAUSE_AHEAD = 0.1  # [s] simulation time from the request for a pause to the pause
PAUSE_TRIES = 5


class LiveView:
    """Displays a graph that may start, change and end at any time.

    Attributes:
        page: the page.
        graph: access to the nodes.
        sample: latest state of the arm, None before the first.
        samples: samples of the last KEPT seconds.
    """

    def __init__(self, page: ViewPage, namespace: str = "") -> None:
        """Add the controls and subscribe to the topics of a namespace; empty: the root."""
        self.page = page
        self._context = Context()
        rclpy.init(context=self._context, signal_handler_options=rclpy.SignalHandlerOptions.NO)
        # never spun: its messages are polled at the page's rate
        usual: dict[str, Any] = {"context": self._context, "start_parameter_services": False, "namespace": namespace}
        self._listener = rclpy.create_node("flexarm_view", **usual)
        self._asker = rclpy.create_node("flexarm_view_asker", **usual)
        self._inputs = LiveInputs(self._listener)
        self.graph = LiveGraph(self._asker, self._context, page.say)
        gui = page.server.gui
        with page.controls:
            self._pause = gui.add_button("Pause the simulation", disabled=True)
            with gui.add_folder("Push"):
                self._link = gui.add_dropdown("Link", ("-",))
                self._force_entry = gui.add_vector3("Force [N]", (0.0, 50.0, 0.0), step=1.0)
                self._duration = gui.add_number("Duration [s]", 0.1, min=0.001, step=0.01)
                self._push = gui.add_button("Push", disabled=True)
            hint = "what nodes draw for RViz: forces and obstacles of behaviors, reactionless paths, joint torques"
            self._wants_markers = gui.add_checkbox("Markers of nodes", True, hint=hint)
        with page.parameters:
            gui.add_button("Read again").on_click(lambda _: self.graph.read_again())
        self._controls = ParameterControls(gui, page.parameters, self.graph.change, page.say)
        self._pause.on_click(lambda _: self.graph.do(self.toggle_pause))
        self._push.on_click(lambda _: self.graph.do(self.push))
        self._resume_at: float | None = None
        self._published = ""
        self._tried: tuple[str, str] = ("", "")
        self._description: RobotDescription | None = None
        self._markers: MarkerScene | None = None
        self._around: dict[str, dict[str, Any]] | None = None
        self._signals: LiveSignals | None = None
        self._plots: PlotColumn | None = None
        self.samples: deque[ArmSample] = deque(maxlen=MOST_SAMPLES)
        self.sample: ArmSample | None = None
        self._values: deque[tuple[float, dict[str, Array]]] = deque(maxlen=MOST_SAMPLES)
        self._drawn = 0.0

    def step(self) -> None:
        """Update the page; called about 30 times per second."""
        self._inputs.take()
        self._follow_diagnostics()
        self._follow_robot()
        self._controls.show(self.graph.nodes)
        simulated = self.graph.has(PLANT)
        for button in (self._pause, self._push):
            if button.disabled == simulated:
                button.disabled = not simulated
        if self._description is None or self.page.arm is None:
            self.page.alarm(self._waits_for("a robot description", topics.ROBOT_DESCRIPTION))
            return
        sample = live_sample(self._inputs, self.page.arm)
        if sample is None:
            self.page.alarm(self._waits_for("the joints", topics.JOINT_STATES))
            return
        self.sample = sample
        self._warn(sample, self._description)
        self._keep(sample)
        self.page.show(sample)
        self._show_around(self._description)
        if time.monotonic() - self._drawn > PLOT_PERIOD:
            self._drawn = time.monotonic()
            self._draw_plots()
            self.page.show_trail(self.samples)

    def close(self) -> None:
        """Destroy the nodes of the view."""
        self.graph.close()
        self._listener.destroy_node()
        self._asker.destroy_node()
        rclpy.try_shutdown(context=self._context)

    # What the graph says ----------------------------------------------------------------------------------------------

    def _follow_diagnostics(self) -> None:
        for status in self._inputs.diagnostics():
            if status.level != DiagnosticStatus.OK:
                word = "warning" if status.level == DiagnosticStatus.WARN else "error"
                self.page.say(f"{status.name}: {word}: {status.message}")

    def _follow_robot(self) -> None:
        """Show the robot of the topic; if it is silent, as in the suite's own runs, that of the plant's parameter."""
        for text in self._inputs.descriptions():
            self._published = text
        wanted = (self._published or self.graph.description, self.graph.tool_frame)
        if not wanted[0] or wanted == self._tried:
            return
        self._tried = wanted
        try:
            description = parse_robot_description(wanted[0], massless=True)
            self.page.set_robot(description, wanted[1] if wanted[1] in description.links else "")
        except FlexarmError as error:
            self.page.say(f"robot description: {error}")
            return
        self._description, self._around = description, None
        assert self.page.frames is not None
        self._markers = MarkerScene(self.page.server, self.page.frames)
        self._inputs.listen_to_markers({})  # subscribe again: latched markers are needed for the new scene
        self._inputs.joints = (*description.actuated, *(joint.name for joint in description.elastic))
        sensors = description.force_torque_sensors
        self._inputs.listen_to_wrenches(tuple(topics.wrench_topic(name) for name in sensors))
        self._link.options = tuple(name for name in description.links if name != description.root)
        self._link.value = description.base_frame
        self._force_entry.value = softest_push(description)
        self._forget()
        self.page.title(f"**{description.name}**, live")

    def _waits_for(self, what: str, topic: str) -> str:
        nodes = ", ".join(name.lstrip("/") for name in self.graph.nodes) or "none"
        return f"Waiting for {what}: topic {topic} is silent. Nodes seen: {nodes}."

    def _warn(self, sample: ArmSample, description: RobotDescription) -> None:
        state = self._inputs.newest(topics.JOINT_STATES, SILENT_AFTER)
        lacking = [name for name in description.actuated if name not in sample.position]
        if state is None and self._resume_at is None:
            self.page.alarm(f"Topic {topics.JOINT_STATES} is silent: the arm stands as it was seen last.")
        elif lacking:
            self.page.alarm(f"Topic {topics.JOINT_STATES} lacks joint {', '.join(lacking)}: drawn at zero.")
        else:
            self.page.alarm("")

    def _show_around(self, description: RobotDescription) -> None:
        """Show surfaces and obstacles from the parameters of nodes, and the markers that nodes publish."""
        parameters = self.graph.parameters
        if parameters is not self._around:
            self._around = parameters
            # a behavior node publishes its obstacles as markers, including changes
            silent = [values for name, values in parameters.items() if name != self.graph.full_name(BEHAVIORS)]
            self.page.surround(
                {
                    description.root: list(surface_shapes(parameters.get(self.graph.full_name(PLANT), {}))),
                    description.base_frame: [shape for values in silent for shape in obstacle_shapes(values)],
                }
            )
        if self._markers is not None:
            wanted = self.graph.marker_topics if self._wants_markers.value else {}
            self._inputs.listen_to_markers(wanted)
            for topic, message in self._inputs.markers().items():
                self._markers.take(topic, message)
            self._markers.keep(wanted)

    # Drawing ----------------------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        self.samples.clear()
        self._values.clear()
        self._signals = None

    def _keep(self, sample: ArmSample) -> None:
        """Add a new sample; a step back in time indicates another run."""
        if self.samples and sample.time < self.samples[-1].time - 1e-9:
            self._forget()
        if self.samples and sample.time - self.samples[-1].time < KEPT / MOST_SAMPLES:
            return
        if self._signals is None and self.page.arm is not None:
            self._signals, self._plots = LiveSignals(self.page.arm, self._inputs), None
            self.page.look(sample)
        if self._signals is None:
            return
        if self._signals.changed(sample) or self._plots is None:
            self._plots = self.page.set_plots(self._signals.specs, (-KEPT, 0.0))
        self.samples.append(sample)
        self._values.append((sample.time, self._signals.values(sample)))
        while self.samples[0].time < sample.time - KEPT:
            self.samples.popleft()
            self._values.popleft()

    def _draw_plots(self) -> None:
        if self._plots is None or self._signals is None or len(self._values) < 2:
            return
        before_now = np.array([stamp for stamp, _ in self._values]) - self._values[-1][0]
        for spec in self._signals.specs:
            unknown = np.full(len(spec.labels), math.nan)
            rows = [values.get(spec.title, unknown) for _, values in self._values]
            if all(len(row) == len(spec.labels) for row in rows):
                self._plots.set(spec.title, before_now, np.array(rows))

    # Acting: in the thread of the graph -------------------------------------------------------------------------------

    def toggle_pause(self) -> None:
        """Pause the simulation, or continue it to its previous end time.

        Raises:
            GraphError: no simulation is running, or it does not answer.
        """
        if self._resume_at is not None:
            until, self._resume_at = self._resume_at, None
            self._pause.label = "Pause the simulation"
            self.graph.advance(PLANT, until, 3.0)
            self.page.say("the simulation goes on")
            return
        self._resume_at = self._stop_plant()
        self._pause.label = "Go on"

    def _stop_plant(self) -> float:
        """Let the plant stop at a time shortly ahead; return its previous end time [s]."""
        refusal: GraphError | None = None
        for _ in range(PAUSE_TRIES):
            status = self._inputs.newest(topics.SIMULATION_STATUS, SILENT_AFTER)
            if status is None:
                break
            now = stamp_to_nanoseconds(status.header.stamp) * 1e-9
            try:
                self.graph.advance(PLANT, min(now + PAUSE_AHEAD, status.until), 3.0)
            except GraphError as error:  # it has already passed that time
                refusal = error
                continue
            self.page.say(f"the simulation pauses at {min(now + PAUSE_AHEAD, status.until):.3f} s")
            return float(status.until)
        raise refusal or GraphError("the simulation does not run: there is nothing to pause")

    def push(self) -> None:
        """Apply the push that is set on the page.

        Raises:
            GraphError: there is no simulated arm, or it rejected the push.
        """
        x, y, z = self._force_entry.value
        link = str(self._link.value)
        start = self.graph.push(link, (x, y, z), float(self._duration.value))
        self.page.say(f"pushed {link} with {x:g} {y:g} {z:g} N from {start:.3f} s", every=0.0)
