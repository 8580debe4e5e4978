"""TrajectoryFollower: follows joint trajectories one after the other, watches their tolerances, stops on request.

The semantics are those of joint_trajectory_controller of ros2_controllers. Different on purpose, since the arm bends:

* whatever begins, ends or takes over, the reference does not jump: see :mod:`motion`; but where the arm does not
  follow (the tolerance of a path is exceeded) it brakes from the measured motion at once;
* a canceled trajectory brakes along the motion, and its goal ends when the joints rest;
* with a shaper the trajectory ends later by the length of the shaper, and so does the time at which the goal is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from flexarm_core.entrance import finite, numbers
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.joint_trajectory.motion import Course, Followed, Held, Limits, Piece, ShapedMotion, Stopped
from flexarm_core.joint_trajectory.points import Points, Rules
from flexarm_core.joint_trajectory.spline import Motion, Spline
from flexarm_core.joint_trajectory.tolerances import Given, Tolerances, violated
from flexarm_core.path.input_shaping import UNSHAPED, InputShaper
from flexarm_core.settings import Settings, setting
from flexarm_core.turns import Turns
from flexarm_core.types import Array, JointReference

HOLDING, FOLLOWING, STOPPING = "holding", "following a trajectory", "stopping"
INTERPOLATIONS = ("monotone", "linear")
FAR = 0.05  # [rad | m] from its goal, a joint without a goal tolerance is spoken of
HARDNESS = (1.0, 2.0, 4.0, 8.0, 16.0)  # of a stop, times the largest acceleration, until it ends before a limit


class End(IntEnum):
    """How a goal ended; the numbers are the error codes of control_msgs/action/FollowJointTrajectory."""

    CANCELED = 1  # SUCCESSFUL with the status canceled
    SUCCESSFUL = 0
    INVALID_GOAL = -1
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


@dataclass(frozen=True, slots=True)
class TrajectoryFollowerConfig(Settings):
    """Settings of the following; names as in joint_trajectory_controller where it has the same."""

    # fmt: off
    path_tolerance: tuple[float, ...] = setting((0.0,),
        "default tolerance of the joint positions on the way, one for all joints or one per joint; 0: no limit",
        "rad | m", 0.0)
    goal_tolerance: tuple[float, ...] = setting((0.0,),
        "default tolerance of the joint positions at the end, one for all joints or one per joint; 0: no limit",
        "rad | m", 0.0)
    stopped_velocity_tolerance: float = setting(0.01,
        "default tolerance of the joint velocities at the end; 0: no limit", "rad/s | m/s", 0.0)
    goal_time: float = setting(0.0,
        "default time after the end of a trajectory within which the goal must be reached; 0: no limit", "s", 0.0)
    allow_partial_joints_goal: bool = setting(False,
        "whether trajectories of some of the joints are accepted; the others are held")
    allow_nonzero_velocity_at_trajectory_end: bool = setting(False,
        "whether the last point may have velocities; the joints come to rest after it")
    check_limits: bool = setting(True,
        "whether trajectories beyond the position and velocity limits of the joints are rejected")
    interpolation: str = setting("monotone",
        "motion between points without velocities: smooth through all points without overshoot (monotone), or along"
        " straight lines with jumps of the velocity, as joint_trajectory_controller does (linear)",
        choices=INTERPOLATIONS)
    max_acceleration: tuple[float, ...] = setting((5.0,),
        "largest acceleration when a motion is braked or taken over by another, one for all joints or one per joint",
        "rad/s^2 | m/s^2", 1e-3)
    state_timeout: float = setting(0.1, "gap between joint states after which a goal ends", "s", 1e-3)
    # fmt: on


@dataclass(frozen=True, slots=True)
class Goal:
    """An accepted trajectory.

    Attributes:
        spline: motion of all joints.
        start: stamp at which it starts [ns]; 0: at the next sample.
        tolerances: tolerances that are checked.
        shaper: shaper of the motion if the joints rest when it begins; otherwise that of the previous goal is used.
        ended: called when it ends, with the reason.
        canceled: asked at every sample whether the goal is to be canceled.
    """

    spline: Spline
    start: int
    tolerances: Tolerances
    shaper: InputShaper
    ended: Callable[[End, str], None]
    canceled: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Progress:
    """Result of a sample.

    Attributes:
        stamp: its stamp [ns].
        since: time since the start of the trajectory [ns].
        desired: reference, shaped.
        actual: measured position and velocity (n,) [rad | m, rad/s | m/s].
        error: (2, n) desired minus actual position and velocity, for endless joints the short way.
    """

    stamp: int
    since: int
    desired: Motion
    actual: tuple[Array, Array]
    error: Array


class TrajectoryFollower:
    """Gives a joint reference for every sample.

    Attributes:
        config: settings.
        rules: which trajectories are accepted.
        activity: HOLDING, FOLLOWING or STOPPING.
        progress: result of the last sample, None before any.
        remark: why the last trajectory ended early, until the next begins.
    """

    def __init__(
        self,
        joint_names: Sequence[str],
        turns: Turns,
        lower: Array,
        upper: Array,
        velocity: Array,
        config: TrajectoryFollowerConfig,
        shaper_for: Callable[[Spline], InputShaper] = lambda spline: UNSHAPED,
        acceleration: Array | float = np.inf,
    ) -> None:
        """Follow trajectories of joints (n).

        Args:
            joint_names: names of the joints.
            turns: differences of their positions.
            lower: (n,) lower position limits, -inf if there are none [rad | m].
            upper: (n,) upper position limits.
            velocity: (n,) velocity limits, inf if there are none [rad/s | m/s].
            config: settings.
            shaper_for: returns the shaper of a trajectory.
            acceleration: (n,) acceleration limits, inf if there are none; they count before those of the settings
                [rad/s^2 | m/s^2].

        Raises:
            ConfigError: a list has neither one number nor one for each joint.
        """
        self.joint_names, self.turns = tuple(joint_names), turns
        self._bounds, self._shaper_for = (lower, upper, velocity), shaper_for
        self._acceleration = acceleration
        self.use(config)
        self.reset()

    def use(self, config: TrajectoryFollowerConfig) -> None:
        """Use other settings; a goal that is followed keeps its own tolerances.

        Raises:
            ConfigError: as for the constructor.
        """
        path, goal = self._each("path_tolerance", config), self._each("goal_tolerance", config)
        acceleration = np.minimum(self._each("max_acceleration", config), self._acceleration)
        still = np.full(len(path), config.stopped_velocity_tolerance)
        self._defaults = Tolerances(np.array((path, 0.0 * path)), np.array((goal, still)), config.goal_time)
        self.limits = Limits(self._bounds[2], acceleration)
        self.rules = Rules(
            self.joint_names,
            *self._bounds,
            config.allow_partial_joints_goal,
            config.allow_nonzero_velocity_at_trajectory_end,
            config.check_limits,
            config.interpolation == "linear",
        )
        self.config = config

    def _each(self, name: str, config: TrajectoryFollowerConfig) -> Array:
        values, n = np.array(getattr(config, name), dtype=float), len(self.joint_names)
        if values.size not in (1, n):
            names = ", ".join(self.joint_names)
            raise ConfigError(f"{name} needs 1 or {n} numbers, for {names}; got {values.tolist()}")
        return np.broadcast_to(values, (n,)).copy()

    def reset(self) -> None:
        """Wait for the first sample; a goal ends."""
        self._stamp: int | None = None
        self._period = 0  # between the last two samples [ns]
        self._motion: ShapedMotion | None = None
        self.progress: Progress | None = None
        self.remark = ""
        if getattr(self, "_goal", None) is not None:
            self._end(End.INVALID_GOAL, "the motion begins anew")
        self._goal: Goal | None = None
        self._piece: Piece | None = None  # of the goal; None: it waits for the next sample
        self._reason: tuple[End, str] | None = None  # why the goal ends, when the joints rest
        self.activity = HOLDING

    # Goals ------------------------------------------------------------------------------------------------------------

    def goal(
        self,
        points: Points,
        ended: Callable[[End, str], None],
        path: Sequence[Given] = (),
        goal: Sequence[Given] = (),
        goal_time: float = 0.0,
        canceled: Callable[[], bool] = lambda: False,
    ) -> tuple[Goal, str]:
        """Return the goal of a trajectory that is accepted, and a remark on its tolerances.

        Args:
            points: points as they came.
            ended: called when the goal ends.
            path: tolerances of joints on the way.
            goal: tolerances of joints at the end.
            goal_time: time tolerance [s].
            canceled: asked at every sample whether the goal is to be canceled.

        Raises:
            InputError: the trajectory is rejected, or no joint state has come yet; what is followed goes on.
        """
        if self._motion is None or self._stamp is None:
            raise InputError("no joint state has come yet")
        held = self._motion.raw(self._stamp)[0]
        spline = self.rules.accept(points, self._stamp, held)
        first = self.turns.near(spline.position[0], held)
        tolerances, remark = self._defaults.of_goal(self.joint_names, path, goal, goal_time)
        spline, shaper = spline.shifted(first - spline.position[0]), self._shaper_for(spline)
        if self.config.check_limits:
            now = self._stamp + self._period
            before = self._motion.raw(now)
            course = Followed(points.stamp or now, spline, now, before, self.limits)
            self.rules.check_added(*Piece(now, course, before, self.limits).added())
        return Goal(spline, points.stamp, tolerances, shaper, ended, canceled), remark

    def follow(self, goal: Goal) -> None:
        """Follow a goal from the next sample on; the one before it is preempted."""
        self.end(End.INVALID_GOAL, "Current goal preempted by new incoming action.")
        self._goal, self._piece, self._reason, self.remark = goal, None, None, ""
        self.activity = FOLLOWING

    def end(self, code: End, reason: str) -> None:
        """End the goal at once; the joints come to rest with the next samples."""
        if self._goal is None:
            return
        if self._reason is not None and self._reason[0] is End.CANCELED:
            code, reason = self._reason
        self._end(code, reason)

    def _end(self, code: End, reason: str) -> None:
        goal, self._goal = self._goal, None
        assert goal is not None
        goal.ended(code, reason)

    # Samples ----------------------------------------------------------------------------------------------------------

    def update(self, stamp: int, position: Array, velocity: Array) -> JointReference:
        """Return the reference of a sample.

        Args:
            stamp: its stamp [ns].
            position: (n,) measured positions [rad | m].
            velocity: (n,) measured velocities [rad/s | m/s].

        Raises:
            InputError: an array does not have the shape (n,), or positions are not finite.
        """
        n = len(self.joint_names)
        position, velocity = finite("position", position, n), numbers("velocity", velocity, n)
        self._begin(stamp, position)
        assert self._motion is not None
        goal = self._goal
        if self.activity == FOLLOWING:
            canceled = goal is not None and goal.canceled()
            if canceled:  # the goal ends when the joints rest
                self._reason = End.CANCELED, "canceled"
            if goal is None or canceled:
                self._stop(stamp, self._motion.raw(stamp))
            elif self._piece is None:
                self._set_out(goal, stamp, position)
        motion = self._motion.sample(stamp)
        self._note(stamp, goal, motion, position, velocity)
        if self._goal is not None and self.activity == FOLLOWING:
            self._watch(self._goal, stamp, position, velocity)
        if self.activity == STOPPING and self._motion.rests(stamp):
            self.activity = HOLDING
            if self._goal is not None and self._reason is not None:
                self._end(*self._reason)
        return JointReference(stamp, *motion)

    def _begin(self, stamp: int, position: Array) -> None:
        """Begin at the measured positions: at first, and after a gap."""
        gap = 0.0 if self._stamp is None else (stamp - self._stamp) * 1e-9
        if self._motion is None or gap > self.config.state_timeout:
            if gap:
                self.remark = f"no joint state for {gap:.3f} s"
                self.end(End.INVALID_GOAL, self.remark)
            self._motion, self.activity = ShapedMotion(position.copy(), self.limits), HOLDING
            self._piece, self._reason = None, None
        self._period = 0 if self._stamp is None or gap > self.config.state_timeout else stamp - self._stamp
        self._stamp = stamp

    def _set_out(self, goal: Goal, stamp: int, position: Array) -> None:
        """Begin to follow a goal."""
        motion = self._motion
        assert motion is not None
        if motion.rests(stamp):
            motion.shape(stamp, goal.shaper)
        motion.limits = self.limits
        start = goal.start or stamp
        course = Followed(start, goal.spline, stamp, motion.raw(stamp), self.limits)
        first = np.array((self.turns.difference(course.sample(stamp)[0], position), np.zeros(len(position))))
        self._piece = motion.lead(stamp, course)
        if said := violated(goal.tolerances.path, first, self.joint_names):
            self._give_up(End.PATH_TOLERANCE_VIOLATED, said, stamp, motion.raw(stamp))

    def _note(self, stamp: int, goal: Goal | None, motion: Motion, position: Array, velocity: Array) -> None:
        error = np.array((self.turns.difference(motion[0], position), motion[1] - velocity))
        since = 0 if goal is None else stamp - (goal.start or (stamp if self._piece is None else self._piece.begin))
        self.progress = Progress(stamp, since, motion, (position, velocity), error)

    def _watch(self, goal: Goal, stamp: int, position: Array, velocity: Array) -> None:
        """End a goal that is reached, or whose tolerances are violated."""
        piece, motion, progress = self._piece, self._motion, self.progress
        assert piece is not None and motion is not None and progress is not None
        late = (stamp - piece.end - motion.delay) * 1e-9
        if late < 0.0:
            if said := violated(goal.tolerances.path, progress.error, self.joint_names):
                # The arm does not follow. A reference far ahead that came back to it would take it along first.
                motion.begin(stamp, self._stopping(stamp, self._measured(position, velocity)))
                self.remark, self.activity = said, STOPPING
                self._end(End.PATH_TOLERANCE_VIOLATED, said)
            return
        said = violated(goal.tolerances.goal, progress.error, self.joint_names)
        if not said:
            self.activity = HOLDING
            self.remark = self._left(goal, progress)
            self._end(End.SUCCESSFUL, self.remark or "Goal successfully reached!")
        elif 0.0 < goal.tolerances.goal_time < late:
            said = f"{late:.3f} s after the end: {said}"
            self._give_up(End.GOAL_TOLERANCE_VIOLATED, said, stamp, self._measured(position, velocity))

    def _left(self, goal: Goal, progress: Progress) -> str:
        """Return which joint without a tolerance is far from its goal, which counts as reached; empty: none."""
        left = np.where(goal.tolerances.goal[0] > 0.0, 0.0, np.abs(progress.error[0]))
        joint = int(left.argmax())
        if not left[joint] > FAR:
            return ""
        where = f"joint '{self.joint_names[joint]}' is {left[joint]:.4g} from its goal"
        return f"the trajectory has ended, and {where}: set goal_tolerance if that is no success"

    def _give_up(self, code: End, reason: str, stamp: int, motion: Motion) -> None:
        """End the goal; the joints come to rest where they are."""
        self.remark = reason
        self._stop(stamp, motion)
        self._end(code, reason)

    def _stop(self, stamp: int, motion: Motion) -> None:
        """Come to rest from a motion, that of the reference or the measured one."""
        assert self._motion is not None
        self._motion.lead(stamp, self._stopping(stamp, motion))
        self.activity = STOPPING

    def _measured(self, position: Array, velocity: Array) -> Motion:
        """Return the measured motion as one to brake from: no faster than joints may be, at rest if that is unknown."""
        known, most = np.where(np.isfinite(velocity), velocity, 0.0), self.limits.velocity
        return position, np.clip(known, -most, most), np.zeros(len(position))

    def _stopping(self, stamp: int, motion: Motion) -> Course:
        """Return how a motion comes to rest: within the acceleration limits, or harder where a limit is nearer."""
        if not (motion[1].any() or motion[2].any()):
            return Held(motion[0])
        for hardness in HARDNESS:
            stop = Stopped(stamp, motion, hardness * self.limits.acceleration)
            try:
                self.rules.check_added(*Piece(stamp, stop, motion, self.limits).added())
            except InputError:
                continue
            break
        return stop
