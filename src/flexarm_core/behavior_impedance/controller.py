"""BehaviorImpedanceController: computes tool and joint references from behaviors and a measured wrench."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flexarm_core.behavior_impedance.avoidance.arm_shape import build_arm_shape
from flexarm_core.behavior_impedance.behavior import ActiveBehavior, Arm, BehaviorSpec, MotionSample
from flexarm_core.behavior_impedance.config import ImpedanceConfig
from flexarm_core.behavior_impedance.ensemble import Ensemble
from flexarm_core.behavior_impedance.layout import State, places, view_law
from flexarm_core.behavior_impedance.motion_space import arm_kinematics
from flexarm_core.behavior_impedance.progress import PATIENCE, Progress, hindrances
from flexarm_core.behavior_impedance.sample import follow, remaining, settle
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.ik_redundancy.config import RedundancyConfig
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.ik_redundancy.solver import RedundancySolver
from flexarm_core.kernels.rotations import pose_error, rotation_of
from flexarm_core.robot.description import RobotDescription
from flexarm_core.types import Array, all_finite


@dataclass(slots=True)
class ImpedanceOutput:
    """Result of the last sample; poses are in the base link frame.

    Attributes:
        position: (3,) commanded tool position at the end of the sample [m].
        rotation: (3, 3) commanded tool orientation.
        twist: (6,) commanded tool twist [m/s, rad/s].
        acceleration: (6,) commanded tool acceleration over the sample [m/s^2, rad/s^2].
        error: (6,) pose of the commanded tool relative to the set-point: translation, rotation vector [m, rad].
        held: why the arm was braked to rest instead of following the law; an empty string if it was not.
        stalled: whether the set-point is at rest and the tool is away from it without getting closer.
        hindered_by: what prevents the tool from reaching the set-point.
    """

    position: Array = field(default_factory=lambda: np.zeros(3))
    rotation: Array = field(default_factory=lambda: np.eye(3))
    twist: Array = field(default_factory=lambda: np.zeros(6))
    acceleration: Array = field(default_factory=lambda: np.zeros(6))
    error: Array = field(default_factory=lambda: np.zeros(6))
    held: str = ""
    stalled: bool = False
    hindered_by: tuple[str, ...] = ()


class BehaviorImpedanceController:
    """Computes the motion of each sample from the commanded motion of the last one (patent claims 1, 12, 22).

    Attributes:
        arm: description of the arm that the behaviors receive.
        solver: maps the motion space to the joints; its position, velocity and acceleration are the joint reference.
        output: result of the last sample.
    """

    def __init__(self, arm: Arm, config: ImpedanceConfig, redundancy: RedundancyConfig | None = None) -> None:
        """Create a controller without behaviors; after :meth:`begin` it holds the tool at the initial pose.

        Args:
            arm: kinematics, shape and limits.
            config: settings of the law.
            redundancy: settings of the mapping to the joints, with the redundancy objective disabled because the
                behaviors define it; None: default settings.

        Raises:
            ConfigError: the settings do not fit the arm.
        """
        self.arm = arm
        mapping = redundancy or RedundancyConfig(objective_time_constant=0.0)
        if mapping.objective != "quadratic":
            raise ConfigError("the redundant joints are led by behaviors: objective must be 'quadratic'")
        if mapping.objective_time_constant != 0.0:
            raise ConfigError("the redundant joints are led by behaviors: objective_time_constant must be 0")
        n = arm.chain.n
        self.solver = RedundancySolver(arm.chain, arm.limits, mapping)
        self._memory, self._no_wrench = np.zeros(view_law.size(n)), np.zeros(6)
        self._ensemble = Ensemble(arm)
        self._progress = Progress()
        self._look_into()
        self._refusals: dict[str, float] = {}  # by behavior: remaining time for which its rejection counts [s]
        self.output = ImpedanceOutput()
        self.set_config(config)
        self._last_settings[:] = self._settings
        remaining(self._memory, n)  # loads the compiled code

    @classmethod
    def of(
        cls,
        robot: RobotDescription,
        tool_frame: str = "",
        config: ImpedanceConfig | None = None,
        acceleration: float = 10.0,
    ) -> BehaviorImpedanceController:
        """Create a controller for a robot.

        Args:
            robot: robot description; its shapes are those of ``<collision>``.
            tool_frame: link that is the tool; empty: ``tool0`` or the only tip link.
            config: settings of the law; None: defaults.
            acceleration: acceleration limit of every joint [rad/s^2 | m/s^2]; all others are the robot's.

        Raises:
            RobotDescriptionError: no actuated joint moves the tool.
        """
        chain = build_chain(robot, tool_frame)
        arm = Arm(chain, build_arm_shape(robot, chain), MotionLimits.of(chain, acceleration))
        return cls(arm, config or ImpedanceConfig())

    def __repr__(self) -> str:
        return f"BehaviorImpedanceController({self.arm.chain!r})"

    def _look_into(self) -> None:
        """Create named views into the work arrays of the law."""
        n = self.arm.chain.n
        self._settings, total, self._last_settings, last_total = (self._memory[place] for place in places(n))
        self._ensemble.sum_to(total, last_total)
        self._state: State = view_law(self._memory, n).state
        self._frames, self._J = self._state.frames, self._state.J
        self._position, self._rotation = self._frames[n, 9:], self._frames[n, :9].reshape(3, 3)

    # Set-up -----------------------------------------------------------------------------------------------------------

    @property
    def config(self) -> ImpedanceConfig:
        """Current settings."""
        return self._config

    def set_config(self, config: ImpedanceConfig) -> None:
        """Change the settings between two samples without a step in the acceleration.

        Raises:
            ConfigError: joint matrices have the wrong size for this arm, or are not positive.
        """
        self._settings[:] = config.table(self.arm.chain.n)
        self._axes = np.array(config.axes, dtype=bool)
        self._config = config
        self._state.changed[0] = 1.0

    @property
    def axes(self) -> NDArray[np.bool_]:
        """(6,) bool, which of x y z rx ry rz of the tool are controlled; read-only."""
        return self._axes

    @property
    def behaviors(self) -> tuple[ActiveBehavior, ...]:
        """Active behaviors, in the order of the specs."""
        return tuple(self._ensemble.active)

    def set_behaviors(self, specs: Sequence[BehaviorSpec]) -> None:
        """Replace the set of active behaviors between two samples, without a step in the acceleration.

        A behavior that is already active under the same name continues. If its settings differ, a new instance takes
        over from the old one.

        Raises:
            ConfigError: a behavior is not available or not valid, or several behaviors lead; nothing is changed then.
        """
        freed = self._ensemble.total.freed.copy()
        kept = self._ensemble.change(specs)
        if kept is not None:
            if self.begun:
                self._move_anchor(kept, freed)
            self._state.changed[0] = 1.0

    def _move_anchor(self, kept: list[ActiveBehavior], freed: Array) -> None:
        """Set the anchor: the pose at which the tool is held while no behavior leads.

        The anchor is the last set-point; along the freed directions (6, 6), it is the present tool pose.
        """
        state, e, turn = self._state, freed @ self._state.error, np.empty((3, 3))
        rotation_of(e[3:], turn)
        position, rotation = state.set_position + e[:3], turn @ state.set_rotation
        for active in kept:  # their offsets are added to the anchor again at every sample
            position = position - active.out.offset[:3]
            rotation_of(-active.out.offset[3:], turn)
            rotation = turn @ rotation
        state.anchor_position[:], state.anchor_rotation[:] = position, rotation

    # Motion -----------------------------------------------------------------------------------------------------------

    @property
    def begun(self) -> bool:
        """Whether the controller has been given the joint positions."""
        return self.solver.begun

    def begin(self, position: Array, velocity: Array | None = None) -> None:
        """Start from joint positions (n,) and velocities (n,) (None: at rest); the tool is held at that pose.

        Raises:
            InputError: a shape is wrong, or a value is not finite.
        """
        self.solver.begin(position, velocity)
        self._memory[places(self.arm.chain.n)[-1].stop :] = 0.0
        self._progress, self._refusals = Progress(), {}
        self._restart()
        state = self._state
        state.anchor_position[:], state.anchor_rotation[:] = self._position, self._rotation
        state.set_position[:], state.set_rotation[:] = self._position, self._rotation
        self._ensemble.renew()
        self._held = ""
        self._tell(np.zeros(6))

    def reset(self) -> None:
        """Discard the motion state; the behaviors remain active."""
        self.solver.reset()

    def update(self, stamp: int, dt: float, wrench: Array | None = None, hold: str = "") -> ImpedanceOutput:
        """Compute one sample; afterwards ``solver`` contains the joint reference.

        Args:
            stamp: time of the end of the sample [ns].
            dt: sampling period [s].
            wrench: (6,) external wrench on the tool at the tool origin, in base link axes, without the tool's weight
                [N, N*m]; None if there is no valid measurement.
            hold: why the arm must brake to rest instead of following the law; an empty string: follow the law.

        Raises:
            InputError: the controller has not begun, dt is not > 0, or the wrench is not finite; nothing is changed.
        """
        if not self.begun:
            raise InputError("the controller has not begun: call begin() with the joint positions")
        if not (math.isfinite(dt) and dt > 0.0):
            raise InputError(f"the sample time must be > 0 s, got {dt}")
        wrench = None if wrench is None else _checked_wrench(wrench)
        if not hold and wrench is None:
            needy = self._ensemble.without_wrench()
            hold = f"no tool wrench for {', '.join(needy)}" if needy else ""
        if hold:
            self._rest(dt, hold)
        else:
            if self._held:
                self._restart()  # leave the hold without a step in the acceleration
            self._held = ""
            self._follow(stamp, dt, wrench)
        return self.output

    @property
    def transition(self) -> float:
        """Norm of the remaining carried force after a change, with torques divided by the length scale [N]."""
        carried = self._state.carried
        return float(np.hypot(np.linalg.norm(carried[:3]), np.linalg.norm(carried[3:]) / self.arm.length_scale))

    def set_point(self) -> tuple[Array, Array, Array, Array]:
        """Set-point of the last sample: position (3,) [m], rotation (3, 3), twist (6,), acceleration (6,)."""
        state = self._state
        parts = state.set_position, state.set_rotation, state.set_twist, state.set_acceleration
        return parts[0].copy(), parts[1].copy(), parts[2].copy(), parts[3].copy()

    def _follow(self, stamp: int, dt: float, wrench: Array | None) -> None:
        solver, ensemble, state = self.solver, self._ensemble, self._state
        sample = MotionSample(
            stamp, dt, solver.position, solver.velocity, self._position, self._rotation, state.velocity, self._J,
            self._frames, self._no_wrench if wrench is None else wrench, state.error.copy(), wrench is not None,
        )  # fmt: skip
        if ensemble.gather(sample):  # a behavior has failed: if it led, the tool is held at the last set-point
            self._move_anchor(ensemble.sound, ensemble.last_total.freed)
            self._state.changed[0] = 1.0
        state.step[0], state.step[1] = dt, self.arm.length_scale
        state.wrench[:] = sample.wrench
        memory, plan = solver.arguments(self._axes, dt)
        result = np.empty((3, self.arm.chain.n))
        possible = follow(self._memory, memory, plan, solver.position, solver.velocity, result)
        self._last_settings[:] = self._settings
        if not possible:
            self._rest(dt, "the forces of the behaviors are too large for the law")
            return
        before = (solver.position, solver.velocity, solver.acceleration)
        solver.accept(result, self._axes, dt)
        objection = ensemble.forbids(solver.position, solver.velocity, dt)
        if objection is not None:
            solver.position, solver.velocity, solver.acceleration = before
            self._refusals[objection[0]] = PATIENCE
            self._rest(dt, ": ".join(objection))
            distance = remaining(self._memory, len(solver.position))
        else:
            distance = settle(self._memory, memory, solver.position, solver.velocity)
            self._tell(self._state.acceleration.copy())
        self._look_for_progress(dt, distance, sample.wrench)

    def _look_for_progress(self, dt: float, distance: float, wrench: Array) -> None:
        """Update ``stalled`` and ``hindered_by`` of the output from the distance to the set-point."""
        self.output.stalled = self._progress.update(dt, distance)
        if self._refusals:
            self._refusals = {name: left - dt for name, left in self._refusals.items() if left > dt}
        if self.output.stalled:
            found = (*self._refusals, *hindrances(self._ensemble.active, wrench, self.solver))
            self.output.hindered_by = tuple(dict.fromkeys(found))

    def _rest(self, dt: float, reason: str) -> None:
        """Brake every joint at its acceleration limit for one sample; at rest, stay there."""
        before = self._state.velocity.copy()
        self.solver.stop(dt)
        self._restart()
        self._held = reason
        position, rotation, *_ = self.set_point()
        pose_error(self._position, self._rotation, position, rotation, self._state.error)
        if not math.isfinite(self._state.error.sum()):
            self._state.error[:] = 0.0
        self._tell((self._state.velocity - before) / dt)

    def _restart(self) -> None:
        """Restart the law from the present joint positions and velocities, with zero acceleration."""
        solver, state = self.solver, self._state
        arm_kinematics(self.arm.chain.links, solver.position, self._frames, self._J)
        state.velocity[:] = self._J @ solver.velocity
        for part in (
            state.acceleration, state.carried, state.carried_effort, state.joint_acceleration, state.missed, state.known
        ):  # fmt: skip
            part[:] = 0.0

    def _tell(self, acceleration: Array) -> None:
        p, R = self._position.copy(), self._rotation.copy()
        twist, error = self._state.velocity.copy(), self._state.error.copy()
        self.output = ImpedanceOutput(p, R, twist, acceleration, error, self._held)


def _checked_wrench(wrench: Array) -> Array:
    try:
        checked: Array = np.array(wrench, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"a wrench is six finite numbers, got {wrench!r}") from error
    if checked.shape != (6,) or not all_finite(checked):
        raise InputError(f"a wrench is six finite numbers, got {wrench}")
    return checked
