"""Supervisor: sees that a law has failed, and trips; what it reports stays latched until somebody resets it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, JointReference

AT_LIMIT = 0.999  # share of the effort limit from which on an effort counts as saturated
BUCKET = 0.5  # [s] in which the largest energy of the base is looked for
GROWTH = 1.3  # factor by which it grows from bucket to bucket where a law feeds the base
GROWTHS = 2  # such buckets in a row
OFTEN = 0.1  # share of a bucket in which efforts are saturated
NEGLIGIBLE = 0.01  # share of the energy at the deflection limits below which growth does not matter


@dataclass(frozen=True, slots=True)
class SupervisorConfig:
    """What trips the gate.

    Attributes:
        saturation_time: saturated efforts, accumulated and forgotten with a time constant of 1 s [s].
        tracking_time: distance from the reference's position, as a time at the velocity limit [s].
        stops: controlled stops within ``stop_window``.
        stop_window: [s].
    """

    saturation_time: float = 0.5
    tracking_time: float = 0.5
    stops: int = 5
    stop_window: float = 10.0

    def __post_init__(self) -> None:
        """Raise ConfigError for values that have no meaning."""
        for name in ("saturation_time", "tracking_time", "stops", "stop_window"):
            if not getattr(self, name) > 0.0:
                raise ConfigError(f"{name} must be > 0, got {getattr(self, name)}")


class Supervisor:
    """Looks at every answered state; each method returns why the gate is to trip, empty for no reason."""

    def __init__(self, model: ArmModel, limits: JointLimits, config: SupervisorConfig) -> None:
        """Watch an arm within its limits, and its base within those of the robot description."""
        self._model, self._limits, self._config = model, limits, config
        joints = [model.description.joints[name] for name in model.elastic_joint_names]
        self._lower, self._upper = (np.array([getattr(j, side) for j in joints]) for side in ("lower", "upper"))
        self._rate = np.array([joint.velocity_limit for joint in joints])
        self._tracking = config.tracking_time * limits.velocity
        stiffness, farthest = np.diag(model.K_b), np.minimum(-self._lower, self._upper)
        at_limit = stiffness * np.where(np.isfinite(farthest), farthest, 0.0) ** 2
        self._negligible = NEGLIGIBLE * float(at_limit.sum())
        none, base = np.zeros(model.n), np.zeros(model.m)
        self._inertia = model.blocks(ArmState(0, none, none, base, base)).H_b
        self._stopped: deque[float] = deque(maxlen=config.stops)
        self.reset()

    def reset(self) -> None:
        """Forget what was seen."""
        self._saturated = 0.0
        self._stopped.clear()
        self._forget_base()

    def _forget_base(self) -> None:
        self._time = self._share = 0.0
        self._peak, self._peak_before, self._growths = 0.0, np.inf, 0

    def on_stop(self, time: float) -> str:
        """A controlled stop began at this time [s]."""
        self._stopped.append(time)
        if len(self._stopped) < self._config.stops or time - self._stopped[0] > self._config.stop_window:
            return ""
        return f"{self._config.stops} controlled stops within {time - self._stopped[0]:.1f} s"

    def on_state(self, state: ArmState) -> str:
        """The base is beyond its limits."""
        if not self._model.m:
            return ""
        beyond = (state.deflection < self._lower) | (state.deflection > self._upper)
        if not beyond.any():
            beyond = np.abs(state.deflection_rate) > self._rate
            what, values = "deflection rate", state.deflection_rate
        else:
            what, values = "deflection", state.deflection
        if not beyond.any():
            return ""
        place = int(np.argmax(beyond))
        return f"{what} {values[place]:.3g} of {self._model.elastic_joint_names[place]} is beyond its limit"

    def on_command(self, state: ArmState, command: Array, reference: JointReference | None, dt: float) -> str:
        """An effort (n,) answers a state ``dt`` [s] after the last one."""
        largest = self._limits.effort
        saturated = bool((np.abs(command) >= AT_LIMIT * largest).any())
        self._saturated += (dt if saturated else 0.0) - min(dt, 1.0) * self._saturated
        if self._saturated > self._config.saturation_time:
            joint = self._model.joint_names[int(np.argmax(np.abs(command) / largest))]
            return f"the effort of {joint} stays at its limit{_friction(reference, joint, self._model)}"
        if reference is not None and reference.position is not None:
            far = np.abs(reference.position - state.position) > self._tracking
            if far.any():
                place = int(np.argmax(far))
                error = reference.position[place] - state.position[place]
                joint = self._model.joint_names[place]
                return f"{joint} is {error:.3g} away from its reference{_friction(reference, joint, self._model)}"
        return self._base(state, saturated, dt) if self._model.m else ""

    def _base(self, state: ArmState, saturated: bool, dt: float) -> str:
        """The energy of the base grows from bucket to bucket while efforts are at their limits."""
        x, rate = state.deflection, state.deflection_rate
        self._peak = max(self._peak, float(x @ self._model.K_b @ x + rate @ self._inertia @ rate))
        self._time += dt
        self._share += dt if saturated else 0.0
        if self._time < BUCKET:
            return ""
        grew = self._peak > max(GROWTH * self._peak_before, self._negligible) and self._share > OFTEN * self._time
        self._growths = self._growths + 1 if grew else 0
        before, self._peak_before = self._peak_before, self._peak
        self._time = self._share = self._peak = 0.0
        if self._growths < GROWTHS:
            return ""
        return f"the base gains energy while efforts are at their limits ({before:.3g} to {self._peak_before:.3g} J)"


def _friction(reference: JointReference | None, joint: str, model: ArmModel) -> str:
    """What a reference says of a joint's friction: nobody can check it, and too much of it drives the joint."""
    claimed = None if reference is None else reference.friction
    share = 0.0 if claimed is None else float(claimed[model.joint_names.index(joint)])
    return f"; the reference says that friction takes {share:.3g} of its effort" if share else ""
