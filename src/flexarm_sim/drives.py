"""The joint drives: what an effort, velocity or position command does to the motors.

Velocity and position commands pass through one inner servo of stated bandwidth ``w``, which asks for

    qdd = w^2 (q_r - q) + w v_c - 2 w qd

and gives the effort ``Lambda qdd + b`` of the plant's own joint dynamics (``Backend.joint_dynamics``). In position
mode ``q_r`` is the command and ``v_c = 0``: every joint follows as ``w^2 / (s + w)^2``, ``2 / w`` late on a ramp. In
velocity mode ``v_c`` is the command and ``q_r`` its integral: every joint follows as ``w / (s + w)``, and friction
leaves no lasting error.

A single-joint law, scaled by the diagonal of the inertia alone, would be nearer to a real drive but not to its stated
bandwidth: its poles scale with the eigenvalues of ``Lambda^-1 diag(Lambda)``, which reach from 0.35 to 154 on the
stretched planar 3R, so that one is unstable at 1 kHz while another is still slow. Decoupled, the bandwidth means the
same on every arm and in every pose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.types import Array
from flexarm_sim.backend import Backend
from flexarm_sim.validation import is_number

MODES = ("effort", "velocity", "position")


@dataclass(frozen=True, slots=True)
class DriveConfig:
    """How the motors take commands.

    Attributes:
        mode: ``effort`` [N*m | N], ``velocity`` [rad/s | m/s] or ``position`` [rad | m].
        bandwidth: of the inner servo of the velocity and position modes [rad/s].
        clip_effort: whether efforts beyond the limits of the robot description are cut.
        period: longest time between two updates of the servo, ticks are divided accordingly [s].
    """

    mode: str = "effort"
    bandwidth: float = 200.0
    clip_effort: bool = False
    period: float = 0.001

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ConfigError(f"drive mode '{self.mode}' is unknown; modes: {', '.join(MODES)}")
        for name, value in (("bandwidth", self.bandwidth), ("period", self.period)):
            if not (is_number(value) and value > 0.0):
                raise ConfigError(f"drive {name} is {value}, expected a positive number")
        if self.mode != "effort" and self.bandwidth * self.period > 0.5:
            raise ConfigError(
                f"drive bandwidth {self.bandwidth} rad/s is too high for a servo period of {self.period} s: keep their"
                f" product at 0.5 or less, that is a bandwidth of at most {0.5 / self.period:g} rad/s"
            )


class Drives:
    """The drives of all actuated joints of a backend."""

    def __init__(self, config: DriveConfig, effort_limits: Array) -> None:
        """Prepare the drives.

        Args:
            config: how they take commands.
            effort_limits: (n,) largest effort, inf where there is none [N*m | N].
        """
        self._config = config
        self._limits = effort_limits
        self._set_point = np.zeros(len(effort_limits))

    def reset(self, position: Array) -> None:
        """Forget the past.

        Args:
            position: (n,) present position [rad | m].
        """
        self._set_point = position.copy()

    def idle_command(self, position: Array) -> Array:
        """The command that stands before the first one: no effort, no velocity, or the initial position.

        Args:
            position: (n,) initial position [rad | m].
        """
        return position.copy() if self._config.mode == "position" else np.zeros(len(position))

    def effort(self, command: Array, backend: Backend, duration: float) -> Array:
        """Motor effort for the next time step; the integrator of the velocity mode advances by it.

        Args:
            command: (n,) in the unit of the mode.
            backend: the plant that is driven, at its present state.
            duration: time for which the effort will be held [s].

        Returns:
            (n,) effort [N*m | N].
        """
        if self._config.mode == "effort":
            return self._clip(command)
        bandwidth, state = self._config.bandwidth, backend.state()
        if self._config.mode == "position":
            self._set_point, rate = command, np.zeros(len(command))
        else:
            rate = command
        inertia, bias = backend.joint_dynamics()
        demand = bandwidth**2 * (self._set_point - state.position) + bandwidth * rate - 2.0 * bandwidth * state.velocity
        wanted = inertia @ demand + bias
        given = self._clip(wanted)
        # a joint at its effort limit cannot follow: its integrator waits
        self._set_point = self._set_point + np.where(given == wanted, rate * duration, 0.0)
        return given

    def _clip(self, effort: Array) -> Array:
        if not self._config.clip_effort:
            return effort
        clipped: Array = np.clip(effort, -self._limits, self._limits)
        return clipped
