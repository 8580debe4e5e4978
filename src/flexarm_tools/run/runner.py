"""Runner: starts the nodes of a scenario as separate processes, runs the scenario and records it."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import rclpy
from rclpy.context import Context
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from std_msgs.msg import String

from flexarm_core.errors import ConfigError, FlexarmError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState
from flexarm_nodes.node import topics
from flexarm_nodes.node.transport import avoid_shared_memory, stay_on_this_machine
from flexarm_tools.bag.recorder import McapRecorder
from flexarm_tools.graph.graph import Graph, GraphError, running_nodes
from flexarm_tools.graph.quiet_node import listening_node
from flexarm_tools.graph.tapped_topic import TAKE_PERIOD
from flexarm_tools.graph.topic_choice import TopicChoice
from flexarm_tools.process.domain import TakenDomainError, alone_in_domain, other_domain
from flexarm_tools.process.end_request import EndRequest, InterruptedRunError
from flexarm_tools.process.processes import NodeDiedError, NodeProcess, end_all
from flexarm_tools.process.progress import Progress
from flexarm_tools.recording.recorder import Outcome, Recorder
from flexarm_tools.recording.recording import Recording, RunEvent
from flexarm_tools.run.composition import LOCKSTEP_WAIT, compose_simulation
from flexarm_tools.run.live_frames import LiveFrames
from flexarm_tools.run.parameter_file import plain_value, write_parameter_file
from flexarm_tools.run.stall_watch import Stall, StallWatch
from flexarm_tools.scenario.scenario import PLANT, EventSpec, NodeSpec, Scenario

START_TIMEOUT = 600.0  # [s] a busy machine needs long to start five Python processes
ASLEEP_AT_START = 60.0  # [s] wall time for which an awaited node may be idle
MOST_RELEASES = 5  # number of states per run that may stay unanswered
QUIET_TIME = 0.3  # [s] wall time without a message after which no more are expected
LAST_ANSWER = LOCKSTEP_WAIT  # [s] further wall time for nodes that lack the last answer: they may wait so long
CATCHES_UP = 3.5  # [s] the same for nodes that lack several: they get a processor, or lost messages are sent again
DISCOVERY_TIMEOUT = 30.0  # [s] wall time for the recorder and the publishers to discover each other
ARRIVAL_TIMEOUT = 10.0  # [s] wall time, longer than the middleware needs to resend a lost message (3 s)
SETTLE_TIME = 0.5  # [s] wall time for peers to discover each other before the first tick


class StalledRunError(FlexarmError):
    """The run makes no more progress."""


class Runner:
    """Executes one run of one scenario."""

    def __init__(
        self, scenario: Scenario, folder: Path, progress: Progress, mcap: Path | None = None, only_times: bool = False
    ) -> None:
        """Prepare a run.

        Args:
            scenario: what to run.
            folder: receives parameter files and logs.
            progress: shows the progress of the run.
            mcap: file that receives every message of the graph; an existing file is replaced. None: no file is written.
            only_times: record only the latencies of the commands.
        """
        self._scenario, self._mode, self._mcap, self._only_times = scenario, scenario.mode, mcap, only_times
        self._folder, self._progress = folder, progress
        robot = scenario.true_robot
        self._model = ArmModel(robot.description, robot.tool_frame, scenario.gravity)
        self._processes: dict[str, NodeProcess] = {}
        self._listener: McapRecorder | None = None
        self._frames: LiveFrames | None = None
        self._events: list[RunEvent] = []
        self._deaths: list[str] = []
        self._ended_early = ""
        self._releases = 0
        self._awaited: NodeProcess | None = None  # has to act next; it has been idle since _awaited_since
        self._awaited_work, self._awaited_since = 0.0, 0.0

    def run(self) -> Recording:
        """Run the scenario, always end every process that was started, and return the recording.

        Raises:
            FlexarmError: the run could not be completed; the message gives the reason.
        """
        nodes = compose_simulation(self._scenario).nodes
        self._folder.mkdir(parents=True, exist_ok=True)
        stay_on_this_machine()
        avoid_shared_memory()
        os.environ["ROS_LOG_DIR"] = str(self._folder / "ros")
        context = Context()
        with EndRequest() as self._end, alone_in_domain():
            rclpy.init(context=context, signal_handler_options=rclpy.SignalHandlerOptions.NO)
            node = rclpy.create_node("flexarm_runner", context=context)
            executor = EventsExecutor(context=context)
            executor.add_node(node)
            recorder: Recorder | None = None
            try:
                self._refuse_company(running_nodes(node, executor))
                recorder = Recorder(node, self._model, self._mode == "real_time", self._only_times)
                recorder.last_tick = self._scenario.ticks - 1
                graph = Graph(node, executor, partial(self._check, recorder))
                self._describe(node)
                self._listen(context)
                self._start(nodes)
                self._bring_up(graph, recorder)
                self._watch = StallWatch(node, self._processes.values())
                ticks = self._lead_to_the_end(graph, recorder)
                self._wait_for_the_last_samples(graph, recorder, ticks)
                self._say_what_was_not_heard(ticks)
                recording = recorder.finish(self._outcome(ticks))
            finally:
                end_all(self._processes.values())
                try:
                    self._end_listening()
                finally:
                    executor.shutdown()
                    if recorder is not None:
                        recorder.close()
                    node.destroy_node()
                    rclpy.try_shutdown(context=context)
            return replace(recording, ended_early=self._ended_early)

    def _refuse_company(self, names: set[str]) -> None:
        company = names & {PLANT, *(spec.name for spec in self._scenario.nodes)}
        if company:
            raise TakenDomainError(f"node {', '.join(sorted(company))} already runs in {other_domain()}")

    # Start ------------------------------------------------------------------------------------------------------------

    def _start(self, nodes: tuple[NodeSpec, ...]) -> None:
        for node in nodes:
            file = write_parameter_file(node, self._folder)
            arguments = ["--ros-args", "--params-file", str(file), "-r", f"__node:={node.name}"]
            for source, target in node.remappings.items():
                arguments += ["-r", f"{source}:={target}"]
            log = self._folder / f"{node.name}.log"
            self._processes[node.name] = NodeProcess(node.name, node.package, node.executable, arguments, log)

    def _describe(self, node: Node) -> None:
        """Publish the robot description, for recordings, views and RViz, and its frames unless they are recorded here.

        A recording has those of its stamps, not those that came in time.
        """
        publisher = node.create_publisher(String, topics.ROBOT_DESCRIPTION, topics.LATCHED)
        text = self._scenario.true_robot.description.text
        publisher.publish(String(data=text))
        if self._mcap is None:
            self._frames = LiveFrames(node, text)

    def _listen(self, context: Context) -> None:
        """Open the MCAP file before any node publishes.

        Its recorder lives in this process, so that the run begins when it hears every topic, and ends when it has
        what was sent.
        """
        if self._mcap is not None:
            self._mcap.parent.mkdir(parents=True, exist_ok=True)
            self._mcap.unlink(missing_ok=True)
            self._listener = McapRecorder(listening_node("flexarm_recorder", context), self._mcap, TopicChoice())

    def _end_listening(self) -> None:
        """Close the MCAP file, after the nodes, so that it holds how they end."""
        if self._listener is not None:
            try:
                self._listener.finish()
            except ConfigError as error:
                self._ended_early = self._ended_early or str(error)

    def _bring_up(self, graph: Graph, recorder: Recorder) -> None:
        for name, process in self._processes.items():
            self._await(process)
            graph.wait_for_node(name, START_TIMEOUT)
        if self._listener is not None:  # a node says each of its transitions once
            self._await(None)
            self._discover(graph)
        for transition in ("configure", "activate"):
            for name, process in reversed(self._processes.items()):  # subscribers are ready before publishers
                self._await(process)
                try:
                    graph.transition(name, transition, START_TIMEOUT)
                except GraphError as error:
                    raise ConfigError(f"{error}\n{process.last_words()}") from error
        self._await(None)
        known = {name for name, process in self._processes.items() if process.package == "flexarm"}
        self._discover(graph, lambda: recorder.knows(known))
        for process in self._processes.values():
            process.note_shared_memory()

    def _discover(self, graph: Graph, known: Callable[[], bool] = lambda: True) -> None:
        """Wait until every publisher is heard, and until publishers have discovered who hears them."""
        with contextlib.suppress(GraphError):  # otherwise missing samples are counted
            graph.spin_until(
                lambda: known() and (self._listener is None or self._listener.hears_all),
                DISCOVERY_TIMEOUT,
                "discovery by the recorder",
            )
        settled = time.monotonic() + SETTLE_TIME
        graph.spin_until(lambda: time.monotonic() > settled, 2 * SETTLE_TIME, "settling")

    def _await(self, process: NodeProcess | None) -> None:
        """Set the process that has to act next, and restart the time for which it may be idle."""
        self._awaited, self._awaited_since = process, time.monotonic()

    def _check(self, recorder: Recorder) -> None:
        """Take new samples; raise if the run was interrupted, a node died or the awaited process is idle too long."""
        recorder.take(TAKE_PERIOD)
        if self._listener is not None:
            self._listener.poll()
        if self._frames is not None:
            self._frames.poll()
        if self._end.made and not self._ended_early:
            self._ended_early = f"interrupted by {self._end.made}"
            raise InterruptedRunError(self._ended_early)
        self._check_processes()
        if self._awaited is not None:
            (runs, work), now = self._awaited.work(), time.monotonic()
            if runs or work != self._awaited_work:
                self._awaited_work, self._awaited_since = work, now
            elif now - self._awaited_since > ASLEEP_AT_START:
                raise GraphError(f"node '{self._awaited.name}' has done nothing for {ASLEEP_AT_START:g} s")

    def _check_processes(self) -> None:
        for process in self._processes.values():
            if process.died and process.name not in self._deaths:
                self._deaths.append(process.name)
                process.clean_up()
                raise NodeDiedError(
                    f"node '{process.name}' died with exit code {process.exit_code}\n{process.last_words()}"
                )

    # Lead -------------------------------------------------------------------------------------------------------------

    def _wait_for_the_last_samples(self, graph: Graph, recorder: Recorder, ticks: int) -> None:
        """Wait until the ground truth is complete and no message has arrived for a while.

        Nodes may still publish messages of the last tick. There is no wait after a run that ended early: the plant
        keeps running, and the messages of its last tick are not worth waiting for.
        """
        if self._ended_early:
            return
        count, quiet = -1, 0.0

        def settled() -> bool:
            nonlocal count, quiet
            listener = self._listener
            if (now := recorder.take() + (listener.count if listener else 0)) != count:
                count, quiet = now, time.monotonic() + QUIET_TIME
            behind = recorder.ticks_behind(listener.topics.values() if listener else ())
            patience = 0.0 if behind == 0 else LAST_ANSWER if behind == 1 else CATCHES_UP
            return recorder.complete(ticks) and time.monotonic() > quiet + patience

        with contextlib.suppress(
            GraphError, InterruptedRunError, NodeDiedError
        ):  # lost samples are counted by the recording
            try:
                graph.spin_until(settled, ARRIVAL_TIMEOUT, "arrival of every sample")
            except ConfigError as error:  # what was recorded by then is kept
                self._ended_early = str(error)

    def _say_what_was_not_heard(self, ticks: int) -> None:
        """Add an event if messages are absent from the MCAP file."""
        if self._listener is not None and (lost := self._listener.lost):
            words = f"messages that were sent and lost: {', '.join(f'{name} {count}' for name, count in lost.items())}"
            self._events.append(RunEvent(ticks / self._scenario.rate, "mcap recorder", "warn", words))

    def _lead_to_the_end(self, graph: Graph, recorder: Recorder) -> int:
        """Run the scenario as far as possible; return the number of completed ticks."""
        try:
            self._lead(graph, recorder)
        except (NodeDiedError, GraphError, StalledRunError, InterruptedRunError, ConfigError) as error:
            ticks = recorder.status.tick + 1 if recorder.status is not None else 0
            if ticks < 2:
                raise
            self._ended_early, *last_words = str(error).splitlines()
            self._progress.say(last_words)
            self._events.append(RunEvent(ticks / self._scenario.rate, "runner", "error", self._ended_early))
            return ticks
        return self._scenario.ticks

    def _lead(self, graph: Graph, recorder: Recorder) -> None:
        """Run to the end and apply the events on the way."""
        scenario = self._scenario
        if self._mode == "lockstep":
            for event in scenario.events:
                self._advance(graph, recorder, event.at)
                self._apply(graph, event)
            self._advance(graph, recorder, scenario.duration)
        else:
            graph.advance(PLANT, scenario.duration)
            for event in scenario.events:
                self._follow(graph, recorder, event.at)
                self._apply(graph, event)
            self._follow(graph, recorder, scenario.duration)

    def _advance(self, graph: Graph, recorder: Recorder, until: float) -> None:
        if until > 0.0:
            graph.advance(PLANT, until)
            self._follow(graph, recorder, until)

    def _follow(self, graph: Graph, recorder: Recorder, until: float) -> None:
        """Wait until the tick before ``until`` is complete; give up if the run stalls."""
        last, seen = round(until * self._scenario.rate) - 1, -2
        stale = recorder.status  # status from before the plant was advanced: its ``until`` is out of date

        def done() -> bool:
            nonlocal seen
            status = recorder.status
            tick = status.tick if status is not None else -1
            if tick != seen:
                seen = tick
                self._watch.moved()
                self._progress.show((tick + 1) / self._scenario.rate, self._scenario.duration)
            elif status not in (None, stale) and tick + 1 >= round(status.until * self._scenario.rate) < last + 1:
                self._watch.moved()  # another client has paused the simulation
            elif (stall := self._watch.look()) is not None:
                self._help_out(graph, recorder, stall, (tick + 1) / self._scenario.rate)
            return tick >= last

        graph.spin_until(done, float("inf"), "end of the run")

    def _help_out(self, graph: Graph, recorder: Recorder, stall: Stall, now: float) -> None:
        """Let the plant continue if the node that should answer cannot; raise StalledRunError if that does not help."""
        problem = f"no command answers the state at {now:g} s: {self._watch.reason}"
        if stall is Stall.ABSENT and self._mode == "lockstep" and self._releases < MOST_RELEASES:
            self._releases += 1
            graph.go_on(PLANT)
            self._events.append(RunEvent(now, "runner", "warn", f"{problem}; the plant goes on without"))
            self._watch.moved()
            return
        errors = "; ".join(f"{event.source}: {event.message}" for event in recorder.errors())
        raise StalledRunError(f"the run stands still: {problem}; {errors or 'no node reported an error'}")

    def _apply(self, graph: Graph, event: EventSpec) -> None:
        if event.parameters:
            values = {key: plain_value(value) for key, value in event.parameters.items()}
            graph.set_parameters(event.node, values)
            change = ", ".join(f"{key} = {value}" for key, value in values.items())
        elif event.transition:
            graph.transition(event.node, event.transition)
            change = event.transition
        else:
            self._processes[event.node].kill()
            self._processes[event.node].clean_up()
            change = "killed"
        self._events.append(RunEvent(event.at, event.node, "info", change))

    def _outcome(self, ticks: int) -> Outcome:
        natural = natural_period(self._scenario, self._model)
        events, deaths = tuple(self._events), tuple(self._deaths)
        return Outcome(ticks, 1.0 / self._scenario.rate, natural, events, deaths, self._ended_early)


def natural_period(scenario: Scenario, model: ArmModel) -> float:
    """Return the natural period of the base where the arm starts, at rest [s]; NaN without elastic joints."""
    if not model.m:
        return float("nan")
    position = np.array(scenario.plant.get("initial_position", np.zeros(model.n)), dtype=float)
    return model.longest_period(ArmState(0, position, np.zeros(model.n), np.zeros(model.m), np.zeros(model.m)))


def run_scenario(
    scenario: Scenario,
    progress: Progress,
    keep_logs: Path | None = None,
    mcap: Path | None = None,
    only_times: bool = False,
) -> Recording:
    """Run a scenario and return its recording.

    Args:
        scenario: what to run.
        progress: shows the progress of the run.
        keep_logs: folder that receives parameter files and logs of the nodes, also after a failed run; None: they are
            deleted.
        mcap: file that receives every message of the graph; None: no file is written.
        only_times: in real time, record only the latencies of the commands and the diagnostics of the nodes.

    Raises:
        FlexarmError: the run could not be completed.
    """
    folder = Path(tempfile.mkdtemp(prefix="flexarm-"))
    try:
        return Runner(scenario, folder, progress, mcap, only_times).run()
    finally:
        if keep_logs is not None:
            shutil.copytree(folder, keep_logs, dirs_exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
