"""BehaviorImpedanceController: behaviours and a measured wrench in, tool and joint references out, at every sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flexarm_core.behavior_impedance import layout
from flexarm_core.behavior_impedance.behavior import ActiveBehavior, Arm, BehaviorSpec, MotionSample
from flexarm_core.behavior_impedance.config import ImpedanceConfig
from flexarm_core.behavior_impedance.ensemble import Ensemble
from flexarm_core.behavior_impedance.law import law_step
from flexarm_core.behavior_impedance.motion_space import arm_kinematics
from flexarm_core.behavior_impedance.progress import PATIENCE, Progress, counted_error, hindrances
from flexarm_core.behavior_impedance.rotations import rotation_of
from flexarm_core.behavior_impedance.tool_step import take_back
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.ik_redundancy.chain import pose_error
from flexarm_core.ik_redundancy.config import RedundancyConfig
from flexarm_core.ik_redundancy.solver import RedundancySolver
from flexarm_core.types import Array, all_finite

TOO_LARGE = 1e6  # [m, rad] of a pose and of what the law adds to it: nothing that an arm could do


@dataclass(slots=True)
class ImpedanceOutput:
    """What the last sample came to; poses in the base link's frame.

    Attributes:
        position: (3,) of the commanded tool at the end of the sample [m].
        rotation: (3, 3)
        twist: (6,) [m/s, rad/s].
        acceleration: (6,) over the sample [m/s^2, rad/s^2].
        error: (6,) of the commanded tool from the set-point: translation, rotation vector [m, rad].
        held: why the arm was brought to rest instead of following the law, empty where it was not.
        stalled: whether the tool is away from a set-point that rests and comes no nearer.
        hindered_by: what keeps it there.
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
    """Keeps the commanded motion of the last sample and goes on from there (claims 1, 12 and 22 of seed 002).

    Attributes:
        arm: what behaviours know of the arm.
        solver: maps the motion space to the joints; its position, velocity and acceleration are the joint reference.
        output: what the last sample came to.
    """

    def __init__(self, arm: Arm, config: ImpedanceConfig, redundancy: RedundancyConfig | None = None) -> None:
        """Set up a controller that has not begun and has no behaviours: it holds the tool where it begins.

        Args:
            arm: kinematics, shape and limits.
            config: of the law.
            redundancy: of the mapping to the joints, whose objective is left to the behaviours; None: the usual one.

        Raises:
            ConfigError: settings that do not fit the arm.
        """
        self.arm = arm
        mapping = redundancy or RedundancyConfig(objective_time_constant=0.0)
        if mapping.objective != "quadratic":
            raise ConfigError("the redundant joints are led by behaviours: objective must be 'quadratic'")
        if mapping.objective_time_constant != 0.0:
            raise ConfigError("the redundant joints are led by behaviours: objective_time_constant must be 0")
        n = arm.chain.n
        self.solver = RedundancySolver(arm.chain, arm.limits, mapping)
        self._ensemble = Ensemble(arm)
        self._frames, self._J, self._out = np.zeros((n + 1, 12)), np.zeros((6, n)), np.zeros(layout.output_size(n))
        self._state, self._no_wrench = np.zeros(layout.state_size(n)), np.zeros(6)
        self._progress, self._motion, self._away = Progress(), np.empty(6), np.empty(6)
        self._look_into()
        self._refusals: dict[str, float] = {}  # how long it counts yet that a behaviour let no motion pass [s]
        self.output = ImpedanceOutput()
        self.set_config(config)
        self._last_settings = self._settings

    def _look_into(self) -> None:
        """Names for parts of what the law works in."""
        self._pose = self._frames[self.arm.chain.n]
        self._position, self._rotation = self._pose[9:], self._pose[:9].reshape(3, 3)
        self._wanted_position, self._wanted_rotation = self._out[:3], self._out[3:12].reshape(3, 3)
        self._error, self._set_twist = self._out[layout.ERROR :][:6], self._state[layout.SET_TWIST :][:6]
        self._twist, self._acceleration = self._state[:6], self._state[layout.LAST_ACCELERATION :][:6]

    # Set-up -----------------------------------------------------------------------------------------------------------

    @property
    def config(self) -> ImpedanceConfig:
        """Settings in force."""
        return self._config

    def set_config(self, config: ImpedanceConfig) -> None:
        """Change the settings between two samples; the acceleration does not jump.

        Raises:
            ConfigError: matrices of another number of joints, or not positive.
        """
        self._settings = config.table(self.arm.chain.n)  # that of the sample before stays as it is
        self._axes = np.array(config.axes, dtype=bool)
        self._config = config
        self._state[layout.CHANGED] = 1.0

    @property
    def axes(self) -> NDArray[np.bool_]:
        """(6,) which of x y z rx ry rz of the tool are led; only to be read."""
        return self._axes

    @property
    def behaviors(self) -> tuple[ActiveBehavior, ...]:
        """Those that take part, in the order of the specs."""
        return tuple(self._ensemble.active)

    def set_behaviors(self, specs: Sequence[BehaviorSpec]) -> None:
        """Change what takes part between two samples: all that is asked for from now on.

        The acceleration does not jump. A behaviour that is there already under its name goes on; with other settings it
        takes over from its old self.

        Raises:
            ConfigError: one cannot be had, or several lead; nothing changes then.
        """
        freed = self._ensemble.total.copy()
        kept = self._ensemble.change(specs)
        if kept is not None:
            if self.begun:
                self._move_anchor(kept, freed)
            self._state[layout.CHANGED] = 1.0

    def _move_anchor(self, kept: list[ActiveBehavior], total: Array) -> None:
        """Where nothing leads, the tool is held where it was led last, and along what ``total`` frees where it is."""
        state, e = self._state, total[layout.FREED :][:36].reshape(6, 6) @ self._out[layout.ERROR :][:6]
        position, rotation = state[layout.SET_POSITION :][:3] + e[:3], state[layout.SET_ROTATION :][:9].reshape(3, 3)
        turn = np.empty((3, 3))
        rotation_of(e[3:], turn)
        rotation = turn @ rotation
        for active in kept:  # their offsets stay beside the anchor
            position = position - active.out.offset[:3]
            rotation_of(-active.out.offset[3:], turn)
            rotation = turn @ rotation
        state[layout.ANCHOR_POSITION :][:3] = position
        state[layout.ANCHOR_ROTATION :][:9] = rotation.ravel()

    # Motion -----------------------------------------------------------------------------------------------------------

    @property
    def begun(self) -> bool:
        """Whether the controller knows where the arm is."""
        return self.solver.begun

    def begin(self, position: Array, velocity: Array | None = None) -> None:
        """Set out from joint positions (n,) and velocities (n,), at rest unless given; the tool is held there.

        Raises:
            InputError: shapes that do not fit, or numbers that are not finite.
        """
        self.solver.begin(position, velocity)
        self._state[:] = 0.0
        self._out[:] = 0.0
        self._progress, self._refusals = Progress(), {}
        self._restart()
        state, pose = self._state, self._pose
        for at, of in ((layout.ANCHOR_POSITION, layout.ANCHOR_ROTATION), (layout.SET_POSITION, layout.SET_ROTATION)):
            state[at : at + 3], state[of : of + 9] = pose[9:], pose[:9]
        self._ensemble.renew()
        self._held = ""
        self._tell(np.zeros(6))

    def reset(self) -> None:
        """Forget the motion; behaviours stay."""
        self.solver.reset()

    def update(self, stamp: int, dt: float, wrench: Array | None = None, hold: str = "") -> ImpedanceOutput:
        """One sample; the joint reference is then in ``solver``.

        Args:
            stamp: of the end of the sample [ns].
            dt: its length [s].
            wrench: (6,) external, on the tool at its origin, axes of the base link, without the tool's weight
                [N, N*m]; None where there is no valid measurement.
            hold: why the arm is to come to rest instead of following the law; empty: it is not.

        Raises:
            InputError: the controller has not begun, dt is not > 0, the wrench is not finite; nothing changes.
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
                self._restart()  # gently, out of rest
            self._held = ""
            self._follow(stamp, dt, wrench)
        return self.output

    @property
    def transition(self) -> float:
        """Norm of the force that still makes up for a change, torques over the length scale [N]."""
        carried = self._state[layout.CARRIED :][:6]
        return float(np.hypot(np.linalg.norm(carried[:3]), np.linalg.norm(carried[3:]) / self.arm.length_scale))

    def set_point(self) -> tuple[Array, Array, Array, Array]:
        """Set-point of the last sample: position (3,) [m], rotation (3, 3), twist (6,), acceleration (6,)."""
        state = self._state
        return (
            state[layout.SET_POSITION :][:3].copy(),
            state[layout.SET_ROTATION :][:9].reshape(3, 3).copy(),
            state[layout.SET_TWIST :][:6].copy(),
            state[layout.SET_ACCELERATION :][:6].copy(),
        )

    def _follow(self, stamp: int, dt: float, wrench: Array | None) -> None:
        solver, state, motion = self.solver, self._state, self._motion
        sample = MotionSample(
            stamp, dt, solver.position, solver.velocity, self._position, self._rotation, self._twist, self._J,
            self._frames, self._no_wrench if wrench is None else wrench, self._error.copy(), wrench is not None,
        )  # fmt: skip
        if self._ensemble.gather(sample):  # what a behaviour led that has failed stays where it is
            self._move_anchor(self._ensemble.sound, self._ensemble.last_total)
            state[layout.CHANGED] = 1.0
        out = self._out
        law_step(
            dt, self.arm.length_scale, self._settings, self._ensemble.total, self._last_settings,
            self._ensemble.last_total, state, self._frames, self._J, solver.velocity, sample.wrench, out,
        )  # fmt: skip
        self._last_settings = self._settings
        if not out.dot(out) < TOO_LARGE**2:
            self._rest(dt, "the forces of the behaviours are too large for the law")
            return
        pose_error(self._wanted_position, self._wanted_rotation, self._position, self._rotation, motion)
        before = (solver.position, solver.velocity, solver.acceleration)
        solver.lead(solver.position + out[layout.OUT_JOINTS :])
        solver.move(self._wanted_position, self._wanted_rotation, motion, self._axes, dt)
        objection = self._ensemble.forbids(solver.position, solver.velocity, dt)
        if objection is not None:
            solver.position, solver.velocity, solver.acceleration = before
            self._refusals[objection[0]] = PATIENCE
            self._rest(dt, ": ".join(objection))
            self._look_for_progress(dt, sample.wrench)
            return
        arm_kinematics(self.arm.chain.links, solver.position, self._frames, self._J)
        take_back(dt, self._settings, motion, solver.error, self._J, solver.velocity, state)
        self._tell(self._acceleration.copy())
        self._look_for_progress(dt, sample.wrench)

    def _look_for_progress(self, dt: float, wrench: Array) -> None:
        """Whether the tool gets on towards the set-point."""
        counted_error(self._axes, self._ensemble.total, self._error, self._away)
        self.output.stalled = self._progress.update(dt, self._set_twist, self._away)
        if self._refusals:
            self._refusals = {name: left - dt for name, left in self._refusals.items() if left > dt}
        if self.output.stalled:
            found = (*self._refusals, *hindrances(self._ensemble.active, wrench, self.solver))
            self.output.hindered_by = tuple(dict.fromkeys(found))

    def _rest(self, dt: float, reason: str) -> None:
        """One sample of braking, every joint at its acceleration limit, and then of staying."""
        before = self._twist.copy()
        self.solver.stop(dt)
        self._restart()
        self._held = reason
        position, rotation, *_ = self.set_point()
        pose_error(self._position, self._rotation, position, rotation, self._error)
        if not math.isfinite(self._error.sum()):
            self._error[:] = 0.0
        self._tell((self._twist - before) / dt)

    def _restart(self) -> None:
        """The law goes on from where the joints are and from how fast they move, without acceleration."""
        solver, state = self.solver, self._state
        arm_kinematics(self.arm.chain.links, solver.position, self._frames, self._J)
        state[:6] = self._J @ solver.velocity
        state[layout.LAST_ACCELERATION :][:6] = 0.0
        state[layout.JOINT_PART :] = 0.0
        state[layout.CARRIED :][:6] = 0.0
        state[layout.MISSED :][:2] = 0.0
        state[layout.KNOWN] = 0.0

    def _tell(self, acceleration: Array) -> None:
        p, R = self._position.copy(), self._rotation.copy()
        self.output = ImpedanceOutput(p, R, self._twist.copy(), acceleration, self._error.copy(), self._held)


def _checked_wrench(wrench: Array) -> Array:
    try:
        checked: Array = np.array(wrench, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"a wrench is six finite numbers, got {wrench!r}") from error
    if checked.shape != (6,) or not all_finite(checked):
        raise InputError(f"a wrench is six finite numbers, got {wrench}")
    return checked
