"""Plant: a simulated robot with drives, sensors and external pushes, on a clock of integer nanoseconds.

One tick: ``measure()`` returns the sensor readings at ``stamp = tick * period``; ``advance(command)`` holds the command
over ``[stamp, stamp + period)``. The plant is deterministic: equal configuration and commands give bitwise equal
results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flexarm_core.errors import ConfigError
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.drive_terms import DriveTerms
from flexarm_core.types import Array
from flexarm_sim.backend import Backend, PlantDivergedError, PlantState
from flexarm_sim.clock import to_stamp
from flexarm_sim.drives import DriveConfig, Drives
from flexarm_sim.friction.friction import JointFriction
from flexarm_sim.measurement import JointListFault, JointReading, Measurement, relist
from flexarm_sim.pushes import Push
from flexarm_sim.sensors import SensorConfig, SensorModel, SensorSuiteConfig
from flexarm_sim.strain import StrainFault, StrainGauges
from flexarm_sim.surfaces import Surface
from flexarm_sim.validation import checked_vector

ABSURD = 100.0  # multiple of the largest velocity limit beyond which the simulation counts as diverged
RESOLVED = 0.5  # [rad] largest phase of the fastest base oscillation between two updates of the servo
UNLIMITED = 100.0  # [rad/s | m/s] assumed limit of a joint without one, and the least one of an elastic joint


@dataclass(frozen=True, slots=True)
class PlantConfig:
    """Settings of a plant: initial state, drives, sensors and disturbances.

    Attributes:
        period_ns: length of one tick [ns].
        initial_position: (n,) joint positions, None: zero [rad | m].
        initial_velocity: (n,) joint velocities, None: zero [rad/s | m/s].
        initial_deflection: (m,) base deflection, None: see ``start_in_equilibrium`` [m | rad].
        initial_deflection_rate: (m,) base deflection rate, None: zero [m/s | rad/s].
        initial_modal_position: (k,) modal positions, None: see ``start_in_equilibrium`` [sqrt(kg)*m].
        initial_modal_rate: (k,) modal rates, None: zero [sqrt(kg)*m/s].
        start_in_equilibrium: whether an initial deflection or modal position that is not given is the static
            equilibrium under gravity; otherwise it is zero.
        drive: settings of the joint drives.
        sensors: imperfections of the sensors.
        pushes: external wrenches.
        joint_list_faults: faults of the joint state message; if several are active, the first applies.
        strain_faults: faults of single strain gauges.
        seed: seed of all random numbers, at least 0.
    """

    period_ns: int = 1_000_000
    initial_position: tuple[float, ...] | None = None
    initial_velocity: tuple[float, ...] | None = None
    initial_deflection: tuple[float, ...] | None = None
    initial_deflection_rate: tuple[float, ...] | None = None
    initial_modal_position: tuple[float, ...] | None = None
    initial_modal_rate: tuple[float, ...] | None = None
    start_in_equilibrium: bool = True
    drive: DriveConfig = field(default_factory=DriveConfig)
    sensors: SensorSuiteConfig = field(default_factory=SensorSuiteConfig)
    pushes: tuple[Push, ...] = ()
    joint_list_faults: tuple[JointListFault, ...] = ()
    strain_faults: tuple[StrainFault, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value, least in (("period_ns", self.period_ns, 1), ("seed", self.seed, 0)):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ConfigError(f"plant {name} is {value!r}, expected a whole number of at least {least}")


class Plant:
    """A simulated robot with the interface that controllers see: commands in, measurements out."""

    def __init__(
        self,
        description: RobotDescription,
        backend: Backend,
        config: PlantConfig | None = None,
        drives: DriveTerms | None = None,
        lack: DriveTerms | None = None,
    ) -> None:
        """Build the plant and reset it.

        Args:
            description: the robot, for its limits and names.
            backend: simulated dynamics; only the plant may use it from now on.
            config: settings, None for a plant without imperfections or disturbances.
            drives: what the drives add to effort commands; None: nothing.
            lack: what measured efforts do not contain; None: they are whole.

        Raises:
            ConfigError: a sensor, link or joint that the robot does not have, or values that do not fit it.
            InputError: an initial state has the wrong length or is not finite.
        """
        self._config = config if config is not None else PlantConfig()
        self._backend = backend
        self._names, self._elastic_names = backend.joint_names, backend.elastic_joint_names
        self._check_names(description)
        self._links = tuple(description.links)
        effort, speed, elastic_speed = (
            np.array([getattr(description.joints[name], f"{what}_limit") for name in names])
            for what, names in (
                ("effort", self._names), ("velocity", self._names), ("velocity", self._elastic_names),
            )
        )  # fmt: skip
        # only the servo of the velocity and position modes needs steps shorter than a tick; they must resolve the base
        # oscillation with free joints, which the servo compensates
        servo, longest = self._config.drive.mode != "effort", self._config.drive.period
        if servo:
            backend.reset(self._config.initial_position)
            longest = min(longest, RESOLVED / max(backend.base_frequency(), RESOLVED / longest))
        self._steps = max(1, -(-self._config.period_ns // max(1, to_stamp(longest)))) if servo else 1
        self._drives = Drives(self._config.drive, effort, speed, self._config.period_ns * 1e-9 / self._steps, drives)
        # one bound for all joints: when an arm whips, its slowest link may become the fastest
        fastest = np.where(np.isfinite(speed) & (speed > 0.0), speed, UNLIMITED).max(initial=0.0)
        of_base = ABSURD * np.where(elastic_speed < np.inf, np.maximum(elastic_speed, UNLIMITED), UNLIMITED)
        bounds = (*[ABSURD * fastest] * len(speed), *of_base.tolist())
        self._absurd = tuple(zip((*self._names, *self._elastic_names), bounds, strict=True))  # largest rates
        self._timeout = to_stamp(self._config.drive.command_timeout)
        self._faults = [(to_stamp(f.start), to_stamp(f.end), f.names) for f in self._config.joint_list_faults]
        self._lack, suite = lack, self._config.sensors
        self._joint_sensors = [
            self._sensor(f"joint_{signal}", len(self._names), sensor)
            for signal, sensor in (
                ("position", suite.joint_position),
                ("velocity", suite.joint_velocity),
                ("effort", suite.joint_effort),
            )
        ]
        self._elastic_sensors = [
            self._sensor("deflection", len(self._elastic_names), suite.deflection),
            self._sensor("deflection_rate", len(self._elastic_names), suite.deflection_rate),
        ]
        self._wrench_sensors = {
            name: self._sensor(f"wrench/{name}", 6, suite.wrenches.get(name, SensorConfig()))
            for name in description.force_torque_sensors
        }
        gauges = backend.strain_gauges
        self._bends = bool(gauges)
        self._strain = StrainGauges(
            gauges, self._sensor("strain", len(gauges), suite.strain), self._config.strain_faults
        )
        self._imus = {
            name: self._sensor(f"imu/{name}", 6, suite.imus.get(name, SensorConfig())) for name in description.imus
        }
        self.reset()

    @property
    def stamp(self) -> int:
        """Time since the last reset [ns]."""
        return self._stamp

    @property
    def joint_names(self) -> tuple[str, ...]:
        """(n) actuated joints, in the order of the command."""
        return self._names

    @property
    def elastic_joint_names(self) -> tuple[str, ...]:
        """(m) elastic joints of the base."""
        return self._elastic_names

    @property
    def braking(self) -> bool:
        """Whether the brakes hold the arm: there was no command yet, or none for ``command_timeout``."""
        return self._command is None

    @property
    def modes(self) -> tuple[str, ...]:
        """(k) deformation modes of the flexible links."""
        return self._backend.modes

    def reset(self) -> None:
        """Return to time 0 and the initial state; sensors draw the same random numbers again."""
        config, backend = self._config, self._backend
        initial = {
            "position": config.initial_position,
            "velocity": config.initial_velocity,
            "deflection": config.initial_deflection,
            "deflection_rate": config.initial_deflection_rate,
            "modal_position": config.initial_modal_position,
            "modal_rate": config.initial_modal_rate,
        }
        rest = config.start_in_equilibrium
        backend.reset(**initial, at_rest=rest)
        self._stamp = self._heard = 0
        self.command_timeouts = 0
        self._pushes: dict[str, tuple[Push, ...]] = {}
        for push in config.pushes:
            self._pushes[push.link] = (*self._pushes.get(push.link, ()), push)
        self._pushed: frozenset[str] = frozenset()
        self._drives.reset()
        self._command: Array | None = None
        # the brakes held the arm before time 0 too: no jump in the first reading
        backend.reset(**initial, at_rest=rest, effort=self._drives.effort(None, backend, 0.0))
        self._push()
        vectors = (*self._joint_sensors, *self._elastic_sensors, *self._wrench_sensors.values(), *self._imus.values())
        for sensor in vectors:
            sensor.reset()
        self._strain.reset()
        self._measurement = self._sample()

    def measure(self) -> Measurement:
        """Return the sensor readings at this stamp; calls before the next ``advance`` return the same record."""
        return self._measurement

    def state(self) -> PlantState:
        """Return the ground truth at this stamp, for evaluation only."""
        return self._backend.state()

    def trace(self) -> Any:
        """Return what :meth:`traced` needs of the ground truth at this stamp; this is cheaper than :meth:`state`."""
        return self._backend.trace()

    def traced(self, traces: Sequence[Any]) -> PlantState:
        """Return the ground truth of many traces as one record, whose arrays have them along their first axis."""
        return self._backend.traced(traces)

    def change_surfaces(self, surfaces: Sequence[Surface]) -> None:
        """Change the stiffness, damping and friction of all surfaces from this stamp on.

        Raises:
            ConfigError: other surfaces, or a surface too stiff for the step; the plant is then unchanged.
        """
        self._backend.change_surfaces(surfaces)

    def change_friction(self, friction: JointFriction) -> None:
        """Change the joint friction from this stamp on.

        Raises:
            ConfigError: the values do not fit, or the plant was made without friction; it is then unchanged.
        """
        self._backend.change_friction(friction)

    def push(self, push: Push) -> None:
        """Add a push to those of the settings, until the next reset.

        Raises:
            ConfigError: no such link, or the push begins in the past; the plant is then unchanged.
        """
        if push.link not in self._links:
            raise ConfigError(f"plant: pushed link '{push.link}' does not exist; valid: {', '.join(self._links)}")
        if to_stamp(push.start) < self._stamp:
            raise ConfigError(
                f"push on '{push.link}' begins at {push.start} s, before the present {self._stamp / 1e9} s"
            )
        self._pushes[push.link] = (*self._pushes.get(push.link, ()), push)
        self._push()

    def advance(self, command: ArrayLike | None = None) -> Measurement:
        """Hold a command for one tick and advance to the next.

        Args:
            command: (n,) in the unit of the drive mode; None keeps the last one until ``command_timeout``. Before the
                first command, and after that timeout, the brakes hold the arm.

        Returns:
            The sensor readings at the new stamp.

        Raises:
            InputError: wrong length or not finite; the plant is then unchanged.
            PlantDivergedError: the simulation diverged: its state is meaningless.
        """
        if command is not None:
            self._command, self._heard = checked_vector("command", command, len(self._names)), self._stamp
        elif self._command is not None and 0 < self._timeout <= self._stamp - self._heard:
            self._command = None
            self.command_timeouts += 1
        for _ in range(self._steps):
            begin, end = self._step_interval()
            duration = (end - begin) / 1e9
            self._backend.step(self._drives.effort(self._command, self._backend, duration), duration)
            self._stamp = end
            self._push()
        self._stop_if_absurd()
        self._measurement = self._sample()
        return self._measurement

    def _stop_if_absurd(self) -> None:
        sensed = self._backend.sensed()
        rates = (*sensed.velocity.tolist(), *sensed.deflection_rate.tolist())
        for rate, (name, bound) in zip(rates, self._absurd, strict=True):
            if not abs(rate) <= bound:  # NaN is beyond it, too
                raise PlantDivergedError(
                    f"the simulated plant diverged at {self._stamp * 1e-9:.6g} s: joint '{name}' moves at {rate:.4g}"
                    f" rad/s | m/s, more than {ABSURD:g} times what the fastest can; lower the effort or the gains, or"
                    " max_step"
                )

    def _step_interval(self) -> tuple[int, int]:
        """Return the interval of the next step [ns]; integer division divides a tick into steps without gaps."""
        period, steps = self._config.period_ns, self._steps
        tick, inside = divmod(self._stamp, period)
        step = -(-inside * steps // period)
        return self._stamp, tick * period + (step + 1) * period // steps

    def _push(self) -> None:
        """Set the wrenches of the next step, so that sensors show a push from the stamp at which it starts."""
        if not self._pushes:
            return
        begin, end = self._step_interval()
        for link, pushes in self._pushes.items():
            if not any(push.begin < end and begin < push.end for push in pushes) and link not in self._pushed:
                continue
            wrench = sum((push.mean_wrench(begin, end) for push in pushes), np.zeros(6))
            self._backend.set_external_wrench(link, wrench)
            self._pushed = self._pushed | {link} if wrench.any() else self._pushed - {link}

    def _sample(self) -> Measurement:
        """Read every sensor once in every tick: random numbers must not depend on which readings are used."""
        stamp, state = self._stamp, self._backend.sensed()
        told = state.effort if self._lack is None else state.effort - self._lack.added(state.position, state.velocity)
        position, velocity, effort = (
            sensor.sample(stamp, truth)
            for sensor, truth in zip(self._joint_sensors, (state.position, state.velocity, told), strict=True)
        )
        deflection, rate = (
            sensor.sample(stamp, truth)
            for sensor, truth in zip(self._elastic_sensors, (state.deflection, state.deflection_rate), strict=True)
        )
        joints = elastic = None
        if position is not None and velocity is not None and effort is not None:
            joints = JointReading(self._names, position, velocity, effort)
        if self._elastic_names and deflection is not None and rate is not None:
            elastic = JointReading(self._elastic_names, deflection, rate, None)
        for start, end, listed in self._faults:
            if start <= stamp < end:
                joints, elastic = relist(joints, listed), relist(elastic, listed)
                break
        wrenches = {name: sensor.sample(stamp, state.wrenches[name]) for name, sensor in self._wrench_sensors.items()}
        imus = {name: sensor.sample(stamp, state.imus[name]) for name, sensor in self._imus.items()}
        strain = self._strain.sample(stamp, state.strain) if self._bends else None
        return Measurement(stamp, joints, elastic, wrenches, strain, imus)

    def _sensor(self, name: str, size: int, config: SensorConfig) -> SensorModel:
        return SensorModel(name, size, self._config.period_ns, config, self._config.seed)

    def _check_names(self, description: RobotDescription) -> None:
        known = (*self._names, *self._elastic_names)
        for what, names, valid in (
            ("wrench sensor", self._config.sensors.wrenches, description.force_torque_sensors),
            ("IMU", self._config.sensors.imus, description.imus),
            ("strain gauge", (n for f in self._config.strain_faults for n in f.names), self._backend.strain_gauges),
            ("pushed link", (push.link for push in self._config.pushes), description.links),
            ("joint in joint_list_faults", (n for f in self._config.joint_list_faults for n in f.names), known),
        ):
            for name in names:
                if name not in valid:
                    raise ConfigError(f"plant: {what} '{name}' does not exist; valid: {', '.join(valid) or 'none'}")
