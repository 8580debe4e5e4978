"""Node simulated_plant: a simulated arm with the topics that ros2_control would offer (sim: Plant)."""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.clock import Clock as SystemClock
from rclpy.clock import ClockType
from rclpy.experimental import EventsExecutor
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from flexarm.msg import SimulationStatus, StrainState
from flexarm.srv import AdvanceSimulation, ApplyPush
from flexarm_core.errors import ConfigError, FlexarmError, InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_core.slope import LEAST_SPAN
from flexarm_core.types import Array
from flexarm_nodes.messages.conversions import joint_readings_form, wrench_form
from flexarm_nodes.messages.flexible import imu_form, strain_form
from flexarm_nodes.messages.form import SECOND, Form
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode
from flexarm_nodes.node.built_stage import Values
from flexarm_nodes.node.diagnostics import ERROR, OK, WARN
from flexarm_nodes.node.input.joint_commands import JointCommandReader
from flexarm_nodes.node.output.sender import Sender
from flexarm_nodes.node.ports import Input, Output, Ports, command_input, sensor_outputs
from flexarm_nodes.plant.ground_truth import GroundTruthOutput
from flexarm_nodes.plant.parameters import (
    JOINT_COMMANDS,
    PLANT_PARAMETERS,
    build_plant,
    plant_config,
    plant_description,
    plant_drives,
    plant_friction,
    plant_surfaces,
)
from flexarm_sim.backend import PlantDivergedError
from flexarm_sim.backends import make_backend
from flexarm_sim.measurement import Measurement
from flexarm_sim.plant import Plant
from flexarm_sim.pushes import Push

QUIET_TIME = 0.05  # [s] wall time without a command after which no late command is expected
SAY_AFTER = 2.0  # [s] wall time without a command after which the node reports that it waits for a command
LEAST_SPIN = 1e-4  # [s] shortest time per tick for callbacks, even if the machine is too slow for real time
REPEAT_TIME_AFTER = 0.1  # [s] wall time between repeats of /clock while the simulation stands still
STATUS_PERIOD = 10_000_000  # [ns] simulation time between statuses outside lockstep
SETTLED = 3  # ticks
REPEAT_STATE_AFTER = 0.25  # [s] wall time between repeats of an unanswered state: a peer may be discovered late


class SimulatedPlant(ArmNode):
    """Takes commands and publishes sensor readings; ground truth is published on other topics, for evaluation only."""

    PARAMETERS = PLANT_PARAMETERS
    READS_JOINTS = False  # nobody else says where they are: they stay where they are told

    @staticmethod
    def ports(values: Values, description: RobotDescription, tool: str) -> Ports:
        """Return the topics that the node uses with these parameters."""
        outputs = [
            Output(topics.CLOCK, "Clock"),
            Output(topics.JOINT_STATES, "JointState"),
            Output(topics.SIMULATION_STATUS, "SimulationStatus"),
            Output(topics.TRUE_JOINT_STATES, "JointState"),
            Output(topics.TRUE_TOOL_POSE, "PoseStamped"),
            Output(topics.TRUE_TOOL_POSE_IN_BASE, "PoseStamped"),
            *sensor_outputs(description),
        ]
        if description.flexible_links or description.elastic:
            outputs.append(Output(topics.TRUE_FLEXIBLE_STATE, "FlexibleState"))
        if values["surfaces.names"]:
            outputs.append(Output(topics.TRUE_CONTACT_WRENCH, "WrenchStamped"))
        if any(value for name, value in values.items() if name.startswith("friction.")):
            outputs.append(Output(topics.TRUE_JOINT_FRICTION, "JointState"))
        by_joints = Input(topics.JOINT_COMMANDS, "JointState", because="command_source 'joint_commands'")
        commands = by_joints if values["command_source"] == "joint_commands" else command_input(values["command_mode"])
        return Ports((commands,), tuple(outputs))

    def __init__(self) -> None:
        """Create the topics and services that do not depend on the robot."""
        super().__init__("simulated_plant")
        self._clock_sender = Sender(self, Clock, topics.CLOCK, topics.CONTROL)
        self._joint_states = Sender(self, JointState, topics.JOINT_STATES, topics.CONTROL)
        self._status = Sender(self, SimulationStatus, topics.SIMULATION_STATUS, topics.EVERY_SAMPLE)
        self._truth = GroundTruthOutput(self)
        self._commands: Any = None  # the subscription
        steady = SystemClock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(REPEAT_TIME_AFTER, self._repeat_time, clock=steady)
        self.create_service(AdvanceSimulation, topics.ADVANCE_SIMULATION, self._on_advance)
        self.create_service(Trigger, topics.GO_ON, self._on_go_on)
        self.create_service(ApplyPush, topics.APPLY_PUSH, self._on_push)

    def build(self, values: dict[str, Any], model: ArmModel) -> None:
        """Build the plant from parameters and the robot description; plant and controller use different engines."""
        description = plant_description(values, model.description)
        surfaces = plant_surfaces(values)
        friction = plant_friction(values, len(description.actuated))
        backend = make_backend(
            values["backend"],
            description,
            tool_frame=values["tool_frame"],
            gravity=values["gravity"],
            max_step=values["max_step"],
            hard_stops=values["hard_stops"],
            segments=values["segments"],
            surfaces=surfaces,
            tip_radius=values["tip_radius"],
            friction=friction,
        )
        config = plant_config(values, description)
        self._plant = Plant(description, backend, config, *plant_drives(values, description))
        self._period = config.period_ns
        self._lockstep, self._timeout = values["lockstep"], values["lockstep_timeout"] or math.inf
        self._command_timeout = values["command_timeout"]
        self._velocities = values["sensors.joint_velocity.reported"]
        self._run_until = round(values["run_until"] * 1e9)
        self._clock_period = round(1e9 / values["clock_rate"])
        prefix = self.frame_prefix
        self._wrenches = {
            name: (self._sensor(WrenchStamped, topics.wrench_topic(name)), prefix + sensor.frame)
            for name, sensor in description.force_torque_sensors.items()
        }
        self._imus = {
            name: (self._sensor(Imu, topics.imu_topic(name)), prefix + sensor.frame)
            for name, sensor in description.imus.items()
        }
        self._bends = bool(self._plant.modes)
        if backend.strain_gauges:
            self._strain = self._sensor(StrainState, topics.STRAIN)
        self._friction = friction is not None
        frames = (prefix + model.world_frame, prefix + model.base_frame)
        self._truth.open(self._plant, frames, touches=bool(surfaces), friction=self._friction)
        self._listen(values["command_mode"], values["command_source"] == JOINT_COMMANDS)
        if not self._lockstep:  # against the clock the first ticks must not stand still while code is loaded
            rehearsal = build_plant(values, model.description)
            with contextlib.suppress(FlexarmError):
                for _ in range(SETTLED):
                    rehearsal.advance(np.zeros(len(rehearsal.joint_names)))

    def _sensor(self, kind: Any, topic: str) -> Sender:
        return Sender(self, kind, topic, topics.EVERY_SAMPLE)

    def _listen(self, mode: str, by_joint_commands: bool) -> None:
        """Subscribe to the commands of a command controller, or to those of ros2_control's hardware interface."""
        self._by_joint_commands = by_joint_commands
        self.newest = topics.NEWEST if self._lockstep else topics.UNCONFIRMED
        if by_joint_commands and self._lockstep:
            raise ConfigError("lockstep is not possible with joint_commands: who sends them does not wait for a state")
        self._read_command = JointCommandReader(self._plant.joint_names, mode)
        if self._commands is not None:
            self.destroy_subscription(self._commands)
        if by_joint_commands:
            self._commands = self.hear(JointState, topics.JOINT_COMMANDS, self._on_joint_commands)
        else:
            self._commands = self.hear(Float64MultiArray, topics.command_topic(mode), self._on_command)

    def change(self, values: dict[str, Any]) -> None:
        """Change the properties of the surfaces and the joint friction from the present stamp on."""
        friction = plant_friction(values, len(self._plant.joint_names))
        if self._friction != (friction is not None):
            raise ConfigError("joint friction comes and goes only while the node is not configured: begin with zeros")
        self._plant.change_surfaces(plant_surfaces(values))
        if friction:
            self._plant.change_friction(friction)

    @property
    def _now(self) -> int:
        """Return the simulation time [ns]: the plant's own time plus the wait for the first joint command."""
        return self._waited + self._plant.stamp

    @property
    def _goes_on(self) -> bool:
        """Return whether the simulation runs on: a signal ends the process though no command has come."""
        return self.active and not self.ending

    def start(self) -> None:
        """Return to time 0; the simulation stays paused unless run_until is set."""
        self._plant.reset()
        self._waits, self._waited = self._by_joint_commands, 0
        self._until = self._run_until
        self._tick = 0
        self._next_clock = self._next_status = 0
        self._time: Form | None = None
        self._command: Array | None = None
        self._alone = self._answered = self._waiting = False
        self._deadline = 0.0
        self._timeouts = self._missed = self._refused = self._braked = 0
        self._diverged = False

    def spin_some(self, executor: EventsExecutor) -> None:
        """Run one tick while there is simulation time to run, else wait for a request."""
        if not self.active or self._now >= self._until:
            self._deadline = 0.0
            super().spin_some(executor)
            return
        try:
            self._run_tick(executor)
        except PlantDivergedError as error:
            self._give_up(error)
        except FlexarmError as error:
            self._until = 0
            self.diagnostics.report(ERROR, f"simulation stopped: {error}", self._now)

    def _give_up(self, error: PlantDivergedError) -> None:
        """End the process, since any further output of a plant that diverged is meaningless."""
        self._until, self._diverged = 0, True
        self._status.publish(self._state_form(self._now))
        self.diagnostics.announce(ERROR, f"{error}. The simulation ends here, with exit code 1")
        self.exit_code = 1

    def _run_tick(self, executor: EventsExecutor) -> None:
        measurement = self._plant.measure()
        if self._waited:
            measurement = replace(measurement, stamp=self._now)
        self._command = None
        published = time.perf_counter()
        expected = self._publish(measurement)
        expected = expected and (self._velocities or measurement.stamp >= LEAST_SPAN)  # one position gives no velocity
        if self._lockstep and expected and not self._alone:
            self._wait_for_answer(executor, measurement, published)
        else:
            self._wait_for_the_clock(executor, published)
        if not self._goes_on:
            return
        self._waits = self._waits and self._command is None
        self._missed += self._command is None and not self._waits
        self._tell_of_progress(measurement.stamp)
        if self._waits:
            self._waited += self._period
        else:
            self._plant.advance(self._command)
            self._tell_of_brakes()
        self._tick += 1
        if self._tick == SETTLED:  # all that a tick takes is loaded
            self.tidiness.begin()
        else:
            self.tidiness.tidy()

    def _tell_of_progress(self, stamp: int) -> None:
        """Publish the status: in lockstep in every tick, against the clock every STATUS_PERIOD and in the last one."""
        due = self._lockstep or stamp >= self._next_status or stamp + self._period >= self._until
        if due and self._status.heard:
            self._next_status = stamp + STATUS_PERIOD
            self._status.publish(self._state_form(stamp))

    def _tell_of_brakes(self) -> None:
        """Report when commands cease and the drives brake, and when commands are back."""
        count, before = self._plant.command_timeouts, self._braked
        self._braked = count if self._plant.braking else 0
        if bool(before) == bool(self._braked):
            return
        if self._braked:
            text = f"no command for {self._command_timeout} s: the drives brake and hold"
            self.diagnostics.report(WARN, text, self._now)
        elif not self._alone:
            self.diagnostics.report(OK, "commands are back", self._now)

    def _wait_for_answer(self, executor: EventsExecutor, measurement: Measurement, published: float) -> None:
        """Wait for the command in lockstep: the plant stands still until it arrives, times out or go_on is called."""
        deadline, repeated, reported = published + self._timeout, False, False
        # A controller that has answered once receives every state. A second answer to a state would be taken for the
        # answer to the next state.
        repeat = math.inf if self._answered else published + REPEAT_STATE_AFTER
        self._waiting = True
        while self._command is None and self._goes_on:
            now = time.perf_counter()
            text = f"no command has answered the state at {measurement.stamp * 1e-9:.3f} s"
            if now >= deadline or not self._waiting:
                self._timeouts += 1
                self._alone = True
                self.diagnostics.report(WARN, f"{text}: the plant goes on by the wall clock", measurement.stamp)
                break
            if now >= published + SAY_AFTER and not reported:
                reported = True
                self.diagnostics.report(WARN, f"{text} yet", measurement.stamp)
            if now >= repeat:
                repeat, repeated = now + REPEAT_STATE_AFTER, True
                self._publish_sensors(measurement)  # a controller may also wait for a sensor reading
                self._publish_joints(measurement)
            executor.spin_once(timeout_sec=max(0.0, min(deadline, repeat, now + REPEAT_STATE_AFTER) - now))
        self._waiting = False
        if self._alone:
            return
        if reported:
            self.diagnostics.report(OK, "commands are back", measurement.stamp)
        if repeated:
            self._let_answers_run_out(executor)
        self._answered = True

    def _wait_for_the_clock(self, executor: EventsExecutor, published: float) -> None:
        """Wait for one period of wall time: in real time, or in lockstep while no controller answers."""
        period = self._period * 1e-9
        late = published - self._deadline
        self._deadline = published + period if late > 10 * period else self._deadline + period
        left = max(self._deadline - time.perf_counter(), LEAST_SPIN)
        while self._goes_on and left > 0.0:
            executor.spin_once(timeout_sec=left)
            left = self._deadline - time.perf_counter()
            if self._command is not None and self._alone:
                self._resume_lockstep(executor)
                break

    def _resume_lockstep(self, executor: EventsExecutor) -> None:
        """Resume lockstep: commands arrive again, so wait for the command of every state again."""
        self._let_answers_run_out(executor)
        self._alone = False
        self.diagnostics.report(OK, "commands are back", self._now)

    def _let_answers_run_out(self, executor: EventsExecutor) -> None:
        """Wait until no more commands arrive: a command has no stamp that tells which state it answers."""
        command = None
        while command is not self._command:
            command = self._command
            quiet = time.perf_counter() + QUIET_TIME
            while command is self._command and (left := quiet - time.perf_counter()) > 0.0:
                executor.spin_once(timeout_sec=left)

    def _publish(self, measurement: Measurement) -> bool:
        """Publish sensor readings, then the ground truth; return whether a joint state was sent.

        The joint state is sent first, so that the controllers work on it while the other messages are sent. If links
        are flexible, it is sent after the other sensors, because controllers need the readings of that stamp.
        """
        stamp = measurement.stamp
        if self._bends:
            self._publish_sensors(measurement)
        reported = measurement.joints is not None or measurement.elastic is not None
        if reported:
            self._publish_joints(measurement)
        if stamp >= self._next_clock:
            self._publish_time(stamp)
            self._next_clock = stamp + self._clock_period
        if not self._bends:
            self._publish_sensors(measurement)
        self._truth.publish(stamp)
        return reported

    def _publish_time(self, stamp: int) -> None:
        seconds, rest = divmod(stamp, SECOND)
        self._time = Form(Clock, {"clock.sec": (seconds,), "clock.nanosec": (rest,)})
        self._clock_sender.publish(self._time)
        self._time_published = time.perf_counter()

    def _repeat_time(self) -> None:
        """Repeat the time of a simulation that stands still, for who joins then."""
        if self.active and self._time is not None and time.perf_counter() - self._time_published > REPEAT_TIME_AFTER:
            self._clock_sender.publish(self._time)

    def _publish_sensors(self, measurement: Measurement) -> None:
        """Publish all sensor readings except the joint state."""
        stamp = measurement.stamp
        for senders, readings, form in (
            (self._wrenches, measurement.wrenches, wrench_form), (self._imus, measurement.imus, imu_form),
        ):  # fmt: skip
            for name, reading in readings.items():
                sender, frame = senders[name]
                if reading is not None and sender.heard:
                    sender.publish(form(stamp, frame, reading))
        if measurement.strain is not None and self._strain.heard:
            self._strain.publish(strain_form(stamp, measurement.strain))

    def _publish_joints(self, measurement: Measurement) -> None:
        readings = (measurement.joints, measurement.elastic)
        self._joint_states.publish(joint_readings_form(measurement.stamp, readings, rates=self._velocities))

    def _state_form(self, stamp: int) -> Form:
        """Return the status of the simulation."""
        numbers = {
            "tick": (self._tick,),
            "until": (self._until * 1e-9,),
            "lockstep": (self._lockstep,),
            "lockstep_timeouts": (self._timeouts,),
            "missed_commands": (self._missed,),
            "refused_commands": (self._refused,),
            "command_timeouts": (self._plant.command_timeouts,),
            "diverged": (self._diverged,),
        }
        return Form(SimulationStatus, numbers, {}, stamp)

    def _on_command(self, message: Float64MultiArray) -> None:
        command = np.array(message.data)
        if command.shape != (len(self._plant.joint_names),) or not np.isfinite(command).all():
            self._refused += 1
            raise InputError(f"command refused: {command}; expected {len(self._plant.joint_names)} finite numbers")
        self._command = command

    def _on_joint_commands(self, message: JointState) -> None:
        try:
            command = self._read_command(message)
        except InputError as error:
            self._refused += 1
            raise InputError(f"command refused: {error}") from error
        if command is not None:
            self._command = command

    def _on_advance(
        self, request: AdvanceSimulation.Request, response: AdvanceSimulation.Response
    ) -> AdvanceSimulation.Response:
        if not self.active:
            response.message = "the plant is not active"
        elif not np.isfinite(request.until) or request.until * 1e9 < self._now - 0.5:
            response.message = f"until {request.until} s lies before the present {self._now * 1e-9} s"
        else:
            self._until = round(request.until * 1e9)
            response.success = True
        return response

    def _on_go_on(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Continue without a command: the caller knows that no command will answer this state."""
        response.success, self._waiting = self._waiting, False
        response.message = "" if response.success else "the plant waits for no command"
        return response

    def _on_push(self, request: ApplyPush.Request, response: ApplyPush.Response) -> ApplyPush.Response:
        if not self.active:
            response.message = "the plant is not active"
            return response
        start = self._plant.stamp * 1e-9
        try:
            force, torque = ((v.x, v.y, v.z) for v in (request.force, request.torque))
            self._plant.push(Push(request.link, start, request.duration, force, torque, request.shape or "half_sine"))
            response.success, response.start = True, self._now * 1e-9
        except FlexarmError as error:
            response.message = str(error)
        return response
