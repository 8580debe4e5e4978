"""Supervisor: detects that a control law has failed, and trips the gate; a trip is latched until it is reset."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from flexarm_core.compiled import kernel, pack, views
from flexarm_core.entrance import number, numbers
from flexarm_core.hardware_gate.limits import EFFORT, VELOCITY, JointLimits
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
        lower, upper = (np.array([getattr(j, side) for j in joints]) for side in ("lower", "upper"))
        self._base_limits = np.array((lower, upper, [joint.velocity_limit for joint in joints]), dtype=np.float64)
        stiffness, farthest = np.diag(model.K_b), np.minimum(-lower, upper)
        at_limit = stiffness * np.where(np.isfinite(farthest), farthest, 0.0) ** 2
        self._negligible = NEGLIGIBLE * float(at_limit.sum())
        none, base = np.zeros(model.n), np.zeros(model.m)
        inertia = model.blocks(ArmState(0, none, none, base, base)).H_b
        tracking = config.max_tracking_time * limits.table[VELOCITY]
        self._constants = pack(_Constants(limits.table[EFFORT], tracking, model.K_b, inertia))
        self._inputs = np.empty(_view_inputs.size(model.n, model.m))
        self._stopped: deque[float] = deque(maxlen=config.max_stops)
        self.reset()
        none, base = np.zeros(model.n), np.zeros(model.m)  # load the compiled functions: no tick waits for them
        self.on_base(base, base)
        _judge(self._constants, self._inputs, model.n, model.m)

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
        return self.on_base(state.deflection, state.deflection_rate)

    def on_base(self, deflection: Array, rate: Array) -> str:
        """Report a base deflection (m,) or rate (m,) beyond its limit."""
        m = self._model.m
        if not m:
            return ""
        deflection, rate = numbers("deflection", deflection, m), numbers("deflection_rate", rate, m)
        place = _beyond(self._base_limits, deflection, rate)
        if place < 0:
            return ""
        what, value = ("deflection", deflection[place]) if place < m else ("deflection rate", rate[place - m])
        return f"{what} {value:.3g} of {self._model.elastic_joint_names[place % m]} is beyond its limit"

    def on_command(self, state: ArmState, command: Array, reference: JointReference | None, dt: float) -> str:
        """Check an effort (n,) that answers a state ``dt`` [s] after the last one: saturation, tracking, energy."""
        wanted = None if reference is None else reference.position
        wanted = state.position if wanted is None else wanted
        command, dt = numbers("command", command, self._model.n), number("dt", dt, 0.0)
        inputs = _Inputs(command, wanted, state.position, state.deflection, state.deflection_rate)
        np.concatenate(inputs, out=self._inputs)
        saturated, far, energy = _judge(self._constants, self._inputs, self._model.n, self._model.m)
        self._saturated += (dt if saturated else 0.0) - min(dt, 1.0) * self._saturated
        if self._saturated > self._config.max_saturation_time:
            joint = self._model.joint_names[int(np.argmax(np.abs(command) / self._limits.effort))]
            return f"the effort of {joint} stays at its limit{_friction(reference, joint, self._model)}"
        if far >= 0:
            joint, error = self._model.joint_names[far], wanted[far] - state.position[far]
            return f"{joint} is {error:.3g} away from its reference{_friction(reference, joint, self._model)}"
        return self._base(energy, saturated, dt) if self._model.m else ""

    def _base(self, energy: float, saturated: bool, dt: float) -> str:
        """Report base energy that grows from bucket to bucket while efforts are saturated."""
        self._peak = max(self._peak, energy)
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


class _Constants(NamedTuple):
    """Limits and base energy; see :func:`_judge`."""

    effort: Annotated[Array, "n"]  # effort limits [N*m | N]
    tracking: Annotated[Array, "n"]  # largest deviations from the reference [rad | m]
    stiffness: Annotated[Array, "m", "m"]  # of the base
    inertia: Annotated[Array, "m", "m"]  # of the base


class _Inputs(NamedTuple):
    """Command and state that are judged."""

    command: Annotated[Array, "n"]  # efforts [N*m | N]
    wanted: Annotated[Array, "n"]  # position of the reference [rad | m]
    position: Annotated[Array, "n"]  # of the joints [rad | m]
    deflection: Annotated[Array, "m"]
    rate: Annotated[Array, "m"]  # of the deflection


_view_constants, _view_inputs = views(_Constants, "n", "m"), views(_Inputs, "n", "m")


@kernel
def _judge(constants: Array, inputs: Array, n: int, m: int) -> tuple[bool, int, float]:
    """Return whether an effort is saturated, the first joint too far from its reference or -1, and the base energy."""
    c, u = _view_constants(constants, n, m), _view_inputs(inputs, n, m)
    command, wanted, position, x, rate = u
    saturated, far, energy = False, -1, 0.0
    for i in range(n):
        saturated = saturated or abs(command[i]) >= AT_LIMIT * c.effort[i]
        if far < 0 and abs(wanted[i] - position[i]) > c.tracking[i]:
            far = i
    for i in range(m):
        for j in range(m):
            energy += x[i] * c.stiffness[i, j] * x[j] + rate[i] * c.inertia[i, j] * rate[j]
    return saturated, far, energy


@kernel
def _beyond(limits: Array, deflection: Array, rate: Array) -> int:
    """Return the first elastic joint beyond a limit, or that of m joints plus m if its rate is; -1: none.

    ``limits`` (3, m): lower and upper deflection, rate.
    """
    m = deflection.shape[0]
    for i in range(m):
        if deflection[i] < limits[0, i] or deflection[i] > limits[1, i]:
            return i
    for i in range(m):
        if abs(rate[i]) > limits[2, i]:
            return m + i
    return -1


def _friction(reference: JointReference | None, joint: str, model: ArmModel) -> str:
    """Return the friction that the reference claims for a joint, as text: too large a claim drives the joint."""
    claimed = None if reference is None else reference.friction
    share = 0.0 if claimed is None else float(claimed[model.joint_names.index(joint)])
    return f"; the reference says that friction takes {share:.3g} of its effort" if share else ""
