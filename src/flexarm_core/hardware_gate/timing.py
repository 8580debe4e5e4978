"""Timing: the gate's time, and how late joint states and commands are."""

from __future__ import annotations

from collections.abc import Callable

from flexarm_core.errors import InputError
from flexarm_core.hardware_gate.arrivals import Arrivals
from flexarm_core.hardware_gate.config import HardwareGateConfig
from flexarm_core.hardware_gate.lateness import Lateness
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.response import Response
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState

RELIEVED = 0.5  # fraction of the maximum age below which a stop caused by old states may end
HINTED = 0.33  # multiple of the maximum age that is possible over an elastic base where the motion hints at a delay
HOPELESS = 2.0  # multiple of the maximum age at which the fallback is requested at once; below it, after blind_time
LAGS = 2.0  # multiple of a delay of velocities that is counted: it acts on the servo of a stop and on what it observes
CLOCK_HINT = "; is use_sim_time set as it should be?"


class Timing:
    """Times of states and commands.

    All timeouts use the gate's own monotonic clock, in lockstep the stamp of the newest believed state. Otherwise
    stamps only match references to states: if they go back, a new time base begins.

    Attributes:
        arrivals: age, order and losses of states.
        response: delay of commands.
        lateness: how late the gate's own process was.
        bearable: largest age in effort mode [s].
        late: whether states or commands have been too late, and their age has not dropped below RELIEVED since.
        stale: whether the newest believed state was too old on arrival.
        told: known age of the velocities beyond that of their state [s], for differentiated velocities.
        shown: the same as far as it shows [s]: see :class:`VelocityDelay`.
    """

    def __init__(
        self, model: ArmModel, limits: JointLimits, config: HardwareGateConfig, clock: Callable[[], float]
    ) -> None:
        """Measure time with a monotonic clock [s]."""
        self._config, self._clock = config, clock
        self._elastic, self.told, self.shown = model.m > 0, 0.0, 0.0
        self.bearable = config.bearable_age(elastic_base=self._elastic)
        self.arrivals = Arrivals(config.patience(limits), config.period)
        self.lateness = Lateness(limits.velocity, self.bearable, config.blind_time)
        self.response = Response(
            model, limits.effort, limits.velocity, self.bearable, base_measured=config.base_measured
        )
        self.forget()

    def forget(self) -> None:
        """Begin a new time base, without a state."""
        self._begin(None)
        self._arrived_at = self.now()

    def restart(self, stamp: int) -> int:
        """Begin a new time base at a stamp [ns]; return the stamp [ns] of the newest believed state in it."""
        newest = stamp - max(round(self.silence * 1e9), 1)
        self._begin(newest)
        return newest

    def _begin(self, newest: int | None) -> None:
        self._newest = newest  # stamp of the newest believed state [ns]
        self.late = self.stale = False
        self._late_for = 0.0  # [s] for which states or commands have been too late
        self.arrivals.reset()
        self.response.reset()

    def now(self) -> float:
        """Return the time for all timeouts [s]."""
        if not self._config.lockstep:
            return self._clock()
        return 0.0 if self._newest is None else self._newest * 1e-9

    @property
    def silence(self) -> float:
        """Time since the newest believed state arrived [s]."""
        return self.now() - self._arrived_at

    @property
    def lag(self) -> float:
        """Age that is counted for velocities beyond that of their state [s]."""
        return LAGS * max(self.told, self.shown)

    @property
    def possible_age(self) -> float:
        """Age with which efforts are observed [s]: the known or the suspected one, whichever is larger.

        On an elastic base, a motion that only hints at a delay may be a growing oscillation, and counts, too.
        """
        hint = HINTED * self.bearable if self._elastic and self.response.hinted else 0.0
        return max(max(self.age, self.response.suspected) + self.lag, hint)

    @property
    def age(self) -> float:
        """Age of a state when the command that answers it acts, beyond one period [s]."""
        return max(self.arrivals.age, self.response.age)

    @property
    def too_late(self) -> bool:
        """Whether effort mode does not tolerate that age."""
        return self.age >= self.bearable

    @property
    def busy(self) -> bool:
        """Whether the machine is busy."""
        return self.lateness.is_busy(self.now())

    def check_age(self, age: float | None) -> None:
        """Raise InputError if the age [s] shows that a state is too old or is stamped in the future."""
        if age is None:
            return
        if age > self._config.blind_time:
            raise InputError(f"joint state is {age:.3f} s old when it arrives{CLOCK_HINT if age > 3600.0 else ''}")
        if age < -self._config.reference_timeout:
            raise InputError(f"joint state is stamped {-age:.3f} s ahead of the clock{CLOCK_HINT}")

    def is_overtaken(self, stamp: int) -> bool:
        """Return whether a state with this stamp [ns] is repeated or out of order: see :class:`HardwareGate`."""
        if self._newest is None or stamp > self._newest:
            return False
        back = (self._newest - stamp) * 1e-9
        return not self.arrivals.is_step_back(stamp, back, self.silence, self._config.reference_timeout)

    def came(self, age: float | None) -> None:
        """Record the age [s] of a believed state on arrival; None: unknown."""
        self.arrivals.came(age)
        self.stale = (age or 0.0) >= self.bearable

    def see(self, stamp: int) -> None:
        """Let the newest believed state be one with this stamp [ns] that arrives now."""
        self._newest = stamp
        self._arrived_at = self.now()

    def lateness_of(self, gap: float, *, effort: bool) -> str:
        """Return which input is too late for effort mode, ``gap`` [s] after the previous state; empty if none is."""
        if not (effort and self.too_late):
            self._late_for = 0.0
            self.late = self.late and self.age > RELIEVED * self.bearable
            return ""
        self.late, self._late_for = True, self._late_for + gap
        what = "joint states are {:.3f} s old when they arrive" if self._old else "commands act {:.3f} s late"
        return f"{what.format(self.age)}, effort mode bears {self.bearable:.3f} s"

    @property
    def _old(self) -> bool:
        return self.arrivals.age >= self.response.age

    @property
    def hopeless(self) -> bool:
        """Whether states or commands are much too late, or have been too late for too long."""
        lasts = self._late_for > self._config.blind_time and (self._old or not self.lateness.suspended)
        return lasts or self.age >= HOPELESS * self.bearable

    def recovers(self, state: ArmState, gap: float) -> bool:
        """Return whether a suspended stop ends with a state, ``gap`` [s] after the one before.

        The delay of commands cannot be observed at rest: as after a reset, a delay is suspected until the arm moves.
        """
        on_time = self.arrivals.age <= RELIEVED * self.bearable and gap <= self.arrivals.longest
        if not (self.lateness.suspended and self.lateness.recovers(state, self.now(), on_time=on_time)):
            return False
        self.response.acknowledge()
        return True
