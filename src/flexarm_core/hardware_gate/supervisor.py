"""Supervisor: detects that a control law has failed, and trips the gate; a trip is latched until it is reset."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.settings import Settings, setting
from flexarm_core.types import ArmState, Array, JointReference

AT_LIMIT = 0.999  # fraction of the effort limit above which an effort counts as saturated
BUCKET = 0.5  # [s] length of the intervals (buckets) whose largest base energies are compared
GROWTH = 1.3  # factor by which the largest energy grows from bucket to bucket if a law excites the base
GROWTHS = 2  # consecutive growing buckets
OFTEN = 0.1  # fraction of a bucket during which efforts are saturated
NEGLIGIBLE = 0.01  # fraction of the energy at the deflection limits below which growth is ignored


@dataclass(frozen=True, slots=True)
class SupervisorConfig(Settings):
    """Thresholds that trip the gate."""

    # fmt: off
    max_saturation_time: float = setting(0.5,
        "accumulated time of efforts at their limits that trips the gate (effort mode)", "s", 1e-3)
    max_tracking_time: float = setting(0.5,
        "deviation from the reference that trips the gate (effort mode), as travel time at the velocity limit",
        "s", 1e-3)
    max_stops: int = setting(5, "number of controlled stops within stop_window that trips the gate", "", 2)
    stop_window: float = setting(10.0, "period within which max_stops controlled stops trip the gate", "s", 0.1)
    # fmt: on


class Supervisor:
    """Checks every answered state; each method returns why the gate must trip, empty string if it need not."""

    def __init__(self, model: ArmModel, limits: JointLimits, config: SupervisorConfig) -> None:
        """Check an arm against these limits, and its base against the limits in the robot description."""
        self._model, self._limits, self._config = model, limits, config
        joints = [model.description.joints[name] for name in model.elastic_joint_names]
        self._lower, self._upper = (np.array([getattr(j, side) for j in joints]) for side in ("lower", "upper"))
        self._rate = np.array([joint.velocity_limit for joint in joints])
        self._tracking = config.max_tracking_time * limits.velocity
        stiffness, farthest = np.diag(model.K_b), np.minimum(-self._lower, self._upper)
        at_limit = stiffness * np.where(np.isfinite(farthest), farthest, 0.0) ** 2
        self._negligible = NEGLIGIBLE * float(at_limit.sum())
        none, base = np.zeros(model.n), np.zeros(model.m)
        self._inertia = model.blocks(ArmState(0, none, none, base, base)).H_b
        self._stopped: deque[float] = deque(maxlen=config.max_stops)
        self.reset()

    def reset(self) -> None:
        """Forget all earlier states and stops."""
        self._saturated = 0.0
        self._stopped.clear()
        self._forget_base()

    def _forget_base(self) -> None:
        self._time = self._share = 0.0
        self._peak, self._peak_before, self._growths = 0.0, np.inf, 0

    def on_stop(self, time: float) -> str:
        """Record a controlled stop that began at this time [s]; report too many stops."""
        self._stopped.append(time)
        if len(self._stopped) < self._config.max_stops or time - self._stopped[0] > self._config.stop_window:
            return ""
        return f"{self._config.max_stops} controlled stops within {time - self._stopped[0]:.1f} s"

    def on_state(self, state: ArmState) -> str:
        """Report a base deflection or rate beyond its limit."""
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
        """Check an effort (n,) that answers a state ``dt`` [s] after the last one: saturation, tracking, energy."""
        largest = self._limits.effort
        saturated = bool((np.abs(command) >= AT_LIMIT * largest).any())
        self._saturated += (dt if saturated else 0.0) - min(dt, 1.0) * self._saturated
        if self._saturated > self._config.max_saturation_time:
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
        """Report base energy that grows from bucket to bucket while efforts are saturated."""
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
    """Return the friction that the reference claims for a joint, as text: too large a claim drives the joint."""
    claimed = None if reference is None else reference.friction
    share = 0.0 if claimed is None else float(claimed[model.joint_names.index(joint)])
    return f"; the reference says that friction takes {share:.3g} of its effort" if share else ""
